//! What `apply` makes of files, and how long it takes over them.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::time::Duration;

use cli::{Answer, ApplyOptions, Manifest};
use tokio::time::Instant;
use world::World;

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
