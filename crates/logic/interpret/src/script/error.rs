//! Why a script gave no answer, and where in it.

use std::{fmt, time::Duration};

use object::field::FieldPath;

use crate::operation::Operation;

/// Why a script gave no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    /// Whose script it is: the name of its customization. Empty for a text that is nobody's yet.
    pub origin: String,
    /// What it was asked; `None` while it was only read.
    pub operation: Option<Operation>,
    /// The line of the script, counted from 1, where it is known.
    pub line: Option<u32>,
    /// What went wrong.
    pub problem: ScriptProblem,
}

/// What went wrong with a script.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptProblem {
    /// It is no Lua.
    #[error("{0}")]
    Syntax(String),
    /// It is too long.
    #[error("the script has {length} bytes and may have {limit}")]
    Long {
        /// How long it is.
        length: usize,
        /// How long it may be.
        limit: usize,
    },
    /// It does not define the function of the operation.
    #[error("the script defines no function {0}")]
    Missing(&'static str),
    /// It failed by itself.
    #[error("{0}")]
    Raised(String),
    /// It took too many steps.
    #[error("stopped after {steps} steps")]
    Effort {
        /// How many there may be.
        steps: u64,
    },
    /// It took too long.
    #[error("stopped after {}ms", limit.as_millis())]
    Time {
        /// How long it may take.
        limit: Duration,
    },
    /// It wanted too much memory.
    #[error("stopped at {limit} bytes of memory")]
    Memory {
        /// How much it may have.
        limit: usize,
    },
    /// It spent too much a while ago and is not run again yet.
    #[error("{cause}, so it is not run {reach} for {}s", pause.as_secs())]
    Resting {
        /// What it was stopped for.
        cause: Box<ScriptProblem>,
        /// What it is not run on.
        reach: Reach,
        /// How long it is left alone after that.
        pause: Duration,
    },
    /// It returned something else than the operation's answer.
    #[error("{function} returned {found} and not {expected}")]
    Answer {
        /// The function.
        function: &'static str,
        /// What the operation is answered with.
        expected: &'static str,
        /// What came.
        found: String,
    },
    /// What it returned has a part that means nothing.
    #[error(
        "{function} returned a value that cannot be used: {}{problem}",
        prefix(place)
    )]
    Part {
        /// The function.
        function: &'static str,
        /// The place in what it returned.
        place: FieldPath,
        /// What is wrong with it.
        problem: String,
    },
    /// The machine it runs in could not be made or used.
    #[error("the script could not be run: {0}")]
    Machine(String),
}

/// What a script is not run on for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The object on which it was stopped.
    Object,
    /// Any object: it was stopped on too many.
    Script,
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Object => "on this object",
            Self::Script => "on any object",
        })
    }
}

impl std::error::Error for ScriptError {}

impl fmt::Display for ScriptError {
    /// Whose script, what it was asked, where, and what went wrong: as much of it as is known.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.origin.is_empty() {
            write!(f, "{}: ", self.origin)?;
        }
        if let Some(operation) = self.operation {
            write!(f, "{operation}: ")?;
        }
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        write!(f, "{}", self.problem)
    }
}

impl ScriptError {
    /// Whether the same script on the same object fails again. Time and memory depend on the machine as well.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        !matches!(
            self.problem,
            ScriptProblem::Time { .. }
                | ScriptProblem::Memory { .. }
                | ScriptProblem::Resting { .. }
                | ScriptProblem::Machine(_)
        )
    }

    /// Whether the script was stopped because it spent too much.
    pub(super) fn is_excess(&self) -> bool {
        matches!(
            self.problem,
            ScriptProblem::Effort { .. }
                | ScriptProblem::Time { .. }
                | ScriptProblem::Memory { .. }
        )
    }

    /// Whether the script was not run at all because of an earlier run.
    pub(crate) fn is_resting(&self) -> bool {
        matches!(self.problem, ScriptProblem::Resting { .. })
    }

    /// A problem of a text that belongs to nobody yet.
    pub(super) fn of(problem: ScriptProblem, line: Option<u32>) -> Self {
        Self {
            origin: String::new(),
            operation: None,
            line,
            problem,
        }
    }

    /// The same, of this customization's script for the operation.
    pub(crate) fn by(mut self, origin: &str, operation: Operation) -> Self {
        origin.clone_into(&mut self.origin);
        self.operation = Some(operation);
        self
    }
}

