//! Rules about which requests webhooks and policies want to see.

use std::collections::BTreeSet;

use object::field::{FieldError, FieldErrorKind};
use object::names;

use super::spot::{Errors, Spot};

/// The most conditions a webhook or a policy may have.
const MOST_CONDITIONS: usize = 64;

const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const SCOPES: [&str; 3] = ["*", "Cluster", "Namespaced"];
/// Whether requests for the same objects in other versions count.
pub(super) const MATCH_POLICIES: [&str; 2] = ["Equivalent", "Exact"];
/// What becomes of a request when nobody can say.
pub(super) const FAILURE_POLICIES: [&str; 2] = ["Fail", "Ignore"];

/// Requests by operation and resource.
pub(super) fn rule(rule: &Spot<'_>, errors: &mut Errors) {
    for (field, what) in [
        ("operations", "operations"),
        ("apiGroups", "API groups"),
        ("apiVersions", "API versions"),
    ] {
        let list = rule.field(field);
        if list.is_empty() {
            errors.push(list.required(""));
        }
        if list.len() > 1 && list.elements().any(|item| item.text() == "*") {
            errors.push(list.invalid(format!("if '*' is present, must not specify other {what}")));
        }
        let nothing = list.elements().filter(|item| item.text().is_empty());
        match field {
            "operations" => errors.extend(nothing.map(|item| item.not_supported(&OPERATIONS))),
            "apiVersions" => errors.extend(nothing.map(|item| item.required(""))),
            // The core group has no name.
            _ => {}
        }
    }
    resources(&rule.field("resources"), errors);
    choice(&rule.field("scope"), &SCOPES, errors);
}

/// The same for single objects.
pub(super) fn named_rule(named: &Spot<'_>, errors: &mut Errors) {
    let list = named.field("resourceNames");
    let mut seen = BTreeSet::new();
    for name in list.elements() {
        name.complain(names::check_path_segment(name.text()), errors);
        if !seen.insert(name.text()) {
            errors.push(name.duplicate());
        }
    }
    rule(named, errors);
}

/// Resources and parts of them, of which a star must not name again what is named beside it.
///
/// Upstream: what comes before the star that covers it is let through; configurations in use rely on that.
fn resources(list: &Spot<'_>, errors: &mut Errors) {
    if list.is_empty() {
        errors.push(list.required(""));
    }
    // Resources with all their parts, and parts of all resources.
    let (mut whole, mut everywhere) = (BTreeSet::new(), BTreeSet::new());
    let mut last_is_plain = false;
    for item in list.elements() {
        let text = item.text();
        if text.is_empty() {
            errors.push(item.required(""));
            continue;
        }
        let Some((resource, part)) = text.split_once('/') else {
            last_is_plain = text != "*";
            continue;
        };
        if whole.contains(resource) {
            errors.push(item.invalid(format!(
                "if '{resource}/*' is present, must not specify {text}"
            )));
        }
        if everywhere.contains(part) {
            errors.push(item.invalid(format!("if '*/{part}' is present, must not specify {text}")));
        }
        if part == "*" {
            whole.insert(resource);
        }
        if resource == "*" {
            everywhere.insert(part);
        }
    }
    let has = |wanted: &str| list.elements().any(|item| item.text() == wanted);
    if list.len() > 1 && has("*/*") {
        errors.push(list.invalid("if '*/*' is present, must not specify other resources"));
    }
    if last_is_plain && has("*") {
        errors.push(
            list.invalid(
                "if '*' is present, must not specify other resources without subresources",
            ),
        );
    }
}

/// What a policy is about. Its rules and selectors are judged as their own types.
pub(super) fn match_resources(resources: &Spot<'_>, errors: &mut Errors) {
    choice(&resources.field("matchPolicy"), &MATCH_POLICIES, errors);
}

/// Expressions that must all hold. What is wrong with a single one is told by [`condition`].
pub(super) fn conditions(list: &Spot<'_>, errors: &mut Errors) {
    if list.len() > MOST_CONDITIONS {
        errors.push(FieldError {
            kind: FieldErrorKind::TooMany,
            path: list.path(),
            value: Some(Box::new(list.len().into())),
            detail: format!("must have at most {MOST_CONDITIONS} items"),
        });
    }
    let mut seen = BTreeSet::new();
    for condition in list.elements() {
        let name = condition.field("name");
        if !name.is_empty() && !seen.insert(name.text().to_owned()) {
            errors.push(name.duplicate());
        }
    }
}

/// One expression that must hold. That it and its name are there is known from the type.
pub(super) fn condition(condition: &Spot<'_>, errors: &mut Errors) {
    let (name, expression) = (condition.field("name"), condition.field("expression"));
    if !expression.is_empty() && expression.text().trim().is_empty() {
        errors.push(expression.required(""));
    }
    if !name.is_empty() {
        name.complain(names::check_qualified_name(name.text()), errors);
    }
}

/// A text that is one of several, if it is there; an empty one is none of them.
pub(super) fn choice(spot: &Spot<'_>, values: &[&str], errors: &mut Errors) {
    if spot.is_set() && !values.contains(&spot.text()) {
        errors.push(spot.not_supported(values));
    }
}
