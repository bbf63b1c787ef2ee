//! Starting, running and stopping the API server.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ::admission::{Caller, LimitRanges, Quotas, ValidatingPolicies, Webhooks};
use access::audit::AuditLog;
use access::authenticate::TokenAuthenticator;
use access::certificates::CertificateAdmission;
use access::creation::CreationCheck;
use access::escalation::EscalationCheck;
use access::keys::Keys;
use access::{Access, bootstrap, names, reviews, token_request, token_use};
use bytes::Bytes;
use futures_util::future::join_all;
use http::{Request, StatusCode};
use http_body_util::Full;
use listen::{Authority, Limits, Listener};
use runtime::{Clock, Tasks};
use serde_json::json;
use serve::cache;
use serve::call::Admission;
use serve::handler::Handlers;
use serve::resource::{Resource, Table};
use serve::server::{About, Server, Surroundings};
use store::Store;
use store::embedded::{self, Embedded};
use store::etcd::{self, Etcd};
use store::memory::Memory;
use tokio::sync::watch;

use crate::admission::MultiClusterAdmission;
use crate::agents::Confinement;
use crate::audit::Audit;
use crate::certificates::{self, Certificates, moment, server_names};
use crate::chores::{Chores, spawn_chore};
use crate::definitions::{self, EndingDefinitions};
use crate::errands::Errands;
use crate::front::Handle;
use crate::identity;
use crate::issuers::{self, Followed};
use crate::multicluster;
use crate::namespaces::NamespaceLifecycle;
use crate::own_service::advertised;
use crate::roles;
use crate::sealing::{self, SealingError, Unfinished};
use crate::security::Security;
use crate::sending::{self, Pace};
use crate::sharing::{self, SharingError};
use crate::surroundings::{Machine, uid};

/// The Kubernetes version clients are told: the one whose kinds are served.
const KUBERNETES_VERSION: &str = "v1.34.0";
/// Namespaces every Kubernetes API has, and those the multi-cluster kinds expect.
const NAMESPACES: [&str; 6] = [
    "default",
    "kube-system",
    "kube-public",
    "kube-node-lease",
    "karmada-system",
    "karmada-cluster",
];

/// How an API server is started.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it keeps its files, and everything else unless there is an etcd.
    pub data_dir: PathBuf,
    /// What keeps the objects.
    pub storage: Storage,
    /// Where it listens.
    pub listen: SocketAddr,
    /// Further names and addresses clients may reach it under.
    pub names: Vec<String>,
    /// How it protects what it keeps, and whom it believes.
    pub security: Security,
}

/// What keeps the objects.
#[derive(Clone, Debug)]
pub enum Storage {
    /// The data directory.
    Embedded,
    /// Nothing: objects last as long as the process, for tests and trials.
    Memory,
    /// An etcd that several replicas share.
    Etcd {
        /// Where it is and how to deal with it.
        options: Box<etcd::Options>,
        /// How much history to keep; `None` leaves compaction to etcd.
        compaction: Option<Duration>,
    },
}

/// How an API server is started that nobody reaches from outside the process: for tests of the whole product.
#[derive(Clone, Debug)]
pub struct Inside {
    /// Where keys are kept; a server that starts anew finds its own there.
    pub data_dir: PathBuf,
    /// What keeps the objects.
    pub store: Store,
    /// What time it is.
    pub clock: Clock,
}

/// What other parts of the product add to the API.
#[derive(Default)]
pub struct Extensions {
    /// Answer for kinds that are not stored and for parts of objects.
    pub handlers: Handlers,
    /// Further tables of roles, as `access::roles` reads them.
    pub roles: Vec<&'static str>,
    /// Further ways to know users by their tokens.
    pub authenticators: Vec<Arc<dyn TokenAuthenticator>>,
    /// Where requests are noted, if they are.
    pub audit: Option<Audit>,
}

/// An API server that is ready to run.
pub struct ApiServer {
    handle: Handle,
    store: Store,
    compaction: Option<Duration>,
    address: SocketAddr,
    /// Where requests come from outside, if they do.
    listener: Option<Listener>,
    certificates: Certificates,
    base: Table,
    /// Calls the webhooks that convert users' kinds.
    conversions: Arc<definitions::Conversions>,
    roles: Vec<access::roles::Expected>,
    /// Issuers whose keys are to be fetched.
    issuers: Vec<Followed>,
    quotas: Arc<Quotas>,
    /// Values to be encrypted anew.
    unfinished: Option<Unfinished>,
    approve_agents: bool,
}

