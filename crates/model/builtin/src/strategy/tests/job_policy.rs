use super::*;

const JOB: (&str, &str) = ("batch", "Job");

#[track_caller]
fn check_spec(spec: Value, errors: &[&str]) {
    check(JOB, json!({"spec": spec}), errors);
}

#[test]
fn failures_are_told_apart_by_exit_codes_or_conditions() {
    let rule = |rule: Value| json!({"podFailurePolicy": {"rules": [with(json!({"action": "FailJob"}), rule)]}});
    let codes = |over: Value| {
        let codes = json!({"operator": "In", "values": [1, 2]});
        rule(json!({"onExitCodes": with(codes, over)}))
    };
    let condition = json!([{"type": "DisruptionTarget"}]);
    for (spec, errors) in [
        (codes(json!({})), &[][..]),
        (codes(json!({"containerName": "web"})), &[]),
        (
            codes(json!({"containerName": "other"})),
            &[
                "spec.podFailurePolicy.rules[0].onExitCodes.containerName: Invalid value: \"other\": must be one of the container or initContainer names in the pod template",
            ],
        ),
        (
            codes(json!({"values": [2, 1]})),
            &[
                "spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [2,1]: must be ordered",
            ],
        ),
        (
            codes(json!({"values": [0, 1, 1]})),
            &[
                "spec.podFailurePolicy.rules[0].onExitCodes.values[0]: Invalid value: 0: must not be 0 for the In operator",
                "spec.podFailurePolicy.rules[0].onExitCodes.values[2]: Duplicate value: 1",
            ],
        ),
        (codes(json!({"operator": "NotIn", "values": [0]})), &[]),
        (rule(json!({"onPodConditions": condition})), &[]),
        (
            rule(json!({"onPodConditions": [{"type": "DisruptionTarget", "status": "Odd"}]})),
            &[
                "spec.podFailurePolicy.rules[0].onPodConditions[0].status: Unsupported value: \"Odd\": supported values: \"False\", \"True\", \"Unknown\"",
            ],
        ),
        (
            rule(json!({})),
            &[
                "spec.podFailurePolicy.rules[0]: Invalid value: specifying one of OnExitCodes and OnPodConditions is required",
            ],
        ),
        (
            with(
                codes(json!({})),
                json!({"podReplacementPolicy": "TerminatingOrFailed"}),
            ),
            &[
                "spec.podReplacementPolicy: Unsupported value: \"TerminatingOrFailed\": supported values: \"Failed\"",
            ],
        ),
        (
            rule(json!({"onPodConditions": condition, "action": "FailIndex"})),
            &[
                "spec.podFailurePolicy.rules[0].action: Invalid value: \"FailIndex\": requires the backoffLimitPerIndex to be set",
            ],
        ),
    ] {
        check_spec(spec, errors);
    }
    let both =
        json!({"onPodConditions": condition, "onExitCodes": {"operator": "In", "values": [1]}});
    check_spec(
        rule(both),
        &[
            "spec.podFailurePolicy.rules[0]: Invalid value: specifying both OnExitCodes and OnPodConditions is not supported",
        ],
    );
}

