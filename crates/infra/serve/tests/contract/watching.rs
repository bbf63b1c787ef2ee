use std::time::Duration;

use http_body_util::BodyExt;
use serde_json::{Value, json};

use crate::api::{Api, WIDGETS, resource, widget};

#[tokio::test]
async fn a_watch_begins_with_everything_or_after_a_revision() {
    let api = Api::start().await.with_widgets(&["a", "b"]).await;
    let expected = ["ADDED a=1", "ADDED b=2"];
    assert_eq!(
        api.events(&format!("{WIDGETS}?watch=1"), expected.len())
            .await,
        expected
    );
    assert_eq!(
        api.events(
            &format!("{WIDGETS}?watch=1&resourceVersion={}", api.revision(1)),
            1
        )
        .await,
        ["ADDED b=2"]
    );
    let path = "/apis/test.io/v1/watch/namespaces/d/widgets?resourceVersion=";
    let path = format!("{path}{}", api.revision(1));
    let expected = ["ADDED b=2"];
    assert_eq!(api.events(&path, expected.len()).await, expected);
    let streamed = format!(
        "{WIDGETS}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
    );
    let expected = ["ADDED a=1", "ADDED b=2", "BOOKMARK"];
    assert_eq!(api.events(&streamed, expected.len()).await, expected);
}

#[tokio::test]
async fn a_watch_of_tables_tells_columns_once_and_ends_its_beginning_with_a_row() {
    let api = Api::start().await.with_widgets(&["a", "b"]).await;
    let path = format!(
        "{WIDGETS}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
    );
    let accepted = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
    let mut body = api.open("GET", &path, &accepted, "").await.into_body();
    let frame = body.frame().await.unwrap().unwrap().into_data().unwrap();
    let text = String::from_utf8(frame.to_vec()).unwrap();
    let events = text.lines().map(|line| {
        let event: Value = serde_json::from_str(line).unwrap();
        let table = &event["object"];
        assert_eq!(table["kind"], "Table");
        let columns = table["columnDefinitions"].as_array().map(Vec::len);
        let metadata = &table["rows"][0]["object"]["metadata"];
        let mark = &metadata["annotations"]["k8s.io/initial-events-end"];
        let said = [&event["type"], &metadata["name"], mark].map(Value::to_string);
        format!("{} {columns:?}", said.join(" "))
    });
    assert_eq!(
        events.collect::<Vec<_>>(),
        [
            r#""ADDED" "a" null Some(2)"#,
            r#""ADDED" "b" null None"#,
            r#""BOOKMARK" null "true" None"#
        ]
    );
}

#[tokio::test]
async fn a_selective_watcher_sees_objects_come_and_go_as_they_match() {
    let api = Api::start().await.with_widgets(&["a"]).await; // 1
    let path = format!("{WIDGETS}/a");
    api.put(&path, &widget("a", 2)).await; // 2: no longer odd
    api.put(&path, &widget("a", 3)).await; // 3: odd again
    api.put(&path, &widget("a", 5)).await; // 4: still odd
    api.send("DELETE", &path, &[], "").await; // 5
    let watch = format!(
        "{WIDGETS}?watch=1&resourceVersion={}&labelSelector=parity%3Dodd",
        api.revision(1)
    );
    let expected = ["DELETED a=1", "ADDED a=3", "MODIFIED a=5", "DELETED a=5"];
    assert_eq!(api.events(&watch, expected.len()).await, expected);
}

#[tokio::test]
async fn a_watch_resumes_across_a_restart() {
    let api = Api::start().await.with_widgets(&["a", "b"]).await;
    api.send("DELETE", &format!("{WIDGETS}/a"), &[], "").await;
    let api = api.restart().await;
    let api = api.with_widgets(&["c"]).await;
    let watch = format!("{WIDGETS}?watch=1&resourceVersion={}", api.revision(1));
    let expected = ["ADDED b=2", "DELETED a=1", "ADDED c=1"];
    assert_eq!(api.events(&watch, expected.len()).await, expected);
}

#[tokio::test]
async fn a_deleted_object_is_shown_as_it_last_was_with_the_revision_it_went_at() {
    let api = Api::start().await.with_widgets(&["a"]).await;
    let mut object = api.get(&format!("{WIDGETS}/a")).await.body;
    object["metadata"]["labels"]["last"] = json!("words");
    api.put(&format!("{WIDGETS}/a"), &object).await;
    api.send("DELETE", &format!("{WIDGETS}/a"), &[], "").await;
    let path = format!(
        "{WIDGETS}?watch=1&resourceVersion={}&timeoutSeconds=1",
        api.revision(2)
    );
    let answer = api.send("GET", &path, &[], "").await;
    assert_eq!(answer.body["type"], "DELETED");
    assert_eq!(answer.body["object"]["metadata"]["labels"]["last"], "words");
    assert_eq!(
        answer.body["object"]["metadata"]["resourceVersion"],
        api.revision(3)
    );
}

#[tokio::test]
async fn a_watch_ends_with_what_its_kind_was_and_goes_on_after_a_change_of_others() {
    let api = Api::start().await.with_widgets(&["a"]).await;
    let watch = format!("{WIDGETS}?watch=1&resourceVersion={}", api.revision(1));
    let mut body = api.open("GET", &watch, &[], "").await.into_body();
    let mut table = (*api.server.table()).clone();
    table.insert(resource("gadgets", "Gadget", false));
    api.server.set_table(table.clone());
    let api = api.with_widgets(&["b"]).await;
    let frame = body.frame().await.expect("the watch goes on").unwrap();
    assert!(
        frame
            .into_data()
            .unwrap()
            .starts_with(b"{\"type\":\"ADDED\"")
    );
    table.insert(resource("widgets", "Widget", true));
    api.server.set_table(table);
    let api = api.with_widgets(&["c"]).await;
    let ended = tokio::time::timeout(Duration::from_secs(10), body.frame()).await;
    assert!(ended.expect("it ends by itself").is_none());
    let watch = format!("{WIDGETS}?watch=1&resourceVersion={}", api.revision(2));
    assert_eq!(api.events(&watch, 1).await, ["ADDED c=1"]);
}

#[tokio::test]
async fn a_watch_of_a_kind_that_is_served_no_more_tells_what_happened_before() {
    let api = Api::start().await.with_widgets(&["a", "b"]).await;
    let watch = format!("{WIDGETS}?watch=1&resourceVersion={}", api.revision(2));
    let mut body = api.open("GET", &watch, &[], "").await.into_body();
    for name in ["a", "b"] {
        let path = format!("{WIDGETS}/{name}");
        assert_eq!(api.send("DELETE", &path, &[], "").await.code, 200);
    }
    let mut table = (*api.server.table()).clone();
    table.remove("test.io", "widgets");
    api.server.set_table(table);
    let mut told = String::new();
    while let Some(frame) = tokio::time::timeout(Duration::from_secs(10), body.frame())
        .await
        .expect("it ends by itself")
    {
        let frame = frame.unwrap().into_data().unwrap();
        told.push_str(std::str::from_utf8(&frame).unwrap());
    }
    let events: Vec<Value> = told
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let told: Vec<String> = events
        .iter()
        .map(|event| format!("{} {}", event["type"], event["object"]["metadata"]["name"]))
        .collect();
    assert_eq!(told, ["\"DELETED\" \"a\"", "\"DELETED\" \"b\""]);
}
