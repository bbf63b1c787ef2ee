//! What a template's clusters would be sent, against the works there are.

use std::collections::{BTreeMap, BTreeSet};

use api::names::{cluster_of_execution_space, work_name};
use api::well_known::annotations::CONFLICT_RESOLUTION;
use api::well_known::conditions::work::APPLIED;
use api::well_known::labels::{RETAIN_REPLICAS, TRUE, permanent_id};
use binding::work::{PRESERVES, holds_back, is_held_back, is_preserved};
use binding::{Draft, targets};
use interpret::{Interpreter, KindRef, Operation};
use object::{Object, Value};
use schedule::trigger::awaits_decision;

use super::claims::Claims;
use super::fate::{ClusterFate, Look, What};
use super::{Template, Templates, change, spaces};
use crate::picture::{Picture, Placed, Share, completions, is_namespace, version_of};

/// The control plane as it is and as it would be, for one look at all templates.
#[derive(Clone, Copy)]
pub(super) struct Scene<'a> {
    pub(super) before: &'a Picture,
    pub(super) after: &'a Picture,
    pub(super) templates: &'a Templates,
    /// Whose templates would be.
    pub(super) claims: &'a Claims,
    /// The clusters that are supposed to be lost.
    pub(super) lost: &'a [String],
}

/// The works of an object, by cluster.
pub(super) fn works_of<'t>(
    templates: &'t Templates,
    object: &Object,
) -> BTreeMap<&'t str, &'t Object> {
    let name = work_name(object.kind(), object.name(), object.namespace());
    let works = templates.works.get(&name).into_iter().flatten();
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

/// A template, and its binding as it is and as it would be.
#[derive(Clone, Copy)]
pub(super) struct Bound<'a> {
    pub(super) template: &'a Template,
    /// The template in the version that the binding would name.
    pub(super) object: &'a Object,
    /// The binding as it is, if there is one.
    pub(super) existing: Option<&'a Placed>,
    /// The binding as it would be.
    pub(super) placed: &'a Placed,
    /// Whether the binding would be about the template as it would be, and not as it was before its author's last change.
    pub(super) is_spoken_of: bool,
    /// Whether the policy that holds the binding now wants what it leaves to stay.
    pub(super) policy_preserved: bool,
    /// Whether the one that would hold it wants that.
    pub(super) policy_preserves: bool,
}

