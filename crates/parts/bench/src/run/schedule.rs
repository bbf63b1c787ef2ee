//! Bindings created directly, over clusters that are only objects.

use std::time::Duration;

use http::{Method, StatusCode};

use super::Bench;
use super::measure::{Done, NAMESPACE, Watching};
use crate::error::BenchError;
use crate::load::{self, Load};
use crate::objects;
use crate::report::Step;
use crate::target::Target;
use crate::watch::Lookout;
use crate::wire::{Ask, MERGE_PATCH, Wire};
use crate::workload::{Planned, Work};

const CLIENTS: usize = 32;
const PATIENCE: Duration = Duration::from_secs(300);
/// What clusters of a run are called, before their number.
const CLUSTER: &str = "bench-cluster";

impl Bench<'_> {
    pub(super) async fn schedule(
        &self,
        target: &Target,
        planned: &Planned,
        number: usize,
    ) -> Result<Step, BenchError> {
        let Work::Schedule {
            mode,
            clusters,
            bindings,
            pace,
        } = &planned.work
        else {
            return Err(BenchError::Unfit {
                workload: planned.name.clone(),
                needs: "bindings",
            });
        };
        let count = bindings.at(self.settings.size);
        let mut wire = Wire::open(&target.control).await?;
        make_clusters(&mut wire, *clusters, self).await?;
        let collection = objects::bindings(NAMESPACE);
        let prefix = format!("step{number}-");
        let ours = prefix.clone();
        let mut lookout = Lookout::begin(&target.control, &collection, move |event| {
            !event.object.spec.clusters.is_empty() && event.object.metadata.name.starts_with(&ours)
        })
        .await?;
        let placement = mode.placement();
        let load = Load {
            count,
            clients: CLIENTS,
            pace: *pace,
        };
        let watching = Watching::begin(target);
        let path = collection.clone();
        let outcome = load::run(&target.control, load, self.progress, move |index| {
            let name = format!("{prefix}{index}");
            Ask::post(path.clone(), objects::binding(&name, NAMESPACE, &placement))
        })
        .await?;
        let expected = count - outcome.failures;
        lookout
            .until(
                "the placing of all bindings",
                expected,
                PATIENCE,
                self.progress,
            )
            .await?;
        let (latencies, took) = outcome.until(&lookout.sightings());
        let done = Done {
            count: expected,
            failures: outcome.failures,
            first_failure: outcome.first_failure,
            latencies,
            took,
            paced: pace.is_some(),
        };
        let mut step = watching.end(&planned.name, target, done);
        step.figure("clusters", *clusters as f64);
        // The next step begins with as little as this one did.
        let ask = Ask::new(Method::DELETE, collection, "", bytes::Bytes::new());
        wire.ask(ask).await?.accepted("delete the bindings")?;
        Ok(step)
    }
}

/// Adds clusters until there are so many, each with the status of one that is ready.
async fn make_clusters(wire: &mut Wire, count: usize, bench: &Bench<'_>) -> Result<(), BenchError> {
    for index in (0..count).rev() {
        let name = format!("{CLUSTER}-{index}");
        bench.progress.advance(count - index, count);
        let (object, status) = objects::cluster(&name);
        let answer = wire.ask(Ask::post(objects::CLUSTERS, object)).await?;
        if answer.status == StatusCode::CONFLICT {
            // Those below are there, too.
            return Ok(());
        }
        answer.accepted("create a cluster")?;
        let path = format!("{}/{name}/status", objects::CLUSTERS);
        let body = serde_json::json!({"status": status}).to_string();
        let ask = Ask::new(Method::PATCH, path, MERGE_PATCH, body);
        wire.ask(ask).await?.accepted("report a cluster's status")?;
    }
    Ok(())
}

/// Removes the clusters of a run.
pub(super) async fn remove_clusters(wire: &mut Wire) -> Result<(), BenchError> {
    for index in 0.. {
        let path = format!("{}/{CLUSTER}-{index}", objects::CLUSTERS);
        let ask = Ask::new(Method::DELETE, path, "", bytes::Bytes::new());
        if !wire.ask(ask).await?.status.is_success() {
            break;
        }
    }
    Ok(())
}
