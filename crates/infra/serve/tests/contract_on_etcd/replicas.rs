//! Several servers on one etcd: each serves what the others wrote, and the end of one is nothing to the others.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::api::{Api, WIDGETS, widget};

/// Another server on the same data.
async fn beside(api: &Api) -> Api {
    Api::start_in(Arc::clone(&api.backing), api.start).await
}

/// Asks until an answer is as expected: the other server hears of a write from etcd, not from the writer.
async fn eventually(api: &Api, path: &str, is_so: impl Fn(u16, &object::Value) -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let answer = api.get(path).await;
        if is_so(answer.code, &answer.body) {
            return;
        }
        assert!(Instant::now() < deadline, "{path}: {}", answer.body);
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn servers_see_each_others_writes_and_outlive_each_other() {
    let first = Api::start().await;
    let second = beside(&first).await;
    let revision = first.get(WIDGETS).await.body["metadata"]["resourceVersion"].clone();
    let watch = format!(
        "{WIDGETS}?watch=1&resourceVersion={}",
        revision.as_str().unwrap()
    );
    let first = first.with_widgets(&["a"]).await;
    eventually(&second, &format!("{WIDGETS}/a"), |code, _| code == 200).await;
    let mut object = second.get(&format!("{WIDGETS}/a")).await.body;
    // A list without a revision is as new as etcd is, whoever is asked.
    assert_eq!(
        second.get(WIDGETS).await.body["items"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    object["spec"]["size"] = json!(2);
    assert_eq!(second.put(&format!("{WIDGETS}/a"), &object).await.code, 200);
    // The first server's object is stale by now, whichever server the writer asks.
    object["spec"]["size"] = json!(3);
    let stale = first.put(&format!("{WIDGETS}/a"), &object).await;
    assert_eq!(
        (stale.code, &stale.body["reason"]),
        (409, &json!("Conflict"))
    );
    // Who makes a name first has it everywhere.
    let again = second.post(WIDGETS, &widget("a", 9)).await;
    assert_eq!(again.body["reason"], "AlreadyExists");
    let expected = ["ADDED a=1", "MODIFIED a=2"];
    for api in [&first, &second] {
        assert_eq!(api.events(&watch, expected.len()).await, expected);
    }
    drop(first.end().await);
    let second = second.with_widgets(&["b"]).await;
    let third = beside(&second).await;
    let expected = ["ADDED a=1", "MODIFIED a=2", "ADDED b=1"];
    for api in [&second, &third] {
        assert_eq!(api.events(&watch, expected.len()).await, expected);
    }
}

#[tokio::test]
async fn writers_at_two_servers_lose_nothing() {
    const EACH: usize = 40;
    let first = Api::start().await;
    let second = beside(&first).await;
    assert_eq!(first.post(WIDGETS, &widget("shared", 1)).await.code, 201);
    eventually(&second, &format!("{WIDGETS}/shared"), |code, _| code == 200).await;
    let add = async |api: &Api, side: &str| {
        for count in 0..EACH {
            let label = json!({"metadata": {"labels": {format!("{side}{count}"): "x"}}});
            let merge = [("content-type", "application/merge-patch+json")];
            let path = format!("{WIDGETS}/shared");
            // Whoever lost too many races in a row is told so, and tries again like any client.
            loop {
                let answer = api.send("PATCH", &path, &merge, &label.to_string()).await;
                if answer.code == 200 {
                    break;
                }
                assert_eq!(answer.body["reason"], "Conflict", "{}", answer.body);
            }
        }
    };
    tokio::join!(add(&first, "l"), add(&second, "r"));
    for api in [&first, &second] {
        eventually(api, &format!("{WIDGETS}/shared"), |_, body| {
            let labels = body["metadata"]["labels"].as_object();
            labels.is_some_and(|labels| labels.len() == 2 * EACH + 1)
        })
        .await;
    }
}
