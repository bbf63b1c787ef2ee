//! Asking the rules.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::registry::Scope;
use api::twins::BindingView;
use api::well_known::feature_gates::Gate;
use api::work::v1alpha2::{ResourceBindingSpec, ResourceBindingStatus};
use binding::{Lookups, Needs, terms};
use interpret::{InterpretError, KindRef, Operation};
use object::{Object, ObjectMeta};
use overrides::{ClusterFacts as OverrideFacts, Step};
use schedule::Inputs;
use schedule::cluster::{ClusterFacts, Pool, Snapshot};
use schedule::intake::DEFAULT_SCHEDULER;
use schedule::placement::PreparedPlacement;
use schedule::plugin::Peers;

use super::Picture;
use super::shares::Share;

/// A binding of either scope, for decisions.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    /// Its metadata.
    pub(crate) metadata: ObjectMeta,
    /// What it says.
    pub(crate) spec: ResourceBindingSpec,
    /// How it is.
    pub(crate) status: ResourceBindingStatus,
}

/// A template as one cluster is to get it.
pub(crate) struct Rendering {
    /// The rules on the way.
    pub(crate) steps: Vec<Step>,
    /// The object, and what the work notes of the rules; or why there is none.
    pub(crate) result: Result<(Object, BTreeMap<&'static str, String>), String>,
}

/// What is said of a template whose author's last changes nobody speaks for.
pub(crate) const HELD_BACK: &str = "what its author changed is held back: members keep what they have until a policy speaks for it";

impl Placed {
    /// Reads a binding of either scope.
    pub(crate) fn read(object: &Object) -> Result<Self, String> {
        if object.namespace().is_empty() {
            let read: api::work::v1alpha2::ClusterResourceBinding =
                object.read().map_err(|error| error.to_string())?;
            return Ok(Self {
                metadata: read.metadata,
                spec: read.spec,
                status: read.status,
            });
        }
        let read: api::work::v1alpha2::ResourceBinding =
            object.read().map_err(|error| error.to_string())?;
        Ok(Self {
            metadata: read.metadata,
            spec: read.spec,
            status: read.status,
        })
    }

    /// As decisions look at it.
    pub(crate) fn view(&self) -> BindingView<'_> {
        BindingView {
            scope: match self.metadata.namespace.is_empty() {
                true => Scope::Cluster,
                false => Scope::Namespaced,
            },
            metadata: &self.metadata,
            spec: &self.spec,
            status: &self.status,
        }
    }
}

