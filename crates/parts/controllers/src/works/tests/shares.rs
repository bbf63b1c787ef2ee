//! Shares of the replicas that are still to be decided.

use super::*;

const PLACED: &str = "clusters: [{name: m1}, {name: m2}]";

/// A binding of the policy `p`, in this generation, of which the scheduler has decided about that one.
fn decided(spec: &str, generation: i64, observed: Option<i64>) -> Object {
    let mut binding = one(&binding(spec));
    let label = "propagationpolicy.karmada.io/permanent-id";
    binding.set(&["metadata", "labels", label], "p").unwrap();
    binding
        .set(&["metadata", "generation"], generation)
        .unwrap();
    if let Some(observed) = observed {
        let path = ["status", "schedulerObservedGeneration"];
        binding.set(&path, observed).unwrap();
    }
    binding
}

/// Two clusters that run the template as its author wrote it, from when nobody knew that its replicas can be divided; then
/// its author changes it.
fn running() -> Scene {
    let mut scene = scene(WEB);
    scene.binding = decided(PLACED, 2, Some(2));
    scene = scene.after();
    let template = scene.template.as_mut().unwrap();
    template.set(&["spec", "paused"], true).unwrap();
    scene
}

/// What the manifests for both clusters say of replicas, and whether they have the author's change.
fn found(scene: &Scene) -> Vec<(i64, bool)> {
    let manifests = ["m1", "m2"].into_iter().filter_map(|cluster| {
        let works: Vec<&Object> = scene.works.iter().collect();
        let manifest = undecided::manifest(&works, cluster)?;
        let replicas = manifest.integer_at(&["spec", "replicas"])?;
        Some((replicas, manifest.at(&["spec", "paused"]).is_some()))
    });
    manifests.collect()
}

#[test]
fn what_runs_goes_on_as_it_is_until_its_new_replicas_are_divided() {
    let undivided = format!("replicas: 4, {PLACED}");
    let divided = "replicas: 4, clusters: [{name: m1, replicas: 4}, {name: m2}]";
    for (what, spec, generation, observed, expected) in [
        (
            "it is to be decided",
            undivided.as_str(),
            3,
            Some(2),
            [5, 5],
        ),
        ("it is decided", undivided.as_str(), 3, Some(3), [0, 0]),
        ("others decide", undivided.as_str(), 3, None, [0, 0]),
        ("none was decided too", divided, 3, Some(2), [4, 0]),
    ] {
        let mut scene = running();
        scene.binding = decided(spec, generation, observed);
        let expected = expected.map(|replicas| (replicas, true));
        assert_eq!(found(&scene.after()), expected, "{what}");
    }
}

#[test]
fn a_cluster_without_a_work_gets_none_until_its_share_is_decided() {
    let mut scene = scene(WEB);
    scene.binding = decided(&format!("replicas: 4, {PLACED}"), 3, Some(2));
    scene = scene.after();
    assert_eq!(found(&scene), []);
    scene.binding = decided(
        "replicas: 4, clusters: [{name: m1, replicas: 3}, {name: m2, replicas: 1}]",
        4,
        Some(4),
    );
    assert_eq!(found(&scene.after()), [(3, false), (1, false)]);
}
