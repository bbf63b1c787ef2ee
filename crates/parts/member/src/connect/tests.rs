//! What a cluster must say to be called, and with what.

use api::cluster::Cluster;
use client::Identity;
use object::base64::encode;
use object::{Object, Value};
use serde_json::json;

use crate::connect::{impersonator_token, is_own_secret, link};
use crate::testing::object;

fn cluster(spec: Value) -> Cluster {
    let object = object(
        json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
                               "metadata": {"name": "m1", "uid": "c"}, "spec": spec}),
    );
    api::read::read(&object).unwrap()
}

fn secret(name: &str, data: &[(&str, &str)]) -> Object {
    let data: serde_json::Map<String, Value> = data
        .iter()
        .map(|(key, value)| ((*key).to_owned(), Value::from(encode(value.as_bytes()))))
        .collect();
    object(
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "karmada-cluster"}, "data": data}),
    )
}

#[test]
fn what_is_missing_is_named() {
    let at = "https://m1.example:6443";
    let reference = |name: &str| json!({"namespace": "karmada-cluster", "name": name});
    let full = secret("m1", &[("token", "t"), ("caBundle", "ca")]);
    for (claim, spec, secret, expected) in [
        (
            "no endpoint",
            json!({}),
            Some(&full),
            "the api endpoint of cluster m1 is empty",
        ),
        (
            "no reference",
            json!({"apiEndpoint": at}),
            Some(&full),
            "cluster m1 does not have a secret",
        ),
        (
            "no secret",
            json!({"apiEndpoint": at, "secretRef": reference("m1")}),
            None,
            "the secret karmada-cluster/m1 of cluster m1 is not there",
        ),
        (
            "no token",
            json!({"apiEndpoint": at, "secretRef": reference("m1")}),
            Some(&secret("m1", &[("caBundle", "ca"), ("token", " ")])),
            "the secret for cluster m1 is missing a non-empty value for \"token\"",
        ),
        (
            "no authority",
            json!({"apiEndpoint": at, "secretRef": reference("m1")}),
            Some(&secret("m1", &[("token", "t")])),
            "the secret for cluster m1 is missing the CA data key \"caBundle\"",
        ),
        (
            "another cluster's secret",
            json!({"apiEndpoint": at, "secretRef": reference("m2")}),
            Some(&secret("m2", &[("token", "t"), ("caBundle", "ca")])),
            "the secret karmada-cluster/m2 does not belong to cluster m1: the cluster does not own it, and it is not kept for the cluster by its name in namespace karmada-cluster",
        ),
    ] {
        assert_eq!(
            link(&cluster(spec), secret).unwrap_err().to_string(),
            expected,
            "{claim}"
        );
    }
    let error = impersonator_token(&cluster(json!({})), None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the impersonatorSecretRef of cluster m1 is nil"
    );
}

#[test]
fn a_link_says_where_and_who_and_changes_with_both() {
    let spec = json!({"apiEndpoint": "https://m1.example:6443", "secretRef": {"namespace": "karmada-cluster", "name": "m1"}, "proxyURL": "http://p"});
    let first = link(
        &cluster(spec.clone()),
        Some(&secret("m1", &[("token", "t"), ("caBundle", "ca")])),
    )
    .unwrap();
    assert_eq!(first.endpoint.server, "https://m1.example:6443");
    assert_eq!(first.endpoint.ca, b"ca");
    assert_eq!(first.endpoint.proxy.as_deref(), Some("http://p"));
    assert!(matches!(&first.endpoint.identity, Identity::Token(token) if token == "t"));
    let same = link(
        &cluster(spec.clone()),
        Some(&secret("m1", &[("caBundle", "ca"), ("token", "t")])),
    )
    .unwrap();
    assert_eq!(same.identity, first.identity);
    let rotated = link(
        &cluster(spec.clone()),
        Some(&secret("m1", &[("token", "u"), ("caBundle", "ca")])),
    )
    .unwrap();
    assert_ne!(rotated.identity, first.identity);
    let mut moved = spec.clone();
    moved["apiEndpoint"] = json!("https://other");
    let moved = link(
        &cluster(moved),
        Some(&secret("m1", &[("token", "t"), ("caBundle", "ca")])),
    )
    .unwrap();
    assert_ne!(moved.identity, first.identity);
    let mut told = spec.clone();
    told["proxyHeader"] = json!({"X-Key": "secret,other"});
    let told = link(
        &cluster(told),
        Some(&secret("m1", &[("token", "t"), ("caBundle", "ca")])),
    )
    .unwrap();
    assert_ne!(told.identity, first.identity);
    let headers = [("X-Key".to_owned(), "secret,other".to_owned())];
    assert_eq!(told.endpoint.proxy_headers, headers);
    assert!(!format!("{told:?}").contains("secret"));
}

#[test]
fn a_secret_of_another_name_belongs_to_its_owner() {
    let mut owned = secret("x", &[("token", "t"), ("caBundle", "")]);
    let spec = json!({"apiEndpoint": "https://m1", "secretRef": {"namespace": "karmada-cluster", "name": "x"}});
    assert!(link(&cluster(spec.clone()), Some(&owned)).is_err());
    let owner = json!([{"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "name": "m1", "uid": "c"}]);
    owned.set(&["metadata", "ownerReferences"], owner).unwrap();
    assert!(link(&cluster(spec), Some(&owned)).is_ok());
    // The token of the impersonator of a cluster `m`, if this one were called `m-impersonator`.
    let mut anothers = secret("m1", &[("token", "t"), ("caBundle", "")]);
    let spec = json!({"apiEndpoint": "https://m1", "secretRef": {"namespace": "karmada-cluster", "name": "m1"}});
    assert!(link(&cluster(spec.clone()), Some(&anothers)).is_ok());
    let owner = json!([{"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "name": "m", "uid": "d"}]);
    anothers
        .set(&["metadata", "ownerReferences"], owner)
        .unwrap();
    assert!(link(&cluster(spec), Some(&anothers)).is_err());
}

/// Whoever names a cluster must not come by what has that name in the control plane.
#[test]
fn a_secret_is_not_a_clusters_by_its_name_alone() {
    for (path, value, is_own) in [
        (&["metadata", "namespace"][..], "karmada-cluster", true),
        (&["metadata", "namespace"], "kube-system", false),
        (&["type"], "Opaque", true),
        (&["type"], "kubernetes.io/service-account-token", false),
    ] {
        for name in ["m1", "m1-impersonator"] {
            let mut secret = secret(name, &[("token", "t"), ("caBundle", "")]);
            secret.set(path, value).unwrap();
            assert_eq!(
                is_own_secret(&cluster(json!({})), &secret),
                is_own,
                "{secret:?}"
            );
        }
    }
}

#[test]
fn a_cluster_that_checks_nothing_needs_no_authority() {
    let spec = json!({"apiEndpoint": "https://m1", "insecureSkipTLSVerification": true, "secretRef": {"namespace": "karmada-cluster", "name": "m1"}});
    let link = link(&cluster(spec), Some(&secret("m1", &[("token", "t")]))).unwrap();
    assert!(link.endpoint.insecure && link.endpoint.ca.is_empty());
}
