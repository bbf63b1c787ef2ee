//! The metadata every object has, as a type other schemas refer to.

use crate::{
    builder::SchemaBuilder,
    node::{ListKind, MapKind, Node, PatchStrategy, Property, SchemaId, Type},
    rules::Rules,
};

/// The name clients know the type by.
pub const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const OWNER_REFERENCE: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference";
const MANAGED_FIELDS_ENTRY: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry";

/// The fields of metadata; the table of types gets what they need, once.
pub(crate) fn object_meta(types: &mut SchemaBuilder) -> Vec<Property> {
    let text = types.add(Node::of(Type::String));
    let flag = types.add(Node::of(Type::Boolean));
    let number = types.add(Node::of(Type::Integer).with_rules(Rules::format("int64")));
    let mut time = Node::of(Type::String).with_rules(Rules::format("date-time"));
    time.nullable = true; // Clients of old write `creationTimestamp: null`.
    let time = types.add(time);
    let texts = types.add(Node::map(text));
    let mut raw = Node::of(Type::Object);
    raw.preserve_unknown = true;
    let raw = types.add(raw);

    let owner = define(types, OWNER_REFERENCE, |_| {
        let mut node = Node::object([
            Property::new("apiVersion", text).described("The group and version of the owner."),
            Property::new("blockOwnerDeletion", flag).described(
                "Whether the owner waits for this object when it is deleted in the foreground.",
            ),
            Property::new("controller", flag).described("Whether the owner manages this object."),
            Property::new("kind", text).described("The kind of the owner."),
            Property::new("name", text).described("The name of the owner."),
            Property::new("uid", text)
                .described("The uid of the owner.")
                .with_default(""),
        ])
        .with_rules(Rules::require(["apiVersion", "kind", "name", "uid"]))
        .described("Names an object this one belongs to, in the same namespace or without one.");
        node.map = MapKind::Atomic;
        node
    });
    let entry = define(types, MANAGED_FIELDS_ENTRY, |_| {
        Node::object([
            Property::new("apiVersion", text).described("The version the fields are written in."),
            Property::new("fieldsType", text).described("The format of the fields: `FieldsV1`."),
            Property::new("fieldsV1", raw).described("The fields that are owned."),
            Property::new("manager", text).described("Who owns them."),
            Property::new("operation", text)
                .described("How they were written: `Apply` or `Update`."),
            Property::new("subresource", text)
                .described("The subresource they were written through."),
            Property::new("time", time).described("When they were last changed."),
        ])
        .described("Which fields one manager owns.")
    });
    let owners = types.add(Node::list(owner, ListKind::Map(["uid".into()].into())));
    let entries = types.add(Node::list(entry, ListKind::Atomic));
    let finalizers = types.add(Node::list(text, ListKind::Set));
    let by_uid = PatchStrategy {
        merge: true,
        merge_key: Some("uid".into()),
        ..PatchStrategy::default()
    };
    let merged = PatchStrategy {
        merge: true,
        ..PatchStrategy::default()
    };
    vec![
        Property::new("annotations", texts)
            .described("Notes of tools and people; not used to select objects."),
        Property::new("creationTimestamp", time).described(
            "CreationTimestamp is a timestamp of the moment the server created the object.",
        ),
        Property::new("deletionGracePeriodSeconds", number)
            .described("How long the object has to end by itself."),
        Property::new("deletionTimestamp", time)
            .described("When the object is to be gone; set by the server."),
        Property::new("finalizers", finalizers)
            .described("Who must act before the object may be removed.")
            .with_patch(merged),
        Property::new("generateName", text).described("The prefix of a name the server makes up."),
        Property::new("generation", number).described("Counts changes of the desired state."),
        Property::new("labels", texts).described("Names and values that objects are selected by."),
        Property::new("managedFields", entries)
            .described("Who owns which fields; kept by the server."),
        Property::new("name", text).described("Unique within the namespace and kind."),
        Property::new("namespace", text).described("The space the name is unique in."),
        Property::new("ownerReferences", owners)
            .described("The objects this one belongs to.")
            .with_patch(by_uid),
        Property::new("resourceVersion", text)
            .described("Changes whenever the object does; compare for equality only."),
        Property::new("selfLink", text).described("No longer set."),
        Property::new("uid", text).described("Unique in time and space; set by the server."),
    ]
}

/// The id of the plain metadata type.
pub(crate) fn object_meta_id(types: &mut SchemaBuilder) -> SchemaId {
    let properties = object_meta(types);
    define(types, OBJECT_META, |_| {
        Node::object(properties).described("What every object has: its name, labels, owners.")
    })
}

/// The id of a named type, defined now if it was not before.
fn define(
    types: &mut SchemaBuilder,
    name: &str,
    node: impl FnOnce(&mut SchemaBuilder) -> Node,
) -> SchemaId {
    if types.is_defined(name) {
        return types.reference(name);
    }
    let node = node(types);
    let id = types.reference(name);
    // Invariant: not defined, as checked above.
    let _defined = types.define(name, node);
    id
}
