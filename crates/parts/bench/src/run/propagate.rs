//! Templates that go to members, and their status that comes back.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::Bench;
use super::footprint::rested;
use super::measure::{Done, NAMESPACE, Watching};
use crate::error::BenchError;
use crate::load::{self, Load};
use crate::objects::{self, Kind};
use crate::report::Step;
use crate::target::Target;
use crate::watch::{Event, Lookout};
use crate::wire::{Ask, Wire};
use crate::workload::{Planned, Work};

const CLIENTS: usize = 16;
const PATIENCE: Duration = Duration::from_secs(1200);

/// A watch, and how many templates it is to see.
pub(super) struct Expected {
    pub(super) lookout: Lookout,
    pub(super) count: usize,
}

/// Templates to be made.
#[derive(Clone)]
pub(super) struct Templates {
    pub(super) kind: Kind,
    pub(super) count: usize,
    pub(super) pace: Option<f64>,
    /// Their names, before the number.
    pub(super) prefix: String,
}

impl Bench<'_> {
    pub(super) async fn propagate(
        &self,
        target: &Target,
        planned: &Planned,
        number: usize,
    ) -> Result<Step, BenchError> {
        let (kind, count, pace, comes_back) = match &planned.work {
            Work::Propagate { kind, count, pace } => (*kind, *count, *pace, false),
            Work::Ready { count, pace } => (Kind::Deployment, *count, *pace, true),
            _ => {
                return Err(BenchError::Unfit {
                    workload: planned.name.clone(),
                    needs: "templates",
                });
            }
        };
        let templates = Templates {
            kind,
            count: count.at(self.settings.size),
            pace,
            prefix: format!("step{number}-"),
        };
        if target.started.is_some() {
            // What the step before left behind is not to be counted with this one.
            rested(target).await?;
        }
        let watching = Watching::begin(target);
        let done = match comes_back {
            false => self.send(target, &templates).await?,
            true => self.send_and_return(target, &templates).await?,
        };
        let mut step = watching.end(&planned.name, target, done);
        step.figure("members", target.members.len() as f64);
        Ok(step)
    }

    /// Makes templates and waits until every member has each of them; a time is that of the last member.
    pub(super) async fn send(
        &self,
        target: &Target,
        templates: &Templates,
    ) -> Result<Done, BenchError> {
        self.apply_policy(target).await?;
        let mut expected = Vec::new();
        for (_, door) in &target.members {
            expected.push(templates.expect_in(door, templates.count).await?);
        }
        self.follow(target, templates, expected).await
    }

    /// Makes templates and waits until they say themselves that all their replicas are ready.
    async fn send_and_return(
        &self,
        target: &Target,
        templates: &Templates,
    ) -> Result<Done, BenchError> {
        self.apply_policy(target).await?;
        // A copy in each member: the template's status is the sum.
        let (ours, members) = (templates.prefix.clone(), target.members.len() as i64);
        let good = move |event: &Event| {
            let object = &event.object;
            object.metadata.name.starts_with(&ours)
                && object.status.observed_generation == object.metadata.generation
                && object.status.ready_replicas >= object.spec.replicas * members
        };
        let path = templates.kind.path(NAMESPACE);
        let expected = Expected {
            lookout: Lookout::begin(&target.control, &path, good).await?,
            count: templates.count,
        };
        self.follow(target, templates, vec![expected]).await
    }

    /// Makes templates and waits until each watch has seen its share of them.
    pub(super) async fn follow(
        &self,
        target: &Target,
        templates: &Templates,
        mut everywhere: Vec<Expected>,
    ) -> Result<Done, BenchError> {
        let load = Load {
            count: templates.count,
            clients: CLIENTS,
            pace: templates.pace,
        };
        let kind = templates.kind;
        let (path, prefix) = (kind.path(NAMESPACE), templates.prefix.clone());
        let outcome = load::run(&target.control, load, self.progress, move |index| {
            Ask::post(path.clone(), kind.object(&format!("{prefix}{index}"), 1))
        })
        .await?;
        let accepted = templates.count - outcome.failures;
        let mut last_seen: BTreeMap<String, Instant> = BTreeMap::new();
        for Expected { lookout, count } in &mut everywhere {
            lookout
                .until(
                    "the arrival of all templates",
                    accepted.min(*count),
                    PATIENCE,
                    self.progress,
                )
                .await?;
            for (name, at) in lookout.sightings() {
                let last = last_seen.entry(name).or_insert(at);
                *last = at.max(*last);
            }
        }
        let (latencies, took) = outcome.until(&last_seen);
        Ok(Done {
            count: accepted,
            failures: outcome.failures,
            first_failure: outcome.first_failure,
            latencies,
            took,
            paced: templates.pace.is_some(),
        })
    }

    /// The policy that sends everything everywhere; it may be there from a step before.
    async fn apply_policy(&self, target: &Target) -> Result<(), BenchError> {
        let path = objects::policies(NAMESPACE);
        let mut wire = Wire::open(&target.control).await?;
        let answer = wire.ask(Ask::post(path, objects::policy("bench"))).await?;
        if answer.status == http::StatusCode::CONFLICT {
            return Ok(());
        }
        answer.accepted("create the policy").map(drop)
    }
}

impl Templates {
    /// A watch in a member for so many of these.
    pub(super) async fn expect_in(
        &self,
        door: &client::Door,
        count: usize,
    ) -> Result<Expected, BenchError> {
        wait_for_namespace(door).await?;
        let ours = self.prefix.clone();
        let good = move |event: &Event| event.object.metadata.name.starts_with(&ours);
        let lookout = Lookout::begin(door, &self.kind.path(NAMESPACE), good).await?;
        Ok(Expected { lookout, count })
    }
}

/// A namespace reaches members on its own way; what is measured begins when it is there.
async fn wait_for_namespace(door: &client::Door) -> Result<(), BenchError> {
    let mut wire = Wire::open(door).await?;
    let deadline = Instant::now() + Duration::from_secs(60);
    let path = format!("/api/v1/namespaces/{NAMESPACE}");
    while !wire.ask(Ask::get(path.clone())).await?.status.is_success() {
        if Instant::now() > deadline {
            return Err(BenchError::Late {
                what: "the namespace's arrival in a member".to_owned(),
                seconds: 60,
                seen: "nothing".to_owned(),
            });
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}
