//! Somebody in the member who undoes what works bring there, again and again.
//!
//! What is changed or deleted there by hand is brought back at once. Two writers that both do so, such as an autoscaler and a
//! template that states the replicas, or two control planes, would otherwise answer each other as fast as both can, for
//! ever. So after a few times an object is left alone for a while, longer each time, and its work says who the other is.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use object::{Map, Object, ObjectKey, Value};
use tokio::time::Instant;

use crate::apply::ownership::{MANAGER, added, author_of, last_author};
use crate::apply::record::{Place, place};

/// How many times an object is brought back at once: people try things out.
const TOLERATED: u32 = 5;
/// How long it is left alone then at first, and at most.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);
/// How long it has to stay as it was brought to be believed that nobody undoes it any more, where the pause is not shorter;
/// but twice as long as it stayed so the time before, as many who undo things look after them only now and then.
const CALM: Duration = Duration::from_secs(10);
/// How long a view may lack what was made.
const UNSEEN: Duration = Duration::from_secs(1);
/// When nobody has undone anything for so long, the next time is a first time. Longer than the longest pause, or a contest
/// would end by being waited for.
const FORGOTTEN: Duration = Duration::from_secs(300);

/// What `kubectl apply` notes.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What was brought back to one member lately. Empty after a restart: then a contest begins anew.
#[derive(Debug, Default)]
pub(crate) struct Contests {
    /// At most one for each object that was brought.
    contests: Mutex<HashMap<Place, Contest>>,
}

#[derive(Clone, Copy, Debug)]
struct Contest {
    times: u32,
    last: Instant,
    /// How long it stayed as it was brought, the time before.
    held: Duration,
    /// Whether it was undone since it was brought back last.
    is_undone: bool,
    /// What counts the member's changes, when it was brought back last.
    revision: u64,
}

impl Contest {
    fn pause(self) -> Duration {
        match self.times.checked_sub(TOLERATED + 1) {
            None => Duration::ZERO,
            Some(doublings) => FIRST.saturating_mul(1 << doublings.min(8)).min(LONGEST),
        }
    }

    /// How long after it was brought back it may still be undone.
    fn doubt(self) -> Duration {
        match self.pause() {
            Duration::ZERO => Duration::ZERO,
            pause => pause.min(CALM).max(self.held * 2).min(FORGOTTEN),
        }
    }

    /// How much is left of a span that began when it was brought back last.
    fn left(self, span: Duration, now: Instant) -> Option<Duration> {
        let left = (self.last + span).saturating_duration_since(now);
        (!left.is_zero()).then_some(left)
    }
}

impl Contests {
    /// Whether what a view shows of an object is from before it was brought back last, and so nothing that anybody did since.
    pub(crate) fn is_outdated(
        &self,
        manifest: &Object,
        seen: Option<&Object>,
        now: Instant,
    ) -> bool {
        let contests = self.lock();
        let Some(contest) = contests.get(&place(manifest)) else {
            return false;
        };
        match seen {
            Some(seen) => revision(seen).is_some_and(|seen| seen < contest.revision),
            None => now.saturating_duration_since(contest.last) < UNSEEN,
        }
    }

    /// Notes that an object was undone. How much longer it is to be left alone; `None` if it may be brought back.
    pub(crate) fn undone(&self, manifest: &Object, now: Instant) -> Option<Duration> {
        let mut contests = self.lock();
        let contest = contests.get_mut(&place(manifest))?;
        if !std::mem::replace(&mut contest.is_undone, true) {
            contest.held = now.saturating_duration_since(contest.last);
        }
        contest.left(contest.pause(), now)
    }

    /// How much longer an object that is as it should be is expected to be undone; `None` if it is not.
    pub(crate) fn doubt(&self, manifest: &Object, now: Instant) -> Option<Duration> {
        let contest = *self.lock().get(&place(manifest))?;
        contest.left(contest.doubt(), now)
    }

    /// Whether bringing an object back once more would be once too often.
    pub(crate) fn is_tense(&self, manifest: &Object) -> bool {
        let contests = self.lock();
        contests
            .get(&place(manifest))
            .is_some_and(|contest| contest.times >= TOLERATED)
    }

