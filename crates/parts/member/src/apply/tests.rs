//! What is written to a member, kept, refused and released.

mod released;

use api::work::v1alpha1::Work;
use interpret::Interpreter;
use object::{Object, ObjectKey, ResourceType, Value};
use serde_json::json;

use crate::apply::outcome::{self, Done};
use crate::apply::ownership::taken_over;
use crate::apply::plan::{Inputs, Step, Way, cannot_be_applied, plan};
use crate::apply::record::{How, Version, Written, fingerprint};
use crate::apply::release::{Afterwards, release};
use crate::testing::{at, check, line, object};
use crate::works::connection::Live;

fn deployments() -> ResourceType {
    ResourceType::namespaced("apps", "v1", "Deployment", "deployments")
}

/// A manifest with the marks of its work.
fn manifest(image: &str, extra: Value) -> Object {
    let mut manifest = object(json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop",
            "labels": {"karmada.io/managed": "true"},
            "annotations": {"work.karmada.io/namespace": "karmada-es-m1", "work.karmada.io/name": "web-1"}},
        "spec": {"replicas": 2, "image": image},
    }));
    for (path, value) in extra.as_object().unwrap() {
        let path: Vec<&str> = path.split('|').collect();
        manifest.set(&path, value.clone()).unwrap();
    }
    manifest
}

/// The same as the member has it.
fn observed(image: &str, extra: Value) -> Object {
    let mut observed = manifest(image, extra);
    for (name, value) in [
        ("uid", json!("u")),
        ("resourceVersion", json!("9")),
        ("generation", json!(4)),
    ] {
        if observed.at(&["metadata", name]).is_none() {
            observed.set(&["metadata", name], value).unwrap();
        }
    }
    observed.set(&["status"], json!({"replicas": 2})).unwrap();
    observed
}

fn ours() -> Value {
    json!([{"manager": "karavel", "operation": "Apply", "apiVersion": "apps/v1", "fieldsV1": {"f:spec": {"f:image": {}}}}])
}

fn decide(manifest: &Object, observed: Option<&Object>, written: Option<&Written>) -> Vec<String> {
    decide_by(Way::Apply, manifest, observed, written)
}

fn decide_by(
    way: Way,
    manifest: &Object,
    observed: Option<&Object>,
    written: Option<&Written>,
) -> Vec<String> {
    let interpreter = Interpreter::default();
    let resource = deployments();
    let inputs = Inputs {
        cluster: "m1",
        resource: &resource,
        manifest,
        observed,
        written,
        way,
        rival: None,
        interpreter: &interpreter,
        retained: None,
    };
    match plan(&inputs) {
        Ok(Step::Keep) => vec!["keep".to_owned()],
        Ok(Step::Make(action)) => vec![line(&action)],
        Ok(Step::Bring(actions)) => actions.iter().map(line).collect(),
        Err(refusal) => vec![refusal.to_string()],
    }
}

fn written(manifest: &Object, observed: &Object) -> Written {
    Written {
        manifest: fingerprint(manifest),
        version: Version::of(observed),
        how: How::Applied,
    }
}

const APPLIED: &str = r#"apply Deployment shop/web by karavel, forced {"metadata":{"labels":{"karmada.io/managed":"true"},"annotations":{"work.karmada.io/namespace":"karmada-es-m1","work.karmada.io/name":"web-1"},"uid":"u","resourceVersion":"9"},"spec":{"replicas":2,"image":"v2"}}"#;

#[test]
fn what_is_not_there_is_made() {
    let manifest = manifest("v1", json!({}));
    let made = decide(&manifest, None, None);
    assert_eq!(made.len(), 1);
    assert!(
        made[0].starts_with("create Deployment shop/web "),
        "{made:?}"
    );
}

#[test]
fn what_is_as_it_should_be_is_kept() {
    let manifest = manifest("v1", json!({}));
    let same = observed("v1", json!({"metadata|managedFields": ours()}));
    let known = written(&manifest, &same);
    assert_eq!(decide(&manifest, Some(&same), Some(&known)), ["keep"]);
    // Somebody changed a field that the manifest does not mention.
    let other = observed(
        "v1",
        json!({"metadata|managedFields": ours(), "metadata|generation": 5, "spec|paused": true}),
    );
    assert_eq!(decide(&manifest, Some(&other), Some(&known)), ["keep"]);
}

