//! Cells of role bindings, certificate requests and admission policies.

use object::{Value, time::Time};

use super::{Cell, duration, source};
use crate::path;

/// Role, Users, Groups, ServiceAccounts of a binding.
pub(super) fn role_binding(binding: &Value, _now: Time) -> Vec<Cell> {
    let role = format!(
        "{}/{}",
        path::text(binding, "roleRef.kind"),
        path::text(binding, "roleRef.name")
    );
    let named = |kind: &str| {
        let subjects = path::list(binding, "subjects")
            .iter()
            .filter(|subject| path::text(subject, "kind") == kind);
        let names = subjects.map(|subject| match (kind, path::text(subject, "namespace")) {
            ("ServiceAccount", namespace) if !namespace.is_empty() => {
                format!("{namespace}/{}", path::text(subject, "name"))
            }
            _ => path::text(subject, "name").to_owned(),
        });
        names.collect::<Vec<_>>().join(", ")
    };
    vec![
        role.into(),
        named("User").into(),
        named("Group").into(),
        named("ServiceAccount").into(),
    ]
}

/// RequestedDuration and Condition of a certificate request.
pub(super) fn signing_request(request: &Value, _now: Time) -> Vec<Cell> {
    let requested = match path::at(request, "spec.expirationSeconds").and_then(Value::as_i64) {
        Some(seconds) => duration::human_duration(seconds),
        None => "<none>".to_owned(),
    };
    let has = |ty: &str| {
        path::list(request, "status.conditions")
            .iter()
            .any(|condition| path::text(condition, "type") == ty)
    };
    let mut condition = match (has("Denied"), has("Approved")) {
        (true, _) => "Denied",
        (_, true) => "Approved",
        _ => "Pending",
    }
    .to_owned();
    if has("Failed") {
        condition.push_str(",Failed");
    }
    if !path::text(request, "status.certificate").is_empty() {
        condition.push_str(",Issued");
    }
    vec![requested.into(), condition.into()]
}

/// ParamKind of an admission policy.
pub(super) fn admission_policy(policy: &Value, _now: Time) -> Vec<Cell> {
    let kind = match path::at(policy, "spec.paramKind").filter(|value| !value.is_null()) {
        Some(kind) => format!(
            "{}/{}",
            path::text(kind, "apiVersion"),
            path::text(kind, "kind")
        ),
        None => "<unset>".to_owned(),
    };
    vec![kind.into()]
}

/// ParamRef of an admission policy binding.
pub(super) fn admission_policy_binding(binding: &Value, _now: Time) -> Vec<Cell> {
    let Some(parameters) = path::at(binding, "spec.paramRef").filter(|value| !value.is_null())
    else {
        return vec!["<unset>".into()];
    };
    let text = match (
        path::text(parameters, "namespace"),
        path::text(parameters, "name"),
    ) {
        ("", "") => match path::at(parameters, "selector").filter(|value| !value.is_null()) {
            Some(selector) => source::selector(selector),
            None => "<unset>".to_owned(),
        },
        // Whether the parameters are cluster-scoped cannot be told from here.
        ("", name) => format!("*/{name}"),
        (_, "") => "<unset>".to_owned(),
        (namespace, name) => format!("{namespace}/{name}"),
    };
    vec![text.into()]
}
