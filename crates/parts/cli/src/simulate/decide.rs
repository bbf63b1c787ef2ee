//! From two pictures to what differs, template by template and cluster by cluster.

use std::collections::BTreeMap;

use api::cluster::Cluster;
use api::kubernetes::scheduling::Taint;
use api::policy::ClusterTaintPolicy;
use api::well_known::annotations::APPLIED_PLACEMENT;
use api::well_known::conditions::binding::SCHEDULED;
use api::well_known::conditions::cluster::READY;
use api::well_known::feature_gates::Gate;
use binding::terms;
use failover::taint_policy::{self, Marked};
use object::condition::{Condition, ConditionStatus};
use object::time::Time;
use object::{Object, ObjectMeta};
use policy::exemption::Exemption;
use schedule::assume::{Assumptions, View};
use schedule::cluster::Snapshot;
use schedule::trigger::{Applied, needs_cycle};

use super::along::{self, Along};
use super::claims::{self, Claims, Settled, Standing};
use super::fate::{Fate, Simulated};
use super::groups::Groups;
use super::ties::{self, Ties};
use super::works::{Bound, Scene, in_clusters};
use super::{Template, spaces};
use crate::picture::{HELD_BACK, Picture, Placed, is_namespace, speaks_of};

/// What drives out what a cluster has.
const NO_EXECUTE: &str = "NoExecute";
/// What puts taints on clusters.
const TAINT_POLICY: &str = "ClusterTaintPolicy";
/// What is said of a template that a lazy policy holds, and leaves as it is.
const LAZY: &str =
    "its policy is lazy (activationPreference: Lazy), and acts when the template changes next";
/// How the groups of the control plane's own kinds end.
const OWN: &str = "karmada.io";

/// What has been decided so far about others, and what decisions look at.
struct Course {
    clusters: Snapshot,
    assumptions: Assumptions,
    groups: Groups,
    along: Along,
    ties: Ties,
    now: Time,
}

/// A template that has been placed, and its binding as it would be but for those that bring the template along.
struct Then<'a> {
    template: &'a Template,
    /// As the binding would name it.
    object: &'a Object,
    existing: Option<Placed>,
    placed: Placed,
    is_spoken_of: bool,
    policy_preserved: bool,
    policy_preserves: bool,
}

/// Decides about every template.
pub(super) fn decide(scene: Scene<'_>, now: Time) -> Simulated {
    let Scene {
        after, templates, ..
    } = scene;
    let mut course = Course {
        clusters: after.snapshot(),
        assumptions: Assumptions::default(),
        groups: Groups::of(templates.bindings.values()),
        along: Along::default(),
        ties: Ties::default(),
        now,
    };
    let (mut fates, mut held, mut followers) = (Vec::new(), Vec::new(), Vec::new());
    for template in templates.all() {
        if only_follows(scene, template) {
            followers.push(template);
            continue;
        }
        match fate(scene, template, &mut course) {
            Some((fate, Some(then))) => held.push((fate, then)),
            Some((fate, None)) => fates.push(fate),
            None => {}
        }
    }
    // Where those go that come along is known when everybody else has been placed; and a template that has a policy of its
    // own may come along with others all the same.
    for (fate, then) in held {
        fates.push(then.with_others(scene, &course.along, fate));
    }
    for template in followers {
        fates.extend(match is_namespace(template.object.main()) {
            true => spaces::fate(scene, template),
            false => follow(scene, template, &course.along),
        });
    }
    fates.sort_by_key(|fate| (fate.kind.clone(), fate.namespace.clone(), fate.name.clone()));
    let mut doubts = doubts(scene, now);
    doubts.extend(course.ties.told());
    Simulated {
        templates: fates,
        lost: scene.lost.to_vec(),
        doubts,
    }
}

/// What may be otherwise than is told.
fn doubts(scene: Scene<'_>, now: Time) -> Vec<String> {
    let Scene { before, after, .. } = scene;
    let mut doubts = after.settings.doubts.clone();
    doubts.extend(unmoved(scene, now).map(|why| {
        format!("this is what letting it go for good does; nothing moves away from a cluster that only cannot be reached, {why}")
    }));
    let drives_out = |cluster: &&String| {
        let count = |picture: &Picture| {
            let taints = picture.clusters.get(*cluster);
            let taints = taints.into_iter().flat_map(|known| &known.spec.taints);
            taints.filter(|taint| taint.effect == NO_EXECUTE).count()
        };
        count(after) > count(before)
    };
    let emptied: Vec<&str> = after
        .clusters
        .keys()
        .filter(drives_out)
        .map(String::as_str)
        .collect();
    if !emptied.is_empty() {
        doubts.push(format!(
            "what a {NO_EXECUTE} taint drives out of {} later is not foretold; --lose shows where it would go",
            emptied.join(", ")
        ));
    }
    doubts
}

