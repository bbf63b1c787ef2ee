//! One decision over 1, 100, 1,000 and 5,000 clusters in every mode.
//!
//! A fleet as operators run it: ten regions, three sets of kinds, labels, a taint on every tenth cluster, and nine
//! grades of nodes as the API server fills them in. `first` decides about a new binding, `again` about one that is
//! placed already and whose replicas grew by half.

use std::{collections::BTreeMap, hint::black_box, sync::Arc};

use api::{
    cluster::{
        AllocatableModeling, ApiEnablement, ApiResource, Cluster, ResourceModel,
        ResourceModelRange, ResourceSummary,
    },
    kubernetes::{ResourceList, scheduling::Taint},
    policy::{
        ClusterAffinity, ClusterPreferences, DynamicWeightFactor, Placement,
        ReplicaDivisionPreference, ReplicaSchedulingStrategy, ReplicaSchedulingType,
        SpreadConstraint, SpreadField, StaticClusterWeight,
    },
    work::v1alpha2::{
        Component, ComponentReplicaRequirements, ReplicaRequirements, ResourceBinding,
    },
};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use karavel_schedule::{
    Components, Decision, Inputs, Options, Target,
    binding::BindingView,
    cluster::{ClusterFacts, Pool, Snapshot},
    placement::PreparedPlacement,
    plugin::{Peers, Plugins, Registry, WorkloadGroups},
    schedule,
};
use object::selector::LabelSelector;

const SIZES: [usize; 4] = [1, 100, 1000, 5000];

fn decisions(criterion: &mut Criterion) {
    let plugins = Registry::in_tree(WorkloadGroups::On).enable(&["*"]);
    for (mode, placement) in modes() {
        let mut group = criterion.benchmark_group(mode);
        let prepared = PreparedPlacement::compile(&placement);
        for size in SIZES {
            let clusters = fleet(size);
            let replicas = i32::try_from(size * 3).expect("a small number");
            let first = binding(replicas, &placement);
            group.bench_function(BenchmarkId::new("first", size), |bencher| {
                bencher.iter(|| decide(&first, &prepared, &clusters, &plugins));
            });
            let mut again = first.clone();
            let decision = decide(&first, &prepared, &clusters, &plugins);
            let targets = decision
                .targets_to_write()
                .expect("the first decision succeeds");
            again.spec.clusters = targets.iter().map(Target::to_api).collect();
            again.spec.replicas = replicas * 3 / 2;
            group.bench_function(BenchmarkId::new("again", size), |bencher| {
                bencher.iter(|| decide(&again, &prepared, &clusters, &plugins));
            });
        }
        group.finish();
    }
}

/// A workload of two components that goes to one cluster, estimated on modelled nodes.
fn component_sets(criterion: &mut Criterion) {
    let plugins = Registry::in_tree(WorkloadGroups::On).enable(&["*"]);
    let mut placement = modes().remove(3).1;
    placement.spread_constraints.push(SpreadConstraint {
        spread_by_field: Some(SpreadField::Cluster),
        min_groups: 1,
        max_groups: 1,
        ..SpreadConstraint::default()
    });
    let prepared = PreparedPlacement::compile(&placement);
    let mut binding = binding(0, &placement);
    binding.spec.replica_requirements = None;
    binding.spec.components = [("jobmanager", 1, "500m"), ("taskmanager", 3, "1")]
        .map(|(name, replicas, cpu)| Component {
            name: name.to_owned(),
            replicas,
            replica_requirements: Some(ComponentReplicaRequirements {
                resource_request: quantities(&[("cpu", cpu), ("memory", "1Gi")]),
                ..ComponentReplicaRequirements::default()
            }),
        })
        .into();
    let options = Options {
        components: Components::AsSets,
        ..Options::default()
    };
    let mut group = criterion.benchmark_group("component sets");
    for size in SIZES {
        let clusters = fleet(size);
        group.bench_function(BenchmarkId::new("first", size), |bencher| {
            bencher.iter(|| decide_with(options, &binding, &prepared, &clusters, &plugins));
        });
    }
    group.finish();
}

