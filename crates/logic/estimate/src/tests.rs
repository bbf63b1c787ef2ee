//! Estimates as one-line questions.

use std::collections::BTreeMap;

use api::{
    cluster::{AllocatableModeling, Cluster, ResourceModel, ResourceModelRange, ResourceSummary},
    kubernetes::{
        ResourceList,
        scheduling::{NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Taint, Toleration},
    },
    work::v1alpha2::NodeClaim,
};
use object::quantity::{Format, Quantity};
use proptest::prelude::*;

use crate::{
    Amounts, Answer, Answers, Assumed, Basis, Capacity, Component, Estimate, Models, OnFailure,
    Resource, Source, Workload,
    capacity::Grades,
    first_fit::Nodes,
    general,
    merge::{merge, usable},
    nodes::{self, Load, Node, NodeTraits},
    quota::{self, Quota, Scope},
    toleration::{first_untolerated, tolerates},
};

/// `cpu=1 memory=2Gi`
fn quantities(text: &str) -> ResourceList {
    let entry = |entry: &str| {
        let (name, amount) = entry.split_once('=').unwrap();
        (name.to_owned(), amount.parse::<Quantity>().unwrap())
    };
    text.split_whitespace().map(entry).collect()
}

fn amounts(text: &str) -> Amounts {
    Amounts::of(&quantities(text))
}

fn component(replicas: i64, request: &str) -> Component {
    Component {
        replicas,
        request: amounts(request),
        priority_class: String::new(),
    }
}

fn promised(replicas: i64, request: &str) -> Assumed {
    let workload = Workload {
        namespace: "default".to_owned(),
        components: vec![component(replicas, request)],
    };
    Assumed::of(vec![workload])
}

/// A cluster from its totals and, separated by `|`, the least of each grade of nodes with their number: `3x cpu=1`.
fn cluster(allocatable: &str, allocated: &str, allocating: &str, models: &str) -> Cluster {
    let mut cluster = Cluster::default();
    let mut summary = ResourceSummary {
        allocatable: quantities(allocatable),
        allocated: quantities(allocated),
        allocating: quantities(allocating),
        ..Default::default()
    };
    for (grade, model) in (0..).zip(
        models
            .split('|')
            .map(str::trim)
            .filter(|model| !model.is_empty()),
    ) {
        let (count, least) = model.split_once('x').unwrap();
        let ranges = quantities(least).into_iter();
        let ranges = ranges
            .map(|(name, min)| ResourceModelRange {
                name,
                min,
                max: Quantity::ZERO,
            })
            .collect();
        cluster
            .spec
            .resource_models
            .push(ResourceModel { grade, ranges });
        summary.allocatable_modelings.push(AllocatableModeling {
            grade,
            count: count.trim().parse().unwrap(),
        });
    }
    cluster.status.resource_summary = Some(summary);
    cluster
}

fn replicas(cluster: &Cluster, request: Option<&str>, assumed: &Assumed, models: Models) -> String {
    let request = request.map(amounts);
    let Estimate { count, basis } =
        general::replicas(&Capacity::of(cluster), request.as_ref(), assumed, models);
    format!("{count} {basis}")
}

#[test]
fn the_summary_allows_what_is_left_of_the_scarcest_resource() {
    let cluster = cluster(
        "cpu=16 memory=32Gi pods=110",
        "cpu=5500m memory=10Gi pods=40",
        "cpu=500m pods=2",
        "",
    );
    let ask = |request| replicas(&cluster, request, &Assumed::NOTHING, Models::Used);
    assert_eq!(ask(Some("cpu=750m memory=2Gi")), "11 limited by memory");
    assert_eq!(ask(Some("cpu=750m")), "13 limited by cpu");
    assert_eq!(ask(None), "68 limited by pods");
    assert_eq!(ask(Some("")), "68 limited by pods");
    assert_eq!(ask(Some("cpu=0")), "68 limited by pods");
    assert_eq!(ask(Some("nvidia.com/gpu=1")), "0 limited by nvidia.com/gpu");
    assert_eq!(ask(Some("cpu=100")), "0 limited by cpu");
}

