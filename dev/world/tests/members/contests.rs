//! Somebody in a member who undoes whatever is brought there, as fast as it is brought.

use std::time::Duration;

use client::{PatchKind, WriteOptions};
use intent::Part;
use object::{ObjectKey, Value};
use world::{World, json};

use crate::{SOON, WEB, everywhere, seconds};

const WEB_OF: &str = "default/web";

/// A world whose member `m1` has the Deployment `web`.
async fn with_web() -> World {
    let world = World::with_members(1).await;
    world.apply(&everywhere("apps/v1", "Deployment")).await;
    world.apply(WEB).await;
    world
        .until_is("it is there", SOON, json!(2), async || {
            replicas(&world).await
        })
        .await;
    world.advance(seconds(5)).await;
    world
}

async fn replicas(world: &World) -> Value {
    let m1 = world.member("m1");
    m1.field("deployments", WEB_OF, "spec.replicas").await
}

async fn applied(world: &World) -> String {
    let work = world.list("works", "karmada-es-m1").await;
    let work = work.iter().find(|work| work.name().starts_with("web-"));
    let key = work.map(|work| work.key().to_string()).unwrap_or_default();
    let conditions = world.field("works", &key, "status.conditions").await;
    let conditions = conditions.as_array().cloned().unwrap_or_default();
    let applied = conditions
        .into_iter()
        .find(|condition| condition["type"] == "Applied");
    applied.map_or_else(String::new, |applied| {
        let text = |field: &str| applied[field].as_str().unwrap_or_default().to_owned();
        format!("{} {}: {}", text("status"), text("reason"), text("message"))
    })
}

/// The warnings on the template, with how often each was told.
async fn warnings(world: &World) -> Vec<(String, i64)> {
    let events = world.list("events", "default").await;
    let about = |event: &object::Object, field: &str| {
        let text = event.text_at(&["involvedObject", field]);
        text.unwrap_or_default().to_owned()
    };
    let warnings = events.iter().filter(|event| {
        event.text_at(&["type"]) == Some("Warning") && about(event, "kind") == "Deployment"
    });
    let warnings = warnings.map(|event| {
        let message = event.text_at(&["message"]).unwrap_or_default().to_owned();
        let count = event.at(&["count"]).and_then(Value::as_i64);
        (message, count.unwrap_or(1))
    });
    warnings.collect()
}

#[tokio::test(start_paused = true)]
async fn a_writer_who_changes_back_what_is_brought_is_answered_ever_less_and_named() {
    let world = with_web().await;
    let m1 = world.member("m1");
    let resource = m1.resource("deployments", None).await;
    let key = ObjectKey::namespaced("default", "web");
    let options = WriteOptions::by("rival-autoscaler");
    let patch = json!({"spec": {"replicas": 5}});
    let mut undone = 0;
    // Ten minutes of somebody who looks every fifth of a second.
    for _ in 0..3000 {
        if replicas(&world).await != json!(5) {
            let kind = PatchKind::Merge;
            let client = m1.client();
            let part = Part::Named("scale".into());
            let patched = client.patch(&resource, &key, kind, &patch, &part, &options);
            patched.await.unwrap_or_else(|error| panic!("{error}"));
            undone += 1;
        }
        world.advance(Duration::from_millis(200)).await;
    }
    // Five at once, six while the pauses grow to a minute, then one a minute.
    assert!((15..=22).contains(&undone), "it was undone {undone} times");
    let why = "Deployment default/web is changed in the cluster m1 again and again by rival-autoscaler (spec.replicas), and is brought back less and less often: label the template resourcetemplate.karmada.io/retain-replicas=true if its replicas are for the cluster to say, or stop whoever changes them";
    assert_eq!(applied(&world).await, format!("False Contested: {why}"));
    assert_eq!(
        world.field("deployments", WEB_OF, "status.replicas").await,
        json!(5),
        "what runs is still told"
    );
    let binding = "default/web-deployment";
    assert_eq!(
        world
            .condition("resourcebindings", binding, "FullyApplied")
            .await,
        "False FullyAppliedFailed"
    );
    let told = warnings(&world).await;
    let times: i64 = told.iter().map(|(_, count)| *count).sum();
    assert!(
        times < 3,
        "it is told when it begins, not each time: {told:?}"
    );
    assert_eq!(told.first().map(|(message, _)| message.as_str()), Some(why));

    // The rival gives up.
    world
        .until_is("it is brought back", seconds(61), json!(2), async || {
            replicas(&world).await
        })
        .await;
    world
        .until("the work says so", seconds(11), async || {
            applied(&world).await.starts_with("True")
        })
        .await;
    world
        .until_is(
            "so does the binding",
            SOON,
            json!("True FullyAppliedSuccess"),
            async || {
                json!(
                    world
                        .condition("resourcebindings", binding, "FullyApplied")
                        .await
                )
            },
        )
        .await;
}

#[tokio::test(start_paused = true)]
async fn what_is_deleted_again_and_again_is_made_again_ever_less() {
    let world = with_web().await;
    let m1 = world.member("m1");
    let mut deleted = 0;
    for _ in 0..1500 {
        if m1.get("deployments", WEB_OF).await.is_some() {
            m1.delete("deployments", WEB_OF).await;
            deleted += 1;
        }
        world.advance(Duration::from_millis(200)).await;
    }
    assert!(
        (10..=17).contains(&deleted),
        "it was deleted {deleted} times"
    );
    assert_eq!(
        applied(&world).await,
        "False Contested: Deployment default/web is deleted in the cluster m1 again and again, and is made again less and less often: stop whoever deletes it there, or take the cluster out of the placement"
    );
    world
        .until("it is made again", seconds(61), async || {
            m1.get("deployments", WEB_OF).await.is_some()
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_new_template_is_brought_at_once_whoever_undoes_the_old_one() {
    let world = with_web().await;
    let m1 = world.member("m1");
    for _ in 0..40 {
        m1.patch("deployments", WEB_OF, json!({"spec": {"replicas": 5}}))
            .await;
        world.advance(seconds(1)).await;
    }
    world
        .stays("it is left alone", seconds(3), async || {
            replicas(&world).await == json!(5)
        })
        .await;
    world
        .patch("deployments", WEB_OF, json!({"spec": {"replicas": 3}}))
        .await;
    world
        .until_is("the new one is there", seconds(2), json!(3), async || {
            replicas(&world).await
        })
        .await;
}

/// As an autoscaler does, which looks every fifteen seconds.
#[tokio::test(start_paused = true)]
async fn a_contest_with_who_comes_now_and_then_is_one_all_the_time() {
    let world = with_web().await;
    let m1 = world.member("m1");
    let undo = async || {
        let patch = json!({"spec": {"replicas": 5}});
        m1.patch("deployments", WEB_OF, patch).await;
    };
    for _ in 0..12 {
        undo().await;
        world.advance(seconds(15)).await;
    }
    for _ in 0..40 {
        undo().await;
        for _ in 0..15 {
            let applied = applied(&world).await;
            assert!(applied.starts_with("False Contested"), "{applied}");
            world.advance(seconds(1)).await;
        }
    }
    let told = warnings(&world).await;
    let times: i64 = told.iter().map(|(_, count)| *count).sum();
    assert!(times < 4, "{told:?}");
    world
        .until("it is calm in the end", seconds(120), async || {
            applied(&world).await.starts_with("True")
        })
        .await;
    assert_eq!(replicas(&world).await, json!(2));
}
