//! The list of plugins, and plugins from outside.

use std::sync::Arc;

use super::{Filter, Judge, Plugin, Registry, Score, ScoreError, Scorer, WorkloadGroups};
use crate::{
    assign::{AssignError, Assignment},
    candidate::Candidate,
    cycle::Cycle,
    examples::{show, world::World},
    plugin::{Assign, Select},
    reason::Reason,
    select::{How, Selection},
};

/// Names of the enabled filters and scores.
fn enabled(list: &str) -> String {
    let list: Vec<&str> = list.split(',').collect();
    let plugins = Registry::in_tree(WorkloadGroups::Off).enable(&list);
    let mut names: Vec<&str> = Vec::new();
    for name in plugins
        .filters
        .iter()
        .map(|(name, _)| name)
        .chain(plugins.scores.iter().map(|(name, _)| name))
    {
        if !names.contains(&&**name) {
            names.push(name);
        }
    }
    names.join(" ")
}

#[test]
fn the_list_enables_from_left_to_right() {
    let all = "ClusterAffinity TaintToleration APIEnablement SpreadConstraint ClusterEviction ClusterLocality";
    let cases = [
        ("*", all),
        (
            "*,-ClusterEviction",
            "ClusterAffinity TaintToleration APIEnablement SpreadConstraint ClusterLocality",
        ),
        (
            "-ClusterEviction,*",
            "ClusterAffinity TaintToleration APIEnablement SpreadConstraint ClusterLocality",
        ),
        ("ClusterAffinity", "ClusterAffinity"),
        ("-ClusterAffinity", ""),
        ("ClusterEviction,-ClusterEviction", ""),
        ("-ClusterEviction,ClusterEviction", "ClusterEviction"),
        ("Unknown,-Nobody", ""),
    ];
    for (list, expected) in cases {
        assert_eq!(enabled(list), expected, "{list}");
    }
}

#[test]
fn without_plugins_every_cluster_passes() {
    let mut world = World::tell("clusters m1 m2; affinity m9; replicas 1");
    world.plugins = Registry::in_tree(WorkloadGroups::Off).enable(&["-ClusterAffinity"]);
    assert_eq!(show(&world.decide()), "m1=1 m2=1");
}

#[derive(Debug)]
struct Odd;

impl Filter for Odd {
    fn begin<'c>(&'c self, _cycle: &'c Cycle<'c>) -> Judge<'c> {
        Box::new(|position, _| {
            if position % 2 == 0 {
                Ok(())
            } else {
                Err(Reason::Other("odd".into()))
            }
        })
    }
}

impl Score for Odd {
    fn begin<'c>(&'c self, _cycle: &'c Cycle<'c>) -> Scorer<'c> {
        Box::new(|position, _| Ok(i64::try_from(position).unwrap()))
    }

    fn normalise(&self, _cycle: &Cycle<'_>, scores: &mut [i64]) -> Result<(), ScoreError> {
        let most = scores
            .iter()
            .copied()
            .max()
            .filter(|most| *most > 0)
            .ok_or(ScoreError("all zero".into()))?;
        scores
            .iter_mut()
            .for_each(|score| *score = *score * 100 / most);
        Ok(())
    }
}

#[derive(Debug)]
struct LastOnly;

impl Select for LastOnly {
    fn select(&self, _cycle: &Cycle<'_>, candidates: &[Candidate]) -> Selection {
        Selection {
            chosen: Ok(candidates.last().copied().into_iter().collect()),
            how: How::Other("last".into()),
        }
    }
}

impl Assign for LastOnly {
    fn assign(&self, _cycle: &Cycle<'_>, chosen: &[Candidate]) -> Assignment {
        let shares = match chosen {
            [only] => Ok(vec![(only.cluster, 7)]),
            _ => Err(AssignError::Other("expected one".into())),
        };
        Assignment {
            shares,
            steps: Vec::new(),
        }
    }
}

fn with_plugin(story: &str, plugin: Plugin) -> String {
    let mut registry = Registry::in_tree(WorkloadGroups::Off);
    registry.register(plugin).unwrap();
    let mut world = World::tell(story);
    world.plugins = registry.enable(&["*"]);
    show(&world.decide())
}

#[test]
fn plugins_from_outside_filter_score_select_and_assign() {
    let odd = || Plugin::named("Odd");
    assert_eq!(
        with_plugin("clusters a b c; replicas 1", odd().filtering(Odd)),
        "a=1 c=1"
    );
    assert_eq!(
        with_plugin("clusters a b; affinity b; replicas 1", odd().filtering(Odd)),
        "NoClusterFit: 0/2 clusters are available: 1 cluster(s) did not match the placement cluster affinity \
         constraint, 1 odd."
    );
    assert_eq!(
        with_plugin(
            "clusters a b c; spread cluster 1..1; replicas 1",
            odd().scoring(Odd)
        ),
        "c=1"
    );
    assert_eq!(
        with_plugin("clusters a; replicas 1", odd().scoring(Odd)),
        "SchedulerError: failed to prioritize clusters: plugin \"Odd\" failed with: all zero"
    );
    assert_eq!(
        with_plugin("clusters a b c; replicas 1", odd().selecting(LastOnly)),
        "c=1"
    );
    assert_eq!(
        with_plugin("clusters a; replicas 1", odd().assigning(LastOnly)),
        "a=7"
    );
    assert_eq!(
        with_plugin("clusters a b; replicas 1", odd().assigning(LastOnly)),
        "SchedulerError: failed to assign replicas: expected one"
    );
}

#[test]
fn a_name_is_given_once() {
    let mut registry = Registry::in_tree(WorkloadGroups::Off);
    let problem = registry
        .register(Plugin::named("ClusterAffinity"))
        .unwrap_err();
    assert_eq!(
        problem.to_string(),
        "a plugin named ClusterAffinity already exists"
    );
    registry.register(Plugin::named("Mine")).unwrap();
    assert_eq!(
        registry.register(Plugin::named("Mine")).unwrap_err().0,
        Arc::from("Mine")
    );
}
