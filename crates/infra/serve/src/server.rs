//! The server: from a request to an answer.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use http::request::Parts;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Limited};
use object::time::Time;
use store::{Query, Store};
use telemetry::metrics::Registry;
use tokio::sync::watch;

use crate::body::{self, Body};
use crate::cache::{self, Cache};
use crate::call::{Admission, Call, Exhibit, User};
use crate::compression::compress;
use crate::connecting;
use crate::feed::Feed;
pub use crate::feed::FeedError;
use crate::handler::{Asked, Handlers, unread};
use crate::health;
use crate::measure::{Measured, count_objects};
use crate::negotiate::{Answer, Content, Encoding, Sendable, Shape, readable};
use crate::openapi::Published;
use crate::options::{ListOptions, Params, WriteOptions, patience};
use crate::output::Include;
use crate::paths::wants_v3_message;
use crate::recent::Recent;
use crate::record::RecordError;
use crate::resource::{Action, SchemaDuty, Table};
use crate::status::Status;
use crate::target::{Target, Verb};
use crate::verbs::{DeleteOptions, patch_forms};
use crate::warning::warn;

/// The largest body that is read: what etcd and Kubernetes allow.
pub const BODY_LIMIT: usize = 3 * 1024 * 1024;
/// How long a writer waits for its own write to come round.
const WRITE_WAIT: Duration = Duration::from_secs(10);

/// Time and chance, which tests hold in their own hands.
pub trait Surroundings: Send + Sync {
    /// The time of day.
    fn now(&self) -> Time;
    /// A uid nobody had before.
    fn uid(&self) -> String;
    /// Five characters that complete a `generateName`.
    fn suffix(&self) -> String;
}

/// Serves resources.
pub struct Server {
    pub(crate) store: Store,
    pub(crate) cache: Arc<Cache>,
    pub(crate) admission: Vec<Arc<dyn Admission>>,
    pub(crate) surroundings: Arc<dyn Surroundings>,
    table: ArcSwap<Table>,
    /// The same, for those who have to notice that it is another one.
    tables: watch::Sender<Arc<Table>>,
    /// What was published about which table; made when somebody asks.
    pub(crate) published: ArcSwapOption<(Arc<Table>, Published)>,
    pub(crate) feed: Feed,
    pub(crate) recent: Recent,
    pub(crate) handlers: Handlers,
    pub(crate) metrics: Registry,
    pub(crate) about: About,
}

/// What the server says of itself.
#[derive(Clone, Debug)]
pub struct About {
    /// The Kubernetes version it is like, such as `v1.34.0`.
    pub version: String,
    /// Where clients find it, `host:port`.
    pub address: String,
}

