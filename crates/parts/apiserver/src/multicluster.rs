//! The multi-cluster kinds as resources: their definitions, and what differs from any other custom kind.

use std::sync::Arc;

use api::kind::{Kind, TypeName};
use api::read;
use api::registry::{self, RESOURCES};
use api::work::{placing, v1alpha1, v1alpha2};
use kinds::resource_of_definition;
use object::time::Time;
use object::{Object, Value};
use serve::resource::{Action, KindRules, Resource, Subresource};
use serve::target::Verb;

/// Every multi-cluster kind.
pub(crate) fn resources() -> Vec<Resource> {
    RESOURCES
        .iter()
        .map(|kind| {
            let mut definition = api::schema::definition(kind);
            if kind.kind == "Cluster" {
                let versions = definition["spec"]["versions"].as_array_mut();
                versions.into_iter().flatten().for_each(loosen_conditions);
            }
            let mut resource = resource_of_definition(&definition)
                .expect("invariant: our own definitions are structural, as api's tests show");
            resource.rules = Arc::new(MultiClusterRules {
                plain: resource.rules,
                kind,
            });
            if kind.kind == "Cluster" {
                for version in &mut resource.versions {
                    version.subresources.push(proxy());
                }
            }
            if matches!(kind.kind, "ResourceBinding" | "ClusterResourceBinding") {
                for version in &mut resource.versions {
                    version.subresources.push(decisions());
                    version.subresources.push(placing());
                }
            }
            resource
        })
        .collect()
}

/// Lets conditions through that say no reason. Upstream: clusters are served by a program of their own, which does not hold
/// what others write about them against the schema, and whoever watches over networks or disks writes them so.
fn loosen_conditions(version: &mut Value) {
    let path = "/schema/openAPIV3Schema/properties/status/properties/conditions/items";
    let Some(Value::Object(items)) = version.pointer_mut(path) else {
        return;
    };
    items.insert("required".to_owned(), serde_json::json!(["type", "status"]));
    let Some(Value::Object(fields)) = items.get_mut("properties") else {
        return;
    };
    for (_, field) in fields.iter_mut() {
        if let Value::Object(field) = field {
            field.retain(|limit, _| !matches!(&**limit, "minLength" | "maxLength" | "pattern"));
        }
    }
}

/// Why a binding is where it is: the scheduler's last decisions about it, to be read.
fn decisions() -> Subresource {
    Subresource {
        name: "decisions".into(),
        kind: None,
        verbs: vec![Verb::Get],
        action: Action::Custom,
    }
}

/// Result and status of a decision, in one write.
fn placing() -> Subresource {
    Subresource {
        name: placing::PART.into(),
        kind: None,
        verbs: vec![Verb::Patch],
        action: Action::Status,
    }
}

/// The way to a member's own API.
fn proxy() -> Subresource {
    Subresource {
        name: "proxy".into(),
        kind: Some((
            "cluster.karmada.io".into(),
            "v1alpha1".into(),
            "ClusterProxyOptions".into(),
        )),
        verbs: vec![
            Verb::Create,
            Verb::Delete,
            Verb::Get,
            Verb::Patch,
            Verb::Update,
        ],
        action: Action::Custom,
    }
}

/// A multi-cluster kind: like any custom kind, but for versions that are converted in the process.
struct MultiClusterRules {
    plain: Arc<dyn KindRules>,
    kind: &'static registry::Resource,
}

impl KindRules for MultiClusterRules {
    fn is_typed(&self) -> bool {
        // Upstream: clusters are compiled into a server of their own; the others are definitions.
        self.kind.kind == "Cluster"
    }

    fn convert(&self, object: &Value, api_version: &str) -> Option<Value> {
        let object = Object::from_value(object.clone()).ok()?;
        let up = api_version == v1alpha2::ResourceBinding::API_VERSION;
        let mut converted = match (object.kind(), up) {
            ("ResourceBinding", true) => {
                converted::<v1alpha1::ResourceBinding, v1alpha2::ResourceBinding>(&object)?
            }
            ("ResourceBinding", false) => {
                converted::<v1alpha2::ResourceBinding, v1alpha1::ResourceBinding>(&object)?
            }
            ("ClusterResourceBinding", true) => converted::<
                v1alpha1::ClusterResourceBinding,
                v1alpha2::ClusterResourceBinding,
            >(&object)?,
            ("ClusterResourceBinding", false) => converted::<
                v1alpha2::ClusterResourceBinding,
                v1alpha1::ClusterResourceBinding,
            >(&object)?,
            _ => return None,
        };
        // Metadata passes unchanged, with whatever the typed form does not know.
        let metadata = object.fields().get("metadata").cloned().unwrap_or_default();
        converted
            .fields_mut()
            .insert("metadata".to_owned(), metadata);
        Some(converted.into_value())
    }