#[test]
fn a_change_on_either_side_is_applied() {
    let next = manifest("v2", json!({}));
    let there = observed("v1", json!({"metadata|managedFields": ours()}));
    let known = written(&manifest("v1", json!({})), &there);
    assert_eq!(
        decide(&next, Some(&there), Some(&known)),
        [APPLIED],
        "a new manifest"
    );
    let known = written(&next, &there);
    let touched = observed(
        "v1",
        json!({"metadata|managedFields": ours(), "metadata|generation": 5}),
    );
    assert_eq!(
        decide(&next, Some(&touched), Some(&known)),
        [APPLIED],
        "changed by hand"
    );
    assert_eq!(
        decide(&next, Some(&there), None),
        [APPLIED],
        "after a restart"
    );
    let mut stripped = observed("v2", json!({"metadata|managedFields": ours()}));
    stripped
        .set(
            &["metadata", "labels"],
            json!({"karmada.io/managed": "true"}),
        )
        .unwrap();
    let labelled = manifest("v2", json!({"metadata|labels|team": "a"}));
    let known = written(&labelled, &stripped);
    assert_ne!(
        decide(&labelled, Some(&stripped), Some(&known)),
        ["keep"],
        "a label taken away"
    );
}

#[test]
fn what_a_member_cannot_apply_is_replaced_by_the_same_rules() {
    let next = manifest("v2", json!({"metadata|labels|new": "yes"}));
    let there = observed(
        "v1",
        json!({"spec|paused": true, "metadata|labels|theirs": "yes", "metadata|labels|old": "yes",
            "metadata|annotations": {"resourcetemplate.karmada.io/managed-labels": "karmada.io/managed,old"},
            "metadata|finalizers": ["example.com/theirs"], "metadata|managedFields": ours()}),
    );
    let known = written(&manifest("v1", json!({})), &there);
    assert_eq!(
        decide_by(Way::Replace, &next, Some(&there), Some(&known)),
        [
            r#"replace Deployment shop/web {"metadata":{"labels":{"karmada.io/managed":"true","new":"yes","theirs":"yes"},"annotations":{"work.karmada.io/namespace":"karmada-es-m1","work.karmada.io/name":"web-1","resourcetemplate.karmada.io/managed-labels":"karmada.io/managed,old"},"resourceVersion":"9","finalizers":["example.com/theirs"],"uid":"u"},"spec":{"replicas":2,"image":"v2"},"status":{"replicas":2}}"#
        ]
    );
    let foreign = observed("v1", json!({"metadata|labels": {}}));
    let refused = decide_by(Way::Replace, &next, Some(&foreign), None);
    assert!(
        refused[0].contains("will not manage this resource"),
        "{refused:?}"
    );
    let going = observed(
        "v1",
        json!({"metadata|deletionTimestamp": "2026-01-02T03:04:05Z"}),
    );
    let refused = decide_by(Way::Replace, &next, Some(&going), None);
    assert!(refused[0].contains("is being deleted"), "{refused:?}");
}

#[test]
fn only_equal_items_of_a_list_keep_a_manifest_from_being_applied() {
    for (refusal, expected) in [
        (
            r#"failed to create typed patch object (test/web; apps/v1, Kind=Deployment): .spec.template.spec.containers[name="web"].env: duplicate entries for key [name="A"]"#,
            true,
        ),
        (
            r#"failed to create typed patch object (test/web; apps/v1, Kind=Deployment): errors:
  .spec.template.spec.containers[name="web"].ports: duplicate entries for key [containerPort=80,protocol="TCP"]
  .spec.template.spec.containers[name="web"].env: duplicate entries for key [name="A"]"#,
            true,
        ),
        (
            r#"Deployment.apps "web" is invalid: spec.template.spec.containers[1].name: Duplicate value: "web""#,
            false,
        ),
        (
            "failed to create typed patch object: .spec.a: field not declared in schema",
            false,
        ),
    ] {
        assert_eq!(cannot_be_applied(refusal), expected, "{refusal}");
    }
}

#[test]
fn a_field_that_left_the_manifest_is_applied_away() {
    let before = manifest("v1", json!({"spec|paused": true}));
    let there = observed(
        "v1",
        json!({"spec|paused": true, "metadata|managedFields": ours()}),
    );
    let steps = decide(
        &manifest("v1", json!({})),
        Some(&there),
        Some(&written(&before, &there)),
    );
    assert!(
        steps[0].starts_with("apply Deployment shop/web ") && !steps[0].contains("paused"),
        "{steps:?}"
    );
}

