//! Starting, running and stopping the API server.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use access::authenticate::TokenAuthenticator;
use access::certificates::{self as requests, CertificateAdmission};
use access::cluster_info;
use access::escalation::EscalationCheck;
use access::keys::Keys;
use access::{Access, account_chores, bootstrap, names, reviews, token_request};
use api::well_known::feature_gates::FeatureGates;
use bytes::Bytes;
use futures_util::future::join_all;
use http::{Request, StatusCode};
use http_body_util::Full;
use listen::{Authority, Issued, Limits, Listener, ServerIdentity};
use runtime::Tasks;
use serde_json::json;
use serve::call::Admission;
use serve::handler::Handlers;
use serve::resource::Table;
use serve::server::{About, Server};
use store::Store;
use store::embedded::{self, Embedded};
use store::etcd::{self, Etcd};
use store::memory::Memory;

use crate::admission::MultiClusterAdmission;
use crate::audit::Audit;
use crate::certificates::{issue_server, reachable, renew, server_names, write_kubeconfig};
use crate::definitions;
use crate::front::Handle;
use crate::kubeconfig;
use crate::multicluster;
use crate::namespaces::NamespaceLifecycle;
use crate::roles;
use crate::surroundings::Machine;

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
    listener: Listener,
    authority: Arc<Authority>,
    identity: ServerIdentity,
    issued: Issued,
    names: Vec<String>,
    kubeconfig: PathBuf,
    base: Table,
    roles: Vec<access::roles::Expected>,
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
    /// A table of roles that a part brought cannot be read.
    #[error("cannot read a table of roles")]
    Roles(#[from] access::roles::RolesError),
}

impl ApiServer {
    /// Opens everything and takes the port; requests are answered once [`ApiServer::run`] has been called.
    pub async fn start(options: Options) -> Result<Self, StartError> {
        Self::start_with(options, Extensions::default()).await
    }

    /// The same, with what other parts of the product add.
    pub async fn start_with(options: Options, extensions: Extensions) -> Result<Self, StartError> {
        let directory = |path: PathBuf| {
            fs::create_dir_all(&path)
                .map_err(|source| StartError::Directory {
                    path: path.clone(),
                    source,
                })
                .map(|()| path)
        };
        let pki = directory(options.data_dir.join("pki"))?;
        // The port first: a second server on the same address should not get as far as the store.
        let listener = Listener::bind(options.listen).await?;
        let (store, compaction) = match options.storage {
            Storage::Embedded => {
                let place = directory(options.data_dir.join("store"))?;
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
        let authority = Arc::new(Authority::open(&pki, SystemTime::now())?);
        let names = server_names(listener.address(), &options.names);
        let issued = issue_server(&authority, &names)?;
        let identity = ServerIdentity::new(&issued)?;
        let base = base_table();
        let about = About {
            version: KUBERNETES_VERSION.to_owned(),
            address: listener.address().to_string(),
        };
        let surroundings = Arc::new(Machine);
        let admission = Arc::new(MultiClusterAdmission::new(FeatureGates::default()));
        let namespaces = Arc::new(NamespaceLifecycle::default());
        let escalation = Arc::new(EscalationCheck::default());
        let certificates = Arc::new(CertificateAdmission::default());
        let hooks: Vec<Arc<dyn Admission>> = vec![
            Arc::clone(&namespaces) as Arc<dyn Admission>,
            Arc::clone(&admission) as Arc<dyn Admission>,
            Arc::clone(&escalation) as Arc<dyn Admission>,
            Arc::clone(&certificates) as Arc<dyn Admission>,
        ];
        let address = about.address.clone();
        let server = Server::open(
            store.clone(),
            base.clone(),
            hooks,
            Arc::clone(&surroundings) as _,
            about,
        )
        .await?;
        let access_options = access::Options {
            further: extensions.authenticators,
            ..access::Options::new(Keys::open(&pki)?)
        };
        let access = Arc::new(Access::new(server.cache(), access_options, surroundings));
        namespaces.look_into(server.cache());
        admission.look_into(server.cache());
        escalation.judge_by(&access);
        certificates.judge_by(&access);
        let mut handlers = extensions.handlers;
        reviews::insert(&mut handlers, &access);
        token_request::insert(&mut handlers, &access);
        let roles = roles::expected(&extensions.roles)?;
        let kubeconfig = options.data_dir.join("kubeconfig");
        write_kubeconfig(&kubeconfig, &authority, listener.address())?;
        let server = Arc::new(server.with_handlers(handlers));
        let handle = Handle::new(server, access, extensions.audit, store.clone(), address);
        Ok(Self {
            handle,
            store,
            compaction,
            listener,
            authority,
            identity,
            issued,
            names,
            kubeconfig,
            base,
            roles,
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// The administrator's kubeconfig.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// The server for those inside the process. It answers once [`ApiServer::run`] has been called.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// The authority that certificates come from.
    #[must_use]
    pub fn authority_pem(&self) -> &str {
        self.authority.certificate_pem()
    }

    /// Hands the server's tasks over and makes the namespaces and roles everybody expects.
    pub async fn run(self, tasks: &mut Tasks) -> Result<(), StartError> {
        let Self {
            handle,
            store,
            compaction,
            listener,
            authority,
            identity,
            issued,
            names,
            base,
            roles,
            ..
        } = self;
        let server = Arc::clone(handle.server());
        let tls = identity.tls_config(authority.certificate_pem())?;
        let fed = Arc::clone(&server);
        tasks.spawn("cache feed", |stop| async move {
            tokio::select! {
                () = stop.cancelled() => {}
                Err(error) = fed.feed() => tracing::error!(%error, "the store can no longer be followed"),
            }
        });
        if let (Store::Etcd(etcd), Some(keep)) = (&store, compaction) {
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
        let public = kubeconfig::public(
            &format!("https://{}", reachable(listener.address())),
            authority.certificate_pem(),
        );
        spawn_chore(
            tasks,
            "service accounts",
            account_chores::follow(
                Arc::clone(&server),
                Arc::clone(handle.access()),
                authority.certificate_pem().to_owned(),
            ),
        );
        spawn_chore(
            tasks,
            "certificate requests",
            requests::follow(Arc::clone(&server), Arc::clone(&authority)),
        );
        spawn_chore(
            tasks,
            "cluster-info",
            cluster_info::follow(Arc::clone(&server), public),
        );
        let defined = Arc::clone(&server);
        tasks.spawn("definitions", |stop| {
            definitions::follow(defined, base, stop)
        });
        tasks.spawn("certificate renewal", |stop| async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = renew(&authority, &identity, &issued, &names) => {}
            }
        });
        tasks.spawn("listener", |stop| async move {
            let front = Arc::clone(handle.front());
            let handler = move |request| {
                let front = Arc::clone(&front);
                async move { front.answer(request).await }
            };
            listener.serve(tls, Limits::default(), handler, stop).await;
        });
        Ok(())
    }
}

/// Starts a task that never ends by itself.
fn spawn_chore(tasks: &mut Tasks, name: &str, chore: impl Future<Output = ()> + Send + 'static) {
    tasks.spawn(name, |stop| async move {
        tokio::select! {
            () = stop.cancelled() => {}
            () = chore => {}
        }
    });
}

fn base_table() -> Table {
    let mut table = Table::default();
    for resource in kinds::builtin_resources()
        .into_iter()
        .chain(multicluster::resources())
    {
        table.insert(resource);
    }
    table
}

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
