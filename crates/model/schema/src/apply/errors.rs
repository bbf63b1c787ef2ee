//! Why a write changes nothing, in the words users know.

use super::{
    check::TypeProblem,
    managers::{Manager, ManagersError},
};

/// A field that someone else owns and that an apply would have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Who owns it.
    pub manager: Manager,
    /// The field: `.spec.replicas`.
    pub field: String,
}

/// Why an apply changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// Others own fields it would change.
    #[error("{}", conflict_message(.0))]
    Conflicts(Vec<Conflict>),
    /// The declaration does not fit the kind.
    #[error("failed to create typed patch object ({object}): {}", problems_message(.problems))]
    Declaration {
        /// Which object.
        object: String,
        /// What is wrong.
        problems: Vec<TypeProblem>,
    },
    /// The stored object does not fit the kind.
    #[error("failed to create typed live object ({object}): {}", problems_message(.problems))]
    Live {
        /// Which object.
        object: String,
        /// What is wrong.
        problems: Vec<TypeProblem>,
    },
    /// The declaration is of another version or kind, or sets what only the server may.
    #[error("{0}")]
    BadRequest(String),
    /// The stored managed fields cannot be read.
    #[error("failed to decode managed fields")]
    ManagedFields(#[from] ManagersError),
    /// The object cannot be seen as another version.
    #[error("failed to convert the object to {to}: {problem}")]
    Convert {
        /// The version.
        to: String,
        /// Why.
        problem: String,
    },
}

/// What can go wrong below.
pub(super) enum Failure {
    Convert { to: String, problem: String },
}

impl From<Failure> for ApplyError {
    fn from(failure: Failure) -> Self {
        let Failure::Convert { to, problem } = failure;
        Self::Convert { to, problem }
    }
}

impl Conflict {
    /// The message of the cause that names it.
    #[must_use]
    pub fn message(&self) -> String {
        format!("conflict with {}", self.manager)
    }
}

fn conflict_message(conflicts: &[Conflict]) -> String {
    if let [only] = conflicts {
        return format!(
            "Apply failed with 1 conflict: conflict with {}: {}",
            only.manager, only.field
        );
    }
    let mut lines = Vec::new();
    let mut current = None;
    for conflict in conflicts {
        if current != Some(&conflict.manager) {
            lines.push(format!("conflicts with {}:", conflict.manager));
            current = Some(&conflict.manager);
        }
        lines.push(format!("- {}", conflict.field));
    }
    format!(
        "Apply failed with {} conflicts: {}",
        conflicts.len(),
        lines.join("\n")
    )
}

fn problems_message(problems: &[TypeProblem]) -> String {
    if let [only] = problems {
        return only.to_string();
    }
    let lines: Vec<String> = problems
        .iter()
        .map(|problem| format!("  {problem}"))
        .collect();
    format!("errors:\n{}", lines.join("\n"))
}
