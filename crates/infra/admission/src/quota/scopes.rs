//! Which objects a quota is about, where it is not about all.

use object::Value;

use crate::pod;

/// What the scopes of quotas ask about an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traits {
    sort: Sort,
    /// The class of a pod's priority, or of a claim's attributes; may be empty.
    class: String,
    /// Ends by a deadline of its own.
    has_deadline: bool,
    /// Asks for nothing.
    is_best_effort: bool,
    /// Wants to be near pods of other namespaces, or away from them.
    looks_abroad: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Sort {
    Pod,
    Claim,
    /// No scope is about it.
    #[default]
    Other,
}

/// One scope of a quota.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scope {
    name: String,
    operator: String,
    values: Vec<String>,
}

/// Reads the scopes of a quota: the old list of names and the selector.
pub(crate) fn read(quota: &Value) -> Vec<Scope> {
    let list = |path: &str| quota.pointer(path).and_then(Value::as_array);
    let names = list("/spec/scopes").into_iter().flatten();
    let named = names.filter_map(Value::as_str).map(|name| Scope {
        name: name.to_owned(),
        operator: "Exists".to_owned(),
        values: Vec::new(),
    });
    let selected = list("/spec/scopeSelector/matchExpressions")
        .into_iter()
        .flatten();
    let selected = selected.map(|expression| {
        let text = |field: &str| expression.get(field).and_then(Value::as_str);
        let values = expression.get("values").and_then(Value::as_array);
        let values = values.into_iter().flatten().filter_map(Value::as_str);
        Scope {
            name: text("scopeName").unwrap_or_default().to_owned(),
            operator: text("operator").unwrap_or_default().to_owned(),
            values: values.map(str::to_owned).collect(),
        }
    });
    named.chain(selected).collect()
}

impl Scope {
    /// Whether an object lies within it.
    pub(crate) fn covers(&self, traits: &Traits) -> bool {
        match (self.name.as_str(), traits.sort) {
            ("Terminating", Sort::Pod) => traits.has_deadline,
            ("NotTerminating", Sort::Pod) => !traits.has_deadline,
            ("BestEffort", Sort::Pod) => traits.is_best_effort,
            ("NotBestEffort", Sort::Pod) => !traits.is_best_effort,
            ("CrossNamespacePodAffinity", Sort::Pod) => traits.looks_abroad,
            ("PriorityClass", Sort::Pod) | ("VolumeAttributesClass", Sort::Claim) => {
                self.selects(&traits.class)
            }
            _ => false,
        }
    }

    fn selects(&self, class: &str) -> bool {
        let is_listed = self.values.iter().any(|value| value == class);
        match self.operator.as_str() {
            "In" => is_listed,
            "NotIn" => !is_listed,
            "Exists" => !class.is_empty(),
            "DoesNotExist" => class.is_empty(),
            _ => false,
        }
    }
}

impl Traits {
    pub(crate) fn of_pod(pod: &Value) -> Self {
        let spec = pod.get("spec");
        let field = |name: &str| spec.and_then(|spec| spec.get(name));
        Self {
            sort: Sort::Pod,
            class: text(field("priorityClassName")),
            has_deadline: field("activeDeadlineSeconds").and_then(Value::as_i64) >= Some(0),
            is_best_effort: is_best_effort(pod),
            looks_abroad: field("affinity").is_some_and(looks_abroad),
        }
    }

    pub(crate) fn of_claim(claim: &Value) -> Self {
        Self {
            sort: Sort::Claim,
            class: text(claim.pointer("/spec/volumeAttributesClassName")),
            ..Self::default()
        }
    }
}

/// Whether no container asks for or is limited in processors or memory.
fn is_best_effort(pod: &Value) -> bool {
    let is_weighed = |asked: &pod::Asked| {
        let amounts = ["cpu", "memory"]
            .into_iter()
            .flat_map(|name| [asked.requests.get(name), asked.limits.get(name)]);
        amounts.flatten().any(|amount| !amount.is_zero())
    };
    let whole = pod::Asked::read(pod.pointer("/spec/resources"));
    let mut containers =
        pod::all_containers(pod).map(|container| pod::Asked::read(container.get("resources")));
    !is_weighed(&whole) && !containers.any(|asked| is_weighed(&asked))
}

/// Whether a term of an affinity names other namespaces.
fn looks_abroad(affinity: &Value) -> bool {
    let names_some = |term: &Value| {
        let named = term.get("namespaces").and_then(Value::as_array);
        named.is_some_and(|named| !named.is_empty())
            || term
                .get("namespaceSelector")
                .is_some_and(|selector| !selector.is_null())
    };
    let mut sorts = ["podAffinity", "podAntiAffinity"]
        .into_iter()
        .filter_map(|sort| affinity.get(sort));
    sorts.any(|sort| {
        let terms = |list: &str| {
            let list = sort.get(list).and_then(Value::as_array);
            list.into_iter().flatten()
        };
        let required = terms("requiredDuringSchedulingIgnoredDuringExecution");
        let preferred = terms("preferredDuringSchedulingIgnoredDuringExecution")
            .filter_map(|weighted| weighted.get("podAffinityTerm"));
        required.chain(preferred).any(names_some)
    })
}

fn text(value: Option<&Value>) -> String {
    value.and_then(Value::as_str).unwrap_or_default().to_owned()
}
