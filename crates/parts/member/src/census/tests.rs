//! What is counted, and that counting on is the same as counting afresh.

use api::cluster::{ResourceModel, ResourceModelRange};
use object::{Object, Value, quantity::Quantity};
use serde_json::json;

use crate::census::Census;

fn object(value: Value) -> Object {
    Object::from_value(value).unwrap()
}

fn node(name: &str, ready: &str, allocatable: Value) -> Object {
    object(json!({
        "metadata": {"name": name},
        "status": {"allocatable": allocatable, "conditions": [
            {"type": "MemoryPressure", "status": "True"}, {"type": "Ready", "status": ready},
        ]},
    }))
}

fn pod(number: u32, node: &str, phase: &str, requests: Value) -> Object {
    pod_of(
        number,
        node,
        phase,
        json!({"containers": [{"resources": {"requests": requests}}]}),
    )
}

fn pod_of(number: u32, node: &str, phase: &str, mut spec: Value) -> Object {
    if !node.is_empty() {
        spec["nodeName"] = json!(node);
    }
    object(json!({
        "metadata": {"name": format!("p{number}"), "namespace": "shop",
                     "uid": format!("00000000-0000-0000-0000-{number:012}")},
        "spec": spec, "status": {"phase": phase},
    }))
}

/// One grade for each pair of least amounts of CPU and memory.
fn models(floors: &[(&str, &str)]) -> Vec<ResourceModel> {
    let range = |name: &str, min: &str| ResourceModelRange {
        name: name.to_owned(),
        min: min.parse().unwrap(),
        max: Quantity::ZERO,
    };
    floors
        .iter()
        .enumerate()
        .map(|(grade, (cpu, memory))| ResourceModel {
            grade: u32::try_from(grade).unwrap(),
            ranges: vec![range("cpu", cpu), range("memory", memory)],
        })
        .collect()
}

fn default_models() -> Vec<ResourceModel> {
    models(&[
        ("0", "0"),
        ("1", "4Gi"),
        ("2", "16Gi"),
        ("4", "32Gi"),
        ("8", "64Gi"),
        ("16", "128Gi"),
        ("32", "256Gi"),
        ("64", "512Gi"),
        ("128", "1Ti"),
    ])
}

/// Everything a census says, as one line.
fn report(census: &Census, models: &[ResourceModel]) -> String {
    let nodes = census.node_summary();
    let summary = census.resource_summary(models);
    let list = |list: &api::kubernetes::ResourceList| {
        let entries: Vec<String> = list
            .iter()
            .map(|(name, amount)| format!("{name}={amount}"))
            .collect();
        entries.join(",")
    };
    let grades: Vec<String> = summary
        .allocatable_modelings
        .iter()
        .map(|grade| grade.count.to_string())
        .collect();
    format!(
        "nodes {}/{}; allocatable {}; allocating {}; allocated {}; grades {}",
        nodes.ready_num,
        nodes.total_num,
        list(&summary.allocatable),
        list(&summary.allocating),
        list(&summary.allocated),
        grades.join(" "),
    )
}

fn check(nodes: &[Object], pods: &[Object], models: &[ResourceModel], expected: &str) {
    let mut census = Census::new();
    for node in nodes {
        census.set_node(node);
    }
    for pod in pods {
        census.set_pod(pod);
    }
    assert_eq!(report(&census, models), expected);
    // Pods may be heard of before their nodes.
    let mut census = Census::new();
    for pod in pods {
        census.set_pod(pod);
    }
    for node in nodes {
        census.set_node(node);
    }
    assert_eq!(report(&census, models), expected);
}

