//! What a pod asks for.

use object::Value;

use crate::amounts::{self, Amounts};

/// What one container, pod or claim asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) requests: Amounts,
    pub(crate) limits: Amounts,
}

impl Asked {
    /// Reads the `resources` of a container, a pod or a claim.
    pub(crate) fn read(resources: Option<&Value>) -> Self {
        let list = |name: &str| amounts::read(resources.and_then(|resources| resources.get(name)));
        Self {
            requests: list("requests"),
            limits: list("limits"),
        }
    }

    fn add(&mut self, other: &Self) {
        amounts::add(&mut self.requests, &other.requests);
        amounts::add(&mut self.limits, &other.limits);
    }

    fn raise(&mut self, other: &Self) {
        amounts::raise(&mut self.requests, &other.requests);
        amounts::raise(&mut self.limits, &other.limits);
    }
}

/// The containers of one of a pod's lists.
pub(crate) fn containers<'a>(pod: &'a Value, list: &str) -> impl Iterator<Item = &'a Value> {
    let containers = pod.get("spec").and_then(|spec| spec.get(list));
    containers.and_then(Value::as_array).into_iter().flatten()
}

/// All containers of a pod that limits are about, those that run before it last.
pub(crate) fn all_containers(pod: &Value) -> impl Iterator<Item = &Value> {
    containers(pod, "containers").chain(containers(pod, "initContainers"))
}

/// What a pod asks for: its containers together, or more if one that runs before them needs more, and what its sandbox
/// takes. What the pod as a whole asks for stands before what its containers do.
pub(crate) fn whole(pod: &Value) -> Asked {
    let mut total = Asked::default();
    for container in containers(pod, "containers") {
        total.add(&Asked::read(container.get("resources")));
    }
    // A container that goes on beside the pod runs beside those that start after it, too.
    let (mut beside, mut starting) = (Asked::default(), Asked::default());
    for container in containers(pod, "initContainers") {
        let own = Asked::read(container.get("resources"));
        if container.get("restartPolicy").and_then(Value::as_str) == Some("Always") {
            total.add(&own);
            beside.add(&own);
            starting.raise(&beside);
        } else {
            let mut then = own;
            then.add(&beside);
            starting.raise(&then);
        }
    }
    total.raise(&starting);
    let spec = pod.get("spec");
    let said = Asked::read(spec.and_then(|spec| spec.get("resources")));
    total.requests.extend(said.requests);
    total.limits.extend(said.limits);
    let sandbox = amounts::read(spec.and_then(|spec| spec.get("overhead")));
    amounts::add(&mut total.requests, &sandbox);
    // Upstream: a limit that is not there is not made by the sandbox.
    for (name, amount) in &sandbox {
        if let Some(limit) = total.limits.get_mut(name) {
            *limit = limit.checked_add(*amount).unwrap_or(*limit);
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(spec: &Value, expected: &str) {
        let whole = whole(&json!({"spec": spec}));
        let show = |amounts: &Amounts| {
            let shown = amounts
                .iter()
                .map(|(name, amount)| format!("{name}={amount}"));
            shown.collect::<Vec<_>>().join(",")
        };
        let shown = format!("{} / {}", show(&whole.requests), show(&whole.limits));
        assert_eq!(shown, expected, "{spec}");
    }

    fn container(cpu: &str) -> Value {
        json!({"resources": {"requests": {"cpu": cpu}, "limits": {"cpu": cpu}}})
    }

    #[test]
    fn a_pod_asks_for_what_it_needs_at_its_worst_moment() {
        let (one, two) = (container("1"), container("2"));
        let beside = json!({"restartPolicy": "Always", "resources": {"requests": {"cpu": "500m"}}});
        for (spec, expected) in [
            (json!({}), " / "),
            (json!({"containers": [one, two]}), "cpu=3 / cpu=3"),
            (
                json!({"containers": [one], "initContainers": [two]}),
                "cpu=2 / cpu=2",
            ),
            (
                json!({"containers": [one], "initContainers": [beside, two]}),
                "cpu=2500m / cpu=2",
            ),
            (
                json!({"containers": [two], "initContainers": [beside, one]}),
                "cpu=2500m / cpu=2",
            ),
            (
                json!({"containers": [one], "overhead": {"cpu": "250m", "memory": "1Mi"}}),
                "cpu=1250m,memory=1Mi / cpu=1250m",
            ),
            (
                json!({"containers": [one], "resources": {"requests": {"cpu": "4"}}}),
                "cpu=4 / cpu=1",
            ),
            (
                json!({"containers": [{"resources": {"requests": {"cpu": "no"}}}, 7]}),
                " / ",
            ),
        ] {
            check(&spec, expected);
        }
    }
}
