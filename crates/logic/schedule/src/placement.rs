//! A placement, compiled once and used for every decision about bindings that carry it.

use std::sync::Arc;

use api::{
    affinity::Affinity,
    kubernetes::scheduling::Toleration,
    policy::{
        ClusterPreferences, Placement, ReplicaDivisionPreference, ReplicaSchedulingType,
        SpreadConstraint, SpreadField,
    },
};

use object::field::FieldPath;

/// A placement ready for decisions. Callers may keep it as long as the placement stays the same.
#[derive(Clone, Debug)]
pub struct PreparedPlacement {
    /// Which clusters may be used, if one affinity says so.
    pub affinity: Option<Affinity>,
    /// Groups of clusters in the order they are tried; only read when `affinity` is absent.
    pub terms: Vec<Term>,
    /// Taints that are put up with.
    pub tolerations: Vec<Toleration>,
    /// How clusters are spread over failure domains.
    pub spread: Spread,
    /// How replicas are shared out.
    pub strategy: Strategy,
}

/// A group of clusters, with further tiers for what does not fit.
#[derive(Clone, Debug)]
pub struct Term {
    /// Its name, which the binding's status shows once it is used.
    pub name: Arc<str>,
    /// Its clusters.
    pub affinity: Affinity,
    /// Clusters for replicas that find no room in it, tier by tier.
    pub overflow: Vec<Affinity>,
}

/// How clusters are spread.
#[derive(Clone, Debug, Default)]
pub struct Spread {
    /// Whether there is any constraint.
    pub is_constrained: bool,
    /// How many clusters.
    pub clusters: Option<Bounds>,
    /// How many regions.
    pub regions: Option<Bounds>,
    /// Fields that every cluster must have, because a constraint groups by them; in the order they are asked for.
    pub required: Vec<SpreadField>,
    /// Whether exactly one cluster is asked for, which is what sets of components need.
    pub is_single_cluster: bool,
}

/// The fewest and most groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// At least so many.
    pub min: usize,
    /// At most so many; zero is a hard zero, not "no limit".
    pub max: usize,
}

/// How replicas are shared out.
#[derive(Clone, Debug)]
pub enum Strategy {
    /// Every cluster gets all replicas.
    Duplicated,
    /// In proportion to fixed weights.
    StaticWeight(Weights),
    /// In proportion to what fits.
    DynamicWeight,
    /// On as few clusters as have room.
    Aggregated,
    /// Divided, without saying how.
    Unsaid,
}

/// Fixed weights.
#[derive(Clone, Debug)]
pub enum Weights {
    /// The policy says nothing: all clusters alike, and spread constraints do not apply.
    Even,
    /// By rule; a cluster has the greatest weight of the rules it matches.
    Rules(Vec<(Affinity, i64)>),
}

impl PreparedPlacement {
    /// Compiles `placement`.
    #[must_use]
    pub fn compile(placement: &Placement) -> Self {
        let path = FieldPath::new("clusterAffinities");
        let terms = placement.cluster_affinities.iter().enumerate();
        let terms = terms.map(|(index, term)| {
            let path = path.index(index);
            let tiers = term
                .overflow_affinities
                .iter()
                .enumerate()
                .map(|(tier, overflow)| {
                    let path = path.child("overflowAffinities").index(tier);
                    Affinity::compile(&overflow.affinity, &path)
                });
            Term {
                name: term.affinity_name.as_str().into(),
                affinity: Affinity::compile(&term.affinity, &path),
                overflow: tiers.collect(),
            }
        });
        let one = FieldPath::new("clusterAffinity");
        let affinity = placement.cluster_affinity.as_ref();
        Self {
            affinity: affinity.map(|affinity| Affinity::compile(affinity, &one)),
            terms: terms.collect(),
            tolerations: placement.cluster_tolerations.clone(),
            spread: Spread::compile(&placement.spread_constraints),
            strategy: Strategy::compile(placement),
        }
    }

    /// Whether groups of clusters are tried one after another.
    ///
    /// An empty list of groups is no list: upstream would report success without choosing anything.
    #[must_use]
    pub fn is_ordered(&self) -> bool {
        !self.terms.is_empty()
    }

    /// Where the search through the groups starts: at the group in use, or at the first.
    #[must_use]
    pub fn first_term(&self, observed: &str) -> usize {
        self.terms
            .iter()
            .position(|term| *term.name == *observed)
            .unwrap_or(0)
    }

    /// Whether spread constraints choose clusters; fixed weights name theirs and override them.
    #[must_use]
    pub fn is_spread(&self) -> bool {
        if !self.spread.is_constrained {
            return false;
        }
        match &self.strategy {
            Strategy::StaticWeight(Weights::Even) => false,
            // Upstream: `weightPreference: {}` divides evenly too, yet honours the constraints.
            Strategy::StaticWeight(Weights::Rules(rules)) => rules.is_empty(),
            _ => true,
        }
    }
}

impl Strategy {
    fn compile(placement: &Placement) -> Self {
        let Some(strategy) = &placement.replica_scheduling else {
            return Self::Duplicated;
        };
        if strategy.replica_scheduling_type == Some(ReplicaSchedulingType::Duplicated) {
            return Self::Duplicated;
        }
        match strategy.replica_division_preference {
            None => Self::Unsaid,
            Some(ReplicaDivisionPreference::Aggregated) => Self::Aggregated,
            Some(ReplicaDivisionPreference::Weighted) => match &strategy.weight_preference {
                None => Self::StaticWeight(Weights::Even),
                Some(ClusterPreferences {
                    dynamic_weight: Some(_),
                    ..
                }) => Self::DynamicWeight,
                Some(ClusterPreferences {
                    static_weight_list, ..
                }) => {
                    let path = FieldPath::new("targetCluster");
                    let rule = |entry: &api::policy::StaticClusterWeight| {
                        let affinity = Affinity::compile(&entry.target_cluster, &path);
                        (affinity, entry.weight)
                    };
                    Self::StaticWeight(Weights::Rules(
                        static_weight_list.iter().map(rule).collect(),
                    ))
                }
            },
        }
    }

    /// Whether replicas are shared out rather than copied.
    #[must_use]
    pub fn is_divided(&self) -> bool {
        !matches!(self, Self::Duplicated)
    }

    /// The name people know it by.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Duplicated => "Duplicated",
            Self::StaticWeight(_) => "StaticWeight",
            Self::DynamicWeight => "DynamicWeight",
            Self::Aggregated => "Aggregated",
            Self::Unsaid => "Divided",
        }
    }
}

impl Spread {
    fn compile(constraints: &[SpreadConstraint]) -> Self {
        let mut spread = Self {
            is_constrained: !constraints.is_empty(),
            ..Self::default()
        };
        for constraint in constraints {
            let bounds = Bounds {
                min: count(constraint.min_groups),
                max: count(constraint.max_groups),
            };
            match constraint.spread_by_field {
                Some(SpreadField::Cluster) => {
                    spread.clusters = Some(bounds);
                    spread.is_single_cluster |= bounds == Bounds { min: 1, max: 1 };
                }
                Some(field) => {
                    if field == SpreadField::Region {
                        spread.regions = Some(bounds);
                    }
                    spread.required.push(field);
                }
                None => {}
            }
        }
        spread
    }
}

fn count(groups: i64) -> usize {
    usize::try_from(groups.max(0)).unwrap_or(usize::MAX)
}
