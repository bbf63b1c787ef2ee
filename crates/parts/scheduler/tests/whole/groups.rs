//! Bindings that keep together or apart, all to be decided at once.

use std::collections::BTreeMap;

use api::registry::RESOURCE_BINDING;
use karavel_scheduler::Settings;
use schedule::plugin::WorkloadGroups;
use serde_json::json;

use crate::world::{World, binding, show};

const BINDINGS: [&str; 9] = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];

/// Where nine bindings of a group go that may have one cluster each, and how many of them go there.
async fn placed(group: &str, settings: Settings) -> BTreeMap<String, usize> {
    // All are there before anybody decides.
    let world = World::filled_with_clusters().await;
    let one = json!({"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]});
    for name in BINDINGS {
        let mut binding = binding(name, 1, &one);
        let groups = json!({ group: "app=web" });
        binding
            .set(&["spec", "workloadAffinityGroups"], groups)
            .unwrap();
        world.create(&RESOURCE_BINDING, binding).await;
    }
    let scheduler = world.schedule(settings);
    let mut placed = BTreeMap::new();
    for name in BINDINGS {
        let key = format!("shop/{name}");
        world.settle(&scheduler, &key).await;
        let place = show(&world.binding(&key).await);
        *placed.entry(place).or_default() += 1;
    }
    placed
}

#[tokio::test(start_paused = true)]
async fn members_of_a_group_decided_at_once_keep_together_or_apart() {
    let settings = || Settings {
        groups: WorkloadGroups::On,
        workers: 8,
        ..Settings::default()
    };
    let apart = placed("antiAffinityGroup", settings()).await;
    let expected = [
        ("NoClusterFit", 5),
        ("m1=1 Success", 1),
        ("m2=1 Success", 1),
        ("m3=1 Success", 1),
        ("m4=1 Success", 1),
    ];
    let expected = expected.map(|(place, count)| (place.to_owned(), count));
    assert_eq!(apart, BTreeMap::from(expected));
    let together = placed("affinityGroup", settings()).await;
    assert_eq!(together.into_values().collect::<Vec<_>>(), [9]);
}
