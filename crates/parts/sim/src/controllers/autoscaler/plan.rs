//! How many replicas an autoscaler wants.

use object::quantity::{Format, Quantity};
use object::time::Time;
use object::{Object, Value};
use serde_json::json;

use crate::engine::action::{Plan, Writer};
use crate::engine::kind::Kind;
use crate::read;

/// Seconds between two looks.
const PERIOD: i64 = 15;
/// Wishes for less count only after they have held for so long.
const STABILIZATION: i64 = 300;
/// A usage within so many thousandths of the target is on target.
const TOLERANCE: i64 = 100;

/// What one pod uses and asks for.
pub(crate) struct Sample {
    pub(crate) is_ready: bool,
    pub(crate) cpu: i64,
    pub(crate) memory: i64,
    pub(crate) cpu_asked: i64,
    pub(crate) memory_asked: i64,
}

/// Everything the decision may look at.
pub(crate) struct Inputs<'a> {
    pub(crate) scaler: &'a Object,
    pub(crate) target: Option<(Kind, &'a Object)>,
    pub(crate) samples: &'a [Sample],
    pub(crate) now: Time,
}

/// What one metric comes to: the ratio to its target in thousandths, and how the status shows it.
struct Reading {
    ratio: i64,
    shown: Value,
}

pub(crate) fn plan(inputs: &Inputs<'_>) -> Plan {
    let mut plan = Plan::default();
    plan.wake_at(inputs.now.plus_seconds(PERIOD));
    let scaler = inputs.scaler;
    if scaler.is_terminating() {
        return plan;
    }
    let mut conditions = read::conditions(scaler);
    let mut say = |kind: &str, state: &str, reason: &str, message: String| {
        let condition =
            json!({"type": kind, "status": state, "reason": reason, "message": message});
        read::put_condition(&mut conditions, condition, inputs.now);
    };
    let Some((kind, target)) = inputs.target else {
        let message = "the HPA controller was unable to get the target's current scale".to_owned();
        say("AbleToScale", "False", "FailedGetScale", message);
        write(inputs, None, 0, Vec::new(), conditions, &mut plan);
        return plan;
    };
    let present = target.integer_at(&["spec", "replicas"]).unwrap_or(1);
    let readings: Vec<Reading> = read::list(scaler, &["spec", "metrics"])
        .iter()
        .filter_map(|metric| reading(metric, inputs.samples))
        .collect();
    if present == 0 {
        let message =
            "scaling is disabled since the replica count of the target is zero".to_owned();
        say("ScalingActive", "False", "ScalingDisabled", message);
        write(
            inputs,
            Some(target),
            present,
            Vec::new(),
            conditions,
            &mut plan,
        );
        return plan;
    }
    say(
        "AbleToScale",
        "True",
        "ReadyForNewScale",
        "recommended size matches current size".to_owned(),
    );
    let wish = if readings.is_empty() {
        let message =
            "the HPA was unable to compute the replica count: no metrics returned".to_owned();
        say("ScalingActive", "False", "FailedGetResourceMetric", message);
        None
    } else {
        let message =
            "the HPA was able to successfully calculate a replica count from metrics".to_owned();
        say("ScalingActive", "True", "ValidMetricFound", message);
        readings
            .iter()
            .map(|reading| wish(present, reading.ratio))
            .max()
    };
    let least = scaler.integer_at(&["spec", "minReplicas"]).unwrap_or(1);
    let most = scaler.integer_at(&["spec", "maxReplicas"]).unwrap_or(1);
    let mut wanted = wish.unwrap_or(present).clamp(least.min(most), most);
    if wanted < present && present <= most && !has_calmed(inputs) {
        wanted = present;
    }
    let (state, reason, message) = match wish {
        Some(wish) if wish > most => (
            "True",
            "TooManyReplicas",
            "the desired replica count is more than the maximum replica count",
        ),
        Some(wish) if wish < least => (
            "True",
            "TooFewReplicas",
            "the desired replica count is less than the minimum replica count",
        ),
        _ => (
            "False",
            "DesiredWithinRange",
            "the desired count is within the acceptable range",
        ),
    };
    say("ScalingLimited", state, reason, message.to_owned());
    let shown = readings.into_iter().map(|reading| reading.shown).collect();
    if wanted != present {
        plan.merge(kind, target, json!({"spec": {"replicas": wanted}}));
        let message = format!("New size: {wanted}; reason: resource utilization");
        plan.report(scaler, Writer::Controllers, "SuccessfulRescale", message);
    }
    write(inputs, Some(target), wanted, shown, conditions, &mut plan);
    plan
}