#[test]
fn a_cluster_that_is_full_or_silent_takes_nothing() {
    let full = cluster("cpu=4 pods=10", "cpu=1 pods=10", "", "");
    assert_eq!(
        replicas(&full, Some("cpu=1"), &Assumed::NOTHING, Models::Used),
        "0 limited by pods"
    );
    let over = cluster("cpu=4 pods=10", "cpu=5 pods=1", "", "");
    assert_eq!(
        replicas(&over, Some("cpu=1"), &Assumed::NOTHING, Models::Used),
        "0 limited by cpu"
    );
    let silent = Cluster::default();
    assert_eq!(
        replicas(&silent, None, &Assumed::NOTHING, Models::Used),
        "0 nothing reported"
    );
    let unlimited = cluster("pods=9E", "", "", "");
    assert_eq!(
        replicas(&unlimited, None, &Assumed::NOTHING, Models::Used),
        "2147483647 limited by pods"
    );
}

#[test]
fn models_count_what_fits_on_single_nodes() {
    let roomy = cluster("cpu=100 pods=10000", "", "", "2x cpu=1");
    let models = "3x cpu=0 memory=0 | 2x cpu=1 memory=4Gi | 4x cpu=2 memory=16Gi";
    let cluster = cluster(
        "cpu=100 memory=900Gi pods=100 nvidia.com/gpu=8",
        "",
        "",
        models,
    );
    let ask = |request, models| replicas(&cluster, request, &Assumed::NOTHING, models);
    assert_eq!(
        ask(Some("cpu=500m memory=1Gi"), Models::Used),
        "20 limited by modelled nodes"
    );
    assert_eq!(
        ask(Some("cpu=500m memory=1Gi nvidia.com/gpu=1"), Models::Used),
        "0 limited by modelled nodes"
    );
    assert_eq!(
        ask(
            Some("cpu=500m memory=1Gi nvidia.com/gpu=1"),
            Models::Ignored
        ),
        "8 limited by nvidia.com/gpu"
    );
    assert_eq!(ask(Some(""), Models::Used), "100 limited by pods");
    assert_eq!(ask(None, Models::Used), "100 limited by pods");
    assert_eq!(
        replicas(&roomy, Some(""), &Assumed::NOTHING, Models::Used),
        "220 limited by modelled nodes"
    );
}

#[test]
fn models_that_make_no_sense_are_not_used() {
    let mut cluster = cluster("cpu=10 pods=100", "", "", "2x cpu=1");
    cluster
        .status
        .resource_summary
        .as_mut()
        .unwrap()
        .allocatable_modelings[0]
        .count = -1;
    assert_eq!(
        replicas(&cluster, Some("cpu=2"), &Assumed::NOTHING, Models::Used),
        "5 limited by cpu"
    );
    cluster
        .status
        .resource_summary
        .as_mut()
        .unwrap()
        .allocatable_modelings
        .clear();
    assert_eq!(
        replicas(&cluster, Some("cpu=2"), &Assumed::NOTHING, Models::Used),
        "5 limited by cpu"
    );
    cluster.spec.resource_models.clear();
    assert_eq!(
        replicas(&cluster, Some("cpu=2"), &Assumed::NOTHING, Models::Used),
        "5 limited by cpu"
    );
}

#[test]
fn grades_are_counted_together_and_the_later_model_counts() {
    let mut cluster = cluster("cpu=10 pods=100", "", "", "2x cpu=1 | 1x cpu=4");
    let summary = cluster.status.resource_summary.as_mut().unwrap();
    summary
        .allocatable_modelings
        .push(AllocatableModeling { grade: 1, count: 2 });
    summary
        .allocatable_modelings
        .push(AllocatableModeling { grade: 7, count: 2 });
    let mut later = cluster.spec.resource_models[1].clone();
    later.ranges[0].min = "2".parse().unwrap();
    cluster.spec.resource_models.push(later);
    let grades = Capacity::of(&cluster).grades.unwrap();
    let least = |cpu: i64| Amounts::collect([(Resource::Cpu, cpu * 1000)]);
    assert_eq!(grades, Grades::collect([(2, least(1)), (3, least(2))]));
}

#[test]
fn what_was_promised_is_taken_off() {
    let plain = cluster("cpu=10 pods=100", "", "", "");
    assert_eq!(
        replicas(&plain, Some("cpu=1"), &Assumed::NOTHING, Models::Used),
        "10 limited by cpu"
    );
    assert_eq!(
        replicas(&plain, Some("cpu=1"), &promised(6, "cpu=1"), Models::Used),
        "4 limited by cpu"
    );
    assert_eq!(
        replicas(&plain, Some("cpu=1"), &promised(97, ""), Models::Used),
        "3 limited by pods"
    );
    assert_eq!(
        replicas(&plain, Some("cpu=1"), &promised(60, "cpu=1"), Models::Used),
        "0 limited by cpu"
    );
    assert_eq!(
        replicas(&plain, None, &promised(60, "cpu=1"), Models::Used),
        "40 limited by pods"
    );
    let modelled = cluster("cpu=100 pods=100", "", "", "3x cpu=4");
    assert_eq!(
        replicas(
            &modelled,
            Some("cpu=2"),
            &promised(2, "cpu=3"),
            Models::Used
        ),
        "2 limited by modelled nodes"
    );
}

