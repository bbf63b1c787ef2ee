//! Cases: who refers to what in, what is written out.

use std::sync::Arc;

use api::config::DependentObjectReference;
use binding::dependencies::version_of;
use client::Change;
use intent::Wake;
use object::{GroupKind, GroupVersionKind, Object, ObjectKey};

use super::{
    attachment::{self, Referrer, label},
    keys, reference, referrer,
};
use crate::{
    binding_view::Binding,
    told::{done, one, steps, told},
    views::UNTIL_IN_VIEW,
};

const CONFIG: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: test, uid: c1, resourceVersion: '4', labels: {tier: front}}, data: {a: b}}";
const BY_NAME: &str =
    r#"[{"apiVersion":"v1","kind":"ConfigMap","namespace":"test","name":"settings"}]"#;
const BY_LABEL: &str = r#"[{"apiVersion":"v1","kind":"ConfigMap","namespace":"test","labelSelector":{"matchLabels":{"tier":"front"}}}]"#;

/// A binding that refers to others.
fn referring(name: &str, note: &str, spec: &str) -> String {
    format!(
        "{{apiVersion: work.karmada.io/v1alpha2, kind: ResourceBinding, metadata: {{name: {name}, namespace: test, uid: b-{name}, resourceVersion: '9', labels: {{resourcebinding.karmada.io/permanent-id: id-{name}}}, annotations: {{resourcebinding.karmada.io/dependencies: '{note}'}}, finalizers: [karmada.io/binding-dependencies-distributor]}}, spec: {{propagateDeps: true, clusters: [{{name: m1, replicas: 2}}], resource: {{apiVersion: apps/v1, kind: Deployment, namespace: test, name: {name}}}, {spec}}}}}"
    )
}

fn as_referrer(document: &str) -> Referrer {
    let object = one(document);
    Referrer {
        key: object.key(),
        permanent_id: object
            .label("resourcebinding.karmada.io/permanent-id")
            .unwrap()
            .to_owned(),
        versions: reference::noted_on(&object)
            .iter()
            .map(|noted| version_of(noted).to_owned())
            .collect(),
        spec: Binding::read(&object).unwrap().spec,
    }
}

fn refers_to(binding: &Object, kind: &GroupVersionKind, object: &Object) -> bool {
    !reference::versions_named(binding, kind, object).is_empty()
}

fn attach(binding: Option<&Object>, referrers: &[Referrer], are_all: bool) -> intent::Plan {
    let config = one(CONFIG);
    attachment::plan(&attachment::Inputs {
        namespace: "test",
        dependency: Some(&config),
        binding,
        referrers,
        are_all,
    })
}

/// The binding that a plan makes or patches, with a uid.
fn bound(before: Option<Object>, plan: &intent::Plan) -> Object {
    let mut object = match plan.actions.first() {
        Some(intent::Action::Create { object, .. }) => object.clone(),
        Some(intent::Action::Patch { patch, .. }) => {
            let before = before.unwrap().into_value();
            Object::from_value(object::patch::merge(&before, patch)).unwrap()
        }
        _ => before.unwrap(),
    };
    object.set(&["metadata", "uid"], "rb").unwrap();
    object.set(&["metadata", "resourceVersion"], "12").unwrap();
    object
}

