//! A plugin in the process: of two clusters that would do, the cheaper one.
//!
//! Clusters say what an hour costs with the label `example.com/cents-per-hour`.
//!
//! `cargo run -p karavel-scheduler --example plugin`

use std::collections::BTreeMap;

use api::{cluster::Cluster, policy::Placement, work::v1alpha2::ResourceBinding};
use object::{Value, parse};
use schedule::{
    Cycle, Inputs, Options,
    binding::BindingView,
    cluster::{ClusterFacts, Pool, Snapshot},
    placement::PreparedPlacement,
    plugin::{Peers, Plugin, Registry, Score, ScoreError, Scorer, WorkloadGroups},
    schedule,
};
use serde_json::json;

/// What a cluster without a price costs.
const UNKNOWN: i64 = i64::MAX;

/// Prefers cheap clusters.
#[derive(Debug)]
pub(crate) struct Cheapest;

impl Score for Cheapest {
    fn begin<'c>(&'c self, _cycle: &'c Cycle<'c>) -> Scorer<'c> {
        Box::new(|_, cluster| {
            let price = cluster.label("example.com/cents-per-hour");
            Ok(price
                .and_then(|price| price.parse().ok())
                .unwrap_or(UNKNOWN))
        })
    }

    /// From prices to scores: 100 for the cheapest, 0 for the dearest and for those without a price.
    fn normalise(&self, _cycle: &Cycle<'_>, prices: &mut [i64]) -> Result<(), ScoreError> {
        let known = || prices.iter().copied().filter(|price| *price != UNKNOWN);
        let (least, most) = (known().min().unwrap_or(0), known().max().unwrap_or(0));
        let span = most.saturating_sub(least).max(1);
        for price in prices {
            *price = match *price {
                UNKNOWN => 0,
                price => 100 - price.saturating_sub(least).saturating_mul(100) / span,
            };
        }
        Ok(())
    }
}

/// The plugin, as it goes into `scheduler::Settings::others`.
pub(crate) fn plugin() -> Plugin {
    Plugin::named("Cheapest").scoring(Cheapest)
}

/// Where a template goes that wants one of three clusters, with these values of `--plugins`.
pub(crate) fn decide(plugins: &[&str]) -> String {
    let cluster = |name: &str, price: &str| {
        let value = json!({
            "metadata": {"name": name, "labels": {"example.com/cents-per-hour": price}},
            "status": {"apiEnablements": [
                {"groupVersion": "v1", "resources": [{"kind": "ConfigMap", "name": "configmaps"}]},
            ]},
        });
        let cluster: Cluster = read(&value);
        std::sync::Arc::new(ClusterFacts::of(&cluster, &mut Pool::default()))
    };
    let clusters = Snapshot::new([
        cluster("east", "90"),
        cluster("north", "40"),
        cluster("west", "60"),
    ]);
    let binding: ResourceBinding = read(&json!({
        "metadata": {"name": "settings", "namespace": "shop"},
        "spec": {"resource": {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "shop", "name": "settings"}},
    }));
    let one = json!({"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]});
    let placement: Placement = read(&one);
    let mut registry = Registry::in_tree(WorkloadGroups::Off);
    if let Err(taken) = registry.register(plugin()) {
        return taken.to_string();
    }
    let decision = schedule(&Inputs {
        binding: BindingView {
            scope: api::registry::Scope::Namespaced,
            metadata: &binding.metadata,
            spec: &binding.spec,
            status: &binding.status,
        },
        placement: &PreparedPlacement::compile(&placement),
        clusters: &clusters,
        estimates: &[],
        assumed: &BTreeMap::new(),
        peers: &Peers::default(),
        plugins: &registry.enable(plugins),
        options: Options::default(),
    });
    let targets = decision.targets_to_write().unwrap_or_default();
    let names: Vec<&str> = targets.iter().map(|target| &*target.cluster).collect();
    names.join(" ")
}

fn read<T: Default + for<'de> serde::Deserialize<'de>>(value: &Value) -> T {
    parse::shape(value).unwrap_or_default()
}

#[expect(clippy::print_stdout, reason = "what it shows is the output")]
fn main() {
    println!("with it: {}", decide(&["*"]));
    println!("without it: {}", decide(&["*", "-Cheapest"]));
}