#[test]
fn sets_are_limited_by_the_summary_and_by_single_nodes() {
    let set = [
        component(1, "cpu=1 memory=2Gi"),
        component(3, "cpu=2 memory=4Gi"),
    ];
    let ask = |cluster: &Cluster, set: &[Component], assumed: &Assumed| {
        let Estimate { count, basis } =
            general::sets(&Capacity::of(cluster), set, assumed, Models::Used);
        format!("{count} {basis}")
    };
    let summary = cluster("cpu=20 memory=40Gi pods=50", "", "", "");
    assert_eq!(ask(&summary, &set, &Assumed::NOTHING), "2 limited by cpu");
    let modelled = cluster("cpu=20 memory=40Gi pods=50", "", "", "3x cpu=4 memory=32Gi");
    assert_eq!(
        ask(&modelled, &set, &Assumed::NOTHING),
        "1 limited by modelled nodes"
    );
    assert_eq!(
        ask(&modelled, &set, &promised(2, "cpu=4")),
        "0 limited by modelled nodes"
    );
    assert_eq!(
        ask(&summary, &[component(7, "")], &Assumed::NOTHING),
        "7 limited by pods"
    );
    // Upstream would place empty sets one by one, two thousand million times.
    assert_eq!(
        ask(&modelled, &[component(0, "cpu=1")], &Assumed::NOTHING),
        "50 limited by pods"
    );
    assert_eq!(
        ask(&Cluster::default(), &set, &Assumed::NOTHING),
        "0 nothing reported"
    );
    // The same memory in decimal and in binary writing.
    let decimal = cluster("memory=4194304Ki pods=50", "", "", "");
    assert_eq!(
        ask(&decimal, &[component(1, "memory=1G")], &Assumed::NOTHING),
        "4 limited by memory"
    );
    let huge = cluster("cpu=1000000 pods=1000000", "", "", "100000x cpu=10");
    assert_eq!(
        ask(&huge, &[component(2, "cpu=1")], &Assumed::NOTHING),
        "500000 limited by pods"
    );
}

#[test]
fn the_smallest_answer_counts() {
    let own = |count| {
        Some(Estimate {
            count,
            basis: Basis::Pods,
        })
    };
    let answers = |entries: &[(&str, Answer)]| {
        Answers::new(
            "accurate",
            entries
                .iter()
                .map(|(name, answer)| ((*name).into(), *answer)),
        )
    };
    let mixed = [answers(&[
        ("b", Answer::NoOpinion),
        ("a", Answer::Count(5)),
        ("c", Answer::Failed),
    ])];
    let with = |own: Option<Estimate>, cluster: &str, rule| {
        let (count, source) = merge(own, &usable(&mixed, rule), cluster, 9);
        format!("{count} {source}")
    };
    assert_eq!(
        with(own(20), "a", OnFailure::SkipCluster),
        "5 said by accurate"
    );
    assert_eq!(
        with(own(8), "b", OnFailure::SkipCluster),
        "8 limited by pods"
    );
    assert_eq!(
        with(own(8), "c", OnFailure::SkipCluster),
        "8 limited by pods"
    );
    assert_eq!(
        with(own(20), "a", OnFailure::SkipEstimator),
        "20 limited by pods"
    );
    assert_eq!(
        with(own(3), "a", OnFailure::SkipCluster),
        "3 limited by pods"
    );
    assert_eq!(with(None, "b", OnFailure::SkipCluster), "9 nobody answered");
    assert_eq!(
        with(own(3), "unknown", OnFailure::SkipCluster),
        "3 limited by pods"
    );
    let faulty = [answers(&[("a", Answer::Count(-7))])];
    assert_eq!(
        merge(own(3), &usable(&faulty, OnFailure::SkipCluster), "a", 9).0,
        0
    );
    assert_eq!(Source::NotAsked.to_string(), "nothing to count");
    let twice = answers(&[("a", Answer::Count(5)), ("a", Answer::Count(6))]);
    assert_eq!(
        (twice.about("a"), twice.estimator()),
        (Answer::Count(6), "accurate")
    );
}