#[test]
fn what_the_member_owns_is_kept_as_it_is_there() {
    let next = manifest(
        "v2",
        json!({"metadata|labels|resourcetemplate.karmada.io~1retain": "x",
                                     "metadata|labels|resourcetemplate.karmada.io/retain-replicas": "true"}),
    );
    let there = observed(
        "v1",
        json!({"spec|replicas": 7, "metadata|managedFields": ours(),
        "metadata|labels|theirs": "1", "metadata|finalizers": ["theirs"]}),
    );
    let steps = decide(&next, Some(&there), None);
    assert!(steps[0].contains(r#""replicas":7"#), "{steps:?}");
    assert!(
        !steps[0].contains("theirs"),
        "metadata of others stays theirs: {steps:?}"
    );
}

#[test]
fn somebody_elses_object_is_left_alone_unless_asked_for() {
    let mine = manifest("v2", json!({}));
    let mut foreign = observed("v1", json!({}));
    foreign.set(&["metadata", "labels"], json!({})).unwrap();
    let refusal = "resource(kind=Deployment, shop/web) already exists in the cluster m1 and the \
                   work.karmada.io/conflict-resolution strategy value is empty, Karmada will not manage this resource";
    assert_eq!(decide(&mine, Some(&foreign), None), [refusal]);
    let abort = manifest(
        "v2",
        json!({"metadata|annotations|work.karmada.io/conflict-resolution": "abort"}),
    );
    assert_eq!(decide(&abort, Some(&foreign), None), [refusal]);
    let overwrite = manifest(
        "v2",
        json!({"metadata|annotations|work.karmada.io/conflict-resolution": "overwrite"}),
    );
    foreign.set(&["metadata", "managedFields"], json!([
        {"manager": "kubectl", "operation": "Update", "apiVersion": "apps/v1",
         "fieldsV1": {"f:spec": {"f:image": {}, "f:paused": {}}, "f:metadata": {"f:labels": {"f:a": {}}}}},
    ])).unwrap();
    let steps = decide(&overwrite, Some(&foreign), None);
    assert_eq!(steps.len(), 2, "{steps:?}");
    assert_eq!(
        steps[0],
        r#"patch Deployment shop/web @u@9 {"metadata":{"managedFields":[{"manager":"karavel","operation":"Apply","apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:image":{},"f:paused":{}}}},{"manager":"kubectl","operation":"Update","apiVersion":"apps/v1","fieldsV1":{"f:metadata":{"f:labels":{"f:a":{}}}}}]}}"#
    );
    assert!(
        steps[1].contains(r#""uid":"u""#) && !steps[1].contains("resourceVersion"),
        "{}",
        steps[1]
    );
}

#[test]
fn what_is_ending_is_waited_for() {
    let ending = observed(
        "v1",
        json!({"metadata|deletionTimestamp": "2026-01-01T00:00:00Z"}),
    );
    assert_eq!(
        decide(&manifest("v2", json!({})), Some(&ending), None),
        ["resource(kind=Deployment, shop/web) is being deleted in the cluster m1"]
    );
}

#[test]
fn fields_become_ours_once() {
    let with = |entries: Value| observed("v1", json!({"metadata|managedFields": entries}));
    assert_eq!(taken_over(&with(ours()), "apps/v1"), None);
    assert_eq!(
        taken_over(&observed("v1", json!({})), "apps/v1"),
        None,
        "no owners at all"
    );
    let created = json!([
        {"manager": "karavel", "operation": "Update", "apiVersion": "apps/v1", "time": "t1",
         "fieldsV1": {"f:spec": {"f:image": {}}, "f:metadata": {"f:labels": {"f:a": {}}}}},
        {"manager": "hpa", "operation": "Update", "apiVersion": "apps/v1", "fieldsV1": {"f:spec": {"f:replicas": {}}}},
        {"manager": "kcm", "operation": "Update", "apiVersion": "apps/v1", "subresource": "status", "fieldsV1": {"f:status": {}}},
    ]);
    let owners = taken_over(&with(created.clone()), "apps/v1").unwrap();
    assert_eq!(owners[0]["operation"], "Apply");
    assert_eq!(owners[0]["time"], "t1");
    assert_eq!(
        owners[0]["fieldsV1"],
        json!({"f:spec": {"f:image": {}, "f:replicas": {}}, "f:metadata": {"f:labels": {"f:a": {}}}}),
        "with its metadata, and what was written by hand"
    );
    assert_eq!(owners[1], created[2], "the status is whose it was");
    assert_eq!(owners.as_array().unwrap().len(), 2);
    let again = with(owners);
    assert_eq!(taken_over(&again, "apps/v1"), None);
}

#[test]
fn what_somebody_adds_by_hand_is_taken_away_and_what_they_apply_stays() {
    let wanted = manifest("v1", json!({}));
    let before = observed("v1", json!({"metadata|managedFields": ours()}));
    let check = |operation: &str, fields: Value, expected: &[&str]| {
        let mut owners = ours();
        let theirs = json!({"manager": "kubectl-edit", "operation": operation, "apiVersion": "apps/v1", "fieldsV1": fields});
        owners.as_array_mut().unwrap().push(theirs);
        let touched = observed(
            "v1",
            json!({"metadata|managedFields": owners, "metadata|generation": 5, "spec|paused": true}),
        );
        let lines = decide(&wanted, Some(&touched), Some(&written(&wanted, &before)));
        let verbs: Vec<&str> = lines
            .iter()
            .filter_map(|line| line.split(' ').next())
            .collect();
        assert_eq!(verbs, expected, "{operation}: {lines:?}");
    };
    check(
        "Update",
        json!({"f:spec": {"f:paused": {}}}),
        &["patch", "apply"],
    );
    check(
        "Update",
        json!({"f:metadata": {"f:labels": {"f:own": {}}}}),
        &["keep"],
    );
    check("Apply", json!({"f:spec": {"f:paused": {}}}), &["keep"]);
}

#[test]
fn fingerprints_ignore_order_and_nothing_else() {
    let one = object(json!({"a": {"x": 1, "y": [1, 2]}, "b": null}));
    let same = object(json!({"b": null, "a": {"y": [1, 2], "x": 1}}));
    assert_eq!(fingerprint(&one), fingerprint(&same));
    for other in [
        json!({"a": {"x": 1, "y": [2, 1]}, "b": null}),
        json!({"a": {"x": 1, "y": [1, 2]}}),
        json!({"b": {"x": 1, "y": [1, 2]}, "a": null}),
        json!({"a": {"x": "1", "y": [1, 2]}, "b": null}),
    ] {
        assert_ne!(fingerprint(&one), fingerprint(&object(other)));
    }
}

#[test]
fn a_deleted_work_takes_only_its_own_with_it() {
    let work = ObjectKey::namespaced("karmada-es-m1", "web-1");
    let resource = deployments();
    let shown = |observed: &Object, afterwards| {
        let observed = Live::told(observed.clone());
        release(
            &work,
            &manifest("v1", json!({})),
            &resource,
            &observed,
            afterwards,
        )
        .as_ref()
        .map(line)
    };
    let ours = observed(
        "v1",
        json!({"metadata|labels|team": "a", "metadata|annotations|resourcetemplate.karmada.io/uid": "t"}),
    );
    assert_eq!(
        shown(&ours, Afterwards::Delete).unwrap(),
        "delete Deployment shop/web @u Background because its work karmada-es-m1/web-1 was deleted"
    );
    assert_eq!(
        shown(&ours, Afterwards::Preserve).unwrap(),
        r#"patch Deployment shop/web @u@9 {"metadata":{"labels":{"karmada.io/managed":null},"annotations":{"work.karmada.io/namespace":null,"work.karmada.io/name":null,"resourcetemplate.karmada.io/uid":null}}}"#
    );
    let mut foreign = ours.clone();
    foreign.remove(&["metadata", "labels", "karmada.io/managed"]);
    let another = observed(
        "v1",
        json!({"metadata|annotations|work.karmada.io/name": "web-2"}),
    );
    assert_eq!(
        shown(&ours, Afterwards::Leave),
        None,
        "somebody comes back for it"
    );
    for afterwards in [Afterwards::Delete, Afterwards::Preserve] {
        assert_eq!(shown(&foreign, afterwards), None, "not marked as ours");
        assert_eq!(
            shown(&another, afterwards),
            None,
            "taken over by another work"
        );
    }
    let ending = observed(
        "v1",
        json!({"metadata|deletionTimestamp": "2026-01-01T00:00:00Z"}),
    );
    assert_eq!(
        shown(&ending, Afterwards::Delete),
        None,
        "already on its way"
    );
}

fn work(conditions: Value, suspended: bool) -> (Object, Work) {
    let object = object(json!({
        "apiVersion": "work.karmada.io/v1alpha1", "kind": "Work",
        "metadata": {"name": "web-1", "namespace": "karmada-es-m1", "uid": "w", "resourceVersion": "5"},
        "spec": {"suspendDispatching": suspended}, "status": {"conditions": conditions},
    }));
    let work = api::read::read(&object).unwrap();
    (object, work)
}

fn dispatching(status: &str) -> Value {
    json!({"type": "Dispatching", "status": status, "lastTransitionTime": "2026-01-01T00:00:00Z", "reason": "Dispatching", "message": "d"})
}

#[test]
fn a_work_says_what_became_of_it() {
    let template = manifest(
        "v1",
        json!({"metadata|annotations|resourcetemplate.karmada.io/uid": "t"}),
    );
    let plain = manifest("v1", json!({}));
    let applied = json!({"type": "Applied", "status": "True", "reason": "AppliedSuccessful",
                         "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let said = r#"{"type":"Dispatching","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z","reason":"Dispatching","message":"d"}"#;
    let (object, fresh) = work(json!([]), false);
    check(
        "first time",
        &outcome::plan(&object, &fresh, &[(&template, Done::Made)], at(0)),
        &[
            r#"patch Work karmada-es-m1/web-1 @w/status {"status":{"conditions":[{"type":"Dispatching","status":"True","lastTransitionTime":"<t0>","reason":"Dispatching","message":"Work is being dispatched to member clusters."},{"type":"Applied","status":"True","lastTransitionTime":"<t0>","reason":"AppliedSuccessful","message":"Manifest has been successfully applied"}]}}"#,
            "report Work karmada-es-m1/web-1 Normal WorkDispatching: Work is being dispatched to member clusters.",
            "report Work karmada-es-m1/web-1 Normal SyncSucceed: applied Deployment shop/web to cluster m1",
            "report Deployment shop/web Normal SyncSucceed: applied Deployment shop/web to cluster m1",
        ],
    );
    let (object, known) = work(json!([dispatching("True"), applied]), false);
    check(
        "nothing new",
        &outcome::plan(&object, &known, &[(&plain, Done::Kept)], at(0)),
        &[],
    );
    let again = format!(
        r#"patch Work karmada-es-m1/web-1 @w/status {{"status":{{"conditions":[{said},{{"type":"Applied","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z","reason":"ReCreateSuccessful","message":"Manifest has been successfully applied"}}]}}}}"#
    );
    check(
        "made again",
        &outcome::plan(&object, &known, &[(&plain, Done::Made)], at(0)),
        &[
            &again,
            "report Work karmada-es-m1/web-1 Normal SyncSucceed: applied Deployment shop/web to cluster m1",
        ],
    );
    let done = [
        (&plain, Done::Kept),
        (&plain, Done::Failed("no room".to_owned())),
        (&plain, Done::Failed("no time".to_owned())),
    ];
    let failed = format!(
        r#"patch Work karmada-es-m1/web-1 @w/status {{"status":{{"conditions":[{said},{{"type":"Applied","status":"False","lastTransitionTime":"<t0>","reason":"AppliedFailed","message":"Failed to apply all manifests (1/3): no room, no time"}}]}}}}"#
    );
    check(
        "one of three",
        &outcome::plan(&object, &known, &done, at(0)),
        &[
            &failed,
            "report Work karmada-es-m1/web-1 Warning SyncFailed: cannot apply Deployment shop/web to cluster m1: no room",
            "report Work karmada-es-m1/web-1 Warning SyncFailed: cannot apply Deployment shop/web to cluster m1: no time",
        ],
    );
}

#[test]
fn holding_changes_back_is_said_once() {
    let (object, held) = work(json!([]), true);
    check(
        "held",
        &outcome::plan(&object, &held, &[], at(0)),
        &[
            r#"patch Work karmada-es-m1/web-1 @w/status {"status":{"conditions":[{"type":"Dispatching","status":"False","lastTransitionTime":"<t0>","reason":"SuspendDispatching","message":"Work dispatching is in a suspended state."}]}}"#,
            "report Work karmada-es-m1/web-1 Normal WorkDispatching: Work dispatching is in a suspended state.",
        ],
    );
    let (object, said) = work(json!([dispatching("False")]), true);
    check(
        "said already",
        &outcome::plan(&object, &said, &[], at(0)),
        &[],
    );
    let plain = manifest("v1", json!({}));
    let gone = [(&plain, Done::Absent)];
    check(
        "never there",
        &outcome::plan(&object, &said, &gone, at(0)),
        &[],
    );
    let applied = json!({"type": "Applied", "status": "True", "reason": "AppliedSuccessful",
                         "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let (object, said) = work(json!([dispatching("False"), applied]), true);
    check(
        "there",
        &outcome::plan(&object, &said, &[(&plain, Done::Kept)], at(0)),
        &[],
    );
    check(
        "deleted by somebody",
        &outcome::plan(&object, &said, &gone, at(0)),
        &[
            r#"patch Work karmada-es-m1/web-1 @w/status {"status":{"conditions":[{"type":"Dispatching","status":"False","lastTransitionTime":"2026-01-01T00:00:00Z","reason":"Dispatching","message":"d"},{"type":"Applied","status":"False","lastTransitionTime":"<t0>","reason":"AppliedFailed","message":"gone from the member, and not made again while dispatching is suspended: Deployment shop/web"}]}}"#,
        ],
    );
}
