//! Whether one node suits one pod, apart from its other pods.

use object::{Object, Value};

use crate::read;

/// The first taint that keeps a pod off a node.
pub(crate) fn first_untolerated<'n>(node: &'n Object, pod: &Object) -> Option<&'n Value> {
    read::list(node, &["spec", "taints"])
        .iter()
        .find(|taint| read::text(taint, "effect") != "PreferNoSchedule" && !tolerates(pod, taint))
}

/// Whether a pod bears a taint.
pub(crate) fn tolerates(pod: &Object, taint: &Value) -> bool {
    let (key, value) = (read::text(taint, "key"), read::text(taint, "value"));
    let effect = read::text(taint, "effect");
    read::list(pod, &["spec", "tolerations"])
        .iter()
        .any(|toleration| {
            let of = |name: &str| read::text(toleration, name);
            let is_effect = of("effect").is_empty() || of("effect") == effect;
            let is_key = of("key").is_empty() || of("key") == key;
            let is_value = match of("operator") {
                "Exists" => true,
                _ => of("value") == value && !of("key").is_empty(),
            };
            is_effect && is_key && is_value
        })
}

/// Whether a node has the labels a pod's selector and required affinity ask for.
pub(crate) fn suits(node: &Object, pod: &Object) -> bool {
    let selector = pod.at(&["spec", "nodeSelector"]).and_then(Value::as_object);
    let selected = selector
        .into_iter()
        .flatten()
        .all(|(key, value)| node.label(key) == value.as_str());
    let terms = pod.at(&[
        "spec",
        "affinity",
        "nodeAffinity",
        "requiredDuringSchedulingIgnoredDuringExecution",
        "nodeSelectorTerms",
    ]);
    let required = terms
        .and_then(Value::as_array)
        .is_none_or(|terms| terms.iter().any(|term| takes(term, node)));
    selected && required
}

/// The sum of the weights of preferred terms that a node meets.
pub(crate) fn preference(node: &Object, pod: &Object) -> i64 {
    let terms = pod.at(&[
        "spec",
        "affinity",
        "nodeAffinity",
        "preferredDuringSchedulingIgnoredDuringExecution",
    ]);
    let terms = terms.and_then(Value::as_array).into_iter().flatten();
    terms
        .filter(|term| {
            term.get("preference")
                .is_some_and(|preference| takes(preference, node))
        })
        .filter_map(|term| term.get("weight")?.as_i64())
        .fold(0, i64::saturating_add)
}

/// Whether a node selector term takes a node. Upstream: an empty term takes none.
fn takes(term: &Value, node: &Object) -> bool {
    let labels = read::items(term, "matchExpressions");
    let fields = read::items(term, "matchFields");
    if labels.is_empty() && fields.is_empty() {
        return false;
    }
    labels
        .iter()
        .all(|rule| meets(rule, node.label(read::text(rule, "key"))))
        && fields.iter().all(|rule| {
            let value = (read::text(rule, "key") == "metadata.name").then(|| node.name());
            meets(rule, value)
        })
}

fn meets(rule: &Value, value: Option<&str>) -> bool {
    let is_listed = || {
        read::items(rule, "values")
            .iter()
            .any(|item| item.as_str() == value)
    };
    let compare = |than: fn(i64, i64) -> bool| {
        let bound = read::items(rule, "values").first().and_then(Value::as_str);
        let numbers = value
            .and_then(|value| value.parse().ok())
            .zip(bound.and_then(|bound| bound.parse().ok()));
        numbers.is_some_and(|(value, bound)| than(value, bound))
    };
    match read::text(rule, "operator") {
        "In" => value.is_some() && is_listed(),
        "NotIn" => !(value.is_some() && is_listed()),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => compare(|value, bound| value > bound),
        "Lt" => compare(|value, bound| value < bound),
        _ => false,
    }
}