/// Why nothing moves away from a cluster when it cannot be reached; `None` if it does, or none is lost.
fn unmoved(scene: Scene<'_>, now: Time) -> Option<String> {
    let settings = &scene.after.settings;
    if scene.lost.is_empty() {
        return None;
    }
    if !settings.gates.is_enabled(Gate::Failover) {
        return Some("as the feature gate Failover is off".to_owned());
    }
    if !settings.evicts {
        let why = format!("as {NO_EXECUTE} taints drive nothing out there");
        return Some(format!("{why} (--enable-no-execute-taint-eviction)"));
    }
    let supposed = scene.templates.all().map(|template| template.object.main());
    let supposed = supposed.filter(|object| object.kind() == TAINT_POLICY);
    let known = scene.templates.taint_policies.iter();
    let named: BTreeMap<&str, &Object> = known
        .chain(supposed)
        .map(|policy| (policy.name(), policy))
        .collect();
    let policies: Vec<ClusterTaintPolicy> = named
        .values()
        .filter_map(|policy| api::read::read(policy).ok())
        .collect();
    let is_left = |name: &&String| {
        let cluster = scene.before.clusters.get(*name);
        !cluster.is_some_and(|cluster| is_driven_out(cluster, &policies, now))
    };
    let left: Vec<&str> = scene
        .lost
        .iter()
        .filter(is_left)
        .map(String::as_str)
        .collect();
    (!left.is_empty()).then(|| {
        let names = left.join(", ");
        format!("until somebody taints it with {NO_EXECUTE}: no {TAINT_POLICY} would taint {names}")
    })
}