    /// Notes that an object was brought back, and is so now; whether that was once too often.
    pub(crate) fn brought_back(
        &self,
        manifest: &Object,
        state: Option<&Object>,
        now: Instant,
    ) -> bool {
        let mut contests = self.lock();
        let begun = Contest {
            times: 0,
            last: now,
            held: Duration::ZERO,
            is_undone: false,
            revision: 0,
        };
        let contest = contests.entry(place(manifest)).or_insert(begun);
        if now.saturating_duration_since(contest.last) >= FORGOTTEN {
            *contest = begun;
        }
        contest.times = contest.times.saturating_add(1);
        contest.last = now;
        contest.is_undone = false;
        contest.revision = state.and_then(revision).unwrap_or_default();
        !contest.pause().is_zero()
    }

    /// Begins anew with an object: it is to be something else now, or nothing.
    pub(crate) fn forget(&self, manifest: &Object) {
        self.lock().remove(&place(manifest));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Place, Contest>> {
        // Nothing that runs under the lock leaves it half changed.
        self.contests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Servers count their changes; of one that does not nothing is known to be outdated.
fn revision(object: &Object) -> Option<u64> {
    object.resource_version().parse().ok()
}

/// What is undone, and by whom, as its work says it.
pub(crate) struct Undoing<'a> {
    pub(crate) cluster: &'a str,
    pub(crate) manifest: &'a Object,
    /// What the member has in its place; `None` if somebody deleted it.
    pub(crate) observed: Option<&'a Object>,
    /// What the member would have if it were brought back.
    pub(crate) wanted: Option<&'a Object>,
    /// The work that an object of the member names as its own.
    pub(crate) named: Option<ObjectKey>,
    pub(crate) work: &'a ObjectKey,
}

impl Undoing<'_> {
    /// The field that is in dispute, and who wrote it, as far as the object says.
    fn dispute<'o>(&self, observed: &'o Object) -> (Option<String>, Option<&'o str>) {
        let asked_for =
            |wanted: &Object| differing(observed.fields(), wanted.fields(), &[], is_kept_about_it);
        let added = |wanted: &Object| added(observed, wanted);
        // Two who differ in nothing but whose object it is.
        let marks =
            |wanted: &Object| differing(observed.fields(), wanted.fields(), &[], is_servers_own);
        let field = self.wanted.and_then(asked_for);
        let field = field.or_else(|| self.wanted.and_then(added));
        let field = field.or_else(|| self.wanted.and_then(marks));
        let author = field.as_ref().and_then(|field| author_of(observed, field));
        let author = author.or_else(|| last_author(observed));
        (field.map(|field| field.join(".")), author)
    }
}

impl fmt::Display for Undoing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, key, cluster) = (self.manifest.kind(), self.manifest.key(), self.cluster);
        let Some(observed) = self.observed else {
            return write!(
                f,
                "{kind} {key} is deleted in the cluster {cluster} again and again, and is made again less and less often: stop whoever deletes it there, or take the cluster out of the placement"
            );
        };
        let (field, author) = self.dispute(observed);
        let by = match (&self.named, author) {
            (Some(named), _) if named != self.work => {
                format!("whoever brings the work {named}, another control plane as it seems")
            }
            (_, Some(MANAGER)) => {
                format!("another that calls itself {MANAGER} as this control plane does")
            }
            (_, Some(author)) => author.to_owned(),
            (_, None) => "somebody who does not say who they are".to_owned(),
        };
        let advice = match field.as_deref() {
            Some("spec.replicas") => {
                "label the template resourcetemplate.karmada.io/retain-replicas=true if its replicas are for the cluster to say, or stop whoever changes them"
            }
            _ => "stop whoever changes it there, or take out of the template what is theirs to say",
        };
        let field = field.map_or_else(String::new, |field| format!(" ({field})"));
        write!(
            f,
            "{kind} {key} is changed in the cluster {cluster} again and again by {by}{field}, and is brought back less and less often: {advice}"
        )
    }
}

/// The first field that one object says and another does not say so: of what it asks for before its metadata, and of that
/// nothing which is `left_out`.
fn differing(
    there: &Map,
    wanted: &Map,
    above: &[&str],
    left_out: fn(&[&str], &str) -> bool,
) -> Option<Vec<String>> {
    let is_late = |name: &str| above.is_empty() && name == "metadata";
    let (late, early): (Vec<_>, Vec<_>) = wanted.iter().partition(|(name, _)| is_late(name));
    early.into_iter().chain(late).find_map(|(name, value)| {
        if above.first() == Some(&"metadata") && left_out(above, name) {
            return None;
        }
        let mut path = match (there.get(name), value) {
            (Some(there), value) if there == value => return None,
            (Some(Value::Object(there)), Value::Object(fields)) => {
                let at: Vec<&str> = above.iter().copied().chain([name.as_str()]).collect();
                return differing(there, fields, &at, left_out);
            }
            _ => above
                .iter()
                .map(|name| (*name).to_owned())
                .collect::<Vec<_>>(),
        };
        path.push(name.clone());
        Some(path)
    })
}

