//! `clusters/NAME/proxy/…`: a user's request carried to a member, as that user.
//!
//! Reads:  the cluster, and the Secrets that say whom to trust there and who may impersonate.
//! Keeps:  the member sees the user whom the control plane authenticated and no other: the credentials the request came
//!         with, and whom it asked to act as, end here. The control plane's own credentials are never used for it.
//!
//! Watches and upgraded connections (WebSocket, SPDY) are passed through as they come. The name `*` stands for all members.
//! A member that does not answer is spared for a while: whoever asks meanwhile is told so at once.

mod all;
mod head;
mod silence;
mod splice;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use api::cluster::{Cluster, LocalSecretReference};
use api::names::CLUSTER_NAMESPACE;
use bytes::Bytes;
use client::{Body as ClientBody, Cache, Caches, Client, Scope};
use futures_util::StreamExt as _;
use http::header::{CONTENT_TYPE, LOCATION};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use object::{Object, ObjectKey};
use runtime::Spawner;
use serve::body::Body;
use serve::call::{Call, User};
use serve::handler::{Asked, Handler, Outcome, RequestBody};
use serve::server::Server;
use serve::status::{Status, Subject};
use telemetry::chain;
use tokio::sync::Semaphore;

use crate::connect::{Connect, identity, impersonator_token, secret_key, trust};
use crate::health;
use crate::proxy::silence::Silence;
use crate::resources;

/// The longest body that is carried: more than any API server takes.
const LONGEST_BODY: usize = 16 * 1024 * 1024;
/// How long a member may take to begin its answer, as long as API servers themselves give a request.
const FIRST_BYTE: Duration = Duration::from_secs(60);
/// The same for a member that is known not to be well.
const FIRST_BYTE_UNWELL: Duration = Duration::from_secs(10);
/// How many requests may wait for one member to begin its answer; further ones are refused at once. Watches and
/// connections that are under way do not count.
const WAITING: usize = 200;

/// Carries requests to members.
pub struct Proxy {
    clusters: Cache,
    secrets: Cache,
    client: Client,
    connector: Arc<dyn Connect>,
    spawner: Spawner,
    may_connect: Box<MayConnect>,
    /// One client for each member, as long as it is reached in the same way.
    reached: Mutex<HashMap<String, Reached>>,
}

/// Whether a user may `create` on `clusters/proxy` of the cluster of that name.
pub type MayConnect = dyn Fn(&User, &str) -> bool + Send + Sync;

/// A member that was reached.
#[derive(Clone)]
struct Reached {
    /// Equal as long as it is reached in the same way.
    identity: u64,
    client: Client,
    /// Who may wait for it.
    seats: Arc<Semaphore>,
    /// Whether it is worth a call.
    silence: Arc<Silence>,
}

impl Proxy {
    /// A proxy to the clusters that are in the caches. `spawner` runs connections that were upgraded; who may have one that
    /// leads into a pod says `may_connect`, whatever the method of the request.
    #[must_use]
    pub fn new(
        caches: &Caches,
        connector: Arc<dyn Connect>,
        spawner: Spawner,
        may_connect: Box<MayConnect>,
    ) -> Self {
        Self {
            clusters: caches.follow(&resources::of::<Cluster>(), Scope::all()),
            secrets: caches.follow(
                &resources::secrets(),
                Scope::all().in_namespace(CLUSTER_NAMESPACE),
            ),
            client: caches.client().clone(),
            connector,
            spawner,
            may_connect,
            reached: Mutex::default(),
        }
    }

    async fn carry(
        &self,
        server: &Server,
        call: &Call,
        asked: Asked,
    ) -> Result<Response<Body>, Status> {
        let name = &call.target.name;
        let uri = asked.parts.uri.clone();
        let Some(path) = head::path_below(&uri, name) else {
            return Err(Status::unknown_path());
        };
        let is_upgrade = head::is_upgrade(&asked.parts.headers);
        if head::leads_inside(path, is_upgrade) && !(self.may_connect)(&call.user, name) {
            let why = format!(
                "User {:?} cannot create resource \"clusters/proxy\" in API group \"cluster.karmada.io\" at the cluster scope: connections into pods need more than get",
                call.user.name
            );
            return Err(Status::forbidden(subject(name), &why));
        }
        if name == all::ALL {
            return self.carry_to_all(server, call, asked, path).await;
        }
        if path.is_empty() && matches!(asked.parts.method, Method::GET | Method::HEAD) {
            return Ok(moved(&asked.parts.uri));
        }
        self.carry_to(name, path, call, asked).await
    }