/// Whether policies put a taint on a cluster that drives out what it has, once it is known not to be well.
fn is_driven_out(cluster: &Cluster, policies: &[ClusterTaintPolicy], now: Time) -> bool {
    let is_driving = |taint: &Taint| taint.effect == NO_EXECUTE;
    let would = |status: ConditionStatus| {
        let known = cluster.status.conditions.iter();
        let mut conditions: Vec<Condition> = known
            .filter(|known| known.r#type != READY)
            .cloned()
            .collect();
        conditions.push(Condition::new(READY, status, "", ""));
        let marked = Marked {
            traits: cluster,
            conditions: &conditions,
            taints: &cluster.spec.taints,
        };
        let next = taint_policy::taints(marked, policies, now);
        next.is_some_and(|next| next.iter().any(is_driving))
    };
    let has_one = cluster.spec.taints.iter().any(is_driving);
    has_one || would(ConditionStatus::False) || would(ConditionStatus::Unknown)
}

/// Whether nobody claims a template: it goes where others need it, if anywhere.
fn only_follows(scene: Scene<'_>, template: &Template) -> bool {
    let binding = scene.templates.binding_of(template.object.main());
    let existing = binding.and_then(|binding| Placed::read(binding).ok());
    let is_free = scene.claims.of(template).is_none_or(Settled::is_free);
    is_free && existing.is_none_or(|placed| !placed.spec.required_by.is_empty())
}

/// A template as its binding names it, or would.
fn form<'t>(scene: Scene<'_>, template: &'t Template) -> &'t Object {
    let settled = scene.claims.of(template);
    settled.map_or(template.object.main(), |settled| settled.form(template))
}

/// What would become of a template that comes along with others.
fn follow(scene: Scene<'_>, template: &Template, along: &Along) -> Option<Fate> {
    let object = form(scene, template);
    let binding = scene.templates.binding_of(object);
    let existing = binding.and_then(|binding| Placed::read(binding).ok());
    let needs = along.needs_of(object);
    if existing.is_none() && needs.is_empty() {
        return unselected(scene.claims, template);
    }
    let spec = along::spec(object, existing.as_ref().map(|placed| &placed.spec), &needs);
    let placed = with_spec(existing.clone(), object, spec);
    let bound = Bound {
        template,
        object,
        existing: existing.as_ref(),
        placed: &placed,
        is_spoken_of: true,
        // Nobody claims it.
        policy_preserved: false,
        policy_preserves: false,
    };
    Some(Fate {
        with: needs.iter().map(|need| need.by.clone()).collect(),
        clusters: in_clusters(scene, bound),
        ..template.fate()
    })
}

/// What is said of a supposed template that goes nowhere, because nobody sends it.
fn unselected(claims: &Claims, template: &Template) -> Option<Fate> {
    if !template.is_supposed {
        return None;
    }
    let remark = match claims.of(template).map(|settled| &settled.standing) {
        Some(Standing::Exempt(Exemption::Kind(kind))) if kind.group.ends_with(OWN) => {
            "is for the control plane itself; what it brings about is not foretold".to_owned()
        }
        Some(Standing::Exempt(exemption)) => format!("goes to no cluster: {exemption}"),
        _ => "goes to no cluster: no policy selects it".to_owned(),
    };
    let mut fate = template.fate();
    fate.remarks.push(remark);
    Some(fate)
}

/// What is known of a template once it has been placed, with where; nothing of one that nobody sends anywhere.
fn fate<'a>(
    scene: Scene<'_>,
    template: &'a Template,
    course: &mut Course,
) -> Option<(Fate, Option<Then<'a>>)> {
    let Scene {
        before,
        after,
        templates,
        claims,
        lost,
    } = scene;
    let settled = claims.of(template)?;
    let object = settled.form(template);
    let binding = templates.binding_of(object);
    let existing = binding.and_then(|binding| Placed::read(binding).ok());
    if settled.is_free() && existing.is_none() {
        return None;
    }
    let was = template.former().unwrap_or(&template.object);
    let was = claims::settle(before, templates, was);
    let (policy, was_of) = (settled.holder(), was.holder());
    let mut fate = Fate {
        was_of: was_of.filter(|was| existing.is_some() && Some(was) != policy.as_ref()),
        policy,
        ..template.fate()
    };
    fate.remarks.extend(template.object.doubt(&settled.version));
    // A binding outlives the claim; its targets stay as they are until somebody else claims the template.
    let mut placed = existing.clone();
    let mut is_spoken_of = settled.is_spoken_of;
    if let Some((policy, applied_to)) = &settled.applied {
        let spec = existing.as_ref().map(|placed| &placed.spec);
        match after.terms(applied_to, policy, spec) {
            Ok(spec) => placed = Some(with_spec(existing.clone(), object, spec)),
            Err(why) => {
                is_spoken_of = binding.is_none_or(|binding| speaks_of(binding, object));
                fate.problem = Some(why);
                fate.is_old_problem = !template.is_supposed;
            }
        }
    }
    match &settled.standing {
        Standing::Awaiting(missing) => {
            let missing = missing.join(", ");
            fate.problem = Some(format!("waits for override policies: {missing}"));
            fate.is_old_problem = matches!(was.standing, Standing::Awaiting(_));
        }
        Standing::Held if settled.applied.is_none() && settled.is_news(&was) => {
            fate.remarks.push(LAZY.to_owned());
        }
        _ => {}
    }
    let Some(mut placed) = placed else {
        return Some((fate, None));
    };
    if !is_spoken_of && template.was.is_some() {
        fate.remarks.push(HELD_BACK.to_owned());
    }
    let lives_on_lost = placed
        .spec
        .clusters
        .iter()
        .any(|target| lost.contains(&target.name));
    placed
        .spec
        .clusters
        .retain(|target| !lost.contains(&target.name));
    match after.left_alone(&placed) {
        Some(why) => fate.remarks.push(why),
        None => {
            let at = At {
                binding,
                is_there: template.is_there,
                lives_on_lost,
            };
            if let Some(problem) = place(after, &mut placed, at, course) {
                fate.problem = Some(problem);
                fate.is_old_problem = existing.as_ref().is_some_and(is_unplaced);
            }
        }
    }
    if spaces::travels(scene, object) {
        let remark = "goes to clusters by itself too, as namespaces do";
        fate.remarks.push(remark.to_owned());
    }
    if !template.is_there {
        course.ties.note_completions(object, &placed);
    }
    course.groups.put(&placed);
    course.along.note(after, object, &placed);
    let then = Then {
        template,
        object,
        existing,
        placed,
        is_spoken_of,
        policy_preserved: was.preserves(),
        policy_preserves: settled.preserves(),
    };
    Some((fate, Some(then)))
}

impl Then<'_> {
    /// What becomes of the template in every cluster, its own and those of the templates that bring it along.
    fn with_others(mut self, scene: Scene<'_>, along: &Along, fate: Fate) -> Fate {
        let needs = along.needs_of(self.object);
        // Where nothing is brought along, nobody takes off either what stands on bindings from before.
        if scene.after.settings.gates.is_enabled(Gate::PropagateDeps) {
            self.placed.spec = along::spec(self.object, Some(&self.placed.spec), &needs);
        }
        let bound = Bound {
            template: self.template,
            object: self.object,
            existing: self.existing.as_ref(),
            placed: &self.placed,
            is_spoken_of: self.is_spoken_of,
            policy_preserved: self.policy_preserved,
            policy_preserves: self.policy_preserves,
        };
        Fate {
            with: needs.iter().map(|need| need.by.clone()).collect(),
            clusters: in_clusters(scene, bound),
            ..fate
        }
    }
}

/// Whether the scheduler has found no place for a binding.
fn is_unplaced(placed: &Placed) -> bool {
    let scheduled = object::condition::find(&placed.status.conditions, SCHEDULED);
    scheduled.is_some_and(|scheduled| scheduled.status == ConditionStatus::False)
}

