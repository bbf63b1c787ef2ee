//! Kinds that come as definitions: CustomResourceDefinitions, whoever wrote them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cel::rules::{self, Expressions, Rules};
use object::Value;
use object::field::{self, FieldError, FieldPath};
use object::time::Time;
use serve::cache;
use serve::conversion::Converter;
use serve::discovery::version_rank;
use serve::resource::{
    Action, KindRules, Resource, ScalePaths, Subresource, Version, keep_other_parts, wants_differ,
};
use serve::target::Verb;
use serve::webhook::Caller;

use crate::columns::PathColumns;
use crate::conversion::{Hook, Relabel};

/// Custom groups come after all built-in ones.
const CUSTOM_GROUP: u32 = 1_000;

const VERBS: [Verb; 8] = [
    Verb::Get,
    Verb::List,
    Verb::Watch,
    Verb::Create,
    Verb::Update,
    Verb::Patch,
    Verb::Delete,
    Verb::DeleteCollection,
];

/// A definition that cannot be served.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DefinitionError {
    /// A field every definition has is missing.
    #[error("{path}: is missing or has the wrong type")]
    Missing {
        /// Which.
        path: String,
    },
    /// A schema is not structural.
    #[error("{}", field::join(errors))]
    Schema {
        /// All that is wrong with it.
        errors: Vec<FieldError>,
    },
}

/// Everything wrong with the schemas of a definition that replaces `old`, with what its rules may cost, and with what it
/// needs to be served.
pub(crate) fn problems_of_definition(old: Option<&Value>, definition: &Value) -> Vec<FieldError> {
    match read(definition, None, Costs::Judged { old }) {
        Ok(_) => Vec::new(),
        Err(DefinitionError::Schema { errors }) => errors,
        Err(DefinitionError::Missing { path }) => {
            vec![FieldError::required(FieldPath::from(path.as_str()), "")]
        }
    }
}

/// The resource a definition describes. Webhooks it names are not called; see [`resource_with_webhooks`].
pub fn resource_of_definition(definition: &Value) -> Result<Resource, DefinitionError> {
    resource_with_webhooks(definition, None)
}

/// The resource a definition describes, with `caller` for the webhook that converts its objects.
pub fn resource_with_webhooks(
    definition: &Value,
    caller: Option<&Arc<dyn Caller>>,
) -> Result<Resource, DefinitionError> {
    read(definition, caller, Costs::Accepted)
}

/// What is made of what rules may cost at most.
#[derive(Clone, Copy)]
enum Costs<'o> {
    /// They were judged when the definition was written.
    Accepted,
    /// They must keep to their budgets. Upstream: those of a schema that was stored before are only counted together.
    Judged { old: Option<&'o Value> },
}

