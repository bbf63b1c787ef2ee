//! Explanations as people read them.

use crate::examples::{decision, world::World};

#[test]
fn a_decision_explains_itself() {
    let decision = decision(
        "clusters east=6 north=40 south west=12; taint gpu=yes:NoSchedule: north; affinity east west north; \
         now east=1; replicas 7; mode dynamic",
    );
    insta::assert_snapshot!(decision.diagnosis, @r#"
        default/web-deployment: 7 replicas, DynamicWeight
          filters: 2 of 4 clusters pass
            north: has the taint gpu=yes:NoSchedule, which is not tolerated
              (TaintToleration)
            south: does not match the affinity: the cluster is not named
              (ClusterAffinity)
          cluster                  score       fits running  estimate
          east                       100          6       1  limited by pods
          west                         0         12       0  limited by pods
          selection: all, there are no spread constraints
          assignment: scale up, 6 by total weight 18
          cluster                          weight          quota       kept      given
          west                                 12              4          0          4
          east                                  6              2          1          2
        placed: {east:3, west:4}
          east: 1 -> 3
          west: none -> 4
        "#);
}

#[test]
fn a_refusal_explains_itself() {
    let decision = decision(
        "clusters m1 m2 m3; without-api m2; region r: m1; label tier=gold: m3; select tier=gold; \
         spread region 1..1; spread cluster 1..1; evict m3; replicas 2",
    );
    insta::assert_snapshot!(decision.diagnosis, @r#"
        default/web-deployment: 2 replicas, Duplicated
          filters: 0 of 3 clusters pass
            m1: does not match the affinity: the cluster's labels do not satisfy
              tier=gold (ClusterAffinity)
            m2: does not match the affinity: the cluster's labels do not satisfy
              tier=gold (ClusterAffinity)
            m2: does not serve the template's kind (APIEnablement)
            m2: has no region to spread by (SpreadConstraint)
            m3: has no region to spread by (SpreadConstraint)
            m3: is being evicted from (ClusterEviction)
        refused (NoClusterFit): 0/3 clusters are available: 1 cluster(s) did not have
              region property, 2 cluster(s) did not match the placement cluster affinity
              constraint.
        "#);
}

#[test]
fn regions_and_exchanges_are_shown() {
    let by_region = decision(
        "clusters e1=9 e2=2 w1=30 n1=6 n2=5; region east: e1 e2; region west: w1; region north: n1 n2; \
         spread region 2..2; spread cluster 2..3; replicas 24; mode dynamic",
    );
    insta::assert_snapshot!(by_region.diagnosis, @r#"
        default/web-deployment: 24 replicas, DynamicWeight
          filters: 5 of 5 clusters pass
          cluster                  score       fits running  estimate
          e1                           0          9       0  limited by pods
          e2                           0          2       0  limited by pods
          n1                           0          6       0  limited by pods
          n2                           0          5       0  limited by pods
          w1                           0         30       0  limited by pods
          selection: by region
            region                   clusters         weight  chosen
            east                            2          11000  2
            north                           2          11000  -
            west                            1          12000  1
          assignment: scale up, 24 by total weight 41
          cluster                          weight          quota       kept      given
          w1                                   30          17.56          0         18
          e1                                    9           5.26          0          5
          e2                                    2           1.17          0          1
        placed: {e1:5, e2:1, w1:18}
          e1: none -> 5
          e2: none -> 1
          w1: none -> 18
        "#);
    let by_cluster = decision(
        "clusters m1=4 m2=3 m3=9; now m1=0 m2=0; spread cluster 1..2; mode aggregated; replicas 12",
    );
    insta::assert_snapshot!(by_cluster.diagnosis, @r#"
        default/web-deployment: 12 replicas, Aggregated
          filters: 3 of 3 clusters pass
          cluster                  score       fits running  estimate
          m1                         100          4       0  limited by pods
          m2                         100          3       0  limited by pods
          m3                           0          9       0  limited by pods
          selection: 1 to 2 clusters with room for 12
            the preferred 2 have room for 7
            m3 instead of m2, which has less room
            together they have room for 13
          assignment: scale up, 12 by total weight 13
          cluster                          weight          quota       kept      given
          m3                                    9           8.30          0          8
          m1                                    4           3.69          0          4
        placed: {m1:4, m3:8}
          m1: 0 -> 4
          m2: 0 -> none
          m3: none -> 8
        "#);
}

#[test]
fn groups_and_tiers_are_shown_one_after_another() {
    let decision = decision(
        "clusters a=0 b=4 c=50; group g1: a; group g2: b > c; mode dynamic; replicas 10; accurate c=7",
    );
    insta::assert_snapshot!(decision.diagnosis, @r#"
        default/web-deployment: 10 replicas, DynamicWeight
        group g1 (index 0)
          filters: 1 of 3 clusters pass
            b: does not match the affinity: the cluster is not named (ClusterAffinity)
            c: does not match the affinity: the cluster is not named (ClusterAffinity)
          cluster                  score       fits running  estimate
          a                            0          0       0  limited by pods
          selection: all, there are no spread constraints
          assignment: scale up, 10 by total weight 0
          cluster                          weight          quota       kept      given
          a                                     0              0          0          0
          given up: failed to assign replicas: failed to scale up: Clusters available
              replicas 0 are not enough to schedule.
        group g2 (index 1)
          filters: 2 of 3 clusters pass
            a: does not match the affinity: the cluster is not named (ClusterAffinity)
          cluster                  score       fits running  estimate
          b                            0          4       0  limited by pods
          c                            0          7       0  said by scheduler-estimator
          selection: all, there are no spread constraints
          assignment: tier 0: scale up, 4 by total weight 4
          cluster                          weight          quota       kept      given
          b                                     4              4          0          4
          assignment: tier 1: scale up, 6 by total weight 7
          cluster                          weight          quota       kept      given
          c                                     7              6          0          6
        placed: {b:4, c:6}
          b: none -> 4
          c: none -> 6
        "#);
}

#[test]
fn a_diagnosis_is_a_value() {
    let decision = decision(
        "clusters a=0 b=4 c; affinity a b; mode aggregated; replicas 3; now b=1; plugins *,-X",
    );
    insta::assert_snapshot!(decision.diagnosis.to_value(), @r#"
        {"binding":"default/web-deployment","strategy":"Aggregated","replicas":3,"clusters":3,"attempts":[{"filters":["ClusterAffinity","TaintToleration","APIEnablement","SpreadConstraint","ClusterEviction","WorkloadAffinity","WorkloadAntiAffinity"],"refusals":[{"cluster":"c","filter":"ClusterAffinity","reason":"does not match the affinity: the cluster is not named"}],"candidates":[{"cluster":"a","scores":{"ClusterAffinity":0,"ClusterLocality":0},"fits":0,"estimate":"limited by pods","running":0},{"cluster":"b","scores":{"ClusterAffinity":0,"ClusterLocality":100},"fits":4,"estimate":"limited by pods","running":1}],"selection":{"by":"none"},"selected":["b","a"],"steps":[{"mode":"scale up","replicas":2,"rows":[{"cluster":"b","weight":4,"quota":"2","kept":1,"given":2}],"leftOut":1}]}],"placed":[{"cluster":"b","replicas":3}],"changes":[{"cluster":"b","before":1,"after":3}]}
        "#);
}

#[test]
fn no_line_is_longer_than_a_terminal() {
    let stories = [
        "clusters a b; affinity x; replicas 1",
        "clusters a=1; replicas 900; mode dynamic",
        "clusters a; free a: cpu=1 pods=5; requests cpu=2 nvidia.com/gpu=1; replicas 9; mode aggregated",
        "clusters a b c; replicas 2147483647; mode static a=99999999999 b=3",
    ];
    for story in stories {
        let text = decision(story).diagnosis.to_string();
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{line}\n{text}");
        }
    }
}

#[test]
fn two_decisions_are_compared() {
    let before = World::tell("clusters a=5 b=9 c=3; replicas 6; mode dynamic").decide();
    let after = World::tell(
        "clusters a=7 b=9 d=3; taint x=y:NoSchedule: b; replicas 8; mode dynamic; now a=1; accurate a=7",
    )
    .decide();
    let differences: Vec<String> = after
        .diagnosis
        .differences_from(&before.diagnosis)
        .iter()
        .map(ToString::to_string)
        .collect();
    insta::assert_snapshot!(differences.join("\n"), @r#"
        8 replicas are wanted instead of 6
        c is gone
        a scores 100 instead of 0
        a has room for 7 more instead of 5
        b has the taint x=y:NoSchedule, which is not tolerated
        b is not selected any more
        d is new
        the result is {a:6, d:2} instead of {a:2, b:3, c:1}
        "#);
    assert!(
        before
            .diagnosis
            .differences_from(&before.diagnosis)
            .is_empty()
    );
}

#[test]
fn a_packed_diagnosis_says_the_same() {
    let stories = [
        "clusters a=0 b=4 c; affinity a b; mode aggregated; replicas 3; now b=1; plugins *,-X",
        "clusters a=0 b=4 c=50; group g1: a; group g2: b > c; mode dynamic; replicas 10; accurate c=7",
        "clusters m1 m2 m3; without-api m2; region r: m1; label tier=gold: m3; select tier=gold; \
         spread region 1..1; spread cluster 1..1; evict m3; replicas 2",
        "clusters e1=9 e2=2 w1=30 n1=6 n2=5; region east: e1 e2; region west: w1; region north: n1 n2; \
         spread region 2..2; spread cluster 2..3; replicas 24; mode dynamic",
        "clusters m1=4 m2=3 m3=9; now m1=0 m2=0; spread cluster 1..2; mode aggregated; replicas 12",
        "clusters a b c; replicas 2147483647; mode static a=99999999999 b=3",
        "clusters a=5 b=5 c=5; now a=2 z=3; replicas 7; mode dynamic",
        "clusters a=1; replicas 900; mode dynamic",
        "clusters a b; replicas 0",
    ];
    for story in stories {
        let diagnosis = decision(story).diagnosis;
        let names = diagnosis.clusters().names();
        let text = diagnosis.to_packed().to_string();
        let packed = serde_json::from_str(&text).expect("it is JSON");
        assert_eq!(
            super::unpack(&packed, names),
            diagnosis.to_value(),
            "{story}"
        );
    }
}

#[test]
fn a_packed_diagnosis_takes_a_few_bytes_for_each_cluster() {
    let clusters: Vec<String> = (0..1000)
        .map(|index| format!("member-{index:04}={}", 100 + index % 7))
        .collect();
    let story = format!("clusters {}; replicas 50; mode dynamic", clusters.join(" "));
    let diagnosis = decision(&story).diagnosis;
    let (packed, whole) = (diagnosis.to_packed(), diagnosis.to_value());
    let (packed, whole) = (packed.to_string().len(), whole.to_string().len());
    assert!(packed < 25 * 1000, "{packed} bytes");
    assert!(packed * 10 < whole, "{packed} bytes of {whole}");
}

#[test]
fn what_was_not_packed_by_us_does_no_harm() {
    let strange = [
        serde_json::json!(7),
        serde_json::json!({"attempts": 3, "placed": "x", "changes": {"before": 1}}),
        serde_json::json!({"attempts": [{"candidates": {"cluster": "0-99999999999999999999,5-2,x,1-88888888", "fits": {"at": [9], "texts": 1}}}]}),
        serde_json::json!({"attempts": [{"steps": [{"rows": {"cluster": [1, "b", null, -4], "weight": [9_223_372_036_854_775_807_i64, 1]}}]}]}),
    ];
    let names = ["a".into(), "b".into()];
    for value in strange {
        let text = super::unpack(&value, &names).to_string();
        assert!(text.len() < 1000, "{text}");
    }
}
