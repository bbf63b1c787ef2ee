//! The cells of an autoscaler, which may be asked for in either of its versions.

use object::{Value, time::Time};

use super::{Cell, storage::quantity};
use crate::{convert, path};

/// How many metrics the Targets cell names.
const NAMED: usize = 2;

/// Reference, Targets, MinPods, from the first version.
pub(super) fn autoscaler_v1(autoscaler: &Value, now: Time) -> Vec<Cell> {
    self::autoscaler(&convert::autoscaler_to_v2(autoscaler), now)
}

/// Reference, Targets, MinPods.
pub(super) fn autoscaler(autoscaler: &Value, _now: Time) -> Vec<Cell> {
    let kind = path::text(autoscaler, "spec.scaleTargetRef.kind");
    let reference = format!(
        "{kind}/{}",
        path::text(autoscaler, "spec.scaleTargetRef.name")
    );
    let fewest = match path::at(autoscaler, "spec.minReplicas").and_then(Value::as_i64) {
        Some(number) => number.to_string(),
        None => "<unset>".to_owned(),
    };
    vec![reference.into(), targets(autoscaler).into(), fewest.into()]
}

fn targets(autoscaler: &Value) -> String {
    let metrics = path::list(autoscaler, "spec.metrics");
    if metrics.is_empty() {
        return "<none>".to_owned();
    }
    let current = path::list(autoscaler, "status.currentMetrics");
    let texts: Vec<String> = metrics
        .iter()
        .enumerate()
        .take(NAMED)
        .map(|(position, metric)| target(metric, current.get(position).unwrap_or(&Value::Null)))
        .collect();
    let shown = texts.join(", ");
    match metrics.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} + {more} more..."),
    }
}

/// One metric: what is measured, and what is aimed at.
fn target(metric: &Value, status: &Value) -> String {
    let field = match path::text(metric, "type") {
        "External" => "external",
        "Pods" => "pods",
        "Object" => "object",
        "Resource" => "resource",
        "ContainerResource" => "containerResource",
        _ => return "<unknown type>".to_owned(),
    };
    let target = |name: &str| {
        path::at(metric, &format!("{field}.target.{name}")).filter(|value| !value.is_null())
    };
    let now = |name: &str| {
        path::at(status, &format!("{field}.current.{name}")).filter(|value| !value.is_null())
    };
    let measured = |name: &str| {
        now(name).map_or_else(|| "<unknown>".to_owned(), |value| quantity(Some(value)))
    };
    match field {
        "resource" | "containerResource" => {
            let name = path::text(metric, &format!("{field}.name"));
            if let Some(average) = target("averageValue") {
                return format!(
                    "{name}: {}/{}",
                    measured("averageValue"),
                    quantity(Some(average))
                );
            }
            let percent = |value: Option<&Value>, absent: &str| match value.and_then(Value::as_i64)
            {
                Some(number) => format!("{number}%"),
                None => absent.to_owned(),
            };
            let aim = percent(target("averageUtilization"), "<auto>");
            format!(
                "{name}: {}/{aim}",
                percent(now("averageUtilization"), "<unknown>")
            )
        }
        "pods" => format!(
            "{}/{}",
            measured("averageValue"),
            quantity(target("averageValue"))
        ),
        _ => match target("averageValue") {
            Some(average) => format!(
                "{}/{} (avg)",
                measured("averageValue"),
                quantity(Some(average))
            ),
            None => format!("{}/{}", measured("value"), quantity(target("value"))),
        },
    }
}