/// What would become of a template in every cluster that has it or would.
pub(super) fn in_clusters(scene: Scene<'_>, bound: Bound<'_>) -> Vec<ClusterFate> {
    let Bound {
        template,
        object,
        placed,
        ..
    } = bound;
    let gets: BTreeMap<&str, i32> = targets::targets(&placed.spec)
        .into_iter()
        .map(|target| (target.name.as_str(), target.replicas))
        .collect();
    let works = works_of(scene.templates, object);
    let binding = scene.templates.binding_of(object);
    let mut names: BTreeSet<&str> = gets.keys().copied().collect();
    let owned: BTreeMap<&str, &Object> = works
        .iter()
        .filter(|(_, work)| is_of(work, binding))
        .map(|(cluster, work)| (*cluster, *work))
        .collect();
    names.extend(owned.keys());
    let had = bound.existing.map(|placed| targets::targets(&placed.spec));
    let had = had.into_iter().flatten();
    names.extend(had.map(|target| target.name.as_str()));
    // A namespace goes to the other clusters by itself, whoever claims it.
    let travels = spaces::travels(scene, object);
    if travels {
        names.extend(scene.after.clusters.keys().map(String::as_str));
    }
    let is_workload = placed.spec.is_workload();
    let owned = owned.into_values();
    let completions = completions(object, &placed.spec, owned);
    let stays: BTreeSet<&str> = targets::expected(&placed.spec);
    let one = |cluster: &str| {
        let replicas = |count: Option<i32>| count.filter(|_| is_workload);
        let work = works.get(cluster).copied();
        let has_it = work.filter(|work| !has_waited(work));
        let before = has_it.and_then(|work| {
            let sent = Object::from_value(manifest_of(work)).ok()?;
            count(&scene.before.interpreter, &sent).or_else(|| bound.had(cluster))
        });
        let before = replicas(before);
        let fate = if scene.lost.iter().any(|lost| lost == cluster) {
            lost(work)
        } else if let Some(count) = gets.get(cluster).copied() {
            let share = Share {
                replicas: replicas(Some(count)),
                completions: completions.get(cluster).copied(),
            };
            let own = work.filter(|work| is_of(work, binding));
            write(scene, bound, (cluster, share), (work, own.is_some()))
        } else if stays.contains(cluster) {
            ClusterFate {
                after: before,
                is_old: work.is_none(),
                ..what(work.map_or(What::Absent, |_| What::Stays))
            }
        } else if travels && !work.is_some_and(|work| is_of(work, binding)) {
            spaces::in_cluster(scene, template, cluster, work)
        } else if travels {
            // Its work goes and comes again by itself, and meanwhile the namespace stays.
            ClusterFate {
                after: before,
                ..what(What::Stays)
            }
        } else {
            work.map_or_else(|| what(What::Absent), |work| bound.leave(cluster, work))
        };
        // What does not come about leaves the cluster with what it has, and so does what only nobody looks after.
        let keeps = matches!(fate.what, What::Held(_) | What::Refused(_) | What::LetGo);
        ClusterFate {
            cluster: cluster.to_owned(),
            before,
            after: if keeps { before } else { fate.after },
            ..fate
        }
    };
    names.into_iter().map(one).collect()
}

impl Bound<'_> {
    /// The replicas that the binding gives a cluster now.
    fn had(&self, cluster: &str) -> Option<i32> {
        let targets = targets::targets(&self.existing?.spec);
        let mut found = targets.iter().filter(|target| target.name == cluster);
        found.next().map(|target| target.replicas)
    }

    /// What becomes of a template in a cluster that its binding leaves.
    ///
    /// A work is told right before it goes whether its copy stays, by what its binding and the policy that holds it say by
    /// then. One that is left already has been told by what they say now, and one that is ending is told nothing more.
    fn leave(&self, cluster: &str, work: &Object) -> ClusterFate {
        let existing = self.existing.map(|placed| &placed.spec);
        let left = existing.filter(|spec| !targets::expected(spec).contains(cluster));
        let is_kept = match (work.is_terminating(), left) {
            (true, _) => work.at(&PRESERVES) == Some(&Value::Bool(true)),
            (false, Some(spec)) => is_preserved(spec, work, self.policy_preserved),
            (false, None) => is_preserved(&self.placed.spec, work, self.policy_preserves),
        };
        // A namespace goes only when it is deleted where it was made: too much is in it that is not ours.
        let object = self.object;
        let is_kept = is_kept || (is_namespace(object) && !object.is_terminating());
        let is_leaving = work.is_terminating() || left.is_some();
        ClusterFate {
            note: is_leaving.then(|| "on its way already".to_owned()),
            is_old: is_leaving,
            ..withdrawn(work, is_kept)
        }
    }
}

fn what(what: What) -> ClusterFate {
    ClusterFate {
        what,
        ..ClusterFate::default()
    }
}

/// How many replicas an object asks for; `None` if its kind has no rules for that.
fn count(interpreter: &Interpreter, object: &Object) -> Option<i32> {
    let is_known = interpreter.covers(KindRef::of(object), Operation::InterpretReplica);
    let found = is_known.then(|| interpreter.replicas(object).ok());
    found.flatten().map(|found| found.replicas)
}

/// Whether a work is one of a binding's; others of the name stay when the binding leaves their cluster.
fn is_of(work: &Object, binding: Option<&Object>) -> bool {
    let shares = |label: &str| {
        let id = binding.and_then(|binding| binding.label(label));
        id.is_some() && work.label(label) == id
    };
    shares(permanent_id::RESOURCE_BINDING) || shares(permanent_id::CLUSTER_RESOURCE_BINDING)
}

