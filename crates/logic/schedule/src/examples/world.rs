//! Stories: statements separated by `;`, each a word and its arguments.
//!
//! ```text
//! clusters A=6 B C      clusters; A has room for 6 pods, B and C for a thousand
//! no-summary A          A has not reported its resources
//! free A: cpu=10 pods=5 what A has left
//! model A: 3 x cpu=1    A has 3 nodes with so much each
//! promised A: 6 x cpu=1 what another binding was just given on A
//! deleting A            A is about to go
//! region east: A B      also zone, provider
//! label k=v: A
//! taint k=v:NoSchedule: A
//! without-api A         A does not serve the template's kind
//!
//! replicas 6            also 0
//! kind ConfigMap        something without replicas
//! requests cpu=1        what a replica requests
//! component tm 3 cpu=1  a component with its replicas
//! uid b                 the template's
//! now A=4 B=2           the present targets
//! fresh                 somebody asked for a fresh decision
//! evict A               an eviction from A is under way
//! observed g1           the group in use
//! with p: A B           a peer of the same affinity group, and where it runs
//! apart p: A            a peer of the same anti-affinity group
//!
//! mode dynamic          also aggregated, duplicated, unsaid, even, static A=1 B=2, static-empty
//! affinity A B
//! select k=v            affinity by label
//! group g1: A B > C     a group with an overflow tier
//! tolerate k=v:NoSchedule
//! spread cluster 1..2
//!
//! accurate A=5 B=-1 C=! what an estimator said: a number, no opinion, a failure
//! whole-answer          a failure discards the estimator's answers
//! empty-workloads, sets, no-models, plugins *,-X
//! ```

use std::{collections::BTreeMap, sync::Arc};

use api::{
    cluster::{
        AllocatableModeling, ApiEnablement, ApiResource, Cluster, ResourceModel,
        ResourceModelRange, ResourceSummary,
    },
    kubernetes::{
        ResourceList,
        scheduling::{Taint, Toleration},
    },
    policy::{
        ClusterAffinity, ClusterAffinityTerm, ClusterPreferences, DynamicWeightFactor,
        OverflowClusterAffinity, Placement, ReplicaDivisionPreference, ReplicaSchedulingStrategy,
        ReplicaSchedulingType, SpreadConstraint, SpreadField, StaticClusterWeight,
    },
    work::v1alpha2::{
        Component, ComponentReplicaRequirements, GracefulEvictionTask, ReplicaRequirements,
        ResourceBinding, TargetCluster, WorkloadAffinityGroups,
    },
};
use estimate::{Amounts, Answer, Answers, Assumed, Models, OnFailure, Workload};
use object::{quantity::Quantity, selector::LabelSelector, time::Time};

use crate::{
    Components, EmptyWorkloads, Inputs, Options,
    assume::ByCluster,
    binding::BindingView,
    cluster::{ClusterFacts, Pool, Snapshot},
    placement::PreparedPlacement,
    plugin::{Peer, Peers, Plugins, Registry, WorkloadGroups},
};

/// Everything a decision is made from, owned.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) binding: ResourceBinding,
    pub(crate) clusters: Vec<Cluster>,
    pub(crate) placement: Placement,
    pub(crate) estimates: Vec<Answers>,
    pub(crate) assumed: ByCluster,
    pub(crate) peers: Peers,
    pub(crate) plugins: Plugins,
    pub(crate) options: Options,
}

impl World {
    pub(crate) fn tell(story: &str) -> Self {
        let mut binding = ResourceBinding::default();
        binding.metadata.namespace = "default".to_owned();
        binding.metadata.name = "web-deployment".to_owned();
        binding.metadata.generation = 2;
        binding.spec.resource.api_version = "apps/v1".to_owned();
        binding.spec.resource.kind = "Deployment".to_owned();
        binding.spec.resource.name = "web".to_owned();
        binding.spec.resource.namespace = "default".to_owned();
        let mut world = Self {
            binding,
            clusters: Vec::new(),
            placement: Placement::default(),
            estimates: Vec::new(),
            assumed: ByCluster::new(),
            peers: Peers::default(),
            plugins: Registry::in_tree(WorkloadGroups::On).enable(&["*"]),
            options: Options::default(),
        };
        for statement in story
            .split(';')
            .map(str::trim)
            .filter(|statement| !statement.is_empty())
        {
            let (word, rest) = statement.split_once(' ').unwrap_or((statement, ""));
            let known = world.about_clusters(word, rest)
                || world.about_binding(word, rest)
                || world.about_placement(word, rest)
                || world.about_scheduler(word, rest);
            assert!(known, "unknown statement: {statement}");
        }
        world.binding.spec.placement = Some(world.placement.clone());
        world
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let mut pool = Pool::default();
        Snapshot::new(
            self.clusters
                .iter()
                .map(|cluster| Arc::new(ClusterFacts::of(cluster, &mut pool))),
        )
    }

