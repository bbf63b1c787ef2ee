//! How good a group of clusters is for a workload.

use crate::candidate::Candidate;

/// What one unit of the main criterion weighs; scores, at most 100 on average, only break ties.
const UNIT: i64 = 1000;

/// What a group is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// All replicas in every cluster.
    Each {
        /// How many replicas.
        replicas: i64,
    },
    /// The group's share of the replicas.
    Share {
        /// How many replicas in all.
        replicas: i64,
        /// Fewest groups that share them.
        groups: usize,
        /// Fewest clusters.
        clusters: usize,
    },
}

/// The weight of a group whose clusters are given in canonical order.
///
/// Where each cluster takes all replicas: the number of clusters that can. Otherwise: the part of the group's share
/// that its best clusters have room for. Ties are broken by the average score of the clusters looked at.
#[must_use]
pub fn group_score(clusters: &[Candidate], wanted: Wanted) -> i64 {
    match wanted {
        Wanted::Each { replicas } => score_of_copies(clusters, replicas),
        Wanted::Share {
            replicas,
            groups,
            clusters: least,
        } => {
            // Upstream: divides by zero if admission was bypassed and no group is asked for.
            let groups = i64::try_from(groups.max(1)).unwrap_or(i64::MAX);
            let share = replicas / groups + i64::from(replicas % groups > 0);
            score_of_share(
                clusters,
                share,
                least.max(usize::try_from(groups).unwrap_or(usize::MAX)),
            )
        }
    }
}

fn score_of_copies(clusters: &[Candidate], replicas: i64) -> i64 {
    let mut roomy = 0_i64;
    let mut scores = 0_i64;
    for cluster in clusters
        .iter()
        .filter(|cluster| cluster.available() >= replicas)
    {
        roomy += 1;
        scores = scores.saturating_add(cluster.score);
    }
    if roomy == 0 {
        0
    } else {
        roomy.saturating_mul(UNIT).saturating_add(scores / roomy)
    }
}

fn score_of_share(clusters: &[Candidate], share: i64, least: usize) -> i64 {
    let mut room = 0_i64;
    let mut scores = 0_i64;
    let mut walked = 0_usize;
    for cluster in clusters {
        room = room.saturating_add(cluster.available());
        scores = scores.saturating_add(cluster.score);
        walked += 1;
        if walked >= least && room >= share {
            break;
        }
    }
    let (met, among) = if room < share {
        (room, clusters.len())
    } else {
        (share, walked)
    };
    let among = i64::try_from(among.max(1)).unwrap_or(i64::MAX);
    met.saturating_mul(UNIT).saturating_add(scores / among)
}
