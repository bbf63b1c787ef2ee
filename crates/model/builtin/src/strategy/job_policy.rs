//! Rules about when a job counts as failed or succeeded before all its pods are done, and how large it may be.

use std::collections::BTreeSet;

use object::{
    field::{FieldError, FieldErrorKind},
    names,
};

use super::{
    spot::{Errors, Spot},
    words::not_negative,
};

/// Bounds that keep the lists of indexes in a job's status short.
const INDEXED_PODS: i64 = 100_000;
const MANY_COMPLETIONS: i64 = 100_000;
const PODS_OF_MANY: i64 = 10_000;

/// Most rules of a policy, codes and conditions of a rule, and characters of a list of indexes.
const RULES: usize = 20;
const EXIT_CODES: usize = 255;
const CONDITIONS: usize = 20;
const INDEXES_LENGTH: usize = 64 << 10;

/// Most characters of the name of who looks after a job.
const MANAGER_LENGTH: usize = 63;

/// Who looks after a job, if not the built-in controller.
pub(super) fn manager(manager: &Spot<'_>, errors: &mut Errors) {
    if !manager.is_set() {
        return;
    }
    if manager.is_empty() {
        errors.push(manager.required(""));
        return;
    }
    let wrong = |part: &str, detail: String| FieldError::invalid(manager.path(), part, detail);
    match manager.text().split_once('/') {
        Some((host, rest)) if !host.is_empty() && !rest.is_empty() => {
            let problems = names::check_dns1123_subdomain(host).into_iter();
            errors.extend(problems.map(|problem| wrong(host, problem)));
            let known = |c: char| c.is_ascii_alphanumeric() || "/-._~%!$&'()*+,;=:".contains(c);
            if !rest.chars().all(known) {
                let detail = r"Invalid path (regex used for validation is '[A-Za-z0-9/\-._~%!$&'()*+,;=:]+')";
                errors.push(wrong(rest, detail.to_owned()));
            }
        }
        _ => {
            errors.push(manager.invalid("must be a domain-prefixed path (such as \"acme.io/foo\")"))
        }
    }
    if manager.text().len() > MANAGER_LENGTH {
        errors.push(FieldError::too_long(manager.path(), MANAGER_LENGTH));
    }
}

/// How large a job may be whose pods have numbers.
pub(super) fn size(spec: &Spot<'_>, errors: &mut Errors) {
    let (pods, failed) = (spec.field("parallelism"), spec.field("maxFailedIndexes"));
    let completions = spec.field("completions").number();
    let is_above = |spot: &Spot<'_>, limit: i64| spot.number().is_some_and(|it| it > limit);
    if is_above(&pods, INDEXED_PODS) {
        errors.push(pods.invalid(format!(
            "must be less than or equal to {INDEXED_PODS} when completion mode is Indexed"
        )));
    }
    if completions.is_some_and(|completions| is_above(&failed, completions)) {
        errors.push(failed.invalid("must be less than or equal to completions"));
    }
    if is_above(&failed, INDEXED_PODS) {
        errors.push(failed.invalid(format!("must be less than or equal to {INDEXED_PODS}")));
    }
    let is_large = completions.is_some_and(|completions| completions > MANY_COMPLETIONS);
    if !is_large || !spec.field("backoffLimitPerIndex").is_set() {
        return;
    }
    if !failed.is_set() {
        errors.push(failed.required(format!(
            "must be specified when completions is above {MANY_COMPLETIONS}"
        )));
    }
    for number in [&pods, &failed] {
        if is_above(number, PODS_OF_MANY) {
            errors.push(number.invalid(format!(
                "must be less than or equal to {PODS_OF_MANY} when completions are above {MANY_COMPLETIONS} and used \
                 with backoff limit per index"
            )));
        }
    }
}

/// What failures of certain kinds mean for a job.
pub(super) fn failure(spec: &Spot<'_>, errors: &mut Errors) {
    let policy = spec.field("podFailurePolicy");
    if !policy.is_set() {
        return;
    }
    let replacement = spec.field("podReplacementPolicy");
    if replacement.text() == "TerminatingOrFailed" {
        errors.push(replacement.not_supported(&["Failed"]));
    }
    let template = spec.field("template");
    let pod = template.field("spec");
    let names: BTreeSet<String> = ["containers", "initContainers"]
        .into_iter()
        .flat_map(|list| {
            let list = pod.field(list);
            let names = list
                .elements()
                .map(|container| container.field("name").text().to_owned());
            names.collect::<Vec<_>>()
        })
        .collect();
    let rules = policy.field("rules");
    no_more_than(&rules, RULES, errors);
    for rule in rules.elements() {
        let action = rule.field("action");
        if action.text() == "FailIndex" && !spec.field("backoffLimitPerIndex").is_set() {
            errors.push(action.invalid("requires the backoffLimitPerIndex to be set"));
        }
        let (codes, conditions) = (rule.field("onExitCodes"), rule.field("onPodConditions"));
        if codes.is_set() {
            exit_codes(&codes, &names, errors);
        }
        no_more_than(&conditions, CONDITIONS, errors);
        for condition in conditions.elements() {
            pod_condition(&condition, errors);
        }
        match (codes.is_set(), !conditions.is_empty()) {
            (true, true) => errors.push(unshown(
                &rule,
                "specifying both OnExitCodes and OnPodConditions is not supported",
            )),
            (false, false) => errors.push(unshown(
                &rule,
                "specifying one of OnExitCodes and OnPodConditions is required",
            )),
            _ => {}
        }
    }
}

