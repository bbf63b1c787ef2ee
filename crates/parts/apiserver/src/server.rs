//! Starting, running and stopping the API server.

use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use api::well_known::feature_gates::FeatureGates;
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use listen::{Authority, Issued, Limits, Listener, Peer, ServerIdentity, Subject};
use runtime::Tasks;
use serde_json::json;
use serve::body::{self, Body};
use serve::call::{Admission, User};
use serve::negotiate::Encoding;
use serve::resource::Table;
use serve::server::{About, Server};
use serve::status::Status;
use store::Store;
use store::embedded::{self, Embedded};
use store::etcd::{self, Etcd};

use crate::access::{self, MASTERS};
use crate::admission::MultiClusterAdmission;
use crate::definitions;
use crate::kubeconfig;
use crate::multicluster;
use crate::namespaces::NamespaceLifecycle;
use crate::snapshot;
use crate::surroundings::Machine;

/// The Kubernetes version clients are told: the one whose kinds are served.
const KUBERNETES_VERSION: &str = "v1.34.0";
/// How long the server's certificate lasts; it is replaced at two thirds of that.
const SERVER_LIFE: Duration = Duration::from_secs(90 * 24 * 3600);
/// How long the administrator's certificate lasts. It is made anew at every start.
const ADMIN_LIFE: Duration = Duration::from_secs(365 * 24 * 3600);
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
    /// An etcd that several replicas share.
    Etcd {
        /// Where it is and how to deal with it.
        options: Box<etcd::Options>,
        /// How much history to keep; `None` leaves compaction to etcd.
        compaction: Option<Duration>,
    },
}

/// An API server that is ready to run.
pub struct ApiServer {
    server: Arc<Server>,
    store: Store,
    compaction: Option<Duration>,
    listener: Listener,
    authority: Authority,
    identity: ServerIdentity,
    issued: Issued,
    names: Vec<String>,
    kubeconfig: PathBuf,
    base: Table,
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
}

impl ApiServer {
    /// Opens everything and takes the port; requests are answered once [`ApiServer::run`] has been called.
    pub async fn start(options: Options) -> Result<Self, StartError> {
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
            Storage::Etcd {
                options,
                compaction,
            } => (Store::Etcd(Etcd::connect(*options).await?), compaction),
        };
        let authority = Authority::open(&pki, SystemTime::now())?;
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
        let hooks: Vec<Arc<dyn Admission>> = vec![
            Arc::clone(&namespaces) as Arc<dyn Admission>,
            Arc::clone(&admission) as Arc<dyn Admission>,
        ];
        let server = Server::open(store.clone(), base.clone(), hooks, surroundings, about).await?;
        namespaces.look_into(server.cache());
        admission.look_into(server.cache());
        let kubeconfig = options.data_dir.join("kubeconfig");
        write_kubeconfig(&kubeconfig, &authority, listener.address())?;
        let server = Arc::new(server);
        Ok(Self {
            server,
            store,
            compaction,
            listener,
            authority,
            identity,
            issued,
            names,
            kubeconfig,
            base,
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

    /// Hands the server's tasks over and makes the namespaces everybody expects.
    pub async fn run(self, tasks: &mut Tasks) -> Result<(), StartError> {
        let Self {
            server,
            store,
            compaction,
            listener,
            authority,
            identity,
            issued,
            names,
            base,
            ..
        } = self;
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
        for namespace in NAMESPACES {
            create_namespace(&server, namespace).await;
        }
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
            let handler = move |request| answer(Arc::clone(&server), store.clone(), request);
            listener.serve(tls, Limits::default(), handler, stop).await;
        });
        Ok(())
    }
}

