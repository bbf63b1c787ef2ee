//! CronJob.

use api::work::v1alpha2::AggregatedStatusItem;
use object::{Object, Value};

use crate::{
    error::RuleError,
    native::{KindRules, counters, reported, workload},
};

pub(super) const RULES: KindRules = KindRules {
    aggregate: Some(aggregate),
    dependencies: Some(|template| workload::dependencies_at(template, &POD_SPEC)),
    ..KindRules::of("batch/v1", "CronJob")
};

const POD_SPEC: [&str; 5] = ["spec", "jobTemplate", "spec", "template", "spec"];

/// The jobs that run in any member, and the latest times of all.
fn aggregate(
    template: &Object,
    items: &[AggregatedStatusItem],
) -> Result<Option<Value>, RuleError> {
    let mut status = counters::current_status(template)?;
    let mut active = Vec::new();
    for (_, member) in reported(items) {
        for job in member.at(&["active"])?.list()? {
            active.extend(job.raw().cloned());
        }
    }
    if active.is_empty() {
        status.shift_remove("active");
    } else {
        status.insert("active".to_owned(), Value::Array(active));
    }
    for name in ["lastScheduleTime", "lastSuccessfulTime"] {
        let mut latest = None;
        for (_, member) in reported(items) {
            // `None` is before every moment; of equal ones the first stays, as it was written there.
            if let Some(moment) = member.at(&[name])?.time()?
                && latest.is_none_or(|(time, _)| time < moment.0)
            {
                latest = Some(moment);
            }
        }
        match latest {
            Some((_, text)) => {
                status.insert(name.to_owned(), Value::from(text));
            }
            None => {
                status.shift_remove(name);
            }
        }
    }
    Ok(Some(Value::Object(status)))
}
