//! The compiled form of schemas: a flat table of nodes that refer to each other by number.
//!
//! A table ([`Types`]) holds many named types, which may be recursive; a [`Schema`] is one of them taken as root.
//! Tables are built once ([`crate::builder::SchemaBuilder`], [`crate::crd`]) and shared behind an `Arc`: the
//! schema of a kind costs a server, or a thousand simulated ones, one copy.

use std::{collections::BTreeMap, fmt, sync::Arc};

use object::Value;

use crate::rules::Rules;

/// The place of a node in its [`Types`] table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SchemaId(pub(crate) u32);

/// The JSON types a node admits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Type {
    /// Any JSON value.
    #[default]
    Any,
    /// An object: a struct with [`Node::properties`], a map with [`Node::values`], or both.
    Object,
    /// A list of [`Node::items`].
    Array,
    /// A string.
    String,
    /// A whole number; its width is the rule `format` (`int32`, `int64`).
    Integer,
    /// Any number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A whole number or a string, such as a port or a percentage.
    IntOrString,
    /// A resource quantity: a string such as `500m`, or a number.
    Quantity,
}

/// How the elements of a list are told apart when several authors share it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ListKind {
    /// The schema does not say; treated as [`ListKind::Atomic`].
    #[default]
    Unstated,
    /// The list has one owner and is replaced whole.
    Atomic,
    /// Each value occurs once and has its own owner.
    Set,
    /// Each element is known by the values of these fields.
    Map(Box<[Arc<str>]>),
}

/// Whether the fields of an object have owners of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MapKind {
    /// The schema does not say; treated as [`MapKind::Granular`].
    #[default]
    Unstated,
    /// Each field has its own owner.
    Granular,
    /// The object has one owner and is replaced whole.
    Atomic,
}

/// What a strategic merge patch does with a list: elements merge, or the list is replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchStrategy {
    /// Elements are merged into the list instead of replacing it.
    pub merge: bool,
    /// The field is replaced whole, even where it would be merged otherwise.
    pub replace: bool,
    /// The patch may name the fields to keep (`$retainKeys`); others are cleared.
    pub retain_keys: bool,
    /// The field that tells elements apart; `None` for lists of plain values.
    pub merge_key: Option<Arc<str>>,
}

/// One field of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Property {
    /// The field's name.
    pub name: Arc<str>,
    /// What it holds.
    pub schema: SchemaId,
    /// What it means here; overrides the description of the type it refers to.
    pub description: Option<Arc<str>>,
    /// What an absent field is set to; overrides the default of the type it refers to.
    pub default: Option<Box<Value>>,
    /// How a strategic merge patch treats it.
    pub patch: Option<Box<PatchStrategy>>,
    /// What the field is while nobody has set it, in kinds whose objects always have it. Nobody comes to own such a field
    /// by setting something inside it.
    pub unset: Option<Box<Value>>,
}

/// Documentation other than the description, kept for publishing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Docs {
    /// A short name.
    pub title: Option<Arc<str>>,
    /// An `externalDocs` object as written.
    pub external: Option<Value>,
    /// An example value.
    pub example: Option<Value>,
}

/// What one place in an object may hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    /// The JSON types admitted.
    pub ty: Type,
    /// Whether `null` is a value of its own rather than an absent field.
    pub nullable: bool,
    /// Unknown fields are kept here and below, until a node that lists fields again.
    pub preserve_unknown: bool,
    /// No field may be set at all; `additionalProperties: false`.
    pub closed: bool,
    /// The value is a Kubernetes object with `apiVersion`, `kind` and `metadata` of its own.
    pub embedded: bool,
    /// Whether fields have separate owners.
    pub map: MapKind,
    /// How list elements are told apart.
    pub list: ListKind,
    /// The known fields, sorted by name.
    pub properties: Box<[Property]>,
    /// What fields outside `properties` hold, if there may be any.
    pub values: Option<SchemaId>,
    /// What list elements hold.
    pub items: Option<SchemaId>,
    /// What an absent value is set to.
    pub default: Option<Box<Value>>,
    /// Rules about the value beyond its type.
    pub rules: Option<Box<Rules>>,
    /// What the value means.
    pub description: Option<Arc<str>>,
    /// Further documentation.
    pub docs: Option<Box<Docs>>,
}

/// A table of types.
#[derive(Default)]
pub struct Types {
    pub(crate) nodes: Vec<Node>,
    pub(crate) names: BTreeMap<Arc<str>, SchemaId>,
    /// The names of nodes that have one of their own.
    pub(crate) named: Vec<Option<Arc<str>>>,
    /// Whether any node is an embedded object; most tables have none and skip the search for them.
    pub(crate) embedded: bool,
}

/// One type of a table, taken as the description of whole objects. Cloning costs a reference count.
#[derive(Clone)]
pub struct Schema {
    pub(crate) types: Arc<Types>,
    pub(crate) root: SchemaId,
}

impl Node {
    /// A node of one type without further rules.
    #[must_use]
    pub fn of(ty: Type) -> Self {
        Self {
            ty,
            ..Self::default()
        }
    }

    /// Anything at all: neither checked nor pruned.
    #[must_use]
    pub fn any() -> Self {
        Self {
            preserve_unknown: true,
            ..Self::default()
        }
    }

    /// Anything at all with one owner: an object or value of another API, carried along.
    #[must_use]
    pub fn raw() -> Self {
        Self {
            map: MapKind::Atomic,
            ..Self::any()
        }
    }

    /// A list of `items`.
    #[must_use]
    pub fn list(items: SchemaId, kind: ListKind) -> Self {
        Self {
            ty: Type::Array,
            items: Some(items),
            list: kind,
            ..Self::default()
        }
    }