#[test]
fn what_is_referred_to_is_bound_to_the_clusters_of_those_who_refer_to_it() {
    let referrers = [as_referrer(&referring("web", BY_NAME, ""))];
    let plan = attach(None, &referrers, true);
    insta::assert_snapshot!(told(&plan), @r#"create ResourceBinding test/settings-configmap {"metadata":{"name":"settings-configmap","namespace":"test","labels":{"resourcebinding.karmada.io/depended-by-85bd97db5b":"id-web"},"annotations":{"resourcetemplate.karmada.io/activation-fingerprint":"c7e95357b66a86c7"},"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"settings","uid":"c1","controller":true,"blockOwnerDeletion":true}],"finalizers":["karmada.io/binding-controller"]},"spec":{"resource":{"apiVersion":"v1","kind":"ConfigMap","namespace":"test","name":"settings","uid":"c1","resourceVersion":"4"},"requiredBy":[{"namespace":"test","name":"web","clusters":[{"name":"m1","replicas":2}]}],"conflictResolution":"Abort","preserveResourcesOnDeletion":false}}"#);
    assert_eq!(
        steps(&plan),
        "report ResourceBinding test/web Normal SyncScheduleResultToDependenciesSucceed: ConfigMap test/settings goes along"
    );
    let binding = bound(None, &plan);
    let again = attach(Some(&binding), &referrers, true);
    assert_eq!(
        (told(&again), steps(&again)),
        ("nothing".into(), "nothing".into())
    );
}

#[test]
fn it_is_told_that_something_goes_along_when_it_goes_elsewhere() {
    let targets = |targets: &str| {
        let text = referring("web", BY_NAME, "");
        [as_referrer(
            &text.replace("[{name: m1, replicas: 2}]", targets),
        )]
    };
    let binding = bound(None, &attach(None, &targets("[{name: m1}]"), true));
    for (now, is_told) in [
        ("[{name: m1, replicas: 7}]", false),
        ("[{name: m1}, {name: m2}]", true),
        ("[{name: m2}]", true),
    ] {
        let plan = attach(Some(&binding), &targets(now), true);
        assert!(done(&plan).starts_with("patch"), "{now}");
        assert_eq!(steps(&plan) != "nothing", is_told, "{now}");
    }
}

#[test]
fn any_number_of_referrers_is_one_write() {
    let referrers: Vec<Referrer> = (0..1000)
        .map(|n| as_referrer(&referring(&format!("web{n:04}"), BY_NAME, "")))
        .collect();
    let plan = attach(None, &referrers[..1], true);
    let binding = bound(None, &plan);
    let plan = attach(Some(&binding), &referrers, true);
    assert_eq!(done(&plan).lines().count(), 1);
    let binding = bound(Some(binding), &plan);
    assert_eq!(told(&attach(Some(&binding), &referrers, true)), "nothing");
}

#[test]
fn a_binding_nobody_refers_to_any_more_stays_and_asks_for_nothing() {
    let referrers = [as_referrer(&referring("web", BY_NAME, ""))];
    let binding = bound(None, &attach(None, &referrers, true));
    let plan = attach(Some(&binding), &[], true);
    insta::assert_snapshot!(told(&plan), @r#"patch ResourceBinding test/settings-configmap@12 {"metadata":{"labels":{"resourcebinding.karmada.io/depended-by-85bd97db5b":null}},"spec":{"requiredBy":null,"preserveResourcesOnDeletion":null}}"#);
    // While not all bindings are in view, one that is not seen may still refer to it.
    let partial = attach(Some(&binding), &[], false);
    assert_eq!(
        (done(&partial).as_str(), partial.wake),
        ("nothing", UNTIL_IN_VIEW)
    );
    let unseen = attachment::plan(&attachment::Inputs {
        namespace: "test",
        dependency: None,
        binding: Some(&binding),
        referrers: &[],
        are_all: false,
    });
    assert_eq!(
        (done(&unseen).as_str(), unseen.wake),
        ("nothing", UNTIL_IN_VIEW)
    );
}

#[test]
fn overwriting_goes_before_aborting_and_a_disagreement_is_told() {
    let one_of_each = [
        as_referrer(&referring("api", BY_NAME, "conflictResolution: Overwrite")),
        as_referrer(&referring("web", BY_NAME, "conflictResolution: Abort")),
    ];
    let binding = bound(None, &attach(None, &one_of_each[1..], true));
    let plan = attach(Some(&binding), &one_of_each, true);
    let text = told(&plan);
    assert!(
        text.contains(r#""conflictResolution":"Overwrite""#),
        "{text}"
    );
    assert!(text.ends_with("report ResourceBinding test/settings-configmap Warning DependencyPolicyConflict: the bindings that refer to this one disagree, and whoever wants more has it: ConflictResolution conflicted (Overwrite vs Abort)"), "{text}");
    let binding = bound(Some(binding), &plan);
    let text = told(&attach(Some(&binding), &one_of_each[1..], true));
    assert!(
        text.contains(r#""conflictResolution":"Abort""#) && !text.contains("Warning"),
        "{text}"
    );
}

#[test]
fn a_policy_of_its_own_keeps_the_last_word_on_everything_but_the_list() {
    let mut claimed = bound(
        None,
        &attach(None, &[as_referrer(&referring("web", BY_NAME, ""))], true),
    );
    claimed
        .set(
            &["spec", "placement"],
            serde_json::json!({"clusterAffinity": {}}),
        )
        .unwrap();
    claimed
        .set(&["spec", "conflictResolution"], "Overwrite")
        .unwrap();
    let text = told(&attach(Some(&claimed), &[], true));
    assert!(
        !text.contains("conflictResolution") && text.contains(r#""requiredBy":null"#),
        "{text}"
    );
}

#[test]
fn an_edited_object_reaches_its_binding() {
    let referrers = [as_referrer(&referring("web", BY_NAME, ""))];
    let binding = bound(None, &attach(None, &referrers, true));
    let edited = one(&CONFIG.replace("a: b", "a: c").replace("'4'", "'5'"));
    let plan = attachment::plan(&attachment::Inputs {
        namespace: "test",
        dependency: Some(&edited),
        binding: Some(&binding),
        referrers: &referrers,
        are_all: true,
    });
    assert!(
        done(&plan).contains(r#""spec":{"resource":{"resourceVersion":"5"}}"#),
        "{}",
        done(&plan)
    );
}

#[test]
fn an_object_whose_own_policy_is_gone_is_spoken_for_by_those_who_refer_to_it() {
    let referrers = [as_referrer(&referring("web", BY_NAME, ""))];
    let edited = one(&CONFIG.replace("a: b", "a: c").replace("'4'", "'5'"));
    let told_of = |binding: &Object, referrers: &[Referrer]| {
        done(&attachment::plan(&attachment::Inputs {
            namespace: "test",
            dependency: Some(&edited),
            binding: Some(binding),
            referrers,
            are_all: true,
        }))
    };
    let mut released = bound(None, &attach(None, &referrers, true));
    let placement = serde_json::json!({"clusterAffinity": {}});
    released.set(&["spec", "placement"], placement).unwrap();
    let mut claimed = released.clone();
    let metadata = claimed.fields_mut().get_mut("metadata").unwrap();
    metadata["labels"]["propagationpolicy.karmada.io/permanent-id"] = "id".into();
    metadata["annotations"]["propagationpolicy.karmada.io/namespace"] = "test".into();
    metadata["annotations"]["propagationpolicy.karmada.io/name"] = "p".into();
    let moves = r#""spec":{"resource":{"resourceVersion":"5"}}"#;
    for (claim, binding, referrers, follows) in [
        ("of nobody", &released, &referrers[..], true),
        // A policy that holds it may be lazy: what it says is for its own controller.
        ("of a policy", &claimed, &referrers[..], false),
        ("of nobody, needed by nobody", &released, &[], false),
    ] {
        let text = told_of(binding, referrers);
        assert_eq!(text.contains(moves), follows, "{claim}: {text}");
        assert!(!text.contains("conflictResolution"), "{claim}: {text}");
    }
}

#[test]
fn a_binding_of_another_object_is_left_alone_and_told() {
    let foreign = one(
        "{apiVersion: work.karmada.io/v1alpha2, kind: ResourceBinding, metadata: {name: settings-configmap, namespace: test, uid: x, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: settings, uid: old, controller: true}]}}",
    );
    let plan = attach(
        Some(&foreign),
        &[as_referrer(&referring("web", BY_NAME, ""))],
        true,
    );
    assert_eq!(done(&plan), "nothing");
    assert!(told(&plan).starts_with(
        "report ResourceBinding test/web Warning SyncScheduleResultToDependenciesFailed"
    ));
}

fn refer(binding: &str, references: Option<&str>, attached: Option<usize>) -> intent::Plan {
    let object = one(binding);
    let read = Binding::read(&object).unwrap();
    let references: Option<Vec<DependentObjectReference>> =
        references.map(|text| serde_json::from_str(text).unwrap());
    let template =
        one("{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: test}}");
    referrer::plan(&referrer::Inputs {
        binding: &object,
        spec: &read.spec,
        template: Some(&template),
        references: Ok(references.as_deref()),
        attached,
    })
}

fn note(binding: &str, references: Option<&str>, attached: Option<usize>) -> String {
    told(&refer(binding, references, attached))
}

#[test]
fn a_binding_that_is_held_is_looked_at_again_once_all_are_in_view() {
    let held = referring("web", BY_NAME, "");
    let going = held.replace(
        "uid: b-web,",
        "uid: b-web, deletionTimestamp: '2026-01-02T03:04:05Z',",
    );
    let off = held.replace("propagateDeps: true", "propagateDeps: false");
    let free = off.replace("karmada.io/binding-dependencies-distributor", "x");
    for (binding, references, attached, expected) in [
        (&going, None, None, UNTIL_IN_VIEW),
        (&off, None, None, UNTIL_IN_VIEW),
        (&held, Some("[]"), None, UNTIL_IN_VIEW),
        // Whoever is told when the last of them has forgotten it need not look.
        (&going, None, Some(1), Wake::OnChange),
        (&held, Some(BY_NAME), None, Wake::OnChange),
        (&free, None, None, Wake::OnChange),
    ] {
        let plan = refer(binding, references, attached);
        assert_eq!(plan.wake, expected, "{references:?} {attached:?} {binding}");
    }
}

#[test]
fn references_are_noted_once_and_held_until_nothing_is_attached() {
    let noted = referring("web", BY_NAME, "");
    let fresh = noted
        .replace(
            &format!("annotations: {{resourcebinding.karmada.io/dependencies: '{BY_NAME}'}}, "),
            "",
        )
        .replace(
            "finalizers: [karmada.io/binding-dependencies-distributor]",
            "finalizers: [x]",
        );
    insta::assert_snapshot!(note(&fresh, Some(BY_NAME), Some(0)), @r#"patch ResourceBinding test/web@9 {"metadata":{"annotations":{"resourcebinding.karmada.io/dependencies":"[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"namespace\":\"test\",\"name\":\"settings\"}]"},"finalizers":["x","karmada.io/binding-dependencies-distributor"]}}"#);
    let abroad = BY_NAME.replace(r#""namespace":"test""#, r#""namespace":"other""#);
    assert_eq!(
        note(&fresh, Some(&abroad), Some(0)),
        "report Deployment test/web Warning GetDependenciesFailed: ConfigMap other/settings is not sent along: only what is in namespace test is"
    );
    let going = noted.replace(
        "uid: b-web,",
        "uid: b-web, deletionTimestamp: '2026-01-02T03:04:05Z',",
    );
    let off = noted.replace("propagateDeps: true", "propagateDeps: false");
    for (binding, references, attached, expected) in [
        (&noted, Some(BY_NAME), Some(1), "nothing"),
        // Nothing is referred to: neither note nor finalizer.
        (&fresh, Some("[]"), Some(0), "nothing"),
        // No rule for the kind.
        (&fresh, None, Some(0), "nothing"),
        (
            &off,
            None,
            Some(1),
            r#"patch ResourceBinding test/web@9 {"metadata":{"annotations":{"resourcebinding.karmada.io/dependencies":null}}}"#,
        ),
        (
            &going,
            None,
            None,
            r#"patch ResourceBinding test/web@9 {"metadata":{"annotations":{"resourcebinding.karmada.io/dependencies":null}}}"#,
        ),
        (
            &off,
            None,
            Some(0),
            r#"patch ResourceBinding test/web@9 {"metadata":{"annotations":{"resourcebinding.karmada.io/dependencies":null},"finalizers":[]}}"#,
        ),
    ] {
        assert_eq!(note(binding, references, attached), expected, "{binding}");
    }
}

#[test]
fn references_are_found_by_name_and_by_labels() {
    let kind = GroupVersionKind::new("", "", "ConfigMap");
    let config = one(CONFIG);
    let other = one(&CONFIG
        .replace("name: settings", "name: other")
        .replace("front", "back"));
    for (text, refers, refers_to_other) in [(BY_NAME, true, false), (BY_LABEL, true, false)] {
        let binding = one(&referring("web", text, ""));
        assert_eq!(refers_to(&binding, &kind, &config), refers);
        assert_eq!(refers_to(&binding, &kind, &other), refers_to_other);
        let entries = reference::entries(&binding);
        let wanted = reference::entries_for(&kind, &config.key());
        assert!(
            entries.iter().any(|entry| wanted.contains(entry)),
            "{entries:?}"
        );
    }
    // A note written by hand does not make the control plane fetch what is elsewhere.
    for elsewhere in ["other", ""] {
        let place = format!(r#""namespace":"{elsewhere}""#);
        let there = one(&CONFIG.replace("namespace: test", &format!("namespace: '{elsewhere}'")));
        for note in [BY_NAME, BY_LABEL] {
            let note = note.replace(r#""namespace":"test""#, &place);
            let binding = one(&referring("web", &note, ""));
            assert!(!refers_to(&binding, &kind, &there), "{note}");
            assert!(reference::entries(&binding).is_empty(), "{note}");
            assert!(reference::named_by(&binding).is_empty(), "{note}");
        }
    }
    // Every namespace of every server has its own.
    let trusted = one(&CONFIG.replace("name: settings", "name: kube-root-ca.crt"));
    for note in [&BY_NAME.replace("settings", "kube-root-ca.crt"), BY_LABEL] {
        let binding = one(&referring("web", note, ""));
        assert!(!refers_to(&binding, &kind, &trusted), "{note}");
    }
    // Whoever asks for nothing, or for nothing any more, is not found.
    for (from, to) in [
        ("clusters: [{name: m1, replicas: 2}], ", ""),
        ("propagateDeps: true, ", ""),
        (
            "uid: b-web",
            "uid: b-web, deletionTimestamp: '2026-01-02T03:04:05Z'",
        ),
    ] {
        let silent = referring("web", BY_NAME, "").replace(from, to);
        assert!(reference::entries(&one(&silent)).is_empty(), "{silent}");
    }
}

fn change(before: Option<&str>, after: Option<&str>) -> Change {
    let state = |text: Option<&str>| text.map(|text| Arc::new(one(text)));
    Change {
        before: state(before),
        after: state(after),
    }
}

#[test]
fn bindings_wake_what_they_refer_to_and_those_they_no_longer_list() {
    let web = referring("web", BY_NAME, "");
    let labelled = referring("web", BY_LABEL, "");
    let of_kind = |_: &GroupKind, _: &str| vec![Arc::new(one(CONFIG))];
    let keys = |change: &Change| -> Vec<String> {
        let keys = keys::attachments_of_binding(change, of_kind);
        keys.iter()
            .map(|key| format!("{} {} {}", key.namespace, key.kind, key.object))
            .collect()
    };
    for (before, after) in [
        (None, Some(&web)),
        (Some(&web), None),
        (None, Some(&labelled)),
    ] {
        let change = change(before.map(String::as_str), after.map(String::as_str));
        assert_eq!(keys(&change), ["test ConfigMap test/settings"]);
    }
    let listing = "{metadata: {name: settings-configmap, namespace: test}, spec: {requiredBy: [{namespace: test, name: web}]}}";
    let bare = "{metadata: {name: settings-configmap, namespace: test}, spec: {}}";
    for (before, after, expected) in [
        (
            Some(listing),
            Some(bare),
            vec![ObjectKey::namespaced("test", "web")],
        ),
        (
            Some(listing),
            None,
            vec![ObjectKey::namespaced("test", "web")],
        ),
        (None, Some(listing), vec![]),
        (
            None,
            Some(web.as_str()),
            vec![ObjectKey::namespaced("test", "web")],
        ),
    ] {
        assert_eq!(keys::referrers_of_binding(&change(before, after)), expected);
    }
    assert!(
        label(&ObjectKey::namespaced("test", "test-binding")).ends_with("depended-by-5dbb6dc9c8")
    );
}

#[test]
fn objects_wake_their_binding_in_each_namespace_that_refers_to_them() {
    let referrer = referring("web", BY_NAME, "");
    let found = |entry: &str| {
        if entry == "/ConfigMap/test/settings" {
            vec![Arc::new(one(&referrer))]
        } else {
            vec![]
        }
    };
    let kind = GroupKind::new("", "ConfigMap");
    let keys = keys::attachments_of_object(&kind, &change(None, Some(CONFIG)), found);
    assert_eq!(keys.len(), 1);
    assert_eq!(keys[0].object, ObjectKey::namespaced("test", "settings"));
    let web = ObjectKey::namespaced("test", "web");
    let referring = |_: &crate::templates::TemplateKey| vec![web.clone()];
    let template = keys::referrers_of_template(&kind, &change(None, Some(CONFIG)), referring);
    assert_eq!(template, [ObjectKey::namespaced("test", "web")]);
    assert!(keys::may_refer(&one(&referrer)));
    assert!(!keys::may_refer(&one(
        "{metadata: {name: plain, namespace: test}}"
    )));
}

#[test]
fn it_goes_along_in_the_version_that_those_name_who_refer_to_it() {
    let referrer = |name: &str, versions: &[&str]| Referrer {
        versions: versions.iter().map(|&version| version.into()).collect(),
        ..as_referrer(&referring(name, BY_NAME, ""))
    };
    let bound = |version: &str, claim: &str| {
        one(&format!(
            "{{metadata: {{name: b, namespace: test, {claim}}}, spec: {{resource: {{apiVersion: acme.io/{version}, kind: Widget, name: w}}}}}}"
        ))
    };
    let claim = "labels: {propagationpolicy.karmada.io/permanent-id: id}, annotations: {propagationpolicy.karmada.io/namespace: test, propagationpolicy.karmada.io/name: p}";
    let both = [referrer("a", &["v1"]), referrer("b", &["v1beta1", "v2"])];
    let unserved = [referrer("a", &["v7"])];
    for (binding, referrers, expected) in [
        // The first, as long as there is none.
        (None, &both[..], Some("v1")),
        (None, &both[1..], Some("v1beta1")),
        // It stays in one that somebody names.
        (Some(bound("v1beta1", "")), &both[..], Some("v1beta1")),
        (Some(bound("v2", "")), &both[..], Some("v2")),
        (Some(bound("v2", "")), &both[..1], Some("v1")),
        // What nobody serves says nothing.
        (None, &unserved[..], None),
        (Some(bound("v2", "")), &unserved[..], Some("v2")),
        (Some(bound("v7", "")), &unserved[..], None),
        (Some(bound("v7", "")), &both[..], Some("v1")),
        // Nor do those who refer to it, once a policy has it.
        (Some(bound("v2", claim)), &both[..1], Some("v2")),
        (Some(bound("v2", "")), &[], Some("v2")),
    ] {
        let is_served = |version: &str| ["v1", "v2", "v1beta1"].contains(&version);
        let version = attachment::version(binding.as_ref(), referrers, is_served);
        assert_eq!(version, expected, "{binding:?} {referrers:?}");
    }
}
