//! What a member gets to see of a user's request.

use http::header::{HeaderMap, HeaderName, HeaderValue};
use serve::call::User;

use crate::proxy::head::{act_as, forwarded, is_upgrade, leads_inside, path_below, returned, uri};

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
fn all_members_may_be_written_in_two_ways() {
    let root = "/apis/cluster.karmada.io/v1alpha1/clusters";
    for (path, expected) in [
        ("/*/proxy/api/v1/pods", Some("/api/v1/pods")),
        ("/%2A/proxy/api/v1/pods", Some("/api/v1/pods")),
        ("/%2a/proxy", Some("")),
        ("/m1/proxy/api", None),
        ("/*/status", None),
    ] {
        let whole = format!("{root}{path}").parse().unwrap();
        assert_eq!(path_below(&whole, "*"), expected, "{path}");
    }
    let whole = format!("{root}/%2A/proxy/api").parse().unwrap();
    assert_eq!(path_below(&whole, "m1"), None);
}

#[test]
fn connections_into_pods_are_told_apart() {
    let pod = "/api/v1/namespaces/a/pods/p";
    for (path, is_upgrade, expected) in [
        (format!("{pod}/exec"), true, true),
        (format!("{pod}/exec"), false, true),
        (format!("{pod}/attach"), true, true),
        (format!("{pod}/portforward"), true, true),
        (format!("{pod}/proxy/x"), true, true),
        (format!("{pod}/proxy/x"), false, false),
        ("/api/v1/nodes/n/proxy/exec/a/b/c".to_owned(), true, true),
        (format!("{pod}/log"), false, false),
        (pod.to_owned(), true, false),
        ("/api/v1/namespaces/a/pods/exec".to_owned(), true, false),
        ("/exec".to_owned(), true, false),
    ] {
        assert_eq!(leads_inside(&path, is_upgrade), expected, "{path}");
    }
}

/// A service account is somebody in its namespace, and the masters' group stays in the control plane.
#[test]
fn groups_that_a_member_gives_by_itself_are_not_asked_for() {
    let account = "system:serviceaccount:shop:till";
    let usual = ["system:serviceaccounts", "system:serviceaccounts:shop"];
    for (name, groups, expected) in [
        (account, usual.to_vec(), ""),
        (
            account,
            vec!["system:serviceaccounts", "system:serviceaccounts:bank"],
            "impersonate-group: system:serviceaccounts; impersonate-group: system:serviceaccounts:bank; ",
        ),
        (
            account,
            vec!["system:serviceaccounts", "devs"],
            "impersonate-group: devs; impersonate-group: system:serviceaccounts; ",
        ),
        (
            "ann",
            vec!["system:serviceaccounts"],
            "impersonate-group: system:serviceaccounts; ",
        ),
        ("system:admin", vec!["system:masters"], ""),
    ] {
        let user = User {
            name: name.to_owned(),
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
            ..User::default()
        };
        let mut sent = HeaderMap::new();
        act_as(&mut sent, &user, "t").unwrap();
        let expected = format!("authorization: Bearer t; {expected}impersonate-user: {name}");
        assert_eq!(shown(&sent), expected);
    }
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
