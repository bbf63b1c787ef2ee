//! The way every request takes, whether it came over the network or from inside the process.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use access::fairness::{self, Limits, Seats};
use access::names::{self, AUTHENTICATED};
use access::turns::Turns;
use access::{Access, Admitted, Refused, issuer};
use api::well_known::feature_gates::FeatureGates;
use http::request::Parts;
use http::{Method, Request, Response};
use serve::body::{self, Body};
use serve::call::User;
use serve::negotiate::Encoding;
use serve::server::Server;
use serve::status::Status;
use store::Store;

use crate::admission::MultiClusterAdmission;
use crate::audit::Audit;
use crate::roles::COMPONENTS;
use crate::sending::PIECE;
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
        let inner = Front {
            server,
            access,
            seats: Seats::new(Limits::default()),
            turns: Turns::default(),
            audit,
            store,
            address,
            admission,
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
        self.go_on(admitted, parts, body).await
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
        parts: Parts,
        body: B,
    ) -> Response<Body>
    where
        B: http_body::Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<BoxError>,
    {
        let Some(audit) = &self.audit else {
            return match admitted {
                Ok(admitted) => self.serve(admitted, Request::from_parts(parts, body)).await,
                Err(refused) => body::refusal(&refused.status, Encoding::Json),
            };
        };
        let mut note = audit.begin(&admitted, &parts);
        let admitted = match admitted {
            Ok(admitted) => admitted,
            Err(refused) => {
                let response = body::refusal(&refused.status, Encoding::Json);
                return audit.end(note, response).await;
            }
        };
        let answering = async {
            if !note.wants_request() {
                return self.serve(admitted, Request::from_parts(parts, body)).await;
            }
            match note.read(body).await {
                Ok(body) => self.serve(admitted, Request::from_parts(parts, body)).await,
                Err(status) => body::refusal(&status, Encoding::Json),
            }
        };
        let (response, notes) = admission::notes::gather(answering).await;
        note.take(notes);
        audit.end(note, response).await
    }

    /// Answers a request that may be answered, when it is its turn.
    async fn serve<B>(&self, admitted: Admitted, request: Request<B>) -> Response<Body>
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
        let line = self.turns.line(&admitted.user);
        let answering = line.pace(self.server.answer(admitted.user, request));
        if is_unbounded {
            return answering.await;
        }
        // A body that comes in drops must not keep a seat from others.
        let answered = tokio::time::timeout(LONGEST, answering).await;
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
        issuer::document(&self.access, method, path, &self.address)
    }
}

/// What is kept in etcd is saved with etcd's own tools, which save all of it at one revision.
const IN_ETCD: &str = "objects are kept in etcd; save them with etcdctl snapshot save";
const IN_MEMORY: &str = "objects are kept in memory; there is nothing to save them from";

/// How long a request may take, with everything that is asked about it. Upstream: the same.
const LONGEST: Duration = Duration::from_secs(60);

fn late() -> Status {
    let seconds = LONGEST.as_secs();
    Status {
        code: 504,
        reason: "Timeout",
        message: format!("Timeout: request did not complete within the allotted {seconds}s"),
        details: Box::default(),
        warnings: Vec::new(),
        cause: None,
    }
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