    /// Carries a request to one member, and its answer back.
    async fn carry_to(
        &self,
        name: &str,
        path: &str,
        call: &Call,
        asked: Asked,
    ) -> Result<Response<Body>, Status> {
        let Asked {
            mut parts, body, ..
        } = asked;
        let is_upgrade = head::is_upgrade(&parts.headers);
        let ours = is_upgrade
            .then(|| parts.extensions.remove::<hyper::upgrade::OnUpgrade>())
            .flatten();
        let bytes = if is_upgrade {
            Bytes::new()
        } else {
            collect(body).await?
        };
        let mut request = Request::new(ClientBody::from(bytes));
        *request.method_mut() = parts.method.clone();
        *request.uri_mut() = head::uri(path, parts.uri.query()).map_err(|error| {
            Status::bad_request(format!("the path cannot be forwarded: {error}"))
        })?;
        *request.headers_mut() = head::forwarded(&parts.headers, is_upgrade);
        let response = self.ask(name, &call.user, request).await?;
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            return self.switch(name, response, ours);
        }
        let (mut head, body) = response.into_parts();
        head.headers = head::returned(&head.headers);
        let chunks = body
            .into_data_stream()
            .scan((), |(), chunk| std::future::ready(chunk.ok()));
        Ok(Response::from_parts(head, Body::Stream(Box::pin(chunks))))
    }

    /// Asks a member in the name of the user, and waits until it begins to answer.
    async fn ask(
        &self,
        name: &str,
        user: &User,
        mut request: Request<ClientBody>,
    ) -> Result<Response<client::AnswerBody>, Status> {
        let Some(object) = self.clusters.get(&ObjectKey::cluster(name)) else {
            return Err(Status::not_found(subject(name)));
        };
        if let Some(why) = health::is_another(&object) {
            let message = format!("cluster {name} is not asked: {why}");
            return Err(Status::unavailable(message, None));
        }
        let (reached, token) = self.reach(&object).await?;
        head::act_as(request.headers_mut(), user, &token)
            .map_err(|error| Status::internal(error, None))?;
        let Ok(_seat) = reached.seats.try_acquire() else {
            let message = format!("{WAITING} requests wait for cluster {name} already");
            return Err(Status::too_many_requests(message, 1));
        };
        if let Some((wait, cause)) = reached.silence.lasts() {
            let seconds = wait.as_secs() + 1;
            let message = format!(
                "cluster {name} does not answer and is not asked again for {seconds} seconds: {cause}"
            );
            return Err(Status::unavailable(message, None));
        }
        let is_well = health::is_ready(&object);
        let patience = match is_well {
            true => FIRST_BYTE,
            false => FIRST_BYTE_UNWELL,
        };
        let answered = tokio::time::timeout(patience, reached.client.send(request)).await;
        let (cause, error) = match answered {
            Ok(Ok(response)) => {
                reached.silence.is_over();
                return Ok(response);
            }
            Ok(Err(error)) => (chain(&*error).to_string(), Some(error)),
            Err(_) => {
                let seconds = patience.as_secs();
                (format!("no answer within {seconds} seconds"), None)
            }
        };
        reached.silence.goes_on(&cause, is_well);
        let message = format!("error trying to reach cluster {name}: {cause}");
        Err(Status::unavailable(message, error))
    }

    /// Both sides have agreed on another protocol: from here on bytes go both ways, whatever they mean.
    fn switch(
        &self,
        name: &str,
        mut response: Response<client::AnswerBody>,
        ours: Option<hyper::upgrade::OnUpgrade>,
    ) -> Result<Response<Body>, Status> {
        let Some(ours) = ours else {
            return Err(Status::bad_request("the connection cannot be upgraded"));
        };
        let theirs = hyper::upgrade::on(&mut response);
        let cluster = name.to_owned();
        self.spawner
            .spawn_brief(format!("proxy to {name}"), |stop| {
                splice::splice(cluster, ours, theirs, stop)
            });
        let (head, _) = response.into_parts();
        let mut answer = Response::new(Body::Whole(Bytes::new()));
        *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        *answer.headers_mut() = head.headers;
        Ok(answer)
    }

    /// A client of the member that is nobody yet, and the token of the account that may impersonate there.
    async fn reach(&self, object: &Object) -> Result<(Reached, String), Status> {
        let unreachable =
            |error: &dyn std::fmt::Display| Status::unavailable(error.to_string(), None);
        let cluster: Cluster = api::read::read(object)
            .map_err(|error| Status::internal(chain(&error).to_string(), None))?;
        let name = &cluster.metadata.name;
        if cluster.spec.api_endpoint.is_empty() {
            return Err(unreachable(&format!(
                "API endpoint of cluster {name} should not be empty"
            )));
        }
        let impersonator = self
            .secret(cluster.spec.impersonator_secret_ref.as_ref())
            .await?;
        let token = impersonator_token(&cluster, impersonator.as_deref())
            .map_err(|error| unreachable(&error))?;
        let secret = self.secret(cluster.spec.secret_ref.as_ref()).await?;
        let mut endpoint =
            trust(&cluster, secret.as_deref()).map_err(|error| unreachable(&error))?;
        endpoint.upgrades = true;
        let identity = identity(&endpoint, "");
        let known = self
            .reached()
            .get(name)
            .filter(|known| known.identity == identity)
            .cloned();
        if let Some(known) = known {
            return Ok((known, token));
        }
        let client = self
            .connector
            .connect(name, &endpoint)
            .await
            .map_err(|error| {
                let message = format!("cannot connect to cluster {name}: {}", chain(&*error));
                Status::unavailable(message, Some(error))
            })?;
        let reached = Reached {
            identity,
            client,
            seats: Arc::new(Semaphore::new(WAITING)),
            silence: Arc::default(),
        };
        self.reached().insert(name.clone(), reached.clone());
        Ok((reached, token))
    }

    async fn secret(
        &self,
        reference: Option<&LocalSecretReference>,
    ) -> Result<Option<Arc<Object>>, Status> {
        let Some(reference) = reference else {
            return Ok(None);
        };
        let key = secret_key(reference);
        // A secret that was just written may not be in the cache yet.
        if let Some(secret) = self.secrets.get(&key) {
            return Ok(Some(secret));
        }
        match self.client.get(&resources::secrets(), &key).await {
            Ok(secret) => Ok(Some(Arc::new(secret))),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(Status::unavailable(
                format!("cannot read the secret {key}"),
                Some(error.into()),
            )),
        }
    }

    fn reached(&self) -> std::sync::MutexGuard<'_, HashMap<String, Reached>> {
        // Nothing that runs under the lock leaves it half changed.
        self.reached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Handler for Proxy {
    fn answer<'a>(&'a self, server: &'a Server, call: &'a Call, request: Asked) -> Outcome<'a> {
        Box::pin(self.carry(server, call, request))
    }
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Proxy").finish_non_exhaustive()
    }
}

fn subject(cluster: &str) -> Subject<'_> {
    Subject {
        group: "cluster.karmada.io",
        resource: "clusters",
        name: cluster,
    }
}

/// The root of a member has a slash, or the links of its answers would lead elsewhere.
fn moved(uri: &http::Uri) -> Response<Body> {
    let query = uri
        .query()
        .map_or(String::new(), |query| format!("?{query}"));
    let mut response = Response::new(Body::Whole(Bytes::new()));
    *response.status_mut() = StatusCode::MOVED_PERMANENTLY;
    if let Ok(place) = HeaderValue::from_str(&format!("{}/{query}", uri.path())) {
        response.headers_mut().insert(LOCATION, place);
    }
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    response
}

async fn collect(body: RequestBody) -> Result<Bytes, Status> {
    let collected = Limited::new(body, LONGEST_BODY).collect().await;
    match collected {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) => Err(Status::bad_request(format!(
            "the body cannot be read: {}",
            chain(&*error)
        ))),
    }
}