fn node(allocatable: &str, requested: &str, pods: i64, traits: NodeTraits) -> Node {
    Node::new(
        traits,
        &quantities(allocatable),
        &Load {
            requested: amounts(requested),
            pods,
        },
    )
}

#[test]
fn nodes_take_what_is_free_on_each() {
    let cordoned = NodeTraits {
        cordoned: true,
        ..Default::default()
    };
    let fleet = [
        node("cpu=4 pods=10", "cpu=1500m", 3, NodeTraits::default()),
        node("cpu=8 pods=5", "cpu=2", 4, NodeTraits::default()),
        node("cpu=8 pods=50", "", 0, cordoned),
    ];
    let one_cpu = amounts("cpu=1");
    assert_eq!(
        nodes::replicas(&fleet, Some(&one_cpu), None, &Assumed::NOTHING),
        3
    );
    assert_eq!(nodes::replicas(&fleet, None, None, &Assumed::NOTHING), 8);
    assert_eq!(
        nodes::replicas(&[], Some(&one_cpu), None, &Assumed::NOTHING),
        0
    );
    assert_eq!(
        nodes::replicas(&fleet, Some(&one_cpu), None, &promised(1, "cpu=1")),
        2
    );
    let anywhere = Toleration {
        operator: "Exists".to_owned(),
        ..Default::default()
    };
    let claim = NodeClaim {
        tolerations: vec![anywhere],
        ..Default::default()
    };
    assert_eq!(
        nodes::replicas(&fleet, Some(&one_cpu), Some(&claim), &Assumed::NOTHING),
        11
    );
    // Resources that Kubernetes does not count on nodes are not asked for.
    assert_eq!(
        nodes::replicas(
            &fleet,
            Some(&amounts("cpu=1 odd=5")),
            None,
            &Assumed::NOTHING
        ),
        3
    );
    assert_eq!(
        nodes::replicas(
            &fleet,
            Some(&amounts("cpu=1 example.com/x=1")),
            None,
            &Assumed::NOTHING
        ),
        0
    );
    let set = [(component(2, "cpu=1"), None), (component(1, "cpu=2"), None)];
    assert_eq!(nodes::sets(&fleet, &set, &Assumed::NOTHING, 100), 1);
    assert_eq!(
        nodes::sets(&fleet, &[(component(0, ""), None)], &Assumed::NOTHING, 100),
        100
    );
}

#[test]
fn nodes_are_chosen_by_selector_affinity_and_taints() {
    let traits = NodeTraits {
        name: "n1".to_owned(),
        labels: BTreeMap::from([
            ("disk".to_owned(), "ssd".to_owned()),
            ("cores".to_owned(), "8".to_owned()),
        ]),
        taints: vec![Taint {
            key: "gpu".to_owned(),
            effect: "NoExecute".to_owned(),
            ..Default::default()
        }],
        cordoned: false,
    };
    let node = node("cpu=1 pods=1", "", 0, traits);
    let tolerant = |claim: NodeClaim| {
        let toleration = Toleration {
            key: "gpu".to_owned(),
            operator: "Exists".to_owned(),
            ..Default::default()
        };
        NodeClaim {
            tolerations: vec![toleration],
            ..claim
        }
    };
    assert!(!node.accepts(None));
    assert!(node.accepts(Some(&tolerant(NodeClaim::default()))));
    let selecting = |value: &str| NodeClaim {
        node_selector: BTreeMap::from([("disk".to_owned(), value.to_owned())]),
        ..Default::default()
    };
    assert!(node.accepts(Some(&tolerant(selecting("ssd")))));
    assert!(!node.accepts(Some(&tolerant(selecting("hdd")))));

    let cases = [
        ("disk", "In", &["ssd", "nvme"][..], true),
        ("disk", "In", &["hdd"], false),
        ("disk", "NotIn", &["ssd"], false),
        ("rack", "NotIn", &["a"], true),
        ("disk", "Exists", &[], true),
        ("rack", "Exists", &[], false),
        ("rack", "DoesNotExist", &[], true),
        ("cores", "Gt", &["7"], true),
        ("cores", "Gt", &["8"], false),
        ("cores", "Lt", &["9"], true),
        ("disk", "Gt", &["7"], false),
        ("disk", "Near", &["ssd"], false),
    ];
    let affine = |terms: Vec<NodeSelectorTerm>| {
        let claim = NodeClaim {
            hard_node_affinity: Some(NodeSelector {
                node_selector_terms: terms,
            }),
            ..Default::default()
        };
        node.accepts(Some(&tolerant(claim)))
    };
    for (key, operator, values, expected) in cases {
        let requirement = NodeSelectorRequirement {
            key: key.to_owned(),
            operator: operator.to_owned(),
            values: values.iter().map(|value| (*value).to_owned()).collect(),
        };
        let term = NodeSelectorTerm {
            match_expressions: vec![requirement],
            ..Default::default()
        };
        assert_eq!(affine(vec![term]), expected, "{key} {operator} {values:?}");
    }
    let named = |name: &str| NodeSelectorTerm {
        match_fields: vec![NodeSelectorRequirement {
            key: "metadata.name".to_owned(),
            operator: "In".to_owned(),
            values: vec![name.to_owned()],
        }],
        ..Default::default()
    };
    assert!(affine(vec![named("other"), named("n1")]));
    assert!(!affine(vec![named("other")]));
    assert!(!affine(vec![NodeSelectorTerm::default()]));
    assert!(!affine(Vec::new()));
}

