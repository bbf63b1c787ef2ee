//! One Lua machine: what is in it, and one run.

use std::{collections::BTreeMap, sync::Arc};

use mlua::{
    Function, Lua, LuaOptions, LuaString, MultiValue, StdLib, Table, Value as LuaValue, VmState,
    chunk::ChunkMode,
};

use crate::{
    native::Options,
    script::{
        arguments::Argument,
        engine::Script,
        error::{self, CHUNK, ScriptError, ScriptProblem, raised},
        kube,
        limits::Meter,
        search,
    },
};

/// A machine that runs one script at a time.
pub(super) struct Machine {
    lua: Lua,
    meter: Arc<Meter>,
    /// What the globals of every run are a copy of. Each run has its own, so that it can also take away what it knows
    /// by another name: some scripts have a variable `error` or `type`.
    globals: Table,
    /// Copies a table in one go.
    copy: Function,
    /// Makes `math.random` begin anew.
    reseed: Function,
    /// Scripts that have been loaded, by their number.
    loaded: BTreeMap<u64, Function>,
    is_spoilt: bool,
}

/// A machine forgets its scripts when it has so many: customizations change more often than machines end.
const LOADED_LIMIT: usize = 256;

/// A machine that has come to hold so many bytes is not kept; a new one starts with a fraction of one MiB.
const KEPT_MEMORY: usize = 16 << 20;

/// What `math.random` starts from in every run.
const SEED: f64 = 1.0;

const PRELUDE: &str = include_str!("prelude.lua");

impl Machine {
    pub(super) fn new(meter: Arc<Meter>, options: Options) -> Result<Self, ScriptError> {
        Self::build(meter, options).map_err(|error| broken(&error))
    }

    fn build(meter: Arc<Meter>, options: Options) -> mlua::Result<Self> {
        let libraries = StdLib::TABLE | StdLib::STRING | StdLib::MATH | StdLib::OS;
        let lua = Lua::new_with(libraries, LuaOptions::new())?;
        let globals = lua.globals();
        let native = lua.create_table()?;
        kube::install(&lua, &native, options)?;
        search::install(&lua, &native)?;
        let asked = Arc::clone(&meter);
        native.raw_set(
            "now",
            lua.create_function(move |_, ()| {
                let now = asked.surroundings().now();
                Ok(now.map(|now| now.unix_seconds() as f64))
            })?,
        )?;
        let heard = Arc::clone(&meter);
        native.raw_set(
            "print",
            lua.create_function(move |_, line: LuaString| {
                heard.surroundings().print(&line.to_string_lossy());
                Ok(())
            })?,
        )?;
        let copy = globals
            .raw_get::<Table>("table")?
            .raw_get::<Function>("clone")?;
        let kube: Table = lua
            .load(PRELUDE)
            .set_name(format!("={}", error::PRELUDE))
            .call(native)?;
        kube.set_readonly(true);
        let reseed = globals
            .raw_get::<Table>("math")?
            .raw_get::<Function>("randomseed")?;
        globals.raw_get::<Table>("os")?.set_readonly(true);
        lua.sandbox(true)?;
        let counting = Arc::clone(&meter);
        lua.set_interrupt(move |lua| {
            if counting.step() {
                return Ok(VmState::Continue);
            }
            counting.stop_at(|| current_line(lua));
            Err(mlua::Error::runtime("stopped"))
        });
        Ok(Self {
            lua,
            meter,
            globals,
            copy,
            reseed,
            loaded: BTreeMap::new(),
            is_spoilt: false,
        })
    }

    /// Whether another run may have this machine.
    pub(super) fn is_fit(&self) -> bool {
        !self.is_spoilt && self.lua.used_memory() < KEPT_MEMORY
    }

    /// Runs the script from its first line, then the function it has defined.
    pub(super) fn run(
        &mut self,
        script: &Script,
        function: &'static str,
        arguments: &[Argument<'_>],
    ) -> Result<Vec<LuaValue>, ScriptError> {
        let main = self.load(script)?;
        // Invariant: values move in and out while there is no limit on memory, which is several times as fast; the
        // inputs are bounded by what an API server takes, the outputs by what the limit let the script make.
        let prepared = self.prepare(&main, arguments);
        let (globals, main, arguments) = prepared.map_err(|error| broken(&error))?;
        let memory = self.meter.limits().memory;
        let ceiling = self.lua.used_memory().saturating_add(memory);
        self.limit(ceiling)?;
        self.meter.start();
        let called = call(&globals, &main, function, arguments);
        self.limit(0)?;
        if let Some(error) = self.meter.verdict() {
            self.is_spoilt = true;
            return Err(error);
        }
        match called {
            Ok(values) => Ok(values.into_iter().collect()),
            Err(Failure::Missing) => Err(ScriptError::of(ScriptProblem::Missing(function), None)),
            Err(Failure::Raised(error)) => {
                let error = raised(&error, memory);
                self.is_spoilt = matches!(error.problem, ScriptProblem::Memory { .. });
                Err(error)
            }
        }
    }

    fn load(&mut self, script: &Script) -> Result<Function, ScriptError> {
        if let Some(main) = self.loaded.get(&script.number) {
            return Ok(main.clone());
        }
        if self.loaded.len() >= LOADED_LIMIT {
            self.loaded.clear();
        }
        let chunk = self
            .lua
            .load(&script.code[..])
            .set_mode(ChunkMode::Binary)
            .set_name(format!("={CHUNK}"));
        let main = chunk.into_function().map_err(|error| broken(&error))?;
        self.loaded.insert(script.number, main.clone());
        Ok(main)
    }

    /// Globals for one run, the script over them, and the arguments inside the machine.
    fn prepare(
        &self,
        main: &Function,
        arguments: &[Argument<'_>],
    ) -> mlua::Result<(Table, Function, MultiValue)> {
        let globals: Table = self.copy.call(&self.globals)?;
        globals.raw_set("_G", &globals)?;
        let main = main.deep_clone()?;
        main.set_environment(globals.clone())?;
        self.reseed.call::<()>(SEED)?;
        let arguments = arguments
            .iter()
            .map(|argument| self.lua.pack(*argument))
            .collect::<mlua::Result<MultiValue>>()?;
        Ok((globals, main, arguments))
    }

    fn limit(&self, bytes: usize) -> Result<(), ScriptError> {
        let set = self.lua.set_memory_limit(bytes);
        set.map(|_| ()).map_err(|error| broken(&error))
    }
}

enum Failure {
    /// The script does not define the function.
    Missing,
    Raised(mlua::Error),
}

/// The innermost line of the script that is being run.
fn current_line(lua: &Lua) -> Option<u32> {
    // What is called by a script is called by a line of it; deeper than this are only functions of the machine.
    const LEVELS: usize = 4;
    (0..LEVELS).find_map(|level| {
        let line = lua.inspect_stack(level, |call| {
            let is_script = call.source().short_src.as_deref() == Some(CHUNK);
            is_script.then(|| call.current_line()).flatten()
        });
        line.flatten().and_then(|line| u32::try_from(line).ok())
    })
}

fn call(
    globals: &Table,
    main: &Function,
    function: &'static str,
    arguments: MultiValue,
) -> Result<MultiValue, Failure> {
    main.call::<()>(()).map_err(Failure::Raised)?;
    let defined = globals.raw_get(function).map_err(Failure::Raised)?;
    let LuaValue::Function(defined) = defined else {
        return Err(Failure::Missing);
    };
    defined.call(arguments).map_err(Failure::Raised)
}

fn broken(error: &mlua::Error) -> ScriptError {
    ScriptError::of(ScriptProblem::Machine(error.to_string()), None)
}