#[test]
fn success_is_told_by_indexes_that_there_are() {
    let rule = |rule: Value| json!({"completionMode": "Indexed", "completions": 5, "successPolicy": {"rules": [rule]}});
    let indexes = |text: &str| rule(json!({"succeededIndexes": text}));
    let wrong = |text: &str, problem: &str| {
        format!(
            "spec.successPolicy.rules[0].succeededIndexes: Invalid value: {text:?}: error parsing succeededIndexes: {problem}"
        )
    };
    for good in ["", "0", "0,2-4", "1-2,4"] {
        check_spec(indexes(good), &[]);
    }
    for (bad, problem) in [
        ("5", "too large index: \"5\""),
        ("a", "cannot convert string to integer for index: \"a\""),
        ("3,1", "non-increasing order, previous: 3, current: 1"),
        ("2-1", "non-increasing order, previous: 2, current: 1"),
        (
            "0-1-2",
            "the fragment \"0-1-2\" violates the requirement that an index interval can have at most two parts separated by '-'",
        ),
    ] {
        check_spec(indexes(bad), &[&wrong(bad, problem)]);
    }
    check_spec(
        rule(json!({})),
        &[
            "spec.successPolicy.rules[0]: Required value: at least one of succeededCount or succeededIndexes must be specified",
        ],
    );
    check_spec(
        rule(json!({"succeededIndexes": "1-2", "succeededCount": 3})),
        &[
            "spec.successPolicy.rules[0].succeededCount: Invalid value: 3: must be less than or equal to 2 (the number of indexes in the specified succeededIndexes field)",
        ],
    );
}

#[test]
fn indexed_jobs_have_a_size_that_can_be_told() {
    let indexed = |over: Value| with(json!({"completionMode": "Indexed", "completions": 5}), over);
    for (over, errors) in [
        (
            json!({"parallelism": 100_001, "completions": 200_000}),
            &[
                "spec.parallelism: Invalid value: 100001: must be less than or equal to 100000 when completion mode is Indexed",
            ][..],
        ),
        (json!({"parallelism": 100_000, "completions": 200_000}), &[]),
        (
            json!({"backoffLimitPerIndex": 1, "maxFailedIndexes": 6}),
            &["spec.maxFailedIndexes: Invalid value: 6: must be less than or equal to completions"],
        ),
        (
            json!({"backoffLimitPerIndex": 1, "completions": 100_001, "parallelism": 10_001}),
            &[
                "spec.maxFailedIndexes: Required value: must be specified when completions is above 100000",
                "spec.parallelism: Invalid value: 10001: must be less than or equal to 10000 when completions are above 100000 and used with backoff limit per index",
            ],
        ),
    ] {
        check_spec(indexed(over), errors);
    }
}

#[test]
fn who_looks_after_a_job_has_a_domain() {
    for (name, errors) in [
        ("acme.io/foo", &[][..]),
        (
            "acme",
            &[
                "spec.managedBy: Invalid value: \"acme\": must be a domain-prefixed path (such as \"acme.io/foo\")",
            ],
        ),
        ("", &["spec.managedBy: Required value"]),
    ] {
        check_spec(json!({"managedBy": name}), errors);
    }
    let long = format!("acme.io/{}", "x".repeat(60));
    check_spec(
        json!({"managedBy": long}),
        &["spec.managedBy: Too long: may not be more than 63 bytes"],
    );
}

/// Rules may be younger than what is stored.
#[test]
fn a_job_that_was_let_in_can_still_change_and_go() {
    let odd = json!({"spec": {"managedBy": "acme"}, "metadata": {"finalizers": ["odd", "a/b"]}});
    check_change(JOB, odd.clone(), json!({"spec": {"suspend": true}}), &[]);
    check_change(
        JOB,
        odd.clone(),
        json!({"metadata": {"finalizers": ["odd"]}}),
        &[],
    );
    check_change(
        JOB,
        odd,
        json!({"metadata": {"finalizers": ["odd", "new"]}}),
        &[
            "metadata.finalizers[1]: Invalid value: \"new\": name is neither a standard finalizer name nor is it fully qualified",
        ],
    );
}

/// The account of a pod is shown under two names, which a job that was stored before does not have.
#[test]
fn what_is_filled_in_by_now_is_no_change() {
    let named = json!({"spec": {"template": {"spec": {"serviceAccountName": "a"}}}});
    let mut old = created("batch", "Job", named);
    let spec = old.pointer_mut("/spec/template/spec").unwrap();
    spec.as_object_mut().unwrap().shift_remove("serviceAccount");
    check_stored(JOB, old, json!({"spec": {"suspend": true}}), &[]);
}