async fn answer(server: Arc<Server>, store: Store, request: Request<Incoming>) -> Response<Body> {
    let peer = request.extensions().get::<Peer>();
    let user = match access::admit(peer, request.method(), request.uri().path()) {
        Ok(user) => user,
        Err(status) => return body::refusal(&status, Encoding::Json),
    };
    if request.method() == Method::GET && request.uri().path() == snapshot::PATH {
        return match store {
            Store::Embedded(store) => snapshot::stream(store),
            Store::Memory(_) => body::refusal(&in_memory(), Encoding::Json),
            Store::Etcd(_) => body::refusal(&in_etcd(), Encoding::Json),
        };
    }
    server.answer(user, request).await
}

/// What is in memory alone is not meant to last.
fn in_memory() -> Status {
    Status::bad_request("objects are kept in memory only; there is nothing to save them from")
}

/// What is kept in etcd is saved with etcd's own tools, which save all of it at one revision.
fn in_etcd() -> Status {
    Status::bad_request("objects are kept in etcd; save them with etcdctl snapshot save")
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
    let user = User {
        name: "system:apiserver".to_owned(),
        groups: vec![MASTERS.to_owned()],
        ..User::default()
    };
    let response = server.answer(user, request).await;
    if !matches!(
        response.status(),
        StatusCode::CREATED | StatusCode::CONFLICT
    ) {
        tracing::warn!(namespace = name, status = %response.status(), "namespace not created");
    }
}

fn issue_server(authority: &Authority, names: &[String]) -> Result<Issued, StartError> {
    let subject = Subject::Server {
        names: names.to_vec(),
    };
    Ok(authority.issue(&subject, SERVER_LIFE, SystemTime::now())?)
}

/// Replaces the server's certificate at two thirds of its life, for ever.
async fn renew(authority: &Authority, identity: &ServerIdentity, first: &Issued, names: &[String]) {
    /// How long to wait after a failure; there is a third of a certificate's life left by then.
    const RETRY: Duration = Duration::from_secs(60);
    let mut renew_at = first.renew_at;
    loop {
        let wait = renew_at
            .duration_since(SystemTime::now())
            .unwrap_or_default();
        tokio::time::sleep(wait).await;
        let renewed =
            issue_server(authority, names).map(|issued| (identity.replace(&issued), issued));
        match renewed {
            Ok((Ok(()), issued)) => {
                tracing::info!("server certificate renewed");
                renew_at = issued.renew_at;
            }
            Ok((Err(error), _)) => {
                tracing::error!(%error, "server certificate not renewed");
                renew_at = SystemTime::now() + RETRY;
            }
            Err(error) => {
                tracing::error!(%error, "server certificate not renewed");
                renew_at = SystemTime::now() + RETRY;
            }
        }
    }
}

fn write_kubeconfig(
    path: &Path,
    authority: &Authority,
    address: SocketAddr,
) -> Result<(), StartError> {
    let admin = Subject::User {
        name: "karavel-admin".to_owned(),
        group: Some(MASTERS.to_owned()),
    };
    let client = authority.issue(&admin, ADMIN_LIFE, SystemTime::now())?;
    let server = format!("https://{}", reachable(address));
    let document = kubeconfig::document(&server, authority.certificate_pem(), &client);
    kubeconfig::write(path, &document).map_err(|source| StartError::Directory {
        path: path.to_owned(),
        source,
    })
}

/// An address one can connect to: an unspecified one is reached on this machine.
fn reachable(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => {
            SocketAddr::new([127, 0, 0, 1].into(), address.port())
        }
        IpAddr::V6(ip) if ip.is_unspecified() => {
            SocketAddr::new(std::net::Ipv6Addr::LOCALHOST.into(), address.port())
        }
        _ => address,
    }
}

fn server_names(address: SocketAddr, further: &[String]) -> Vec<String> {
    let usual = [
        "localhost",
        "127.0.0.1",
        "::1",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
    ];
    let mut names: Vec<String> = usual.iter().map(ToString::to_string).collect();
    if !address.ip().is_unspecified() {
        names.push(address.ip().to_string());
    }
    names.extend(further.iter().cloned());
    names.sort();
    names.dedup();
    names
}
