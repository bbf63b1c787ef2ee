//! Calls: one request, one answer.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use intent::Part;
use kube::client::Body;
use object::{Object, ObjectKey, ResourceType, Value};
use serde::Deserialize;
use tokio::sync::Semaphore;
use tower_service::Service;

use crate::ask::{
    Ask, JSON, accept_or_refuse, collect, decode, encode, part_path, read_list, with_kind,
};
use crate::cache::Detail;
use crate::error::{self, CallError};
use crate::kubeconfig::{ConfigError, KubeconfigSource};
use crate::options::{DeleteOptions, ListOptions, PatchKind, WatchOptions, WriteOptions};
use crate::skim::skim;
use crate::transport::{AnswerBody, BoxError, Transport};
use crate::watch::WatchStream;

/// How long a call may take, unless the client was told otherwise.
const DEADLINE: Duration = Duration::from_secs(30);
/// How many calls of one client run at once over a network; more wait. Watches do not count.
const NETWORK_CALLS: usize = 64;
/// The same in the process, where a call costs no connection; the limit only keeps a flood from taking all memory.
const LOCAL_CALLS: usize = 1_024;
/// What a server takes at once. Upstream: the same for every API server.
const LARGEST_BODY: usize = 3 * 1024 * 1024;
/// How many objects a page of a long list has. Upstream: the same.
const PAGE: u32 = 500;

const METADATA: &str =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
const METADATA_LIST: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/// Talks to one API server as one user; clones are the same client.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    transport: Transport,
    calls: Semaphore,
    deadline: Duration,
    agent: HeaderValue,
}

/// A list of objects at one revision.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct List {
    /// The objects, each with its kind.
    pub items: Vec<Object>,
    /// The state they were in together.
    pub resource_version: String,
    /// Where the next page begins; empty if there is none.
    pub continue_token: String,
}

/// What became of an object that was to be deleted.
#[derive(Clone, Debug, PartialEq)]
pub enum Deleted {
    /// It is gone.
    Gone,
    /// It is still there, waiting for its finalizers or its grace period, in this state.
    Ending(Box<Object>),
}

/// What a server says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Version {
    /// Such as `1`.
    pub major: String,
    /// Such as `34` or `34+`.
    pub minor: String,
    /// Such as `v1.34.0`.
    pub git_version: String,
    /// Such as `linux/amd64`.
    pub platform: String,
}

