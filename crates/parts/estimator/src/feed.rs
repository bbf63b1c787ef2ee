//! Keeps a ledger current with what its member tells.

use std::time::Duration;

use client::{CallError, ListOptions, WatchEvent, WatchOptions};
use object::ResourceType;
use runtime::{Backoff, CancellationToken};
use telemetry::chain;
use tracing::{debug, warn};

use crate::ledger::Ledger;

/// Objects on a page of a list: what is in memory at once beside what is counted.
const PAGE: u32 = 500;
/// How long a watch is asked to last, so that a connection that silently broke is noticed.
const WATCH_SECONDS: u32 = 300;
/// How much longer than that a watch may say nothing.
const WATCH_GRACE: Duration = Duration::from_secs(30);
/// Pods that are done hold no room and would only travel.
const UNFINISHED: &str = "status.phase!=Succeeded,status.phase!=Failed";

/// What is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    Nodes,
    Pods,
    Quotas,
}

impl Counted {
    pub(crate) fn plural(self) -> &'static str {
        match self {
            Self::Nodes => "nodes",
            Self::Pods => "pods",
            Self::Quotas => "resourcequotas",
        }
    }

    fn resource(self) -> ResourceType {
        match self {
            Self::Nodes => ResourceType::cluster("", "v1", "Node", "nodes"),
            Self::Pods => ResourceType::namespaced("", "v1", "Pod", "pods"),
            Self::Quotas => ResourceType::namespaced("", "v1", "ResourceQuota", "resourcequotas"),
        }
    }

    fn field_selector(self) -> String {
        match self {
            Self::Pods => UNFINISHED.to_owned(),
            Self::Nodes | Self::Quotas => String::new(),
        }
    }
}

/// Follows one kind until told to stop.
pub(crate) async fn follow(ledger: &Ledger, counted: Counted, stop: CancellationToken) {
    let first = Duration::from_millis(500);
    let mut backoff = Backoff::new(first, Duration::from_secs(30), counted as u64);
    let mut revision = String::new();
    let mut is_told = false;
    loop {
        let following = follow_once(ledger, counted, &mut revision, &mut backoff);
        let ended = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            ended = following => ended,
        };
        let wait = match ended {
            // The server ended the watch in good order.
            Ok(()) => {
                is_told = false;
                Duration::from_millis(10)
            }
            Err(error) => {
                if error.is_gone() {
                    revision.clear();
                }
                let (cluster, resource) = (ledger.cluster(), counted.plural());
                if std::mem::replace(&mut is_told, true) {
                    debug!(cluster, resource, error = %chain(&error), "watch broken");
                } else {
                    warn!(cluster, resource, error = %chain(&error), "watch broken; trying again");
                }
                backoff.fail()
            }
        };
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = tokio::time::sleep(wait) => {}
        }
    }
}

/// Lists, unless there is a revision to go on from, and then watches until the watch ends.
async fn follow_once(
    ledger: &Ledger,
    counted: Counted,
    revision: &mut String,
    backoff: &mut Backoff,
) -> Result<(), CallError> {
    let (resource, client) = (counted.resource(), &ledger.shared.client);
    if revision.is_empty() {
        *revision = list(ledger, counted, &resource).await?;
    }
    let options = WatchOptions {
        resource_version: revision.clone(),
        field_selector: counted.field_selector(),
        timeout_seconds: WATCH_SECONDS,
        ..WatchOptions::default()
    };
    let mut watch = client.watch(&resource, "", &options).await?;
    let silence = Duration::from_secs(u64::from(WATCH_SECONDS)) + WATCH_GRACE;
    // A watch that says nothing for longer than it was to last has broken without a word: it is begun again.
    while let Ok(Some(event)) = tokio::time::timeout(silence, watch.next()).await {
        match event? {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                object.resource_version().clone_into(revision);
                ledger.set(counted, &object);
            }
            WatchEvent::Deleted(object) => {
                object.resource_version().clone_into(revision);
                ledger.remove(counted, &object);
            }
            WatchEvent::Bookmark { revision: told, .. } => *revision = told,
        }
        backoff.succeed();
    }
    Ok(())
}

async fn list(
    ledger: &Ledger,
    counted: Counted,
    resource: &ResourceType,
) -> Result<String, CallError> {
    let mut options = ListOptions {
        limit: PAGE,
        field_selector: counted.field_selector(),
        ..ListOptions::default()
    };
    ledger.begin(counted);
    loop {
        let page = ledger.shared.client.list(resource, "", &options).await?;
        for object in &page.items {
            ledger.set(counted, object);
        }
        if page.continue_token.is_empty() {
            ledger.finish(counted);
            return Ok(page.resource_version);
        }
        options.continue_token = page.continue_token;
    }
}