/// Whether something in the metadata is for those who bring the object, and not what its author asks for.
fn is_kept_about_it(above: &[&str], name: &str) -> bool {
    match above {
        ["metadata"] => is_servers_own(above, name),
        _ => name.contains("karmada.io/") || name == LAST_APPLIED,
    }
}

/// Whether something in the metadata is for the member's server to say.
fn is_servers_own(above: &[&str], name: &str) -> bool {
    above == ["metadata"]
        && !matches!(
            name,
            "labels" | "annotations" | "finalizers" | "ownerReferences"
        )
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use serde_json::json;

    use super::*;
    use crate::testing::object;

    fn web(extra: &Value) -> Object {
        let mut web = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "shop"}, "spec": {"replicas": 2, "paused": false}});
        for (field, value) in extra.as_object().unwrap() {
            web[field] = value.clone();
        }
        object(web)
    }

    #[test]
    fn pauses_grow_while_somebody_undoes_what_is_brought() {
        let (contests, web, start) = (Contests::default(), web(&json!({})), Instant::now());
        let mut now = start;
        let mut pauses = Vec::new();
        for _ in 0..14 {
            let is_contested = contests.brought_back(&web, None, now);
            let pause = contests.undone(&web, now);
            assert_eq!(is_contested, pause.is_some());
            assert_eq!(
                contests.doubt(&web, now),
                pause.map(|pause| pause.min(CALM))
            );
            let pause = pause.unwrap_or_default();
            now += pause;
            assert_eq!(contests.undone(&web, now), None);
            assert_eq!(contests.doubt(&web, now), None);
            pauses.push(pause.as_secs());
        }
        assert_eq!(pauses, [0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60]);
    }

    #[test]
    fn who_comes_now_and_then_is_waited_for_before_it_is_calm() {
        let (contests, web, start) = (Contests::default(), web(&json!({})), Instant::now());
        for _ in 0..9 {
            contests.brought_back(&web, None, start);
        }
        let doubt = |now| contests.doubt(&web, now).map(|left| left.as_secs());
        assert_eq!(doubt(start), Some(8), "as long as the pause");
        for (held, expected) in [(15, 30), (2, 10), (200, 300)] {
            let begun = Instant::now();
            contests.brought_back(&web, None, begun);
            let found = begun + Duration::from_secs(held);
            contests.undone(&web, found);
            // It is looked at again and again while it is left alone.
            contests.undone(&web, found + Duration::from_secs(100));
            let back = found + Duration::from_secs(40);
            contests.brought_back(&web, None, back);
            assert_eq!(doubt(back), Some(expected), "undone after {held} s");
        }
    }

    #[test]
    fn a_view_from_before_says_nothing_of_what_was_done_since() {
        let (contests, web, now) = (Contests::default(), web(&json!({})), Instant::now());
        let at = |revision: &str| {
            object(json!({"metadata": {"name": "web", "resourceVersion": revision}}))
        };
        let is_outdated = |seen: Option<&str>, after: u64| {
            let seen = seen.map(at);
            let now = now + Duration::from_millis(after);
            contests.is_outdated(&web, seen.as_ref(), now)
        };
        assert!(!is_outdated(Some("1"), 0) && !is_outdated(None, 0));
        contests.brought_back(&web, Some(&at("9")), now);
        for (seen, after, expected) in [
            (Some("8"), 5_000, true),
            (Some("9"), 0, false),
            (Some("10"), 0, false),
            (Some("whatever"), 0, false),
            (None, 500, true),
            (None, 1_000, false),
        ] {
            assert_eq!(is_outdated(seen, after), expected, "{seen:?} after {after}");
        }
    }

    #[test]
    fn a_calm_time_or_a_new_manifest_ends_a_contest() {
        let (contests, web, start) = (Contests::default(), web(&json!({})), Instant::now());
        let pause_after_eight = |now| {
            for _ in 0..8 {
                contests.brought_back(&web, None, now);
            }
            contests.undone(&web, now).map(|pause| pause.as_secs())
        };
        assert_eq!(pause_after_eight(start), Some(4));
        let later = start + FORGOTTEN;
        assert!(!contests.brought_back(&web, None, later));
        assert_eq!(
            pause_after_eight(later),
            Some(8),
            "it is not forgotten sooner"
        );
        contests.forget(&web);
        assert_eq!(contests.undone(&web, later), None);
        assert!(!contests.brought_back(&web, None, later));
    }

    /// What a work says of an object that is to have two replicas and not to be paused.
    fn said(observed: Option<Value>, named: Option<&str>) -> String {
        let work = ObjectKey::namespaced("karmada-es-m1", "web-1");
        let observed = observed.map(|extra| web(&extra));
        let undoing = Undoing {
            cluster: "m1",
            manifest: &web(&json!({})),
            observed: observed.as_ref(),
            wanted: Some(&web(
                &json!({"metadata": {"name": "web", "namespace": "shop",
                "labels": {"karmada.io/x": "ours"}}}),
            )),
            named: named.map(|name| ObjectKey::namespaced("karmada-es-m1", name)),
            work: &work,
        };
        undoing.to_string()
    }

    /// An object with such a spec, written by us and by these others: who, through which part, which fields.
    fn written(spec: &Value, others: &[(&str, &str, Value)]) -> Option<Value> {
        let ours = json!({"manager": "karavel", "operation": "Apply", "time": "2026-01-01T00:00:09Z",
            "fieldsV1": {"f:spec": {"f:replicas": {}, "f:paused": {}}}});
        let others = others.iter().map(|(manager, part, fields)| {
            json!({"manager": manager, "operation": "Update", "subresource": part, "fieldsV1": fields,
                "time": "2026-01-01T00:00:02Z"})
        });
        let authors: Vec<Value> = std::iter::once(ours).chain(others).collect();
        Some(
            json!({"spec": spec, "metadata": {"name": "web", "namespace": "shop",
            "labels": {"karmada.io/x": "theirs"}, "managedFields": authors}}),
        )
    }

    #[test]
    fn a_work_says_who_undoes_what() {
        let replicas = json!({"f:spec": {"f:replicas": {}}});
        let label = json!({"f:metadata": {"f:labels": {"f:x": {}}}});
        let status = json!({"f:spec": {"f:replicas": {}}});
        let scaled = json!({"replicas": 3, "paused": false});
        let by_scale = written(
            &scaled,
            &[
                ("late-labels", "", label.clone()),
                ("kube-controller-manager", "scale", replicas),
                ("kubelet", "status", status),
            ],
        );
        assert_snapshot!(said(by_scale, Some("web-1")), @"Deployment shop/web is changed in the cluster m1 again and again by kube-controller-manager (spec.replicas), and is brought back less and less often: label the template resourcetemplate.karmada.io/retain-replicas=true if its replicas are for the cluster to say, or stop whoever changes them");
        assert_snapshot!(said(written(&scaled, &[("labels", "", label)]), None), @"Deployment shop/web is changed in the cluster m1 again and again by another that calls itself karavel as this control plane does (spec.replicas), and is brought back less and less often: label the template resourcetemplate.karmada.io/retain-replicas=true if its replicas are for the cluster to say, or stop whoever changes them");
        let added = json!({"replicas": 2, "paused": false, "minReadySeconds": 5});
        let owned = json!({"f:spec": {"f:minReadySeconds": {}}});
        assert_snapshot!(said(written(&added, &[("kubectl-edit", "", owned)]), None), @"Deployment shop/web is changed in the cluster m1 again and again by kubectl-edit (spec.minReadySeconds), and is brought back less and less often: stop whoever changes it there, or take out of the template what is theirs to say");
        let removed = json!({"replicas": 2});
        assert_snapshot!(said(written(&removed, &[]), Some("other")), @"Deployment shop/web is changed in the cluster m1 again and again by whoever brings the work karmada-es-m1/other, another control plane as it seems (spec.paused), and is brought back less and less often: stop whoever changes it there, or take out of the template what is theirs to say");
        let taken = json!({"spec": {"replicas": 2, "paused": false}, "metadata": {"name": "web", "namespace": "shop",
            "uid": "7", "labels": {"karmada.io/x": "other"}}});
        assert_snapshot!(said(Some(taken), Some("other")), @"Deployment shop/web is changed in the cluster m1 again and again by whoever brings the work karmada-es-m1/other, another control plane as it seems (metadata.labels.karmada.io/x), and is brought back less and less often: stop whoever changes it there, or take out of the template what is theirs to say");
        assert_snapshot!(said(None, None), @"Deployment shop/web is deleted in the cluster m1 again and again, and is made again less and less often: stop whoever deletes it there, or take the cluster out of the placement");
    }
}
