//! Keeping new work away from a cluster, and letting it in again.

use api::kubernetes::scheduling::Taint;
use api::well_known::taints::UNSCHEDULABLE;
use client::Client;

use super::change_taints;
use crate::failure::Failure;

/// What is to become of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cordon {
    /// Nothing new comes; what is there stays.
    Closed,
    /// Work may come again.
    Open,
}

/// Closes or opens a cluster for new work, and says what came of it.
pub async fn cordon(
    control: &Client,
    name: &str,
    wanted: Cordon,
    dry_run: bool,
) -> Result<String, Failure> {
    let word = match wanted {
        Cordon::Closed => "cordoned",
        Cordon::Open => "uncordoned",
    };
    let decide = |taints: Vec<Taint>| Ok(changed(&taints, wanted));
    match change_taints(control, name, dry_run, decide).await? {
        true => Ok(format!("{name} cluster {word}\n")),
        false => Ok(format!("{name} cluster already {word}\n")),
    }
}

/// The taints after the change; `None` if there is nothing to change.
fn changed(taints: &[Taint], wanted: Cordon) -> Option<Vec<Taint>> {
    let is_ours = |taint: &&Taint| taint.key == UNSCHEDULABLE && taint.effect == "NoSchedule";
    let is_closed = taints.iter().any(|taint| is_ours(&taint));
    if is_closed == (wanted == Cordon::Closed) {
        return None;
    }
    let mut taints: Vec<Taint> = taints
        .iter()
        .filter(|taint| !is_ours(taint))
        .cloned()
        .collect();
    if wanted == Cordon::Closed {
        taints.push(Taint {
            key: UNSCHEDULABLE.to_owned(),
            effect: "NoSchedule".to_owned(),
            ..Taint::default()
        });
    }
    Some(taints)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_closed_once_and_keeps_its_other_taints() {
        let taint = |key: &str, effect: &str| Taint {
            key: key.to_owned(),
            effect: effect.to_owned(),
            ..Taint::default()
        };
        let (mine, ours) = (
            taint("gpu", "NoSchedule"),
            taint(UNSCHEDULABLE, "NoSchedule"),
        );
        let evicting = taint(UNSCHEDULABLE, "NoExecute");
        let names = |taints: Option<Vec<Taint>>| {
            let name = |taint: &Taint| format!("{}:{}", taint.key, taint.effect);
            taints.map(|taints| taints.iter().map(name).collect::<Vec<_>>())
        };
        let closed = format!("{UNSCHEDULABLE}:NoSchedule");
        for (before, wanted, after) in [
            (vec![], Cordon::Closed, Some(vec![closed.clone()])),
            (
                vec![mine.clone()],
                Cordon::Closed,
                Some(vec!["gpu:NoSchedule".to_owned(), closed]),
            ),
            (vec![mine.clone(), ours.clone()], Cordon::Closed, None),
            (
                vec![mine.clone(), ours],
                Cordon::Open,
                Some(vec!["gpu:NoSchedule".to_owned()]),
            ),
            (vec![mine], Cordon::Open, None),
            (vec![evicting], Cordon::Open, None),
        ] {
            assert_eq!(
                names(changed(&before, wanted)),
                after,
                "{before:?} {wanted:?}"
            );
        }
    }
}
