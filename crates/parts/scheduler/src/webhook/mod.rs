//! Plugins outside of the process, asked by webhook.
//!
//! Whoever wants a say in decisions without recompiling the scheduler answers HTTPS requests: which clusters a binding
//! must not go to, and how good the others are. A webhook is asked once before a decision, about the clusters that pass
//! all filters in the process; what it says becomes a plugin of that one decision. The documents are in [`document`].
//!
//! Keeps: a webhook that hangs holds up those decisions that are waiting for it when that is found out, and no further
//! ones (`trust`).

pub mod document;
mod settings;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use bytes::Bytes;
use client::{BoxError, Client, Endpoint, KubeconfigSource};
use http::Method;
use object::Object;
use runtime::Spawner;
use schedule::{
    cluster::ClusterFacts,
    plugin::{Plugin, Told, Unheard},
};
use telemetry::chain;
use tokio::{sync::OnceCell, time::Instant};
use tracing::{debug, warn};

use self::document::AnswerError;
pub use self::settings::{ConfigError, FailurePolicy, WebhookSettings, read_all};
use crate::trust::{Failure, NotAsked, Trust, Wait};

/// A plugin outside of the process.
pub(crate) struct Webhook {
    caller: Arc<Caller>,
    trust: Trust,
}

/// What a call needs, also one that goes on when nobody waits for it.
struct Caller {
    settings: WebhookSettings,
    client: OnceCell<Client>,
}

/// Why a webhook has no say in a decision.
#[derive(Debug, thiserror::Error)]
enum AskError {
    #[error("it cannot be called")]
    Connect(#[source] BoxError),
    #[error("the call failed")]
    Call(#[from] client::CallError),
    #[error("its answer cannot be used")]
    Answer(#[from] AnswerError),
    #[error(transparent)]
    NotAsked(#[from] NotAsked),
}

impl Failure for AskError {
    fn is_outage(&self) -> bool {
        match self {
            Self::Connect(_) | Self::NotAsked(_) => true,
            Self::Call(error) => error.is_unreachable() || error.code() >= 500,
            Self::Answer(_) => false,
        }
    }
}

impl Webhook {
    pub(crate) fn new(settings: WebhookSettings) -> Self {
        Self {
            caller: Arc::new(Caller {
                settings,
                client: OnceCell::new(),
            }),
            trust: Trust::default(),
        }
    }

    /// Asks about `clusters` for `binding`; the plugin that says what was answered, if it has anything to say.
    pub(crate) async fn ask(
        &self,
        binding: &Arc<Object>,
        clusters: &[&ClusterFacts],
        spawner: &Spawner,
    ) -> Option<Plugin> {
        let settings = &self.caller.settings;
        let name = &settings.name;
        // Whoever sets a time-out means it: only one that exceeded it is not waited for.
        let wait = Wait {
            until: Instant::now() + settings.timeout,
            most: settings.timeout,
            least: settings.timeout,
        };
        let call = || {
            let review = document::review(settings, binding, clusters);
            let body = Bytes::from(review.to_string());
            Arc::clone(&self.caller).call(Arc::clone(binding), body)
        };
        let asked = self.trust.ask(wait, spawner, call).await;
        match asked.map_err(AskError::from).and_then(|answered| answered) {
            Ok(told) => Some(plugin(settings, told)),
            Err(problem) => {
                let error = chain(&problem);
                match settings.failure_policy {
                    FailurePolicy::Ignore => {
                        debug!(plugin = %name, binding = %binding.key(), %error, "a webhook is not heard");
                        None
                    }
                    FailurePolicy::Fail => {
                        warn!(plugin = %name, binding = %binding.key(), %error, "a webhook that must be heard is not");
                        let why = format!("webhook {}: {error}", settings.url());
                        Some(Plugin::named(name).scoring(Unheard(why.into())))
                    }
                }
            }
        }
    }
}

fn plugin(settings: &WebhookSettings, told: Told) -> Plugin {
    let mut plugin = Plugin::named(&settings.name);
    if settings.filters {
        plugin = plugin.filtering(told.clone());
    }
    if settings.scores {
        plugin = plugin.scoring(told);
    }
    plugin
}

impl Caller {
    async fn call(self: Arc<Self>, binding: Arc<Object>, body: Bytes) -> Result<Told, AskError> {
        let client = self.client.get_or_try_init(|| self.connect()).await;
        let client = client.map_err(AskError::Connect)?;
        let path = &self.settings.path;
        let answer = client
            .request(Method::POST, path, "application/json", body)
            .await?;
        Ok(document::read_answer(&answer, &binding)?)
    }

    async fn connect(&self) -> Result<Client, BoxError> {
        let source = KubeconfigSource::Endpoint(Box::new(Endpoint {
            server: self.settings.server.clone(),
            ca: self.settings.authority.clone().into_bytes(),
            ..Endpoint::default()
        }));
        let client = Client::from_kubeconfig(&source).await?;
        Ok(client.limited(self.settings.timeout, CALLS))
    }
}

/// How many calls of one webhook run at once; more wait.
const CALLS: usize = 64;

/// The webhooks that `--plugins` leaves enabled, in the order they are asked.
pub(crate) fn enabled(all: &[WebhookSettings], names: &[Arc<str>]) -> Vec<Webhook> {
    let enabled = all.iter().filter(|webhook| names.contains(&webhook.name));
    enabled.cloned().map(Webhook::new).collect()
}
