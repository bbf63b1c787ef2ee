//! Carries questions about objects to webhooks, and keeps the answers for a while.
//!
//! A webhook is a function of what it is asked: the same object at the same revision has the same answer. A question that
//! was answered within `KEPT` is therefore not sent again; whatever reconciles an object twice asks once.
//!
//! Whoever waits for an answer needs no worker meanwhile ([`control::aside`]), and a webhook that answers nobody is hardly
//! asked (`breaker`): one that hangs holds nothing up but the objects it is asked about.

mod breaker;

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use client::{Body, Cache, Caches, Client, Endpoint as Server, KubeconfigSource, Scope};
use control::aside;
use http::{Request, header};
use http_body_util::BodyExt as _;
use interpret::{
    Operation,
    webhook::{Courier, Endpoint, Hook, Question, Reply},
};
use object::ResourceType;
use telemetry::chain;
use tokio::time::Instant;

use crate::courier::breaker::{Breaker, Silence};

/// How long an answer is kept. Long enough for all who look at an object after one change of it, short enough for a
/// webhook that is mended behind its address.
const KEPT: Duration = Duration::from_secs(30);
/// How many bytes of questions and answers are kept; the oldest go first.
const KEPT_BYTES: usize = 16 << 20;
/// How many bytes an answer may have: a patch of the largest object the server takes.
const LONGEST_ANSWER: usize = 4 << 20;
/// How long an object waits, at least and at most, that a webhook gave no answer about: not so short that it is looked at in
/// vain, and not so long that it misses the webhook's return.
const ASKED_AGAIN: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(20));
/// How many services are remembered; one that is forgotten is connected anew.
const SERVICES: usize = 64;

/// The courier that has a network.
pub struct Network {
    services: Cache,
    connections: Mutex<HashMap<Address, Client>>,
    breakers: Mutex<HashMap<Handler, Arc<Breaker>>>,
    answers: Mutex<Answers>,
}

/// Where a service is and who it must be.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Address {
    server: String,
    name: Option<String>,
    authorities: Option<String>,
}

/// What is asked at a webhook; where it is belongs to it, as one that is moved is another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Handler {
    hook: String,
    url: String,
    operation: Operation,
}

/// Answers by question, and the questions in the order they were answered.
#[derive(Default)]
struct Answers {
    by_question: HashMap<Arc<Key>, (Instant, Vec<u8>)>,
    order: VecDeque<Arc<Key>>,
    bytes: usize,
}

/// A question, and where it was sent: a configuration that names another service is another question.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    hook: String,
    url: String,
    body: Vec<u8>,
}

impl Network {
    /// Calls services over the network; those of the control plane are looked up there.
    #[must_use]
    pub fn new(caches: &Caches) -> Self {
        let services = ResourceType::namespaced("", "v1", "Service", "services");
        Self {
            services: caches.follow(&services, Scope::all()),
            connections: Mutex::default(),
            breakers: Mutex::default(),
            answers: Mutex::default(),
        }
    }

    async fn call(&self, question: &Question) -> Result<Vec<u8>, String> {
        let hook = &question.hook;
        let (url, name) = self.locate(hook)?;
        let key = Arc::new(Key {
            hook: hook.id(),
            url,
            body: question.body.clone(),
        });
        if let Some(answer) = lock(&self.answers).find(&key) {
            return Ok(answer);
        }
        let most = hook.timeout();
        let posting = self.post(hook, &key.url, name, &question.body);
        let breaker = self.breaker(&key, question.operation);
        let asking = aside::wait(breaker.ask(&question.about, most, posting));
        let answer = asking.await.map_err(|silence| {
            aside::ask_again_within(ASKED_AGAIN.0, ASKED_AGAIN.1);
            tell(silence, &key.url, most)
        })??;
        lock(&self.answers).keep(key, answer.clone());
        Ok(answer)
    }

    fn breaker(&self, key: &Key, operation: Operation) -> Arc<Breaker> {
        let handler = Handler {
            hook: key.hook.clone(),
            url: key.url.clone(),
            operation,
        };
        let mut breakers = lock(&self.breakers);
        if breakers.len() >= SERVICES && !breakers.contains_key(&handler) {
            breakers.retain(|_, breaker| Arc::strong_count(breaker) > 1 || !breaker.is_idle());
        }
        Arc::clone(breakers.entry(handler).or_default())
    }

    /// The URL of the service, and the name in its certificate if that is another.
    fn locate(&self, hook: &Hook) -> Result<(String, Option<String>), String> {
        let endpoint = hook.endpoint().map_err(|error| error.to_string())?;
        let found = match &endpoint {
            Endpoint::Url(_) => None,
            Endpoint::Service { service, .. } => self.services.get(service),
        };
        let url = endpoint.url(found.as_deref());
        let url = url.map_err(|error| error.to_string())?;
        Ok((url, endpoint.server_name()))
    }

