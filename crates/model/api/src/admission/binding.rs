//! ResourceBinding and ClusterResourceBinding: a template and the clusters it was given.

use std::collections::BTreeSet;

use object::{
    Object, ObjectKey, Value,
    field::{FieldError, FieldPath},
};

use super::{
    AdmissionRules, Looks, Operation, Reach, Refusal, Related, Request, Verdict,
    cluster::check_cluster_name,
    permanent_id,
    problems::{each, repeats},
    usage::{Charge, charge, delta, is_relevant_change, usage},
    verdict::{
        Allowed, StatusWrite, edit, expect_kind, read, read_old, registry_verdict, webhook_verdict,
    },
};
use crate::{
    config::DependentObjectReference,
    kubernetes::ResourceList,
    policy::FederatedResourceQuota,
    registry::FEDERATED_RESOURCE_QUOTA,
    well_known::{annotations, feature_gates::Gate, labels},
    work::v1alpha2::{ClusterResourceBinding, Component, ResourceBinding},
};

const WEBHOOK: &str = "resourcebinding.karmada.io";

/// Reason of a refusal that the scheduler turns into a condition of the same reason.
const QUOTA_EXCEEDED: &str = "QuotaExceeded";

/// The rules of ResourceBinding.
pub(super) struct NamespacedRules;

/// The rules of ClusterResourceBinding, which no quota limits.
pub(super) struct ClusterRules;

impl AdmissionRules for NamespacedRules {
    fn related(&self, request: &Request<'_>) -> Option<Related> {
        enforces_quotas(request).then_some(Related {
            resource: &FEDERATED_RESOURCE_QUOTA,
            reach: Reach::Namespace,
        })
    }

    fn looks_at(&self, request: &Request<'_>) -> Looks {
        if has_components(request) || has_quotas(request) {
            Looks::Everything
        } else {
            Looks::Metadata
        }
    }

    fn mutate(
        &self,
        request: &Request<'_>,
        old: Option<&Object>,
        mut new: Object,
    ) -> Result<Object, Refusal> {
        // Here because the spec is at hand: most bindings are validated by their metadata alone.
        let mut errors = check_targets(old, &new);
        errors.extend(check_place(request, old, &new));
        registry_verdict(&new, errors)?;
        if request.operation == Operation::Create {
            let key = labels::permanent_id::RESOURCE_BINDING;
            permanent_id::keep_or_give(&mut new, "ResourceBinding", key, request)?;
        }
        Ok(new)
    }

    fn validate(&self, request: &Request<'_>, old: Option<&Object>, new: &Object) -> Verdict {
        let mut errors: Vec<FieldError> = check_dependencies(new).into_iter().collect();
        let (has_components, has_quotas) = (has_components(request), has_quotas(request));
        if !has_components && !has_quotas {
            expect_kind::<ResourceBinding>(new)?;
            return webhook_verdict(WEBHOOK, errors);
        }
        let binding: ResourceBinding = read(new)?;
        if has_components {
            errors.extend(check_components(&binding.spec.components));
        }
        webhook_verdict(WEBHOOK, errors)?;
        if !has_quotas {
            return Ok(Allowed::default());
        }
        let old: Option<ResourceBinding> = read_old(old)?;
        let change = match &old {
            None if binding.spec.clusters.is_empty() => return Ok(Allowed::default()),
            None => delta(&usage(&binding.spec), &ResourceList::new()),
            Some(old) if !is_relevant_change(&old.spec, &binding.spec) => {
                return Ok(Allowed::default());
            }
            Some(old) => delta(&usage(&binding.spec), &usage(&old.spec)),
        };
        charge_all(request.related, &change)
    }
}

impl AdmissionRules for ClusterRules {
    fn looks_at(&self, _request: &Request<'_>) -> Looks {
        Looks::Metadata
    }

    fn mutate(
        &self,
        request: &Request<'_>,
        old: Option<&Object>,
        mut new: Object,
    ) -> Result<Object, Refusal> {
        registry_verdict(&new, check_targets(old, &new))?;
        if request.operation == Operation::Create {
            let key = labels::permanent_id::CLUSTER_RESOURCE_BINDING;
            permanent_id::keep_or_give(&mut new, "ClusterResourceBinding", key, request)?;
        }
        Ok(new)
    }

    fn validate(&self, _request: &Request<'_>, _old: Option<&Object>, new: &Object) -> Verdict {
        // No rules beyond the schema, but it must be the stored version.
        expect_kind::<ClusterResourceBinding>(new)?;
        Ok(Allowed::default())
    }
}

fn has_components(request: &Request<'_>) -> bool {
    let gate = Gate::MultiplePodTemplatesScheduling;
    request.gates.is_enabled(gate)
}

fn enforces_quotas(request: &Request<'_>) -> bool {
    let gate = Gate::FederatedQuotaEnforcement;
    request.gates.is_enabled(gate)
}

