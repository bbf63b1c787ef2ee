//! What `apply` makes of files, and how long it takes over them.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::time::Duration;

use cli::{Answer, ApplyOptions, Manifest};
use tokio::time::Instant;
use world::{World, json};

/// Longer than a kind takes to be served, and shorter than one is waited for.
const BRIEFLY: Duration = Duration::from_secs(5);

const GADGET: &str = "{apiVersion: acme.io/v1, kind: Gadget, metadata: {name: g}, spec: {size: 3}}";
const WHEEL: &str = "{apiVersion: acme.io/v1, kind: Wheel, metadata: {name: w}}";

/// The kind Gadget; with a type that is none it is refused.
fn gadgets(sort: &str) -> String {
    format!(
        "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: gadgets.acme.io}}
spec:
  group: acme.io
  scope: Namespaced
  names: {{plural: gadgets, singular: gadget, kind: Gadget}}
  versions: [{{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: {sort}, x-kubernetes-preserve-unknown-fields: true}}}}}}]
"
    )
}

/// What `apply` prints and answers, and how long it took.
async fn apply(world: &World, documents: &[&str]) -> (String, Answer, Duration) {
    let manifests = Manifest::parse("f.yaml", &documents.join("\n---\n")).unwrap();
    let mut said = String::new();
    let mut print = |text: &str| {
        said.push_str(text);
        Ok(())
    };
    let (client, options) = (world.control().client(), ApplyOptions::default());
    let begun = Instant::now();
    let answer = cli::apply(client, &manifests, &options, &mut print).await;
    (said, answer.unwrap(), begun.elapsed())
}

#[tokio::test(start_paused = true)]
async fn only_kinds_that_come_are_waited_for() {
    let world = World::build().start().await;
    let defined = gadgets("object");
    let (said, answer, took) = apply(&world, &[&defined, WHEEL, WHEEL, GADGET]).await;
    assert_eq!(
        said,
        "customresourcedefinition.apiextensions.k8s.io/gadgets.acme.io created\ngadget.acme.io/g created\n"
    );
    let failure = answer.failure.unwrap().to_string();
    assert!(
        failure.contains("no matches for kind \"Wheel\""),
        "{failure}"
    );
    assert!(took < BRIEFLY, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_kind_whose_definition_is_refused_is_not_waited_for() {
    let world = World::build().start().await;
    let refused = gadgets("thing");
    let (said, answer, took) = apply(&world, &[&refused, GADGET]).await;
    assert_eq!(said, "");
    let failure = answer.failure.unwrap().to_string();
    assert!(
        failure.contains("no matches for kind \"Gadget\""),
        "{failure}"
    );
    assert!(took < BRIEFLY, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_note_that_cannot_be_renewed_is_warned_of_and_what_is_applied_stays() {
    const NOTE: &str = "kubectl.kubernetes.io/last-applied-configuration";
    let world = World::build().start().await;
    let settings = |value: &str, annotations: &str| {
        format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: settings, annotations: {{{annotations}}}}}, data: {{a: {value}}}}}"
        )
    };
    let noted = format!("{NOTE}: '{{}}'");
    world.control().apply(&settings("one", &noted)).await;
    let policy = format!(
        "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: notes-stay}}
spec:
  matchConstraints: {{resourceRules: [{{operations: [UPDATE], apiGroups: [''], apiVersions: [v1], resources: [configmaps]}}]}}
  validations: [{{expression: \"object.metadata.annotations['{NOTE}'] == oldObject.metadata.annotations['{NOTE}']\", message: notes stay}}]
---
{{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {{name: b}}, spec: {{policyName: notes-stay, validationActions: [Deny]}}}}
"
    );
    world.control().apply(&policy).await;
    let (said, answer, _) = apply(&world, &[&settings("two", "")]).await;
    assert_eq!(said, "configmap/settings configured\n");
    assert!(answer.failure.is_none(), "{:?}", answer.failure);
    let [note] = answer.notes.as_slice() else {
        panic!("{:?}", answer.notes);
    };
    assert!(
        note.starts_with("warning: configmap/settings is applied"),
        "{note}"
    );
    assert!(note.contains("notes stay"), "{note}");
    let (control, name) = (world.control(), "default/settings");
    assert_eq!(
        control.field("configmaps", name, "data.a").await,
        json!("two")
    );
    world
        .control()
        .delete("validatingadmissionpolicybindings", "b")
        .await;
    let (_, answer, _) = apply(&world, &[&settings("two", "")]).await;
    assert!(
        answer.failure.is_none() && answer.notes.is_empty(),
        "{answer:?}"
    );
    let found = control.get("configmaps", name).await.unwrap();
    assert!(found.annotation(NOTE).unwrap().contains("two"));
}
