//! All that a decision wants.

use std::time::Duration;

use object::time::Time;
use serde::{Serialize, Serializer};

use crate::action::Action;

/// All that a decision wants: carried out in order, up to the first action that fails.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Plan {
    /// What is to be done, in this order.
    pub actions: Vec<Action>,
    /// What could not be decided as wanted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
    /// When to look again.
    pub wake: Wake,
}

/// Something that kept a decision from doing all it should, without holding the rest back.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Problem {
    /// What it concerns: a cluster, a rule, an object.
    pub subject: String,
    /// What is wrong, in one sentence.
    pub message: String,
}

/// When a controller wants to look at a key again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Wake {
    /// When something it depends on changes.
    #[default]
    OnChange,
    /// At that time at the latest.
    At(Time),
    /// After that long at the latest.
    After(Duration),
}

impl Plan {
    /// Adds an action.
    pub fn push(&mut self, action: Action) {
        self.actions.push(action);
    }

    /// Notes what could not be done.
    pub fn problem(&mut self, subject: impl Into<String>, message: impl Into<String>) {
        self.problems.push(Problem {
            subject: subject.into(),
            message: message.into(),
        });
    }

    /// Looks again at that time, or earlier if that was asked for before.
    pub fn wake_at(&mut self, time: Time) {
        self.wake = match self.wake {
            Wake::At(earlier) if earlier <= time => Wake::At(earlier),
            // A span cannot be compared with a time without a clock: the shell that asked for it wakes earlier still if
            // need be, because looking too early is harmless.
            Wake::OnChange | Wake::At(_) | Wake::After(_) => Wake::At(time),
        };
    }

    /// Whether there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.actions.is_empty()
    }

    /// Appends another plan's actions and problems, and wakes at the earlier of both.
    pub fn merge(&mut self, other: Plan) {
        self.actions.extend(other.actions);
        self.problems.extend(other.problems);
        self.wake = self.wake.earlier(other.wake);
    }
}

impl Extend<Action> for Plan {
    fn extend<I: IntoIterator<Item = Action>>(&mut self, actions: I) {
        self.actions.extend(actions);
    }
}

impl Wake {
    /// The earlier of both, as far as that can be said without a clock: a span counts as earlier than a time.
    #[must_use]
    pub fn earlier(self, other: Self) -> Self {
        match (self, other) {
            (Self::OnChange, wake) | (wake, Self::OnChange) => wake,
            (Self::At(a), Self::At(b)) => Self::At(a.min(b)),
            (Self::After(a), Self::After(b)) => Self::After(a.min(b)),
            (Self::After(span), Self::At(_)) | (Self::At(_), Self::After(span)) => {
                Self::After(span)
            }
        }
    }

    /// How long that is from `now`; `None` if only a change matters. A time that has passed is now.
    #[must_use]
    pub fn delay(self, now: Time) -> Option<Duration> {
        match self {
            Self::OnChange => None,
            Self::After(span) => Some(span),
            Self::At(time) => {
                let seconds = u64::try_from(time.seconds_since(now)).unwrap_or_default();
                Some(Duration::from_secs(seconds))
            }
        }
    }
}

/// `onChange`, a time, or a span such as `1m30s`.
impl Serialize for Wake {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::OnChange => serializer.serialize_str("onChange"),
            Self::At(time) => time.serialize(serializer),
            Self::After(span) => {
                let nanos = i64::try_from(span.as_nanos()).unwrap_or(i64::MAX);
                object::duration::Duration::from_nanos(nanos).serialize(serializer)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use object::{Object, ObjectKey, ResourceType};
    use serde_json::json;

    use super::*;
    use crate::{EventKind, ObjectRef, Part};

    fn at(seconds: i64) -> Time {
        Time::from_unix_seconds(seconds)
    }

    #[test]
    fn the_earlier_wake_wins() {
        let second = Duration::from_secs(1);
        for (one, other, earlier) in [
            (Wake::OnChange, Wake::OnChange, Wake::OnChange),
            (Wake::OnChange, Wake::At(at(3)), Wake::At(at(3))),
            (Wake::At(at(2)), Wake::At(at(3)), Wake::At(at(2))),
            (Wake::At(at(2)), Wake::After(second), Wake::After(second)),
            (
                Wake::After(second),
                Wake::After(second * 2),
                Wake::After(second),
            ),
        ] {
            assert_eq!(one.earlier(other), earlier);
            assert_eq!(other.earlier(one), earlier);
        }
        let mut plan = Plan::default();
        for seconds in [5, 3, 9] {
            plan.wake_at(at(seconds));
        }
        assert_eq!(plan.wake, Wake::At(at(3)));
    }

    #[test]
    fn a_time_that_has_passed_is_now() {
        assert_eq!(Wake::At(at(5)).delay(at(9)), Some(Duration::ZERO));
        assert_eq!(Wake::At(at(9)).delay(at(5)), Some(Duration::from_secs(4)));
        assert_eq!(Wake::OnChange.delay(at(5)), None);
    }

    #[test]
    fn a_plan_can_be_shown() {
        let pods = ResourceType::namespaced("", "v1", "Pod", "pods");
        let mut pod = Object::new(&pods.kind, &ObjectKey::namespaced("shop", "web"));
        pod.set(&["metadata", "uid"], "u").unwrap();
        let mut plan = Plan::default();
        plan.push(Action::delete(pods.clone(), &pod, "its owner is gone"));
        plan.push(Action::patch(pods, &pod, json!({"a": null}), Part::Status));
        plan.push(Action::report(
            ObjectRef::of(&pod),
            EventKind::Warning,
            "Gone",
            "it went",
        ));
        plan.problem("member1", "no such cluster");
        plan.wake = Wake::After(Duration::from_secs(90));
        let resource =
            json!({"apiVersion": "v1", "kind": "Pod", "plural": "pods", "namespaced": true});
        let key = json!({"namespace": "shop", "name": "web"});
        let about = json!({"apiVersion": "v1", "kind": "Pod", "namespace": "shop", "name": "web", "uid": "u"});
        assert_eq!(
            serde_json::to_value(&plan).unwrap(),
            json!({
                "actions": [
                    {"do": "delete", "resource": resource, "key": key, "uid": "u", "cause": "its owner is gone"},
                    {"do": "patch", "resource": resource, "key": key, "uid": "u", "patch": {"a": null}, "part": "status"},
                    {"do": "report", "about": about, "kind": "Warning", "reason": "Gone", "message": "it went"},
                ],
                "problems": [{"subject": "member1", "message": "no such cluster"}],
                "wake": "1m30s",
            })
        );
    }
}
