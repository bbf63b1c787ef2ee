//! The terms of a binding: the template, what it needs, and what its policy says.

use api::{
    names,
    policy::{self, PropagationSpec, WorkloadAffinity, WorkloadAffinityTerm},
    registry::Scope,
    well_known::finalizers,
    work::v1alpha2::{
        Component, ObjectReference, ReplicaRequirements, ResourceBindingSpec, SchedulePriority,
        Suspension, WorkloadAffinityGroups,
    },
};
use object::{Object, ObjectKey, OwnerReference, names::check_dns1123_subdomain};

/// What a template needs from clusters, as the interpreter found out.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Needs {
    /// Nothing is known of replicas of this kind.
    #[default]
    Unknown,
    /// One kind of pod.
    Replicas {
        /// How many.
        count: i32,
        /// What each of them needs.
        each: Option<ReplicaRequirements>,
    },
    /// Several kinds of pod.
    Components(Vec<Component>),
}

/// What is looked up for a binding beside the template and its policy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lookups {
    /// What the template needs.
    pub needs: Needs,
    /// The number behind the policy's priority class; `None` while `PriorityBasedScheduling` is off or the policy
    /// names none.
    pub priority: Option<i32>,
    /// Whether groups of workloads are heeded (`WorkloadAffinity`).
    pub workload_groups: bool,
}

/// The binding of that name was made for another template; nothing may be written to it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "binding {binding} has an owner reference with the UID {found:?}, and the template has {expected:?}: it is that of {owner}. \
     It goes when its own template is collected; templates whose kinds and names are spelled alike share a binding, and \
     only one of them can be propagated"
)]
pub struct ForeignBinding {
    /// The binding.
    pub binding: ObjectKey,
    /// The kind and the name of its owner.
    pub owner: String,
    /// Its owner.
    pub found: String,
    /// The template.
    pub expected: String,
}

/// What is made for a template would have a name that no object can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the template's {what} would be named {name:?}, which no object can be: {problem}. Templates with such names are not \
     propagated"
)]
pub struct UnusableName {
    /// What is made.
    pub what: &'static str,
    /// Its name.
    pub name: String,
    /// What is wrong with it.
    pub problem: String,
}

/// Whether a template's binding is a ResourceBinding or a ClusterResourceBinding. The kind of policy does not matter.
#[must_use]
pub fn scope(template: &Object) -> Scope {
    if template.namespace().is_empty() {
        Scope::Cluster
    } else {
        Scope::Namespaced
    }
}

/// The binding of a template.
#[must_use]
pub fn key(template: &Object) -> ObjectKey {
    ObjectKey::namespaced(
        template.namespace(),
        names::binding_name(template.kind(), template.name()),
    )
}

/// The finalizer that a template's binding carries.
#[must_use]
pub fn finalizer(template: &Object) -> &'static str {
    match scope(template) {
        Scope::Namespaced => finalizers::BINDING,
        Scope::Cluster => finalizers::CLUSTER_RESOURCE_BINDING,
    }
}