    /// A map from strings to `values`.
    #[must_use]
    pub fn map(values: SchemaId) -> Self {
        Self {
            ty: Type::Object,
            values: Some(values),
            ..Self::default()
        }
    }

    /// An object with these fields, in any order. Of two properties with one name the first counts.
    #[must_use]
    pub fn object(properties: impl IntoIterator<Item = Property>) -> Self {
        let mut properties: Vec<Property> = properties.into_iter().collect();
        properties.sort_by(|a, b| a.name.cmp(&b.name));
        properties.dedup_by(|later, earlier| later.name == earlier.name);
        Self {
            ty: Type::Object,
            properties: properties.into(),
            ..Self::default()
        }
    }

    /// The same node with rules.
    #[must_use]
    pub fn with_rules(mut self, rules: Rules) -> Self {
        self.rules = (rules != Rules::default()).then(|| Box::new(rules));
        self
    }

    /// The same node with a description.
    #[must_use]
    pub fn described(mut self, text: impl Into<Arc<str>>) -> Self {
        self.description = Some(text.into());
        self
    }

    /// The same node with a default.
    #[must_use]
    pub fn with_default(mut self, value: impl Into<Value>) -> Self {
        self.default = Some(Box::new(value.into()));
        self
    }

    /// The known field called `name`.
    #[must_use]
    pub fn property(&self, name: &str) -> Option<&Property> {
        let place = self
            .properties
            .binary_search_by(|property| (*property.name).cmp(name))
            .ok()?;
        self.properties.get(place)
    }

    /// The names of the fields that must be set, in the schema's order.
    #[must_use]
    pub fn required(&self) -> &[Arc<str>] {
        self.rules.as_deref().map_or(&[], |rules| &rules.required)
    }
}

impl Property {
    /// A field of a type, with nothing else to say about it.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>, schema: SchemaId) -> Self {
        Self {
            name: name.into(),
            schema,
            description: None,
            default: None,
            patch: None,
            unset: None,
        }
    }

    /// The same field with a description.
    #[must_use]
    pub fn described(mut self, text: impl Into<Arc<str>>) -> Self {
        self.description = Some(text.into());
        self
    }

    /// The same field with a default.
    #[must_use]
    pub fn with_default(mut self, value: impl Into<Value>) -> Self {
        self.default = Some(Box::new(value.into()));
        self
    }

    /// The same field with a patch strategy.
    #[must_use]
    pub fn with_patch(mut self, patch: PatchStrategy) -> Self {
        self.patch = (patch != PatchStrategy::default()).then(|| Box::new(patch));
        self
    }
}

impl PatchStrategy {
    /// Reads the extension `x-kubernetes-patch-strategy` (`merge`, `replace`, `retainKeys`, or several with commas)
    /// and the merge key beside it. Unknown words mean nothing, as upstream.
    #[must_use]
    pub fn parse(strategy: &str, merge_key: Option<&str>) -> Self {
        let has = |word| strategy.split(',').any(|part| part.trim() == word);
        Self {
            merge: has("merge"),
            replace: has("replace"),
            retain_keys: has("retainKeys"),
            merge_key: merge_key.map(Arc::from),
        }
    }
}

impl Types {
    /// The node at `id`. Ids of another table give a node that admits anything.
    #[must_use]
    pub fn node(&self, id: SchemaId) -> &Node {
        static ANY: std::sync::LazyLock<Node> = std::sync::LazyLock::new(Node::any);
        self.nodes.get(id.0 as usize).unwrap_or(&ANY)
    }

    /// The type called `name`.
    #[must_use]
    pub fn id(&self, name: &str) -> Option<SchemaId> {
        self.names.get(name).copied()
    }

    /// The named types, by name.
    pub fn names(&self) -> impl Iterator<Item = (&str, SchemaId)> {
        self.names.iter().map(|(name, id)| (&**name, *id))
    }

    /// How many nodes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no node at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The name of the type at `id`; it then means the same wherever it is used.
    #[must_use]
    pub fn name(&self, id: SchemaId) -> Option<&str> {
        self.named.get(id.0 as usize)?.as_deref()
    }

    /// Whether any node is an embedded object.
    #[must_use]
    pub fn has_embedded(&self) -> bool {
        self.embedded
    }

    /// What an absent `property` is set to.
    #[must_use]
    pub fn default_of<'a>(&'a self, property: &'a Property) -> Option<&'a Value> {
        property
            .default
            .as_deref()
            .or_else(|| self.node(property.schema).default.as_deref())
    }

    /// The type called `name` as a schema.
    #[must_use]
    pub fn schema(self: &Arc<Self>, name: &str) -> Option<Schema> {
        Some(Schema {
            types: Arc::clone(self),
            root: self.id(name)?,
        })
    }
}

impl Schema {
    /// The type at `root` of `types`.
    #[must_use]
    pub fn new(types: Arc<Types>, root: SchemaId) -> Self {
        Self { types, root }
    }

    /// The table the schema's nodes live in.
    #[must_use]
    pub fn types(&self) -> &Arc<Types> {
        &self.types
    }

    /// The id of the root node.
    #[must_use]
    pub fn root_id(&self) -> SchemaId {
        self.root
    }

    /// The root node.
    #[must_use]
    pub fn root(&self) -> &Node {
        self.types.node(self.root)
    }

    /// The node at `id`.
    #[must_use]
    pub fn node(&self, id: SchemaId) -> &Node {
        self.types.node(id)
    }
}

impl fmt::Debug for Types {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Types({} nodes, {} names)",
            self.nodes.len(),
            self.names.len()
        )
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schema(root {} of {:?})", self.root.0, self.types)
    }
}
