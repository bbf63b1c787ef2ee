use serde_json::json;

use super::*;

/// What an answer to review `u1` comes to, in a line.
fn check(answer: Value, may_change: bool) -> String {
    match read(answer.to_string().as_bytes(), "v1", "u1", may_change) {
        Err(why) => format!("error: {why}"),
        Ok(answer) => match (&answer.refusal, &answer.patch) {
            (Some(refusal), _) => format!("{} {}{}", refusal.code, refusal.reason, refusal.message),
            (None, Some(_)) => "patch".to_owned(),
            (None, None) => format!("yes {:?}", answer.warnings),
        },
    }
}

fn answer(response: Value) -> Value {
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
}

#[test]
fn answers_mean_what_upstream_reads_in_them() {
    let patch = STANDARD.encode(r#"[{"op":"add","path":"/a","value":1}]"#);
    for (response, may_change, expected) in [
        (json!({"uid": "u1", "allowed": true}), true, "yes []"),
        (
            json!({"uid": "u1", "allowed": true, "warnings": ["w"]}),
            false,
            "yes [\"w\"]",
        ),
        (json!({"uid": "u1"}), true, "400  without explanation"),
        (
            json!({"uid": "u1", "allowed": false, "status": {"code": 403, "message": "no"}}),
            true,
            "403 : no",
        ),
        (
            json!({"uid": "u1", "allowed": false, "status": {"code": 200, "reason": "Invalid"}}),
            true,
            "400 Invalid: Invalid",
        ),
        (
            json!({"uid": "u2", "allowed": true}),
            true,
            "error: expected response.uid=\"u1\", got \"u2\"",
        ),
        (
            json!({"uid": "u1", "allowed": true, "patch": patch, "patchType": "JSONPatch"}),
            true,
            "patch",
        ),
        (
            json!({"uid": "u1", "allowed": true, "patch": patch}),
            true,
            "error: webhook returned response.patch but not response.patchType",
        ),
        (
            json!({"uid": "u1", "allowed": true, "patchType": "JSONPatch"}),
            true,
            "error: webhook returned response.patchType but not response.patch",
        ),
        (
            json!({"uid": "u1", "allowed": true, "patch": patch, "patchType": "Merge"}),
            true,
            "error: unsupported patch type \"Merge\"",
        ),
        (
            json!({"uid": "u1", "allowed": true, "patch": patch, "patchType": "JSONPatch"}),
            false,
            "error: validating webhook may not return response.patch",
        ),
        (
            json!({"uid": "u1", "allowed": true, "patch": "!", "patchType": "JSONPatch"}),
            true,
            "error: response.patch is not base64",
        ),
    ] {
        assert_eq!(
            check(answer(response.clone()), may_change),
            expected,
            "{response}"
        );
    }
}

#[test]
fn the_old_version_is_read_without_looking_closely() {
    let patch = STANDARD.encode(r#"[{"op":"add","path":"/a","value":1}]"#);
    let response = json!({"uid": "u2", "allowed": true, "patch": patch, "patchType": "?"});
    let review = json!({"kind": "Whatever", "response": response}).to_string();
    let check = |may_change| {
        let answer = read(review.as_bytes(), "v1beta1", "u1", may_change);
        answer.map(|answer| answer.patch.is_some())
    };
    assert_eq!((check(true), check(false)), (Ok(true), Ok(false)));
}

#[test]
fn what_is_no_review_is_no_answer() {
    for (document, expected) in [
        (
            json!([]),
            "error: expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got , Kind=",
        ),
        (
            json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}),
            "error: webhook response was absent",
        ),
        (
            json!({"apiVersion": "v1", "kind": "Pod", "response": {"uid": "u1", "allowed": true}}),
            "error: expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got v1, Kind=Pod",
        ),
    ] {
        assert_eq!(check(document.clone(), true), expected, "{document}");
    }
    assert!(read(b"<html>", "v1", "u1", true).is_err());
}
