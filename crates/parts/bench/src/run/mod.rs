//! Taking targets through workloads.

mod api;
mod big;
mod fan_out;
mod footprint;
mod measure;
mod propagate;
mod schedule;

use crate::error::BenchError;
use crate::progress::Progress;
use crate::report::{Machine, Report, Step, WorkloadReport};
use crate::target::{Given, Own, Target};
use crate::wire::{Ask, Wire};
use crate::workload::{Planned, Size, Stage, Work, Workload};

/// How a run is to be.
#[derive(Debug)]
pub struct Settings {
    /// What is measured: servers that are there, or else processes of our own.
    pub given: Option<Given>,
    /// How to start processes.
    pub own: Own,
    /// How much of each.
    pub size: Size,
    /// Which version of the program this is.
    pub version: String,
}

/// What steps need to know.
pub(crate) struct Bench<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) progress: &'a dyn Progress,
}

/// Runs workloads one after the other, each on a stage of its own.
pub async fn run(
    workloads: &[Workload],
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<Report, BenchError> {
    let bench = Bench { settings, progress };
    let mut done = Vec::new();
    for workload in workloads {
        done.push(bench.workload(workload).await?);
    }
    Ok(Report {
        machine: Machine::this(),
        version: settings.version.clone(),
        size: settings.size.name().to_owned(),
        target: match &settings.given {
            Some(_) => "given by kubeconfig".to_owned(),
            None => "started for the run".to_owned(),
        },
        at: jiff::Timestamp::now().strftime("%FT%TZ").to_string(),
        workloads: done,
    })
}

impl Bench<'_> {
    async fn workload(&self, workload: &Workload) -> Result<WorkloadReport, BenchError> {
        let mut target = match workload.stage {
            Stage::Nothing => None,
            stage => Some(self.stage(&workload.name, stage).await?),
        };
        let mut steps = Vec::new();
        for (number, planned) in workload.steps.iter().enumerate() {
            if planned.work.is_left_out(self.settings.size) {
                continue;
            }
            self.progress
                .begin(&format!("{}: {}", workload.name, planned.name));
            let step = match &mut target {
                Some(target) => self.step_on(target, planned, number).await?,
                None => self.step_alone(planned).await?,
            };
            self.progress.end(&step.headline());
            steps.push(step);
        }
        if let Some(target) = target {
            target.clean_up().await?;
        }
        Ok(WorkloadReport {
            name: workload.name.clone(),
            about: workload.about.clone(),
            steps,
        })
    }

    /// What a workload begins with.
    pub(crate) async fn stage(&self, workload: &str, stage: Stage) -> Result<Target, BenchError> {
        let target = match &self.settings.given {
            None => self.settings.own.start(stage).await?,
            Some(given) => given.open().await?,
        };
        if let Stage::Members(_) = stage
            && target.members.is_empty()
        {
            return Err(BenchError::Unfit {
                workload: workload.to_owned(),
                needs: "members, given by --members",
            });
        }
        let mut wire = Wire::open(&target.control).await?;
        measure::make_namespace(&mut wire).await?;
        Ok(target)
    }

    async fn step_on(
        &self,
        target: &mut Target,
        planned: &Planned,
        number: usize,
    ) -> Result<Step, BenchError> {
        let name = &planned.name;
        match &planned.work {
            Work::Create(asked) => self.requests(target, name, asked, api::Verb::Create).await,
            Work::Get(asked) => self.requests(target, name, asked, api::Verb::Get).await,
            Work::Patch(asked) => self.requests(target, name, asked, api::Verb::Patch).await,
            Work::Apply(asked) => self.requests(target, name, asked, api::Verb::Apply).await,
            Work::Delete(asked) => self.requests(target, name, asked, api::Verb::Delete).await,
            Work::List { .. } => self.lists(target, planned).await,
            Work::FanOut { .. } => self.fan_out(target, planned).await,
            Work::Schedule { .. } => self.schedule(target, planned, number).await,
            Work::Propagate { .. } | Work::Ready { .. } => {
                self.propagate(target, planned, number).await
            }
            Work::Restart { .. }
            | Work::Start { .. }
            | Work::Hold { .. }
            | Work::Scale { .. }
            | Work::Big { .. } => self.step_alone(planned).await,
        }
    }

    /// Steps that bring their own stage.
    async fn step_alone(&self, planned: &Planned) -> Result<Step, BenchError> {
        if self.settings.given.is_some() {
            return Err(BenchError::Unfit {
                workload: planned.name.clone(),
                needs: "processes it may start and kill; servers given by kubeconfig are left alone",
            });
        }
        match &planned.work {
            Work::Start { members } => self.start(&planned.name, *members).await,
            Work::Hold { objects } => {
                self.hold(&planned.name, objects.at(self.settings.size))
                    .await
            }
            Work::Restart { members, templates } => {
                let templates = templates.at(self.settings.size);
                self.restart(&planned.name, *members, templates).await
            }
            Work::Scale { members, templates } => {
                let size = self.settings.size;
                self.scale(&planned.name, members.at(size), templates.at(size))
                    .await
            }
            Work::Big { members, templates } => {
                let size = self.settings.size;
                self.big(&planned.name, members.at(size), templates.at(size))
                    .await
            }
            _ => Err(BenchError::Unfit {
                workload: planned.name.clone(),
                needs: "a stage",
            }),
        }
    }
}

impl Work {
    /// A size at which there is nothing to do.
    fn is_left_out(&self, size: Size) -> bool {
        let count = match self {
            Self::Create(asked)
            | Self::Get(asked)
            | Self::Patch(asked)
            | Self::Apply(asked)
            | Self::Delete(asked) => asked.count,
            Self::List { lists, .. } => *lists,
            Self::FanOut { watchers, .. } => *watchers,
            Self::Schedule { bindings, .. } => *bindings,
            Self::Propagate { count, .. } | Self::Ready { count, .. } => *count,
            Self::Restart { templates, .. } => *templates,
            Self::Hold { objects } => *objects,
            Self::Scale { members, .. } | Self::Big { members, .. } => *members,
            Self::Start { .. } => return false,
        };
        count.at(size) == 0
    }
}

impl Target {
    /// Leaves other people's servers as they were. What was started for the run ends with it.
    async fn clean_up(self) -> Result<(), BenchError> {
        if self.started.is_some() {
            return Ok(());
        }
        let mut wire = Wire::open(&self.control).await?;
        schedule::remove_clusters(&mut wire).await?;
        let path = format!("/api/v1/namespaces/{}", measure::NAMESPACE);
        let ask = Ask::new(http::Method::DELETE, path, "", bytes::Bytes::new());
        wire.ask(ask)
            .await?
            .accepted("delete the namespace")
            .map(drop)
    }
}
