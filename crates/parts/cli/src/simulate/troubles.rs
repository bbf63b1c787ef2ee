//! What goes wrong with many objects of one cluster for one reason is told once.

use std::collections::BTreeMap;

/// What went wrong, by cluster: the first time, and how often after that.
#[derive(Debug, Default)]
pub(super) struct Troubles {
    clusters: BTreeMap<String, (String, usize)>,
}

impl Troubles {
    /// Takes note of something that went wrong in a cluster.
    pub(super) fn note(&mut self, cluster: &str, why: String) {
        match self.clusters.get_mut(cluster) {
            Some((_, others)) => *others += 1,
            None => drop(self.clusters.insert(cluster.to_owned(), (why, 0))),
        }
    }

    /// A line for each cluster, from its name and the reason.
    pub(super) fn told(self, line: impl Fn(&str, &str) -> String) -> Vec<String> {
        let lines = self.clusters.into_iter();
        lines
            .map(|(cluster, (why, others))| match others {
                0 => line(&cluster, &why),
                1 => line(&cluster, &format!("{why}; and so of 1 other object")),
                _ => line(
                    &cluster,
                    &format!("{why}; and so of {others} other objects"),
                ),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cluster_is_told_of_once() {
        let mut troubles = Troubles::default();
        for (cluster, why) in [("b", "x"), ("a", "y"), ("b", "z"), ("b", "z")] {
            troubles.note(cluster, why.to_owned());
        }
        let told = troubles.told(|cluster, why| format!("{cluster}: {why}"));
        assert_eq!(told, ["a: y", "b: x; and so of 2 other objects"]);
    }
}