impl Client {
    /// Talks to a service of this process: no socket, no TLS.
    #[must_use]
    pub fn in_process<S, B>(service: S) -> Self
    where
        S: Service<Request<Body>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Future: Send + 'static,
        S::Error: Into<BoxError>,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self::new(Transport::in_process(service), LOCAL_CALLS)
    }

    /// Talks to the server that a kubeconfig names.
    pub async fn from_kubeconfig(source: &KubeconfigSource) -> Result<Self, ConfigError> {
        let transport = match source.remote().await? {
            Some(server) => Transport::Remote(Box::new(server)),
            None => Transport::Network(source.connect().await?),
        };
        Ok(Self::new(transport, NETWORK_CALLS))
    }

    /// Talks through a client that somebody else has set up.
    #[must_use]
    pub fn from_kube(client: kube::Client) -> Self {
        Self::new(Transport::Network(client), NETWORK_CALLS)
    }

    fn new(transport: Transport, calls: usize) -> Self {
        Self {
            inner: Arc::new(Inner {
                transport,
                calls: Semaphore::new(calls),
                deadline: DEADLINE,
                agent: HeaderValue::from_static(concat!("karavel/", env!("CARGO_PKG_VERSION"))),
            }),
        }
    }

    /// The same client under another name, which servers note as the writer of fields; before it is shared.
    #[must_use]
    pub fn named(self, agent: &str) -> Self {
        let agent = HeaderValue::from_str(agent);
        self.altered(|inner| {
            if let Ok(agent) = agent {
                inner.agent = agent;
            }
        })
    }

    /// The same client with other limits: how long a call may take, and how many run at once; before it is shared.
    #[must_use]
    pub fn limited(self, deadline: Duration, calls: usize) -> Self {
        self.altered(|inner| {
            inner.deadline = deadline;
            inner.calls = Semaphore::new(calls);
        })
    }

    fn altered(mut self, alter: impl FnOnce(&mut Inner)) -> Self {
        // A client that is shared already stays as those who share it know it.
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            alter(inner);
        }
        self
    }

    /// The client underneath, for what is not an object: proxying, upgrades, logs.
    #[must_use]
    pub fn raw(&self) -> kube::Client {
        self.inner.transport.raw()
    }

    /// Reads one object.
    pub async fn get(&self, resource: &ResourceType, key: &ObjectKey) -> Result<Object, CallError> {
        self.get_part(resource, key, &Part::Object).await
    }

    /// Reads one part of an object.
    pub async fn get_part(
        &self,
        resource: &ResourceType,
        key: &ObjectKey,
        part: &Part,
    ) -> Result<Object, CallError> {
        let path = part_path(resource, key, part);
        self.read(Ask::new(Method::GET, path), resource).await
    }

    /// Reads the metadata of one object.
    pub async fn get_metadata(
        &self,
        resource: &ResourceType,
        key: &ObjectKey,
    ) -> Result<Object, CallError> {
        let ask = Ask::new(Method::GET, resource.object_path(key)).accepting(METADATA);
        self.read(ask, resource).await
    }

    /// Reads one page of a collection, of all namespaces if `namespace` is empty.
    pub async fn list(
        &self,
        resource: &ResourceType,
        namespace: &str,
        options: &ListOptions,
    ) -> Result<List, CallError> {
        let path = options.query(resource.path(namespace));
        let accept = if options.metadata_only {
            METADATA_LIST
        } else {
            JSON
        };
        let ask = Ask::new(Method::GET, path.into_string()).accepting(accept);
        let request = ask.to_string();
        let bytes = self.call(ask).await?;
        read_list(&bytes, resource).map_err(|source| CallError::Unreadable {
            request,
            source: source.into(),
        })
    }

    /// Reads a whole collection, page by page; one state of it, or an error.
    pub async fn list_all(
        &self,
        resource: &ResourceType,
        namespace: &str,
        options: &ListOptions,
    ) -> Result<List, CallError> {
        let mut page = ListOptions {
            limit: PAGE,
            ..options.clone()
        };
        let mut whole = List::default();
        loop {
            let found = match self.list(resource, namespace, &page).await {
                // The state of the first page is no longer known: all at once, then.
                Err(error) if error.is_gone() && !page.continue_token.is_empty() => {
                    page = ListOptions {
                        limit: 0,
                        ..options.clone()
                    };
                    whole = List::default();
                    continue;
                }
                found => found?,
            };
            whole.items.extend(found.items);
            whole.resource_version = found.resource_version;
            if found.continue_token.is_empty() {
                return Ok(whole);
            }
            // A continued list goes on in the state it began in; saying which is not allowed.
            page.resource_version = String::new();
            page.resource_version_match = "";
            page.continue_token = found.continue_token;
        }
    }

    /// Watches a collection, of all namespaces if `namespace` is empty.
    pub async fn watch(
        &self,
        resource: &ResourceType,
        namespace: &str,
        options: &WatchOptions,
    ) -> Result<WatchStream, CallError> {
        let path = options.query(resource.path(namespace));
        let accept = if options.metadata_only {
            METADATA
        } else {
            JSON
        };
        let ask = Ask::new(Method::GET, path.into_string()).accepting(accept);
        let request = ask.to_string();
        // The beginning of the answer has a deadline; the rest comes when it comes.
        let answering = async {
            let response = self.send_asked(&ask).await?;
            accept_or_refuse(&ask, response).await
        };
        let response = self.in_time(&ask, answering).await?;
        Ok(WatchStream::new(
            request,
            resource.clone(),
            response.into_body(),
        ))
    }

    /// Makes an object.
    pub async fn create(
        &self,
        resource: &ResourceType,
        object: &Object,
        options: &WriteOptions,
    ) -> Result<Object, CallError> {
        self.read(creation(resource, object, options), resource)
            .await
    }

    /// Makes an object and leaves unread what came of it: whoever follows it will see, and reading costs as much as writing.
    pub async fn create_unread(
        &self,
        resource: &ResourceType,
        object: &Object,
        options: &WriteOptions,
    ) -> Result<(), CallError> {
        self.call(creation(resource, object, options))
            .await
            .map(drop)
    }

    /// Creates something below an object, such as an eviction or a token, and returns what the server makes of it.
    pub async fn create_part(
        &self,
        resource: &ResourceType,
        key: &ObjectKey,
        part: &Part,
        body: &Object,
    ) -> Result<Object, CallError> {
        let path = part_path(resource, key, part);
        let ask = Ask::new(Method::POST, path).saying(JSON, encode(body));
        self.read(ask, resource).await
    }

    /// Puts an object in the place of the one whose revision it carries.
    pub async fn replace(
        &self,
        resource: &ResourceType,
        object: &Object,
        part: &Part,
        options: &WriteOptions,
    ) -> Result<Object, CallError> {
        let path = options.query(part_path(resource, &object.key(), part));
        let ask = Ask::new(Method::PUT, path.into_string()).saying(JSON, encode(object));
        self.read(ask, resource).await
    }

    /// Changes an object.
    pub async fn patch(
        &self,
        resource: &ResourceType,
        key: &ObjectKey,
        kind: PatchKind,
        patch: &Value,
        part: &Part,
        options: &WriteOptions,
    ) -> Result<Object, CallError> {
        let path = options.query(part_path(resource, key, part));
        self.read(change(path.into_string(), kind, patch), resource)
            .await
    }

    /// Changes an object and leaves unread what came of it.
    pub async fn patch_unread(
        &self,
        resource: &ResourceType,
        key: &ObjectKey,
        kind: PatchKind,
        patch: &Value,
        part: &Part,
        options: &WriteOptions,
    ) -> Result<(), CallError> {
        let path = options.query(part_path(resource, key, part));
        self.call(change(path.into_string(), kind, patch))
            .await
            .map(drop)
    }

    /// Changes an object, and is told no more of the outcome than its metadata, without managed fields.
    pub async fn patch_for_metadata(
        &self,
        resource: &ResourceType,
        key: &ObjectKey,
        kind: PatchKind,
        patch: &Value,
        part: &Part,
        options: &WriteOptions,
    ) -> Result<Object, CallError> {
        let path = options.query(part_path(resource, key, part));
        let ask = Ask::new(Method::PATCH, path.into_string())
            .accepting(METADATA)
            .saying(kind.media_type(), patch.to_string().into());
        let request = ask.to_string();
        let bytes = self.call(ask).await?;
        skim(&bytes, Detail::Metadata, resource)
            .and_then(|kept| serde_json::from_slice(&kept.text))
            .map_err(|source| CallError::Unreadable {
                request,
                source: source.into(),
            })
    }

    /// Server-side apply under the options' field manager; `force` takes fields over from others.
    pub async fn apply(
        &self,
        resource: &ResourceType,
        object: &Object,
        force: bool,
        part: &Part,
        options: &WriteOptions,
    ) -> Result<Object, CallError> {
        let path = options.query(part_path(resource, &object.key(), part));
        let path = path.flag("force", force);
        let ask = Ask::new(Method::PATCH, path.into_string())
            .saying("application/apply-patch+yaml", encode(object));
        self.read(ask, resource).await
    }

    /// Deletes an object.
    pub async fn delete(
        &self,
        resource: &ResourceType,
        key: &ObjectKey,
        options: &DeleteOptions,
    ) -> Result<Deleted, CallError> {
        let ask = Ask::new(Method::DELETE, resource.object_path(key))
            .saying(JSON, options.body().to_string().into());
        let request = ask.to_string();
        let bytes = self.call(ask).await?;
        let answer: Object = decode(&request, &bytes)?;
        if answer.kind() == "Status" && answer.api_version() == "v1" {
            return Ok(Deleted::Gone);
        }
        // A server that deletes at once may still answer with the object as it was.
        if answer.is_terminating() {
            return Ok(Deleted::Ending(Box::new(with_kind(answer, resource))));
        }
        Ok(Deleted::Gone)
    }

    /// Deletes all objects of a collection that the list options select.
    pub async fn delete_collection(
        &self,
        resource: &ResourceType,
        namespace: &str,
        list: &ListOptions,
        options: &DeleteOptions,
    ) -> Result<(), CallError> {
        let path = list.query(resource.path(namespace)).into_string();
        let ask = Ask::new(Method::DELETE, path).saying(JSON, options.body().to_string().into());
        self.call(ask).await.map(drop)
    }

    /// What version the server is.
    pub async fn version(&self) -> Result<Version, CallError> {
        let ask = Ask::new(Method::GET, "/version".to_owned());
        let request = ask.to_string();
        let bytes = self.call(ask).await?;
        decode(&request, &bytes)
    }

    /// Asks one of the paths that say how the server is, such as `/readyz`: the HTTP status and what it says.
    pub async fn ready(&self, path: &str) -> Result<(u16, String), CallError> {
        let ask = Ask::new(Method::GET, path.to_owned()).accepting("*/*");
        let (code, body) = self.exchange(&ask).await?;
        Ok((code.as_u16(), String::from_utf8_lossy(&body).into_owned()))
    }

    /// Any request below the server's root, answered with JSON; refusals are errors.
    pub async fn request(
        &self,
        method: Method,
        path_and_query: &str,
        media_type: &'static str,
        body: Bytes,
    ) -> Result<Bytes, CallError> {
        let mut ask = Ask::new(method, path_and_query.to_owned());
        if !body.is_empty() {
            ask = ask.saying(media_type, body);
        }
        self.call_path(ask).await
    }

    /// Any request, answered as it comes. There is no deadline, no limit, and no judgement of the answer.
    pub async fn send(&self, request: Request<Body>) -> Result<Response<AnswerBody>, BoxError> {
        self.inner.transport.send(request).await
    }

    /// A document of the API that is not an object: discovery, OpenAPI.
    pub(crate) async fn document(
        &self,
        path: &str,
        accept: &'static str,
    ) -> Result<Bytes, CallError> {
        let ask = Ask::new(Method::GET, path.to_owned()).accepting(accept);
        self.call_path(ask).await
    }

    async fn read(&self, ask: Ask, resource: &ResourceType) -> Result<Object, CallError> {
        let request = ask.to_string();
        let bytes = self.call(ask).await?;
        Ok(with_kind(decode(&request, &bytes)?, resource))
    }

    async fn call(&self, ask: Ask) -> Result<Bytes, CallError> {
        if ask.is_about_no_object() {
            return Err(CallError::Unsendable {
                request: ask.to_string(),
                source: "resource name may not be empty".into(),
            });
        }
        self.call_path(ask).await
    }

    /// Calls whatever path it is, also one that is no object's.
    async fn call_path(&self, ask: Ask) -> Result<Bytes, CallError> {
        let calling = async {
            let response = self.send_asked(&ask).await?;
            let response = accept_or_refuse(&ask, response).await?;
            collect(&ask, response.into_body()).await
        };
        self.in_time(&ask, calling).await
    }

    async fn exchange(&self, ask: &Ask) -> Result<(StatusCode, Bytes), CallError> {
        let calling = async {
            let response = self.send_asked(ask).await?;
            let code = response.status();
            Ok((code, collect(ask, response.into_body()).await?))
        };
        self.in_time(ask, calling).await
    }

    /// The deadline counts from the moment the call may begin: waiting for one's turn is not the server's fault.
    async fn in_time<T>(
        &self,
        ask: &Ask,
        calling: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, CallError> {
        let deadline = self.inner.deadline;
        let turn = self.inner.calls.acquire().await;
        let _turn = turn.expect("invariant: nobody closes the semaphore");
        match tokio::time::timeout(deadline, calling).await {
            Ok(result) => result,
            Err(_) => Err(CallError::Late {
                request: ask.to_string(),
                deadline,
            }),
        }
    }

    async fn send_asked(&self, ask: &Ask) -> Result<Response<AnswerBody>, CallError> {
        // A server answers and hangs up while the rest is still on its way, and who sends it may not get to see the answer.
        if ask.body.len() > LARGEST_BODY {
            return Err(error::too_large(ask.to_string(), LARGEST_BODY));
        }
        let mut request = Request::builder()
            .method(ask.method.clone())
            .uri(ask.path.as_str())
            .header(ACCEPT, ask.accept)
            .header(USER_AGENT, &self.inner.agent);
        if !ask.body.is_empty() {
            request = request.header(CONTENT_TYPE, ask.media_type);
        }
        let request = request.body(Body::from(ask.body.clone()));
        let request = request.map_err(|source| CallError::Unsendable {
            request: ask.to_string(),
            source: source.into(),
        })?;
        let sent = self.inner.transport.send(request).await;
        sent.map_err(|source| CallError::Unreachable {
            request: ask.to_string(),
            source,
        })
    }
}

fn creation(resource: &ResourceType, object: &Object, options: &WriteOptions) -> Ask {
    let path = options.query(resource.path(object.namespace()));
    Ask::new(Method::POST, path.into_string()).saying(JSON, encode(object))
}

fn change(path: String, kind: PatchKind, patch: &Value) -> Ask {
    Ask::new(Method::PATCH, path).saying(kind.media_type(), patch.to_string().into())
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}