#[test]
fn nodes_and_pods_are_summed_up() {
    let room = || json!({"cpu": "4", "memory": "40Gi", "pods": "110", "nvidia.com/gpu": "2"});
    check(
        &[
            node("a", "True", room()),
            node("b", "False", room()),
            node("c", "Unknown", json!({"cpu": "500m"})),
        ],
        &[
            pod(1, "a", "Running", json!({"cpu": "1", "memory": "20Gi"})),
            pod(
                2,
                "b",
                "Pending",
                json!({"cpu": "250m", "nvidia.com/gpu": 1}),
            ),
            pod(3, "a", "Succeeded", json!({"cpu": "9"})),
            pod(4, "a", "Failed", json!({"cpu": "9"})),
            pod(5, "", "Pending", json!({"cpu": "2", "memory": "1G"})),
            pod(6, "", "Failed", json!({"cpu": "1"})),
        ],
        &[],
        "nodes 1/3; allocatable cpu=8500m,memory=80Gi,nvidia.com/gpu=4,pods=220; \
         allocating cpu=3,memory=1000000000,pods=2; allocated cpu=1250m,memory=20Gi,nvidia.com/gpu=1,pods=2; grades ",
    );
}

#[test]
fn an_empty_member_has_room_for_nothing() {
    check(
        &[],
        &[],
        &models(&[("0", "0"), ("1", "1Gi")]),
        "nodes 0/0; allocatable ; allocating ; allocated ; grades 0 0",
    );
}

#[test]
fn pods_request_what_their_hungriest_moment_needs() {
    let spec = json!({
        "containers": [{"resources": {"requests": {"cpu": "100m"}}}, {"resources": {"requests": {"cpu": "200m"}}}, {}],
        "initContainers": [
            {"resources": {"requests": {"cpu": "250m", "memory": "1Gi"}}},
            {"restartPolicy": "Always", "resources": {"requests": {"cpu": "50m"}}},
            {"resources": {"requests": {"cpu": "320m"}}},
        ],
        "overhead": {"cpu": "5m"},
    });
    // The last of the start beside the one that stays: 320 + 50, more than 100 + 200 + 50; then the overhead.
    check(
        &[],
        &[pod_of(1, "a", "Running", spec)],
        &[],
        "nodes 0/0; allocatable ; allocating ; allocated cpu=375m,memory=1Gi,pods=1; grades ",
    );
    let spec = json!({
        "containers": [{"resources": {"requests": {"cpu": "100m", "memory": "1Mi"}}}],
        "resources": {"requests": {"cpu": "1"}},
    });
    check(
        &[],
        &[pod_of(1, "a", "Running", spec)],
        &[],
        "nodes 0/0; allocatable ; allocating ; allocated cpu=1,memory=1Mi,pods=1; grades ",
    );
}

#[test]
fn malformed_objects_count_as_far_as_they_can_be_read() {
    let bad = object(
        json!({"metadata": {"name": 7}, "spec": {"containers": "none", "initContainers": [1]},
                            "status": {"allocatable": {"cpu": "lots", "memory": "1Gi"}, "conditions": {}}}),
    );
    check(
        std::slice::from_ref(&bad),
        std::slice::from_ref(&bad),
        &[],
        "nodes 0/1; allocatable memory=1Gi; allocating pods=1; allocated ; grades ",
    );
}

#[test]
fn nodes_fall_into_the_lowest_grade_that_a_resource_allows() {
    let with =
        |cpu: &str, memory: &str, pods: u32| json!({"cpu": cpu, "memory": memory, "pods": pods});
    for (nodes, pods, grades) in [
        // 3 CPUs and 20Gi are left.
        (
            vec![node("a", "True", with("4", "40Gi", 110))],
            vec![pod(
                1,
                "a",
                "Running",
                json!({"cpu": "1", "memory": "20Gi"}),
            )],
            "0 0 1 0 0 0 0 0 0",
        ),
        (
            vec![node("a", "True", with("3", "5Gi", 110))],
            vec![],
            "0 1 0 0 0 0 0 0 0",
        ),
        (
            vec![node("a", "False", with("999", "9Ti", 110))],
            vec![],
            "0 0 0 0 0 0 0 0 1",
        ),
        // Without memory at all.
        (
            vec![node("a", "True", json!({"cpu": "3", "pods": "10"}))],
            vec![],
            "1 0 0 0 0 0 0 0 0",
        ),
        // Promised more than there is: nowhere.
        (
            vec![node("a", "True", with("1", "5Gi", 110))],
            vec![pod(1, "a", "Running", json!({"cpu": "2"}))],
            "0 0 0 0 0 0 0 0 0",
        ),
        // A full node takes nothing; the one after it is counted.
        (
            vec![
                node("a", "True", with("3", "5Gi", 1)),
                node("b", "True", with("3", "5Gi", 2)),
            ],
            vec![
                pod(1, "a", "Running", json!({})),
                pod(2, "b", "Running", json!({})),
            ],
            "0 1 0 0 0 0 0 0 0",
        ),
        // A finished pod gives its place back.
        (
            vec![node("a", "True", with("3", "5Gi", 1))],
            vec![pod(1, "a", "Succeeded", json!({}))],
            "0 1 0 0 0 0 0 0 0",
        ),
    ] {
        let mut census = Census::new();
        for node in &nodes {
            census.set_node(node);
        }
        for pod in &pods {
            census.set_pod(pod);
        }
        let report = report(&census, &default_models());
        assert!(report.ends_with(&format!("grades {grades}")), "{report}");
    }
}

