//! Somebody in the member who undoes what works bring there, again and again.
//!
//! What is changed or deleted there by hand is brought back at once. Two writers that both do so, such as an autoscaler and a
//! template that states the replicas, or two control planes, would otherwise answer each other as fast as both can, for
//! ever. So after a few times an object is left alone for a while, longer each time, and its work says who the other is.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use object::{Object, ObjectKey, Value};
use tokio::time::Instant;

use crate::apply::ownership::{MANAGER, last_author};
use crate::apply::record::{Place, place};

/// How many times an object is brought back at once: people try things out.
const TOLERATED: u32 = 5;
/// How long it is left alone then at first, and at most.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);
/// When nobody has undone anything for so long, the next time is a first time. Longer than the longest pause, or a contest
/// would end by being waited for.
const FORGOTTEN: Duration = Duration::from_secs(300);

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
}

impl Contest {
    fn pause(self) -> Duration {
        match self.times.checked_sub(TOLERATED + 1) {
            None => Duration::ZERO,
            Some(doublings) => FIRST.saturating_mul(1 << doublings.min(8)).min(LONGEST),
        }
    }

    fn rest(self, now: Instant) -> Option<Duration> {
        let left = (self.last + self.pause()).saturating_duration_since(now);
        (!left.is_zero()).then_some(left)
    }
}

impl Contests {
    /// How much longer an object is to be left alone; `None` if it may be brought back.
    pub(crate) fn rest(&self, manifest: &Object, now: Instant) -> Option<Duration> {
        self.lock().get(&place(manifest))?.rest(now)
    }

    /// Notes that an object was brought back, and says how long it is to be left alone now, if at all.
    pub(crate) fn brought_back(&self, manifest: &Object, now: Instant) -> Option<Duration> {
        let mut contests = self.lock();
        let begun = Contest {
            times: 0,
            last: now,
        };
        let contest = contests.entry(place(manifest)).or_insert(begun);
        if now.saturating_duration_since(contest.last) >= FORGOTTEN {
            *contest = begun;
        }
        contest.times = contest.times.saturating_add(1);
        contest.last = now;
        contest.rest(now)
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

impl fmt::Display for Undoing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, key, cluster) = (self.manifest.kind(), self.manifest.key(), self.cluster);
        let Some(observed) = self.observed else {
            return write!(
                f,
                "{kind} {key} is deleted in the cluster {cluster} again and again, and is made again less and less often: stop whoever deletes it there, or take the cluster out of the placement"
            );
        };
        write!(
            f,
            "{kind} {key} is changed in the cluster {cluster} again and again by "
        )?;
        match (&self.named, last_author(observed)) {
            (Some(named), _) if named != self.work => {
                write!(
                    f,
                    "another control plane, for its work {named}, as it seems"
                )?;
            }
            (_, Some(MANAGER)) => {
                write!(
                    f,
                    "another that calls itself {MANAGER} as this control plane does"
                )?;
            }
            (_, Some(author)) => write!(f, "{author}")?,
            (_, None) => write!(f, "somebody who does not say who they are")?,
        }
        let field = self
            .wanted
            .and_then(|wanted| differing(observed.fields(), wanted.fields()));
        if let Some(field) = &field {
            write!(f, " ({field})")?;
        }
        write!(f, ", and is brought back less and less often: ")?;
        match field.as_deref() {
            Some("spec.replicas") => write!(
                f,
                "label the template resourcetemplate.karmada.io/retain-replicas=true if its replicas are for the cluster to say, or stop whoever changes them"
            ),
            _ => write!(
                f,
                "stop whoever changes it there, or take out of the template what is theirs to say"
            ),
        }
    }
}

/// The first field that one object says and another does not say so.
fn differing(there: &object::Map, wanted: &object::Map) -> Option<String> {
    wanted.iter().find_map(|(name, value)| {
        let at = match there.get(name) {
            Some(there) if there == value => return None,
            Some(Value::Object(there)) => match value {
                Value::Object(fields) => differing(there, fields)?,
                _ => String::new(),
            },
            _ => String::new(),
        };
        Some(match at.as_str() {
            "" => name.clone(),
            below => format!("{name}.{below}"),
        })
    })
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
            let pause = contests.brought_back(&web, now).unwrap_or_default();
            assert_eq!(
                contests.rest(&web, now),
                Some(pause).filter(|pause| !pause.is_zero())
            );
            now += pause;
            assert_eq!(contests.rest(&web, now), None);
            pauses.push(pause.as_secs());
        }
        assert_eq!(pauses, [0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60]);
    }

    #[test]
    fn a_calm_time_or_a_new_manifest_ends_a_contest() {
        let (contests, web, start) = (Contests::default(), web(&json!({})), Instant::now());
        let strain = |now| {
            (0..8)
                .filter_map(|_| contests.brought_back(&web, now))
                .last()
        };
        assert_eq!(strain(start), Some(Duration::from_secs(4)));
        assert_eq!(contests.brought_back(&web, start + FORGOTTEN), None);
        assert_eq!(
            strain(start + FORGOTTEN),
            Some(Duration::from_secs(8)),
            "it is not forgotten sooner"
        );
        contests.forget(&web);
        assert_eq!(contests.rest(&web, start + FORGOTTEN), None);
        assert_eq!(contests.brought_back(&web, start + FORGOTTEN), None);
    }

    #[test]
    fn a_work_says_who_undoes_what() {
        let work = ObjectKey::namespaced("karmada-es-m1", "web-1");
        let say = |observed: Option<Value>, named: Option<&str>| {
            let observed = observed.map(|extra| web(&extra));
            Undoing {
                cluster: "m1",
                manifest: &web(&json!({})),
                observed: observed.as_ref(),
                wanted: Some(&web(&json!({}))),
                named: named.map(|name| ObjectKey::namespaced("karmada-es-m1", name)),
                work: &work,
            }
            .to_string()
        };
        let by = |author: &str| {
            json!({"spec": {"replicas": 3, "paused": false}, "metadata": {"name": "web", "namespace": "shop", "managedFields": [
                {"manager": "karavel", "operation": "Apply", "time": "2026-01-01T00:00:01Z"},
                {"manager": author, "operation": "Update", "time": "2026-01-01T00:00:02Z"}]}})
        };
        assert_snapshot!(say(Some(by("kube-controller-manager")), Some("web-1")), @"Deployment shop/web is changed in the cluster m1 again and again by kube-controller-manager (spec.replicas), and is brought back less and less often: label the template resourcetemplate.karmada.io/retain-replicas=true if its replicas are for the cluster to say, or stop whoever changes them");
        assert_snapshot!(say(Some(by("karavel")), None), @"Deployment shop/web is changed in the cluster m1 again and again by another that calls itself karavel as this control plane does (spec.replicas), and is brought back less and less often: label the template resourcetemplate.karmada.io/retain-replicas=true if its replicas are for the cluster to say, or stop whoever changes them");
        assert_snapshot!(say(Some(json!({"spec": {"replicas": 2}})), Some("other")), @"Deployment shop/web is changed in the cluster m1 again and again by another control plane, for its work karmada-es-m1/other, as it seems (spec.paused), and is brought back less and less often: stop whoever changes it there, or take out of the template what is theirs to say");
        assert_snapshot!(say(None, None), @"Deployment shop/web is deleted in the cluster m1 again and again, and is made again less and less often: stop whoever deletes it there, or take the cluster out of the placement");
    }
}
