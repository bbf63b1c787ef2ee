//! What is to be placed: one kind of pod, sets of several, and what was promised to others but does not run yet.

use api::work::v1alpha2::ReplicaRequirements;

use crate::resource::{Amounts, Resource};

/// One kind of pod within a set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Component {
    /// How many of it a set has.
    pub replicas: i64,
    /// What each requests.
    pub request: Amounts,
    /// Their priority class, for quotas; may be empty.
    pub priority_class: String,
}

impl Component {
    /// The component of a binding.
    #[must_use]
    pub fn of(component: &api::work::v1alpha2::Component) -> Self {
        let needs = component.replica_requirements.as_ref();
        Self {
            replicas: i64::from(component.replicas.max(0)),
            request: needs
                .map(|needs| Amounts::of(&needs.resource_request))
                .unwrap_or_default(),
            priority_class: needs
                .map(|needs| needs.priority_class_name.clone())
                .unwrap_or_default(),
        }
    }
}

/// What one replica requests.
#[must_use]
pub fn request(requirements: &ReplicaRequirements) -> Amounts {
    Amounts::of(&requirements.resource_request)
}

/// What a binding was given on a cluster shortly before, and which may not show in the cluster's status yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workload {
    /// Namespace it runs in, for quotas.
    pub namespace: String,
    /// Its pods.
    pub components: Vec<Component>,
}

/// All that was promised on one cluster, with its sums.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assumed {
    workloads: Vec<Workload>,
    demand: Amounts,
    pods: i64,
}

impl Assumed {
    /// Nothing was promised.
    pub const NOTHING: Self = Self {
        workloads: Vec::new(),
        demand: Amounts::NONE,
        pods: 0,
    };

    /// These workloads were promised.
    #[must_use]
    pub fn of(workloads: Vec<Workload>) -> Self {
        let mut demand = Amounts::default();
        let mut pods = 0_i64;
        for component in workloads.iter().flat_map(|workload| &workload.components) {
            if component.replicas > 0 {
                pods = pods.saturating_add(component.replicas);
                demand.add(&component.request, component.replicas);
            }
        }
        let demand_for_pods = demand
            .amount(&Resource::Pods)
            .unwrap_or(0)
            .saturating_add(pods);
        if pods > 0 {
            demand = demand.with(Resource::Pods, demand_for_pods);
        }
        Self {
            workloads,
            demand,
            pods,
        }
    }

    /// The workloads, in the order they were given.
    #[must_use]
    pub fn workloads(&self) -> &[Workload] {
        &self.workloads
    }

    /// What they request together; one of `pods` for each pod.
    #[must_use]
    pub fn demand(&self) -> &Amounts {
        &self.demand
    }

    /// How many pods they are.
    #[must_use]
    pub fn pods(&self) -> i64 {
        self.pods
    }

    /// Whether nothing was promised.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.workloads.is_empty()
    }
}