/// Why an API server does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The data directory cannot be made or used.
    #[error("cannot use the data directory {}", path.display())]
    Directory {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The store does not open.
    #[error("cannot open the store")]
    Store(#[from] embedded::OpenError),
    /// There is no etcd to keep objects in.
    #[error("cannot use etcd")]
    Etcd(#[from] etcd::OpenError),
    /// The stored objects cannot be served.
    #[error("cannot serve what is stored")]
    Objects(#[from] serve::server::OpenError),
    /// There is no certificate authority.
    #[error("cannot use the certificate authority")]
    Authority(#[from] listen::AuthorityError),
    /// The server has no certificate to show.
    #[error("cannot use the server's certificate")]
    Identity(#[from] listen::IdentityError),
    /// The address cannot be listened on.
    #[error("cannot listen")]
    Listen(#[from] listen::BindError),
    /// There are no keys to sign service accounts' tokens with.
    #[error("cannot use the keys of service accounts")]
    Keys(#[from] access::keys::KeysError),
    /// What is stored cannot be encrypted, or not be read.
    #[error("cannot encrypt what is stored")]
    Sealing(#[from] SealingError),
    /// Servers on one etcd cannot be one.
    #[error("cannot share keys with the other servers on this etcd")]
    Sharing(#[from] SharingError),
    /// An issuer of tokens cannot be believed.
    #[error("cannot use the OIDC issuer")]
    Issuer(#[from] access::oidc::OidcError),
    /// The audit log cannot be written.
    #[error("cannot write the audit log")]
    Audit(#[source] io::Error),
    /// A table of roles that a part brought cannot be read.
    #[error("cannot read a table of roles")]
    Roles(#[from] access::roles::RolesError),
}

/// What a server is made from, wherever it came from.
struct Opened {
    data_dir: PathBuf,
    store: Store,
    compaction: Option<Duration>,
    address: SocketAddr,
    listener: Option<Listener>,
    names: Vec<String>,
    /// What certificates are made by, which counts more than seconds: there are some that last no longer.
    clock: Clock,
    /// What everything else goes by.
    surroundings: Arc<dyn Surroundings>,
    security: Security,
    unfinished: Option<Unfinished>,
}

/// What a server that listens nowhere calls itself.
const NOMINAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 6443);

impl ApiServer {
    /// Opens everything and takes the port; requests are answered once [`ApiServer::run`] has been called.
    pub async fn start(options: Options) -> Result<Self, StartError> {
        Self::start_with(options, Extensions::default()).await
    }

    /// The same, with what other parts of the product add.
    pub async fn start_with(options: Options, extensions: Extensions) -> Result<Self, StartError> {
        let clock = Clock::system();
        Self::start_among(options, extensions, Arc::new(Machine { clock })).await
    }

    /// The same, with time and chance in the hands of a test.
    pub async fn start_among(
        options: Options,
        extensions: Extensions,
        surroundings: Arc<dyn Surroundings>,
    ) -> Result<Self, StartError> {
        let data_dir = options.data_dir;
        directory(data_dir.join("pki"))?;
        // The port first: a second server on the same address should not get as far as the store.
        let listener = Listener::bind(options.listen).await?;
        let (store, compaction) = match options.storage {
            Storage::Embedded => {
                let place = directory(data_dir.join("store"))?;
                (
                    Store::Embedded(Embedded::open(&place, embedded::Options::default())?),
                    None,
                )
            }
            Storage::Memory => (
                Store::Memory(Memory::new(embedded::Retention::default())),
                None,
            ),
            Storage::Etcd {
                options,
                compaction,
            } => (Store::Etcd(Etcd::connect(*options).await?), compaction),
        };
        let security = options.security;
        let (store, unfinished) = protect(store, &data_dir.join("pki"), &security).await?;
        let opened = Opened {
            data_dir,
            store,
            compaction,
            address: listener.address(),
            listener: Some(listener),
            names: options.names,
            clock: Clock::system(),
            surroundings,
            security,
            unfinished,
        };
        Self::assemble(opened, extensions).await
    }

    /// Opens a server that listens nowhere. Requests come through its [`Handle`].
    pub async fn start_inside(inside: Inside, extensions: Extensions) -> Result<Self, StartError> {
        directory(inside.data_dir.join("pki"))?;
        let opened = Opened {
            data_dir: inside.data_dir,
            store: inside.store,
            compaction: None,
            address: NOMINAL,
            listener: None,
            names: Vec::new(),
            clock: inside.clock.clone(),
            surroundings: Arc::new(Machine {
                clock: inside.clock,
            }),
            security: Security::default(),
            unfinished: None,
        };
        Self::assemble(opened, extensions).await
    }

    async fn assemble(opened: Opened, extensions: Extensions) -> Result<Self, StartError> {
        let Opened {
            data_dir,
            store,
            compaction,
            address,
            listener,
            names,
            clock,
            surroundings,
            security,
            unfinished,
        } = opened;
        let pki = data_dir.join("pki");
        let now = moment(clock.now_micros());
        let authority = match &security.authority {
            Some(files) => Authority::load(&files.certificate, &files.key, now)?,
            None => Authority::open(&pki, now)?,
        };
        let certificates = Certificates::issue(
            authority,
            server_names(address, &names),
            data_dir.join("kubeconfig"),
            address,
            security.lifetimes,
            clock,
        )?;
        let base = base_table(&security.encryption.resources);
        let about = About {
            version: KUBERNETES_VERSION.to_owned(),
            address: address.to_string(),
        };
        let admission = Arc::new(MultiClusterAdmission::new(Arc::clone(&surroundings)));
        let namespaces = Arc::new(NamespaceLifecycle::default());
        let ending = Arc::new(EndingDefinitions::default());
        let limits = Arc::new(LimitRanges::new(Arc::clone(&surroundings)));
        let creation = Arc::new(CreationCheck::default());
        let escalation = Arc::new(EscalationCheck::default());
        let signing = Arc::new(CertificateAdmission::new(Arc::clone(&surroundings)));
        let caller = Caller::default();
        let webhooks = Arc::new(Webhooks::new(caller.clone(), Arc::clone(&surroundings)));
        let judging = Arc::new(ValidatingPolicies::default());
        let quotas = Arc::new(Quotas::new(Arc::clone(&surroundings)));
        // What may not be made is shown to nobody. Then the product's own rules: users' webhooks and policies see what
        // will be stored. Who asks for a certificate is noted before they see it, and once more whatever they made of it.
        // Quotas last: what somebody else refuses takes no room.
        let hooks: Vec<Arc<dyn Admission>> = vec![
            Arc::new(Errands) as Arc<dyn Admission>,
            Arc::new(Confinement) as Arc<dyn Admission>,
            Arc::clone(&creation) as Arc<dyn Admission>,
            Arc::clone(&namespaces) as Arc<dyn Admission>,
            Arc::clone(&ending) as Arc<dyn Admission>,
            Arc::clone(&limits) as Arc<dyn Admission>,
            Arc::clone(&admission) as Arc<dyn Admission>,
            Arc::clone(&escalation) as Arc<dyn Admission>,
            Arc::clone(&signing) as Arc<dyn Admission>,
            Arc::clone(&judging) as Arc<dyn Admission>,
            Arc::clone(&webhooks) as Arc<dyn Admission>,
            Arc::clone(&signing) as Arc<dyn Admission>,
            Arc::clone(&quotas) as Arc<dyn Admission>,
        ];
        let host = about.address.clone();
        let server = Server::open(
            store.clone(),
            base.clone(),
            hooks,
            Arc::clone(&surroundings),
            about,
        )
        .await?;
        let issuers = issuers::believe(&security.issuers, &surroundings, &caller)?;
        let mut further = extensions.authenticators;
        further.extend(issuers.iter().map(Followed::authenticator));
        let access_options = access::Options {
            further,
            ..access::Options::new(Keys::open(&pki)?)
        };
        let checking = certificates::check(certificates.authority(), Arc::clone(&surroundings));
        let access = Arc::new(Access::new(server.cache(), access_options, surroundings));
        namespaces.look_into(server.cache());
        ending.look_into(server.cache());
        limits.look_into(server.cache());
        quotas.look_into(server.cache());
        admission.look_into(server.cache());
        creation.judge_by(&access);
        escalation.judge_by(&access);
        signing.judge_by(&access);
        let asker = Arc::new(access.answers());
        webhooks.look_into(server.cache(), Arc::clone(&asker) as _);
        let mut handlers = extensions.handlers;
        kinds::calls::insert_pod_calls(&mut handlers, names::apiserver());
        kinds::calls::insert_calls_to_nodes(&mut handlers);
        reviews::insert(&mut handlers, &access);
        token_request::insert(&mut handlers, &access);
        handlers.insert_check("ca", checking);
        let roles = roles::expected(&extensions.roles)?;
        let audit = match (extensions.audit, security.audit) {
            (Some(audit), _) => Some(audit),
            (None, Some((policy, log))) => Some(open_audit(policy, log)?),
            (None, None) => None,
        };
        let server = Arc::new(server.with_handlers(handlers));
        judging.look_into(&server, asker);
        admission.write_through(&server);
        let handle = Handle::new(server, access, audit, store.clone(), host, admission);
        Ok(Self {
            handle,
            store,
            compaction,
            address,
            listener,
            certificates,
            base,
            conversions: Arc::new(definitions::Conversions(caller)),
            roles,
            issuers,
            quotas,
            unfinished,
            approve_agents: security.approve_agents,
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The administrator's kubeconfig.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        self.certificates.kubeconfig()
    }

    /// The server for those inside the process. It answers once [`ApiServer::run`] has been called.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// The authority that certificates come from.
    #[must_use]
    pub fn authority_pem(&self) -> &str {
        self.certificates.authority().certificate_pem()
    }

    /// Hands the server's tasks over and makes the namespaces and roles everybody expects.
    pub async fn run(self, tasks: &mut Tasks) -> Result<(), StartError> {
        let Self {
            handle,
            store,
            compaction,
            address,
            listener,
            certificates,
            base,
            conversions,
            roles,
            issuers,
            quotas,
            unfinished,
            approve_agents,
        } = self;
        let server = Arc::clone(handle.server());
        let tls = certificates.tls_config()?;
        let fed = Arc::clone(&server);
        tasks.spawn("cache feed", |stop| async move {
            tokio::select! {
                () = stop.cancelled() => {}
                Err(error) = fed.feed() => tracing::error!(%error, "the store can no longer be followed"),
            }
        });
        if let (Store::Etcd(etcd), Some(keep)) = (store.engine(), compaction) {
            let etcd = etcd.clone();
            tasks.spawn("etcd compaction", |stop| async move {
                tokio::select! {
                    () = stop.cancelled() => {}
                    () = etcd.compact_regularly(keep) => {}
                }
            });
        }
        join_all(NAMESPACES.map(|namespace| create_namespace(&server, namespace))).await;
        let written = bootstrap::ensure(&server, roles).await;
        tracing::debug!(written, "roles and bindings are complete");
        let (announce, tables) = watch::channel(false);
        let mut all_kinds = tables.clone();
        let chores = Chores {
            handle: handle.clone(),
            authority: Arc::clone(certificates.authority()),
            quotas,
            address,
            // Nobody reaches a server that listens nowhere.
            advertised: listener.is_some().then(|| advertised(address)).flatten(),
            approve_agents,
            tables,
        };
        if matches!(store.engine(), Store::Etcd(_)) {
            chores.stand(&tasks.spawner());
        } else {
            chores.start_alone(&tasks.spawner());
        }
        let defined = Arc::clone(&server);
        tasks.spawn("definitions", |stop| {
            definitions::follow(defined, base, conversions, announce, stop)
        });
        // Whoever asks for objects of a defined kind before it is served would take them for gone. It ends with the process.
        _ = all_kinds.wait_for(|complete| *complete).await;
        let spawner = tasks.spawner();
        spawn_chore(&spawner, "authority's end", certificates.warnings());
        spawn_chore(&spawner, "certificate renewal", certificates.renew());
        let noting = token_use::follow(Arc::clone(&server), Arc::clone(handle.access()));
        spawn_chore(&spawner, "uses of tokens", noting);
        for issuer in issuers {
            spawn_chore(&spawner, "issuer of tokens", issuer.follow());
        }
        if let Some(unfinished) = unfinished {
            tasks
                .spawner()
                .spawn_brief("encryption", |stop| async move {
                    tokio::select! {
                        () = stop.cancelled() => {}
                        () = unfinished.finish() => {}
                    }
                });
        }
        if let Some(audit) = handle.front().audit() {
            let log = audit.log.clone();
            tasks.spawn("audit log", |stop| async move {
                stop.cancelled().await;
                log.flush().await;
            });
        }
        let Some(listener) = listener else {
            return Ok(());
        };
        let holding = identity::hold(Arc::clone(&server), address, uid());
        spawn_chore(&spawner, "identity", holding);
        tasks.spawn("listener", |stop| async move {
            let front = Arc::clone(handle.front());
            let handler = move |request| {
                let front = Arc::clone(&front);
                async move { sending::send(front.answer(request).await) }
            };
            let limits = Limits::default();
            let serving = listener.serve_carried(tls, limits, handler, Pace::default, stop);
            serving.await;
        });
        Ok(())
    }
}

/// Encrypts what is kept on disk or in etcd, and shares keys with other servers there.
async fn protect(
    store: Store,
    pki: &Path,
    security: &Security,
) -> Result<(Store, Option<Unfinished>), StartError> {
    if matches!(store, Store::Memory(_)) {
        return Ok((store, None));
    }
    let opened = sealing::open(store, pki, &security.encryption).await?;
    let is_sealed = matches!(opened.store, Store::Sealed(_));
    // Keys go through the store only if nobody reads them there.
    if is_sealed && matches!(opened.store.engine(), Store::Etcd(_)) {
        sharing::share(&opened.store, pki, security.authority.is_none()).await?;
    }
    Ok((opened.store, opened.unfinished))
}

/// Opens the audit log and starts what writes it.
fn open_audit(
    policy: access::audit::AuditPolicy,
    options: access::audit::LogOptions,
) -> Result<Audit, StartError> {
    let (log, writer) = AuditLog::open(options).map_err(StartError::Audit)?;
    std::thread::Builder::new()
        .name("audit log".to_owned())
        .spawn(writer)
        .map_err(StartError::Audit)?;
    // A work carries copies of Secrets, a cluster the headers for its proxy.
    let policy = policy.hiding(&[
        ("work.karmada.io", "works", "Work"),
        ("cluster.karmada.io", "clusters", "Cluster"),
    ]);
    Ok(Audit { policy, log })
}

/// Makes a directory nobody else looks into.
fn directory(path: PathBuf) -> Result<PathBuf, StartError> {
    match listen::private_directory(&path) {
        Ok(()) => Ok(path),
        Err(source) => Err(StartError::Directory { path, source }),
    }
}

/// What is always served. What is encrypted where it is kept is not repeated in refusals either, nor are the kinds
/// that have something to hide however they are kept.
fn base_table(encrypted: &[String]) -> Table {
    let mut table = Table::default();
    for name in encrypted.iter().map(String::as_str).chain(SECRET) {
        let (plural, group) = name.split_once('.').unwrap_or((name, ""));
        table.keep_secret(group, plural);
    }
    for resource in compiled_in() {
        table.insert(resource);
    }
    table
}

fn compiled_in() -> impl Iterator<Item = Resource> {
    let templates = kinds::template_resources().into_iter();
    templates.chain(multicluster::resources())
}

/// The resources that are compiled in and can be encrypted at rest, as `plural` or `plural.group`: those whose objects
/// are kept, and kept under their own name.
#[must_use]
pub fn encryptable() -> BTreeSet<String> {
    let kept = compiled_in().filter(|resource| {
        let own = cache::name_of(&resource.group, &resource.plural);
        resource.rules.is_stored() && *resource.collection == *own
    });
    kept.map(|resource| match &*resource.group {
        "" => resource.plural.to_string(),
        group => format!("{}.{group}", resource.plural),
    })
    .collect()
}

/// Secrets, the works that carry copies of them, and the clusters with what is shown to the proxies before them.
const SECRET: [&str; 3] = [
    "secrets",
    "works.work.karmada.io",
    "clusters.cluster.karmada.io",
];

async fn create_namespace(server: &Server, name: &str) {
    let body = json!({"metadata": {"name": name}}).to_string();
    let request = Request::post("/api/v1/namespaces").body(Full::new(Bytes::from(body)));
    let Ok(request) = request else { return };
    let response = server.answer(names::apiserver(), request).await;
    if !matches!(
        response.status(),
        StatusCode::CREATED | StatusCode::CONFLICT
    ) {
        tracing::warn!(namespace = name, status = %response.status(), "namespace not created");
    }
}
