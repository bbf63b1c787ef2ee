use super::*;

const CORE: (&str, &str) = ("", "Event");
const NEWER: (&str, &str) = ("events.k8s.io", "Event");
const ELSEWHERE: &str =
    "involvedObject.namespace: Invalid value: \"\": does not match event.namespace";

#[test]
fn an_event_lies_where_its_object_does() {
    let about = |here: &str, there: &str| json!({"metadata": {"namespace": here}, "involvedObject": {"namespace": there}});
    for (here, there, errors) in [
        ("default", "", &[][..]),
        ("a", "a", &[]),
        ("a", "", &[ELSEWHERE]),
        ("kube-system", "", &[ELSEWHERE]),
        (
            "a",
            "b",
            &["involvedObject.namespace: Invalid value: \"b\": does not match event.namespace"],
        ),
    ] {
        check(CORE, about(here, there), errors);
    }
    // The newer form may be about anything anywhere.
    for (here, there, errors) in [
        ("kube-system", "", &[][..]),
        ("a", "b", &[]),
        ("a", "", &[ELSEWHERE]),
    ] {
        let over = json!({"metadata": {"namespace": here}, "regarding": {"namespace": there}});
        check(NEWER, over, errors);
    }
}

#[test]
fn an_event_of_the_newer_form_says_what_it_promises() {
    for (over, errors) in [
        (
            json!({"eventTime": null}),
            &["eventTime: Required value"][..],
        ),
        (json!({"action": ""}), &["action: Required value"]),
        (json!({"reason": null}), &["reason: Required value"]),
        (
            json!({"reason": "R".repeat(129)}),
            &["reason: Invalid value: \"\": can have at most 128 characters"],
        ),
        (
            json!({"note": "n".repeat(1025)}),
            &["message: Invalid value: \"\": can have at most 1024 characters"],
        ),
        (
            json!({"reportingInstance": ""}),
            &["reportingInstance: Required value"],
        ),
        (
            json!({"reportingController": "a/b/c"}),
            &[
                "reportingController: Invalid value: \"a/b/c\": a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
            ],
        ),
        (
            json!({"type": "Odd"}),
            &["type: Invalid value: \"\": has invalid value: Odd"],
        ),
        (
            json!({"deprecatedCount": 1, "deprecatedSource": {"component": "c"}}),
            &[
                "count: Invalid value: \"\": needs to be unset",
                "source: Invalid value: \"\": needs to be unset",
            ],
        ),
        (
            json!({"series": {"count": 1, "lastObservedTime": null}}),
            &[
                "series.count: Invalid value: \"\": should be at least 2",
                "series.lastObservedTime: Required value",
            ],
        ),
    ] {
        check(NEWER, over, errors);
    }
}

#[test]
fn an_event_of_the_newer_form_only_goes_on() {
    let seen = "2026-01-01T12:05:00.000000Z";
    for (kind, over, errors) in [
        (
            NEWER,
            json!({"series": {"count": 2, "lastObservedTime": seen}}),
            &[][..],
        ),
        (
            NEWER,
            json!({"note": "other", "reportingController": "example.com/d"}),
            &[
                "message: Invalid value: \"other\": field is immutable",
                "reportingController: Invalid value: \"example.com/d\": field is immutable",
            ],
        ),
        (CORE, json!({"message": "other", "count": 2}), &[]),
    ] {
        check_change(kind, json!({}), over, errors);
    }
}

/// Rules may be younger than what is stored.
#[test]
fn an_event_that_was_let_in_can_still_be_counted() {
    let elsewhere = json!({"metadata": {"namespace": "a"}});
    check_change(CORE, elsewhere, json!({"count": 2}), &[]);
}
