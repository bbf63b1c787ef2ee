//! Decisions as one-line stories: the cases of the specification, and what must hold of all.

mod acceptance;
mod apportionment;
mod dynamic;
mod fleet;
mod groups;
mod overflow;
mod properties;
mod selection;
mod telling;
pub(crate) mod world;

use self::world::World;
use crate::{Decision, Outcome, schedule};

/// What comes of a story: `m1=2 m2=1`, or the reason and text of the refusal.
pub(crate) fn decide(story: &str) -> String {
    show(&decision(story))
}

/// The decision about a story.
pub(crate) fn decision(story: &str) -> Decision {
    World::tell(story).decide()
}

/// A decision in one line.
pub(crate) fn show(decision: &Decision) -> String {
    match decision.outcome() {
        Outcome::Placed(targets) if targets.is_empty() => "nowhere".to_owned(),
        Outcome::Placed(targets) => {
            let mut shown: Vec<String> = targets
                .iter()
                .map(|target| match target.replicas {
                    0 => target.cluster.to_string(),
                    replicas => format!("{}={replicas}", target.cluster),
                })
                .collect();
            shown.sort();
            shown.join(" ")
        }
        Outcome::Refused(refusal) => format!("{}: {refusal}", refusal.reason()),
    }
}

/// Checks stories against what shall come of them.
pub(crate) fn check(cases: &[(&str, &str)]) {
    for (story, expected) in cases {
        assert_eq!(decide(story), *expected, "{story}");
    }
}

impl World {
    /// Decides.
    pub(crate) fn decide(&self) -> Decision {
        self.with_inputs(schedule)
    }
}
