use serde_json::json;

use crate::api::{Api, WIDGETS, widget};

#[tokio::test]
async fn a_new_object_gets_what_the_server_decides() {
    let api = Api::start().await;
    let mut sent = widget("a", 1);
    sent["metadata"]["uid"] = json!("mine");
    sent["metadata"]["generation"] = json!(7);
    sent["status"] = json!({"ready": 1});
    let agent = [("user-agent", "kubectl/v1.34")];
    let mut answer = api.send("POST", WIDGETS, &agent, &sent.to_string()).await;
    assert_eq!(answer.code, 201);
    let managed = answer.body["metadata"]
        .as_object_mut()
        .unwrap()
        .shift_remove("managedFields")
        .unwrap();
    assert_eq!(
        (&managed[0]["manager"], &managed[0]["operation"]),
        (&json!("kubectl"), &json!("Update"))
    );
    assert_eq!(
        answer.body,
        json!({
            "apiVersion": "test.io/v1", "kind": "Widget",
            "metadata": {
                "name": "a", "namespace": "d", "labels": {"parity": "odd"}, "uid": "uid-0", "generation": 1,
                "creationTimestamp": "2026-01-02T03:04:05Z", "resourceVersion": api.revision(1),
            },
            "spec": {"size": 1, "colour": "red"},
        })
    );
    let again = api.post(WIDGETS, &widget("a", 1)).await;
    assert_eq!(
        (again.code, again.body["reason"].as_str()),
        (409, Some("AlreadyExists"))
    );
}

#[tokio::test]
async fn a_name_is_generated_when_a_prefix_is_given() {
    let api = Api::start().await;
    let answer = api
        .post(WIDGETS, &json!({"metadata": {"generateName": "web-"}}))
        .await;
    assert_eq!(answer.code, 201);
    assert!(
        answer.body["metadata"]["name"]
            .as_str()
            .unwrap()
            .starts_with("web-x")
    );
}

#[tokio::test]
async fn generations_count_changes_of_the_wanted_state_only() {
    let api = Api::start().await.with_widgets(&["a"]).await;
    let path = format!("{WIDGETS}/a");
    let mut object = api.get(&path).await.body;
    object["metadata"]["labels"]["new"] = json!("x");
    let relabelled = api.put(&path, &object).await;
    assert_eq!(
        (relabelled.code, &relabelled.body["metadata"]["generation"]),
        (200, &json!(1))
    );
    let mut object = relabelled.body;
    object["spec"]["size"] = json!(9);
    object["status"] = json!({"ready": 5});
    let resized = api.put(&path, &object).await.body;
    assert_eq!(resized["metadata"]["generation"], 2);
    assert!(
        resized.get("status").is_none(),
        "the status has its own endpoint"
    );
    let mut object = resized;
    object["spec"]["size"] = json!(10);
    object["status"] = json!({"ready": 5});
    let reported = api.put(&format!("{path}/status"), &object).await.body;
    assert_eq!(
        (&reported["status"]["ready"], &reported["spec"]["size"]),
        (&json!(5), &json!(9))
    );
    assert_eq!(reported["metadata"]["generation"], 2);
}

#[tokio::test]
async fn patches_that_race_are_all_made() {
    let api = Api::start().await.with_widgets(&["a"]).await;
    let (api, path) = (&api, &format!("{WIDGETS}/a"));
    let merge = [("content-type", "application/merge-patch+json")];
    // All read the same revision before the first of them is stored.
    let patches = (0..8).map(|n| async move {
        let patch = json!({"metadata": {"labels": {(format!("racer-{n}")): "yes"}}}).to_string();
        let answer = api.send("PATCH", path, &merge, &patch).await;
        assert_eq!(answer.code, 200, "{}", answer.body);
    });
    futures_util::future::join_all(patches).await;
    let labels = &api.get(path).await.body["metadata"]["labels"];
    for n in 0..8 {
        assert_eq!(labels[format!("racer-{n}")], "yes", "{labels}");
    }
}

