//! Calls to whichever member answers: deadlines, fail-over, tokens.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::Stream;
use http::Uri;
use http::uri::PathAndQuery;
use tokio::sync::{Semaphore, watch as latest};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tonic::client::Grpc;
use tonic::metadata::MetadataValue;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Request, Status, Streaming};
use tonic_prost::ProstCodec;

use super::auth::{Auth, Token};
use super::options::{OpenError, Options, Tls};
use super::proto::{Answer, AuthenticateRequest, AuthenticateResponse, path};
use super::trouble::{EtcdError, Trouble, classify};

/// A host that does not answer is given up for the next one after this long.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// While anything is under way the peer is pinged this often; etcd refuses more than one ping in five seconds.
const PING_INTERVAL: Duration = Duration::from_secs(10);
const PING_TIMEOUT: Duration = Duration::from_secs(5);

/// How much of one answer, and of all answers together, may be in flight. Everything is read as it comes, so these
/// bound the speed over long distances rather than memory.
const STREAM_WINDOW: u32 = 1024 * 1024;
const CONNECTION_WINDOW: u32 = 16 * 1024 * 1024;

/// The pause after all members have failed once; doubled each time after that.
const FIRST_PAUSE: Duration = Duration::from_millis(25);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Whether a call may be made again when it is not known whether it happened.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Repeatable,
    Once,
}

/// All members of one etcd.
pub(super) struct Client {
    members: Vec<Member>,
    /// The member in use.
    current: AtomicUsize,
    auth: Auth,
    permits: Semaphore,
    timeout: Duration,
    /// The cluster that answered first.
    cluster: OnceLock<u64>,
    closed: latest::Sender<bool>,
}

struct Member {
    endpoint: Arc<str>,
    channel: Channel,
}

/// A member, by its place in the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place(usize);

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let endpoints = self.members.iter().map(|member| &member.endpoint);
        f.debug_list().entries(endpoints).finish()
    }
}

impl Client {
    /// Prepares the connections; nothing is sent before the first call.
    pub(super) fn new(options: &Options) -> Result<Self, OpenError> {
        let members = options
            .endpoints
            .iter()
            .map(|endpoint| Member::new(endpoint, options.tls.as_ref()))
            .collect::<Result<Vec<_>, _>>()?;
        if members.is_empty() {
            return Err(OpenError::NoEndpoint);
        }
        Ok(Self {
            members,
            current: AtomicUsize::new(0),
            auth: Auth::new(options.user.clone()),
            permits: Semaphore::new(options.concurrency.max(1)),
            timeout: options.timeout,
            cluster: OnceLock::new(),
            closed: latest::Sender::new(false),
        })
    }

    /// Makes a call, on another member if one fails, until it is answered, refused or out of time.
    pub(super) async fn call<Q, A>(
        &self,
        path: &'static str,
        message: Q,
        purpose: Purpose,
    ) -> Result<A, Trouble>
    where
        Q: prost::Message + Clone + 'static,
        A: Answer,
    {
        let deadline = Instant::now() + self.timeout;
        let _permit = self.permit(deadline).await?;
        let mut pauses = Pauses::new(self.members.len());
        let mut renewals = 0;
        loop {
            let place = self.place();
            let token = self.auth.token();
            let left = deadline.saturating_duration_since(Instant::now());
            // A read that hangs is worth a second member; a write is not repeated, so it gets all the time.
            let limit = match purpose {
                Purpose::Repeatable => left.min(self.timeout / 2),
                Purpose::Once => left,
            };
            let mut outcome = self
                .attempt(place, path, message.clone(), &token, limit)
                .await;
            if let Err(Trouble::StaleToken(_)) = &outcome
                && self.auth.has_user()
                && renewals < 2
            {
                renewals += 1;
                match self.renew(place, &token).await {
                    Ok(()) => continue,
                    Err(trouble) => outcome = Err(trouble),
                }
            }
            let trouble = match outcome {
                Ok(answer) => return Ok(answer),
                Err(trouble) => trouble,
            };
            let again = match &trouble {
                Trouble::Unsent(_) => true,
                Trouble::Lost(_) => purpose == Purpose::Repeatable,
                _ => return Err(trouble),
            };
            self.leave(place);
            let pause = pauses.next();
            if !again || Instant::now() + pause >= deadline {
                return Err(trouble);
            }
            sleep(pause).await;
        }
    }

    /// Makes a call on one member, once, and without much patience: the caller has others to turn to.
    pub(super) async fn call_on<Q, A>(
        &self,
        place: Place,
        path: &'static str,
        message: Q,
    ) -> Result<A, Trouble>
    where
        Q: prost::Message + 'static,
        A: Answer,
    {
        let token = self.auth.token();
        let limit = self.timeout.min(PING_TIMEOUT);
        self.attempt(place, path, message, &token, limit).await
    }

