//! How pods behave: rules as data, and annotations that stage trouble for one pod.
//!
//! A rule says which pods it is for and sets what it has an opinion on; the first rule with an opinion counts. A pod's
//! own annotations come before all rules. Put them on a pod template to stage trouble:
//!
//! | annotation | means |
//! |---|---|
//! | `sim.karavel.io/start-after: 3s` | from being placed to running |
//! | `sim.karavel.io/init-after: 1s` | how long each init container takes |
//! | `sim.karavel.io/ready-after: 5s` or `never` | from running to ready |
//! | `sim.karavel.io/unready-after: 60s` | from running to not being ready any more |
//! | `sim.karavel.io/crash-after: 10s` | containers fail after so long, each time they are started |
//! | `sim.karavel.io/complete-after: 30s` or `never` | containers end well after so long |
//! | `sim.karavel.io/exit-code: "3"` | what a crash ends with |
//! | `sim.karavel.io/stop-after: 2s` | from being asked to go to being gone, within the grace period |
//! | `sim.karavel.io/image: missing` or `present` | whether the image can be pulled; in rules it is called `pull` |
//! | `sim.karavel.io/configuration: optional` or `required` | whether it waits for ConfigMaps and Secrets it refers to |
//! | `sim.karavel.io/cpu: 250m`, `sim.karavel.io/memory: 64Mi` | what each container seems to use |
//!
//! What neither says of a pod that is meant to end, its command may: `sleep 300`, `false`, `sh -c "exit 3"`.
//!
//! Times are whole seconds; parts of seconds are rounded up. What is not understood is warned of when it is written and
//! told in an event of the pod.

mod command;
mod rules;

use object::quantity::Quantity;
use object::{Object, Value};

pub use rules::{Rule, RuleError, Rules};

/// What comes before the name of every annotation.
pub const PREFIX: &str = "sim.karavel.io/";

/// How the containers of one pod behave. Times are in seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Behaviour {
    /// From being placed to running.
    pub(crate) start: i64,
    /// How long each init container takes.
    pub(crate) init: i64,
    /// From running to ready; `None` never.
    pub(crate) ready: Option<i64>,
    /// From running to not being ready any more.
    pub(crate) unready: Option<i64>,
    /// How containers end, if they do.
    pub(crate) ending: Option<Ending>,
    /// From being asked to go to being gone.
    pub(crate) stop: i64,
    /// Whether images can be pulled.
    pub(crate) image_missing: bool,
    /// Whether containers start without the configuration they refer to.
    pub(crate) configuration_optional: bool,
    /// What each container seems to use.
    pub(crate) cpu: Option<Quantity>,
    /// What each container seems to use.
    pub(crate) memory: Option<Quantity>,
}

/// How a container ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    /// So long after it started.
    pub(crate) after: i64,
    /// With this.
    pub(crate) code: i64,
}

/// What one rule or one pod's annotations say.
#[derive(Clone, Debug, Default, PartialEq)]
struct Opinion {
    start: Option<i64>,
    init: Option<i64>,
    ready: Option<Span>,
    unready: Option<i64>,
    crash: Option<i64>,
    complete: Option<Span>,
    exit_code: Option<i64>,
    stop: Option<i64>,
    image_missing: Option<bool>,
    configuration_optional: Option<bool>,
    cpu: Option<Quantity>,
    memory: Option<Quantity>,
}

/// Some time, or never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Span {
    After(i64),
    Never,
}

/// What a crash ends with unless something else is said.
const CRASH_CODE: i64 = 1;

impl Opinion {
    /// Takes one setting; `None` if there is no such setting or its value is not understood.
    fn set(&mut self, name: &str, text: &str) -> Option<()> {
        match name {
            "start-after" => self.start = Some(seconds(text)?),
            "init-after" => self.init = Some(seconds(text)?),
            "ready-after" => self.ready = Some(span(text)?),
            "unready-after" => self.unready = Some(seconds(text)?),
            // A container that ends the moment it starts would be restarted for ever in the same second.
            "crash-after" => self.crash = Some(seconds(text)?.max(1)),
            "complete-after" => self.complete = Some(span(text)?),
            "exit-code" => self.exit_code = Some(text.parse().ok()?),
            "stop-after" => self.stop = Some(seconds(text)?),
            // In rules `image` says which pods are meant, so there is another name.
            "image" | "pull" => self.image_missing = Some(image_is_missing(text)?),
            "configuration" => self.configuration_optional = Some(is_optional(text)?),
            "cpu" => self.cpu = Some(text.parse().ok()?),
            "memory" => self.memory = Some(text.parse().ok()?),
            _ => return None,
        }
        Some(())
    }

