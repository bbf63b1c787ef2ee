//! Rules about workloads: what they select, how many, and how they roll out changes.

use jiff::tz::TimeZone;
use object::{Value, duration::Duration, field::FieldError, names};

use super::{
    job_policy,
    rules::counts,
    selector::{chooses_template, matches_template, texts},
    spot::{Errors, Spot},
    words::{at_most_all, count_or_percent},
};

/// Pods of a cron job's job are named after both, so the cron job's name leaves room: 63 less eleven.
const CRON_JOB_NAME: usize = 52;

pub(super) fn deployment(deployment: &Spot<'_>, errors: &mut Errors) {
    let spec = deployment.field("spec");
    let numbers = [
        "replicas",
        "minReadySeconds",
        "revisionHistoryLimit",
        "progressDeadlineSeconds",
    ];
    counts(&spec, &numbers, errors);
    chooses_template(&spec, "deployment", errors);
    keeps_running(&spec, "ReplicaSet", errors);
    let deadline = spec.field("progressDeadlineSeconds");
    let ready = spec.field("minReadySeconds").number().unwrap_or(0);
    if deadline.number().is_some_and(|deadline| deadline <= ready) {
        errors.push(deadline.invalid("must be greater than minReadySeconds"));
    }
    let strategy = spec.field("strategy");
    let rolling = strategy.field("rollingUpdate");
    match strategy.field("type").text() {
        "Recreate" if rolling.is_set() => {
            errors
                .push(rolling.forbidden("may not be specified when strategy `type` is 'Recreate'"));
        }
        "RollingUpdate" => {
            let (unavailable, surge) = (rolling.field("maxUnavailable"), rolling.field("maxSurge"));
            let down = count_or_percent(&unavailable, errors);
            if down == 0 && count_or_percent(&surge, errors) == 0 {
                errors.push(unavailable.invalid("may not be 0 when `maxSurge` is 0"));
            }
            at_most_all(&unavailable, errors);
        }
        _ => {}
    }
}

pub(super) fn replica_set(set: &Spot<'_>, errors: &mut Errors) {
    let spec = set.field("spec");
    counts(&spec, &["replicas", "minReadySeconds"], errors);
    chooses_template(&spec, "deployment", errors);
    keeps_running(&spec, "ReplicaSet", errors);
}

pub(super) fn stateful_set(set: &Spot<'_>, errors: &mut Errors) {
    let spec = set.field("spec");
    counts(
        &spec,
        &["replicas", "minReadySeconds", "revisionHistoryLimit"],
        errors,
    );
    chooses_template(&spec, "statefulset", errors);
    keeps_running(&spec, "StatefulSet", errors);
    let service = spec.field("serviceName");
    if !service.is_empty() {
        service.complain(names::check_dns1123_label(service.text()), errors);
    }
    counts(&spec.field("ordinals"), &["start"], errors);
    let strategy = spec.field("updateStrategy");
    let rolling = strategy.field("rollingUpdate");
    if strategy.field("type").text() == "OnDelete" && rolling.is_set() {
        errors.push(rolling.invalid("only allowed for updateStrategy 'RollingUpdate'"));
    }
    counts(&rolling, &["partition"], errors);
    let unavailable = rolling.field("maxUnavailable");
    if unavailable.is_set() {
        if count_or_percent(&unavailable, errors) == 0 {
            errors.push(unavailable.invalid("cannot be 0"));
        }
        at_most_all(&unavailable, errors);
    }
}

pub(super) fn daemon_set(set: &Spot<'_>, errors: &mut Errors) {
    let spec = set.field("spec");
    counts(&spec, &["minReadySeconds", "revisionHistoryLimit"], errors);
    chooses_template(&spec, "daemonset", errors);
    keeps_running(&spec, "DaemonSet", errors);
    let strategy = spec.field("updateStrategy");
    if strategy.field("type").text() != "RollingUpdate" {
        return;
    }
    let rolling = strategy.field("rollingUpdate");
    let (unavailable, surge) = (rolling.field("maxUnavailable"), rolling.field("maxSurge"));
    let (down, extra) = (
        count_or_percent(&unavailable, errors),
        count_or_percent(&surge, errors),
    );
    at_most_all(&unavailable, errors);
    at_most_all(&surge, errors);
    match (down != 0, extra != 0) {
        (true, true) => {
            errors.push(surge.invalid("may not be set when maxUnavailable is non-zero"))
        }
        (false, false) => errors.push(unavailable.required("cannot be 0 when maxSurge is 0")),
        _ => {}
    }
}

