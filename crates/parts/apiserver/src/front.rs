//! The way every request takes, whether it came over the network or from inside the process.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};
use std::task::{Context, Poll};
use std::time::Duration;

use access::fairness::{self, Limits, Seats};
use access::names::{self, AUTHENTICATED};
use access::turns::Turns;
use access::{Access, Admitted, Refused, issuer};
use api::well_known::feature_gates::FeatureGates;
use futures_util::FutureExt;
use http::header::CACHE_CONTROL;
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use listen::Voucher;
use object::Value;
use serve::body::{self, Body};
use serve::call::User;
use serve::negotiate::Encoding;
use serve::options::{self, Params};
use serve::server::Server;
use serve::status::Status;
use store::Store;
use tokio::time::Instant;

use crate::admission::MultiClusterAdmission;
use crate::agents;
use crate::audit::{AUDIT_ID, Audit, RequestId};
use crate::form;
use crate::redaction;
use crate::registrations;
use crate::roles::COMPONENTS;
use crate::sending::{PIECE, Pace};
use crate::snapshot;

/// Any error of a body.
type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The API server as those inside the process use it. Clones are the same server.
#[derive(Clone)]
pub struct Handle {
    inner: Arc<Front>,
}

/// Answers requests as one user, who may do what roles give them, like everybody. A tower service.
#[derive(Clone)]
pub struct InProcess {
    front: Arc<Front>,
    user: User,
}

pub(crate) struct Front {
    pub(crate) server: Arc<Server>,
    pub(crate) access: Arc<Access>,
    seats: Seats,
    turns: Turns,
    audit: Option<Audit>,
    store: Store,
    address: String,
    admission: Arc<MultiClusterAdmission>,
    /// What the process runs with, as it answers those who ask; nothing before it says so.
    configuration: RwLock<Option<Value>>,
}