    pub(crate) fn with_inputs<T>(&self, act: impl FnOnce(&Inputs<'_>) -> T) -> T {
        let placement = PreparedPlacement::compile(&self.placement);
        let clusters = self.snapshot();
        act(&Inputs {
            binding: BindingView::from(&self.binding),
            placement: &placement,
            clusters: &clusters,
            estimates: &self.estimates,
            assumed: &self.assumed,
            peers: &self.peers,
            plugins: &self.plugins,
            options: self.options,
        })
    }

    /// Takes a decision over: its targets become the present ones, its group the one in use.
    pub(crate) fn take(&mut self, decision: &crate::Decision) {
        if let Some(targets) = decision.targets_to_write() {
            self.binding.spec.clusters = targets.iter().map(crate::Target::to_api).collect();
        }
        if let Some(term) = &decision.term {
            self.binding.status.scheduler_observed_affinity_name = term.to_string();
        }
        if !decision.only_lets_go() {
            let notes = &mut self.binding.metadata.annotations;
            notes.insert(
                crate::awaited::ANNOTATION.to_owned(),
                decision.awaited.clone(),
            );
        }
    }

    fn about_clusters(&mut self, word: &str, rest: &str) -> bool {
        match word {
            "clusters" => {
                for (name, pods) in pairs(rest) {
                    self.clusters.push(cluster(&name, pods.unwrap_or(1000)));
                }
            }
            "no-summary" => self.each(rest, |cluster| cluster.status.resource_summary = None),
            "deleting" => {
                self.each(rest, |cluster| {
                    cluster.metadata.deletion_timestamp = Some(Time::from_unix_seconds(1))
                });
            }
            "without-api" => self.each(rest, |cluster| cluster.status.api_enablements.clear()),
            "free" => {
                let (name, amounts) = heading(rest);
                self.each(name, |cluster| {
                    summary(cluster).allocatable = quantities(amounts)
                });
            }
            "model" => {
                let (name, rest) = heading(rest);
                let (count, amounts) = rest.split_once(" x ").expect("count x amounts");
                self.each(name, |cluster| {
                    add_model(cluster, count.trim().parse().unwrap(), amounts)
                });
            }
            "promised" => {
                let (name, rest) = heading(rest);
                let (count, amounts) = rest.split_once(" x ").expect("count x amounts");
                let component = estimate::Component {
                    replicas: count.trim().parse().unwrap(),
                    request: Amounts::of(&quantities(amounts)),
                    priority_class: String::new(),
                };
                let workload = Workload {
                    namespace: "default".to_owned(),
                    components: vec![component],
                };
                self.assumed
                    .insert(name.into(), Arc::new(Assumed::of(vec![workload])));
            }
            "region" => {
                let (region, names) = heading(rest);
                self.each(names, |cluster| cluster.spec.region = region.to_owned());
            }
            "provider" => {
                let (provider, names) = heading(rest);
                self.each(names, |cluster| cluster.spec.provider = provider.to_owned());
            }
            "zone" => {
                let (zone, names) = heading(rest);
                self.each(names, |cluster| cluster.spec.zones.push(zone.to_owned()));
            }
            "label" => {
                let (label, names) = heading(rest);
                let (key, value) = label.split_once('=').unwrap();
                self.each(names, |cluster| {
                    cluster
                        .metadata
                        .labels
                        .insert(key.to_owned(), value.to_owned());
                });
            }
            "taint" => {
                let (text, names) = rest.rsplit_once(": ").unwrap();
                let taint = taint(text);
                self.each(names, |cluster| cluster.spec.taints.push(taint.clone()));
            }
            _ => return false,
        }
        true
    }

    fn about_binding(&mut self, word: &str, rest: &str) -> bool {
        let spec = &mut self.binding.spec;
        match word {
            "replicas" => spec.replicas = rest.parse().unwrap(),
            "kind" => {
                spec.resource.api_version = "v1".to_owned();
                spec.resource.kind = rest.to_owned();
            }
            "requests" => {
                let request = ReplicaRequirements {
                    resource_request: quantities(rest),
                    ..Default::default()
                };
                spec.replica_requirements = Some(request);
            }
            "component" => {
                let mut words = rest.splitn(3, ' ');
                let name = words.next().unwrap().to_owned();
                let replicas = words.next().unwrap().parse().unwrap();
                let requirements = words.next().map(|amounts| ComponentReplicaRequirements {
                    resource_request: quantities(amounts),
                    ..Default::default()
                });
                spec.components.push(Component {
                    name,
                    replicas,
                    replica_requirements: requirements,
                });
            }
            "uid" => spec.resource.uid = rest.to_owned(),
            "now" => {
                spec.clusters = pairs(rest)
                    .map(|(name, count)| TargetCluster {
                        name,
                        replicas: count.unwrap_or(0).try_into().unwrap(),
                    })
                    .collect();
            }
            "fresh" => {
                spec.reschedule_triggered_at = Some(Time::from_unix_seconds(200));
                self.binding.status.last_scheduled_time = Some(Time::from_unix_seconds(100));
            }
            "evict" => {
                let task = |name: &str| GracefulEvictionTask {
                    from_cluster: name.to_owned(),
                    ..Default::default()
                };
                spec.graceful_eviction_tasks = rest.split(' ').map(task).collect();
            }
            "observed" => self.binding.status.scheduler_observed_affinity_name = rest.to_owned(),
            "with" | "apart" => {
                let (name, clusters) = heading(rest);
                let clusters = clusters.split_whitespace().map(Into::into).collect();
                let peer = Peer {
                    name: name.into(),
                    version: 1,
                    clusters,
                    is_meant: false,
                };
                let groups = spec
                    .workload_affinity_groups
                    .get_or_insert_with(WorkloadAffinityGroups::default);
                if word == "with" {
                    groups.affinity_group = "app=a".to_owned();
                    self.peers.affinity.push(peer);
                } else {
                    groups.anti_affinity_group = "app=b".to_owned();
                    self.peers.anti_affinity.push(peer);
                }
            }
            _ => return false,
        }
        true
    }

    fn about_placement(&mut self, word: &str, rest: &str) -> bool {
        match word {
            "mode" => self.placement.replica_scheduling = Some(strategy(rest)),
            "affinity" => self.placement.cluster_affinity = Some(named(rest)),
            "select" => {
                let (key, value) = rest.split_once('=').unwrap();
                let labels = BTreeMap::from([(key.to_owned(), value.to_owned())]);
                let affinity = self
                    .placement
                    .cluster_affinity
                    .get_or_insert_with(ClusterAffinity::default);
                affinity.label_selector = Some(LabelSelector::with_labels(labels));
            }
            "group" => {
                let (name, tiers) = heading(rest);
                let mut tiers = tiers.split('>');
                let affinity = named(tiers.next().unwrap());
                let overflow = tiers
                    .enumerate()
                    .map(|(index, names)| OverflowClusterAffinity {
                        affinity_name: format!("{name}-{index}"),
                        affinity: named(names),
                    });
                self.placement.cluster_affinities.push(ClusterAffinityTerm {
                    affinity_name: name.to_owned(),
                    affinity,
                    overflow_affinities: overflow.collect(),
                });
            }
            "tolerate" => {
                let Taint {
                    key, value, effect, ..
                } = taint(rest);
                let toleration = Toleration {
                    key,
                    value,
                    effect,
                    ..Default::default()
                };
                self.placement.cluster_tolerations.push(toleration);
            }
            "spread" => {
                let (field, bounds) = rest.split_once(' ').unwrap();
                let (min, max) = bounds.split_once("..").unwrap();
                let by_field = match field {
                    "cluster" => Some(SpreadField::Cluster),
                    "region" => Some(SpreadField::Region),
                    "zone" => Some(SpreadField::Zone),
                    "provider" => Some(SpreadField::Provider),
                    _ => None,
                };
                self.placement.spread_constraints.push(SpreadConstraint {
                    spread_by_field: by_field,
                    spread_by_label: if by_field.is_none() {
                        field.to_owned()
                    } else {
                        String::new()
                    },
                    min_groups: min.parse().unwrap(),
                    max_groups: if max.is_empty() {
                        0
                    } else {
                        max.parse().unwrap()
                    },
                });
            }
            _ => return false,
        }
        true
    }

    fn about_scheduler(&mut self, word: &str, rest: &str) -> bool {
        match word {
            "accurate" => {
                let answers = rest.split_whitespace().map(|entry| {
                    let (name, answer) = entry.split_once('=').unwrap();
                    let answer = match answer {
                        "!" => Answer::Failed,
                        "-1" => Answer::NoOpinion,
                        count => Answer::Count(count.parse().unwrap()),
                    };
                    (Arc::from(name), answer)
                });
                self.estimates
                    .push(Answers::new("scheduler-estimator", answers));
            }
            "whole-answer" => self.options.on_failure = OnFailure::SkipEstimator,
            "empty-workloads" => self.options.empty_workloads = EmptyWorkloads::Propagated,
            "sets" => self.options.components = Components::AsSets,
            "no-models" => self.options.models = Models::Ignored,
            "plugins" => {
                let list: Vec<&str> = rest.split(',').collect();
                self.plugins = Registry::in_tree(WorkloadGroups::On).enable(&list);
            }
            _ => return false,
        }
        true
    }

    fn each(&mut self, names: &str, change: impl Fn(&mut Cluster)) {
        for name in names.split_whitespace() {
            let cluster = self
                .clusters
                .iter_mut()
                .find(|cluster| cluster.metadata.name == name);
            change(cluster.unwrap_or_else(|| panic!("no cluster {name}")));
        }
    }
}

/// A cluster with room for so many pods that serves Deployments and ConfigMaps.
pub(crate) fn cluster(name: &str, pods: i64) -> Cluster {
    let mut cluster = Cluster::default();
    cluster.metadata.name = name.to_owned();
    let served = [
        ("apps/v1", "deployments", "Deployment"),
        ("v1", "configmaps", "ConfigMap"),
    ];
    cluster.status.api_enablements = served
        .into_iter()
        .map(|(version, plural, kind)| ApiEnablement {
            group_version: version.to_owned(),
            resources: vec![ApiResource {
                name: plural.to_owned(),
                kind: kind.to_owned(),
            }],
        })
        .collect();
    summary(&mut cluster).allocatable = quantities(&format!("pods={pods}"));
    cluster
}

fn summary(cluster: &mut Cluster) -> &mut ResourceSummary {
    cluster
        .status
        .resource_summary
        .get_or_insert_with(ResourceSummary::default)
}

fn add_model(cluster: &mut Cluster, count: i32, amounts: &str) {
    let grade = u32::try_from(cluster.spec.resource_models.len()).unwrap();
    let ranges = quantities(amounts)
        .into_iter()
        .map(|(name, min)| ResourceModelRange {
            name,
            min,
            max: Quantity::default(),
        });
    cluster.spec.resource_models.push(ResourceModel {
        grade,
        ranges: ranges.collect(),
    });
    summary(cluster)
        .allocatable_modelings
        .push(AllocatableModeling { grade, count });
}

fn strategy(text: &str) -> ReplicaSchedulingStrategy {
    let divided = |preference, weights| ReplicaSchedulingStrategy {
        replica_scheduling_type: Some(ReplicaSchedulingType::Divided),
        replica_division_preference: preference,
        weight_preference: weights,
    };
    let weighted = Some(ReplicaDivisionPreference::Weighted);
    let (mode, rest) = text.split_once(' ').unwrap_or((text, ""));
    match mode {
        "duplicated" => ReplicaSchedulingStrategy {
            replica_scheduling_type: Some(ReplicaSchedulingType::Duplicated),
            ..Default::default()
        },
        "aggregated" => divided(Some(ReplicaDivisionPreference::Aggregated), None),
        "dynamic" => {
            let dynamic_weight = Some(DynamicWeightFactor::AvailableReplicas);
            divided(
                weighted,
                Some(ClusterPreferences {
                    dynamic_weight,
                    ..Default::default()
                }),
            )
        }
        "even" => divided(weighted, None),
        "static-empty" => divided(weighted, Some(ClusterPreferences::default())),
        "static" => {
            let rule = |(name, weight): (String, Option<i64>)| StaticClusterWeight {
                target_cluster: named(&name),
                weight: weight.unwrap(),
            };
            let static_weight_list = pairs(rest).map(rule).collect();
            divided(
                weighted,
                Some(ClusterPreferences {
                    static_weight_list,
                    dynamic_weight: None,
                }),
            )
        }
        "unsaid" => divided(None, None),
        other => panic!("unknown mode {other}"),
    }
}

fn named(names: &str) -> ClusterAffinity {
    let cluster_names = names.split_whitespace().map(str::to_owned).collect();
    ClusterAffinity {
        cluster_names,
        ..Default::default()
    }
}

fn taint(text: &str) -> Taint {
    let (key, effect) = text.rsplit_once(':').unwrap();
    let (key, value) = key.split_once('=').unwrap_or((key, ""));
    Taint {
        key: key.to_owned(),
        value: value.to_owned(),
        effect: effect.to_owned(),
        ..Default::default()
    }
}

/// `A=1 B C=3`
fn pairs(text: &str) -> impl Iterator<Item = (String, Option<i64>)> {
    text.split_whitespace()
        .map(|entry| match entry.split_once('=') {
            Some((name, count)) => (name.to_owned(), Some(count.parse().unwrap())),
            None => (entry.to_owned(), None),
        })
}

/// `cpu=1 memory=2Gi`
pub(crate) fn quantities(text: &str) -> ResourceList {
    let entry = |entry: &str| {
        let (name, amount) = entry.split_once('=').unwrap();
        (name.to_owned(), amount.parse::<Quantity>().unwrap())
    };
    text.split_whitespace().map(entry).collect()
}

fn heading(text: &str) -> (&str, &str) {
    let (head, rest) = text.split_once(':').expect("name: rest");
    (head.trim(), rest.trim())
}
