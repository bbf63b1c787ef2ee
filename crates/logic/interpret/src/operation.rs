//! What can be asked about an object.

use std::fmt;

use api::config::interpreter_operation as names;

/// A question about an object, by the name it has in the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    /// How many replicas a template asks for, and what one of them needs.
    InterpretReplica,
    /// The kinds of pod in a template that has several.
    InterpretComponent,
    /// The template with another number of replicas.
    ReviseReplica,
    /// What to write to a member, so that what it owns of the object survives.
    Retain,
    /// The status of the template, from those of all members.
    AggregateStatus,
    /// The part of a member's status that is carried back.
    InterpretStatus,
    /// Whether the object in a member does what it should.
    InterpretHealth,
    /// What the object refers to and needs beside it.
    InterpretDependency,
}

impl Operation {
    /// All operations.
    pub const ALL: [Self; 8] = [
        Self::InterpretReplica,
        Self::InterpretComponent,
        Self::ReviseReplica,
        Self::Retain,
        Self::AggregateStatus,
        Self::InterpretStatus,
        Self::InterpretHealth,
        Self::InterpretDependency,
    ];

    /// Its name in the API.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InterpretReplica => names::INTERPRET_REPLICA,
            Self::InterpretComponent => names::INTERPRET_COMPONENT,
            Self::ReviseReplica => names::REVISE_REPLICA,
            Self::Retain => names::RETAIN,
            Self::AggregateStatus => names::AGGREGATE_STATUS,
            Self::InterpretStatus => names::INTERPRET_STATUS,
            Self::InterpretHealth => names::INTERPRET_HEALTH,
            Self::InterpretDependency => names::INTERPRET_DEPENDENCY,
        }
    }

    /// The operation of that name, spelled exactly.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|operation| operation.as_str() == name)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_found_by_their_names() {
        for operation in Operation::ALL {
            assert_eq!(Operation::named(&operation.to_string()), Some(operation));
        }
        // Reserved in the API, and nothing that can be asked.
        assert_eq!(Operation::named(names::PRUNE), None);
        assert_eq!(Operation::named(names::ALL), None);
    }
}