#[test]
fn a_change_that_shows_nowhere_is_told_apart() {
    let mut census = Census::new();
    let first = node("a", "True", json!({"cpu": "4"}));
    assert!(census.set_node(&first));
    let mut heartbeat = first.clone();
    heartbeat
        .set(&["metadata", "resourceVersion"], "9")
        .unwrap();
    assert!(!census.set_node(&heartbeat));
    let running = pod(1, "a", "Running", json!({"cpu": "1"}));
    assert!(census.set_pod(&running));
    let mut touched = running.clone();
    touched.set(&["metadata", "labels", "x"], "y").unwrap();
    assert!(!census.set_pod(&touched));
    assert!(census.set_pod(&pod(1, "a", "Succeeded", json!({"cpu": "1"}))));
    assert!(census.remove_pod(&running) && !census.remove_pod(&running));
    assert!(census.remove_node("a") && !census.remove_node("a"));
    assert_eq!(
        report(&census, &[]),
        "nodes 0/0; allocatable ; allocating ; allocated ; grades "
    );
}

#[test]
fn counting_on_is_counting_afresh() {
    let models = models(&[("0", "0"), ("1", "1Gi"), ("3", "4Gi")]);
    let (mut nodes, mut pods) = (
        std::collections::BTreeMap::new(),
        std::collections::BTreeMap::new(),
    );
    let mut census = Census::new();
    let mut seed = 7_u64;
    let mut next = |limit: u64| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % limit
    };
    for step in 0..4_000 {
        let name = format!("n{}", next(6));
        let number = u32::try_from(next(30)).unwrap();
        match next(10) {
            0..=2 => {
                let ready = if next(2) == 0 { "True" } else { "False" };
                let node = node(
                    &name,
                    ready,
                    json!({"cpu": next(5), "memory": format!("{}Gi", next(9)), "pods": next(8)}),
                );
                census.set_node(&node);
                nodes.insert(name, node);
            }
            3 => {
                census.remove_node(&name);
                nodes.remove(&name);
            }
            4..=7 => {
                let on = if next(3) == 0 { "" } else { name.as_str() };
                let phase = ["Pending", "Running", "Succeeded", "Failed"]
                    [usize::try_from(next(4)).unwrap()];
                let pod = pod(
                    number,
                    on,
                    phase,
                    json!({"cpu": format!("{}m", next(900)), "memory": next(1 << 30)}),
                );
                census.set_pod(&pod);
                pods.insert(number, pod);
            }
            8 => {
                if let Some(pod) = pods.remove(&number) {
                    census.remove_pod(&pod);
                }
            }
            _ if step % 97 == 0 => {
                census.clear_nodes();
                nodes.clear();
            }
            _ if step % 89 == 0 => {
                census.clear_pods();
                pods.clear();
            }
            _ => {}
        }
        let mut fresh = Census::new();
        for node in nodes.values() {
            fresh.set_node(node);
        }
        for pod in pods.values() {
            fresh.set_pod(pod);
        }
        assert_eq!(
            report(&census, &models),
            report(&fresh, &models),
            "after step {step}"
        );
    }
}
