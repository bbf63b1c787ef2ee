//! The estimate from resource quotas of a namespace.

use api::kubernetes::ResourceList;
use object::{Object, Value, parse, quantity::Quantity};

use crate::{
    demand::{Assumed, Component},
    general::UNBOUNDED,
    resource::{Amounts, Resource},
};

/// A quota: what is left under it, and whom it concerns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Quota {
    /// What may still be requested. Resources that the quota does not limit do not appear.
    free: Amounts,
    scopes: Vec<Scope>,
}

/// A condition on the pods that a quota concerns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scope {
    /// What is looked at; only `PriorityClass` can be judged before pods exist.
    pub name: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub operator: String,
    /// What `In` and `NotIn` compare with.
    pub values: Vec<String>,
}

impl Quota {
    /// The quota with these limits, of which so much is used, for pods in these scopes.
    #[must_use]
    pub fn new(hard: &ResourceList, used: &ResourceList, scopes: Vec<Scope>) -> Self {
        let mut entries: Vec<(Resource, i64, bool)> = Vec::new();
        for (name, limit) in hard {
            let Some((resource, is_prefixed)) = limited_resource(name) else {
                continue;
            };
            let used = used.get(name).copied().unwrap_or(Quantity::ZERO);
            let left = resource.amount(*limit - used).max(0);
            match entries.iter_mut().find(|(known, ..)| *known == resource) {
                // `requests.cpu` and `cpu` mean the same; the longer spelling wins where both are given.
                Some(entry) if is_prefixed => *entry = (resource, left, true),
                Some(_) => {}
                None => entries.push((resource, left, is_prefixed)),
            }
        }
        let free = Amounts::collect(
            entries
                .into_iter()
                .map(|(resource, left, _)| (resource, left)),
        );
        Self { free, scopes }
    }

    /// The quota as its namespace has it; what it does not say is not limited.
    #[must_use]
    pub fn read(quota: &Object) -> Self {
        let list = |path: &[&str]| -> ResourceList {
            let list = quota.at(path).filter(|value| !value.is_null());
            list.and_then(|value| parse::shape(value).ok())
                .unwrap_or_default()
        };
        let entries = |path: &[&str]| {
            let entries = quota.at(path).and_then(Value::as_array);
            entries.into_iter().flatten()
        };
        let text =
            |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        // A scope that is only named must be there.
        let named = entries(&["spec", "scopes"]).map(|scope| Scope {
            name: text(Some(scope)),
            operator: "Exists".to_owned(),
            values: Vec::new(),
        });
        let selected = entries(&["spec", "scopeSelector", "matchExpressions"]).map(|scope| {
            let values = scope.get("values").and_then(Value::as_array);
            let values = values.into_iter().flatten();
            Scope {
                name: text(scope.get("scopeName")),
                operator: text(scope.get("operator")),
                values: values.map(|value| text(Some(value))).collect(),
            }
        });
        Self::new(
            &list(&["status", "hard"]),
            &list(&["status", "used"]),
            named.chain(selected).collect(),
        )
    }

    /// Whether pods of this priority class fall under the quota.
    ///
    /// Upstream: one matching scope is enough, where Kubernetes asks for all. Kept, because the scopes that cannot be
    /// judged here would otherwise switch the quota off and estimates would promise too much.
    #[must_use]
    pub fn concerns(&self, priority_class: &str) -> bool {
        let matches = |scope: &Scope| {
            let listed = scope.values.iter().any(|value| value == priority_class);
            scope.name == "PriorityClass"
                && match scope.operator.as_str() {
                    "In" => listed,
                    "NotIn" => !listed,
                    "Exists" => !priority_class.is_empty(),
                    "DoesNotExist" => priority_class.is_empty(),
                    _ => false,
                }
        };
        self.scopes.is_empty() || self.scopes.iter().any(matches)
    }
}

/// How many replicas with this request the quotas allow; `None` if none of them limits it.
///
/// `assumed` are the workloads promised to the same namespace.
#[must_use]
pub fn replicas(
    quotas: &[Quota],
    request: &Amounts,
    priority_class: &str,
    assumed: &Assumed,
) -> Option<i64> {
    least(
        quotas
            .iter()
            .filter(|quota| quota.concerns(priority_class))
            .filter_map(|quota| {
                let limited = limited_part(quota, request);
                let (times, _) = quota
                    .free
                    .fits_beside(&limited, &assumed_demand(quota, assumed))?;
                Some(times)
            }),
    )
}

/// How many sets the quotas allow; `None` if none of them limits it.
#[must_use]
pub fn sets(quotas: &[Quota], components: &[Component], assumed: &Assumed) -> Option<i64> {
    least(quotas.iter().filter_map(|quota| {
        let mut demand = Amounts::default();
        for component in components
            .iter()
            .filter(|component| quota.concerns(&component.priority_class))
        {
            demand.add(&component.request, component.replicas);
        }
        let limited = limited_part(quota, &demand);
        let (times, _) = quota
            .free
            .fits_beside(&limited, &assumed_demand(quota, assumed))?;
        Some(times)
    }))
}

fn least(counts: impl Iterator<Item = i64>) -> Option<i64> {
    counts.min().map(|count| count.min(UNBOUNDED))
}

/// Only what the quota limits; the rest may be had without asking it.
fn limited_part(quota: &Quota, request: &Amounts) -> Amounts {
    let limited = request
        .iter()
        .filter(|(resource, _)| quota.free.amount(resource).is_some());
    Amounts::collect(limited.map(|(resource, amount)| (resource.clone(), amount)))
}

fn assumed_demand(quota: &Quota, assumed: &Assumed) -> Amounts {
    let mut demand = Amounts::default();
    let components = assumed
        .workloads()
        .iter()
        .flat_map(|workload| &workload.components);
    for component in components.filter(|component| quota.concerns(&component.priority_class)) {
        demand.add(&component.request, component.replicas);
    }
    demand
}

/// The resource that a limit is about, and whether it was spelled with `requests.`; `None` for what replicas do not
/// request: limits, storage, and counts of objects.
fn limited_resource(name: &str) -> Option<(Resource, bool)> {
    let (bare, is_prefixed) = match name.strip_prefix("requests.") {
        Some(bare) => (bare, true),
        None => (name, false),
    };
    let is_extended =
        is_prefixed && bare.contains('/') && !bare.contains(".storageclass.storage.k8s.io/");
    (matches!(bare, "cpu" | "memory") || is_extended).then(|| (Resource::named(bare), is_prefixed))
}