#[tokio::test]
async fn a_stale_revision_and_a_foreign_uid_are_conflicts() {
    let api = Api::start().await.with_widgets(&["a"]).await;
    let path = format!("{WIDGETS}/a");
    let old = api.get(&path).await.body;
    let mut new = old.clone();
    new["spec"]["size"] = json!(2);
    assert_eq!(api.put(&path, &new).await.code, 200);
    let mut stale = old.clone();
    stale["spec"]["size"] = json!(3);
    let answer = api.put(&path, &stale).await;
    assert_eq!(
        (answer.code, answer.body["reason"].as_str()),
        (409, Some("Conflict"))
    );
    let mut foreign = widget("a", 4);
    foreign["metadata"]["uid"] = json!("another");
    assert_eq!(api.put(&path, &foreign).await.code, 409);
    // Whoever applies to one object does not make another, be it that the object is gone.
    let apply = [("content-type", "application/apply-patch+yaml")];
    for name in ["a", "gone"] {
        let mut meant = widget(name, 4);
        meant["apiVersion"] = json!("test.io/v1");
        meant["kind"] = json!("Widget");
        meant["metadata"]["uid"] = json!("another");
        let path = format!("{WIDGETS}/{name}?fieldManager=m&force=true");
        let answer = api.send("PATCH", &path, &apply, &meant.to_string()).await;
        assert_eq!(answer.code, 409, "{}", answer.body);
    }
    assert_eq!(api.get(&format!("{WIDGETS}/gone")).await.code, 404);
    let unconditional = api.put(&path, &widget("a", 5)).await;
    assert_eq!(
        (unconditional.code, &unconditional.body["spec"]["size"]),
        (200, &json!(5))
    );
}

#[tokio::test]
async fn writing_what_is_there_already_changes_nothing() {
    let api = Api::start().await.with_widgets(&["a"]).await;
    let path = format!("{WIDGETS}/a");
    let before = api.get(&path).await.body;
    assert_eq!(api.put(&path, &before).await.body, before);
}

#[tokio::test]
async fn patches_change_parts() {
    let api = Api::start().await.with_widgets(&["a"]).await;
    let path = format!("{WIDGETS}/a");
    let merge = [("content-type", "application/merge-patch+json")];
    let answer = api
        .send(
            "PATCH",
            &path,
            &merge,
            r#"{"spec":{"size":7,"colour":null}}"#,
        )
        .await;
    assert_eq!(
        (answer.code, &answer.body["spec"]),
        (200, &json!({"size": 7, "colour": "red"}))
    );
    let json = [("content-type", "application/json-patch+json")];
    let operations = r#"[{"op":"test","path":"/spec/size","value":7},{"op":"add","path":"/spec/parts","value":["x"]}]"#;
    let answer = api.send("PATCH", &path, &json, operations).await;
    assert_eq!(
        (answer.code, &answer.body["spec"]["parts"]),
        (200, &json!(["x"]))
    );
    let failing = r#"[{"op":"test","path":"/spec/size","value":8}]"#;
    assert_eq!(api.send("PATCH", &path, &json, failing).await.code, 422);
    assert_eq!(api.send("PATCH", &path, &json, "{}").await.code, 400);
    assert_eq!(
        api.send("PATCH", &path, &[("content-type", "text/plain")], "x")
            .await
            .code,
        415
    );
    assert_eq!(
        api.send("PATCH", &format!("{WIDGETS}/none"), &merge, "{}")
            .await
            .code,
        404
    );
}

#[tokio::test]
async fn unknown_and_repeated_fields_are_dropped_warned_about_or_refused() {
    let api = Api::start().await;
    let body = r#"{"metadata":{"name":"NAME"},"spec":{"size":1,"novel":true,"size":2}}"#;
    for (name, validation, code, warnings) in [
        ("ignored", "Ignore", 201, 0),
        ("warned", "Warn", 201, 2),
        ("refused", "Strict", 400, 0),
    ] {
        let path = format!("{WIDGETS}?fieldValidation={validation}");
        let answer = api
            .send("POST", &path, &[], &body.replace("NAME", name))
            .await;
        assert_eq!(answer.code, code, "{validation}: {}", answer.body);
        assert_eq!(
            answer.headers.get_all("warning").iter().count(),
            warnings,
            "{validation}"
        );
    }
    assert!(
        api.get(&format!("{WIDGETS}/warned")).await.body["spec"]
            .get("novel")
            .is_none()
    );
    assert_eq!(api.get(&format!("{WIDGETS}/refused")).await.code, 404);
}

#[tokio::test]
async fn a_rehearsal_answers_and_stores_nothing() {
    let api = Api::start().await.with_widgets(&["a"]).await;
    let answer = api
        .post(&format!("{WIDGETS}?dryRun=All"), &widget("b", 2))
        .await;
    assert_eq!(
        (answer.code, &answer.body["spec"]["colour"]),
        (201, &json!("red"))
    );
    assert_eq!(api.get(&format!("{WIDGETS}/b")).await.code, 404);
    let mut object = api.get(&format!("{WIDGETS}/a")).await.body;
    object["spec"]["size"] = json!(9);
    assert_eq!(
        api.put(&format!("{WIDGETS}/a?dryRun=All"), &object)
            .await
            .body["spec"]["size"],
        9
    );
    assert_eq!(
        api.get(&format!("{WIDGETS}/a")).await.body["spec"]["size"],
        1
    );
    assert_eq!(
        api.post(&format!("{WIDGETS}?dryRun=All"), &widget("a", 2))
            .await
            .code,
        409
    );
}

