//! Whatever happens, in whatever order: in the end members have what is asked for, and nothing else of ours.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use member::join::UnjoinOptions;
use object::Object;
use world::json;

use crate::stage::{
    CONFIG_MAPS, DEPLOYMENTS, SOON, Stage, config_map, deployment, overriding, policy,
};

const MEMBERS: [&str; 3] = ["m1", "m2", "m3"];
const TEMPLATES: [(&str, &str); 4] = [
    ("ConfigMap", "a"),
    ("ConfigMap", "b"),
    ("Deployment", "d"),
    ("Deployment", "e"),
];
/// Which of them needs which.
const REFERRING: ((&str, &str), (&str, &str)) = (TEMPLATES[2], TEMPLATES[0]);
const SEEDS: std::ops::Range<u64> = 0..3;
/// How many things happen in one history.
const EVENTS: usize = 40;

/// The same chances for the same seed.
struct Chance(u64);

impl Chance {
    fn of(&mut self, many: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % many
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.of(all.len())]
    }

    /// Some members, at least one.
    fn members(&mut self) -> BTreeSet<&'static str> {
        let bits = 1 + self.of(7);
        let all = MEMBERS.iter().enumerate();
        let some = all.filter(|(place, _)| bits >> place & 1 == 1);
        some.map(|(_, member)| *member).collect()
    }
}

/// What is asked for.
#[derive(Default)]
struct Wish {
    templates: BTreeMap<(&'static str, &'static str), usize>,
    /// Where each kind is to be, by the policy that says so.
    places: BTreeMap<&'static str, BTreeSet<&'static str>>,
    /// Where Deployments are to be marked.
    marked: BTreeSet<&'static str>,
    suspended: BTreeSet<&'static str>,
}

impl Wish {
    fn policy(&self, kind: &str) -> String {
        let list =
            |members: &BTreeSet<&str>| members.iter().copied().collect::<Vec<&str>>().join(", ");
        let selector = match kind {
            "ConfigMap" => CONFIG_MAPS,
            _ => DEPLOYMENTS,
        };
        let places = list(&self.places[kind]);
        let suspended = list(&self.suspended);
        let spec = format!(
            "propagateDeps: true, suspension: {{dispatchingOnClusters: {{clusterNames: [{suspended}]}}}}, placement: {{clusterAffinity: {{clusterNames: [{places}]}}}}"
        );
        policy(policy_of(kind), selector, &spec)
    }

    /// What members are to have, a line for each object.
    fn expected(&self) -> BTreeSet<String> {
        let mut lines = BTreeSet::new();
        for ((kind, name), version) in &self.templates {
            let mut places = self.places[kind].clone();
            if (*kind, *name) == REFERRING.1 && self.templates.contains_key(&REFERRING.0) {
                places.extend(&self.places["Deployment"]);
            }
            let ready = 2 * places.len();
            for member in places {
                let more = match (*kind, self.marked.contains(member)) {
                    ("ConfigMap", _) => String::new(),
                    (_, is_marked) => of_workload(2, is_marked),
                };
                lines.insert(format!("{member} {kind} {name} {version}{more}"));
                lines.insert(format!("a work of {kind} {name} for {member}"));
            }
            lines.insert(format!("{kind} {name} is True FullyAppliedSuccess"));
            if *kind == "Deployment" {
                lines.insert(format!("{name} has {ready} ready and is observed"));
            }
        }
        lines
    }
}

/// The policy for a kind.
fn policy_of(kind: &str) -> &'static str {
    match kind {
        "ConfigMap" => "maps",
        _ => "apps",
    }
}

/// A template in a version of its own. One of the Deployments needs a ConfigMap.
fn template(kind: &str, name: &str, version: usize) -> String {
    if kind == "ConfigMap" {
        return config_map(name, &format!("{{version: '{version}'}}"));
    }
    let more = format!("namespace: test, labels: {{version: '{version}'}}");
    let made = deployment(name, 2).replacen("namespace: test", &more, 1);
    if (kind, name) != REFERRING.0 {
        return made;
    }
    let needs = format!(
        "name: web, envFrom: [{{configMapRef: {{name: {}, optional: true}}}}],",
        REFERRING.1.1
    );
    made.replacen("name: web,", &needs, 1)
}