#[test]
fn tolerations_match_by_key_value_and_effect() {
    let taint = |value: &str, effect: &str| Taint {
        key: "k".to_owned(),
        value: value.to_owned(),
        effect: effect.to_owned(),
        ..Default::default()
    };
    let cases = [
        (("k", "", "v", ""), true),
        (("k", "Equal", "v", "NoSchedule"), true),
        (("k", "Equal", "other", ""), false),
        (("k", "Exists", "", ""), true),
        (("", "Exists", "", ""), true),
        (("other", "Exists", "", ""), false),
        (("k", "Exists", "", "NoExecute"), false),
        (("k", "Lt", "9", ""), false),
    ];
    for ((key, operator, value, effect), expected) in cases {
        let toleration = Toleration {
            key: key.to_owned(),
            operator: operator.to_owned(),
            value: value.to_owned(),
            effect: effect.to_owned(),
            toleration_seconds: None,
        };
        assert_eq!(
            tolerates(&toleration, &taint("v", "NoSchedule")),
            expected,
            "{toleration:?}"
        );
    }
    let taints: Vec<std::sync::Arc<Taint>> = [
        taint("a", "PreferNoSchedule"),
        taint("b", "NoExecute"),
        taint("c", "NoSchedule"),
    ]
    .map(Into::into)
    .into();
    assert_eq!(first_untolerated(&taints, &[]).unwrap().value, "b");
}

#[test]
fn quotas_allow_what_is_left_of_them() {
    let plain =
        |hard: &str, used: &str| Quota::new(&quantities(hard), &quantities(used), Vec::new());
    let ask = |quotas: &[Quota], request: &str| {
        quota::replicas(quotas, &amounts(request), "", &Assumed::NOTHING)
    };
    assert_eq!(
        ask(&[plain("requests.cpu=10", "requests.cpu=4")], "cpu=1500m"),
        Some(4)
    );
    assert_eq!(
        ask(&[plain("requests.cpu=10", "requests.cpu=14")], "cpu=1500m"),
        Some(0)
    );
    assert_eq!(
        ask(&[plain("cpu=2 requests.cpu=10", "")], "cpu=1"),
        Some(10)
    );
    assert_eq!(
        ask(
            &[plain("limits.cpu=2 pods=1 requests.storage=1", "")],
            "cpu=1"
        ),
        None
    );
    assert_eq!(
        ask(
            &[plain("requests.nvidia.com/gpu=2", "")],
            "cpu=1 nvidia.com/gpu=1"
        ),
        Some(2)
    );
    assert_eq!(
        ask(
            &[plain("cpu=9", ""), plain("memory=2Gi", "")],
            "cpu=1 memory=1Gi"
        ),
        Some(2)
    );
    let promised = promised(2, "cpu=1500m");
    let quotas = [plain("requests.cpu=10", "requests.cpu=4")];
    assert_eq!(
        quota::replicas(&quotas, &amounts("cpu=1500m"), "", &promised),
        Some(2)
    );
    assert_eq!(
        quota::sets(
            &quotas,
            &[component(2, "cpu=1"), component(1, "cpu=1")],
            &Assumed::NOTHING
        ),
        Some(2)
    );
}

