//! The size that is promised: members and bindings by the thousand, and a restart with all of them.

use std::time::{Duration, Instant};

use super::Bench;
use super::footprint::{MIB, settled, share_over};
use super::measure::{NAMESPACE, Watching};
use super::propagate::Templates;
use crate::error::BenchError;
use crate::objects::{self, Kind};
use crate::report::Step;
use crate::target::Target;
use crate::wire::{Ask, Wire};
use crate::workload::{Size, Stage};

impl Bench<'_> {
    /// Joins members, gives each its share of the templates, kills the control plane and starts it again.
    pub(super) async fn big(
        &self,
        name: &str,
        members: usize,
        templates: usize,
    ) -> Result<Step, BenchError> {
        let begun = Instant::now();
        let mut target = self.stage(name, Stage::Members(members)).await?;
        let joined = begun.elapsed();
        self.share_out(&target).await?;
        let resting = share_over(&target, resting_time(self.settings.size)).await;
        let idle = target.weight().memory;

        let before = Templates {
            kind: Kind::ConfigMap,
            count: templates,
            pace: None,
            prefix: "before-".to_owned(),
        };
        let mut expected = Vec::new();
        for (index, (_, door)) in target.members.iter().enumerate() {
            let share = (index..templates).step_by(members).count();
            expected.push(before.expect_in(door, share).await?);
        }
        let watching = Watching::begin(&target);
        let done = self.follow(&target, &before, expected).await?;
        let mut step = watching.end(name, &target, done);
        settled(&target, resting).await?;
        let full = target.weight().memory;

        let begun = Instant::now();
        let ready = target.restart().await?;
        let through = self.one_more(&target).await.map(|()| begun.elapsed())?;
        settled(&target, resting).await?;
        let caught_up = begun.elapsed();

        step.figure("members", members as f64);
        step.figure("join s", joined.as_secs_f64());
        step.figure("idle % of a core", resting * 100.0);
        step.figure("idle MiB", idle as f64 / MIB);
        step.figure("MiB", full as f64 / MIB);
        step.figure("ready ms", ready.as_secs_f64() * 1e3);
        step.figure("first change ms", through.as_secs_f64() * 1e3);
        step.figure("quiet s", caught_up.as_secs_f64());
        step.figure("MiB after restart", target.weight().memory as f64 / MIB);
        Ok(step)
    }

    /// A policy for each member.
    async fn share_out(&self, target: &Target) -> Result<(), BenchError> {
        let mut wire = Wire::open(&target.control).await?;
        let path = objects::policies(NAMESPACE);
        let members = target.members.len();
        for (index, (member, _)) in target.members.iter().enumerate() {
            let policy = objects::policy_for(member, index, members);
            let answer = wire.ask(Ask::post(path.clone(), policy)).await?;
            answer.accepted("create a member's policy")?;
        }
        Ok(())
    }

    /// A template that goes to the first member.
    async fn one_more(&self, target: &Target) -> Result<(), BenchError> {
        let after = Templates {
            kind: Kind::ConfigMap,
            count: 1,
            pace: None,
            prefix: "after-".to_owned(),
        };
        let Some((_, first)) = target.members.first() else {
            return Ok(());
        };
        let expected = vec![after.expect_in(first, after.count).await?];
        self.follow(target, &after, expected).await.map(drop)
    }
}

/// Over how long a control plane with nothing to do is looked at: long enough for every member's status to come once.
fn resting_time(size: Size) -> Duration {
    Duration::from_secs(match size {
        Size::Trial => 1,
        Size::Small => 10,
        Size::Usual | Size::Large => 20,
    })
}
