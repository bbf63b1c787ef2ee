//! What runs to an end: Jobs, and the CronJobs that make them.

use object::Value;
use object::time::Time;

use crate::age;
use crate::describe::Facts;
use crate::describe::parts::{metadata, selectors, template};
use crate::describe::sheet::Sheet;
use crate::describe::values::{items, moment, number, or, plain, plain_or, text, truth};

/// The page about a Job.
pub(in crate::describe) fn job(sheet: &mut Sheet, facts: &Facts<'_>) {
    let (spec, status) = (facts.at("spec"), facts.at("status"));
    metadata::names(sheet, facts);
    let selector = selectors::question(&spec["selector"]);
    sheet.field(0, "Selector", selector.unwrap_or_default());
    metadata::marks(sheet, facts.object);
    metadata::controller(sheet, facts.object);
    sheet.field_if(0, "Parallelism", plain(&spec["parallelism"]));
    let completions = plain_or(&spec["completions"], "<unset>");
    sheet.field(0, "Completions", completions);
    for (title, name) in [
        ("Completion Mode", "completionMode"),
        ("Suspend", "suspend"),
        ("Backoff Limit", "backoffLimit"),
        ("TTL Seconds After Finished", "ttlSecondsAfterFinished"),
    ] {
        sheet.field_if(0, title, plain(&spec[name]));
    }
    sheet.field_if(0, "Start Time", moment(&status["startTime"]));
    sheet.field_if(0, "Completed At", moment(&status["completionTime"]));
    sheet.field_if(0, "Duration", duration(status).unwrap_or_default());
    deadline(sheet, spec);
    let count = |name: &str| number(&status[name]);
    let ready = match status["ready"].is_null() {
        true => String::new(),
        false => format!(" ({} Ready)", count("ready")),
    };
    let pods = format!(
        "{} Active{ready} / {} Succeeded / {} Failed",
        count("active"),
        count("succeeded"),
        count("failed")
    );
    sheet.field(0, "Pods Statuses", pods);
    if text(&spec["completionMode"]) == "Indexed" {
        let done = or(text(&status["completedIndexes"]), "<none>");
        sheet.field(0, "Completed Indexes", done);
    }
    template::write(sheet, &spec["template"]);
}

fn duration(status: &Value) -> Option<String> {
    let time = |name: &str| text(&status[name]).parse::<Time>().ok();
    let (began, ended) = (time("startTime")?, time("completionTime")?);
    Some(age::short(ended.seconds_since(began)))
}

fn deadline(sheet: &mut Sheet, spec: &Value) {
    let seconds = plain(&spec["activeDeadlineSeconds"]);
    if !seconds.is_empty() {
        sheet.field(0, "Active Deadline Seconds", format!("{seconds}s"));
    }
}

/// The page about a CronJob.
pub(in crate::describe) fn cron_job(sheet: &mut Sheet, facts: &Facts<'_>) {
    let (spec, status) = (facts.at("spec"), facts.at("status"));
    let job = &spec["jobTemplate"]["spec"];
    metadata::names(sheet, facts);
    metadata::marks(sheet, facts.object);
    sheet.field(0, "Schedule", text(&spec["schedule"]));
    sheet.field(0, "Concurrency Policy", text(&spec["concurrencyPolicy"]));
    sheet.field(0, "Suspend", truth(&spec["suspend"]));
    for (title, name) in [
        ("Successful Job History Limit", "successfulJobsHistoryLimit"),
        ("Failed Job History Limit", "failedJobsHistoryLimit"),
    ] {
        sheet.field(0, title, plain_or(&spec[name], "<unset>"));
    }
    let late = match spec["startingDeadlineSeconds"].is_null() {
        true => "<unset>".to_owned(),
        false => format!("{}s", number(&spec["startingDeadlineSeconds"])),
    };
    sheet.field(0, "Starting Deadline Seconds", late);
    let selector = match job["selector"].is_null() {
        true => "<unset>".to_owned(),
        false => selectors::selector(&job["selector"]),
    };
    sheet.field(0, "Selector", selector);
    for (title, name) in [
        ("Parallelism", "parallelism"),
        ("Completions", "completions"),
    ] {
        sheet.field(0, title, plain_or(&job[name], "<unset>"));
    }
    deadline(sheet, job);
    template::write(sheet, &job["template"]);
    let last = or(moment(&status["lastScheduleTime"]), "<unset>");
    sheet.field(0, "Last Schedule Time", last);
    let active: Vec<&str> = items(&status["active"])
        .iter()
        .map(|job| text(&job["name"]))
        .collect();
    sheet.field(0, "Active Jobs", or(active.join(", "), "<none>"));
}
