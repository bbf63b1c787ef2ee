use http_body_util::BodyExt;

use crate::api::{Answer, Api, WIDGETS};

fn names(answer: &Answer) -> String {
    let items = answer.body["items"].as_array().unwrap();
    items
        .iter()
        .map(|item| item["metadata"]["name"].as_str().unwrap())
        .collect::<Vec<_>>()
        .join(" ")
}

#[tokio::test]
async fn lists_select_by_label_field_and_namespace() {
    let api = Api::start().await.with_widgets(&["a", "b", "c", "d"]).await;
    for (query, expected) in [
        ("", "a b c d"),
        ("?labelSelector=parity%3Dodd", "a c"),
        ("?labelSelector=parity%20notin%20(odd)", "b d"),
        ("?fieldSelector=metadata.name%3Db", "b"),
        ("?fieldSelector=spec.size%3D3", "c"),
        (
            "?fieldSelector=metadata.name!%3Db&labelSelector=parity%3Deven",
            "d",
        ),
        ("?limit=2", "a b"),
    ] {
        assert_eq!(
            names(&api.get(&format!("{WIDGETS}{query}")).await),
            expected,
            "{query}"
        );
    }
    assert_eq!(names(&api.get("/apis/test.io/v1/widgets").await), "a b c d");
    assert_eq!(
        names(&api.get("/apis/test.io/v1/namespaces/other/widgets").await),
        ""
    );
    assert_eq!(
        api.get(&format!("{WIDGETS}?labelSelector=a%20b"))
            .await
            .code,
        400
    );
    assert_eq!(
        api.get(&format!("{WIDGETS}?fieldSelector=spec.novel%3D1"))
            .await
            .code,
        400
    );
}

#[tokio::test]
async fn pages_of_a_list_are_all_of_one_state() {
    let api = Api::start()
        .await
        .with_widgets(&["a", "b", "c", "d", "e"])
        .await;
    let first = api.get(&format!("{WIDGETS}?limit=2")).await;
    assert_eq!(first.body["metadata"]["remainingItemCount"], 3);
    let token = first.body["metadata"]["continue"]
        .as_str()
        .unwrap()
        .to_owned();
    api.send("DELETE", &format!("{WIDGETS}/c"), &[], "").await;
    let second = api
        .get(&format!("{WIDGETS}?limit=2&continue={token}"))
        .await;
    assert_eq!(
        names(&second),
        "c d",
        "what was deleted since is still in the state the list was begun in"
    );
    let token = second.body["metadata"]["continue"].as_str().unwrap();
    let third = api
        .get(&format!("{WIDGETS}?limit=2&continue={token}"))
        .await;
    assert_eq!(names(&third), "e");
    // Upstream: lists of custom objects say that they end.
    assert_eq!(third.body["metadata"]["continue"], "");
    assert_eq!(
        first.body["metadata"]["resourceVersion"],
        third.body["metadata"]["resourceVersion"]
    );
    assert_eq!(
        api.get(&format!("{WIDGETS}?continue=forged")).await.code,
        400
    );
}

