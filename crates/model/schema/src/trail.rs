//! Where a walk over an object is, at the cost of a few words per level; turned into text only for an error.

use std::fmt::Write;

use object::field::FieldPath;

/// How deep a walk goes. Deeper values can only come from patches that nest inside each other: the parser stops
/// at half of this.
pub(crate) const MAX_DEPTH: usize = 256;

/// One step down.
#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    Field(&'a str),
    Key(&'a str),
    Index(usize),
}

/// The way from the root to the value being looked at, linked through the stack.
#[derive(Clone, Copy)]
pub(crate) struct Trail<'a> {
    parent: Option<&'a Trail<'a>>,
    step: Step<'a>,
    depth: usize,
}

impl<'a> Trail<'a> {
    pub(crate) const ROOT: Trail<'static> = Trail {
        parent: None,
        step: Step::Root,
        depth: 0,
    };

    /// A field of a struct.
    pub(crate) fn field(&'a self, name: &'a str) -> Self {
        Self {
            parent: Some(self),
            step: Step::Field(name),
            depth: self.depth + 1,
        }
    }

    /// A value of a map.
    pub(crate) fn key(&'a self, name: &'a str) -> Self {
        Self {
            parent: Some(self),
            step: Step::Key(name),
            depth: self.depth + 1,
        }
    }

    /// An element of a list.
    pub(crate) fn index(&'a self, index: usize) -> Self {
        Self {
            parent: Some(self),
            step: Step::Index(index),
            depth: self.depth + 1,
        }
    }

    pub(crate) fn is_root(&self) -> bool {
        self.depth == 0
    }

    /// Whether a walk must stop here.
    pub(crate) fn is_too_deep(&self) -> bool {
        self.depth > MAX_DEPTH
    }

    /// With map keys written like fields: `spec.labels.app`, as in schema validation and unknown-field messages.
    pub(crate) fn dotted(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, false);
        text
    }

    /// With map keys in brackets: `spec.labels[app]`, as in all other messages.
    pub(crate) fn path(&self) -> FieldPath {
        let mut text = String::new();
        self.write(&mut text, true);
        FieldPath::from(text.as_str())
    }

    fn write(&self, text: &mut String, brackets: bool) {
        if let Some(parent) = self.parent {
            parent.write(text, brackets);
        }
        match self.step {
            Step::Root => {}
            Step::Key(name) if brackets => {
                let _infallible = write!(text, "[{name}]");
            }
            Step::Key(name) => {
                text.push('.');
                text.push_str(name);
            }
            Step::Field(name) => {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(name);
            }
            Step::Index(index) => {
                let _infallible = write!(text, "[{index}]");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_written_in_both_styles() {
        let root = Trail::ROOT;
        let spec = root.field("spec");
        let list = spec.field("list");
        let item = list.index(3);
        let key = item.key("a/b");
        assert_eq!(key.dotted(), "spec.list[3].a/b");
        assert_eq!(key.path().as_str(), "spec.list[3][a/b]");
        assert_eq!(root.dotted(), "");
    }
}
