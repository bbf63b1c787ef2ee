//! What a template's clusters would be sent, against the works there are.

use std::collections::{BTreeMap, BTreeSet};

use api::names::{cluster_of_execution_space, work_name};
use binding::{Draft, targets};
use object::{Object, Value};

use super::change;
use super::fate::{ClusterFate, What};
use super::{Template, Templates};
use crate::picture::{Picture, Placed, Share, completions};

/// The control plane as it is and as it would be, for one look at all templates.
#[derive(Clone, Copy)]
pub(super) struct Scene<'a> {
    pub(super) before: &'a Picture,
    pub(super) after: &'a Picture,
    pub(super) templates: &'a Templates,
    /// The clusters that are supposed to be lost.
    pub(super) lost: &'a [String],
}

/// The works of an object, by cluster.
pub(super) fn works_of<'t>(
    templates: &'t Templates,
    object: &Object,
) -> BTreeMap<&'t str, &'t Object> {
    let name = work_name(object.kind(), object.name(), object.namespace());
    let works = templates.works.iter().filter(|work| work.name() == name);
    works
        .filter_map(|work| Some((cluster_of_execution_space(work.namespace())?, work)))
        .collect()
}

/// The object that a work is about.
pub(super) fn manifest_of(work: &Object) -> Value {
    let manifests = work.at(&["spec", "workload", "manifests"]);
    let first = manifests.and_then(|list| list.get(0));
    first.cloned().unwrap_or_default()
}

/// What would become of a template in every cluster that has it or would.
pub(super) fn in_clusters(
    scene: Scene<'_>,
    template: &Template,
    placed: &Placed,
    had: &BTreeMap<String, i32>,
) -> Vec<ClusterFate> {
    let gets: BTreeMap<&str, i32> = targets::targets(&placed.spec)
        .into_iter()
        .map(|target| (target.name.as_str(), target.replicas))
        .collect();
    let works = works_of(scene.templates, &template.object);
    let mut names: BTreeSet<&str> = gets.keys().copied().collect();
    names.extend(works.keys());
    names.extend(had.keys().map(String::as_str));
    let is_workload = placed.spec.is_workload();
    let completions = completions(&template.object, &placed.spec);
    let stays: BTreeSet<&str> = targets::expected(&placed.spec);
    let one = |cluster: &str| {
        let replicas = |count: Option<i32>| count.filter(|_| is_workload);
        let (before, now) = (had.get(cluster).copied(), gets.get(cluster).copied());
        let work = works.get(cluster).copied();
        let fate = if scene.lost.iter().any(|lost| lost == cluster) {
            what(What::Lost)
        } else if let Some(count) = now {
            let share = Share {
                replicas: replicas(Some(count)),
                completions: completions.get(cluster).copied(),
            };
            write(scene, template, placed, (cluster, share), work)
        } else if stays.contains(cluster) {
            what(What::Stays)
        } else {
            work.map_or_else(|| what(What::Stays), withdrawn)
        };
        ClusterFate {
            cluster: cluster.to_owned(),
            before: replicas(before),
            after: replicas(now),
            ..fate
        }
    };
    names.into_iter().map(one).collect()
}

fn what(what: What) -> ClusterFate {
    ClusterFate {
        what,
        ..ClusterFate::default()
    }
}

/// What becomes of an object whose work goes. Deletion is never held back.
fn withdrawn(work: &Object) -> ClusterFate {
    let is_kept = work.at(&["spec", "preserveResourcesOnDeletion"]) == Some(&Value::Bool(true));
    what(match is_kept {
        true => What::LetGo,
        false => What::Deleted,
    })
}