/// When an indexed job counts as succeeded.
pub(super) fn success(spec: &Spot<'_>, errors: &mut Errors) {
    let policy = spec.field("successPolicy");
    if !policy.is_set() {
        return;
    }
    let rules = policy.field("rules");
    if rules.is_empty() {
        errors.push(
            rules.required(
                "at least one rules must be specified when the successPolicy is specified",
            ),
        );
    }
    no_more_than(&rules, RULES, errors);
    let completions = spec.field("completions").number().unwrap_or(0);
    for rule in rules.elements() {
        success_rule(&rule, completions, errors);
    }
}

fn success_rule(rule: &Spot<'_>, completions: i64, errors: &mut Errors) {
    let (count, indexes) = (rule.field("succeededCount"), rule.field("succeededIndexes"));
    if !count.is_set() && !indexes.is_set() {
        errors.push(
            rule.required("at least one of succeededCount or succeededIndexes must be specified"),
        );
    }
    let mut named = 0;
    if indexes.is_set() {
        if indexes.text().len() > INDEXES_LENGTH {
            errors.push(FieldError::too_long(indexes.path(), INDEXES_LENGTH));
        }
        match count_indexes(indexes.text(), completions) {
            Ok(total) => named = total,
            Err(problem) => {
                errors.push(indexes.invalid(format!("error parsing succeededIndexes: {problem}")))
            }
        }
    }
    not_negative(&count, errors);
    let Some(wanted) = count.number() else {
        return;
    };
    if wanted > completions {
        errors.push(count.invalid(format!(
            "must be less than or equal to {completions} (the number of specified completions)"
        )));
    }
    if indexes.is_set() && wanted > named {
        errors.push(count.invalid(format!(
            "must be less than or equal to {named} (the number of indexes in the specified succeededIndexes field)"
        )));
    }
}

fn exit_codes(codes: &Spot<'_>, names: &BTreeSet<String>, errors: &mut Errors) {
    let container = codes.field("containerName");
    if container.is_set() && !names.contains(container.text()) {
        errors
            .push(container.invalid(
                "must be one of the container or initContainer names in the pod template",
            ));
    }
    let values = codes.field("values");
    if values.is_empty() {
        errors.push(values.invalid("at least one value is required"));
    }
    no_more_than(&values, EXIT_CODES, errors);
    let is_chosen = codes.field("operator").text() == "In";
    let (mut seen, mut last, mut is_ordered) = (BTreeSet::new(), i64::MIN, true);
    for value in values.elements() {
        let code = value.number().unwrap_or(0);
        if is_chosen && code == 0 {
            errors.push(value.invalid("must not be 0 for the In operator"));
        }
        if !seen.insert(code) {
            errors.push(value.duplicate());
        }
        is_ordered &= last <= code;
        last = code;
    }
    if !is_ordered {
        errors.push(values.invalid("must be ordered"));
    }
}

fn pod_condition(condition: &Spot<'_>, errors: &mut Errors) {
    let (sort, status) = (condition.field("type"), condition.field("status"));
    // That there is none is told by its type.
    if !sort.is_empty() {
        sort.complain(names::check_qualified_name(sort.text()), errors);
    }
    if !status.is_empty() && !matches!(status.text(), "False" | "True" | "Unknown") {
        errors.push(status.not_supported(&["False", "True", "Unknown"]));
    }
}

/// How many indexes a list such as `1,3-5` names; what is wrong with it otherwise.
fn count_indexes(text: &str, completions: i64) -> Result<i64, String> {
    if text.is_empty() {
        return Ok(0);
    }
    let number = |text: &str| {
        let index = text
            .parse::<i64>()
            .map_err(|_| format!("cannot convert string to integer for index: {text:?}"))?;
        if index >= completions {
            return Err(format!("too large index: {text:?}"));
        }
        Ok(index)
    };
    let disorder =
        |before: i64, now: i64| format!("non-increasing order, previous: {before}, current: {now}");
    let (mut total, mut last) = (0, None);
    for part in text.split(',') {
        let ends: Vec<&str> = part.split('-').collect();
        let (first, end) = match ends.as_slice() {
            [only] => {
                let only = number(only)?;
                (only, only)
            }
            [first, end] => {
                let (first, end) = (number(first)?, number(end)?);
                if first >= end {
                    return Err(disorder(first, end));
                }
                (first, end)
            }
            _ => {
                return Err(format!(
                    "the fragment {part:?} violates the requirement that an index interval can have at most two parts \
                     separated by '-'"
                ));
            }
        };
        if let Some(last) = last.filter(|last| *last >= first) {
            return Err(disorder(last, first));
        }
        total += end - first + 1;
        last = Some(end);
    }
    Ok(total)
}

fn no_more_than(list: &Spot<'_>, limit: usize, errors: &mut Errors) {
    if list.len() > limit {
        errors.push(FieldError {
            kind: FieldErrorKind::TooMany,
            path: list.path(),
            value: Some(Box::new(list.len().into())),
            detail: format!("must have at most {limit} items"),
        });
    }
}

/// An error about a value that is too large to be shown.
fn unshown(spot: &Spot<'_>, detail: &str) -> FieldError {
    FieldError {
        kind: FieldErrorKind::Invalid,
        path: spot.path(),
        value: None,
        detail: detail.to_owned(),
    }
}
