//! Rules about policies written as expressions, and about what puts them into force. Whether the expressions make sense
//! is judged where they are compiled.

use std::collections::BTreeSet;

use object::{field::FieldError, names};

use super::{
    admission_match::{FAILURE_POLICIES, choice, conditions},
    spot::{Errors, Spot},
};

/// The most values one policy puts into the audit record, and the longest expression of one.
const MOST_NOTES: usize = 20;
const LONGEST_NOTE: usize = 5 * 1024;

/// Upstream: `Unauthorized` is described and yet refused.
const REASONS: [&str; 3] = ["Forbidden", "Invalid", "RequestEntityTooLarge"];

/// Words that name nothing in expressions.
const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// A policy.
pub(super) fn policy(policy: &Spot<'_>, errors: &mut Errors) {
    let (spec, metadata) = (policy.field("spec"), policy.field("metadata"));
    choice(&spec.field("failurePolicy"), &FAILURE_POLICIES, errors);
    let kind = spec.field("paramKind");
    if kind.is_set() {
        param_kind(&kind, errors);
    }
    let constraints = spec.field("matchConstraints");
    let rules = constraints.field("resourceRules");
    if !constraints.is_set() {
        errors.push(constraints.required(""));
    } else if rules.is_empty() {
        errors.push(rules.required(""));
    }
    conditions(&spec.field("matchConditions"), errors);
    for one in spec.field("variables").elements() {
        variable(&one, errors);
    }
    let (validations, notes) = (spec.field("validations"), spec.field("auditAnnotations"));
    if validations.is_empty() && notes.is_empty() {
        let why = "validations or auditAnnotations must contain at least one item";
        errors.extend([validations.required(why), notes.required(why)]);
    }
    for one in validations.elements() {
        validation(&one, errors);
    }
    if notes.len() > MOST_NOTES {
        errors.push(notes.invalid(format!(
            "must not have more than {MOST_NOTES} auditAnnotations"
        )));
    }
    let mut seen = BTreeSet::new();
    for one in notes.elements() {
        note(&one, metadata.field("name").text(), errors);
        let key = one.field("key");
        if !seen.insert(key.text().to_owned()) {
            errors.push(key.duplicate());
        }
    }
}

/// The kind of parameters.
fn param_kind(kind: &Spot<'_>, errors: &mut Errors) {
    let api_version = kind.field("apiVersion");
    let wrong = |value: &str, problems: Vec<String>, errors: &mut Errors| {
        if !problems.is_empty() {
            let path = api_version.path();
            errors.push(FieldError::invalid(path, value, problems.join(",")));
        }
    };
    let text = api_version.text();
    match (text.split_once('/'), text.matches('/').count()) {
        _ if text.is_empty() => errors.push(api_version.required("")),
        (_, 2..) => {
            errors.push(api_version.invalid(format!("unexpected GroupVersion string: {text}")));
        }
        (split, _) => {
            let (group, version) = split.unwrap_or(("", text));
            if !group.is_empty() {
                wrong(group, names::check_dns1123_subdomain(group), errors);
            }
            if version.is_empty() {
                errors.push(api_version.invalid("version must be specified"));
            } else {
                wrong(version, names::check_dns1035_label(version), errors);
            }
        }
    }
    let name = kind.field("kind");
    let problems = names::check_dns1035_label(&name.text().to_lowercase());
    if name.is_empty() {
        errors.push(name.required(""));
    } else if !problems.is_empty() {
        let problems = problems.join(",");
        errors.push(name.invalid(format!(
            "may have mixed case, but should otherwise match: {problems}"
        )));
    }
}

/// A named expression.
fn variable(variable: &Spot<'_>, errors: &mut Errors) {
    let name = variable.field("name");
    if name.text().trim().is_empty() {
        errors.push(name.required("name is not specified"));
    } else if !is_identifier(name.text()) {
        errors.push(name.invalid("must be a valid CEL identifier"));
    }
    let expression = variable.field("expression");
    if expression.text().trim().is_empty() {
        errors.push(expression.required("expression is not specified"));
    }
}

/// One check.
fn validation(validation: &Spot<'_>, errors: &mut Errors) {
    let expression = validation.field("expression");
    if expression.text().trim().is_empty() {
        errors.push(expression.required("expression is not specified"));
    }
    for field in ["messageExpression", "message"] {
        let text = validation.field(field);
        let trimmed = text.text().trim();
        if !text.is_empty() && trimmed.is_empty() {
            errors.push(text.invalid("must be non-empty if specified"));
        } else if field == "message" && trimmed.contains(['\n', '\r']) {
            errors.push(text.invalid("must not contain line breaks"));
        }
    }
    choice(&validation.field("reason"), &REASONS, errors);
}

/// A value for the audit record, whose key begins with the name of the policy there.
fn note(note: &Spot<'_>, policy: &str, errors: &mut Errors) {
    let (key, expression) = (note.field("key"), note.field("valueExpression"));
    if policy.is_empty() {
        errors.push(key.invalid("requires metadata.name be non-empty"));
    } else {
        let full = format!("{policy}/{}", key.text());
        let problems = names::check_qualified_name(&full).into_iter();
        errors.extend(problems.map(|why| FieldError::invalid(key.path(), full.as_str(), why)));
    }
    match expression.text().trim().len() {
        0 => errors.push(expression.required("valueExpression is not specified")),
        length if length > LONGEST_NOTE => errors
            .push(expression.required(format!("must not exceed {LONGEST_NOTE} bytes in length"))),
        _ => {}
    }
}

/// What puts a policy into force.
pub(super) fn binding(binding: &Spot<'_>, errors: &mut Errors) {
    let spec = binding.field("spec");
    let name = spec.field("policyName");
    if name.is_empty() {
        errors.push(name.required(""));
    } else {
        name.complain(names::check_dns1123_subdomain(name.text()), errors);
    }
    let parameters = spec.field("paramRef");
    if parameters.is_set() {
        param_ref(&parameters, errors);
    }
    actions(&spec.field("validationActions"), errors);
}

/// Which objects have the parameters: one by name, or several by label.
fn param_ref(reference: &Spot<'_>, errors: &mut Errors) {
    const EITHER: &str = "name and selector are mutually exclusive";
    let (name, selector) = (reference.field("name"), reference.field("selector"));
    name.complain(names::check_path_segment(name.text()), errors);
    match (name.is_empty(), selector.is_set()) {
        (false, true) => errors.extend([name.forbidden(EITHER), selector.forbidden(EITHER)]),
        (true, false) => {
            errors.push(reference.required("one of name or selector must be specified"));
        }
        _ => {}
    }
    let absent = reference.field("parameterNotFoundAction");
    if absent.is_empty() {
        errors.push(absent.required(""));
    } else {
        choice(&absent, &["Deny", "Allow"], errors);
    }
}

/// What follows from a check that fails, and is told once. Those nobody knows are told of by the type.
fn actions(actions: &Spot<'_>, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for action in actions.elements() {
        if action.is_empty() {
            errors.push(action.not_supported(&["Audit", "Deny", "Warn"]));
        }
        if !seen.insert(action.text()) {
            errors.push(action.duplicate());
        }
    }
    if seen.contains("Deny") && seen.contains("Warn") {
        errors.push(actions.invalid(
            "must not contain both Deny and Warn (repeating the same validation failure information in the API response \
             and headers serves no purpose)",
        ));
    }
    if seen.is_empty() {
        errors.push(actions.required("at least one validation action is required"));
    }
}

/// Whether expressions can speak of something by this name.
fn is_identifier(text: &str) -> bool {
    let known = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.chars().all(known)
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && !RESERVED.contains(&text)
}
