//! Asking the rules.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::registry::Scope;
use api::twins::BindingView;
use api::work::v1alpha2::{ResourceBindingSpec, ResourceBindingStatus};
use binding::{Lookups, Needs, terms};
use interpret::{KindRef, Operation};
use object::{Object, ObjectMeta};
use overrides::{ClusterFacts as OverrideFacts, Step};
use policy::Preemption;
use schedule::cluster::{ClusterFacts, Pool, Snapshot};
use schedule::placement::PreparedPlacement;
use schedule::plugin::{Peers, Plugins, Registry, WorkloadGroups};
use schedule::{Inputs, Options};

use super::Picture;

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
    /// Whose a template is, and why not others'. What an operator may have switched on or off at the server is not
    /// known here; its defaults count.
    pub(crate) fn claim<'a>(
        &'a self,
        template: &'a Object,
        binding: Option<&'a Object>,
    ) -> policy::Decision<'a> {
        policy::decide(&policy::Inputs {
            template: policy::Template::new(template),
            binding,
            policies: &self.policies,
            overrides: &self.override_keys,
            exemptions: &self.exemptions,
            preemption: Preemption::Off,
        })
    }

    /// What a template's binding says under a policy.
    pub(crate) fn terms(
        &self,
        template: &Object,
        policy: &policy::Policy,
        existing: Option<&ResourceBindingSpec>,
    ) -> Result<ResourceBindingSpec, String> {
        let rules = &self.interpreter;
        let needs = if rules.covers(KindRef::of(template), Operation::InterpretReplica) {
            let replicas = rules.replicas(template).map_err(|error| chain(&error))?;
            Needs::Replicas {
                count: replicas.replicas,
                each: replicas.requirements,
            }
        } else {
            Needs::Unknown
        };
        let lookups = Lookups {
            needs,
            ..Lookups::default()
        };
        Ok(terms::spec(template, &policy.spec, &lookups, existing))
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
    ) -> Option<schedule::Decision> {
        let placement = placed.spec.placement.as_ref()?;
        Some(schedule::schedule(&Inputs {
            binding: placed.view(),
            placement: &PreparedPlacement::compile(placement),
            clusters,
            estimates: &[],
            assumed,
            peers: &Peers::default(),
            plugins: &plugins(),
            options: Options::default(),
        }))
    }

    /// The template with that number of replicas, as a cluster is to get it.
    pub(crate) fn render(
        &self,
        template: &Object,
        is_workload: bool,
        cluster: &str,
        replicas: i32,
    ) -> Rendering {
        let refused = |why: String| Rendering {
            steps: Vec::new(),
            result: Err(why),
        };
        let Some(known) = self.clusters.get(cluster) else {
            return refused("the cluster does not exist".to_owned());
        };
        let rules = &self.interpreter;
        let is_revised =
            is_workload && rules.covers(KindRef::of(template), Operation::ReviseReplica);
        let revised = match is_revised {
            true => match rules.revise(template, replicas) {
                Ok(revised) => revised,
                Err(error) => return refused(chain(&error)),
            },
            false => template.clone(),
        };
        let template = overrides::Template {
            object: &revised,
            other_versions: &[],
        };
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

fn plugins() -> Plugins {
    Registry::in_tree(WorkloadGroups::Off).enable(&["*"])
}

fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    telemetry::chain(error).to_string()
}