/// What costs a scheduler time beside deciding: preparing, explaining.
fn around(criterion: &mut Criterion) {
    let plugins = Registry::in_tree(WorkloadGroups::On).enable(&["*"]);
    let (_, placement) = modes().remove(2);
    let prepared = PreparedPlacement::compile(&placement);
    let clusters = fleet(1000);
    let binding = binding(3000, &placement);
    let decision = decide(&binding, &prepared, &clusters, &plugins);
    let mut group = criterion.benchmark_group("around");
    group.bench_function("prepare one cluster", |bencher| {
        let cluster = cluster(7);
        let mut pool = Pool::default();
        bencher.iter(|| ClusterFacts::of(black_box(&cluster), &mut pool));
    });
    group.bench_function("prepare a placement", |bencher| {
        bencher.iter(|| PreparedPlacement::compile(black_box(&placement)));
    });
    group.bench_function("snapshot of 1000 prepared clusters", |bencher| {
        let facts: Vec<Arc<ClusterFacts>> = prepared_fleet(1000);
        bencher.iter(|| Snapshot::new(facts.iter().cloned()));
    });
    group.bench_function("diagnosis over 1000 as a value", |bencher| {
        bencher.iter(|| decision.diagnosis.to_value())
    });
    group.bench_function("diagnosis over 1000 packed for the record", |bencher| {
        bencher.iter(|| decision.diagnosis.to_packed().to_string())
    });
    group.bench_function("diagnosis over 1000 as text", |bencher| {
        bencher.iter(|| decision.diagnosis.to_string())
    });
    group.finish();
}

fn decide(
    binding: &ResourceBinding,
    placement: &PreparedPlacement,
    clusters: &Snapshot,
    plugins: &Plugins,
) -> Decision {
    decide_with(Options::default(), binding, placement, clusters, plugins)
}

fn decide_with(
    options: Options,
    binding: &ResourceBinding,
    placement: &PreparedPlacement,
    clusters: &Snapshot,
    plugins: &Plugins,
) -> Decision {
    schedule(black_box(&Inputs {
        binding: BindingView::from(binding),
        placement,
        clusters,
        estimates: &[],
        assumed: &BTreeMap::new(),
        peers: &Peers::default(),
        plugins,
        options,
    }))
}

fn modes() -> Vec<(&'static str, Placement)> {
    let divided = |preference, weights| ReplicaSchedulingStrategy {
        replica_scheduling_type: Some(ReplicaSchedulingType::Divided),
        replica_division_preference: Some(preference),
        weight_preference: weights,
    };
    let static_weights = [
        ("tier", "gold", 3),
        ("tier", "silver", 2),
        ("tier", "bronze", 1),
    ];
    let rules = static_weights.map(|(key, value, weight)| StaticClusterWeight {
        target_cluster: labelled(key, value),
        weight,
    });
    let static_weight = ClusterPreferences {
        static_weight_list: rules.to_vec(),
        ..ClusterPreferences::default()
    };
    let dynamic = ClusterPreferences {
        dynamic_weight: Some(DynamicWeightFactor::AvailableReplicas),
        ..ClusterPreferences::default()
    };
    let spread = |field, min_groups, max_groups| SpreadConstraint {
        spread_by_field: Some(field),
        min_groups,
        max_groups,
        ..SpreadConstraint::default()
    };
    let placement = |strategy: Option<ReplicaSchedulingStrategy>| Placement {
        cluster_affinity: Some(labelled("env", "prod")),
        replica_scheduling: strategy,
        ..Placement::default()
    };
    let weighted = divided(ReplicaDivisionPreference::Weighted, Some(dynamic));
    vec![
        ("duplicated", placement(None)),
        (
            "static weight",
            placement(Some(divided(
                ReplicaDivisionPreference::Weighted,
                Some(static_weight),
            ))),
        ),
        ("dynamic weight", placement(Some(weighted.clone()))),
        (
            "aggregated",
            placement(Some(divided(ReplicaDivisionPreference::Aggregated, None))),
        ),
        (
            "dynamic weight, by cluster",
            Placement {
                spread_constraints: vec![spread(SpreadField::Cluster, 1, 5000)],
                ..placement(Some(weighted.clone()))
            },
        ),
        (
            "dynamic weight, by region",
            Placement {
                spread_constraints: vec![
                    spread(SpreadField::Region, 1, 5),
                    spread(SpreadField::Cluster, 1, 5000),
                ],
                ..placement(Some(weighted))
            },
        ),
    ]
}

fn labelled(key: &str, value: &str) -> ClusterAffinity {
    let labels = BTreeMap::from([(key.to_owned(), value.to_owned())]);
    ClusterAffinity {
        label_selector: Some(LabelSelector::with_labels(labels)),
        ..ClusterAffinity::default()
    }
}