/// The one owner of a template's binding: with the template the binding goes.
#[must_use]
pub fn owner(template: &Object) -> OwnerReference {
    OwnerReference {
        api_version: template.api_version().to_owned(),
        kind: template.kind().to_owned(),
        name: template.name().to_owned(),
        uid: template.uid().to_owned(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// Whether an existing binding is the template's own, not that of an earlier template of the same name or of another
/// kind that shares the name.
pub fn check_owner(binding: &Object, template: &Object) -> Result<(), ForeignBinding> {
    let foreign = |owner: String, found: String| {
        Err(ForeignBinding {
            binding: binding.key(),
            owner,
            found,
            expected: template.uid().to_owned(),
        })
    };
    match controller(binding) {
        Some(owner) if owner.uid != template.uid() => {
            foreign(format!("{} {}", owner.kind, owner.name), owner.uid)
        }
        // What another template has left behind is not there for all who spell its name alike.
        None if names_another(binding, template) => {
            let text = |field: &str| binding.text_at(&["spec", "resource", field]);
            let [kind, name, uid] = ["kind", "name", "uid"].map(|field| text(field).unwrap_or(""));
            foreign(format!("{kind} {name}"), uid.to_owned())
        }
        _ => Ok(()),
    }
}

/// Whether a binding says that it is for an object of another kind or name.
fn names_another(binding: &Object, template: &Object) -> bool {
    let differs = |field: &str, own: &str| {
        let named = binding.text_at(&["spec", "resource", field]);
        named.is_some_and(|named| named != own)
    };
    let group = |api_version: &str| {
        api_version
            .split_once('/')
            .map(|(group, _)| group.to_owned())
    };
    let api_version = binding.text_at(&["spec", "resource", "apiVersion"]);
    differs("kind", template.kind())
        || differs("name", template.name())
        || api_version.is_some_and(|named| group(named) != group(template.api_version()))
}

/// Whether what is made for a template can have the names that it must have.
pub fn check_names(template: &Object) -> Result<(), UnusableName> {
    let (kind, name) = (template.kind(), template.name());
    for (what, name) in [
        ("binding", names::binding_name(kind, name)),
        ("work", names::work_name(kind, name, template.namespace())),
    ] {
        if let Some(problem) = check_dns1123_subdomain(&name).into_iter().next() {
            return Err(UnusableName {
                what,
                name,
                problem,
            });
        }
    }
    Ok(())
}

/// The template that owns a binding.
#[must_use]
pub fn controller(binding: &Object) -> Option<OwnerReference> {
    binding
        .owner_references()
        .find(|owner| owner.controller == Some(true))
}

/// Whether a binding has no owner: its template was deleted so that what it made stays (`Orphan`), or somebody took the owner
/// away by hand.
#[must_use]
pub fn is_left(binding: &Object) -> bool {
    controller(binding).is_none()
}

/// Whether a binding that has no owner becomes that of a template: one that came after the one it was made for, or that very
/// one, if it is there to stay and somebody took it away by hand.
///
/// Invariant: whoever acts on it has asked the server itself whether the template is there to stay. Who sees it alive may see
/// it as it was before it was deleted, and with an owner that is gone the binding would go, and all that was to stay.
#[must_use]
pub fn takes_over(template: &Object, binding: &Object) -> bool {
    is_left(binding)
        && !names_another(binding, template)
        && !binding.is_terminating()
        && !template.is_terminating()
}

/// Whether a binding that has no owner gets back the one it was made for; as with [`takes_over`].
#[must_use]
pub fn returns(template: &Object, binding: &Object) -> bool {
    let made_for = binding.text_at(&["spec", "resource", "uid"]);
    takes_over(template, binding) && made_for == Some(template.uid())
}

/// The spec of a template's binding under a policy.
///
/// What others write stays as it is in `existing`: the scheduler's clusters, evictions, requests to schedule anew, the
/// bindings that depend on this one, and an admission queue's hold on scheduling.
#[must_use]
pub fn spec(
    template: &Object,
    policy: &PropagationSpec,
    lookups: &Lookups,
    existing: Option<&ResourceBindingSpec>,
) -> ResourceBindingSpec {
    let existing = existing.cloned().unwrap_or_default();
    let (replicas, replica_requirements, components) = match &lookups.needs {
        Needs::Unknown => (0, None, Vec::new()),
        Needs::Replicas { count, each } => (*count, each.clone(), Vec::new()),
        Needs::Components(components) => (0, None, components.clone()),
    };
    let is_namespaced = scope(template) == Scope::Namespaced;
    ResourceBindingSpec {
        resource: ObjectReference {
            api_version: template.api_version().to_owned(),
            kind: template.kind().to_owned(),
            namespace: template.namespace().to_owned(),
            name: template.name().to_owned(),
            uid: template.uid().to_owned(),
            // This is what makes an edit of the template a new generation of the binding.
            resource_version: template.resource_version().to_owned(),
        },
        propagate_deps: policy.propagate_deps,
        replica_requirements,
        replicas,
        components,
        placement: Some(policy.placement.clone()),
        scheduler_name: policy.scheduler_name.clone(),
        failover: policy.failover.clone(),
        conflict_resolution: policy.conflict_resolution,
        suspension: suspension(policy.suspension.as_ref(), existing.suspension.as_ref()),
        preserve_resources_on_deletion: policy.preserve_resources_on_deletion,
        // Upstream: neither priority nor groups are ever set on a ClusterResourceBinding.
        schedule_priority: lookups
            .priority
            .filter(|_| is_namespaced)
            .map(|priority| SchedulePriority { priority }),
        workload_affinity_groups: policy
            .placement
            .workload_affinity
            .as_ref()
            .filter(|_| is_namespaced && lookups.workload_groups)
            .and_then(|affinity| groups(template, affinity)),
        clusters: existing.clusters,
        graceful_eviction_tasks: existing.graceful_eviction_tasks,
        required_by: existing.required_by,
        reschedule_triggered_at: existing.reschedule_triggered_at,
    }
}

/// The policy's part comes from the policy, the hold on scheduling stays with the binding.
fn suspension(
    policy: Option<&policy::Suspension>,
    existing: Option<&Suspension>,
) -> Option<Suspension> {
    let merged = Suspension {
        policy: policy.cloned().unwrap_or_default(),
        scheduling: existing.and_then(|existing| existing.scheduling),
    };
    // Upstream: a policy that has an empty suspension gives the binding one too.
    (policy.is_some() || merged != Suspension::default()).then_some(merged)
}

fn groups(template: &Object, affinity: &WorkloadAffinity) -> Option<WorkloadAffinityGroups> {
    let group = |term: Option<&WorkloadAffinityTerm>| -> String {
        let Some(key) = term.map(|term| term.group_by_label_key.as_str()) else {
            return String::new();
        };
        match template.label(key) {
            Some(value) if !value.is_empty() => format!("{key}={value}"),
            _ => String::new(),
        }
    };
    let groups = WorkloadAffinityGroups {
        affinity_group: group(affinity.affinity.as_ref()),
        anti_affinity_group: group(affinity.anti_affinity.as_ref()),
    };
    (groups != WorkloadAffinityGroups::default()).then_some(groups)
}