#[tokio::test]
async fn bad_input_is_refused_with_its_reason_and_changes_nothing() {
    let api = Api::start().await.with_widgets(&["a"]).await;
    let before = api.get(WIDGETS).await.body;
    let deep = format!("{{\"spec\":{}1{}}}", "[".repeat(10_000), "]".repeat(10_000));
    let large = format!(
        "{{\"metadata\":{{\"name\":\"x\",\"annotations\":{{\"a\":\"{}\"}}}}}}",
        "y".repeat(4 << 20)
    );
    let cases: Vec<(&str, &str, u16, &str)> = vec![
        ("malformed", "{", 400, "BadRequest"),
        ("empty", "", 400, "BadRequest"),
        ("no object", "[1]", 400, "BadRequest"),
        ("too deep", &deep, 400, "BadRequest"),
        ("too large", &large, 413, "RequestEntityTooLarge"),
        ("no name", "{}", 422, "Invalid"),
        ("bad name", r#"{"metadata":{"name":"A/b"}}"#, 422, "Invalid"),
        (
            "name of another type",
            r#"{"metadata":{"name":1}}"#,
            400,
            "BadRequest",
        ),
        (
            "bad label",
            r#"{"metadata":{"name":"x","labels":{"-":"y"}}}"#,
            422,
            "Invalid",
        ),
        (
            "another kind",
            r#"{"kind":"Gadget","metadata":{"name":"x"}}"#,
            422,
            "Invalid",
        ),
        (
            "another version",
            r#"{"apiVersion":"test.io/v9","metadata":{"name":"x"}}"#,
            400,
            "BadRequest",
        ),
        (
            "another namespace",
            r#"{"metadata":{"name":"x","namespace":"e"}}"#,
            400,
            "BadRequest",
        ),
        (
            "a revision",
            r#"{"metadata":{"name":"x","resourceVersion":"1"}}"#,
            400,
            "BadRequest",
        ),
        (
            "a wrong type",
            r#"{"metadata":{"name":"x"},"spec":{"size":"large"}}"#,
            422,
            "Invalid",
        ),
    ];
    for (case, body, code, reason) in cases {
        let answer = api.send("POST", WIDGETS, &[], body).await;
        assert_eq!(
            (answer.code, answer.body["reason"].as_str()),
            (code, Some(reason)),
            "{case}: {}",
            answer.body
        );
    }
    let text = [("content-type", "text/plain")];
    assert_eq!(api.send("POST", WIDGETS, &text, "{}").await.code, 415);
    assert_eq!(api.get(WIDGETS).await.body, before);
}

#[tokio::test]
async fn appliers_own_their_fields_and_are_told_about_each_other() {
    let api = Api::start().await;
    let path = format!("{WIDGETS}/a");
    let headers = [("content-type", "application/apply-patch+yaml")];
    let apply = |manager: &str, size: i64, force: bool| {
        let query = format!("{path}?fieldManager={manager}&force={force}");
        let body = format!(
            "apiVersion: test.io/v1\nkind: Widget\nmetadata: {{name: a}}\nspec: {{size: {size}}}\n"
        );
        (query, body)
    };
    let (query, body) = apply("ann", 1, false);
    assert_eq!(api.send("PATCH", &query, &headers, &body).await.code, 201);
    assert_eq!(
        api.send("PATCH", &query, &headers, &body).await.code,
        200,
        "applying again changes nothing"
    );
    let (query, body) = apply("bob", 2, false);
    let conflict = api.send("PATCH", &query, &headers, &body).await;
    assert_eq!(
        (conflict.code, conflict.body["reason"].as_str()),
        (409, Some("Conflict"))
    );
    assert_eq!(conflict.body["details"]["causes"][0]["field"], ".spec.size");
    let (query, body) = apply("bob", 2, true);
    let forced = api.send("PATCH", &query, &headers, &body).await;
    assert_eq!(
        (forced.code, &forced.body["spec"]["size"]),
        (200, &json!(2))
    );
    let nameless = api.send("PATCH", &path, &headers, &body).await;
    assert_eq!(
        (nameless.code, nameless.body["reason"].as_str()),
        (422, Some("Invalid"))
    );
}