/// Whether the last change lies back far enough to go down.
fn has_calmed(inputs: &Inputs<'_>) -> bool {
    let window = inputs
        .scaler
        .integer_at(&[
            "spec",
            "behavior",
            "scaleDown",
            "stabilizationWindowSeconds",
        ])
        .unwrap_or(STABILIZATION);
    let last = inputs
        .scaler
        .text_at(&["status", "lastScaleTime"])
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(|| read::created(inputs.scaler));
    inputs.now >= last.plus_seconds(window)
}

/// As many replicas as bring a ratio to one; those that are nearly there stay.
fn wish(present: i64, ratio: i64) -> i64 {
    if (ratio - 1000).abs() <= TOLERANCE {
        return present;
    }
    let scaled = present.saturating_mul(ratio);
    scaled.saturating_add(999) / 1000
}

fn reading(metric: &Value, samples: &[Sample]) -> Option<Reading> {
    let resource = metric.get("resource")?;
    let name = read::text(resource, "name");
    let of = |sample: &Sample| match name {
        "cpu" => (sample.cpu, sample.cpu_asked),
        _ => (sample.memory, sample.memory_asked),
    };
    let ready: Vec<(i64, i64)> = samples
        .iter()
        .filter(|sample| sample.is_ready)
        .map(of)
        .collect();
    let count = i64::try_from(ready.len()).ok().filter(|count| *count > 0)?;
    let used: i64 = ready
        .iter()
        .map(|(used, _)| *used)
        .fold(0, i64::saturating_add);
    let asked: i64 = ready
        .iter()
        .map(|(_, asked)| *asked)
        .fold(0, i64::saturating_add);
    let average = used / count;
    let quantity = match name {
        "cpu" => Quantity::from_millis(average, Format::DecimalSI),
        _ => Quantity::from_units(average, Format::BinarySI),
    };
    let target = resource.get("target")?;
    if let Some(wanted) = target.get("averageUtilization").and_then(Value::as_i64) {
        let percent = used.saturating_mul(100).checked_div(asked)?;
        return Some(Reading {
            ratio: percent.saturating_mul(1000).checked_div(wanted)?,
            shown: json!({"type": "Resource", "resource": {"name": name, "current": {
                "averageUtilization": percent, "averageValue": quantity.to_string(),
            }}}),
        });
    }
    let wanted: Quantity = target.get("averageValue")?.as_str()?.parse().ok()?;
    let wanted = if name == "cpu" {
        wanted.milli_value()
    } else {
        wanted.value()
    };
    Some(Reading {
        ratio: average.saturating_mul(1000).checked_div(wanted)?,
        shown: json!({"type": "Resource", "resource": {"name": name, "current": {"averageValue": quantity.to_string()}}}),
    })
}

fn write(
    inputs: &Inputs<'_>,
    target: Option<&Object>,
    wanted: i64,
    metrics: Vec<Value>,
    conditions: Vec<Value>,
    plan: &mut Plan,
) {
    let scaler = inputs.scaler;
    let current = target
        .and_then(|target| target.integer_at(&["status", "replicas"]))
        .unwrap_or(0);
    let before = target.and_then(|target| target.integer_at(&["spec", "replicas"]));
    let mut status = json!({
        "currentReplicas": current, "desiredReplicas": wanted, "conditions": conditions,
        "observedGeneration": scaler.generation(),
    });
    if let Some(fields) = status.as_object_mut() {
        if !metrics.is_empty() {
            fields.insert("currentMetrics".to_owned(), metrics.into());
        }
        let last = if before.is_some_and(|before| before != wanted) {
            Some(json!(inputs.now.to_string()))
        } else {
            scaler.at(&["status", "lastScaleTime"]).cloned()
        };
        if let Some(last) = last {
            fields.insert("lastScaleTime".to_owned(), last);
        }
    }
    plan.status(
        Kind::HorizontalPodAutoscaler,
        scaler,
        status,
        Writer::Controllers,
    );
}
