//! CronFederatedHPA: scaling by the clock.

use object::{
    Object,
    field::{FieldError, FieldPath},
    names,
};
use serde_json::Value;

use super::{
    AdmissionRules, Request, Verdict, check_schedule,
    federated_hpa::check_reference,
    metadata,
    problems::repeats,
    verdict::{read, webhook_verdict},
};
use crate::{
    autoscaling::{CronFederatedHPA, CronFederatedHPARule, CronFederatedHPASpec, FederatedHPA},
    kind::TypeName,
    registry::Scope,
};

/// The rules of the kind.
pub(super) struct Rules;

impl AdmissionRules for Rules {
    fn validate(&self, request: &Request<'_>, _old: Option<&Object>, new: &Object) -> Verdict {
        let scaler: CronFederatedHPA = read(new)?;
        let mut errors = metadata::check(
            &scaler.metadata,
            Scope::Namespaced,
            names::check_dns1123_subdomain,
        );
        errors.extend(check_spec(&scaler.spec, request.is_time_zone));
        webhook_verdict("cronfederatedhpa.karmada.io", errors)
    }
}

fn check_spec(spec: &CronFederatedHPASpec, is_time_zone: &dyn Fn(&str) -> bool) -> Vec<FieldError> {
    let target = &spec.scale_target_ref;
    let target_path = FieldPath::from("spec.scaleTargetRef");
    let moves_bounds = target.api_version == FederatedHPA::API_VERSION;
    if moves_bounds && target.kind != FederatedHPA::KIND {
        // What the rules must hold depends on the target, so there is nothing more to say.
        return vec![FieldError::invalid(
            target_path.child("kind"),
            target.kind.as_str(),
            format!(
                "{} cannot be scaled, only {}",
                target.kind,
                FederatedHPA::KIND
            ),
        )];
    }
    let mut errors = check_reference(target, &target_path);
    let repeated = repeats(spec.rules.iter().map(|rule| &rule.name));
    for (position, (rule, is_repeated)) in spec.rules.iter().zip(repeated).enumerate() {
        let path = FieldPath::from("spec.rules").index(position);
        if is_repeated {
            errors.push(FieldError::duplicate(
                path.child("name"),
                rule.name.as_str(),
            ));
        }
        if let Err(problem) = check_schedule(&rule.schedule) {
            let detail = format!("is not a cron expression: {problem}");
            errors.push(FieldError::invalid(
                path.child("schedule"),
                rule.schedule.as_str(),
                detail,
            ));
        }
        if let Some(zone) = rule
            .time_zone
            .as_deref()
            .filter(|zone| !is_known_zone(zone, is_time_zone))
        {
            let detail = format!("unknown time zone {zone}");
            errors.push(FieldError::invalid(path.child("timeZone"), zone, detail));
        }
        if moves_bounds {
            errors.extend(check_bounds(rule, &path));
        } else {
            errors.extend(check_replicas(rule, &target.kind, &path));
        }
    }
    errors
}

/// Names with `..` or a leading slash would leave the directory of time zones, were they looked up in files.
fn is_known_zone(name: &str, is_time_zone: &dyn Fn(&str) -> bool) -> bool {
    if ["", "UTC", "Local"].contains(&name) {
        return true;
    }
    !name.contains("..") && !name.starts_with(['/', '\\']) && is_time_zone(name)
}

fn check_bounds(rule: &CronFederatedHPARule, path: &FieldPath) -> Vec<FieldError> {
    let (least, most) = (rule.target_min_replicas, rule.target_max_replicas);
    let mut errors = Vec::new();
    if least.is_none() && most.is_none() {
        errors.push(FieldError::invalid(
            path.child("targetMaxReplicas"),
            "",
            "one of targetMinReplicas and targetMaxReplicas is required to scale a FederatedHPA",
        ));
    }
    for (field, bound) in [("targetMinReplicas", least), ("targetMaxReplicas", most)] {
        if let Some(bound) = bound.filter(|bound| *bound <= 0) {
            let detail = "must be greater than 0";
            errors.push(FieldError::invalid(path.child(field), bound, detail));
        }
    }
    if least.zip(most).is_some_and(|(least, most)| least > most) {
        errors.push(FieldError::invalid(
            path.child("targetMinReplicas"),
            least.map_or(Value::Null, Value::from),
            "must not be above targetMaxReplicas",
        ));
    }
    errors
}

/// 0 is allowed: it switches a workload off, for the weekend say.
fn check_replicas(rule: &CronFederatedHPARule, kind: &str, path: &FieldPath) -> Option<FieldError> {
    let path = path.child("targetReplicas");
    match rule.target_replicas {
        None => {
            let detail = format!("is required to scale a {kind}");
            Some(FieldError::invalid(path, "", detail))
        }
        Some(replicas) if replicas < 0 => {
            let detail = "must not be negative";
            Some(FieldError::invalid(path, replicas, detail))
        }
        Some(_) => None,
    }
}
