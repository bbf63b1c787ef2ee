//! What a member's server answers that is not stored, and what every cluster begins with.

mod archive;
mod binding;
mod eviction;
mod foundation;
mod log;
mod metrics;
mod shell;
mod stream;

use std::sync::Arc;

use access::access::Access;
use access::{reviews, token_request};
use runtime::{Clock, Spawner};
use serve::handler::Handlers;

use crate::behaviour::Rules;

pub(crate) use foundation::found;
pub(crate) use metrics::resources as metrics_resources;

/// What handlers need besides the server.
pub(crate) struct Means<'a> {
    pub(crate) access: &'a Arc<Access>,
    pub(crate) rules: &'a Arc<Rules>,
    pub(crate) clock: &'a Clock,
    pub(crate) spawner: &'a Spawner,
}

/// Who answers for parts of objects that are calls, and for what is not stored.
pub(crate) fn handlers(means: &Means<'_>) -> Handlers {
    let mut handlers = Handlers::default();
    reviews::insert(&mut handlers, means.access);
    token_request::insert(&mut handlers, means.access);
    handlers.insert("", "pods", "binding", Arc::new(binding::Binding));
    handlers.insert("", "pods", "eviction", Arc::new(eviction::Eviction));
    let log = log::Log {
        clock: means.clock.clone(),
    };
    handlers.insert("", "pods", "log", Arc::new(log));
    let streams = Arc::new(stream::Streams {
        clock: means.clock.clone(),
        spawner: means.spawner.clone(),
    });
    for part in ["exec", "attach", "portforward"] {
        handlers.insert("", "pods", part, Arc::clone(&streams) as _);
    }
    let usage = Arc::new(metrics::Metrics {
        rules: Arc::clone(means.rules),
    });
    for resource in ["nodes", "pods"] {
        handlers.insert(metrics::GROUP, resource, "", Arc::clone(&usage) as _);
    }
    handlers
}
