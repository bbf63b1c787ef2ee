use serde_json::json;

use crate::api::{Api, WIDGETS, widget};

#[tokio::test]
async fn an_object_nothing_holds_goes_at_once() {
    let api = Api::start().await.with_widgets(&["a"]).await;
    let answer = api.send("DELETE", &format!("{WIDGETS}/a"), &[], "").await;
    assert_eq!(
        (answer.code, answer.body["status"].as_str()),
        (200, Some("Success"))
    );
    assert_eq!(
        answer.body["details"],
        json!({"name": "a", "group": "test.io", "kind": "widgets", "uid": "uid-0"})
    );
    assert_eq!(api.get(&format!("{WIDGETS}/a")).await.code, 404);
    assert_eq!(
        api.send("DELETE", &format!("{WIDGETS}/a"), &[], "")
            .await
            .code,
        404
    );
}

#[tokio::test]
async fn a_finalizer_holds_an_object_until_it_is_taken_away() {
    let api = Api::start().await;
    let mut held = widget("a", 1);
    held["metadata"]["finalizers"] = json!(["test.io/hold"]);
    api.post(WIDGETS, &held).await;
    let path = format!("{WIDGETS}/a");
    let marked = api.send("DELETE", &path, &[], "").await;
    assert_eq!(
        (marked.code, marked.body["kind"].as_str()),
        (200, Some("Widget"))
    );
    assert_eq!(
        marked.body["metadata"]["deletionTimestamp"],
        "2026-01-02T03:04:05Z"
    );
    let again = api.send("DELETE", &path, &[], "").await;
    assert_eq!(
        again.body["metadata"]["resourceVersion"],
        marked.body["metadata"]["resourceVersion"]
    );
    let mut object = marked.body.clone();
    object["metadata"]["finalizers"] = json!(["test.io/hold", "test.io/more"]);
    assert_eq!(
        api.put(&path, &object).await.code,
        422,
        "nothing new may hold what is going"
    );
    object["metadata"]["finalizers"] = json!([]);
    assert_eq!(api.put(&path, &object).await.code, 200);
    assert_eq!(api.get(&path).await.code, 404);
}

#[tokio::test]
async fn what_becomes_of_owned_objects_is_left_to_finalizers() {
    for (policy, expected) in [("Foreground", "foregroundDeletion"), ("Orphan", "orphan")] {
        let api = Api::start().await.with_widgets(&["a"]).await;
        let path = format!("{WIDGETS}/a?propagationPolicy={policy}");
        let answer = api.send("DELETE", &path, &[], "").await;
        assert_eq!(answer.body["metadata"]["finalizers"], json!([expected]));
    }
    let api = Api::start().await.with_widgets(&["a"]).await;
    let body = r#"{"propagationPolicy":"Sideways"}"#;
    assert_eq!(
        api.send("DELETE", &format!("{WIDGETS}/a"), &[], body)
            .await
            .code,
        422
    );
}

#[tokio::test]
async fn preconditions_protect_from_deleting_another_object() {
    let api = Api::start().await.with_widgets(&["a"]).await;
    let path = format!("{WIDGETS}/a");
    for (body, code) in [
        (r#"{"preconditions":{"uid":"another"}}"#, 409),
        (r#"{"preconditions":{"resourceVersion":"99"}}"#, 409),
        (r#"{"preconditions":{"uid":"uid-0"},"dryRun":["All"]}"#, 200),
        (r#"{"preconditions":{"uid":"uid-0"}}"#, 200),
    ] {
        assert_eq!(
            api.send("DELETE", &path, &[], body).await.code,
            code,
            "{body}"
        );
    }
    assert_eq!(api.get(&path).await.code, 404);
}

#[tokio::test]
async fn a_selection_is_deleted_and_the_rest_stays() {
    let api = Api::start().await.with_widgets(&["a", "b", "c"]).await;
    let answer = api
        .send(
            "DELETE",
            &format!("{WIDGETS}?labelSelector=parity%3Dodd"),
            &[],
            "",
        )
        .await;
    assert_eq!(answer.body["items"].as_array().unwrap().len(), 2);
    let left = api.get(WIDGETS).await.body["items"]
        .as_array()
        .unwrap()
        .len();
    assert_eq!(left, 1);
}