/// What a work says of whether its cluster has it: `None` if nobody ever tried.
fn applied(work: &Object) -> Option<&Value> {
    let conditions = work.at(&["status", "conditions"]).and_then(Value::as_array);
    let mut conditions = conditions.into_iter().flatten();
    let found = conditions.find(|condition| condition["type"] == APPLIED)?;
    Some(&found["status"])
}

/// Whether the cluster is known to have what a work says, and from here.
fn has_arrived(work: &Object) -> bool {
    applied(work).is_some_and(|status| status == "True")
}

/// Whether a work has been held back ever since it was made, so that its cluster has nothing of it.
fn has_waited(work: &Object) -> bool {
    holds_back(work) && applied(work).is_none()
}

/// What becomes of an object in a cluster that is lost: what is not known to have come is asked for, as long as one can.
pub(super) fn lost(work: Option<&Object>) -> ClusterFate {
    match work.filter(|work| !has_waited(work)) {
        Some(work) => ClusterFate {
            what: What::Lost,
            ..withdrawn(work, false)
        },
        None => ClusterFate {
            is_old: true,
            ..what(What::Absent)
        },
    }
}

/// What becomes of an object whose work goes. Deletion is never held back; but what never arrived cannot be deleted, and
/// what stood in its way is not.
fn withdrawn(work: &Object, is_kept: bool) -> ClusterFate {
    let object = Object::from_value(manifest_of(work)).ok();
    let look = object.filter(|_| !has_arrived(work)).map(|object| {
        let work = (work.namespace().to_owned(), work.name().to_owned());
        Look::Withdrawn { object, work }
    });
    ClusterFate {
        look,
        ..what(match is_kept {
            true => What::LetGo,
            false => What::Deleted,
        })
    }
}

