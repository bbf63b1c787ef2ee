//! What a member's server answers that is not stored, and what every cluster begins with.

mod archive;
mod files;
mod foundation;
mod kubelet;
mod line;
mod log;
mod metrics;
mod proxy;
mod shell;
mod stream;

use std::sync::Arc;

use access::access::Access;
use access::{reviews, token_request};
use runtime::{Clock, Spawner};
use serve::handler::Handlers;

use crate::behaviour::Rules;
use crate::engine::engine_user;
use crate::faults::Faults;
use crate::sessions::Sessions;

pub(crate) use foundation::found;
pub(crate) use metrics::{GROUP as METRICS_GROUP, resources as metrics_resources};

/// What handlers need besides the server and its gate.
pub(crate) struct Means<'a> {
    pub(crate) rules: &'a Arc<Rules>,
    pub(crate) clock: &'a Clock,
    pub(crate) spawner: &'a Spawner,
    pub(crate) faults: &'a Faults,
    pub(crate) sessions: &'a Sessions,
}

/// Who answers for parts of objects that are calls, and for what is not stored.
pub(crate) fn handlers(access: &Arc<Access>, means: &Means<'_>) -> Handlers {
    let mut handlers = Handlers::default();
    reviews::insert(&mut handlers, access);
    token_request::insert(&mut handlers, access);
    kinds::calls::insert_pod_calls(&mut handlers, engine_user());
    let log = log::Log {
        clock: means.clock.clone(),
        faults: means.faults.clone(),
    };
    handlers.insert("", "pods", "log", Arc::new(log));
    let streams = Arc::new(stream::Streams {
        clock: means.clock.clone(),
        spawner: means.spawner.clone(),
        faults: means.faults.clone(),
        sessions: means.sessions.clone(),
    });
    for part in ["exec", "attach", "portforward"] {
        handlers.insert("", "pods", part, Arc::clone(&streams) as _);
    }
    let proxy = Arc::new(proxy::Proxy {
        faults: means.faults.clone(),
    });
    for resource in ["pods", "services", "nodes"] {
        handlers.insert("", resource, "proxy", Arc::clone(&proxy) as _);
    }
    let usage = Arc::new(metrics::Metrics {
        rules: Arc::clone(means.rules),
        faults: means.faults.clone(),
    });
    for resource in ["nodes", "pods"] {
        handlers.insert(metrics::GROUP, resource, "", Arc::clone(&usage) as _);
    }
    handlers
}