fn read(
    definition: &Value,
    caller: Option<&Arc<dyn Caller>>,
    costs: Costs<'_>,
) -> Result<Resource, DefinitionError> {
    let spec = Fields {
        value: definition.get("spec").unwrap_or(&Value::Null),
        path: "spec".to_owned(),
    };
    let names = spec.child("names");
    let group = spec.text("group")?;
    let kind = names.text("kind")?;
    let plural = names.text("plural")?;
    let mut versions = Vec::new();
    let mut columns = BTreeMap::new();
    let mut expressions = BTreeMap::new();
    let mut stored_as = None;
    let in_common = has_one_schema(spec.list("versions"));
    for (position, version) in spec.list("versions").iter().enumerate() {
        let fields = Fields {
            value: version,
            path: format!("spec.versions[{position}]"),
        };
        let name = fields.text("name")?;
        if fields.flag("storage") {
            stored_as = Some(format!("{group}/{name}"));
        }
        let shown = columns_of(&fields);
        // Upstream: a schema that all versions share is told of as if it were the definition's.
        let spec = FieldPath::new("spec");
        let place = if in_common {
            spec.child("validation")
        } else {
            spec.child("versions").index(position).child("schema")
        };
        let version = version_of(&fields, &name, &shown, &place)?;
        if let Some(schema) = &version.schema {
            let place = place.child("openAPIV3Schema");
            let rules = Rules::compile(schema, &place)
                .map_err(|errors| DefinitionError::Schema { errors })?;
            let mut errors = rules.check_defaults(schema, &place);
            if let Costs::Judged { old } = costs {
                let known = old.and_then(|old| version_named(old, &name));
                let expressions = match known.and_then(|known| known.get("schema")) {
                    Some(schema) if Some(schema) == fields.value.get("schema") => {
                        Expressions::Stored
                    }
                    _ => Expressions::New,
                };
                errors.extend(rules.check_costs(schema, &place, expressions));
            }
            if !errors.is_empty() {
                return Err(DefinitionError::Schema { errors });
            }
            if !rules.is_empty() {
                expressions.insert(name.clone(), rules);
            }
        }
        versions.push(version);
        columns.insert(name, shown);
    }
    versions.sort_by_key(|version: &Version| Reverse(version_rank(&version.name)));
    // Whoever uses a version of the past is told which is the present one, if there is one.
    let present = versions
        .iter()
        .find(|version| version.served && version.warning.is_none());
    let instead = present.map(|version| format!("; use {group}/{} {kind}", version.name));
    let instead = instead.unwrap_or_default();
    for version in &mut versions {
        if version.warning.as_deref() == Some("") {
            let text = format!("{group}/{} {kind} is deprecated{instead}", version.name);
            version.warning = Some(text.into());
        }
    }
    let with_status = versions
        .iter()
        .filter(|version| has_status(version))
        .map(|version| version.name.to_string())
        .collect();
    let singular = names
        .text("singular")
        .unwrap_or_else(|_| kind.to_lowercase());
    let list_kind = names
        .text("listKind")
        .unwrap_or_else(|_| format!("{kind}List"));
    let conversion = spec.child("conversion");
    let converter: Option<Box<dyn Converter>> = if versions.len() < 2 {
        None
    } else if conversion
        .text("strategy")
        .is_ok_and(|strategy| strategy == "Webhook")
    {
        let webhook = conversion.child("webhook");
        Some(Box::new(Hook::of_definition(webhook.value, &kind, caller)))
    } else {
        Some(Box::new(Relabel))
    };
    Ok(Resource {
        collection: cache::name_of(&group, &plural).into(),
        stored_as: stored_as.ok_or_else(|| spec.missing("versions"))?.into(),
        group: group.into(),
        kind: kind.into(),
        list_kind: list_kind.into(),
        plural: plural.into(),
        singular: singular.into(),
        short_names: names.texts("shortNames"),
        categories: names.texts("categories"),
        namespaced: spec.text("scope")? == "Namespaced",
        versions,
        group_priority: CUSTOM_GROUP,
        rules: Arc::new(DefinedRules {
            columns,
            with_status,
            expressions,
            converter,
            defaults_since: defaults_since(definition),
        }),
    })
}

/// The revision of a definition whose schemas give defaults; 0 for one of which no object lacks any.
fn defaults_since(definition: &Value) -> u64 {
    let schemas = definition.pointer("/spec/versions");
    if !schemas.is_some_and(has_default) {
        return 0;
    }
    let revision = definition.pointer("/metadata/resourceVersion");
    let revision = revision.and_then(Value::as_str).map(str::parse);
    revision.and_then(Result::ok).unwrap_or(0)
}

/// Whether something in a value is called `default`. A property of that name counts too, which costs a look at objects
/// that lack nothing.
fn has_default(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields
            .iter()
            .any(|(name, value)| name == "default" || has_default(value)),
        Value::Array(items) => items.iter().any(has_default),
        _ => false,
    }
}

/// A version of a definition.
fn version_named<'v>(definition: &'v Value, name: &str) -> Option<&'v Value> {
    let versions = definition.pointer("/spec/versions")?.as_array()?;
    let is_meant = |version: &&Value| version.get("name").and_then(Value::as_str) == Some(name);
    versions.iter().find(is_meant)
}

fn has_one_schema(versions: &[Value]) -> bool {
    let mut schemas = versions.iter().map(|version| version.get("schema"));
    let first = schemas.next();
    schemas.all(|schema| Some(schema) == first)
}

fn version_of(
    fields: &Fields<'_>,
    name: &str,
    columns: &PathColumns,
    place: &FieldPath,
) -> Result<Version, DefinitionError> {
    let path = place.child("openAPIV3Schema");
    let schema = fields.child("schema").child("openAPIV3Schema");
    let schema = schema::crd::read(schema.value, &path)
        .map_err(|errors| DefinitionError::Schema { errors })?;
    let deprecated = fields.flag("deprecated");
    let warning = fields.text("deprecationWarning").ok();
    let selectable = fields.list("selectableFields").iter();
    Ok(Version {
        name: name.into(),
        served: fields.flag("served"),
        // Empty where the definition has no words of its own.
        warning: deprecated.then(|| warning.unwrap_or_default().into()),
        schema: Some(schema),
        verbs: VERBS.to_vec(),
        subresources: subresources_of(&fields.child("subresources")),
        columns: columns.shown(),
        selectable: selectable
            .filter_map(|field| {
                field
                    .get("jsonPath")?
                    .as_str()
                    .map(|path| path.trim_start_matches('.').into())
            })
            .collect(),
    })
}