pub(super) fn replication_controller(controller: &Spot<'_>, errors: &mut Errors) {
    let spec = controller.field("spec");
    counts(&spec, &["replicas", "minReadySeconds"], errors);
    let (selector, template) = (spec.field("selector"), spec.field("template"));
    if selector.is_empty() {
        errors.push(selector.required(""));
    }
    if !template.is_set() {
        errors.push(template.required(""));
        return;
    }
    let metadata = template.field("metadata");
    let labels = metadata.field("labels");
    let have = texts(&labels);
    if !texts(&selector)
        .iter()
        .all(|(key, value)| have.get(key) == Some(value))
    {
        errors.push(labels.invalid("`selector` does not match template `labels`"));
    }
    keeps_running(&spec, "ReplicationController", errors);
}

pub(super) fn revision(revision: &Spot<'_>, errors: &mut Errors) {
    counts(revision, &["revision"], errors);
    let data = revision.field("data");
    if !data.is_set() {
        errors.push(data.required("data is mandatory"));
    } else if data.map().is_none() {
        errors.push(data.required("data must be a valid JSON object"));
    }
}

/// A job that is created, in contrast to one that a cron job describes.
pub(super) fn job(job: &Spot<'_>, errors: &mut Errors) {
    let spec = job.field("spec");
    let selector = spec.field("selector");
    if !selector.is_set() {
        errors.push(selector.required(""));
        return;
    }
    matches_template(&spec, errors);
    if !spec.field("manualSelector").is_true() {
        generated_labels(job, &spec, errors);
    }
}

/// What a job runs.
pub(super) fn job_spec(spec: &Spot<'_>, errors: &mut Errors) {
    let numbers = [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ];
    counts(spec, &numbers, errors);
    let per_index = spec.field("backoffLimitPerIndex");
    if spec.field("maxFailedIndexes").is_set() && !per_index.is_set() {
        errors.push(per_index.required("when maxFailedIndexes is specified"));
    }
    job_policy::manager(&spec.field("managedBy"), errors);
    let completions = spec.field("completions");
    if spec.field("completionMode").text() == "Indexed" {
        if !completions.is_set() {
            errors.push(completions.required("when completion mode is Indexed"));
        }
        job_policy::size(spec, errors);
        job_policy::success(spec, errors);
    } else {
        for field in ["backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"] {
            let field = spec.field(field);
            if field.is_set() {
                errors.push(field.invalid("requires indexed completion mode"));
            }
        }
    }
    job_policy::failure(spec, errors);
    let template = spec.field("template");
    let pod = template.field("spec");
    let restart = pod.field("restartPolicy");
    if matches!(restart.text(), "" | "Always") {
        errors.push(restart.required("valid values: \"OnFailure\", \"Never\""));
    } else if spec.field("podFailurePolicy").is_set() && restart.text() == "OnFailure" {
        errors.push(
            restart.invalid("only \"Never\" is supported when podFailurePolicy is specified"),
        );
    }
}

pub(super) fn cron_job(cron_job: &Spot<'_>, errors: &mut Errors) {
    let metadata = cron_job.field("metadata");
    let name = metadata.field("name");
    if name.text().len() > CRON_JOB_NAME {
        errors.push(name.invalid(format!("must be no more than {CRON_JOB_NAME} characters")));
    }
    let spec = cron_job.field("spec");
    counts(
        &spec,
        &[
            "startingDeadlineSeconds",
            "successfulJobsHistoryLimit",
            "failedJobsHistoryLimit",
        ],
        errors,
    );
    let schedule = spec.field("schedule");
    if !schedule.is_empty() {
        if schedule.text().contains("TZ") {
            errors.push(schedule.invalid(if spec.field("timeZone").is_set() {
                "cannot use both timeZone field and TZ or CRON_TZ in schedule"
            } else {
                "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
            }));
        } else if let Err(problem) = check_schedule(schedule.text()) {
            errors.push(schedule.invalid(problem));
        }
    }
    let template = spec.field("jobTemplate");
    let job = template.field("spec");
    let selector = job.field("selector");
    if job.field("manualSelector").is_true() {
        errors.push(job.field("manualSelector").not_supported(&["nil", "false"]));
    } else if selector.is_set() {
        errors.push(selector.invalid("`selector` will be auto-generated"));
    }
}

/// The zone of a CronJob's schedule, where it is new. Upstream: a zone that is no longer known may stay.
pub(super) fn time_zone(cron_job: &Spot<'_>, errors: &mut Errors) {
    let spec = cron_job.field("spec");
    let zone = spec.field("timeZone");
    if !zone.is_set() {
        return;
    }
    if zone.is_empty() {
        errors.push(zone.invalid("timeZone must be nil or non-empty string"));
        return;
    }
    let name = zone.text();
    if name.eq_ignore_ascii_case("local") {
        errors.push(zone.invalid(
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones",
        ));
    }
    // Upstream: names are those of files, with capital letters where these have them.
    let known = TimeZone::get(name).ok().filter(|zone| !zone.is_unknown());
    let is_known = known.is_some_and(|zone| zone.iana_name() == Some(name));
    if !is_known && name != "Local" {
        errors.push(zone.invalid(format!("unknown time zone {name}")));
    }
}

