//! One job status for many members: how far they are, and how it ended.

use api::work::v1alpha2::AggregatedStatusItem;
use object::{Map, Object, Value, time::Time};

use crate::{error::RuleError, native::reported, node::Node};

/// The ends of a job, in `status.conditions[].type`.
const COMPLETE: &str = "Complete";
const FAILED: &str = "Failed";
/// Enough has succeeded, though pods may still be ending.
const CRITERIA_MET: &str = "SuccessCriteriaMet";

/// Moments with the text they were read from, so that they are written as the member wrote them.
type Moment<'v> = (Time, &'v str);

/// What the members have to say together.
#[derive(Default)]
struct Tally<'v> {
    counts: [i64; 3],
    complete: usize,
    completed_at: Option<Moment<'v>>,
    failed_in: Vec<&'v str>,
    failed_at: Option<Moment<'v>>,
    criteria_met: usize,
    met_at: Option<Moment<'v>>,
    started: usize,
    first_start: Option<Moment<'v>>,
    ended: usize,
    last_end: Option<Moment<'v>>,
}

const COUNTS: [&str; 3] = ["active", "succeeded", "failed"];

/// The template's next status. A template that has ended is never touched again: its end has been acted upon.
///
/// One failed member makes the template fail, even while others still run.
pub(super) fn aggregate(
    template: &Object,
    items: &[AggregatedStatusItem],
) -> Result<Option<Value>, RuleError> {
    let root = Node::of(template);
    let before = root.at(&["status"])?;
    if ending(before)?.is_some() {
        return Ok(None);
    }
    let mut tally = Tally::default();
    for (cluster, status) in reported(items) {
        tally.add(cluster, status)?;
    }

    let mut status = Map::new();
    let conditions = tally.conditions(items.len());
    if !conditions.is_empty() {
        status.insert("conditions".to_owned(), Value::Array(conditions));
    }
    let start = before.at(&["startTime"])?.text()?;
    let is_started = tally.started == items.len();
    let first = tally
        .first_start
        .filter(|_| is_started)
        .map(|(_, text)| text);
    if let Some(start) = start.or(first) {
        status.insert("startTime".to_owned(), Value::from(start));
    }
    if let Some((_, end)) = tally.last_end
        && tally.ended == items.len()
    {
        status.insert("completionTime".to_owned(), Value::from(end));
    }
    for (name, count) in COUNTS.into_iter().zip(tally.counts) {
        if count != 0 {
            let count = count.clamp(i32::MIN.into(), i32::MAX.into());
            status.insert(name.to_owned(), Value::from(count));
        }
    }
    Ok(Some(Value::Object(status)))
}

impl<'v> Tally<'v> {
    fn add(&mut self, cluster: &'v str, status: Node<'v, '_>) -> Result<(), RuleError> {
        for (name, total) in COUNTS.iter().zip(&mut self.counts) {
            let count = status.at(&[name])?.integer()?;
            *total = total.saturating_add(count.unwrap_or_default());
        }
        match ending(status)? {
            Some((COMPLETE, moment)) => {
                self.complete += 1;
                self.completed_at = later(self.completed_at, moment);
            }
            Some((_, moment)) => {
                self.failed_in.push(cluster);
                self.failed_at = earlier(self.failed_at, moment);
            }
            None => {}
        }
        if let Some(moment) = holding(status, &[CRITERIA_MET])? {
            self.criteria_met += 1;
            self.met_at = later(self.met_at, moment.1);
        }
        if let Some(start) = status.at(&["startTime"])?.time()? {
            self.started += 1;
            self.first_start = earlier(self.first_start, Some(start));
        }
        if let Some(end) = status.at(&["completionTime"])?.time()? {
            self.ended += 1;
            self.last_end = later(self.last_end, Some(end));
        }
        Ok(())
    }

    fn conditions(&self, members: usize) -> Vec<Value> {
        let mut conditions = Vec::new();
        if !self.failed_in.is_empty() {
            let message = format!("the job failed in: {}", self.failed_in.join(","));
            conditions.push(condition(FAILED, "JobFailed", &message, self.failed_at));
        }
        if self.complete == 0 || self.complete != members {
            return conditions;
        }
        conditions.push(condition(
            COMPLETE,
            "Completed",
            "the job is complete in every cluster",
            self.completed_at,
        ));
        if self.criteria_met == members {
            conditions.push(condition(
                CRITERIA_MET,
                "CompletionsReached",
                "enough has succeeded in every cluster",
                self.met_at,
            ));
        }
        conditions
    }
}

/// How the job of this status ended, and when.
fn ending<'v>(
    status: Node<'v, '_>,
) -> Result<Option<(&'static str, Option<Moment<'v>>)>, RuleError> {
    holding(status, &[COMPLETE, FAILED])
}

/// The first condition that holds and is of one of these types, with the time it began to.
fn holding<'v>(
    status: Node<'v, '_>,
    types: &[&'static str],
) -> Result<Option<(&'static str, Option<Moment<'v>>)>, RuleError> {
    for condition in status.at(&["conditions"])?.list()? {
        let found = condition.at(&["type"])?.text_or_empty()?;
        let Some(wanted) = types.iter().find(|wanted| **wanted == found) else {
            continue;
        };
        if condition.at(&["status"])?.text()? == Some("True") {
            let since = condition.at(&["lastTransitionTime"])?.time()?;
            return Ok(Some((wanted, since)));
        }
    }
    Ok(None)
}

/// A condition that holds since a member said so: the answer to the same question is the same at any time.
/// Upstream: the times are those of the aggregation.
fn condition(r#type: &str, reason: &str, message: &str, since: Option<Moment<'_>>) -> Value {
    let mut fields = Map::new();
    fields.insert("type".to_owned(), Value::from(r#type));
    fields.insert("status".to_owned(), Value::from("True"));
    if let Some((_, text)) = since {
        fields.insert("lastProbeTime".to_owned(), Value::from(text));
        fields.insert("lastTransitionTime".to_owned(), Value::from(text));
    }
    fields.insert("reason".to_owned(), Value::from(reason));
    fields.insert("message".to_owned(), Value::from(message));
    Value::Object(fields)
}

fn earlier<'v>(a: Option<Moment<'v>>, b: Option<Moment<'v>>) -> Option<Moment<'v>> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.0 < a.0 { b } else { a }),
        (a, b) => a.or(b),
    }
}

fn later<'v>(a: Option<Moment<'v>>, b: Option<Moment<'v>>) -> Option<Moment<'v>> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.0 > a.0 { b } else { a }),
        (a, b) => a.or(b),
    }
}