/// Why a server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The store cannot be read.
    #[error("cannot read the stored objects")]
    Read(#[from] store::ReadError),
    /// Something in the store is not an object.
    #[error("cannot use what is stored")]
    Record(#[from] RecordError),
}

impl Server {
    /// Loads everything stored. The server answers from then on; [`Server::feed`] must run to keep it current.
    pub async fn open(
        store: Store,
        table: Table,
        admission: Vec<Arc<dyn Admission>>,
        surroundings: Arc<dyn Surroundings>,
        about: About,
    ) -> Result<Self, OpenError> {
        let page = store.range(&Query::prefix(cache::ROOT)).await?;
        let cache = Arc::new(Cache::load(&page.entries, page.revision)?);
        let metrics = Registry::default();
        let table = Arc::new(table);
        count_objects(&metrics, Arc::downgrade(&cache));
        Ok(Self {
            store,
            cache,
            admission,
            surroundings,
            table: ArcSwap::new(Arc::clone(&table)),
            tables: watch::Sender::new(table),
            published: ArcSwapOption::empty(),
            feed: Feed::default(),
            recent: Recent::default(),
            handlers: Handlers::default(),
            metrics,
            about,
        })
    }

    /// Lets others answer for kinds that are not stored and for parts of objects, before the first request.
    #[must_use]
    pub fn with_handlers(mut self, handlers: Handlers) -> Self {
        self.handlers = handlers;
        self
    }

    /// Keeps the cache current until the watch on the store ends.
    pub async fn feed(&self) -> Result<(), FeedError> {
        self.feed.run(&self.store, &self.cache).await
    }

    /// Waits until the cache has what was written at a revision, so that whoever is answered reads it.
    pub(crate) async fn taken_in(&self, revision: store::Revision) {
        self.feed.wait_for(&self.cache, revision, WRITE_WAIT).await;
    }

    /// What is counted and measured, for parts that have figures of their own.
    pub fn metrics(&self) -> &Registry {
        &self.metrics
    }

    /// Everything stored, for parts of the process that follow it.
    pub fn cache(&self) -> &Arc<Cache> {
        &self.cache
    }

    /// The time of day, as the server reckons it.
    pub fn now(&self) -> Time {
        self.surroundings.now()
    }

    /// What is served now.
    pub fn table(&self) -> Arc<Table> {
        self.table.load_full()
    }

    /// What is served now, and each change of it.
    pub(crate) fn tables(&self) -> watch::Receiver<Arc<Table>> {
        self.tables.subscribe()
    }

    /// Changes what is served, at once and for every request that begins afterwards. Watches end of resources that are not
    /// in the new table or are others there.
    pub fn set_table(&self, table: Table) {
        let table = Arc::new(table);
        self.table.store(Arc::clone(&table));
        self.tables.send_replace(table);
    }

    /// The newest revision there is.
    pub(crate) async fn newest(&self) -> Result<store::Revision, Status> {
        self.store
            .revision()
            .await
            .map_err(|error| Status::unavailable("the store cannot be read", Some(Box::new(error))))
    }

    /// Answers one request of a known user.
    pub async fn answer<B>(&self, user: User, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (parts, body) = request.into_parts();
        let response = match self.dispatch(user, &parts, body).await {
            Ok(response) => response,
            Err(status) => {
                if let Some(cause) = &status.cause {
                    tracing::error!(error = %cause, path = parts.uri.path(), "request failed");
                }
                let everything = everything(&self.table());
                let answer = Answer::negotiate(&parts.headers, false, everything);
                let encoding = answer.map_or(Encoding::Json, |answer| answer.encoding);
                let mut response = body::refusal(&status, encoding);
                warn(&mut response, &status.warnings);
                response
            }
        };
        compress(&parts.headers, response)
    }

    async fn dispatch<B>(
        &self,
        user: User,
        parts: &Parts,
        body: B,
    ) -> Result<Response<Body>, Status>
    where
        B: http_body::Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (target, old_watch) = Target::parse(parts.uri.path())
            .map_err(|error| Status::bad_request(error.to_string()))?;
        let params = Params::parse(parts.uri.query().unwrap_or_default())?;
        let pretty = wants_pretty(&params, &parts.headers)?;
        let watches = match &target {
            Target::Resource(target) => {
                let asks = params.flag("watch")? && target.name.is_empty() || old_watch;
                asks && matches!(parts.method, Method::GET)
            }
            Target::Path(_) => false,
        };
        let is_stream = matches!(&target, Target::Resource(target) if target.is_stream());
        // Upstream: a request that lasts as long as others please is not held to what its client says of its patience.
        if !watches && !is_stream {
            patience(&params)?;
        }
        let table = self.table();
        let target = match target {
            Target::Path(path) if health::is_asked(&path) => {
                return Ok(self.health(&path, params.flag("verbose")?).await);
            }
            Target::Path(path) => {
                let answer = Answer::negotiate(&parts.headers, pretty, everything(&table));
                // These have forms of their own, which are none of objects.
                let answer = match &*path {
                    "/metrics" | "/openapi/v2" => answer.unwrap_or(Answer::JSON),
                    _ if wants_v3_message(&parts.headers, &path) => Answer::JSON,
                    _ => answer?,
                };
                return self.path(parts, &path, answer);
            }
            Target::Resource(target) => target,
        };
        let served = table
            .find(&target.group, &target.version, &target.resource)
            .ok_or_else(Status::unknown_path)?;
        if served.resource.namespaced && target.namespace.is_empty() && !target.name.is_empty() {
            return Err(Status::unknown_path());
        }
        if !target.subresource.is_empty() && served.subresource(&target.subresource).is_none() {
            return Err(match served.resource.rules.schema_duty() {
                SchemaDuty::Shape => Status::unknown_path(),
                // Upstream: paths of custom kinds are one, whatever follows the name.
                SchemaDuty::Everything => Status::not_found(target.subject()),
            });
        }
        // What a stream is asked for with is for whoever answers it.
        let list = match is_stream {
            true => ListOptions::default(),
            false => ListOptions::from_params(&params)?,
        };
        let verb =
            Verb::of(&parts.method, &target, watches).ok_or_else(Status::method_not_allowed)?;
        let is_offered = target.takes(verb, served.resource.namespaced)
            && served.allows(&target.subresource, verb);
        if !is_offered {
            return Err(Status::method_not_allowed());
        }
        let agent = parts
            .headers
            .get(http::header::USER_AGENT)
            .and_then(|agent| agent.to_str().ok());
        let applies = verb == Verb::Patch && Content::is_apply(&parts.headers);
        let options = match is_stream {
            true => WriteOptions::default(),
            false => WriteOptions::from_params(&params, agent.unwrap_or_default(), verb, applies)?,
        };
        let call = Call {
            user,
            verb,
            target,
            served,
            options,
            applies,
            exhibit: Exhibit::Object,
            generates_name: false,
        };
        let answer = Answer::negotiate(&parts.headers, pretty, table.sendable(&call.served));
        let measured = Measured::begin(&self.metrics, &call);
        let outcome = self
            .perform(&call, parts, &params, &list, answer, body)
            .await;
        let outcome = match &call.served.version().warning {
            Some(warning) => deprecated(outcome, warning),
            None => outcome,
        };
        measured.finish(outcome)
    }

    async fn perform<B>(
        &self,
        call: &Call,
        parts: &Parts,
        params: &Params,
        list: &ListOptions,
        answer: Result<Answer, Status>,
        body: B,
    ) -> Result<Response<Body>, Status>
    where
        B: http_body::Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        if let Some(handler) = self.handlers.find(call) {
            // Upstream: what is not kept is shown as it is or not at all.
            let is_stored = call.served.resource.rules.is_stored();
            if !is_stored
                && answer
                    .as_ref()
                    .is_ok_and(|answer| answer.shape != Shape::Whole)
            {
                return Err(Status::not_acceptable(&Answer::PRODUCIBLE));
            }
            let asked = Asked {
                parts: parts.clone(),
                // Logs and proxied answers come in any form, whatever is accepted.
                answer: answer.unwrap_or(Answer::JSON),
                body: unread(body),
                wire: self.table().wire(),
            };
            let warnings = match connecting::options(call, params) {
                Some(options) => self.admit_stream(call, &options).await?,
                None => Vec::new(),
            };
            let answered = handler.answer(self, call, asked).await;
            let mut response = answered.map_err(|status| status.with_warnings(&warnings))?;
            warn(&mut response, &warnings);
            return Ok(response);
        }
        let answer = answer?;
        let include = Include::parse(params.text("includeObject"))?;
        let readable = readable(call.served.resource.rules.wire());
        let part = call
            .served
            .subresource(&call.target.subresource)
            .map(|part| &part.action);
        // Nobody here can answer it.
        if matches!(part, Some(Action::Custom)) || !call.served.resource.rules.is_stored() {
            let is_there = call.target.name.is_empty() || self.find(call).is_some();
            return Err(match is_there {
                true => Status::unknown_path(),
                false => Status::not_found(call.subject()),
            });
        }
        if let Some(Action::Scale(paths)) = part {
            let content = match call.verb {
                Verb::Get => return self.get_scale(call, paths, answer).await,
                Verb::Patch => Content::of(&parts.headers, &patch_forms(call))?,
                _ => Content::of(&parts.headers, readable)?,
            };
            return self
                .set_scale(call, paths, content, &read_body(body).await?, answer)
                .await;
        }
        match call.verb {
            Verb::Get => self.get(call, list.freshness, answer, include).await,
            Verb::List => self.list(call, list, answer, include).await,
            Verb::Watch => self.watch(call, list, answer, include).await,
            Verb::Create => {
                let content = Content::of(&parts.headers, readable)?;
                self.create(call, content, &read_body(body).await?, answer)
                    .await
            }
            Verb::Update => {
                let content = Content::of(&parts.headers, readable)?;
                self.update(call, content, &read_body(body).await?, answer)
                    .await
            }
            Verb::Patch => {
                let content = Content::of(&parts.headers, &patch_forms(call))?;
                self.patch(call, content, &read_body(body).await?, answer)
                    .await
            }
            Verb::Delete => {
                let options = self.delete_options(parts, params, body).await?;
                self.delete(call, &options, answer).await
            }
            Verb::DeleteCollection => {
                let options = self.delete_options(parts, params, body).await?;
                self.delete_collection(call, list, &options, answer).await
            }
        }
    }

    async fn delete_options<B>(
        &self,
        parts: &Parts,
        params: &Params,
        body: B,
    ) -> Result<DeleteOptions, Status>
    where
        B: http_body::Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let bytes = read_body(body).await?;
        let wire = self.table().wire();
        let content = Content::of(&parts.headers, readable(wire))?;
        DeleteOptions::read(params, content, &bytes, wire)
    }
}

