//! Why a question has no answer.

use object::field::FieldPath;

use crate::{
    interpreter::Layer, operation::Operation, script::ScriptError, webhook::WebhookProblem,
};

/// Why a question about an object has no answer.
#[derive(Debug, thiserror::Error)]
pub enum InterpretError {
    /// No layer has a rule for the kind.
    #[error("no rule for {operation} of {kind}")]
    NoRule {
        /// What was asked.
        operation: Operation,
        /// API version and kind of the object.
        kind: String,
    },
    /// The rule is a webhook's, so the caller must ask over the network.
    #[error("{operation} of {kind} is answered by a webhook")]
    Webhook {
        /// What was asked.
        operation: Operation,
        /// API version and kind of the object.
        kind: String,
    },
    /// The rule that had to answer failed. No other layer is tried.
    #[error("the {layer} rule for {operation} of {kind} failed")]
    Rule {
        /// Whose rule it is.
        layer: Layer,
        /// What was asked.
        operation: Operation,
        /// API version and kind of the object.
        kind: String,
        /// What went wrong.
        source: RuleError,
    },
}

/// Why a rule failed.
#[derive(Debug, thiserror::Error)]
pub enum RuleError {
    /// A field holds a value of another type than its kind says.
    #[error("{path}: expected {expected}, found {found}")]
    Shape {
        /// The field. Of a member's status, it starts with `aggregatedStatus[<cluster>].status`.
        path: FieldPath,
        /// What belongs there.
        expected: &'static str,
        /// What is there.
        found: &'static str,
    },
    /// A field holds a value that cannot be used.
    #[error("{path}: {problem}")]
    Value {
        /// The field.
        path: FieldPath,
        /// What is wrong with it.
        problem: String,
    },
    /// A script failed.
    #[error(transparent)]
    Script(Box<ScriptError>),
    /// A webhook gave no answer, or none that can be used.
    #[error(transparent)]
    Webhook(Box<WebhookProblem>),
    /// A rule from outside this crate failed, in its own words.
    #[error(transparent)]
    Other(Box<dyn std::error::Error + Send + Sync>),
}

impl From<ScriptError> for RuleError {
    fn from(error: ScriptError) -> Self {
        Self::Script(Box::new(error))
    }
}

impl InterpretError {
    /// Whether asking again gives the same answer until an object or a rule changes.
    ///
    /// Built-in rules look at their inputs alone, and so do scripts unless they were stopped for lack of time or memory.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        match self {
            Self::NoRule { .. } | Self::Webhook { .. } => true,
            Self::Rule { source, .. } => match source {
                RuleError::Shape { .. } | RuleError::Value { .. } => true,
                RuleError::Script(error) => error.is_terminal(),
                RuleError::Webhook(_) | RuleError::Other(_) => false,
            },
        }
    }
}