/// Pods of a workload that keeps them running are restarted for ever.
fn keeps_running(spec: &Spot<'_>, kind: &str, errors: &mut Errors) {
    let template = spec.field("template");
    let pod = template.field("spec");
    let restart = pod.field("restartPolicy");
    if restart.text() != "Always" {
        errors.push(FieldError::not_supported(
            restart.path(),
            restart.text(),
            &["Always"],
        ));
    }
    let deadline = pod.field("activeDeadlineSeconds");
    if deadline.is_set() {
        errors
            .push(deadline.forbidden(format!("activeDeadlineSeconds in {kind} is not Supported")));
    }
}

/// The labels and the selector that the server made must be those it would make.
fn generated_labels(job: &Spot<'_>, spec: &Spot<'_>, errors: &mut Errors) {
    let metadata = job.field("metadata");
    let (name, uid) = (metadata.field("name"), metadata.field("uid"));
    if uid.is_empty() {
        errors.push(uid.required(""));
        return;
    }
    let (template, selector) = (spec.field("template"), spec.field("selector"));
    let above = template.field("metadata");
    let labels = above.field("labels");
    for (key, value) in [
        (super::CONTROLLER_UID, uid.text()),
        (super::JOB_NAME, name.text()),
    ] {
        let label = labels.key(key);
        if !label.is_set() {
            errors.push(FieldError::required(
                labels.path().key(key),
                format!("must be '{value}'"),
            ));
        } else if label.text() != value {
            errors.push(label.invalid(format!("must be '{value}'")));
        }
    }
    let expected = selector.field("matchLabels");
    if expected.key(super::CONTROLLER_UID).value != &Value::from(uid.text()) {
        errors.push(selector.invalid("`selector` not auto-generated"));
    }
}

/// Whether a text is a schedule in cron format: five fields, or one of the names for common ones.
fn check_schedule(text: &str) -> Result<(), String> {
    if let Some(name) = text.strip_prefix('@') {
        if let Some(interval) = name.strip_prefix("every ") {
            let read = interval.parse::<Duration>();
            return read
                .map(|_| ())
                .map_err(|problem| format!("failed to parse duration {text}: {problem}"));
        }
        let known = [
            "yearly", "annually", "monthly", "weekly", "daily", "midnight", "hourly",
        ];
        return if known.contains(&name) {
            Ok(())
        } else {
            Err(format!("unrecognized descriptor: {text}"))
        };
    }
    let fields: Vec<&str> = text.split_whitespace().collect();
    let bounds = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 6)];
    if fields.len() != bounds.len() {
        return Err(format!(
            "expected exactly 5 fields, found {}: {fields:?}",
            fields.len()
        ));
    }
    let names: [&[&str]; 5] = [
        &[],
        &[],
        &[],
        &[
            "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
        ],
        &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
    ];
    for ((field, (low, high)), names) in fields.iter().zip(bounds).zip(names) {
        for part in field.split(',') {
            check_schedule_part(part, low, high, names)?;
        }
    }
    Ok(())
}

/// One of the alternatives of a field: `*`, `5`, `1-5`, each perhaps with a step.
fn check_schedule_part(part: &str, low: i64, high: i64, names: &[&str]) -> Result<(), String> {
    let number = |text: &str| -> Result<i64, String> {
        let lower = text.to_lowercase();
        if let Some(place) = names.iter().position(|name| *name == lower) {
            return Ok(low.max(0) + i64::try_from(place).unwrap_or(0));
        }
        let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse()
            .ok()
            .filter(|_| plain)
            .ok_or_else(|| format!("failed to parse int from {text}"))
    };
    let (range, step) = part
        .split_once('/')
        .map_or((part, None), |(range, step)| (range, Some(step)));
    if let Some(step) = step
        && number(step)? == 0
    {
        return Err(format!("step of range should be a positive number: {part}"));
    }
    if matches!(range, "*" | "?") {
        return Ok(());
    }
    let (first, last) = match range.split_once('-') {
        Some((first, last)) => (number(first)?, number(last)?),
        None => {
            let only = number(range)?;
            (only, if step.is_some() { high } else { only })
        }
    };
    if first < low {
        return Err(format!(
            "beginning of range ({first}) below minimum ({low}): {part}"
        ));
    }
    if last > high {
        return Err(format!(
            "end of range ({last}) above maximum ({high}): {part}"
        ));
    }
    if first > last {
        return Err(format!(
            "beginning of range ({first}) beyond end of range ({last}): {part}"
        ));
    }
    Ok(())
}