    async fn post(
        &self,
        hook: &Hook,
        url: &str,
        name: Option<String>,
        body: &[u8],
    ) -> Result<Vec<u8>, String> {
        let (server, path) = split(url);
        let address = Address {
            server: server.to_owned(),
            name,
            authorities: hook.authorities().map(str::to_owned),
        };
        let client = self.connect(address).await?;
        let request = Request::post(path)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json")
            .body(Body::from(body.to_vec()))
            .map_err(|error| format!("{url}: {error}"))?;
        let response = client.send(request).await;
        let response = response.map_err(|error| format!("{url}: {}", chain(&*error)))?;
        let code = response.status();
        let mut rest = response.into_body();
        let mut answer = Vec::new();
        while let Some(frame) = rest.frame().await {
            let frame = frame.map_err(|error| format!("{url}: {}", chain(&*error)))?;
            let data = frame.into_data().unwrap_or_default();
            if answer.len() + data.len() > LONGEST_ANSWER {
                return Err(format!(
                    "{url}: the answer is longer than {LONGEST_ANSWER} bytes"
                ));
            }
            answer.extend_from_slice(&data);
        }
        if !code.is_success() {
            let text: String = String::from_utf8_lossy(&answer).chars().take(200).collect();
            return Err(format!("{url}: answered {code}: {}", text.trim()));
        }
        Ok(answer)
    }

    async fn connect(&self, address: Address) -> Result<Client, String> {
        if let Some(known) = lock(&self.connections).get(&address) {
            return Ok(known.clone());
        }
        let ca = match &address.authorities {
            None => Vec::new(),
            Some(text) => BASE64_STANDARD
                .decode(text)
                .map_err(|error| format!("clientConfig.caBundle: {error}"))?,
        };
        // By the rules for all webhooks: a service may show the very certificate that its configuration has.
        let judge = match ca.is_empty() {
            true => None,
            false => Some(
                admission::judge(&ca).map_err(|error| format!("clientConfig.caBundle: {error}"))?,
            ),
        };
        let server = Server {
            server: address.server.clone(),
            server_name: address.name.clone(),
            ca,
            judge,
            ..Server::default()
        };
        let source = KubeconfigSource::Endpoint(Box::new(server));
        let client = Client::from_kubeconfig(&source).await;
        let client = client.map_err(|error| chain(&error).to_string())?;
        let mut connections = lock(&self.connections);
        if connections.len() >= SERVICES {
            connections.clear();
        }
        connections.insert(address, client.clone());
        Ok(client)
    }
}

impl Courier for Network {
    fn carry<'a>(&'a self, question: &'a Question) -> Reply<'a> {
        Box::pin(self.call(question))
    }
}

impl std::fmt::Debug for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Network").finish_non_exhaustive()
    }
}

impl Answers {
    fn find(&self, key: &Key) -> Option<Vec<u8>> {
        let (since, answer) = self.by_question.get(key)?;
        (since.elapsed() < KEPT).then(|| answer.clone())
    }

    fn keep(&mut self, key: Arc<Key>, answer: Vec<u8>) {
        let now = Instant::now();
        self.bytes += key.body.len() + answer.len();
        if let Some((_, before)) = self.by_question.insert(Arc::clone(&key), (now, answer)) {
            // Its place in the order stays, so it may go a little early.
            self.bytes -= key.body.len() + before.len();
        } else {
            self.order.push_back(key);
        }
        while let Some(oldest) = self.order.front() {
            let entry = self.by_question.get(oldest);
            let is_old = entry.is_none_or(|(since, _)| since.elapsed() >= KEPT);
            if self.bytes <= KEPT_BYTES && !is_old {
                break;
            }
            let Some(oldest) = self.order.pop_front() else {
                break;
            };
            if let Some((_, answer)) = self.by_question.remove(&oldest) {
                self.bytes -= oldest.body.len() + answer.len();
            }
        }
    }
}

/// What is said of a webhook that gave no answer. Without numbers that count down: who asks again and again says the same.
fn tell(silence: Silence, url: &str, most: Duration) -> String {
    match silence {
        Silence::Late => format!("{url}: no answer within {most:?}"),
        Silence::Rests => format!(
            "{url}: no answer within {most:?} about several objects, so it is asked about one at a time until it answers"
        ),
        Silence::Busy => format!(
            "{url}: it has yet to answer about other objects, so it is asked about this one later"
        ),
    }
}

/// `https://host:port` and the rest, which begins with a slash.
fn split(url: &str) -> (&str, &str) {
    let authority = url.find("://").map_or(0, |scheme| scheme + 3);
    match url[authority..].find('/') {
        Some(slash) => url.split_at(authority + slash),
        None => (url, "/"),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that runs under these locks leaves its data half changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_a_server_and_a_path() {
        for (url, expected) in [
            ("https://a:1/x/y?z", ("https://a:1", "/x/y?z")),
            ("https://a", ("https://a", "/")),
            ("https://[::1]:9443/", ("https://[::1]:9443", "/")),
        ] {
            assert_eq!(split(url), expected);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn answers_are_kept_for_a_while_and_within_bounds() {
        let key = |number: usize, length: usize| {
            Arc::new(Key {
                hook: number.to_string(),
                url: String::new(),
                body: vec![0; length],
            })
        };
        let mut answers = Answers::default();
        answers.keep(key(1, 10), vec![1]);
        assert_eq!(answers.find(&key(1, 10)), Some(vec![1]));
        assert_eq!(answers.find(&key(2, 10)), None);
        tokio::time::advance(KEPT).await;
        assert_eq!(answers.find(&key(1, 10)), None);
        for number in 0..100 {
            answers.keep(key(number, KEPT_BYTES / 10), vec![1]);
        }
        assert!(answers.bytes <= KEPT_BYTES);
        assert_eq!(answers.order.len(), answers.by_question.len());
        assert!(answers.find(&key(99, KEPT_BYTES / 10)).is_some());
    }
}
