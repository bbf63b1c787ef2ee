//! Pod.

use api::work::v1alpha2::AggregatedStatusItem;
use object::{Map, Object, Value};

use crate::{
    error::RuleError,
    generation,
    native::{KindRules, Options, counters, phases, put, reflect_whole, reported, take, workload},
    node::Node,
    pod,
    rules::Replicas,
};

pub(super) const RULES: KindRules = KindRules {
    replicas: Some(replicas),
    retain: Some(retain),
    aggregate: Some(aggregate),
    reflect: Some(reflect),
    is_healthy: Some(is_healthy),
    dependencies: Some(|template| workload::dependencies_at(template, &["spec"])),
    ..KindRules::of("v1", "Pod")
};

/// From the one that needs attention most.
const PHASES: [&str; 4] = ["Failed", phases::PENDING, "Running", "Succeeded"];

/// What admission and the scheduler of the member write into a pod.
const MEMBERS_OWN: [[&str; 2]; 3] = [
    ["spec", "nodeName"],
    ["spec", "serviceAccountName"],
    ["spec", "volumes"],
];

/// A pod is one replica.
fn replicas(template: &Object, options: Options) -> Result<Replicas, RuleError> {
    Ok(Replicas {
        replicas: 1,
        requirements: pod::requirements(Node::of(template).at(&["spec"])?, options)?,
    })
}

fn retain(mut desired: Object, observed: &Object) -> Result<Object, RuleError> {
    for path in MEMBERS_OWN {
        take(&mut desired, observed, &path)?;
    }
    for list in ["containers", "initContainers"] {
        if let Some(containers) = retain_mounts(&desired, observed, list)? {
            put(&mut desired, &["spec", list], containers)?;
        }
    }
    Ok(desired)
}

/// The desired containers with the mounts of their namesakes in the member: the member's volumes, which admission added
/// to, would otherwise be mounted nowhere.
fn retain_mounts(
    desired: &Object,
    observed: &Object,
    list: &str,
) -> Result<Option<Value>, RuleError> {
    const MOUNTS: &str = "volumeMounts";
    let root = Node::of(desired);
    let there = Node::of(observed);
    let path = ["spec", list];
    let containers = root.at(&path)?;
    if containers.is_absent() {
        return Ok(None);
    }
    let observed_containers = there.at(&path)?;
    let mut merged = Vec::new();
    for container in containers.list()? {
        let Some(mut fields) = container.fields()?.cloned() else {
            merged.push(Value::Null);
            continue;
        };
        let name = container.at(&["name"])?.text_or_empty()?;
        if let Some(namesake) = find_named(observed_containers, name)? {
            match namesake.get(MOUNTS) {
                Some(mounts) => {
                    fields.insert(MOUNTS.to_owned(), mounts.clone());
                }
                None => {
                    fields.shift_remove(MOUNTS);
                }
            }
        }
        merged.push(Value::Object(fields));
    }
    Ok(Some(Value::Array(merged)))
}

fn find_named<'v>(list: Node<'v, '_>, name: &str) -> Result<Option<&'v Map>, RuleError> {
    for entry in list.list()? {
        if entry.at(&["name"])?.text_or_empty()? == name {
            return entry.fields();
        }
    }
    Ok(None)
}

/// The whole status, with the generations it speaks of.
fn reflect(observed: &Object) -> Result<Option<Value>, RuleError> {
    let Some(Value::Object(mut status)) = reflect_whole(observed)? else {
        return Ok(None);
    };
    generation::stamp(&mut status, observed)?;
    Ok(Some(Value::Object(status)))
}

/// A phase for all, and what the containers of all members are doing.
fn aggregate(
    template: &Object,
    items: &[AggregatedStatusItem],
) -> Result<Option<Value>, RuleError> {
    if items.is_empty() {
        return Ok(None);
    }
    let mut status = Map::new();
    if let Some(phase) = phases::first_of(items, &PHASES)? {
        status.insert("phase".to_owned(), Value::from(phase));
    }
    counters::observe(&mut status, template, items)?;
    for list in ["containerStatuses", "initContainerStatuses"] {
        let mut containers = Vec::new();
        for (_, member) in reported(items) {
            for container in member.at(&[list])?.list()? {
                containers.push(container_state(container)?);
            }
        }
        if !containers.is_empty() {
            status.insert(list.to_owned(), Value::Array(containers));
        }
    }
    Ok(Some(Value::Object(status)))
}

/// Whether the container is ready and what it does; the fields that must be there are empty.
fn container_state(container: Node<'_, '_>) -> Result<Value, RuleError> {
    let nothing = || Value::Object(Map::new());
    let state = container.at(&["state"])?.raw().cloned();
    let is_ready = container.at(&["ready"])?.boolean()?;
    let fields = [
        ("name", Value::from("")),
        ("state", state.unwrap_or_else(nothing)),
        ("lastState", nothing()),
        ("ready", Value::from(is_ready.unwrap_or_default())),
        ("restartCount", Value::from(0)),
        ("image", Value::from("")),
        ("imageID", Value::from("")),
    ];
    let fields = fields.map(|(name, value)| (name.to_owned(), value));
    Ok(Value::Object(Map::from_iter(fields)))
}

/// It has ended well, or runs and is ready.
fn is_healthy(observed: &Object) -> Result<bool, RuleError> {
    let root = Node::of(observed);
    match root.at(&["status", "phase"])?.text_or_empty()? {
        "Succeeded" => Ok(true),
        "Running" => {
            for condition in root.at(&["status", "conditions"])?.list()? {
                if condition.at(&["type"])?.text()? == Some("Ready") {
                    return Ok(condition.at(&["status"])?.text()? == Some("True"));
                }
            }
            Ok(false)
        }
        _ => Ok(false),
    }
}