    /// Opens a stream to one member and waits for its first answer, since a refusal comes that way.
    pub(super) async fn stream<Q, A>(
        &self,
        place: Place,
        path: &'static str,
        messages: impl Stream<Item = Q> + Send + 'static,
    ) -> Result<(A, Streaming<A>), Trouble>
    where
        Q: prost::Message + 'static,
        A: Answer,
    {
        let member = self.member(place)?;
        let request = self.request(messages, &self.auth.token());
        let opening = async {
            let mut grpc = member.grpc().await?;
            let codec = ProstCodec::<Q, A>::default();
            let mut answers = grpc
                .streaming(request, PathAndQuery::from_static(path), codec)
                .await?
                .into_inner();
            let first = answers.message().await?;
            Ok::<_, Status>((first, answers))
        };
        let limit = self.timeout.min(PING_TIMEOUT);
        let (first, answers) = match timeout(limit, opening).await {
            Err(_) => return Err(Trouble::Lost(EtcdError::TimedOut { waited: limit })),
            Ok(Err(status)) => return Err(classify(&member.endpoint, &status)),
            Ok(Ok((None, _))) => return Err(member.ended()),
            Ok(Ok((Some(first), answers))) => (first, answers),
        };
        self.check_cluster(member, &first)?;
        Ok((first, answers))
    }

    /// What ended a stream.
    pub(super) fn explain(&self, place: Place, status: Option<&Status>) -> Trouble {
        match (self.member(place), status) {
            (Ok(member), Some(status)) => classify(&member.endpoint, status),
            (Ok(member), None) => member.ended(),
            (Err(trouble), _) => trouble,
        }
    }

    /// The member in use.
    pub(super) fn place(&self) -> Place {
        Place(self.current.load(Ordering::Relaxed))
    }

    /// Turns to the next member, unless someone has done so already.
    pub(super) fn leave(&self, place: Place) {
        let next = (place.0 + 1) % self.members.len();
        // Losing the race means that another call has turned away from the same member.
        let _ = self
            .current
            .compare_exchange(place.0, next, Ordering::Relaxed, Ordering::Relaxed);
    }

    pub(super) fn pauses(&self) -> Pauses {
        Pauses::new(self.members.len())
    }

    pub(super) fn endpoint(&self, place: Place) -> &str {
        self.members
            .get(place.0)
            .map_or("", |member| &member.endpoint)
    }

    /// Gets a new token in place of the one in use.
    pub(super) async fn refresh_token(&self, place: Place) -> Result<(), Trouble> {
        let token = self.auth.token();
        self.renew(place, &token).await
    }

    pub(super) fn has_user(&self) -> bool {
        self.auth.has_user()
    }

    /// How long a request may take.
    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    pub(super) fn close(&self) {
        self.closed.send_replace(true);
    }

    pub(super) fn is_closed(&self) -> bool {
        *self.closed.borrow()
    }

    /// Ends when the store is closed.
    pub(super) fn closing(&self) -> impl Future<Output = ()> + use<> {
        let mut closed = self.closed.subscribe();
        async move {
            // An error means that the client is gone, which is as good as closed.
            let _ = closed.wait_for(|closed| *closed).await;
        }
    }