    fn cells(&self, version: &str, object: &Value, now: Time) -> Vec<Value> {
        let mut cells = self.plain.cells(version, object, now);
        let columns = self
            .kind
            .version(version)
            .map_or(&[][..], |version| version.columns);
        // The name comes first, and is no column of a definition.
        for (cell, column) in cells.iter_mut().skip(1).zip(columns) {
            if !column.absent.is_empty() {
                *cell = shown(std::mem::take(cell), column.absent);
            }
        }
        cells
    }

    fn prepare_create(&self, version: &str, object: &mut Value, now: Time) {
        self.plain.prepare_create(version, object, now);
    }

    fn prepare_update(&self, version: &str, old: &Value, new: &mut Value, part: &str) {
        if part == placing::PART {
            placing::keep_to_decision(old, new);
            return;
        }
        self.plain.prepare_update(version, old, new, part);
    }

    fn unowned_fields(&self, version: &str, part: &str) -> &'static [&'static str] {
        if part == placing::PART {
            return &[];
        }
        self.plain.unowned_fields(version, part)
    }
}

/// A cell of a column that says what it shows where there is nothing, which definitions of custom kinds cannot say: that, or
/// the parts of a list one after the other.
fn shown(cell: Value, absent: &str) -> Value {
    match cell.as_str() {
        None | Some("" | "[]") => Value::from(absent),
        Some(text) => match serde_json::from_str::<Vec<String>>(text) {
            Ok(parts) => Value::from(parts.join(",")),
            Err(_) => cell,
        },
    }
}

fn converted<From, To>(object: &Object) -> Option<Object>
where
    From: Kind + Into<To>,
    To: Kind,
{
    let typed: From = read::read(object).ok()?;
    Some(read::write(&typed.into()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn conditions_of_clusters_need_no_reason() {
        let kind = RESOURCES.iter().find(|known| known.kind == "Cluster");
        let mut definition = api::schema::definition(kind.expect("clusters are served"));
        let version = &mut definition["spec"]["versions"][0];
        loosen_conditions(version);
        let status = &version["schema"]["openAPIV3Schema"]["properties"]["status"];
        let items = &status["properties"]["conditions"]["items"];
        assert_eq!(items["required"], json!(["type", "status"]));
        let reason = &items["properties"]["reason"];
        assert_eq!(
            (&reason["type"], &reason["minLength"]),
            (&json!("string"), &Value::Null)
        );
    }

    #[test]
    fn tables_of_clusters_say_what_the_reference_says_where_there_is_nothing() {
        let resources = resources();
        let clusters = resources.iter().find(|known| &*known.kind == "Cluster");
        let rules = &clusters.expect("clusters are served").rules;
        let now = Time::from_unix_seconds(100);
        let row = |object: Value| {
            let cells = rules.cells("v1alpha1", &object, now);
            let cells = cells.iter().map(|cell| cell.as_str().unwrap_or("-"));
            cells.collect::<Vec<_>>().join(" ")
        };
        let meta = json!({"name": "m", "creationTimestamp": "1970-01-01T00:01:30Z"});
        assert_eq!(
            row(json!({"metadata": meta, "spec": {"syncMode": "Pull"}})),
            "m - Pull Unknown 10s <none> <none> <none> - <none>"
        );
        let spec = json!({
            "syncMode": "Push", "zones": ["a", "b"], "region": "r", "provider": "p",
            "apiEndpoint": "https://x", "proxyURL": "http://y",
        });
        let ready = json!({"type": "Ready", "status": "True"});
        let status = json!({"kubernetesVersion": "v1.34.0", "conditions": [ready]});
        assert_eq!(
            row(json!({"metadata": meta, "spec": spec, "status": status})),
            "m v1.34.0 Push True 10s a,b r p https://x http://y"
        );
    }
}
