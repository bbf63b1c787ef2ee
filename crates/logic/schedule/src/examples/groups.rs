//! Workloads that stay together, or apart.

use super::check;
use crate::plugin::Peer;

#[test]
fn members_of_an_affinity_group_follow_those_that_are_placed() {
    check(&[
        (
            "clusters m1 m2; spread cluster 1..1; with p: m2; replicas 1",
            "m2=1",
        ),
        ("clusters m1 m2; with p: ; replicas 1", "m1=1 m2=1"),
        (
            "clusters m1 m2 m3; with p: m1 m2; with q: m2 m3; with r: ; replicas 1",
            "m2=1",
        ),
        (
            "clusters m1 m2; with p: m2; now m1=1; replicas 1",
            "m1=1 m2=1",
        ),
        (
            "clusters m1 m2 m3; with p: m1 m2; with p: m2 m3; replicas 1",
            "m2=1",
        ),
        (
            "clusters m1 m2; with p: m1; with q: m2; replicas 1",
            "NoClusterFit: 0/2 clusters are available: 2 ResourceBinding with the same affinity group does not target \
             this cluster.",
        ),
    ]);
}

#[test]
fn members_of_an_anti_affinity_group_avoid_each_other() {
    check(&[
        (
            "clusters m1 m2; spread cluster 1..1; apart p: m1; replicas 1",
            "m2=1",
        ),
        (
            "clusters m1 m2; apart p: m1; apart q: m2; replicas 1",
            "NoClusterFit: 0/2 clusters are available: 2 cluster already has workload with the same anti-affinity \
             group.",
        ),
        (
            "clusters m1 m2 m3; apart p: m1; apart p: m2; replicas 1",
            "m3=1",
        ),
        (
            "clusters m1 m2; apart p: m1; now m1=1; replicas 1",
            "m1=1 m2=1",
        ),
    ]);
}

#[test]
fn groups_do_not_matter_without_their_plugins() {
    check(&[(
        "clusters m1 m2; apart p: m1; plugins *,-WorkloadAntiAffinity; replicas 1",
        "m1=1 m2=1",
    )]);
}

#[test]
fn a_write_of_our_own_is_seen_before_the_cache_shows_it() {
    let peer = |version, cluster: &str| Peer {
        name: "p".into(),
        version,
        clusters: vec![cluster.into()],
        is_meant: false,
    };
    assert_eq!(
        Peer::newer(peer(1, "m1"), Some(peer(2, "m2"))),
        peer(2, "m2")
    );
    assert_eq!(
        Peer::newer(peer(3, "m1"), Some(peer(2, "m2"))),
        peer(3, "m1")
    );
    assert_eq!(Peer::newer(peer(3, "m1"), None), peer(3, "m1"));
}