fn subresources_of(fields: &Fields<'_>) -> Vec<Subresource> {
    let verbs = || vec![Verb::Get, Verb::Patch, Verb::Update];
    let mut parts = Vec::new();
    if fields.value.get("status").is_some() {
        parts.push(Subresource {
            name: "status".into(),
            kind: None,
            verbs: verbs(),
            action: Action::Status,
        });
    }
    let scale = fields.child("scale");
    if let (Ok(wanted), Ok(present)) = (
        scale.text("specReplicasPath"),
        scale.text("statusReplicasPath"),
    ) {
        let selector = scale.text("labelSelectorPath").ok().map(Arc::from);
        parts.push(Subresource {
            name: "scale".into(),
            kind: Some(("autoscaling".into(), "v1".into(), "Scale".into())),
            verbs: verbs(),
            action: Action::Scale(ScalePaths {
                wanted: wanted.into(),
                present: present.into(),
                selector,
            }),
        });
    }
    parts
}

fn columns_of(fields: &Fields<'_>) -> PathColumns {
    let mut columns = PathColumns::with_name();
    let given = fields.list("additionalPrinterColumns");
    if given.is_empty() {
        columns.add_age();
    }
    for column in given {
        let text = |name: &str| column.get(name).and_then(Value::as_str).unwrap_or_default();
        let priority = column.get("priority").and_then(Value::as_i64).unwrap_or(0);
        let priority = i32::try_from(priority).unwrap_or(i32::MAX);
        columns.add(text("name"), text("type"), text("jsonPath"), priority, "");
        let described = match text("description") {
            "" => format!(
                "Custom resource definition column (in JSONPath format): {}",
                text("jsonPath")
            ),
            given => given.to_owned(),
        };
        columns.describe_last(text("format"), &described);
    }
    columns
}

fn has_status(version: &Version) -> bool {
    version
        .subresources
        .iter()
        .any(|part| &*part.name == "status")
}

/// What holds for every custom kind.
struct DefinedRules {
    columns: BTreeMap<String, PathColumns>,
    /// The versions whose status is written on its own; in the others it is a field like any other.
    with_status: BTreeSet<String>,
    /// By version; only those that have any.
    expressions: BTreeMap<String, Rules>,
    /// Only for kinds of several versions.
    converter: Option<Box<dyn Converter>>,
    /// When its schemas last changed, if they give defaults.
    defaults_since: u64,
}

impl KindRules for DefinedRules {
    fn judge_further(
        &self,
        version: &str,
        old: Option<&Value>,
        new: &Value,
        found: &[FieldError],
    ) -> Vec<FieldError> {
        match self.expressions.get(version) {
            None => Vec::new(),
            Some(_) if found.iter().any(rules::is_blocking) => vec![rules::unchecked()],
            Some(rules) => rules.check(old, new),
        }
    }

    fn converter(&self) -> Option<&dyn Converter> {
        self.converter.as_deref()
    }

    fn defaults_since(&self) -> u64 {
        self.defaults_since
    }

    fn needs_revision(&self) -> bool {
        true
    }

    fn prepare_create(&self, version: &str, object: &mut Value, _now: Time) {
        if self.with_status.contains(version)
            && let Some(fields) = object.as_object_mut()
        {
            fields.shift_remove("status");
        }
    }

    fn prepare_update(&self, version: &str, old: &Value, new: &mut Value, part: &str) {
        if self.with_status.contains(version) {
            keep_other_parts(old, new, part);
        }
    }

    fn unowned_fields(&self, version: &str, part: &str) -> &'static [&'static str] {
        match (self.with_status.contains(version), part) {
            (true, "status") => &["spec", "metadata"],
            (true, _) => &["status"],
            (false, _) => &[],
        }
    }

    fn is_new_generation(&self, old: &Value, new: &Value) -> bool {
        let version = new.get("apiVersion").and_then(Value::as_str);
        let version = version.and_then(|text| text.rsplit('/').next());
        let has_status = version.is_some_and(|version| self.with_status.contains(version));
        wants_differ(old, new) || (!has_status && old.get("status") != new.get("status"))
    }

    fn cells(&self, version: &str, object: &Value, now: Time) -> Vec<Value> {
        self.columns
            .get(version)
            .map(|columns| columns.cells(object, now))
            .unwrap_or_default()
    }
}

