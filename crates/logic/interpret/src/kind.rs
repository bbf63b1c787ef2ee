//! The kind a rule is for, borrowed from whoever names it.

use std::fmt;

use object::Object;

/// An API version and a kind, as an object spells them: `apps/v1` and `Deployment`.
///
/// Rules are found by both, letter by letter: a rule for one version says nothing about another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KindRef<'a> {
    /// Group and version, or the version alone for the core group.
    pub api_version: &'a str,
    /// The kind.
    pub kind: &'a str,
}

impl<'a> KindRef<'a> {
    /// What the object says it is.
    #[must_use]
    pub fn of(object: &'a Object) -> Self {
        Self {
            api_version: object.api_version(),
            kind: object.kind(),
        }
    }

    /// The API group; empty for the core group.
    #[must_use]
    pub fn group(self) -> &'a str {
        self.api_version
            .split_once('/')
            .map_or("", |(group, _)| group)
    }

    /// The version within the group.
    #[must_use]
    pub fn version(self) -> &'a str {
        self.api_version
            .split_once('/')
            .map_or(self.api_version, |(_, version)| version)
    }
}

impl fmt::Display for KindRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, Kind={}", self.api_version, self.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_and_version_are_told_apart() {
        for (api_version, group, version) in [
            ("apps/v1", "apps", "v1"),
            ("v1", "", "v1"),
            ("", "", ""),
            ("a/b/c", "a", "b/c"),
        ] {
            let kind = KindRef {
                api_version,
                kind: "K",
            };
            assert_eq!((kind.group(), kind.version()), (group, version));
        }
    }
}
