//! What conditions and events say where there is too much to say, or where somebody was not heard.

use std::sync::Arc;

use super::{show, world::World};
use crate::{
    Decision, Step,
    binding::BindingView,
    diagnosis::unpack,
    plugin::{Opinion, Plugin, Told, Unheard},
    report::{Writing, condition, events},
};

/// How long a message of a condition may be.
const MESSAGE: usize = 32_768;

fn message(decision: &Decision) -> String {
    condition(decision, &Writing::Done).message
}

fn event(world: &World, decision: &Decision) -> String {
    let binding = BindingView::from(&world.binding);
    let events = events(&binding, decision, &Writing::Done);
    events.last().expect("there is a result").message.clone()
}

/// Clusters of which each has a taint of its own, and `alike` others that have the same.
fn tainted(clusters: usize, alike: usize) -> World {
    let value = |index: usize| match index < alike {
        true => "all".to_owned(),
        false => format!("{index:04}{}", "x".repeat(50)),
    };
    let names: Vec<String> = (0..clusters).map(|index| format!("m{index:04}")).collect();
    let taints = names.iter().enumerate();
    let taints =
        taints.map(|(index, name)| format!("taint dedicated={}:NoSchedule: {name}", value(index)));
    let taints: Vec<String> = taints.collect();
    World::tell(&format!(
        "clusters {}; {}; replicas 1",
        names.join(" "),
        taints.join("; ")
    ))
}

#[test]
fn reasons_without_number_are_told_as_far_as_a_condition_takes_them() {
    let few = message(&tainted(3, 0).decide());
    assert!(few.ends_with(":NoSchedule}."), "{few}");
    assert!(!few.contains("more reason"), "{few}");

    let world = tainted(2_000, 7);
    let decision = world.decide();
    let many = message(&decision);
    assert!(many.len() <= MESSAGE, "{} bytes", many.len());
    let most = "0/2000 clusters are available: 7 cluster(s) had untolerated taint {dedicated=all:NoSchedule}, 1 cl";
    assert!(many.starts_with(most), "{many}");
    let told = many.matches("untolerated taint").count();
    let expected = format!(", and {} more reasons.", 1_994 - told);
    assert!(many.ends_with(&expected), "{told} are told: {many}");
    assert_eq!(decision.targets_to_write(), Some(&[][..]), "targets go");
    assert_eq!(event(&world, &decision), many);
}

#[test]
fn however_long_the_words_of_a_plugin_are_the_condition_can_be_written() {
    let mut world = World::tell("clusters a b; replicas 1");
    let refusal: Arc<str> = "€".repeat(MESSAGE).into();
    let refused = Opinion {
        refusal: Some(refusal),
        score: 0,
    };
    let told = Told::new(["a", "b"].map(|name| (name.into(), refused.clone())));
    world.plugins.add(Plugin::named("Long").filtering(told));
    let said = message(&world.decide());
    assert!(said.len() < 2_000, "{} bytes", said.len());
    assert!(said.ends_with("€...."), "{said}");

    let failed = Writing::Failed("x".repeat(2 * MESSAGE));
    let placed = World::tell("clusters a; replicas 1").decide();
    assert_eq!(condition(&placed, &failed).message.len(), MESSAGE);
}

fn not_hearing(ends: Option<Step>) -> World {
    let mut world = World::tell("clusters a b; affinity a; replicas 1");
    world.plugins.unheard.push(Unheard {
        plugin: "Carbon".into(),
        why: "it did not answer in time".into(),
        ends,
    });
    world
}

#[test]
fn a_decision_without_somebody_who_was_not_heard_says_so() {
    let world = not_hearing(None);
    let decision = world.decide();
    assert_eq!(show(&decision), "a=1");
    assert_eq!(
        event(&world, &decision),
        "Binding has been scheduled successfully. Result: {a:1} Decided without the plugin Carbon: \
         it did not answer in time."
    );
    let diagnosis = &decision.diagnosis;
    assert_eq!(
        diagnosis.to_value()["unheard"],
        serde_json::json!([{"plugin": "Carbon", "why": "it did not answer in time"}])
    );
    let names = diagnosis.clusters().names();
    assert_eq!(unpack(&diagnosis.to_packed(), names), diagnosis.to_value());
    let text = diagnosis.to_string();
    let line = "\nnot heard: Carbon: it did not answer in time\nplaced: {a:1}\n";
    assert!(text.contains(line), "{text}");

    let heard = World::tell("clusters a b; affinity a; replicas 1").decide();
    assert!(heard.diagnosis.to_value().get("unheard").is_none());
    let differences = |now: &Decision, before: &Decision| {
        let differences = now.diagnosis.differences_from(&before.diagnosis);
        let texts: Vec<String> = differences.iter().map(ToString::to_string).collect();
        texts.join("; ")
    };
    assert_eq!(
        differences(&decision, &heard),
        "the plugin Carbon is not heard: it did not answer in time"
    );
    assert_eq!(
        differences(&heard, &decision),
        "the plugin Carbon is heard again"
    );
}

#[test]
fn who_must_be_heard_ends_the_decision_at_the_first_step_it_has_a_say_in() {
    for (step, name) in [(Step::Filter, "filter"), (Step::Score, "prioritize")] {
        let expected = format!(
            "SchedulerError: failed to {name} clusters: plugin \"Carbon\" failed with: it did not answer in time"
        );
        let decision = not_hearing(Some(step)).decide();
        assert_eq!(show(&decision), expected);
        // Who passed until then is known, and said.
        let diagnosis = &decision.diagnosis;
        let whole = diagnosis.to_value();
        assert_eq!(whole["attempts"][0]["passed"], serde_json::json!(["a"]));
        let names = diagnosis.clusters().names();
        assert_eq!(unpack(&diagnosis.to_packed(), names), whole);
        let text = diagnosis.to_string();
        assert!(text.contains("filters: 1 of 2 clusters pass"), "{text}");
    }
    // Where no cluster is left nobody else has to be heard.
    let mut world = not_hearing(Some(Step::Filter));
    world.clusters = World::tell("clusters b").clusters;
    assert!(show(&world.decide()).starts_with("NoClusterFit"));
}

#[test]
fn no_place_is_taken_away_while_a_later_group_waits_for_somebody_to_be_heard() {
    let not_hearing = |story: &str, ends| {
        let mut world = World::tell(story);
        world.plugins.unheard = not_hearing(ends).plugins.unheard;
        world.decide()
    };
    let unfit = "clusters m1 m2; evict m1; now m1=1; replicas 1";
    let groups = format!("{unfit}; group primary: m1; group backup: m2");
    for step in [Step::Filter, Step::Score] {
        let decision = not_hearing(&groups, Some(step));
        let shown = show(&decision);
        assert!(shown.starts_with("SchedulerError: failed to "), "{shown}");
        assert_eq!(decision.targets_to_write(), None, "{shown}");
    }
    // Whoever need not be heard keeps nobody from the second, and who could say nothing changes nothing.
    assert_eq!(show(&not_hearing(&groups, None)), "m2=1");
    let nowhere = format!("{unfit}; group primary: m1; group backup: m9");
    let decision = not_hearing(&nowhere, Some(Step::Filter));
    assert!(show(&decision).starts_with("NoClusterFit"));
    assert_eq!(decision.targets_to_write(), Some(&[][..]));
}
