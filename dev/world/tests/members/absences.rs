//! Kinds that a member does not serve for a while, or no longer.

use api::well_known::conditions::work::APPLIED;
use member::join::{UnjoinOptions, unjoin};
use world::World;

use crate::{SOON, WEB, everywhere, seconds};

const WIDGETS: &str = "
    apiVersion: apiextensions.k8s.io/v1
    kind: CustomResourceDefinition
    metadata: {name: widgets.acme.io}
    spec:
      group: acme.io
      scope: Namespaced
      names: {plural: widgets, singular: widget, kind: Widget}
      versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
";

#[tokio::test(start_paused = true)]
async fn what_was_brought_goes_although_its_group_was_away() {
    let world = World::with_members(2).await;
    world.apply(&everywhere("apps/v1", "Deployment")).await;
    world.apply(WEB).await;
    let m2 = world.member("m2");
    world
        .until("it is there", SOON, async || {
            m2.get("deployments", "default/web").await.is_some()
        })
        .await;
    m2.faults().change(|state| {
        state.dropped_groups.insert("apps".to_owned());
    });
    // Long enough that the member has been asked again what it serves.
    world.advance(seconds(90)).await;
    let complete = "CompleteAPIEnablements";
    let complete = world.condition("clusters", "m2", complete).await;
    assert!(complete.starts_with("False Partial"), "{complete}");
    world.delete("deployments", "default/web").await;
    let works = async || world.names("works", "karmada-es-m2").await;
    let is_brought = async || works().await.iter().any(|name| name.contains("web"));
    world
        .stays("its work waits", seconds(90), async || is_brought().await)
        .await;
    let events = world.list("events", "karmada-es-m2").await;
    let said: Vec<&str> = events
        .iter()
        .filter_map(|event| event.text_at(&["message"]))
        .collect();
    let why = "cannot delete Deployment default/web from cluster m2: ";
    assert!(said.iter().any(|said| said.starts_with(why)), "{said:#?}");
    m2.faults().heal();
    world
        .until("it is gone, and then its work", seconds(180), async || {
            m2.get("deployments", "default/web").await.is_none() && !is_brought().await
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn works_say_so_when_the_definition_of_their_kind_is_gone() {
    let world = World::with_members(1).await;
    let m1 = world.member("m1");
    world.apply(WIDGETS).await;
    m1.apply(WIDGETS).await;
    world.apply(&everywhere("acme.io/v1", "Widget")).await;
    for name in ["a", "b", "c", "d"] {
        let widget =
            format!("{{apiVersion: acme.io/v1, kind: Widget, metadata: {{name: {name}}}}}");
        world
            .until("its kind is served", SOON, async || {
                world.try_apply(&widget).await.is_ok()
            })
            .await;
    }
    let applied = async || {
        let mut found = Vec::new();
        for name in world.names("works", "karmada-es-m1").await {
            if ["/a-", "/b-", "/c-", "/d-"]
                .iter()
                .any(|part| name.contains(part))
            {
                found.push(world.condition("works", &name, APPLIED).await);
            }
        }
        found
    };
    world
        .until("all are there", SOON, async || {
            let found = applied().await;
            found.len() == 4 && found.iter().all(|status| status.starts_with("True"))
        })
        .await;
    m1.delete("customresourcedefinitions", "widgets.acme.io")
        .await;
    world
        .until("all say that they are not", SOON, async || {
            applied()
                .await
                .iter()
                .all(|status| status.starts_with("False"))
        })
        .await;
}

/// By force a cluster goes although something in it could not be taken out; what that is, is told.
#[tokio::test(start_paused = true)]
async fn what_a_group_that_is_away_holds_back_is_named_when_the_cluster_goes_by_force() {
    let world = World::with_members(2).await;
    world.apply(&everywhere("apps/v1", "Deployment")).await;
    world.apply(WEB).await;
    let m2 = world.member("m2");
    world
        .until("it is there", SOON, async || {
            m2.get("deployments", "default/web").await.is_some()
        })
        .await;
    m2.faults().change(|state| {
        state.dropped_groups.insert("apps".to_owned());
    });
    world.advance(seconds(90)).await;
    let mut options = UnjoinOptions::new("m2");
    let late = unjoin(world.client(), Some(m2.client()), &options).await;
    let late = late.expect_err("something holds it").to_string();
    let held = ": 1 work is left in karmada-es-m2: web-";
    assert!(late.contains(held), "{late}");
    assert!(late.ends_with(" (Deployment default/web)"), "{late}");
    options.force = true;
    let left = unjoin(world.client(), Some(m2.client()), &options).await;
    let left = left.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        left.left_behind,
        ["1 object stays in the member and is no longer managed: Deployment default/web"]
    );
}
