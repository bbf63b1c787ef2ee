//! Containers of a running pod get other resources, if the node has them.

use object::time::Time;
use object::{Object, Value};
use serde_json::json;

use crate::controllers::scheduler::{Amounts, allocatable, requests_of};
use crate::read;

/// What becomes of the resources that a pod asks for and its containers do not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// There are none.
    Settled,
    /// The containers get them.
    Granted,
    /// They may when others go.
    Deferred(String),
    /// The node never has so much.
    Infeasible(String),
}

const PENDING: &str = "PodResizePending";

/// Decides about a pod. `others` are the pods it shares its node with, looked up when they matter.
pub(crate) fn judge<'o>(
    pod: &Object,
    node: &Object,
    others: impl Iterator<Item = &'o Object>,
) -> Verdict {
    let mut containers = read::list(pod, &["spec", "containers"]).iter();
    let is_asked = read::phase(pod) == "Running" && containers.any(|one| differs(pod, one));
    if !is_asked {
        return Verdict::Settled;
    }
    let (wanted, has) = (requests_of(pod), allocatable(node));
    let mut taken = Amounts::default();
    for other in others.filter(|other| other.uid() != pod.uid() && !read::has_ended(other)) {
        taken.add(&requests_of(other));
    }
    let asked = || wanted.0.iter().filter(|(_, amount)| **amount > 0);
    for (name, amount) in asked() {
        let capacity = has.get(name);
        if *amount > capacity {
            return Verdict::Infeasible(format!(
                "Node didn't have enough capacity: {name}, requested: {amount}, capacity: {capacity}"
            ));
        }
    }
    for (name, amount) in asked() {
        let (used, capacity) = (taken.get(name), has.get(name));
        if used.saturating_add(*amount) > capacity {
            return Verdict::Deferred(format!(
                "Node didn't have enough resource: {name}, requested: {amount}, used: {used}, capacity: {capacity}"
            ));
        }
    }
    Verdict::Granted
}

impl Verdict {
    /// What a container has from now on.
    pub(crate) fn resources<'v>(
        &self,
        container: &'v Value,
        known: Option<&'v Value>,
    ) -> Option<&'v Value> {
        let has = known.filter(|known| known.pointer("/state/running").is_some());
        let has = has.and_then(|known| known.get("resources"));
        let wanted = container
            .get("resources")
            .filter(|wanted| !is_empty(wanted));
        match self {
            Self::Settled | Self::Granted => wanted,
            Self::Deferred(_) | Self::Infeasible(_) => has.or(wanted),
        }
    }

    /// Whether a container must be started again to get what it asks for.
    pub(crate) fn restarts(&self, container: &Value, known: &Value) -> bool {
        *self == Self::Granted
            && read::items(container, "resizePolicy").iter().any(|policy| {
                let name = read::text(policy, "resourceName");
                read::text(policy, "restartPolicy") == "RestartContainer"
                    && ["requests", "limits"].iter().any(|part| {
                        let of =
                            |resources: Option<&Value>| resources?.get(*part)?.get(name).cloned();
                        of(known.get("resources")) != of(container.get("resources"))
                    })
            })
    }

    /// Says of a pod whether it waits for resources.
    pub(crate) fn show(&self, conditions: &mut Vec<Value>, now: Time) {
        let (reason, message) = match self {
            Self::Settled | Self::Granted => {
                conditions.retain(|condition| read::text(condition, "type") != PENDING);
                return;
            }
            Self::Deferred(message) => ("Deferred", message),
            Self::Infeasible(message) => ("Infeasible", message),
        };
        let condition = json!({
            "type": PENDING, "status": "True", "reason": reason, "message": message, "lastProbeTime": null,
        });
        read::put_condition(conditions, condition, now);
    }
}

/// Whether a container that runs has other resources than its pod wants for it.
fn differs(pod: &Object, container: &Value) -> bool {
    let status = read::container_status(pod, read::text(container, "name"));
    let Some(status) = status.filter(|status| status.pointer("/state/running").is_some()) else {
        return false;
    };
    let wanted = container
        .get("resources")
        .filter(|wanted| !is_empty(wanted));
    status.get("resources") != wanted
}

fn is_empty(resources: &Value) -> bool {
    resources.as_object().is_none_or(object::Map::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: Value) -> Object {
        Object::from_value(value).unwrap()
    }

    fn pod(uid: &str, has: &str, wants: &str) -> Object {
        let cpu = |amount: &str| json!({"requests": {"cpu": amount}});
        object(json!({
            "metadata": {"name": uid, "uid": uid},
            "spec": {"containers": [{"name": "c", "resources": cpu(wants)}]},
            "status": {"phase": "Running", "containerStatuses": [
                {"name": "c", "state": {"running": {}}, "resources": cpu(has)},
            ]},
        }))
    }

    #[test]
    fn a_node_gives_what_it_has() {
        let node =
            object(json!({"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "4"}}}));
        let other = pod("other", "2", "2");
        for (has, wants, wanted) in [
            ("1", "1", Verdict::Settled),
            ("1", "2", Verdict::Granted),
            ("2", "1", Verdict::Granted),
            ("1", "3", Verdict::Deferred(
                "Node didn't have enough resource: cpu, requested: 3000, used: 2000, capacity: 4000".to_owned(),
            )),
            ("1", "5", Verdict::Infeasible(
                "Node didn't have enough capacity: cpu, requested: 5000, capacity: 4000".to_owned(),
            )),
        ] {
            let one = pod("one", has, wants);
            let verdict = judge(&one, &node, [&one, &other].into_iter());
            assert_eq!(verdict, wanted, "{has} {wants}");
        }
    }
}
