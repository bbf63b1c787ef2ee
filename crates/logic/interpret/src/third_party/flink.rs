//! Flink's FlinkDeployment.

use api::work::v1alpha2::{
    AggregatedStatusItem, Component, ComponentReplicaRequirements, NodeClaim, ReplicaRequirements,
};
use object::{Object, Value, parse, quantity::Quantity};

use crate::{
    error::RuleError,
    native::{Options, counters::current_status},
    node::Node,
    rules::Replicas,
    table::KindRules,
    third_party::{
        fold::{Field, Fold, fold, pick},
        groups, memory,
    },
};

pub(super) const RULES: KindRules = KindRules {
    replicas: Some(replicas),
    components: Some(components),
    aggregate: Some(aggregate),
    reflect: Some(|observed| pick(observed, &STATUS.map(|(name, _)| name))),
    is_healthy: Some(is_healthy),
    ..KindRules::of("flink.apache.org/v1beta1", "FlinkDeployment")
};

const STATUS: [Field; 8] = [
    ("clusterInfo", Fold::Last),
    ("error", Fold::Last),
    ("jobManagerDeploymentStatus", Fold::Last),
    ("jobStatus", Fold::Last),
    ("lifecycleState", Fold::Last),
    ("observedGeneration", Fold::Last),
    ("reconciliationStatus", Fold::Last),
    ("taskManager", Fold::Last),
];

/// Errors that moving the job to another cluster would not mend.
const OWN_ERRORS: [&str; 3] = ["ErrImagePull", "ImagePullBackOff", "CrashLoopBackOff"];

/// Running, at an end of any sort, or in one of the short states before those. While it starts, only if what keeps it
/// is the user's own mistake; otherwise it may do better elsewhere.
fn is_healthy(observed: &Object) -> Result<bool, RuleError> {
    let root = Node::of(observed);
    let status = root.at(&["status"])?;
    let text = |path: &[&str]| -> Result<String, RuleError> {
        Ok(status.at(path)?.text_or_empty()?.to_owned())
    };
    Ok(match text(&["jobStatus", "state"])?.as_str() {
        "" => {
            text(&["jobManagerDeploymentStatus"])? == "READY"
                && text(&["lifecycleState"])? == "STABLE"
        }
        "RUNNING" | "FINISHED" | "FAILED" | "CANCELED" | "SUSPENDED" => true,
        "CANCELLING" | "FAILING" | "RESTARTING" => true,
        "CREATED" | "INITIALIZING" | "RECONCILING" => {
            let error = text(&["error"])?;
            OWN_ERRORS.iter().any(|known| error.contains(known))
        }
        _ => false,
    })
}

fn aggregate(
    template: &Object,
    items: &[AggregatedStatusItem],
) -> Result<Option<Value>, RuleError> {
    if items.is_empty() {
        return Ok(None);
    }
    let status = fold(current_status(template)?, items, &STATUS)?;
    Ok(Some(Value::Object(status)))
}

/// The managers and the workers together; a replica needs as much as the larger of the two.
fn replicas(template: &Object, _: Options) -> Result<Replicas, RuleError> {
    let parts = Parts::read(template)?;
    let mut resource_request = parts.managers.needs.resource_request;
    for (name, amount) in parts.workers.needs.resource_request {
        let largest = resource_request.entry(name).or_insert(amount);
        *largest = (*largest).max(amount);
    }
    Ok(Replicas {
        replicas: parts.managers.count.saturating_add(parts.workers.count),
        requirements: Some(ReplicaRequirements {
            node_claim: parts.managers.needs.node_claim,
            resource_request,
            namespace: template.namespace().to_owned(),
            priority_class_name: parts.managers.needs.priority_class_name,
        }),
    })
}

fn components(template: &Object, _: Options) -> Result<Vec<Component>, RuleError> {
    let parts = Parts::read(template)?;
    let component = |name: &str, part: Part| Component {
        name: name.to_owned(),
        replicas: part.count,
        replica_requirements: Some(part.needs),
    };
    Ok(vec![
        component("jobmanager", parts.managers),
        component("taskmanager", parts.workers),
    ])
}

/// The two sorts of pod.
struct Parts {
    managers: Part,
    workers: Part,
}

struct Part {
    count: i32,
    needs: ComponentReplicaRequirements,
}

impl Parts {
    fn read(template: &Object) -> Result<Self, RuleError> {
        let root = Node::of(template);
        let spec = root.at(&["spec"])?;
        let pods = spec.at(&["podTemplate", "spec"])?;
        let managers = spec.at(&["jobManager"])?;
        let workers = spec.at(&["taskManager"])?;
        Ok(Self {
            managers: Part {
                count: groups::replicas(managers.at(&["replicas"])?, 1)?,
                needs: needs(managers, pods)?,
            },
            workers: Part {
                count: groups::replicas(workers.at(&["replicas"])?, default_workers(spec)?)?,
                needs: needs(workers, pods)?,
            },
        })
    }
}

/// As many workers as have room for the job's parallel tasks.
fn default_workers(spec: Node<'_, '_>) -> Result<i32, RuleError> {
    let tasks = groups::replicas(spec.at(&["job", "parallelism"])?, 0)?;
    let slots = spec.at(&["flinkConfiguration", "taskmanager.numberOfTaskSlots"])?;
    let slots = groups::replicas(slots, 0)?;
    if tasks == 0 || slots == 0 {
        return Ok(1);
    }
    Ok(tasks / slots + i32::from(tasks % slots != 0))
}

/// What one pod of a sort needs.
/// Upstream: memory is read as an amount of Kubernetes', so that `2048m` are two bytes, and bindings show what was written.
/// What is none of those, such as `2g` and `512 mb`, is read as Flink reads it.
fn needs(
    part: Node<'_, '_>,
    pods: Node<'_, '_>,
) -> Result<ComponentReplicaRequirements, RuleError> {
    let mut needs = ComponentReplicaRequirements::default();
    let mut put = |name: &str, amount: Option<Quantity>| {
        if let Some(amount) = amount {
            needs.resource_request.insert(name.to_owned(), amount);
        }
    };
    put("cpu", part.at(&["resource", "cpu"])?.quantity()?);
    let path = part.at(&["resource", "memory"])?;
    let written = match path.quantity() {
        Ok(amount) => amount,
        Err(_) => memory::bytes(path)?.map(memory::quantity),
    };
    put("memory", written);
    let claim = NodeClaim {
        hard_node_affinity: None,
        node_selector: pods
            .at(&["nodeSelector"])?
            .read(parse::shape)?
            .unwrap_or_default(),
        tolerations: pods
            .at(&["tolerations"])?
            .read(parse::shape)?
            .unwrap_or_default(),
    };
    if claim != NodeClaim::default() {
        needs.node_claim = Some(claim);
    }
    needs.priority_class_name = pods.at(&["priorityClassName"])?.text_or_empty()?.to_owned();
    Ok(needs)
}
