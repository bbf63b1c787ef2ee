//! Plugins outside of the process, asked by webhook.
//!
//! Whoever wants a say in decisions without recompiling the scheduler answers HTTPS requests: which clusters a binding
//! must not go to, and how good the others are. A webhook is asked once before a decision, about the clusters that pass
//! all filters in the process; what it says becomes a plugin of that one decision. The documents are in [`document`].
//!
//! Keeps: an answer that is no good concerns its own binding and no other; a webhook that hangs holds up those decisions
//! that are waiting for it when that is found out, and no further ones (`trust`); a decision that was made without one
//! that should have been heard says so.

pub mod document;
mod settings;
mod silence;
#[cfg(test)]
mod tests;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use client::{BoxError, Client, Endpoint, KubeconfigSource};
use http::Method;
use object::Object;
use runtime::Spawner;
use schedule::{
    Step,
    cluster::ClusterFacts,
    cut,
    plugin::{Plugin, Told, Unheard},
};
use telemetry::chain;
use tokio::{
    sync::{OnceCell, Semaphore},
    time::{Instant, timeout},
};
use tracing::{debug, info, warn};

pub use self::settings::{ConfigError, FailurePolicy, WebhookSettings, read_all};
use self::{document::AnswerError, silence::Silence};
use crate::trust::{Failure, Manner, NotAsked, Trust, Wait};

/// A plugin outside of the process.
pub(crate) struct Webhook {
    caller: Arc<Caller>,
    trust: Trust,
    /// Those who wait for their turn wait for us and not for it: its time begins when it is asked.
    places: Semaphore,
    silence: Mutex<Silence>,
}

/// What became of a question.
pub(crate) enum Heard {
    /// The plugin that says what was answered.
    Said(Plugin),
    /// Nothing that can be used.
    Nothing(Unheard),
}

/// What a call needs, also one that goes on when nobody waits for it.
struct Caller {
    settings: WebhookSettings,
    client: OnceCell<Client>,
}

/// Why a webhook has no say in a decision.
#[derive(Debug, thiserror::Error)]
enum AskError {
    #[error("too many others wait for its answers")]
    Crowded,
    #[error("it cannot be called")]
    Connect(#[source] BoxError),
    #[error("the call failed")]
    Call(#[source] client::CallError),
    #[error("it did not answer in time")]
    Silent(#[source] client::CallError),
    #[error("its answer cannot be used")]
    Answer(#[from] AnswerError),
    #[error(transparent)]
    NotAsked(#[from] NotAsked),
}

impl Failure for AskError {
    /// Only what takes time: whoever is refused at once holds nobody up, and is asked again for the next binding.
    fn is_outage(&self) -> bool {
        match self {
            Self::Silent(_) | Self::NotAsked(_) => true,
            Self::Crowded | Self::Connect(_) | Self::Call(_) | Self::Answer(_) => false,
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
            trust: Trust::of(Manner::Wanted),
            places: Semaphore::new(CALLS),
            silence: Mutex::default(),
        }
    }

    /// Asks about `clusters` for `binding`.
    pub(crate) async fn ask(
        &self,
        binding: &Arc<Object>,
        clusters: &[&ClusterFacts],
        spawner: &Spawner,
    ) -> Heard {
        let settings = &self.caller.settings;
        let asker = binding.key().to_string();
        let Ok(_place) = timeout(PLACE, self.places.acquire()).await else {
            return Heard::Nothing(self.unheard(&asker, &AskError::Crowded));
        };
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
        let asked = self.trust.ask(&asker, wait, spawner, call).await;
        match asked.map_err(AskError::from).and_then(|answered| answered) {
            Ok(told) => {
                self.tell_heard();
                Heard::Said(plugin(settings, told))
            }
            Err(problem) => Heard::Nothing(self.unheard(&asker, &problem)),
        }
    }

    fn unheard(&self, binding: &str, problem: &AskError) -> Unheard {
        let settings = &self.caller.settings;
        let plugin = &settings.name;
        let error = chain(problem).to_string();
        let error = cut(&error, LONGEST_WHY);
        let meaning = match settings.failure_policy {
            FailurePolicy::Ignore => "decisions are made without it",
            FailurePolicy::Fail => "nothing is decided without it",
        };
        if self.silence().missed(Instant::now()) {
            warn!(%plugin, binding, %error, meaning, "a webhook is not heard");
        } else {
            debug!(%plugin, binding, %error, meaning, "a webhook is not heard");
        }
        let first = match settings.filters {
            true => Step::Filter,
            false => Step::Score,
        };
        Unheard {
            plugin: Arc::clone(plugin),
            why: format!("webhook {}: {error}", settings.url()).into(),
            ends: (settings.failure_policy == FailurePolicy::Fail).then_some(first),
        }
    }

    fn tell_heard(&self) {
        if let Some(missed) = self.silence().heard() {
            let plugin = &self.caller.settings.name;
            info!(%plugin, missed, "a webhook is heard again");
        }
    }

    fn silence(&self) -> MutexGuard<'_, Silence> {
        // Plain numbers; whole after each line.
        self.silence.lock().unwrap_or_else(PoisonError::into_inner)
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
        let begun = Instant::now();
        let answer = client.request(Method::POST, path, "application/json", body);
        let answer = answer.await.map_err(|error| {
            let is_slow = begun.elapsed() >= self.settings.timeout / SLOW;
            match error.is_unreachable() && is_slow {
                true => AskError::Silent(error),
                false => AskError::Call(error),
            }
        })?;
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

/// How long they wait. With the longest time-out that is half of what an attempt may take, and the other half is enough for
/// all else.
const PLACE: Duration = Duration::from_secs(60);

/// The part of the time-out from which on a connection that fails counts as one that hangs.
const SLOW: u32 = 4;

/// How much is kept of why a webhook was not heard, in bytes: whoever answers with an error may send a whole page.
const LONGEST_WHY: usize = 1_024;

/// The webhooks that `--plugins` leaves enabled, in the order they are asked.
pub(crate) fn enabled(all: &[WebhookSettings], names: &[Arc<str>]) -> Vec<Webhook> {
    let enabled = all.iter().filter(|webhook| names.contains(&webhook.name));
    enabled.cloned().map(Webhook::new).collect()
}
