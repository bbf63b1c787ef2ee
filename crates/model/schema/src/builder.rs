//! Putting a table of types together.
//!
//! Types refer to each other by name before or after they are defined, so recursive types need no special care:
//!
//! ```
//! use karavel_schema::{ListKind, Node, Property, Type, builder::SchemaBuilder, rules::Rules};
//!
//! let mut types = SchemaBuilder::new();
//! let text = types.add(Node::of(Type::String));
//! let tree = types.reference("Tree"); // declared by its first use
//! let branches = types.add(Node::list(tree, ListKind::Map(["name".into()].into())));
//! let node = Node::object([Property::new("name", text), Property::new("branches", branches)]);
//! types.define("Tree", node.with_rules(Rules::require(["name"])))?;
//! let types = types.build()?;
//! assert!(types.schema("Tree").is_some());
//! # Ok::<(), karavel_schema::builder::BuildError>(())
//! ```

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    node::{ListKind, MapKind, Node, SchemaId, Type, Types},
    rules::Rules,
};

/// Why a table of types cannot be built.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// The same name was defined twice.
    #[error("type {name} is defined twice")]
    Twice {
        /// The name.
        name: Arc<str>,
    },
    /// A name was used and never defined.
    #[error("type {name} is referred to but not defined")]
    Undefined {
        /// The name.
        name: Arc<str>,
    },
    /// More nodes than a table can number.
    #[error("too many types for one table")]
    Full,
}

/// A table of types under construction.
#[derive(Default)]
pub struct SchemaBuilder {
    nodes: Vec<Option<Node>>,
    names: BTreeMap<Arc<str>, SchemaId>,
    /// Plain nodes are stored once: most fields of most kinds are bare strings.
    plain: BTreeMap<PlainKey, SchemaId>,
}

/// What tells plain nodes apart.
type PlainKey = (
    Type,
    bool,
    bool,
    MapKind,
    ListKind,
    Option<SchemaId>,
    Option<SchemaId>,
    Option<Arc<str>>,
);

impl SchemaBuilder {
    /// An empty table.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The id of the type called `name`, which may be defined later.
    pub fn reference(&mut self, name: &str) -> SchemaId {
        if let Some(id) = self.names.get(name) {
            return *id;
        }
        let id = self.push(None);
        self.names.insert(Arc::from(name), id);
        id
    }

    /// Whether it has been said what the type called `name` is.
    #[must_use]
    pub fn is_defined(&self, name: &str) -> bool {
        self.names
            .get(name)
            .is_some_and(|id| self.nodes.get(id.0 as usize).is_some_and(Option::is_some))
    }

    /// Says what the type called `name` is.
    ///
    /// # Errors
    /// When it has been said before.
    pub fn define(&mut self, name: &str, node: Node) -> Result<SchemaId, BuildError> {
        let id = self.reference(name);
        match self.nodes.get_mut(id.0 as usize) {
            Some(slot @ None) => {
                *slot = Some(node);
                Ok(id)
            }
            _ => Err(BuildError::Twice {
                name: Arc::from(name),
            }),
        }
    }

    /// Adds a type without a name. Nodes that only differ in where they are used share one id.
    pub fn add(&mut self, node: Node) -> SchemaId {
        let Some(key) = plain_key(&node) else {
            return self.push(Some(node));
        };
        if let Some(id) = self.plain.get(&key) {
            return *id;
        }
        let id = self.push(Some(node));
        self.plain.insert(key, id);
        id
    }

    /// The finished table.
    ///
    /// # Errors
    /// When a name was used and never defined, or the table is full.
    pub fn build(self) -> Result<Arc<Types>, BuildError> {
        if u32::try_from(self.nodes.len()).is_err() {
            return Err(BuildError::Full);
        }
        for (name, id) in &self.names {
            if self.nodes.get(id.0 as usize).is_none_or(Option::is_none) {
                return Err(BuildError::Undefined {
                    name: Arc::clone(name),
                });
            }
        }
        let nodes: Vec<Node> = self.nodes.into_iter().flatten().collect();
        let embedded = nodes.iter().any(|node| node.embedded);
        let mut named: Vec<Option<Arc<str>>> = vec![None; nodes.len()];
        for (name, id) in &self.names {
            if let Some(named) = named.get_mut(id.0 as usize) {
                *named = Some(Arc::clone(name));
            }
        }
        Ok(Arc::new(Types {
            nodes,
            names: self.names,
            named,
            embedded,
        }))
    }

    fn push(&mut self, node: Option<Node>) -> SchemaId {
        // A full table is refused by `build`; until then the number only has to exist.
        let id = SchemaId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(node);
        id
    }
}

/// The key of a node that carries nothing but its type; `None` for any other.
fn plain_key(node: &Node) -> Option<PlainKey> {
    let bare = !node.embedded
        && !node.closed
        && node.properties.is_empty()
        && node.default.is_none()
        && node.description.is_none()
        && node.docs.is_none();
    if !bare {
        return None;
    }
    let format = match node.rules.as_deref() {
        None => None,
        Some(rules) => {
            let format = rules.format.clone();
            if *rules
                != (Rules {
                    format: format.clone(),
                    ..Rules::default()
                })
            {
                return None;
            }
            format
        }
    };
    let Node {
        ty,
        nullable,
        preserve_unknown,
        map,
        items,
        values,
        ..
    } = *node;
    Some((
        ty,
        nullable,
        preserve_unknown,
        map,
        node.list.clone(),
        items,
        values,
        format,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::Property;

    #[test]
    fn plain_nodes_are_stored_once() {
        let mut types = SchemaBuilder::new();
        let text = types.add(Node::of(Type::String));
        assert_eq!(types.add(Node::of(Type::String)), text);
        let number = types.add(Node::of(Type::Integer).with_rules(Rules::format("int32")));
        assert_eq!(
            types.add(Node::of(Type::Integer).with_rules(Rules::format("int32"))),
            number
        );
        assert_ne!(
            types.add(Node::of(Type::Integer).with_rules(Rules::format("int64"))),
            number
        );
        assert_ne!(types.add(Node::of(Type::String).described("x")), text);
        let list = types.add(Node::list(text, ListKind::Set));
        assert_eq!(types.add(Node::list(text, ListKind::Set)), list);
        assert_ne!(types.add(Node::list(text, ListKind::Atomic)), list);
    }

    #[test]
    fn names_are_defined_exactly_once() {
        let mut types = SchemaBuilder::new();
        let a = types.reference("A");
        types
            .define("B", Node::object([Property::new("a", a)]))
            .unwrap();
        assert_eq!(
            types.define("B", Node::any()),
            Err(BuildError::Twice { name: "B".into() })
        );
        assert_eq!(
            types.build().unwrap_err(),
            BuildError::Undefined { name: "A".into() }
        );
    }

    #[test]
    fn properties_are_found_by_name_and_the_first_of_a_name_counts() {
        let mut types = SchemaBuilder::new();
        let text = types.add(Node::of(Type::String));
        let flag = types.add(Node::of(Type::Boolean));
        let node = Node::object([
            Property::new("b", text),
            Property::new("a", flag),
            Property::new("b", flag),
        ]);
        assert_eq!(
            node.property("b").map(|property| property.schema),
            Some(text)
        );
        assert_eq!(
            node.property("a").map(|property| property.schema),
            Some(flag)
        );
        assert!(node.property("c").is_none());
    }
}
