//! Groups of clusters that overflow into further tiers.

use super::{check, show, world::World};

const TIERS: &str = "group onprem: idc1 idc2 > cloud; mode dynamic";

#[test]
fn what_does_not_fit_goes_to_the_next_tier() {
    let tell = |clusters: &str, more: &str| {
        super::decide(&format!("clusters {clusters}; {TIERS}; {more}"))
    };
    assert_eq!(
        tell("idc1=4 idc2=2 cloud=50", "replicas 10"),
        "cloud=4 idc1=4 idc2=2"
    );
    let now = "observed onprem; now idc1=4 idc2=2 cloud=4";
    assert_eq!(
        tell("idc1=0 idc2=0 cloud=46", &format!("replicas 14; {now}")),
        "cloud=8 idc1=4 idc2=2"
    );
    assert_eq!(
        tell("idc1=0 idc2=0 cloud=46", &format!("replicas 5; {now}")),
        "idc1=3 idc2=2"
    );
    assert_eq!(
        tell("idc1=3 idc2=0 cloud=46", &format!("replicas 10; {now}")),
        "cloud=1 idc1=7 idc2=2"
    );
}

#[test]
fn tiers_that_are_full_together_leave_the_binding_where_it_is() {
    check(&[(
        "clusters idc1=4 cloud=10; group onprem: idc1 > cloud; mode aggregated; replicas 20",
        "Unschedulable: failed to assign replicas: Clusters available replicas are not enough to schedule.",
    )]);
}

#[test]
fn the_group_is_reported_never_the_tier() {
    let world = World::tell(&format!(
        "clusters idc1=4 idc2=2 cloud=50; replicas 10; {TIERS}"
    ));
    assert_eq!(world.decide().term.as_deref(), Some("onprem"));
}

#[test]
fn what_runs_nothing_does_not_overflow() {
    check(&[(
        &format!("clusters idc1 idc2 cloud; kind ConfigMap; replicas 0; {TIERS}"),
        "idc1 idc2",
    )]);
}

#[test]
fn tiers_come_in_their_order_in_the_result() {
    let decision = super::decision(&format!(
        "clusters idc1=4 idc2=2 cloud=50; replicas 10; {TIERS}"
    ));
    let names: Vec<_> = decision
        .targets_to_write()
        .unwrap()
        .iter()
        .map(|target| &*target.cluster)
        .collect();
    assert_eq!(names, ["idc1", "idc2", "cloud"]);
    assert_eq!(show(&decision), "cloud=4 idc1=4 idc2=2");
}
