//! `metrics.k8s.io`: what nodes and pods seem to use.

use std::sync::Arc;

use http::StatusCode;
use object::quantity::{Format, Quantity};
use object::time::Time;
use object::{Object, Value};
use serde_json::json;
use serve::body;
use serve::call::Call;
use serve::handler::{Asked, Handler, Outcome};
use serve::options::{ListOptions, Params};
use serve::resource::{Column, KindRules, Resource, Version};
use serve::select::Selection;
use serve::server::Server;
use serve::status::{Status, Subject};
use serve::target::Verb;

use crate::behaviour::Rules;
use crate::faults::Faults;
use crate::read;
use crate::usage::{self, Usage};

pub(crate) const GROUP: &str = "metrics.k8s.io";
const VERSION: &str = "v1beta1";
/// Below all of Kubernetes' own groups.
const PRIORITY: u32 = 100;

/// Answers for nodes or pods.
pub(crate) struct Metrics {
    pub(crate) rules: Arc<Rules>,
    pub(crate) faults: Faults,
}

/// The two resources, for discovery.
pub(crate) fn resources() -> [Resource; 2] {
    [
        ("nodes", "NodeMetrics", false),
        ("pods", "PodMetrics", true),
    ]
    .map(|(plural, kind, namespaced)| Resource {
        group: GROUP.into(),
        kind: kind.into(),
        list_kind: format!("{kind}List").into(),
        plural: plural.into(),
        singular: "".into(),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced,
        versions: vec![Version {
            name: VERSION.into(),
            served: true,
            warning: None,
            schema: None,
            verbs: vec![Verb::Get, Verb::List],
            subresources: Vec::new(),
            columns: Arc::from(Vec::<Column>::new()),
            selectable: Vec::new(),
        }],
        collection: format!("{GROUP}/{plural}").into(),
        stored_as: format!("{GROUP}/{VERSION}").into(),
        group_priority: PRIORITY,
        rules: Arc::new(NotStored),
    })
}

/// Usage is computed when it is asked for.
struct NotStored;

impl KindRules for NotStored {
    fn cells(&self, _: &str, _: &Value, _: Time) -> Vec<Value> {
        Vec::new()
    }

    fn is_stored(&self) -> bool {
        false
    }
}

impl Handler for Metrics {
    fn answer<'a>(&'a self, server: &'a Server, call: &'a Call, asked: Asked) -> Outcome<'a> {
        let answer = self
            .measure(server, call, &asked)
            .map(|value| body::value(StatusCode::OK, asked.answer.encoding, &value));
        Box::pin(std::future::ready(answer))
    }
}

impl Metrics {
    fn measure(&self, server: &Server, call: &Call, asked: &Asked) -> Result<Value, Status> {
        let is_pods = call.target.resource == "pods";
        // Kubelets measure; of what a silent one has nothing is known.
        let lost = self.faults.state().lost_nodes;
        let one = |object: &Object| {
            let node = match is_pods {
                true => read::node_of(object),
                false => object.name(),
            };
            if lost.contains(node) {
                return None;
            }
            if is_pods {
                self.pod(object, server.now())
            } else {
                Some(self.node(server, object))
            }
        };
        let collection =
            server
                .cache()
                .collection(if is_pods { "core/pods" } else { "core/nodes" });
        if call.verb == Verb::Get {
            let key = serve::cache::object_key(&call.target.namespace, &call.target.name);
            let object = collection
                .find(&key)
                .and_then(|record| Object::from_value(record.value()).ok());
            return object.and_then(|object| one(&object)).ok_or_else(|| {
                // What is missing is the pod or the node itself, which is of another group.
                let group = "";
                let subject = call.subject();
                Status::not_found(Subject { group, ..subject })
            });
        }
        let params = Params::parse(asked.parts.uri.query().unwrap_or_default())?;
        let list = ListOptions::from_params(&params)?;
        let selection = Selection::new(&call.served, &call.target, &list)?;
        let snapshot = collection.snapshot();
        let items: Vec<Value> = snapshot
            .objects
            .values()
            .filter(|record| selection.includes(&call.served, record))
            .filter(|record| {
                call.target.namespace.is_empty() || record.head().namespace == call.target.namespace
            })
            .filter_map(|record| one(&Object::from_value(record.value()).ok()?))
            .collect();
        let kind = if is_pods {
            "PodMetricsList"
        } else {
            "NodeMetricsList"
        };
        Ok(json!({
            "kind": kind, "apiVersion": format!("{GROUP}/{VERSION}"), "metadata": {}, "items": items,
        }))
    }

    /// `None` for a pod that does not run.
    fn pod(&self, pod: &Object, now: Time) -> Option<Value> {
        if read::phase(pod) != "Running" {
            return None;
        }
        let containers = read::list(pod, &["spec", "containers"]);
        let all = usage::of_pod(pod, &self.rules, now);
        let count = i64::try_from(containers.len())
            .ok()
            .filter(|count| *count > 0)?;
        let share = Usage {
            cpu_millis: all.cpu_millis / count,
            memory_bytes: all.memory_bytes / count,
        };
        let containers: Vec<Value> = containers
            .iter()
            .map(|container| json!({"name": container.get("name"), "usage": shown(share)}))
            .collect();
        Some(json!({
            "kind": "PodMetrics", "apiVersion": format!("{GROUP}/{VERSION}"), "metadata": metadata(pod),
            "timestamp": now.to_string(), "window": window(), "containers": containers,
        }))
    }

    fn node(&self, server: &Server, node: &Object) -> Value {
        let now = server.now();
        let mut sum = usage::SYSTEM;
        let pods = server.cache().collection("core/pods").snapshot();
        for record in pods.objects.values() {
            let Ok(pod) = Object::from_value(record.value()) else {
                continue;
            };
            if read::node_of(&pod) == node.name() {
                let used = usage::of_pod(&pod, &self.rules, now);
                sum.cpu_millis = sum.cpu_millis.saturating_add(used.cpu_millis);
                sum.memory_bytes = sum.memory_bytes.saturating_add(used.memory_bytes);
            }
        }
        json!({
            "kind": "NodeMetrics", "apiVersion": format!("{GROUP}/{VERSION}"), "metadata": metadata(node),
            "timestamp": now.to_string(), "window": window(), "usage": shown(sum),
        })
    }
}

fn window() -> String {
    format!("{}s", usage::WINDOW)
}

fn shown(usage: Usage) -> Value {
    json!({
        "cpu": Quantity::from_millis(usage.cpu_millis, Format::DecimalSI).to_string(),
        "memory": Quantity::from_units(usage.memory_bytes, Format::BinarySI).to_string(),
    })
}

fn metadata(object: &Object) -> Value {
    let mut metadata = json!({
        "name": object.name(), "creationTimestamp": object.at(&["metadata", "creationTimestamp"]),
    });
    if let Some(fields) = metadata.as_object_mut() {
        if !object.namespace().is_empty() {
            fields.insert("namespace".to_owned(), json!(object.namespace()));
        }
        if let Some(labels) = object.at(&["metadata", "labels"]) {
            fields.insert("labels".to_owned(), labels.clone());
        }
    }
    metadata
}
