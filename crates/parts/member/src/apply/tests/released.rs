//! What stays in a member when its work goes, and whose it is then.

use client::{CallError, Refusal};
use object::{Object, ObjectKey, Value};
use serde_json::json;

use super::{decide, deployments, manifest, observed};
use crate::apply::namespace::{Departure, Origin, depart};
use crate::apply::release::{Afterwards, release};
use crate::testing::{line, object};
use crate::works::connection::Live;

/// Without the marks of a work: as somebody writes it by hand.
fn bare(object: &Object, id: &str) -> Object {
    let mut object = object.clone();
    for field in ["labels", "annotations"] {
        object.remove(&["metadata", field]);
    }
    let label = ["metadata", "labels", "work.karmada.io/permanent-id"];
    object.set(&label, id).unwrap();
    object
}

#[test]
fn what_has_nothing_but_the_id_of_its_work_is_its() {
    let mut mine = manifest("v1", json!({}));
    let label = ["metadata", "labels", "work.karmada.io/permanent-id"];
    mine.set(&label, "w1").unwrap();
    let (ours, anothers) = (
        bare(&observed("v1", json!({})), "w1"),
        bare(&observed("v1", json!({})), "w2"),
    );
    assert!(decide(&mine, Some(&ours), None)[0].starts_with("apply Deployment shop/web"));
    assert!(decide(&mine, Some(&anothers), None)[0].contains("already exists"));
    // Somebody has taken the mark away and left the rest: they want it left alone.
    let mut detached = observed(
        "v1",
        json!({"metadata|labels|work.karmada.io/permanent-id": "w1"}),
    );
    detached.remove(&["metadata", "labels", "karmada.io/managed"]);
    assert!(decide(&mine, Some(&detached), None)[0].contains("already exists"));
    let work = ObjectKey::namespaced("karmada-es-m1", "web-1");
    let goes = |observed: &Object| {
        let observed = Live::told(observed.clone());
        release(&work, &mine, &deployments(), &observed, Afterwards::Delete).is_some()
    };
    assert!(goes(&ours) && !goes(&anothers) && !goes(&detached));
}

/// A namespace with the marks of its work.
fn namespace(uid: &str) -> Object {
    object(json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": "shop", "uid": "u", "resourceVersion": "9",
            "labels": {"karmada.io/managed": "true", "team": "a"},
            "annotations": {"work.karmada.io/namespace": "karmada-es-m1", "work.karmada.io/name": "shop-1",
                            "resourcetemplate.karmada.io/uid": uid}},
    }))
}

#[test]
fn a_namespace_goes_only_when_it_was_deleted_in_the_control_plane() {
    let owned = json!([{"apiVersion": "v1", "kind": "Namespace", "name": "shop", "uid": "t"}]);
    let work = |owners: Value| {
        object(json!({
            "apiVersion": "work.karmada.io/v1alpha1", "kind": "Work",
            "metadata": {"name": "shop-1", "namespace": "karmada-es-m1", "uid": "w", "ownerReferences": owners},
        }))
    };
    let (made, written) = (work(owned), work(json!([])));
    // By a policy, and its namespace was deleted with `--cascade=orphan`.
    let mut left = work(json!([]));
    let binding = [
        "metadata",
        "annotations",
        "clusterresourcebinding.karmada.io/name",
    ];
    left.set(&binding, "shop-namespace").unwrap();
    let mut plain = namespace("t");
    plain.remove(&["metadata", "annotations"]);
    let lives = |skip: &str| {
        Origin::Lives(Box::new(object(
            json!({"metadata": {"name": "shop", "uid": "t",
            "labels": {"namespace.karmada.io/skip-auto-propagation": skip}}}),
        )))
    };
    let (leave, preserve, delete) = (Afterwards::Leave, Afterwards::Preserve, Afterwards::Delete);
    let by_hand = "report Namespace shop Normal NamespaceStays: namespace shop stays in cluster m1 with what is in it: its work karmada-es-m1/shop-1 was deleted, but it is not deleted in the control plane";
    let cluster_goes = "report Namespace shop Normal NamespaceStays: namespace shop stays in cluster m1 with what is in it: cluster m1 is being removed, but it is not deleted in the control plane";
    let unknown = "report Work karmada-es-m1/shop-1 Normal NamespaceStays: namespace shop stays in cluster m1 with what is in it: cluster m1 is being removed, but nobody says whether it was deleted in the control plane";
    let never = "report Work karmada-es-m1/shop-1 Normal NamespaceStays: namespace shop stays in cluster m1 with what is in it: cluster m1 is being removed, but it does not belong to a namespace of the control plane";
    for (claim, work, origin, is_leaving, said, expected, told) in [
        ("deleted", &made, Origin::Ends, false, delete, delete, None),
        ("both go", &made, Origin::Ends, true, delete, delete, None),
        (
            "its work",
            &made,
            lives("no"),
            false,
            delete,
            leave,
            Some(by_hand),
        ),
        (
            "opted out",
            &made,
            lives("True"),
            false,
            delete,
            preserve,
            Some(by_hand),
        ),
        (
            "its cluster",
            &made,
            lives("no"),
            true,
            delete,
            preserve,
            Some(cluster_goes),
        ),
        (
            "unknown, its cluster",
            &made,
            Origin::Unknown("forbidden".to_owned()),
            true,
            delete,
            preserve,
            Some(unknown),
        ),
        (
            "told to stay",
            &made,
            Origin::Ends,
            false,
            preserve,
            preserve,
            None,
        ),
        (
            "by hand",
            &written,
            Origin::Ends,
            false,
            delete,
            delete,
            None,
        ),
        (
            "left behind, its cluster",
            &left,
            Origin::Ends,
            true,
            delete,
            preserve,
            Some(never),
        ),
        (
            "by hand, its cluster",
            &written,
            Origin::Ends,
            true,
            delete,
            preserve,
            Some(never),
        ),
    ] {
        let is_by_hand = std::ptr::eq(work, &written);
        let manifest = if is_by_hand {
            plain.clone()
        } else {
            namespace("t")
        };
        let departure = Departure {
            work,
            manifest: &manifest,
            cluster: "m1",
            said,
            origin: &origin,
            is_leaving,
            is_skipped: false,
        };
        let (fate, event) = depart(&departure).unwrap();
        assert_eq!(fate, expected, "{claim}");
        assert_eq!(event.as_ref().map(line).as_deref(), told, "{claim}");
        // What nobody else sends nobody takes up again.
        let skipped = Departure {
            is_skipped: true,
            ..departure
        };
        let (fate, _) = depart(&skipped).unwrap();
        let expected = if expected == leave {
            preserve
        } else {
            expected
        };
        assert_eq!(fate, expected, "{claim}, skipped");
    }
    let doubtful = Departure {
        work: &made,
        manifest: &namespace("t"),
        cluster: "m1",
        said: delete,
        origin: &Origin::Unknown("it is forbidden to look".to_owned()),
        is_leaving: false,
        is_skipped: false,
    };
    let doubt = depart(&doubtful).unwrap_err();
    assert_eq!(
        doubt.to_string(),
        "nobody says whether it was deleted in the control plane: it is forbidden to look"
    );
}

