//! What a Lease says and what follows from it: plain data that is told the time.

use std::time::Duration;

use object::time::MicroTime;
use object::{Map, Object, Value};
use tokio::time::Instant;

use super::Election;

/// What a Lease says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    /// Who holds it; empty for nobody.
    pub(super) holder: String,
    /// How long others wait for a sign of life, in seconds.
    pub(super) seconds: u64,
    /// Since when it is held, and the last sign of life, as the holder's clock has it.
    acquired: Option<MicroTime>,
    renewed: Option<MicroTime>,
    /// How often the holder changed.
    transitions: i64,
}

/// A Lease, and when it was first seen like this.
#[derive(Clone, Debug)]
pub(super) struct Observed {
    pub(super) record: Record,
    since: Instant,
}

/// What a candidate does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Somebody else holds it.
    Wait,
    /// It can be taken, or is ours: write this.
    Write(Record),
}

impl Observed {
    pub(super) fn new(lease: &Object, now: Instant) -> Self {
        Self {
            record: Record::read(lease),
            since: now,
        }
    }

    /// What is known after looking again: the time counts on as long as nothing changes.
    pub(super) fn update(known: Option<Self>, lease: &Object, now: Instant) -> Self {
        match known {
            Some(known) if known.record == Record::read(lease) => known,
            _ => Self::new(lease, now),
        }
    }

    pub(super) fn decide(&self, election: &Election, now: Instant, written: MicroTime) -> Step {
        let is_ours = self.record.holder == election.identity;
        let expires = self.since + Duration::from_secs(self.record.seconds);
        if !is_ours && !self.record.holder.is_empty() && expires > now {
            return Step::Wait;
        }
        let mut record = Record::first(election, written);
        if is_ours {
            record.acquired = self.record.acquired;
            record.transitions = self.record.transitions;
        } else {
            record.transitions = self.record.transitions.saturating_add(1);
        }
        Step::Write(record)
    }
}

impl Record {
    /// A Lease that nobody held before.
    pub(super) fn first(election: &Election, now: MicroTime) -> Self {
        Self {
            holder: election.identity.clone(),
            seconds: election.lease_duration.as_secs(),
            acquired: Some(now),
            renewed: Some(now),
            transitions: 0,
        }
    }

    /// The same, given up.
    pub(super) fn released(self, now: MicroTime) -> Self {
        Self {
            holder: String::new(),
            seconds: 1,
            acquired: Some(now),
            renewed: Some(now),
            transitions: self.transitions,
        }
    }

    /// Missing and mistyped fields read as nobody's and nothing.
    pub(super) fn read(lease: &Object) -> Self {
        let time = |name| lease.text_at(&["spec", name])?.parse().ok();
        let number = |name| lease.integer_at(&["spec", name]);
        let holder = lease.text_at(&["spec", "holderIdentity"]);
        Self {
            holder: holder.unwrap_or_default().to_owned(),
            seconds: number("leaseDurationSeconds")
                .and_then(|seconds| u64::try_from(seconds).ok())
                .unwrap_or_default(),
            acquired: time("acquireTime"),
            renewed: time("renewTime"),
            transitions: number("leaseTransitions").unwrap_or_default(),
        }
    }

    /// Written over a Lease; what others keep there stays.
    pub(super) fn to_lease(&self, mut lease: Object) -> Object {
        let time =
            |time: Option<MicroTime>| time.map_or(Value::Null, |time| time.to_string().into());
        let spec = lease
            .fields_mut()
            .entry("spec")
            .or_insert_with(|| Value::Object(Map::new()));
        if !spec.is_object() {
            *spec = Value::Object(Map::new());
        }
        if let Value::Object(spec) = spec {
            for (name, value) in [
                ("holderIdentity", Value::from(self.holder.as_str())),
                ("leaseDurationSeconds", Value::from(self.seconds)),
                ("acquireTime", time(self.acquired)),
                ("renewTime", time(self.renewed)),
                ("leaseTransitions", Value::from(self.transitions)),
            ] {
                spec.insert(name.to_owned(), value);
            }
        }
        lease
    }
}

#[cfg(test)]
mod tests {
    use object::ObjectKey;
    use serde_json::json;

    use super::*;

    fn lease(spec: Value) -> Object {
        Object::from_value(json!({"metadata": {"name": "l"}, "spec": spec})).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_is_taken_only_when_it_is_free_or_has_not_changed_for_its_time() {
        let election = Election::new(ObjectKey::namespaced("n", "l"), "me");
        let start = Instant::now();
        let now = MicroTime::from_unix_micros(0);
        let held = |holder: &str| {
            lease(
                json!({"holderIdentity": holder, "leaseDurationSeconds": 15, "leaseTransitions": 3}),
            )
        };
        let check = |lease: &Object, passed: u64, transitions: Option<i64>| {
            let observed = Observed::new(lease, start);
            let step = observed.decide(&election, start + Duration::from_secs(passed), now);
            let written = match step {
                Step::Wait => None,
                Step::Write(record) => {
                    assert_eq!((record.holder.as_str(), record.seconds), ("me", 15));
                    Some(record.transitions)
                }
            };
            assert_eq!(written, transitions, "after {passed} s");
        };
        check(&held("other"), 0, None);
        check(&held("other"), 14, None);
        check(&held("other"), 15, Some(4));
        check(&held(""), 0, Some(4));
        check(&held("me"), 0, Some(3));
        check(&lease(json!({})), 0, Some(1));
        check(&lease(json!("nonsense")), 0, Some(1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_sign_of_life_starts_the_count_again_and_nothing_else_does() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let held = |renewed: &str| {
            lease(
                json!({"holderIdentity": "other", "leaseDurationSeconds": 15, "renewTime": renewed}),
            )
        };
        let first = Observed::new(&held("2026-01-01T00:00:00.000000Z"), at(0));
        let same = Observed::update(Some(first), &held("2026-01-01T00:00:00.000000Z"), at(9));
        assert_eq!(same.since, at(0));
        let alive = Observed::update(Some(same), &held("2026-01-01T00:00:05.000000Z"), at(9));
        assert_eq!(alive.since, at(9));
    }

    #[test]
    fn a_record_is_read_back_and_other_fields_stay() {
        let written = lease(json!({"holderIdentity": "a", "strategy": "mine"}));
        let record = Record {
            holder: "b".to_owned(),
            seconds: 15,
            acquired: "2026-01-01T00:00:00.000001Z".parse().ok(),
            renewed: None,
            transitions: 2,
        };
        let after = record.to_lease(written);
        assert_eq!(Record::read(&after), record);
        assert_eq!(after.text_at(&["spec", "strategy"]), Some("mine"));
        let bare = record.to_lease(Object::default());
        assert_eq!(Record::read(&bare), record);
    }
}