/// An outcome that says besides that the version should not be used any more.
fn deprecated(
    outcome: Result<Response<Body>, Status>,
    warning: &str,
) -> Result<Response<Body>, Status> {
    let told = [warning.to_owned()];
    match outcome {
        Ok(mut response) => {
            warn(&mut response, &told);
            Ok(response)
        }
        Err(status) => Err(status.with_warnings(&told)),
    }
}

/// Whether people are looking: those who ask for indentation, and programs that show what they get.
fn wants_pretty(params: &Params, headers: &http::HeaderMap) -> Result<bool, Status> {
    if !params.text("pretty").is_empty() {
        return params.flag("pretty");
    }
    let agent = headers.get(http::header::USER_AGENT);
    let agent = agent
        .and_then(|agent| agent.to_str().ok())
        .unwrap_or_default();
    Ok(["curl", "Wget", "Mozilla/5.0"]
        .iter()
        .any(|shows| agent.starts_with(shows)))
}

/// What can be sent of things that are no resource.
fn everything(table: &Table) -> Sendable {
    Sendable {
        objects: table.wire(),
        metadata: table.wire(),
    }
}

pub(crate) async fn read_body<B>(body: B) -> Result<bytes::Bytes, Status>
where
    B: http_body::Body + Send,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let collected = Limited::new(body, BODY_LIMIT)
        .collect()
        .await
        .map_err(|error| {
            if error.is::<http_body_util::LengthLimitError>() {
                return Status::too_large(BODY_LIMIT);
            }
            Status::bad_request(format!("the body could not be read: {error}"))
        })?;
    Ok(collected.to_bytes())
}
