//! What claims look like on templates and bindings.

use insta::assert_snapshot;

use super::{edit, one, policy, written};
use crate::{Holder, holder};

fn both() -> [crate::Policy; 2] {
    [
        "{kind: PropagationPolicy, metadata: {name: a, namespace: test}}",
        "{kind: ClusterPropagationPolicy, metadata: {name: b}}",
    ]
    .map(|document| policy(one(document)))
}

#[test]
fn a_claim_counts_only_if_it_is_whole() {
    let label = "propagationpolicy.karmada.io/permanent-id: x";
    let namespace = "propagationpolicy.karmada.io/namespace: test";
    let name = "propagationpolicy.karmada.io/name: a";
    let wide_label = "clusterpropagationpolicy.karmada.io/permanent-id: z";
    let wide_name = "clusterpropagationpolicy.karmada.io/name: b";
    for (labels, annotations, expected) in [
        (
            label.to_owned(),
            format!("{namespace}, {name}"),
            "PropagationPolicy test/a",
        ),
        (label.to_owned(), namespace.to_owned(), "nobody"),
        (String::new(), format!("{namespace}, {name}"), "nobody"),
        (
            "propagationpolicy.karmada.io/permanent-id: ''".to_owned(),
            format!("{namespace}, {name}"),
            "nobody",
        ),
        (
            wide_label.to_owned(),
            wide_name.to_owned(),
            "ClusterPropagationPolicy b",
        ),
        (wide_label.to_owned(), String::new(), "nobody"),
        (
            format!("{label}, {wide_label}"),
            format!("{namespace}, {name}, {wide_name}"),
            "PropagationPolicy test/a",
        ),
        (
            format!("{label}, {wide_label}"),
            format!("{name}, {wide_name}"),
            "ClusterPropagationPolicy b",
        ),
    ] {
        let object = one(&format!(
            "{{metadata: {{labels: {{{labels}}}, annotations: {{{annotations}}}}}}}"
        ));
        let found =
            Holder::of(&object).map_or_else(|| "nobody".to_owned(), |holder| holder.to_string());
        assert_eq!(found, expected, "{labels} {annotations}");
    }
}

#[test]
fn claiming_writes_the_policys_keys_and_takes_the_other_kinds_away() {
    let [own, wide] = both();
    let free = one("{metadata: {name: web, labels: {app: web}}}");
    assert_snapshot!(edit(&holder::claim(&free, &own)), @r#"{"labels":{"propagationpolicy.karmada.io/permanent-id":"a-id"},"annotations":{"propagationpolicy.karmada.io/name":"a","propagationpolicy.karmada.io/namespace":"test"}}"#);
    assert_snapshot!(edit(&holder::claim(&free, &wide)), @r#"{"labels":{"clusterpropagationpolicy.karmada.io/permanent-id":"b-id"},"annotations":{"clusterpropagationpolicy.karmada.io/name":"b"}}"#);
    let taken = written(&free, &holder::claim(&free, &wide));
    assert_snapshot!(edit(&holder::claim(&taken, &wide)), @"as it is");
    let back = written(&taken, &holder::claim(&taken, &own));
    assert_eq!(Holder::of(&back), Some(Holder::from(&own)));
    assert_snapshot!(serde_json::to_string(&back).unwrap(), @r#"{"metadata":{"name":"web","labels":{"app":"web","propagationpolicy.karmada.io/permanent-id":"a-id"},"annotations":{"propagationpolicy.karmada.io/name":"a","propagationpolicy.karmada.io/namespace":"test"}}}"#);
}

#[test]
fn half_a_claim_is_completed() {
    let [own, _] = both();
    let half = one("{metadata: {labels: {propagationpolicy.karmada.io/permanent-id: a-id}}}");
    assert_snapshot!(edit(&holder::claim(&half, &own)), @r#"{"annotations":{"propagationpolicy.karmada.io/name":"a","propagationpolicy.karmada.io/namespace":"test"}}"#);
}

#[test]
fn releasing_compares_ids_so_that_a_fresh_claim_survives() {
    let [own, _] = both();
    let free = one("{metadata: {name: web}}");
    let taken = written(&free, &holder::claim(&free, &own));
    let stranger = Holder {
        permanent_id: "former-id".to_owned(),
        ..Holder::from(&own)
    };
    assert_snapshot!(edit(&holder::release(&taken, &stranger)), @"as it is");
    assert_snapshot!(edit(&holder::release(&taken, &Holder::from(&own))), @r#"{"labels":{"propagationpolicy.karmada.io/permanent-id":null},"annotations":{"propagationpolicy.karmada.io/name":null,"propagationpolicy.karmada.io/namespace":null}}"#);
}