#[tokio::test]
async fn a_list_left_lying_for_long_goes_on_in_the_present_state_and_stays_there() {
    let api = Api::start()
        .await
        .with_widgets(&["a", "b", "c", "d", "e"])
        .await;
    let first = api.get(&format!("{WIDGETS}?limit=1")).await;
    let token = |answer: &Answer| {
        answer.body["metadata"]["continue"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    // As if its first page had been read six minutes earlier.
    let aged = |token: &str| {
        let parts: Vec<&str> = token.split('.').collect();
        let begun: i64 = parts[2].parse().unwrap();
        format!("v1.{}.{}.{}", parts[1], begun - 360, parts[3])
    };
    let api = api.with_widgets(&["bb"]).await;
    let late = api
        .get(&format!(
            "{WIDGETS}?limit=1&continue={}",
            aged(&token(&first))
        ))
        .await;
    assert_eq!(late.code, 410);
    assert_eq!(late.body["reason"], "Expired");
    let second = api
        .get(&format!("{WIDGETS}?limit=2&continue={}", token(&late)))
        .await;
    assert_eq!(names(&second), "b bb");
    assert_ne!(
        second.body["metadata"]["resourceVersion"],
        first.body["metadata"]["resourceVersion"]
    );
    api.send("DELETE", &format!("{WIDGETS}/c"), &[], "").await;
    let third = api
        .get(&format!("{WIDGETS}?limit=9&continue={}", token(&second)))
        .await;
    assert_eq!(names(&third), "c d e");
    assert_eq!(
        third.body["metadata"]["resourceVersion"],
        second.body["metadata"]["resourceVersion"]
    );
}

#[tokio::test]
async fn an_exact_earlier_state_can_be_listed_and_a_future_one_cannot() {
    let api = Api::start().await.with_widgets(&["a"]).await;
    let version = api.get(WIDGETS).await.body["metadata"]["resourceVersion"]
        .as_str()
        .unwrap()
        .to_owned();
    let api = api.with_widgets(&["b"]).await;
    let exact = format!("{WIDGETS}?resourceVersion={version}&resourceVersionMatch=Exact");
    assert_eq!(names(&api.get(&exact).await), "a");
    let not_older = format!("{WIDGETS}?resourceVersion={version}");
    assert_eq!(names(&api.get(&not_older).await), "a b");
}

#[tokio::test]
async fn tables_and_metadata_are_made_on_request() {
    let api = Api::start().await.with_widgets(&["a"]).await;
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    let answer = api.send("GET", WIDGETS, &[("accept", table)], "").await;
    assert_eq!(answer.body["kind"], "Table");
    assert_eq!(answer.body["columnDefinitions"][1]["name"], "Size");
    assert_eq!(answer.body["rows"][0]["cells"], serde_json::json!(["a", 1]));
    assert_eq!(
        answer.body["rows"][0]["object"]["kind"],
        "PartialObjectMetadata"
    );
    let metadata = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
    let answer = api.send("GET", WIDGETS, &[("accept", metadata)], "").await;
    assert_eq!(answer.body["items"][0]["metadata"]["name"], "a");
    assert!(answer.body["items"][0].get("spec").is_none());
}

/// Older clients know the document with all groups by another version, and look at what they are told it is.
#[tokio::test]
async fn all_groups_are_told_in_each_version_of_that_document() {
    let api = Api::start().await;
    for path in ["/api", "/apis"] {
        let mut documents = Vec::new();
        for version in ["v2", "v2beta1"] {
            let media = format!(
                "application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
            );
            let mut answer = api.send("GET", path, &[("accept", &media)], "").await;
            assert_eq!(answer.code, 200, "{path} {version}");
            assert_eq!(answer.headers["content-type"], media.as_str());
            let called = format!("apidiscovery.k8s.io/{version}");
            assert_eq!(answer.body["apiVersion"], called.as_str());
            answer.body["apiVersion"].take();
            documents.push(answer.body);
        }
        assert_eq!(documents[0], documents[1], "{path}");
    }
}

#[tokio::test]
async fn what_is_not_served_is_not_found_and_wrong_methods_are_not_allowed() {
    let api = Api::start().await.with_widgets(&["a"]).await;
    for (method, path, code) in [
        ("GET", "/apis/test.io/v1/namespaces/d/widgets/none", 404),
        ("GET", "/apis/test.io/v1/namespaces/d/novels", 404),
        ("GET", "/apis/test.io/v2/namespaces/d/widgets", 404),
        ("GET", "/apis/test.io/v1/widgets/a", 404),
        ("GET", "/apis/test.io/v1/namespaces/d/widgets/a/novel", 404),
        (
            "POST",
            "/apis/test.io/v1/namespaces/d/widgets/a/status",
            405,
        ),
        ("POST", "/apis/test.io/v1/namespaces/d/widgets/b", 405),
        ("POST", "/apis/test.io/v1/widgets", 405),
        ("PUT", WIDGETS, 405),
        ("DELETE", "/apis/test.io/v1/widgets", 405),
        ("OPTIONS", WIDGETS, 405),
        ("GET", "/apis/test.io/v1/namespaces/d/widgets/..%2Fa", 400),
        ("GET", "/nowhere", 404),
        ("GET", "/version", 200),
        ("GET", "/readyz", 200),
        ("GET", "/readyz/store", 200),
        ("GET", "/readyz/etcd", 200),
        ("GET", "/readyz/informer-sync", 200),
        ("GET", "/livez/informer-sync", 404),
        ("GET", "/livez/poststarthook/bootstrap-controller", 200),
        ("GET", "/readyz/novel", 404),
        ("GET", "/version?timeout=32s", 200),
        ("GET", "/version?timeout=0s", 200),
        ("GET", "/version?timeout=soon", 400),
        ("GET", "/apis/test.io/v1/widgets?timeout=5", 400),
        // Watches have a time of their own, which is over at once here.
        (
            "GET",
            "/apis/test.io/v1/widgets?watch=1&timeout=5&timeoutSeconds=-1",
            200,
        ),
        ("GET", "/livez?verbose", 200),
        ("GET", "/apis/test.io/v1", 200),
    ] {
        assert_eq!(
            api.send(method, path, &[], "").await.code,
            code,
            "{method} {path}"
        );
    }
    let missing = api.get(&format!("{WIDGETS}/none")).await;
    assert_eq!(
        missing.body["message"],
        "widgets.test.io \"none\" not found"
    );
}

#[tokio::test]
async fn everything_is_there_after_a_restart() {
    let api = Api::start().await.with_widgets(&["a", "b"]).await;
    let before = api.get(WIDGETS).await.body;
    let api = api.restart().await;
    assert_eq!(api.get(WIDGETS).await.body, before);
}

#[tokio::test]
async fn a_store_that_is_closed_makes_the_server_unhealthy() {
    let api = Api::start().await;
    assert_eq!(api.get("/livez").await.code, 200);
    api.close_store().await;
    for path in [
        "/healthz",
        "/livez",
        "/readyz",
        "/readyz/store",
        "/livez/etcd",
    ] {
        assert_eq!(api.get(path).await.code, 500, "{path}");
    }
    assert_eq!(api.get("/readyz/ping").await.code, 200);
}

#[tokio::test]
async fn the_api_is_described_in_both_versions_and_not_sent_twice() {
    let api = Api::start().await;
    let document = api.get("/openapi/v2").await;
    assert_eq!(document.body["swagger"], "2.0");
    let widget = &document.body["definitions"]["io.test.v1.Widget"];
    assert_eq!(
        widget["x-kubernetes-group-version-kind"][0]["kind"],
        "Widget"
    );
    let path = "/apis/test.io/v1/namespaces/{namespace}/widgets/{name}";
    assert!(document.body["paths"][path]["patch"].is_object());

    let index = api.get("/openapi/v3").await;
    let address = &index.body["paths"]["apis/test.io/v1"]["serverRelativeURL"];
    let address = address.as_str().unwrap().to_owned();
    let stale = format!("{}?hash=0", address.split('?').next().unwrap());
    for (path, etag, code) in [
        ("/openapi/v2", "", 200),
        ("/openapi/v2", "*", 304),
        ("/openapi/v3", "\"0\"", 200),
        (&address, "", 200),
        (&stale, "", 301),
    ] {
        let answer = api.send("GET", path, &[("if-none-match", etag)], "").await;
        assert_eq!(answer.code, code, "{path} {etag}");
    }
    let etag = document.headers["etag"].to_str().unwrap().to_owned();
    let again = [("if-none-match", etag.as_str())];
    assert_eq!(api.send("GET", "/openapi/v2", &again, "").await.code, 304);
    // Clients in Go insist on messages, which say the same.
    for (path, message, start) in [
        (
            "/openapi/v2",
            "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
            &b"\x0a\x032.0\x12\x15\x0a\x0aKubernetes\x12\x07v1.34.0"[..],
        ),
        (
            &address,
            "application/com.github.proto-openapi.spec.v3@v1.0+protobuf",
            &b"\x0a\x053.0.0\x12\x15\x0a\x0aKubernetes\x32\x07v1.34.0"[..],
        ),
    ] {
        let answer = api.open("GET", path, &[("accept", message)], "").await;
        assert_eq!(
            answer.headers()["content-type"],
            message.replace('@', ".").as_str()
        );
        assert!(answer.headers().contains_key("etag"));
        let bytes = answer.into_body().collect().await.unwrap().to_bytes();
        assert!(bytes.starts_with(start), "{bytes:?}");
        let says = |text: &str| {
            bytes
                .windows(text.len())
                .any(|part| part == text.as_bytes())
        };
        for text in [
            "io.test.v1.Widget",
            "colour",
            "x-kubernetes-group-version-kind",
        ] {
            assert!(says(text), "{text}: {bytes:?}");
        }
    }
}

#[tokio::test]
async fn requests_and_objects_are_counted() {
    let api = Api::start().await.with_widgets(&["a", "b"]).await;
    api.get(&format!("{WIDGETS}/none")).await;
    let watch = api
        .open("GET", &format!("{WIDGETS}?watch=1"), &[], "")
        .await;
    let text = || async {
        let response = api.open("GET", "/metrics", &[("accept", "text/plain")], "");
        let bytes = response.await.into_body().collect().await.unwrap();
        String::from_utf8(bytes.to_bytes().to_vec()).unwrap()
    };
    let labels = |scope: &str, verb: &str| {
        format!(
            "component=\"apiserver\",dry_run=\"\",group=\"test.io\",resource=\"widgets\",scope=\"{scope}\",\
             subresource=\"\",verb=\"{verb}\",version=\"v1\""
        )
    };
    let (post, get) = (labels("resource", "POST"), labels("resource", "GET"));
    let open_watches = format!(
        "apiserver_longrunning_requests{{{}}}",
        labels("namespace", "WATCH")
    );
    let shown = text().await;
    for line in [
        format!("apiserver_request_total{{{post},code=\"201\"}} 2"),
        format!("apiserver_request_total{{{get},code=\"404\"}} 1"),
        format!("apiserver_request_duration_seconds_count{{{post}}} 2"),
        "apiserver_current_inflight_requests{request_kind=\"mutating\"} 0".to_owned(),
        "apiserver_storage_objects{resource=\"widgets.test.io\"} 2".to_owned(),
        format!("{open_watches} 1"),
    ] {
        assert!(shown.lines().any(|have| have == line), "{line}\n{shown}");
    }
    drop(watch);
    let shown = text().await;
    assert!(shown.contains(&format!("{open_watches} 0")), "{shown}");
}