#[test]
fn quotas_concern_the_priority_classes_they_name() {
    let scoped = |name: &str, operator: &str, values: &[&str]| {
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        let scope = Scope {
            name: name.to_owned(),
            operator: operator.to_owned(),
            values,
        };
        Quota::new(&quantities("cpu=3"), &BTreeMap::new(), vec![scope])
    };
    let cases = [
        ("PriorityClass", "In", &["high"][..], "high", true),
        ("PriorityClass", "In", &["high"], "low", false),
        ("PriorityClass", "NotIn", &["high"], "low", true),
        ("PriorityClass", "Exists", &[], "low", true),
        ("PriorityClass", "Exists", &[], "", false),
        ("PriorityClass", "DoesNotExist", &[], "", true),
        ("BestEffort", "Exists", &[], "low", false),
    ];
    for (name, operator, values, class, expected) in cases {
        let quota = scoped(name, operator, values);
        assert_eq!(
            quota.concerns(class),
            expected,
            "{name} {operator} {values:?} {class}"
        );
        let allowed = quota::replicas(&[quota], &amounts("cpu=1"), class, &Assumed::NOTHING);
        assert_eq!(allowed, expected.then_some(3));
    }
}

#[test]
fn amounts_saturate() {
    let huge = Amounts::collect([(Resource::Memory, i64::MAX)]);
    let mut sum = huge.clone();
    sum.add(&huge, i64::MAX);
    assert_eq!(sum.amount(&Resource::Memory), Some(i64::MAX));
    sum.take(&huge, 2);
    assert_eq!(sum.amount(&Resource::Memory), Some(0));
    assert_eq!(
        Resource::Cpu.amount(Quantity::from_units(i64::MAX, Format::DecimalSI)),
        i64::MAX
    );
    assert_eq!(
        amounts("memory=1500m cpu=100u").to_string(),
        "cpu 1m, memory 2"
    );
}

/// First fit on one node after another, as the rule says.
fn place_one_by_one(nodes: &mut [(i64, i64)], set: &[(i64, i64)], limit: i64) -> i64 {
    for placed in 0..limit {
        for (replicas, cpu) in set {
            let mut remaining = *replicas;
            for (free, slots) in nodes.iter_mut() {
                let fits = if *cpu > 0 {
                    (*free / *cpu).min(*slots)
                } else {
                    *slots
                };
                let here = fits.min(remaining);
                *free -= here * cpu;
                *slots -= here;
                remaining -= here;
            }
            if remaining > 0 {
                return placed;
            }
        }
    }
    limit
}

/// How many sets fit on grades of nodes: by runs, and one node after the other.
fn place_both_ways(grades: &[(i64, i64, i64)], set: &[(i64, i64)], limit: i64) -> (i64, i64) {
    let mut single: Vec<(i64, i64)> = Vec::new();
    let mut runs = Vec::new();
    for (count, cpu, pods) in grades.iter().copied() {
        let nodes = usize::try_from(count).unwrap();
        single.extend(std::iter::repeat_n((cpu, pods), nodes));
        let free = Amounts::collect([(Resource::Cpu, cpu), (Resource::Pods, pods)]);
        runs.push((count, free));
    }
    let components: Vec<Component> = set
        .iter()
        .map(|(replicas, cpu)| Component {
            replicas: *replicas,
            request: Amounts::collect([(Resource::Cpu, *cpu)]),
            priority_class: String::new(),
        })
        .collect();
    let placed = Nodes::new(runs).place_sets(&components, limit, |_, _| true);
    (placed, place_one_by_one(&mut single, set, limit))
}

proptest! {
    #[test]
    fn runs_of_nodes_behave_like_single_nodes(
        grades in prop::collection::vec((0_i64..6, 0_i64..20, 0_i64..12), 1..5),
        set in prop::collection::vec((0_i64..6, 0_i64..7), 1..4),
        limit in 0_i64..30,
    ) {
        prop_assume!(set.iter().any(|(replicas, _)| *replicas > 0));
        let (by_runs, one_by_one) = place_both_ways(&grades, &set, limit);
        prop_assert_eq!(by_runs, one_by_one);
    }

    #[test]
    fn strides_lead_where_single_steps_do(
        grades in prop::collection::vec((0_i64..120, 0_i64..40, 0_i64..30), 1..4),
        set in prop::collection::vec((0_i64..5, 0_i64..9), 1..4),
        limit in 0_i64..1200,
    ) {
        prop_assume!(set.iter().any(|(replicas, _)| *replicas > 0));
        let (by_runs, one_by_one) = place_both_ways(&grades, &set, limit);
        prop_assert_eq!(by_runs, one_by_one);
    }
}