/// The place before a problem with it; nothing if it is the whole value.
fn prefix(place: &FieldPath) -> String {
    match place.as_str() {
        "" => String::new(),
        place => format!("{place}: "),
    }
}

/// What scripts are called inside the machine; errors there begin with it.
pub(super) const CHUNK: &str = "script";
/// What the globals of every script are made by is called.
pub(super) const PRELUDE: &str = "prelude";

/// What the machine says of a script that is no Lua.
pub(super) fn syntax(error: &mlua::Error) -> ScriptError {
    let text = match error {
        mlua::Error::SyntaxError { message, .. } => message.clone(),
        other => other.to_string(),
    };
    // The compiler leaves out the name, and the colon before the line with it.
    let (line, text) = split(&format!(":{}", text.trim_start_matches(':')));
    let text = text.trim_start_matches(':').to_owned();
    ScriptError::of(ScriptProblem::Syntax(text), line)
}

/// What the machine says of a run that failed.
pub(super) fn raised(error: &mlua::Error, memory: usize) -> ScriptError {
    match error {
        mlua::Error::MemoryError(_) => {
            ScriptError::of(ScriptProblem::Memory { limit: memory }, None)
        }
        mlua::Error::RuntimeError(text) => {
            let (message, traceback) = text.split_once("\nstack traceback:").unwrap_or((text, ""));
            // What one of the prelude's functions passes on is raised where the script called that.
            if let Some(message) = after_place(message, PRELUDE) {
                let problem = ScriptProblem::Raised(message.to_owned());
                return ScriptError::of(problem, line_in(traceback));
            }
            let (line, message) = split(message);
            ScriptError::of(ScriptProblem::Raised(message), line)
        }
        mlua::Error::CallbackError { traceback, cause } => {
            let mut inner = raised(cause, memory);
            inner.line = inner.line.or_else(|| line_in(traceback));
            inner
        }
        other => ScriptError::of(ScriptProblem::Raised(other.to_string()), None),
    }
}

/// Parts `script:3: text`, or what is left of it without the name, into its line and its text.
fn split(text: &str) -> (Option<u32>, String) {
    let unnamed = text.strip_prefix(CHUNK).unwrap_or(text);
    let place = unnamed.strip_prefix(':').unwrap_or_default();
    if let Some((line, rest)) = place.split_once(": ")
        && let Ok(line) = line.parse()
    {
        return (Some(line), rest.to_owned());
    }
    (None, text.to_owned())
}

/// What is said after a place in that chunk; `None` if it is another's.
fn after_place<'t>(text: &'t str, chunk: &str) -> Option<&'t str> {
    let place = text.strip_prefix(chunk)?.strip_prefix(':')?;
    let (line, message) = place.split_once(": ")?;
    line.parse::<u32>().is_ok().then_some(message)
}

/// The innermost line of the script in a trace of calls.
fn line_in(traceback: &str) -> Option<u32> {
    traceback.lines().find_map(|call| {
        let (_, place) = call.split_once(CHUNK)?;
        let digits = place.strip_prefix(':')?;
        let end = digits
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(digits.len());
        digits.get(..end)?.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_in_messages_and_traces() {
        for (text, line, rest) in [
            ("script:3: no", Some(3), "no"),
            (":12: no", Some(12), "no"),
            ("no place", None, "no place"),
            ("script:x: no", None, "script:x: no"),
        ] {
            assert_eq!(split(text), (line, rest.to_owned()));
        }
        assert_eq!(line_in("[C] in ?\nscript:7 in function 'f'"), Some(7));
        assert_eq!(line_in("[C] in ?"), None);
    }

    #[test]
    fn an_error_says_all_it_knows() {
        let error = ScriptError::of(ScriptProblem::Raised("no".to_owned()), Some(2));
        assert_eq!(error.to_string(), "line 2: no");
        assert_eq!(
            error.by("widget", Operation::Retain).to_string(),
            "widget: Retain: line 2: no"
        );
    }
}
