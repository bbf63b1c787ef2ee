//! Garbage collection that is cut short again and again ends where it would have ended.

use std::collections::BTreeSet;
use std::time::Duration;

use intent::Propagation;
use object::{Object, ObjectKey};

use crate::cluster::{Cluster, config_maps, owned};

const SIZE: usize = 10;

/// A generator of numbers that is the same everywhere.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

/// For each object its owners, all of which came before it.
fn graph(chance: &mut Chance) -> Vec<BTreeSet<usize>> {
    (0..SIZE)
        .map(|number| {
            (0..chance.below(3).min(number))
                .map(|_| chance.below(number))
                .collect()
        })
        .collect()
}

/// Who is left when these are deleted: everybody but those whose owners, having had some, are all gone.
fn survivors(graph: &[BTreeSet<usize>], deleted: &BTreeSet<usize>) -> String {
    let mut gone = deleted.clone();
    for (number, owners) in graph.iter().enumerate() {
        if !owners.is_empty() && owners.is_subset(&gone) {
            gone.insert(number);
        }
    }
    let left = (0..SIZE).filter(|number| !gone.contains(number));
    left.map(|number| format!("o{number}"))
        .collect::<Vec<_>>()
        .join(" ")
}

#[tokio::test(start_paused = true)]
async fn a_crash_in_the_middle_changes_nothing_about_the_end() {
    let maps = config_maps();
    for seed in 0..10 {
        let mut chance = Chance(seed);
        let mut cluster = Cluster::start().await;
        let graph = graph(&mut chance);
        let mut objects: Vec<Object> = Vec::new();
        for (number, owners) in graph.iter().enumerate() {
            let owners: Vec<&Object> = owners.iter().map(|owner| &objects[*owner]).collect();
            let object = owned(&format!("o{number}"), &owners);
            objects.push(cluster.create(&maps, object).await);
        }
        let deleted: BTreeSet<usize> = (0..1 + chance.below(3))
            .map(|_| chance.below(SIZE))
            .collect();
        for number in &deleted {
            let how = [Propagation::Background, Propagation::Foreground][chance.below(2)];
            let key = ObjectKey::namespaced("shop", format!("o{number}"));
            cluster.delete(&maps, &key, Some(how)).await;
        }
        for _ in 0..chance.below(6) {
            // As far as it gets in this many turns of the scheduler.
            for _ in 0..chance.below(200) {
                tokio::task::yield_now().await;
            }
            cluster.restart_chores().await;
        }
        let expected = survivors(&graph, &deleted);
        assert_eq!(
            cluster.names(&maps, &expected).await,
            expected,
            "seed {seed}: {graph:?} without {deleted:?}"
        );
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(
            cluster.names(&maps, &expected).await,
            expected,
            "seed {seed}: nothing more goes"
        );
    }
}