/// What a cluster would get, against what it was sent before.
fn write(
    scene: Scene<'_>,
    template: &Template,
    placed: &Placed,
    (cluster, share): (&str, Share),
    work: Option<&Object>,
) -> ClusterFate {
    let rendering = scene.after.render(&template.object, share, cluster);
    let (rendered, applied_overrides) = match rendering.result {
        Ok(rendered) => rendered,
        Err(why) => {
            // A rule that fails today already is no news.
            let former = template.former().map(|former| {
                let rendering = scene.before.render(former, share, cluster);
                rendering.result.err()
            });
            let is_old = former.flatten().is_some_and(|former| former == why);
            return ClusterFate {
                is_old,
                ..what(What::Refused(why))
            };
        }
    };
    let draft = binding::draft(Draft {
        binding: placed.view(),
        template: &template.object,
        cluster,
        rendered,
        applied_overrides,
        inherited_labels: None,
        existing: work,
    });
    match draft {
        Ok(draft) => compare(
            work,
            &draft,
            binding::work::is_suspended(&placed.spec, cluster),
        ),
        Err(error) => what(What::Refused(error.to_string())),
    }
}

/// A work as it would be against the one there is. `is_held` says whether its dispatching would be suspended.
pub(super) fn compare(work: Option<&Object>, draft: &Object, is_held: bool) -> ClusterFate {
    let sent = || Object::from_value(manifest_of(draft)).ok();
    let Some(work) = work else {
        return match is_held {
            true => what(What::Held(Vec::new())),
            false => ClusterFate {
                sent: sent(),
                ..what(What::Created)
            },
        };
    };
    let was_held = work.at(&["spec", "suspendDispatching"]) == Some(&Value::Bool(true));
    let lines = change::lines(&manifest_of(work), &manifest_of(draft));
    match (was_held, is_held) {
        (true, true) => ClusterFate {
            note: Some("its dispatching is suspended".to_owned()),
            is_old: lines.is_empty(),
            ..what(match lines.is_empty() {
                true => What::Stays,
                false => What::Held(lines),
            })
        },
        (false, true) => what(What::Held(lines)),
        // What waited may never have reached the cluster: only the cluster knows what it has.
        (true, false) => ClusterFate {
            note: Some("its dispatching goes on".to_owned()),
            sent: sent(),
            ..what(What::Changed(lines))
        },
        (false, false) if lines.is_empty() => what(What::Stays),
        (false, false) => what(What::Changed(lines)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn suspended_dispatching_holds_changes_back_but_not_the_end() {
        let work = |colour: &str, held: bool, kept: bool| {
            Object::from_value(json!({
                "metadata": {"name": "w", "namespace": "karmada-es-east"},
                "spec": {
                    "suspendDispatching": held, "preserveResourcesOnDeletion": kept,
                    "workload": {"manifests": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"colour": colour}}]},
                },
            }))
            .unwrap()
        };
        let told = |fate: &ClusterFate| {
            let what = match &fate.what {
                What::Changed(lines) => format!("changed {}", lines.len()),
                What::Held(lines) => format!("held {}", lines.len()),
                other => format!("{other:?}").to_lowercase(),
            };
            let (looks, old) = (fate.sent.is_some(), !fate.is_affected());
            format!("{what} looks={looks} old={old}")
        };
        for (before, after, held, expected) in [
            (None, "blue", false, "created looks=true old=false"),
            (None, "blue", true, "held 0 looks=false old=false"),
            (
                Some(("blue", false)),
                "blue",
                false,
                "stays looks=false old=true",
            ),
            (
                Some(("blue", false)),
                "red",
                false,
                "changed 1 looks=false old=false",
            ),
            (
                Some(("blue", false)),
                "red",
                true,
                "held 1 looks=false old=false",
            ),
            (
                Some(("blue", false)),
                "blue",
                true,
                "held 0 looks=false old=false",
            ),
            (
                Some(("blue", true)),
                "blue",
                true,
                "stays looks=false old=true",
            ),
            (
                Some(("blue", true)),
                "red",
                true,
                "held 1 looks=false old=false",
            ),
            (
                Some(("blue", true)),
                "blue",
                false,
                "changed 0 looks=true old=false",
            ),
        ] {
            let existing = before.map(|(colour, held)| work(colour, held, false));
            let fate = compare(existing.as_ref(), &work(after, held, false), held);
            assert_eq!(told(&fate), expected, "{before:?} -> {after} held={held}");
        }
        assert_eq!(withdrawn(&work("blue", true, false)).what, What::Deleted);
        assert_eq!(withdrawn(&work("blue", false, true)).what, What::LetGo);
    }
}