impl Handle {
    pub(crate) fn new(
        server: Arc<Server>,
        access: Arc<Access>,
        audit: Option<Audit>,
        store: Store,
        address: String,
        admission: Arc<MultiClusterAdmission>,
    ) -> Self {
        let turns = Turns::default();
        turns.watch();
        let inner = Front {
            server,
            access,
            seats: Seats::new(Limits::default()),
            turns,
            audit,
            store,
            address,
            admission,
            configuration: RwLock::default(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Asks as a user.
    #[must_use]
    pub fn as_user(&self, user: User) -> InProcess {
        InProcess {
            front: Arc::clone(&self.inner),
            user,
        }
    }

    /// Asks as a part of this process, such as `system:karavel:scheduler`; its role says what it may do.
    #[must_use]
    pub fn as_component(&self, name: &str) -> InProcess {
        self.as_user(User {
            groups: vec![COMPONENTS.to_owned(), AUTHENTICATED.to_owned()],
            ..names::component(name)
        })
    }

    /// Who is who, and who may do what.
    #[must_use]
    pub fn access(&self) -> &Arc<Access> {
        &self.inner.access
    }

    /// From now on the rules of the multi-cluster kinds go by these features.
    pub fn switch(&self, gates: &FeatureGates) {
        self.inner.admission.switch(gates);
    }

    /// From now on ClusterTaintPolicies may, or may not, put `NoExecute` taints on clusters. Upstream:
    /// `--allow-no-execute-taint-policy`.
    pub fn allow_no_execute_taint_policies(&self, allow: bool) {
        self.inner.admission.allow_no_execute(allow);
    }

    /// From now on the server answers with this what it runs with. Everybody who is known may read it: it names no secrets.
    pub fn publish(&self, configuration: Value) {
        let held = self.inner.configuration.write();
        *held.unwrap_or_else(PoisonError::into_inner) = Some(configuration);
    }

    /// The server below, which asks nobody's leave.
    #[must_use]
    pub fn server(&self) -> &Arc<Server> {
        &self.inner.server
    }

    pub(crate) fn front(&self) -> &Arc<Front> {
        &self.inner
    }
}

impl Front {
    pub(crate) fn audit(&self) -> Option<&Audit> {
        self.audit.as_ref()
    }

    /// Answers a request that came over the network, by whatever it shows.
    pub(crate) async fn answer<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<BoxError>,
    {
        let (mut parts, body) = request.into_parts();
        let admitted = self.access.admit(&mut parts);
        if let (Ok(admitted), Some(pace)) = (&admitted, parts.extensions.get::<Pace>()) {
            pace.track.follow(self.turns.line(&admitted.user));
        }
        // At once: whoever waits long for an answer must not lose their place meanwhile.
        if let (true, Some(voucher)) = (is_known(&admitted), parts.extensions.get::<Voucher>()) {
            voucher.vouch();
        }
        let id = RequestId::of(&parts.headers);
        parts.extensions.insert(id.clone());
        let mut response = self.go_on(admitted, parts, body).await;
        // Upstream: nobody on the way keeps an answer, and every answer can be found in the log.
        let headers = response.headers_mut();
        headers
            .entry(CACHE_CONTROL)
            .or_insert(HeaderValue::from_static("no-cache, private"));
        if let Ok(id) = HeaderValue::from_str(&id.0) {
            headers.insert(AUDIT_ID, id);
        }
        response
    }

    async fn answer_as<B>(&self, user: User, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<BoxError>,
    {
        let (mut parts, body) = request.into_parts();
        let admitted = self.access.admit_user(user, &mut parts);
        self.go_on(admitted, parts, body).await
    }

    async fn go_on<B>(
        &self,
        admitted: Result<Admitted, Box<Refused>>,
        mut parts: Parts,
        body: B,
    ) -> Response<Body>
    where
        B: http_body::Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<BoxError>,
    {
        let admitted =
            admitted.and_then(|admitted| agents::confine(&self.server, admitted, &parts.headers));
        let deadline = Instant::now() + patience(&admitted, parts.uri.query());
        let Some(audit) = &self.audit else {
            let admitted = match admitted {
                Ok(admitted) => admitted,
                Err(refused) => return body::refusal(&refused.status, Encoding::Json),
            };
            let request = Request::from_parts(parts, body);
            let answering = self.serve(admitted, request, deadline);
            return unharmed(answering).await.unwrap_or_else(|_| stumbled());
        };
        let wire = self.server.table().wire();
        let mut note = audit.begin(&admitted, &mut parts, wire).await;
        let admitted = match admitted {
            Ok(admitted) => admitted,
            Err(refused) => {
                let response = body::refusal(&refused.status, Encoding::Json);
                return audit.end(note, response).await;
            }
        };
        let answering = async {
            if !note.wants_request() {
                let request = Request::from_parts(parts, body);
                return self.serve(admitted, request, deadline).await;
            }
            // What was sent is read twice, the first time for the log: both in the turn of who sent it.
            let line = self.turns.line(&admitted.user);
            let reading = line.pace(note.read(&parts.headers, body));
            let read = tokio::time::timeout_at(deadline, reading).await;
            match read.unwrap_or_else(|_| Err(late())) {
                Ok(body) => {
                    let request = Request::from_parts(parts, body);
                    self.serve(admitted, request, deadline).await
                }
                Err(status) => body::refusal(&status, Encoding::Json),
            }
        };
        match unharmed(admission::notes::gather(answering)).await {
            Ok((response, notes)) => {
                note.take(notes);
                audit.end(note, response).await
            }
            Err(why) => {
                audit.stumbled(&note, &why).await;
                stumbled()
            }
        }
    }

    /// Answers a request that may be answered, when it is its turn.
    async fn serve<B>(
        &self,
        admitted: Admitted,
        request: Request<B>,
        deadline: Instant,
    ) -> Response<Body>
    where
        B: http_body::Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<BoxError>,
    {
        let is_unbounded = fairness::is_unbounded(&admitted.attempt);
        let seat = match self.seats.take(&admitted.user, &admitted.attempt).await {
            Ok(seat) => seat,
            Err(status) => return body::refusal(&status, Encoding::Json),
        };
        if let Some(response) = self.own_path(request.method(), request.uri().path()) {
            return response;
        }
        let is_kept_back = redaction::concerns(&self.access, &admitted.user, &admitted.attempt);
        let is_agents = agents::is_shown_no_data(&admitted);
        let mut request = request;
        let mut wanted = Encoding::Json;
        if is_kept_back || is_agents {
            let table = self.server.table();
            wanted = match form::plainly(&table, &admitted.attempt, request.headers_mut()) {
                Ok(wanted) => wanted,
                Err(status) => return body::refusal(&status, Encoding::Json),
            };
        }
        let uri = request.uri().clone();
        let may_take = is_kept_back && redaction::may_take(&request);
        let line = self.turns.line(&admitted.user);
        let answering = line.pace(async {
            let Admitted { user, attempt, .. } = admitted;
            if !may_take {
                return self.server.answer(user, request).await;
            }
            match redaction::taking_nothing(&attempt, &user, request).await {
                Ok(request) => self.server.answer(user, request).await,
                Err(status) => body::refusal(&status, Encoding::Json),
            }
        });
        let answering = async {
            let response = answering.await;
            let is_missing = response.status() == StatusCode::NOT_FOUND;
            let elsewhere = || registrations::unavailable(&self.server, uri.path());
            if let Some(refusal) = is_missing.then(elsewhere).flatten() {
                return refusal;
            }
            match (is_kept_back, is_agents) {
                (true, _) => form::encoded(redaction::redacted(response), wanted),
                (false, true) => form::encoded(agents::without_data(response), wanted),
                (false, false) => response,
            }
        };
        if is_unbounded {
            return answering.await;
        }
        // A body that comes in drops must not keep a seat from others.
        let answered = tokio::time::timeout_at(deadline, answering).await;
        let mut response = answered.unwrap_or_else(|_| body::refusal(&late(), Encoding::Json));
        // Whoever sends it keeps the seat: a user has no more long answers on their way than seats.
        let is_long = matches!(response.body(), Body::Whole(bytes) if bytes.len() > PIECE);
        if let Some(lent) = is_long.then(|| seat.lend()).flatten() {
            response.extensions_mut().insert(lent);
        }
        response
    }

    /// Paths that are neither resources nor known to `serve`.
    fn own_path(&self, method: &Method, path: &str) -> Option<Response<Body>> {
        if *method == Method::GET && path == snapshot::PATH {
            return Some(match self.store.engine() {
                Store::Embedded(store) => snapshot::stream(store.clone()),
                Store::Etcd(_) => body::refusal(&elsewhere(IN_ETCD), Encoding::Json),
                Store::Memory(_) | Store::Sealed(_) => {
                    body::refusal(&elsewhere(IN_MEMORY), Encoding::Json)
                }
            });
        }
        if *method == Method::GET && path == CONFIGURATION {
            let held = self.configuration.read();
            let held = held.unwrap_or_else(PoisonError::into_inner);
            return held
                .as_ref()
                .map(|known| body::value(StatusCode::OK, Encoding::Json, known));
        }
        issuer::document(&self.access, method, path, &self.address)
    }
}

/// Where a server says what it runs with. Upstream: Kubernetes' components say it under the same path.
const CONFIGURATION: &str = "/configz";

/// What is kept in etcd is saved with etcd's own tools, which save all of it at one revision.
const IN_ETCD: &str = "objects are kept in etcd; save them with etcdctl snapshot save";
const IN_MEMORY: &str = "objects are kept in memory; there is nothing to save them from";

/// How long a request may take from its head on, with its body and everything that is asked about it. Upstream: the same.
const LONGEST: Duration = Duration::from_secs(60);

/// How long a request may take if its client says how long it waits. What it says wrongly is refused further on. What
/// is said with a request that lasts as long as others please is for those others.
fn patience(admitted: &Result<Admitted, Box<Refused>>, query: Option<&str>) -> Duration {
    let lasts = |admitted: &Admitted| fairness::is_long_running(&admitted.attempt);
    let query = query.filter(|query| query.contains("timeout="));
    let Some(query) = query.filter(|_| !admitted.as_ref().is_ok_and(lasts)) else {
        return LONGEST;
    };
    let said = Params::parse(query).and_then(|params| options::patience(&params));
    said.ok().flatten().unwrap_or(LONGEST).min(LONGEST)
}

fn late() -> Status {
    Status {
        code: 504,
        reason: "Timeout".into(),
        message: "Timeout: request did not complete within requested timeout".to_owned(),
        details: Box::default(),
        warnings: Vec::new(),
        cause: None,
    }
}

/// Runs a future whose panic costs the request it answers and nothing else; what the panic said, if there was one.
async fn unharmed<F: Future>(answering: F) -> Result<F::Output, String> {
    let caught = AssertUnwindSafe(answering).catch_unwind().await;
    caught.map_err(|cause| {
        let text = cause.downcast_ref::<&str>().map(ToString::to_string);
        let text = text.or_else(|| cause.downcast_ref::<String>().cloned());
        text.unwrap_or_else(|| "unknown".to_owned())
    })
}

/// Whether whoever sent a request has shown who they are.
fn is_known(admitted: &Result<Admitted, Box<Refused>>) -> bool {
    let sender = match admitted {
        Ok(admitted) => admitted.sender.as_ref().or(Some(&admitted.user)),
        Err(refused) => refused.sender.as_ref().or(refused.user.as_ref()),
    };
    sender.is_some_and(|sender| sender.name != names::ANONYMOUS)
}

/// What is answered when a request made the server panic. What it was is in the log.
fn stumbled() -> Response<Body> {
    let text = "This request caused apiserver to panic. Look in the logs for details.";
    body::refusal(&Status::internal(text, None), Encoding::Json)
}

fn elsewhere(why: &str) -> Status {
    Status::bad_request(why)
}

impl<B> tower_service::Service<Request<B>> for InProcess
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let Self { front, user } = self.clone();
        Box::pin(async move { Ok(front.answer_as(user, request).await) })
    }
}

#[cfg(test)]
mod tests;