fn binding(replicas: i32, placement: &Placement) -> ResourceBinding {
    let mut binding = ResourceBinding::default();
    binding.metadata.namespace = "default".to_owned();
    binding.metadata.name = "web-deployment".to_owned();
    let spec = &mut binding.spec;
    spec.resource.api_version = "apps/v1".to_owned();
    spec.resource.kind = "Deployment".to_owned();
    spec.resource.uid = "0c7c6ad4-5b0e-4a3f-9d0b-5f1f4f6f2d11".to_owned();
    spec.replicas = replicas;
    spec.replica_requirements = Some(ReplicaRequirements {
        resource_request: quantities(&[("cpu", "250m"), ("memory", "256Mi")]),
        ..ReplicaRequirements::default()
    });
    spec.placement = Some(placement.clone());
    binding
}

fn fleet(size: usize) -> Snapshot {
    Snapshot::new(prepared_fleet(size))
}

fn prepared_fleet(size: usize) -> Vec<Arc<ClusterFacts>> {
    let mut pool = Pool::default();
    (0..size)
        .map(|index| Arc::new(ClusterFacts::of(&cluster(index), &mut pool)))
        .collect()
}

fn cluster(index: usize) -> Cluster {
    let mut cluster = Cluster::default();
    cluster.metadata.name = format!("member-{index:04}");
    let tier = ["gold", "silver", "bronze"][index % 3];
    let labels = [
        ("env", "prod"),
        ("tier", tier),
        ("cluster.karmada.io/name", &cluster.metadata.name),
    ];
    cluster.metadata.labels = labels
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
    cluster.spec.provider = "cloud".to_owned();
    cluster.spec.region = format!("region-{}", index % 10);
    cluster.spec.zones = vec!["a".to_owned(), "b".to_owned()];
    if index % 10 == 9 {
        let taint = Taint {
            key: "dedicated".to_owned(),
            value: "gpu".to_owned(),
            effect: "NoSchedule".to_owned(),
            ..Taint::default()
        };
        cluster.spec.taints.push(taint);
    }
    for version in 0..60 + index % 3 {
        let resource = |number: usize| ApiResource {
            name: format!("things{number}"),
            kind: format!("Thing{number}"),
        };
        cluster.status.api_enablements.push(ApiEnablement {
            group_version: format!("group{version}.example.com/v1"),
            resources: (0..3).map(resource).collect(),
        });
    }
    cluster.status.api_enablements.push(ApiEnablement {
        group_version: "apps/v1".to_owned(),
        resources: vec![ApiResource {
            name: "deployments".to_owned(),
            kind: "Deployment".to_owned(),
        }],
    });
    let nodes = i32::try_from(5 + index % 20).expect("a small number");
    let mut summary = ResourceSummary {
        allocatable: quantities(&[
            ("cpu", &(nodes * 16).to_string()),
            ("memory", &format!("{}Gi", nodes * 64)),
            ("ephemeral-storage", &format!("{}Gi", nodes * 100)),
            ("pods", &(nodes * 110).to_string()),
        ]),
        allocated: quantities(&[
            ("cpu", &(nodes * 7).to_string()),
            ("memory", &format!("{}Gi", nodes * 20)),
            ("pods", "40"),
        ]),
        ..ResourceSummary::default()
    };
    for grade in 0..9 {
        let least = [("cpu", (1 << grade) / 2), ("memory", (4 << grade) / 8)].map(
            |(name, amount): (&str, i64)| {
                let unit = if name == "memory" { "Gi" } else { "" };
                ResourceModelRange {
                    name: name.to_owned(),
                    min: format!("{amount}{unit}").parse().expect("a quantity"),
                    max: "1000Gi".parse().expect("a quantity"),
                }
            },
        );
        cluster.spec.resource_models.push(ResourceModel {
            grade,
            ranges: least.to_vec(),
        });
        let count = if grade == 4 {
            nodes
        } else {
            i32::from(grade == 2)
        };
        summary
            .allocatable_modelings
            .push(AllocatableModeling { grade, count });
    }
    cluster.status.resource_summary = Some(summary);
    cluster
}

fn quantities(entries: &[(&str, &str)]) -> ResourceList {
    entries
        .iter()
        .map(|(name, text)| ((*name).to_owned(), text.parse().expect("a quantity")))
        .collect()
}

criterion_group!(benches, decisions, component_sets, around);
criterion_main!(benches);
