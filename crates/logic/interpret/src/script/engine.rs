//! Compiles scripts and runs them in a pool of machines.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use mlua::chunk::Compiler;

use crate::{
    native::Options,
    script::{
        answer::Returned,
        arguments::Argument,
        error::{ScriptError, ScriptProblem, syntax},
        limits::{Limits, Meter, Secluded, Surroundings},
        machine::Machine,
        rest::Rest,
    },
};

/// A script that has been compiled.
pub struct Script {
    /// Under which machines know it; no other script of the engine has it.
    pub(super) number: u64,
    /// What the machines run.
    pub(super) code: Box<[u8]>,
    /// Whether it may be run now, and on what.
    rest: Rest,
}

/// Compiles scripts and runs them, within limits.
///
/// Shared by all who have scripts: each text is compiled once for as long as somebody holds it, and each machine loads
/// it once. Runs on several threads have a machine each.
pub struct Engine {
    limits: Limits,
    options: Options,
    surroundings: Arc<dyn Surroundings>,
    next_number: AtomicU64,
    scripts: Mutex<BTreeMap<Arc<str>, Weak<Script>>>,
    /// Machines that nobody uses. When there are enough of them, a machine that comes back is dropped: how many run at
    /// once is up to the callers' threads.
    idle: Mutex<Vec<Machine>>,
    turnover: [AtomicU64; 4],
}

/// How often machines were taken and given back since the engine is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turnover {
    /// Taken from those that were idle.
    pub reused: u64,
    /// Made, for want of an idle one.
    pub made: u64,
    /// Given back to be used again.
    pub kept: u64,
    /// Dropped: there were enough, or the script left it unfit.
    pub dropped: u64,
}

/// How many machines are kept for the next run, each of them with less than one MiB.
const IDLE_LIMIT: usize = 8;

/// Whether the text can be compiled. Nothing of it is run, so the names of its functions do not matter.
pub fn check(text: &str) -> Result<(), ScriptError> {
    compile(text, Limits::default().text).map(|_| ())
}

impl Default for Engine {
    fn default() -> Self {
        Self::new(Limits::default(), Options::default(), Arc::new(Secluded))
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Script")
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

impl Engine {
    /// An engine without scripts.
    #[must_use]
    pub fn new(limits: Limits, options: Options, surroundings: Arc<dyn Surroundings>) -> Self {
        Self {
            limits,
            options,
            surroundings,
            next_number: AtomicU64::new(0),
            scripts: Mutex::new(BTreeMap::new()),
            idle: Mutex::new(Vec::new()),
            turnover: Default::default(),
        }
    }

    /// How often machines were taken and given back.
    #[must_use]
    pub fn turnover(&self) -> Turnover {
        let [reused, made, kept, dropped] = &self.turnover;
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Turnover {
            reused: count(reused),
            made: count(made),
            kept: count(kept),
            dropped: count(dropped),
        }
    }

    /// The script of that text.
    pub fn compile(&self, text: &str) -> Result<Arc<Script>, ScriptError> {
        let known =
            |scripts: &BTreeMap<Arc<str>, Weak<Script>>| scripts.get(text).and_then(Weak::upgrade);
        if let Some(script) = known(&lock(&self.scripts)) {
            return Ok(script);
        }
        let code = compile(text, self.limits.text)?.into_boxed_slice();
        let mut scripts = lock(&self.scripts);
        if let Some(script) = known(&scripts) {
            return Ok(script);
        }
        let number = self.next_number.fetch_add(1, Ordering::Relaxed);
        let rest = Rest::default();
        let script = Arc::new(Script { number, code, rest });
        scripts.retain(|_, script| script.strong_count() > 0);
        scripts.insert(text.into(), Arc::downgrade(&script));
        Ok(script)
    }

    /// Tells whoever listens that a script gave no answer.
    pub(crate) fn tell(&self, error: &ScriptError) {
        self.surroundings.failed(error);
    }

    /// Runs the script, calls the function it defines, and reads what that returns.
    ///
    /// One that spent too much on an object is not run on it for a while, where [`Surroundings`] have a clock.
    pub(crate) fn run<'a, T>(
        &self,
        script: &Script,
        function: &'static str,
        arguments: &'a [Argument<'a>],
        read: impl FnOnce(&Returned<'a>) -> Result<T, ScriptError>,
    ) -> Result<T, ScriptError> {
        let Some(now) = self.surroundings.elapsed() else {
            return self.run_now(script, function, arguments, read);
        };
        let object = arguments.iter().find_map(Argument::object);
        let entry = script.rest.enter(object, now)?;
        let answer = self.run_now(script, function, arguments, read);
        let now = self.surroundings.elapsed().unwrap_or(now);
        script.rest.leave(&entry, now, answer.as_ref().err());
        answer
    }

    fn run_now<'a, T>(
        &self,
        script: &Script,
        function: &'static str,
        arguments: &'a [Argument<'a>],
        read: impl FnOnce(&Returned<'a>) -> Result<T, ScriptError>,
    ) -> Result<T, ScriptError> {
        let [reused, made, kept, dropped] = &self.turnover;
        let count = |counter: &AtomicU64| {
            counter.fetch_add(1, Ordering::Relaxed);
        };
        let idle = lock(&self.idle).pop();
        let mut machine = match idle {
            Some(machine) => {
                count(reused);
                machine
            }
            None => {
                count(made);
                let meter = Meter::new(self.limits, Arc::clone(&self.surroundings));
                Machine::new(Arc::new(meter), self.options)?
            }
        };
        let answer = machine.run(script, function, arguments).and_then(|values| {
            read(&Returned {
                function,
                values,
                arguments,
            })
        });
        let mut idle = lock(&self.idle);
        if machine.is_fit() && idle.len() < IDLE_LIMIT {
            idle.push(machine);
            count(kept);
        } else {
            count(dropped);
        }
        answer
    }
}

fn compile(text: &str, limit: usize) -> Result<Vec<u8>, ScriptError> {
    if text.len() > limit {
        let length = text.len();
        return Err(ScriptError::of(ScriptProblem::Long { length, limit }, None));
    }
    let compiler = Compiler::new().set_optimization_level(1).set_debug_level(1);
    compiler.compile(text).map_err(|error| syntax(&error))
}

/// What is behind the locks is whole between any two lines, so a panic elsewhere does not spoil it.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
