//! Workloads as data: the files in `workloads/`.

use serde::Deserialize;
use serde_json::Value;

use crate::error::BenchError;
use crate::objects::{Kind, Mode};

/// Every workload there is, in the order they are run.
const FILES: [&str; 8] = [
    include_str!("../workloads/footprint.yaml"),
    include_str!("../workloads/api.yaml"),
    include_str!("../workloads/schedule.yaml"),
    include_str!("../workloads/propagate.yaml"),
    include_str!("../workloads/status.yaml"),
    include_str!("../workloads/restart.yaml"),
    include_str!("../workloads/scale.yaml"),
    include_str!("../workloads/big.yaml"),
];

/// What is done to a target, step by step.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// What to call it by.
    pub name: String,
    /// What it shows.
    pub about: String,
    pub(crate) stage: Stage,
    pub(crate) steps: Vec<Planned>,
}

/// What has to be there before it begins.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Stage {
    /// A control plane.
    Server,
    /// A control plane that schedules and does nothing else: the clusters it looks at are not there.
    Scheduler,
    /// A control plane with so many members.
    Members(usize),
    /// Whatever each step brings.
    Nothing,
}

/// A step and its name.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Planned {
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) work: Work,
}

/// What a step does.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Work {
    /// Creates objects.
    Create(Asked),
    /// Reads what was created, one by one.
    Get(Asked),
    /// Changes it by merge patch.
    Patch(Asked),
    /// Changes it by server-side apply.
    Apply(Asked),
    /// Deletes it.
    Delete(Asked),
    /// Lists a namespace that has so many objects, whole or one in a hundred by label.
    List {
        objects: Scaled,
        lists: Scaled,
        clients: usize,
        #[serde(default)]
        selected: bool,
    },
    /// Changes one object before many watchers.
    FanOut { watchers: Scaled, writes: Scaled },
    /// Creates bindings and waits for their targets.
    Schedule {
        mode: Mode,
        clusters: usize,
        bindings: Scaled,
        #[serde(default)]
        pace: Option<f64>,
    },
    /// Creates templates and waits until every member has them.
    Propagate {
        kind: Kind,
        count: Scaled,
        #[serde(default)]
        pace: Option<f64>,
    },
    /// Creates Deployments and waits until the templates say that all replicas are ready.
    Ready {
        count: Scaled,
        #[serde(default)]
        pace: Option<f64>,
    },
    /// Kills a control plane that has propagated so many templates, and starts it again.
    Restart { members: usize, templates: Scaled },
    /// Starts a control plane, with so many members.
    Start { members: usize },
    /// Lets a server hold so many objects.
    Hold { objects: Scaled },
    /// Joins so many members and propagates to all of them.
    Scale { members: Scaled, templates: Scaled },
    /// Joins so many members, gives each its share of the templates, kills the control plane and starts it again.
    Big { members: Scaled, templates: Scaled },
}

/// Requests by several clients.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    pub(crate) count: Scaled,
    pub(crate) clients: usize,
}

/// A number for each size of run.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scaled {
    small: usize,
    usual: usize,
    large: usize,
}

impl Scaled {
    /// Zero leaves the step out.
    pub(crate) fn at(self, size: Size) -> usize {
        match size {
            Size::Trial => self.small.div_ceil(TRIAL),
            Size::Small => self.small,
            Size::Usual => self.usual,
            Size::Large => self.large,
        }
    }
}

/// A trial does one in so many of what a small run does.
const TRIAL: usize = 50;

/// How large a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Size {
    /// To see that everything works; its figures mean nothing.
    Trial,
    /// Everything within two minutes.
    Small,
    /// Enough for steady figures.
    #[default]
    Usual,
    /// Up to the sizes that are promised.
    Large,
}

impl Size {
    /// As it is written in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Trial => "trial",
            Self::Small => "small",
            Self::Usual => "usual",
            Self::Large => "large",
        }
    }
}

/// The workloads of these names, or all of them.
pub fn workloads(names: &[String]) -> Result<Vec<Workload>, BenchError> {
    let all: Vec<Workload> = FILES.iter().filter_map(|text| parse(text).ok()).collect();
    for name in names {
        if !all.iter().any(|workload| workload.name == *name) {
            let known: Vec<&str> = all.iter().map(|workload| workload.name.as_str()).collect();
            return Err(BenchError::Unknown {
                name: name.clone(),
                known: known.join(", "),
            });
        }
    }
    let wanted = |workload: &Workload| names.is_empty() || names.contains(&workload.name);
    Ok(all.into_iter().filter(wanted).collect())
}

fn parse(text: &str) -> Result<Workload, String> {
    let value: Value = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
    serde_json::from_value(value).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_a_workload() {
        for text in FILES {
            let workload = parse(text).unwrap();
            assert!(!workload.steps.is_empty(), "{}", workload.name);
        }
        assert_eq!(workloads(&[]).unwrap().len(), FILES.len());
    }

    #[test]
    fn a_wrong_name_is_answered_with_the_right_ones() {
        let error = workloads(&["apo".to_owned()]).unwrap_err().to_string();
        assert!(
            error.contains("\"apo\"") && error.contains("api"),
            "{error}"
        );
    }
}
