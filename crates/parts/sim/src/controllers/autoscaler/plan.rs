//! How many replicas an autoscaler wants.

use object::quantity::{Format, Quantity};
use object::time::Time;
use object::{Object, Value};
use serde_json::json;

use crate::controllers::autoscaler::pace::{self, Past};
use crate::engine::action::{Plan, Writer};
use crate::engine::kind::Kind;
use crate::read;

const BY: Writer = Writer::Controllers;
/// Seconds between two looks.
const PERIOD: i64 = 15;
/// Seconds until a target that has no pods yet is looked at again.
const SOON: i64 = 2;
/// A usage within so many thousandths of the target is on target.
const TOLERANCE: i64 = 100;

/// What one pod uses and asks for.
#[derive(Default)]
pub(crate) struct Sample {
    pub(crate) pod: String,
    /// Its first container.
    pub(crate) container: String,
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
    /// What it wished and did of late.
    pub(crate) noted: Option<&'a Value>,
    pub(crate) now: Time,
}

/// What one metric comes to: how many replicas it asks for, and how the status shows it.
struct Reading {
    wish: i64,
    /// What is measured, as events say it.
    what: String,
    shown: Value,
}

pub(crate) fn plan(inputs: &Inputs<'_>) -> Plan {
    let mut plan = Plan::default();
    plan.wake_at(inputs.now.plus_seconds(PERIOD));
    let scaler = inputs.scaler;
    if scaler.is_terminating() {
        return plan;
    }
    let mut past = Past::read(inputs.noted);
    plan.note = Some(past.note());
    let mut conditions = read::conditions(scaler);
    let mut say = |kind: &str, state: &str, reason: &str, message: &str| {
        let condition =
            json!({"type": kind, "status": state, "reason": reason, "message": message});
        read::put_condition(&mut conditions, condition, inputs.now);
    };
    let Some((kind, target)) = inputs.target else {
        let message = "the HPA controller was unable to get the target's current scale";
        say("AbleToScale", "False", "FailedGetScale", message);
        if is_news(inputs, "AbleToScale", message) {
            plan.warn(scaler, BY, "FailedGetScale", message.to_owned());
        }
        write(inputs, None, 0, Vec::new(), conditions, &mut plan);
        return plan;
    };
    let present = target.integer_at(&["spec", "replicas"]).unwrap_or(1);
    if present == 0 {
        let message = "scaling is disabled since the replica count of the target is zero";
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
    let metrics = read::list(scaler, &["spec", "metrics"]);
    let readings: Vec<Reading> = metrics
        .iter()
        .filter_map(|metric| reading(metric, inputs.samples, present))
        .collect();
    let best = readings.iter().max_by_key(|reading| reading.wish);
    let wish = best.map(|reading| reading.wish);
    match &best {
        Some(reading) => {
            let message = format!(
                "the HPA was able to successfully calculate a replica count from {}",
                reading.what
            );
            say("ScalingActive", "True", "ValidMetricFound", &message);
        }
        None => {
            let why = unreadable(metrics, inputs.samples);
            let message = format!("the HPA was unable to compute the replica count: {why}");
            say(
                "ScalingActive",
                "False",
                "FailedGetResourceMetric",
                &message,
            );
            if is_news(inputs, "ScalingActive", &message) {
                plan.warn(scaler, BY, "FailedGetResourceMetric", why);
            }
        }
    }
    past.wish(present, wish.unwrap_or(present), inputs.now);
    let paced = pace::pace(scaler, &past, present, inputs.now);
    let least = scaler.integer_at(&["spec", "minReplicas"]).unwrap_or(1);
    let most = scaler.integer_at(&["spec", "maxReplicas"]).unwrap_or(1);
    let wanted = paced.replicas.clamp(least.min(most), most);
    let (state, (reason, message)) = match paced.limited {
        _ if paced.replicas > most => (
            "True",
            (
                "TooManyReplicas",
                "the desired replica count is more than the maximum replica count",
            ),
        ),
        _ if paced.replicas < least => (
            "True",
            (
                "TooFewReplicas",
                "the desired replica count is less than the minimum replica count",
            ),
        ),
        Some(limited) => ("True", limited),
        None => (
            "False",
            (
                "DesiredWithinRange",
                "the desired count is within the acceptable range",
            ),
        ),
    };
    say("ScalingLimited", state, reason, message);
    if wanted == present {
        let (reason, message) = paced
            .held
            .unwrap_or(("ReadyForNewScale", "recommended size matches current size"));
        say("AbleToScale", "True", reason, message);
    } else {
        let message = format!("the HPA controller was able to update the target scale to {wanted}");
        say("AbleToScale", "True", "SucceededRescale", &message);
        plan.scale(kind, target, wanted);
        let why = reason_of(best, wanted, present);
        let message = format!("New size: {wanted}; reason: {why}");
        plan.report(scaler, BY, "SuccessfulRescale", message);
        past.change(wanted - present, inputs.now);
    }
    plan.note = Some(past.note());
    let shown = readings.into_iter().map(|reading| reading.shown).collect();
    write(inputs, Some(target), wanted, shown, conditions, &mut plan);
    plan
}

/// Why the size changes, as events say it.
fn reason_of(best: Option<&Reading>, wanted: i64, present: i64) -> String {
    match best {
        Some(reading) if wanted > present => format!("{} above target", reading.what),
        Some(_) => "All metrics below target".to_owned(),
        None if wanted > present => "Current number of replicas below Spec.MinReplicas".to_owned(),
        None => "Current number of replicas above Spec.MaxReplicas".to_owned(),
    }
}

/// Whether a condition has not said this before.
fn is_news(inputs: &Inputs<'_>, kind: &str, message: &str) -> bool {
    read::condition(inputs.scaler, kind)
        .is_none_or(|condition| read::text(condition, "message") != message)
}

/// What pods use of what would be on target, all together.
#[derive(Clone, Copy, Default)]
struct Load {
    count: i64,
    used: i64,
    target: i64,
}

impl Load {
    /// Thousandths of the target.
    fn ratio(self) -> Option<i64> {
        self.used.saturating_mul(1000).checked_div(self.target)
    }
}

/// As many replicas as bring the ready pods to their target; those that are nearly there stay. Pods that are not ready
/// are taken to use nothing when more are asked for: they may be the answer.
fn wish(present: i64, ready: Load, unready: Load) -> Option<i64> {
    let is_on_target = |ratio: i64| (ratio - 1000).abs() <= TOLERANCE;
    let scaled =
        |load: Load, ratio: i64| load.count.saturating_mul(ratio).saturating_add(999) / 1000;
    let ratio = ready.ratio()?;
    if is_on_target(ratio) {
        return Some(present);
    }
    if ratio < 1000 || unready.count == 0 {
        return Some(scaled(ready, ratio));
    }
    let all = Load {
        count: ready.count.saturating_add(unready.count),
        used: ready.used,
        target: ready.target.saturating_add(unready.target),
    };
    let ratio = all.ratio()?;
    if is_on_target(ratio) || ratio < 1000 {
        return Some(present);
    }
    Some(scaled(all, ratio).max(present))
}

/// Reads a metric of resources, of pods or of one of their containers; of others nothing is known here.
fn reading(metric: &Value, samples: &[Sample], present: i64) -> Option<Reading> {
    let field = match read::text(metric, "type") {
        "ContainerResource" => "containerResource",
        _ => "resource",
    };
    let resource = metric.get(field)?;
    let name = read::text(resource, "name");
    let show = |current: Value| {
        let mut shown = json!({"name": name, "current": current});
        if let (Some(fields), Some(container)) = (shown.as_object_mut(), resource.get("container"))
        {
            fields.insert("container".to_owned(), container.clone());
        }
        json!({"type": metric.get("type"), field: shown})
    };
    let target = resource.get("target")?;
    let utilization = target.get("averageUtilization").and_then(Value::as_i64);
    let value = target.get("averageValue").and_then(Value::as_str);
    let value = value.and_then(|text| text.parse::<Quantity>().ok());
    let value = value.map(|value| match name {
        "cpu" => value.milli_value(),
        _ => value.value(),
    });
    let load = |is_ready: bool| {
        let mut load = Load::default();
        let mut asked_of_all = 0_i64;
        for sample in samples.iter().filter(|sample| sample.is_ready == is_ready) {
            let (used, asked) = match name {
                "cpu" => (sample.cpu, sample.cpu_asked),
                _ => (sample.memory, sample.memory_asked),
            };
            load.count += 1;
            load.used = load.used.saturating_add(used);
            asked_of_all = asked_of_all.saturating_add(asked);
        }
        load.target = match (utilization, value) {
            (Some(percent), _) => asked_of_all.saturating_mul(percent) / 100,
            (None, Some(value)) => value.saturating_mul(load.count),
            (None, None) => 0,
        };
        (load, asked_of_all)
    };
    let ((ready, asked), (unready, _)) = (load(true), load(false));
    let average = ready.used.checked_div(ready.count)?;
    let quantity = match name {
        "cpu" => Quantity::from_millis(average, Format::DecimalSI),
        _ => Quantity::from_units(average, Format::BinarySI),
    };
    let (what, current) = if utilization.is_some() {
        let percent = ready.used.saturating_mul(100).checked_div(asked)?;
        let current = json!({"averageUtilization": percent, "averageValue": quantity.to_string()});
        (
            format!("{name} resource utilization (percentage of request)"),
            current,
        )
    } else {
        (
            format!("{name} resource"),
            json!({"averageValue": quantity.to_string()}),
        )
    };
    Some(Reading {
        wish: wish(present, ready, unready)?,
        what,
        shown: show(current),
    })
}

/// Why no metric can be read.
fn unreadable(metrics: &[Value], samples: &[Sample]) -> String {
    let share = metrics.iter().find_map(|metric| {
        let resource = metric
            .get("resource")
            .or_else(|| metric.get("containerResource"))?;
        resource.get("target")?.get("averageUtilization")?;
        Some(read::text(resource, "name"))
    });
    let asks = |sample: &&Sample| match share {
        Some("cpu") => sample.cpu_asked == 0,
        Some(_) => sample.memory_asked == 0,
        None => false,
    };
    if let (Some(name), Some(pod)) = (share, samples.iter().find(asks)) {
        let (container, pod) = (&pod.container, &pod.pod);
        return format!(
            "failed to get {name} utilization: missing request for {name} in container {container} of Pod {pod}"
        );
    }
    let name = share.unwrap_or("cpu");
    format!(
        "failed to get {name} utilization: unable to get metrics for resource {name}: no metrics returned from resource metrics API"
    )
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
    if current == 0 && before.is_some_and(|before| before > 0) {
        plan.wake_at(inputs.now.plus_seconds(SOON));
    }
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