fn of_workload(replicas: i64, is_marked: bool) -> String {
    let mark = if is_marked { " marked" } else { "" };
    format!(" with {replicas}{mark}")
}

/// What members have, and what there is for it.
async fn found(stage: &Stage) -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    for member in MEMBERS {
        for (kind, plural) in [("ConfigMap", "configmaps"), ("Deployment", "deployments")] {
            let objects = stage.member(member).list(plural, "test").await;
            for object in objects.iter().filter(|object| object.name().len() == 1) {
                lines.insert(shown(member, kind, object));
            }
        }
    }
    for template in stage.list("deployments", "test").await {
        let count = |path: &[&str]| template.integer_at(path).unwrap_or_default();
        let is_observed = count(&["status", "observedGeneration"]) == template.generation();
        let observed = if is_observed { "is observed" } else { "is not" };
        let ready = count(&["status", "readyReplicas"]);
        lines.insert(format!(
            "{} has {ready} ready and {observed}",
            template.name()
        ));
    }
    for work in stage.list("works", "").await {
        let manifest = &work.at(&["spec", "workload", "manifests"]).unwrap()[0];
        let kind = manifest["kind"].as_str().unwrap();
        let name = manifest["metadata"]["name"].as_str().unwrap();
        if name.len() == 1 {
            let member = work.namespace().trim_start_matches("karmada-es-");
            lines.insert(format!("a work of {kind} {name} for {member}"));
        }
    }
    for binding in stage.list("rb", "test").await {
        let text = |field: &str| binding.text_at(&["spec", "resource", field]).unwrap();
        let key = binding.key().to_string();
        let applied = stage.condition("rb", &key, "FullyApplied").await;
        lines.insert(format!("{} {} is {applied}", text("kind"), text("name")));
    }
    lines
}

fn shown(member: &str, kind: &str, object: &Object) -> String {
    let (version, more) = match kind {
        "ConfigMap" => (object.text_at(&["data", "version"]), String::new()),
        _ => {
            let replicas = object.integer_at(&["spec", "replicas"]).unwrap_or(-1);
            let more = of_workload(replicas, object.label("mark").is_some());
            (object.label("version"), more)
        }
    };
    let (name, version) = (object.name(), version.unwrap_or("?"));
    format!("{member} {kind} {name} {version}{more}")
}

/// Something happens: who writes changes their mind, or there is trouble.
async fn happen(stage: &Stage, wish: &mut Wish, chance: &mut Chance, version: usize) -> String {
    let (kind, name) = chance.pick(&TEMPLATES);
    let key = (kind, name);
    match chance.of(18) {
        0..=3 => {
            wish.templates.insert(key, version);
            stage.apply(&template(kind, name, version)).await;
            format!("{kind} {name} becomes {version}")
        }
        4 | 5 if wish.templates.remove(&key).is_some() => {
            stage.delete(kind, &format!("test/{name}")).await;
            format!("{kind} {name} goes")
        }
        6 if wish.templates.contains_key(&key) => {
            wish.templates.insert(key, version);
            stage.delete(kind, &format!("test/{name}")).await;
            stage.apply(&template(kind, name, version)).await;
            format!("{kind} {name} is replaced by {version}")
        }
        7..=9 => {
            wish.places.insert(kind, chance.members());
            stage.apply(&wish.policy(kind)).await;
            format!("{kind}s go to {:?}", wish.places[kind])
        }
        10 => {
            let policy = format!("test/{}", policy_of(kind));
            let _ = stage.try_delete("propagationpolicies", &policy).await;
            format!("nobody speaks for {kind}s")
        }
        11 => {
            wish.marked = chance.members();
            let all: Vec<&str> = wish.marked.iter().copied().collect();
            let mark = "{labelsOverrider: [{operator: add, value: {mark: made}}]}";
            let rule = overriding("mark", DEPLOYMENTS, &all.join(", "), mark);
            stage.apply(&rule).await;
            format!("{all:?} mark")
        }
        12 => {
            wish.suspended = match chance.of(2) {
                0 => BTreeSet::new(),
                _ => BTreeSet::from([chance.pick(&MEMBERS)]),
            };
            stage.apply(&wish.policy(kind)).await;
            format!("{:?} are suspended", wish.suspended)
        }
        _ => trouble(stage, chance, (kind, name)).await,
    }
}