/// What a cluster would get, against what it was sent before by the work there is, which may be the binding's own.
fn write(
    scene: Scene<'_>,
    bound: Bound<'_>,
    (cluster, share): (&str, Share),
    (work, is_own): (Option<&Object>, bool),
) -> ClusterFate {
    let (object, placed) = (bound.object, bound.placed);
    let rules = &scene.after.interpreter;
    let ending = work.filter(|work| work.is_terminating());
    let held = work.filter(|_| is_own && ending.is_none() && !bound.is_spoken_of);
    let rendering = scene.after.render(object, share, cluster);
    let (rendered, applied_overrides) = match rendering.result {
        Ok(rendered) => rendered,
        // What cannot be rendered replaces nothing.
        Err(_) if held.is_some() => return kept(rules, held, share),
        Err(why) => {
            // A rule that fails today already is no news.
            let former = bound.template.former().map(|former| {
                let former = former.in_version(version_of(object));
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
    let after = share
        .replicas
        .map(|share| count(rules, &rendered).unwrap_or(share));
    let awaits_decision = awaits_decision(&placed.view());
    let is_held = |work| is_held_back(&placed.spec, cluster, work, awaits_decision);
    let draft = binding::draft(Draft {
        binding: placed.view(),
        template: object,
        cluster,
        rendered,
        share: share.completions,
        applied_overrides,
        inherited_labels: None,
        awaits_decision,
        existing: work.filter(|_| ending.is_none()),
    });
    let is_revised =
        share.replicas.is_some() && rules.covers(KindRef::of(object), Operation::ReviseReplica);
    if held.is_some_and(|held| binding::work::is_kept(held, draft.as_ref().ok(), is_revised)) {
        return kept(rules, held, share);
    }
    let fate = match draft {
        Ok(draft) if ending.is_some() => ClusterFate {
            note: Some("once what is being deleted there is gone".to_owned()),
            is_old: bound.had(cluster).is_some(),
            ..compare(None, &draft, (is_held(None), false))
        },
        Ok(draft) => {
            let keeps = keeps_fields(rules, object);
            compare(work, &draft, (is_held(work), keeps))
        }
        Err(error) => what(What::Refused(error.to_string())),
    };
    let is_there = fate.what != What::Absent;
    ClusterFate {
        after: after.filter(|_| is_there),
        overridden: change::overridden(object, &rendering.steps),
        ..fate
    }
}

/// A cluster that keeps what it was sent.
fn kept(rules: &Interpreter, held: Option<&Object>, share: Share) -> ClusterFate {
    let sent = held.and_then(|work| Object::from_value(manifest_of(work)).ok());
    let sent = sent.and_then(|sent| count(rules, &sent));
    ClusterFate {
        after: share.replicas.and(sent.or(share.replicas)),
        ..what(What::Stays)
    }
}

/// Whether members keep fields of such an object as they have them, whatever they are sent. Of a Deployment they keep
/// nothing unless its author asks for it.
fn keeps_fields(interpreter: &Interpreter, object: &Object) -> bool {
    let is_kept = interpreter.covers(KindRef::of(object), Operation::Retain);
    let is_asked = object.label(RETAIN_REPLICAS) == Some(TRUE);
    is_kept && (object.kind() != "Deployment" || is_asked)
}

/// A work as it would be against the one there is. `is_held` says whether its dispatching would be suspended, `keeps`
/// whether members keep fields of such objects.
fn compare(work: Option<&Object>, draft: &Object, (is_held, keeps): (bool, bool)) -> ClusterFate {
    let was_held = work.is_some_and(holds_back);
    let sent = manifest_of(draft);
    let lines = work.map_or_else(Vec::new, |work| change::lines(&manifest_of(work), &sent));
    match (was_held, is_held) {
        (true, true) if lines.is_empty() => ClusterFate {
            note: Some("its dispatching is suspended".to_owned()),
            is_old: true,
            ..what(match work.is_some_and(has_waited) {
                true => What::Absent,
                false => What::Stays,
            })
        },
        (_, true) => what(What::Held(lines)),
        // What waited may never have reached the cluster: only the cluster knows what it has.
        (true, false) => ClusterFate {
            note: Some("its dispatching goes on".to_owned()),
            sent: Object::from_value(sent.clone()).ok(),
            look: look(work, sent),
            ..what(What::Changed(lines))
        },
        (false, false) => send(work, sent, keeps),
    }
}

/// What comes of sending a cluster something, after what it was sent before. `keeps` says whether members keep fields of
/// such objects.
pub(super) fn send(work: Option<&Object>, sent: Value, keeps: bool) -> ClusterFate {
    let object = Object::from_value(sent.clone()).ok();
    let Some(known) = work else {
        return ClusterFate {
            look: look(None, sent),
            sent: object,
            ..what(What::Created)
        };
    };
    let before = manifest_of(known);
    let lines = change::lines(&before, &sent);
    let is_same = lines.is_empty();
    let what = ClusterFate {
        sent: object,
        ..what(match is_same {
            true => What::Stays,
            false => What::Changed(lines),
        })
    };
    if has_arrived(known) && (is_same || !keeps) {
        return what;
    }
    // What stands in the way today is no news, unless it is treated otherwise.
    ClusterFate {
        is_old: is_same && conflict_resolution(&before) == conflict_resolution(&sent),
        look: look(work, sent),
        ..what
    }
}

fn look(work: Option<&Object>, sent: Value) -> Option<Look> {
    let object = Object::from_value(sent).ok()?;
    let before = work.map(manifest_of);
    Some(Look::Sent { object, before })
}

fn conflict_resolution(manifest: &Value) -> &Value {
    &manifest["metadata"]["annotations"][CONFLICT_RESOLUTION]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::picture::Forms;

    #[test]
    fn suspended_dispatching_holds_changes_back_but_not_the_end() {
        let work = |colour: &str, held: bool, kept: bool| {
            Object::from_value(json!({
                "metadata": {"name": "w", "namespace": "karmada-es-east"},
                "spec": {
                    "suspendDispatching": held, "preserveResourcesOnDeletion": kept,
                    "workload": {"manifests": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"colour": colour}}]},
                },
                "status": {"conditions": [{"type": "Applied", "status": "True"}]},
            }))
            .unwrap()
        };
        let told = |fate: &ClusterFate| {
            let what = match &fate.what {
                What::Changed(lines) => format!("changed {}", lines.len()),
                What::Held(lines) => format!("held {}", lines.len()),
                other => format!("{other:?}").to_lowercase(),
            };
            let (looks, old) = (fate.look.is_some(), !fate.is_affected());
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
            let draft = work(after, held, false);
            let fate = compare(existing.as_ref(), &draft, (held, false));
            assert_eq!(told(&fate), expected, "{before:?} -> {after} held={held}");
        }
        for (is_kept, expected) in [(false, What::Deleted), (true, What::LetGo)] {
            let fate = withdrawn(&work("blue", true, false), is_kept);
            assert_eq!(fate.what, expected);
        }
        // What has waited from the start is not there.
        let mut waiting = work("blue", true, false);
        waiting.remove(&["status"]);
        let fate = compare(Some(&waiting), &work("blue", true, false), (true, false));
        assert_eq!(told(&fate), "absent looks=false old=true");
        assert_eq!(told(&lost(Some(&waiting))), "absent looks=false old=true");
        assert_eq!(told(&lost(None)), "absent looks=false old=true");
    }

    #[test]
    fn what_is_not_known_to_have_arrived_is_asked_for() {
        let work = |colour: &str, how: &str, applied: &str| {
            Object::from_value(json!({
                "metadata": {"name": "w", "namespace": "karmada-es-east"},
                "spec": {"workload": {"manifests": [{
                    "apiVersion": "v1", "kind": "ConfigMap",
                    "metadata": {"name": "a", "annotations": {"work.karmada.io/conflict-resolution": how}},
                    "data": {"colour": colour},
                }]}},
                "status": {"conditions": [{"type": "Applied", "status": applied}]},
            }))
            .unwrap()
        };
        let (abort, overwrite) = ("abort", "overwrite");
        for (before, after, expected) in [
            // (looks, is old)
            (("blue", abort, "True"), ("blue", abort), (false, false)),
            (("blue", abort, "True"), ("red", abort), (false, false)),
            (("blue", abort, "True"), ("blue", overwrite), (false, false)),
            (("blue", abort, "False"), ("blue", abort), (true, true)),
            (("blue", abort, "False"), ("red", abort), (true, false)),
            (("blue", abort, "False"), ("blue", overwrite), (true, false)),
            (("blue", abort, "Unknown"), ("blue", abort), (true, true)),
        ] {
            let existing = work(before.0, before.1, before.2);
            let fate = compare(Some(&existing), &work(after.0, after.1, ""), (false, false));
            let found = (fate.look.is_some(), fate.is_old);
            assert_eq!(found, expected, "{before:?} -> {after:?}");
        }
        // What arrived is asked for where the cluster may keep what it has.
        for (after, looks) in [("blue", false), ("red", true)] {
            let existing = work("blue", abort, "True");
            let fate = compare(Some(&existing), &work(after, abort, ""), (false, true));
            assert_eq!(
                (fate.look.is_some(), fate.is_old),
                (looks, false),
                "{after}"
            );
        }
        for (applied, looks) in [("True", false), ("False", true)] {
            let fate = withdrawn(&work("blue", abort, applied), false);
            assert_eq!((fate.what, fate.look.is_some()), (What::Deleted, looks));
            let fate = lost(Some(&work("blue", abort, applied)));
            assert_eq!((fate.what, fate.look.is_some()), (What::Lost, looks));
        }
    }

    #[test]
    fn works_are_known_by_the_binding_that_made_them() {
        let labelled = |label: &str, id: &str| {
            Object::from_value(json!({"metadata": {"name": "x", "labels": {label: id}}})).unwrap()
        };
        let (cluster, other) = (
            permanent_id::CLUSTER_RESOURCE_BINDING,
            permanent_id::RESOURCE_BINDING,
        );
        for (work, binding, expected) in [
            (labelled(cluster, "1"), Some(labelled(cluster, "1")), true),
            (labelled(cluster, "1"), Some(labelled(cluster, "2")), false),
            (labelled(other, "1"), Some(labelled(cluster, "1")), false),
            (labelled("a", "1"), Some(labelled("a", "1")), false),
            (labelled(cluster, "1"), None, false),
        ] {
            assert_eq!(is_of(&work, binding.as_ref()), expected);
        }
    }

    /// A binding that a policy placed in clusters, and that says whether what it leaves stays.
    fn placed(clusters: &[&str], preserves: bool) -> Placed {
        let clusters = clusters
            .iter()
            .map(|name| json!({"name": name, "replicas": 1}));
        let binding = json!({
            "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
            "metadata": {"name": "a-configmap", "namespace": "n"},
            "spec": {
                "resource": {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "namespace": "n"},
                "clusters": clusters.collect::<Vec<Value>>(), "preserveResourcesOnDeletion": preserves,
                "placement": {},
            },
        });
        Placed::read(&Object::from_value(binding).unwrap()).unwrap()
    }

    #[test]
    fn what_is_left_goes_as_the_policy_says_then_unless_it_goes_already() {
        let object = json!({"metadata": {"name": "a", "namespace": "n"}});
        let template = Template {
            object: Forms::new(Object::from_value(object).unwrap()),
            is_there: true,
            is_supposed: false,
            was: None,
        };
        let work = |preserves: bool, metadata: Value| {
            let mut work = json!({
                "metadata": {"name": "w", "namespace": "karmada-es-east"},
                "spec": {"preserveResourcesOnDeletion": preserves},
            });
            work["metadata"]["deletionTimestamp"] = metadata;
            Object::from_value(work).unwrap()
        };
        let (live, ending) = (Value::Null, json!("2026-01-01T00:00:00Z"));
        let (both, west) = (&["east", "west"][..], &["west"][..]);
        for (had, was, says, ends, expected) in [
            (both, true, false, &live, (What::Deleted, false)),
            (both, false, true, &live, (What::LetGo, false)),
            // What is left already goes as was said then.
            (west, true, false, &live, (What::LetGo, true)),
            (west, false, true, &live, (What::Deleted, true)),
            (west, false, true, &ending, (What::Deleted, true)),
            (both, false, true, &ending, (What::Deleted, true)),
        ] {
            let bound = Bound {
                template: &template,
                object: template.object.main(),
                existing: Some(&placed(had, was)),
                placed: &placed(west, says),
                is_spoken_of: true,
                policy_preserved: false,
                policy_preserves: false,
            };
            let fate = bound.leave("east", &work(was, ends.clone()));
            assert_eq!(
                (fate.what, fate.is_old),
                expected,
                "{had:?} {was} {says} {ends}"
            );
        }
        // A policy that the binding does not follow yet keeps things; and so does what brought the template along.
        for (policy, is_placed, told, expected) in [
            (true, true, false, What::LetGo),
            (false, true, true, What::Deleted),
            (false, false, true, What::LetGo),
            (false, false, false, What::Deleted),
        ] {
            let mut then = placed(west, false);
            then.spec.placement = then.spec.placement.filter(|_| is_placed);
            let bound = Bound {
                template: &template,
                object: template.object.main(),
                existing: Some(&placed(both, false)),
                placed: &then,
                is_spoken_of: true,
                policy_preserved: false,
                policy_preserves: policy,
            };
            let fate = bound.leave("east", &work(told, live.clone()));
            assert_eq!(fate.what, expected, "{policy} {is_placed} {told}");
        }
    }
}