/// The binding as it would be.
fn with_spec(
    existing: Option<Placed>,
    template: &Object,
    spec: api::work::v1alpha2::ResourceBindingSpec,
) -> Placed {
    match existing {
        Some(placed) => Placed { spec, ..placed },
        None => {
            let key = terms::key(template);
            Placed {
                metadata: ObjectMeta::namespaced(key.namespace, key.name),
                spec,
                status: Default::default(),
            }
        }
    }
}

/// How things are with a template that is to be placed.
struct At<'a> {
    binding: Option<&'a Object>,
    is_there: bool,
    lives_on_lost: bool,
}

/// Lets the scheduler decide if it would; gives the problem if it finds no place.
fn place(after: &Picture, placed: &mut Placed, at: At<'_>, course: &mut Course) -> Option<String> {
    let At {
        binding,
        is_there,
        lives_on_lost,
    } = at;
    let (settings, now) = (&after.settings, course.now);
    let applied = binding.and_then(|binding| binding.annotation(APPLIED_PLACEMENT));
    let applied = applied.map(serde_json::from_str::<object::Value>);
    let applied = applied.map(|value| {
        let value = value.ok()?;
        object::parse::shape::<api::policy::Placement, _>(&value).ok()
    });
    let applied = match &applied {
        None => Applied::Absent,
        Some(None) => Applied::Unreadable,
        Some(Some(placement)) => Applied::Placement(placement),
    };
    let (view, clusters) = (placed.view(), &course.clusters);
    let is_wanted = needs_cycle(&view, applied, clusters, settings.options).is_some();
    if !is_wanted && !lives_on_lost {
        return None;
    }
    // What one takes, those that come after it do not find free, if the scheduler heeds that.
    let is_guarded = settings
        .gates
        .is_enabled(Gate::SchedulingOvercommitProtection)
        && !placed.metadata.namespace.is_empty();
    let taken = match is_guarded {
        true => course.assumptions.view(now),
        false => View::default(),
    };
    let peers = course.groups.peers_of(placed);
    let decide =
        |placed: &Placed| after.schedule(placed, &course.clusters, &taken.by_cluster, &peers);
    let decision = decide(placed)?;
    if !is_there && let Some(other) = decide(&ties::with_other_uid(placed)) {
        course.ties.note_replicas(placed, &decision, &other);
    }
    if let Some(targets) = decision.targets_to_write() {
        let key = placed.view().key().to_string();
        if is_guarded {
            let promised = &mut course.assumptions;
            let _ = promised.promise(&taken, &key, &placed.spec, targets, now);
        }
        placed.spec.clusters = targets.iter().map(schedule::Target::to_api).collect();
        if !decision.only_lets_go() {
            note_placement(placed);
        }
    }
    let refusal = decision.refusal()?;
    Some(format!("{}: {refusal}", refusal.reason()))
}

/// Notes on a binding that its targets are those of its placement.
fn note_placement(placed: &mut Placed) {
    let placement = placed.spec.placement.as_ref();
    if let Some(text) = placement.and_then(|placement| serde_json::to_string(placement).ok()) {
        let notes = &mut placed.metadata.annotations;
        notes.insert(APPLIED_PLACEMENT.to_owned(), text);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_policy_that_taints_what_is_not_well_drives_anything_out() {
        let cluster = json!({
            "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "east"}, "spec": {"syncMode": "Push"},
            "status": {"conditions": [{"type": "Ready", "status": "True", "reason": "ClusterReady", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]},
        });
        let cluster: Cluster = api::read::read(&Object::from_value(cluster).unwrap()).unwrap();
        let policy = |target: &str, effect: &str, status: &str| {
            let policy = json!({
                "apiVersion": "policy.karmada.io/v1alpha1", "kind": TAINT_POLICY, "metadata": {"name": "p"},
                "spec": {
                    "targetClusters": {"clusterNames": [target]}, "taints": [{"key": "away", "effect": effect}],
                    "addOnConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": [status]}],
                },
            });
            api::read::read::<ClusterTaintPolicy>(&Object::from_value(policy).unwrap()).unwrap()
        };
        for (policies, expected) in [
            (vec![], false),
            (vec![policy("east", NO_EXECUTE, "False")], true),
            (vec![policy("east", NO_EXECUTE, "Unknown")], true),
            (vec![policy("east", NO_EXECUTE, "True")], false),
            (vec![policy("east", "NoSchedule", "False")], false),
            (vec![policy("west", NO_EXECUTE, "False")], false),
        ] {
            let now = Time::from_unix_seconds(0);
            assert_eq!(
                is_driven_out(&cluster, &policies, now),
                expected,
                "{policies:?}"
            );
        }
    }
}
