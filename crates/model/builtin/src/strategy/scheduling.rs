//! Rules about where pods are placed: taints, tolerations, affinities and spreading.

use object::{field::FieldError, names};

use super::spot::{Errors, Spot};

/// A taint that is accepted.
pub(super) fn toleration(toleration: &Spot<'_>, errors: &mut Errors) {
    let (key, operator) = (toleration.field("key"), toleration.field("operator"));
    if !key.is_empty() {
        key.complain(names::check_qualified_name(key.text()), errors);
    } else if operator.text() != "Exists" {
        let detail = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
        errors.push(FieldError::invalid(
            operator.path(),
            operator.text(),
            detail,
        ));
    }
    let effect = toleration.field("effect");
    if toleration.field("tolerationSeconds").is_set() && effect.text() != "NoExecute" {
        let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
        errors.push(FieldError::invalid(effect.path(), effect.text(), detail));
    }
    // Upstream: what is wrong with the value is reported at the operator.
    let value = toleration.field("value");
    let wrong = |problem: String| FieldError::invalid(operator.path(), value.text(), problem);
    match operator.text() {
        "" | "Equal" => {
            let problems = names::check_label_value(value.text());
            errors.extend((!problems.is_empty()).then(|| wrong(problems.join(";"))));
        }
        "Exists" if !value.is_empty() => {
            errors.push(wrong(
                "value must be empty when `operator` is 'Exists'".to_owned(),
            ));
        }
        _ => {}
    }
}

/// A mark on a node.
pub(super) fn taint(taint: &Spot<'_>, errors: &mut Errors) {
    let (key, value) = (taint.field("key"), taint.field("value"));
    if !key.is_empty() {
        key.complain(names::check_qualified_name(key.text()), errors);
    }
    let problems = names::check_label_value(value.text());
    if !problems.is_empty() {
        errors.push(value.invalid(problems.join(";")));
    }
}

/// A choice of nodes.
pub(super) fn node_selector(selector: &Spot<'_>, errors: &mut Errors) {
    let terms = selector.field("nodeSelectorTerms");
    if terms.is_empty() {
        errors.push(terms.required("must have at least one node selector term"));
    }
}

/// One condition on nodes.
pub(super) fn node_requirement(requirement: &Spot<'_>, errors: &mut Errors) {
    let values = requirement.field("values");
    match requirement.field("operator").text() {
        "In" | "NotIn" if values.is_empty() => {
            errors.push(values.required("must be specified when `operator` is 'In' or 'NotIn'"));
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            errors.push(
                values.forbidden(
                    "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                ),
            );
        }
        "Gt" | "Lt" if values.len() != 1 => {
            errors.push(
                values.required("must be specified single value when `operator` is 'Lt' or 'Gt'"),
            );
        }
        _ => {}
    }
    let key = requirement.field("key");
    // Conditions on fields have only one field to look at.
    if !key.is_empty() && key.text() != "metadata.name" {
        key.complain(names::check_qualified_name(key.text()), errors);
    }
}

/// How much a wish counts.
pub(super) fn weight(term: &Spot<'_>, errors: &mut Errors) {
    let weight = term.field("weight");
    if !weight
        .number()
        .is_some_and(|weight| (1..=100).contains(&weight))
    {
        errors.push(weight.invalid("must be in the range 1-100"));
    }
}

/// A set of pods and how near is near.
pub(super) fn affinity_term(term: &Spot<'_>, errors: &mut Errors) {
    place(&term.field("topologyKey"), errors);
    for namespace in term.field("namespaces").elements() {
        namespace.complain(names::check_dns1123_label(namespace.text()), errors);
    }
}

/// How evenly pods are spread.
pub(super) fn spread(constraint: &Spot<'_>, errors: &mut Errors) {
    for field in ["maxSkew", "minDomains"] {
        let number = constraint.field(field);
        if number.number().is_some_and(|number| number <= 0) {
            errors.push(number.invalid("must be greater than zero"));
        }
    }
    place(&constraint.field("topologyKey"), errors);
}

fn place(key: &Spot<'_>, errors: &mut Errors) {
    // An empty key is reported as a required text; a wrong one is no label's key.
    if !key.is_empty() {
        key.complain(names::check_qualified_name(key.text()), errors);
    }
}