impl Picture {
    /// Whose a template is, and why not others'.
    pub(crate) fn claim<'a>(
        &'a self,
        template: &'a Object,
        binding: Option<&'a Object>,
    ) -> policy::Decision<'a> {
        policy::decide(&policy::Inputs {
            template: self.template(template),
            binding,
            policies: &self.policies,
            overrides: &self.override_keys,
            exemptions: &self.settings.exemptions,
            preemption: self.settings.preemption(),
        })
    }

    /// What a template's binding says under a policy.
    pub(crate) fn terms(
        &self,
        template: &Object,
        policy: &policy::Policy,
        existing: Option<&ResourceBindingSpec>,
    ) -> Result<ResourceBindingSpec, String> {
        let lookups = Lookups {
            needs: self.needs(template).map_err(|error| chain(&error))?,
            priority: self.priority(policy)?,
            workload_groups: self.settings.gates.is_enabled(Gate::WorkloadAffinity),
        };
        Ok(terms::spec(template, &policy.spec, &lookups, existing))
    }

    /// What a template needs from clusters.
    fn needs(&self, template: &Object) -> Result<Needs, InterpretError> {
        let (rules, kind) = (&self.interpreter, KindRef::of(template));
        let gates = &self.settings.gates;
        if gates.is_enabled(Gate::MultiplePodTemplatesScheduling)
            && rules.covers(kind, Operation::InterpretComponent)
        {
            return rules.components(template).map(Needs::Components);
        }
        if !rules.covers(kind, Operation::InterpretReplica) {
            return Ok(Needs::Unknown);
        }
        let replicas = rules.replicas(template)?;
        Ok(Needs::Replicas {
            count: replicas.replicas,
            each: replicas.requirements,
        })
    }

    /// The number behind a policy's priority class, while priorities count.
    fn priority(&self, policy: &policy::Policy) -> Result<Option<i32>, String> {
        let wanted = policy.spec.schedule_priority.as_ref();
        let gates = &self.settings.gates;
        let Some(wanted) = wanted.filter(|_| gates.is_enabled(Gate::PriorityBasedScheduling))
        else {
            return Ok(None);
        };
        let name = wanted.priority_class_name.as_str();
        match self.priorities.get(name) {
            Some(number) => Ok(Some(*number)),
            None => Err(format!("the priority class {name:?} does not exist")),
        }
    }

    /// Whether the control plane's scheduler decides about a binding; `None` if it does, else why not.
    pub(crate) fn left_alone(&self, placed: &Placed) -> Option<String> {
        let named = match placed.spec.scheduler_name.as_str() {
            "" => DEFAULT_SCHEDULER,
            name => name,
        };
        if named != self.settings.scheduler {
            return Some(format!(
                "where it goes is left to the scheduler {named:?}; the one here is {:?}",
                self.settings.scheduler
            ));
        }
        let suspension = placed.spec.suspension.as_ref();
        let is_held = suspension.is_some_and(|held| held.scheduling == Some(true));
        is_held.then(|| "its scheduling is suspended: it stays where it is".to_owned())
    }

    /// The clusters as decisions look at them.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let mut pool = Pool::default();
        let facts = self
            .clusters
            .values()
            .map(|cluster| Arc::new(ClusterFacts::of(cluster, &mut pool)));
        Snapshot::new(facts.collect::<Vec<_>>())
    }

    /// Where a binding goes; `None` if it has no placement.
    pub(crate) fn schedule(
        &self,
        placed: &Placed,
        clusters: &Snapshot,
        assumed: &schedule::assume::ByCluster,
        peers: &Peers,
    ) -> Option<schedule::Decision> {
        let placement = placed.spec.placement.as_ref()?;
        Some(schedule::schedule(&Inputs {
            binding: placed.view(),
            placement: &PreparedPlacement::compile(placement),
            clusters,
            estimates: &[],
            assumed,
            peers,
            plugins: &self.settings.plugins,
            options: self.settings.options,
        }))
    }

    /// The template with its share of what is divided, as a cluster is to get it.
    pub(crate) fn render(&self, template: &Object, share: Share, cluster: &str) -> Rendering {
        let refused = |why: String| Rendering {
            steps: Vec::new(),
            result: Err(why),
        };
        let Some(known) = self.clusters.get(cluster) else {
            return refused("the cluster does not exist".to_owned());
        };
        let rules = &self.interpreter;
        let is_revised = rules.covers(KindRef::of(template), Operation::ReviseReplica);
        let mut revised = match share.replicas.filter(|_| is_revised) {
            Some(replicas) => match rules.revise(template, replicas) {
                Ok(revised) => revised,
                Err(error) => return refused(chain(&error)),
            },
            None => template.clone(),
        };
        if let Some(count) = share.completions {
            revised = match binding::completions::with_completions(revised, count) {
                Ok(shared) => shared,
                Err(error) => return refused(error.to_string()),
            };
        }
        let template = self.template(&revised);
        let (steps, result) =
            overrides::explain(&self.overrides, &template, &OverrideFacts::from(known));
        Rendering {
            steps,
            result: match result {
                Ok(rendered) => {
                    let notes = rendered.annotations();
                    Ok((rendered.object, notes))
                }
                Err(error) => Err(chain(&*error)),
            },
        }
    }
}

fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    telemetry::chain(error).to_string()
}