/// A part of a definition, with its path for messages.
struct Fields<'v> {
    value: &'v Value,
    path: String,
}

impl<'v> Fields<'v> {
    fn child(&self, name: &str) -> Fields<'v> {
        Fields {
            value: self.value.get(name).unwrap_or(&Value::Null),
            path: format!("{}.{name}", self.path),
        }
    }

    fn text(&self, name: &str) -> Result<String, DefinitionError> {
        let text = self
            .value
            .get(name)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty());
        text.map(str::to_owned).ok_or_else(|| self.missing(name))
    }

    fn texts(&self, name: &str) -> Vec<Arc<str>> {
        self.list(name)
            .iter()
            .filter_map(Value::as_str)
            .map(Arc::from)
            .collect()
    }

    fn flag(&self, name: &str) -> bool {
        self.value
            .get(name)
            .and_then(Value::as_bool)
            .unwrap_or(false)
    }

    fn list(&self, name: &str) -> &'v [Value] {
        self.value
            .get(name)
            .and_then(Value::as_array)
            .map_or(&[], Vec::as_slice)
    }

    fn missing(&self, name: &str) -> DefinitionError {
        DefinitionError::Missing {
            path: format!("{}.{name}", self.path),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn definition() -> Value {
        json!({"spec": {
            "group": "test.io", "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets", "shortNames": ["wd"], "categories": ["all"]},
            "versions": [
                {"name": "v1beta1", "served": true, "storage": false, "deprecated": true,
                 "schema": {"openAPIV3Schema": {"type": "object"}}},
                {"name": "v1", "served": true, "storage": true,
                 "subresources": {
                     "status": {}, "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"},
                 },
                 "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
                 "selectableFields": [{"jsonPath": ".spec.colour"}],
                 "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                     "spec": {"type": "object", "properties": {
                         "size": {"type": "integer"}, "colour": {"type": "string"},
                     }},
                 }}}},
            ],
        }})
    }

    #[test]
    fn a_definition_becomes_a_resource() {
        let resource = resource_of_definition(&definition()).unwrap();
        assert_eq!(
            (&*resource.collection, &*resource.stored_as),
            ("test.io/widgets", "test.io/v1")
        );
        assert_eq!(
            (&*resource.singular, &*resource.list_kind),
            ("widget", "WidgetList")
        );
        let names: Vec<&str> = resource
            .versions
            .iter()
            .map(|version| &*version.name)
            .collect();
        assert_eq!(names, ["v1", "v1beta1"]);
        let [stable, beta] = resource.versions.as_slice() else {
            panic!("two versions")
        };
        assert_eq!(stable.subresources.len(), 2);
        assert_eq!(&*stable.selectable, ["spec.colour".into()]);
        assert_eq!(
            beta.warning.as_deref(),
            Some("test.io/v1beta1 Widget is deprecated; use test.io/v1 Widget")
        );
        let now = "2026-01-01T01:00:00Z".parse().unwrap();
        let object = json!({"metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z"}, "spec": {"size": 3}});
        assert_eq!(
            resource.rules.cells("v1", &object, now),
            [json!("a"), json!(3)]
        );
        assert_eq!(
            resource.rules.cells("v1beta1", &object, now),
            [json!("a"), json!("60m")]
        );
    }

    #[test]
    fn what_cannot_be_served_is_refused_by_name() {
        let check = |path: &[&str], value: Value, expected: &str| {
            let mut broken = definition();
            let place = path
                .iter()
                .fold(&mut broken, |value, name| match name.parse::<usize>() {
                    Ok(position) => &mut value[position],
                    Err(_) => &mut value[*name],
                });
            *place = value;
            let error = resource_of_definition(&broken).err().unwrap().to_string();
            assert!(error.contains(expected), "{error}");
        };
        check(
            &["spec", "names", "kind"],
            json!(1),
            "spec.names.kind: is missing",
        );
        check(
            &["spec", "versions", "1", "storage"],
            json!(false),
            "spec.versions: is missing",
        );
        check(
            &[
                "spec",
                "versions",
                "1",
                "schema",
                "openAPIV3Schema",
                "properties",
                "spec",
                "type",
            ],
            json!(null),
            "spec.versions[1].schema.openAPIV3Schema.properties[spec].type",
        );
    }
}