#[test]
fn only_who_names_a_namespace_says_that_it_is_gone() {
    let answer = |code: u16, details: Value| {
        let refusal = Refusal {
            request: "GET /x".to_owned(),
            code,
            reason: String::new(),
            message: "no".to_owned(),
            details,
            retry_after: None,
        };
        Origin::from(Err(CallError::Refused(Box::new(refusal))), "shop")
    };
    let unknown = Origin::Unknown("GET /x: no".to_owned());
    let named = json!({"name": "shop", "kind": "namespaces"});
    for (code, details, expected) in [
        (404, named.clone(), Some(&Origin::Ends)),
        (404, json!({"name": "other"}), Some(&unknown)),
        (404, json!({}), Some(&unknown)),
        (404, json!(null), Some(&unknown)),
        (401, named.clone(), Some(&unknown)),
        (403, named.clone(), Some(&unknown)),
        (500, named, None),
    ] {
        let found = answer(code, details.clone());
        assert_eq!(found.ok().as_ref(), expected, "{code} {details}");
    }
    let found = |metadata: Value| Origin::from(Ok(object(json!({"metadata": metadata}))), "shop");
    assert!(matches!(found(json!({})), Ok(Origin::Lives(_))));
    let going = json!({"deletionTimestamp": "2026-01-02T03:04:05Z"});
    assert!(matches!(found(going), Ok(Origin::Ends)));
}

#[test]
fn a_namespace_that_was_let_go_is_taken_up_by_its_own_template_alone() {
    let work = ObjectKey::namespaced("karmada-es-m1", "shop-1");
    let resource = crate::resources::namespaces();
    let observed = Live::told(namespace("t"));
    let action = release(&work, &observed, &resource, &observed, Afterwards::Preserve);
    assert_eq!(
        line(&action.unwrap()),
        r#"patch Namespace shop @u@9 {"metadata":{"labels":{"karmada.io/managed":null},"annotations":{"work.karmada.io/namespace":null,"work.karmada.io/name":null}}}"#
    );
    let mut left = namespace("t");
    left.remove(&["metadata", "labels", "karmada.io/managed"]);
    for annotation in ["work.karmada.io/namespace", "work.karmada.io/name"] {
        left.remove(&["metadata", "annotations", annotation]);
    }
    assert!(decide(&namespace("t"), Some(&left), None)[0].starts_with("apply "));
    assert!(decide(&namespace("other"), Some(&left), None)[0].contains("already exists"));
    left.remove(&["metadata", "annotations"]);
    assert!(decide(&namespace("t"), Some(&left), None)[0].contains("already exists"));
    assert!(decide(&namespace(""), Some(&left), None)[0].contains("already exists"));
}