    /// Leaves what is set and takes the rest from another.
    fn or(self, other: &Self) -> Self {
        Self {
            start: self.start.or(other.start),
            init: self.init.or(other.init),
            ready: self.ready.or(other.ready),
            unready: self.unready.or(other.unready),
            // Who says how a container ends says it whole.
            crash: match (self.crash, self.complete) {
                (None, None) => other.crash,
                (crash, _) => crash,
            },
            complete: match (self.crash, self.complete) {
                (None, None) => other.complete,
                (_, complete) => complete,
            },
            exit_code: self.exit_code.or(other.exit_code),
            stop: self.stop.or(other.stop),
            image_missing: self.image_missing.or(other.image_missing),
            configuration_optional: self.configuration_optional.or(other.configuration_optional),
            cpu: self.cpu.or(other.cpu),
            memory: self.memory.or(other.memory),
        }
    }

    /// What a pod's annotations say. Those that are not understood say nothing.
    fn of_annotations(pod: &Object) -> Self {
        let mut opinion = Self::default();
        for (name, text) in settings(pod.at(&["metadata"])) {
            let _understood = opinion.set(name, text);
        }
        opinion
    }

    fn settle(self) -> Behaviour {
        let ending = match (self.crash, self.complete) {
            (Some(after), _) => Some(Ending {
                after,
                code: self.exit_code.unwrap_or(CRASH_CODE),
            }),
            (None, Some(Span::After(after))) => Some(Ending { after, code: 0 }),
            (None, Some(Span::Never) | None) => None,
        };
        Behaviour {
            start: self.start.unwrap_or(1),
            init: self.init.unwrap_or(1),
            ready: match self.ready {
                Some(Span::Never) => None,
                Some(Span::After(after)) => Some(after),
                None => Some(0),
            },
            unready: self.unready,
            ending,
            stop: self.stop.unwrap_or(1),
            image_missing: self.image_missing.unwrap_or(false),
            configuration_optional: self.configuration_optional.unwrap_or(false),
            cpu: self.cpu,
            memory: self.memory,
        }
    }
}

/// The annotations of a pod that are about its behaviour and not understood, each with what it says.
pub(crate) fn misunderstood(pod: &Object) -> impl Iterator<Item = String> {
    misunderstood_in(pod.at(&["metadata"]))
}

/// The same for the metadata of a pod or of a template of pods.
pub(crate) fn misunderstood_in(metadata: Option<&Value>) -> impl Iterator<Item = String> {
    settings(metadata)
        .filter(|(name, text)| Opinion::default().set(name, text).is_none())
        .map(|(name, text)| format!("{PREFIX}{name}: {text:?}"))
}

fn settings(metadata: Option<&Value>) -> impl Iterator<Item = (&str, &str)> {
    let annotations = metadata.and_then(|metadata| metadata.get("annotations")?.as_object());
    let annotations = annotations.into_iter().flatten();
    annotations.filter_map(|(name, value)| Some((name.strip_prefix(PREFIX)?, value.as_str()?)))
}

fn image_is_missing(text: &str) -> Option<bool> {
    match text {
        "missing" => Some(true),
        "present" => Some(false),
        _ => None,
    }
}

fn is_optional(text: &str) -> Option<bool> {
    match text {
        "optional" => Some(true),
        "required" => Some(false),
        _ => None,
    }
}

fn span(text: &str) -> Option<Span> {
    if text == "never" {
        return Some(Span::Never);
    }
    seconds(text).map(Span::After)
}

/// Whole seconds, rounded up; what is negative is no time at all.
fn seconds(text: &str) -> Option<i64> {
    let wait = text.parse::<object::duration::Duration>().ok()?.to_wait();
    let whole = i64::try_from(wait.as_secs()).ok()?;
    Some(whole.saturating_add(i64::from(wait.subsec_nanos() > 0)))
}

#[cfg(test)]
mod tests;