    async fn permit(&self, deadline: Instant) -> Result<tokio::sync::SemaphorePermit<'_>, Trouble> {
        if self.is_closed() {
            return Err(Trouble::Closed);
        }
        match timeout_at(deadline, self.permits.acquire()).await {
            Err(_) => Err(Trouble::Unsent(EtcdError::Busy)),
            Ok(permit) => permit.map_err(|_| Trouble::Closed),
        }
    }

    async fn attempt<Q, A>(
        &self,
        place: Place,
        path: &'static str,
        message: Q,
        token: &Token,
        limit: Duration,
    ) -> Result<A, Trouble>
    where
        Q: prost::Message + 'static,
        A: Answer,
    {
        let member = self.member(place)?;
        let mut request = self.request(message, token);
        request.set_timeout(limit);
        let exchange = async {
            let mut grpc = member.grpc().await?;
            let codec = ProstCodec::<Q, A>::default();
            grpc.unary(request, PathAndQuery::from_static(path), codec)
                .await
        };
        let answer = match timeout(limit, exchange).await {
            Err(_) => return Err(Trouble::Lost(EtcdError::TimedOut { waited: limit })),
            Ok(Err(status)) => return Err(classify(&member.endpoint, &status)),
            Ok(Ok(answer)) => answer.into_inner(),
        };
        self.check_cluster(member, &answer)?;
        Ok(answer)
    }

    async fn renew(&self, place: Place, stale: &Token) -> Result<(), Trouble> {
        let ask = |user: super::options::User| async move {
            let message = AuthenticateRequest {
                name: user.name,
                password: user.password,
            };
            let nobody = Token::default();
            let answer: AuthenticateResponse = self
                .attempt(place, path::AUTHENTICATE, message, &nobody, self.timeout)
                .await?;
            Ok(answer.token)
        };
        self.auth.renew(stale, ask).await
    }

    fn request<T>(&self, message: T, token: &Token) -> Request<T> {
        let mut request = Request::new(message);
        let metadata = request.metadata_mut();
        // A member without a leader then says so instead of waiting for one, and ends its watches.
        metadata.insert("hasleader", MetadataValue::from_static("true"));
        if let Some(token) = &token.value {
            metadata.insert("token", token.clone());
        }
        request
    }

    fn member(&self, place: Place) -> Result<&Member, Trouble> {
        self.members.get(place.0).ok_or(Trouble::Closed)
    }

    /// Revisions of two clusters have nothing to do with each other.
    fn check_cluster(&self, member: &Member, answer: &impl Answer) -> Result<(), Trouble> {
        let Some(header) = answer.header() else {
            return Ok(());
        };
        // Answers that are given before a member has joined its cluster carry no id.
        if header.cluster_id == 0
            || *self.cluster.get_or_init(|| header.cluster_id) == header.cluster_id
        {
            return Ok(());
        }
        Err(Trouble::Refused(EtcdError::OtherCluster {
            endpoint: Arc::clone(&member.endpoint),
        }))
    }
}

impl Member {
    fn new(url: &str, tls: Option<&Tls>) -> Result<Self, OpenError> {
        let bad = || OpenError::Endpoint {
            endpoint: url.to_owned(),
        };
        let uri: Uri = url.parse().map_err(|_| bad())?;
        let mut endpoint = Endpoint::from_shared(url.to_owned()).map_err(|_| bad())?;
        match (uri.scheme_str(), tls) {
            (Some("http"), None) => {}
            (Some("https"), Some(tls)) => {
                endpoint = endpoint
                    .tls_config(tls_config(tls))
                    .map_err(|source| OpenError::Tls { source })?;
            }
            (Some("https"), None) => {
                return Err(OpenError::NoAuthority {
                    endpoint: url.to_owned(),
                });
            }
            (Some("http"), Some(_)) => {
                return Err(OpenError::Plain {
                    endpoint: url.to_owned(),
                });
            }
            _ => return Err(bad()),
        }
        let channel = endpoint
            .connect_timeout(CONNECT_TIMEOUT)
            .http2_keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(PING_TIMEOUT)
            .keep_alive_while_idle(false)
            .tcp_nodelay(true)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .connect_lazy();
        Ok(Self {
            endpoint: url.into(),
            channel,
        })
    }

    /// The channel, ready to send. Answers are as large as what we asked for, so their size is not limited.
    async fn grpc(&self) -> Result<Grpc<Channel>, Status> {
        let mut grpc = Grpc::new(self.channel.clone()).max_decoding_message_size(usize::MAX);
        grpc.ready()
            .await
            .map_err(|error| Status::from_error(Box::new(error)))?;
        Ok(grpc)
    }

    fn ended(&self) -> Trouble {
        Trouble::Lost(EtcdError::Other {
            endpoint: Arc::clone(&self.endpoint),
            code: tonic::Code::Unavailable,
            detail: "the stream has ended".into(),
        })
    }
}

fn tls_config(tls: &Tls) -> ClientTlsConfig {
    let mut config = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(&tls.ca));
    if let Some((certificate, key)) = &tls.identity {
        config = config.identity(Identity::from_pem(certificate, key));
    }
    if let Some(name) = &tls.server_name {
        config = config.domain_name(name);
    }
    config
}

/// How long to wait before the next member: not at all until every one has failed, then longer and longer.
#[derive(Debug)]
pub(super) struct Pauses {
    members: usize,
    failures: usize,
    pause: Duration,
}

impl Pauses {
    fn new(members: usize) -> Self {
        Self {
            members: members.max(1),
            failures: 0,
            pause: FIRST_PAUSE,
        }
    }

    pub(super) fn next(&mut self) -> Duration {
        self.failures = self.failures.wrapping_add(1);
        if !self.failures.is_multiple_of(self.members) {
            return Duration::ZERO;
        }
        let pause = self.pause;
        self.pause = (pause * 2).min(LONGEST_PAUSE);
        pause
    }
}