/// Whether there is a quota to charge; most namespaces have none.
fn has_quotas(request: &Request<'_>) -> bool {
    enforces_quotas(request) && !request.related.is_empty()
}

/// Charges every quota of the namespace; the new use of all is written, or of none.
fn charge_all(quotas: &[&Object], change: &ResourceList) -> Verdict {
    let mut writes = Vec::new();
    let mut messages = Vec::new();
    for stored in quotas {
        let quota: FederatedResourceQuota = read(stored)?;
        match charge(&quota, change) {
            Charge::Untouched => {}
            Charge::Fits(used) => {
                let object = edit::<FederatedResourceQuota>(stored, |quota| {
                    quota.status.overall_used = used;
                })?;
                writes.push(StatusWrite { object });
            }
            Charge::Exceeded(limits) => {
                let key = ObjectKey::namespaced(&quota.metadata.namespace, &quota.metadata.name);
                messages.extend(limits.into_iter().map(|excess| {
                    format!(
                        "FederatedResourceQuota {key} exceeded: {} would be {}, limit {}.",
                        excess.resource, excess.total, excess.limit
                    )
                }));
            }
        }
    }
    if messages.is_empty() {
        return Ok(Allowed { writes });
    }
    Err(Refusal::Denied {
        webhook: WEBHOOK,
        reason: QUOTA_EXCEEDED,
        text: messages.join(" "),
        errors: Vec::new(),
    })
}

/// A binding is for objects of its own namespace: whoever may write one would otherwise have any object sent to members.
/// One that is stored stays writable, so that it can be deleted; controllers make nothing of it.
fn check_place(request: &Request<'_>, old: Option<&Object>, new: &Object) -> Option<FieldError> {
    let named = |binding: &Object| {
        let text = binding.text_at(&["spec", "resource", "namespace"]);
        text.unwrap_or_default().to_owned()
    };
    let namespace = named(new);
    let is_fine = namespace.is_empty()
        || namespace == request.namespace
        || old.is_some_and(|old| named(old) == namespace);
    (!is_fine).then(|| {
        FieldError::invalid(
            FieldPath::from("spec.resource.namespace"),
            namespace,
            format!(
                "must be {:?}, the namespace of the binding",
                request.namespace
            ),
        )
    })
}

/// What is wrong with the names of clusters a binding goes to, of its own and of those that need it: no cluster can have
/// such a name, so nobody would ever act on it. Those that are stored already may stay.
fn check_targets(old: Option<&Object>, new: &Object) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spec = FieldPath::new("spec");
    let stored = old.map(all_targets).unwrap_or_default();
    let mut check = |list: FieldPath, targets: Option<&Value>| {
        for (position, name) in names_of(targets).enumerate() {
            let problems = check_cluster_name(name);
            if problems.is_empty() || stored.contains(name) {
                continue;
            }
            errors.extend(each(&list.index(position).child("name"), name, problems));
        }
    };
    check(spec.child("clusters"), new.at(&["spec", "clusters"]));
    for (position, binding) in needing(new).enumerate() {
        let list = spec.child("requiredBy").index(position).child("clusters");
        check(list, binding.get("clusters"));
    }
    errors
}

/// The names in a list of targets.
fn names_of(targets: Option<&Value>) -> impl Iterator<Item = &str> {
    let targets = targets.and_then(Value::as_array).into_iter().flatten();
    targets.filter_map(|target| target.get("name").and_then(Value::as_str))
}

/// The bindings that need one, as it knows them.
fn needing(binding: &Object) -> impl Iterator<Item = &Value> {
    let list = binding.at(&["spec", "requiredBy"]);
    list.and_then(Value::as_array).into_iter().flatten()
}

/// The clusters a binding goes to, for itself or for those that need it.
fn all_targets(binding: &Object) -> BTreeSet<&str> {
    let needed = needing(binding).flat_map(|binding| names_of(binding.get("clusters")));
    names_of(binding.at(&["spec", "clusters"]))
        .chain(needed)
        .collect()
}

fn check_dependencies(binding: &Object) -> Option<FieldError> {
    let text = binding.annotation(annotations::DEPENDENCIES)?;
    let parsed: Result<Option<Vec<Option<DependentObjectReference>>>, _> =
        serde_json::from_str(text);
    parsed.err()?;
    Some(FieldError::invalid(
        FieldPath::from("metadata.annotations").child(annotations::DEPENDENCIES),
        text,
        "must be a JSON list of references",
    ))
}

fn check_components(components: &[Component]) -> Vec<FieldError> {
    let list = FieldPath::from("spec.components");
    let mut errors = Vec::new();
    let repeated = repeats(components.iter().map(|component| &component.name));
    for (position, (component, is_repeated)) in components.iter().zip(repeated).enumerate() {
        let name = component.name.as_str();
        let detail = match name {
            "" => "must not be empty",
            _ if is_repeated => "must be unique",
            _ => continue,
        };
        errors.push(FieldError::invalid(
            list.index(position).child("name"),
            name,
            detail,
        ));
    }
    errors
}