/// What nobody asked for.
async fn trouble(stage: &Stage, chance: &mut Chance, (kind, name): (&str, &str)) -> String {
    let member = chance.pick(&MEMBERS);
    let faults = stage.member(member).faults();
    match chance.of(5) {
        0 => {
            match chance.of(3) {
                0 => faults.cut_off(true),
                1 => faults.change(|state| state.fail_percent = 50),
                _ => faults.heal(),
            }
            format!("{member} has {:?}", faults.state())
        }
        1 => {
            let copy = stage.copy(member, kind, &format!("test/{name}"));
            let by_hand = json!({"metadata": {"labels": {"version": "hand"}}, "data": {"version": "hand"}, "spec": {"replicas": 9}});
            match (copy.is_there().await, chance.of(2)) {
                (true, 0) => copy.delete().await,
                (true, _) => copy.patch(by_hand).await,
                (false, _) => {}
            }
            format!("{copy} is changed by hand")
        }
        2 => {
            stage.restart().await;
            "a restart".to_owned()
        }
        3 if !faults.state().cut_off => {
            // What cannot be reached keeps what it has when it is let go, and this is not about that.
            faults.heal();
            if stage.template("clusters", member).is_missing().await {
                stage.join(member).await;
                return format!("{member} comes");
            }
            stage.until_ready(member).await;
            stage.unjoin(member, &UnjoinOptions::new(member)).await;
            format!("{member} goes")
        }
        _ => {
            let span = chance.pick(&[20, 500, 3_000, 60_000]);
            stage.advance(Duration::from_millis(span)).await;
            format!("{span} ms pass")
        }
    }
}

async fn live(seed: u64) {
    let stage = Stage::with(3).await;
    let (mut wish, mut chance) = (Wish::default(), Chance(seed));
    for kind in ["ConfigMap", "Deployment"] {
        wish.places.insert(kind, BTreeSet::from(MEMBERS));
    }
    let mut story = Vec::new();
    for version in 0..EVENTS {
        let happened = happen(&stage, &mut wish, &mut chance, version).await;
        story.push(happened);
        for _ in 0..chance.of(100) {
            tokio::task::yield_now().await;
        }
    }
    for member in MEMBERS {
        stage.member(member).faults().heal();
        if stage.template("clusters", member).is_missing().await {
            stage.join(member).await;
        }
    }
    wish.suspended.clear();
    for kind in ["ConfigMap", "Deployment"] {
        stage.apply(&wish.policy(kind)).await;
    }
    let expected = wish.expected();
    let mut last = BTreeSet::new();
    let settled = tokio::time::timeout(SOON * 10, async {
        loop {
            last = found(&stage).await;
            if last == expected {
                return;
            }
            stage.advance(Duration::from_secs(1)).await;
        }
    });
    if settled.await.is_err() {
        let missing: Vec<&String> = expected.difference(&last).collect();
        let more: Vec<&String> = last.difference(&expected).collect();
        panic!(
            "seed {seed}: {missing:#?} are missing, {more:#?} are too many\n{story:#?}\n{}",
            stage.report().await
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_does_not_depend_on_how_it_came_about() {
    for seed in SEEDS {
        live(seed).await;
    }
}
