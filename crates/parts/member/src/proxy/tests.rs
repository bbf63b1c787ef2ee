//! What a member gets to see of a user's request.

use http::header::{HeaderMap, HeaderName, HeaderValue};
use serve::call::User;

use crate::proxy::head::{act_as, forwarded, is_upgrade, path_below, returned, uri};

fn headers(entries: &[(&str, &str)]) -> HeaderMap {
    entries
        .iter()
        .map(|(name, value)| {
            (
                HeaderName::from_bytes(name.as_bytes()).unwrap(),
                HeaderValue::from_str(value).unwrap(),
            )
        })
        .collect()
}

fn shown(headers: &HeaderMap) -> String {
    let mut lines: Vec<String> = headers
        .iter()
        .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
        .collect();
    lines.sort();
    lines.join("; ")
}

#[test]
fn paths_go_on_as_they_were_written() {
    let root = "/apis/cluster.karmada.io/v1alpha1/clusters/m1/proxy";
    for (below, query, expected) in [
        ("/api/v1/nodes", None, "/api/v1/nodes"),
        (
            "/api/v1/nodes/",
            Some("watch=1&a=%20b"),
            "/api/v1/nodes/?watch=1&a=%20b",
        ),
        ("/apis/x/y%2Fz", None, "/apis/x/y%2Fz"),
        ("", None, "/"),
    ] {
        let whole = format!("{root}{below}").parse().unwrap();
        let found = path_below(&whole, "m1").unwrap();
        assert_eq!(found, below);
        assert_eq!(uri(found, query).unwrap().to_string(), expected);
    }
    assert_eq!(
        path_below(&format!("{root}x/y").parse().unwrap(), "m1"),
        None
    );
    assert_eq!(
        path_below(&format!("{root}/y").parse().unwrap(), "m2"),
        None
    );
}

#[test]
fn a_member_sees_the_user_and_nothing_the_user_claims() {
    let asked = headers(&[
        ("authorization", "Bearer users"),
        ("impersonate-user", "root"),
        ("impersonate-group", "system:masters"),
        ("impersonate-uid", "0"),
        ("impersonate-extra-x", "y"),
        ("host", "here"),
        ("accept", "application/json"),
        ("connection", "keep-alive"),
        ("keep-alive", "5"),
        ("content-length", "7"),
        ("content-type", "application/json"),
    ]);
    let mut sent = forwarded(&asked, false);
    let user = User {
        name: "jane".to_owned(),
        groups: ["devs", "system:authenticated", "ops"]
            .map(str::to_owned)
            .to_vec(),
        uid: "7".to_owned(),
        ..User::default()
    };
    act_as(&mut sent, &user, "impersonators").unwrap();
    assert_eq!(
        shown(&sent),
        "accept: application/json; authorization: Bearer impersonators; content-type: application/json; \
         impersonate-group: devs; impersonate-group: ops; impersonate-user: jane"
    );
}

#[test]
fn nobody_is_not_carried() {
    let mut headers = HeaderMap::new();
    assert_eq!(
        act_as(&mut headers, &User::default(), "t").unwrap_err(),
        "no user found for request"
    );
    let user = User {
        name: "a\nb".to_owned(),
        ..User::default()
    };
    assert_eq!(
        act_as(&mut headers, &user, "t").unwrap_err(),
        "the user's name cannot be sent in a header"
    );
    assert!(headers.is_empty());
}

#[test]
fn upgrades_are_told_apart_and_asked_for_again() {
    let websocket = headers(&[
        ("connection", "keep-alive, Upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-key", "k"),
    ]);
    assert!(is_upgrade(&websocket));
    assert_eq!(
        shown(&forwarded(&websocket, true)),
        "connection: Upgrade; sec-websocket-key: k; upgrade: websocket"
    );
    assert!(!is_upgrade(&headers(&[("upgrade", "h2c")])));
    assert!(!is_upgrade(&headers(&[("connection", "upgrade")])));
    assert_eq!(
        shown(&returned(&headers(&[
            ("connection", "close"),
            ("etag", "1"),
            ("transfer-encoding", "chunked")
        ]))),
        "etag: 1"
    );
}
