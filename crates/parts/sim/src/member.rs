//! One simulated cluster inside the process.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::ArcSwap;
use http::{Request, Response};
use runtime::{CancellationToken, Clock, Spawner};
use serve::body::Body;
use serve::call::{Admission, User};
use serve::server::{About, Server};
use store::Store;
use store::embedded::{self, Embedded};
use store::memory::Memory;
use tokio::sync::{mpsc, oneshot, watch};

use access::access::{Access, Options};
use access::creation::CreationCheck;
use access::escalation::EscalationCheck;
use access::keys::{Keys, KeysError};
use access::{account_chores, root_authority};
use admission::{LimitRanges, Quotas, ValidatingPolicies};

use crate::admission::{ClusterAdmission, ServiceAddresses};
use crate::behaviour::Rules;
use crate::config::{Data, MemberConfig, Shape};
use crate::engine::Engine;
use crate::faults::Faults;
use crate::front;
use crate::parts::{self, Means};
use crate::sessions::Sessions;
use crate::surroundings::MemberSurroundings;
use crate::tables;

/// A simulated cluster. Clones are the same cluster.
#[derive(Clone)]
pub struct Member {
    inner: Arc<Inner>,
}

struct Inner {
    config: MemberConfig,
    shape: Arc<Shape>,
    rules: Arc<Rules>,
    clock: Clock,
    spawner: Spawner,
    faults: Faults,
    sessions: Sessions,
    /// The server of the moment: a restart puts another in its place.
    present: ArcSwap<Present>,
    restarts: mpsc::Sender<Restart>,
    ready: watch::Sender<bool>,
}

/// What a restart replaces.
pub(crate) struct Present {
    pub(crate) server: Arc<Server>,
    pub(crate) access: Arc<Access>,
    pub(crate) store: Store,
    quotas: Arc<Quotas>,
    /// Told when a restart ends it: calls and streams end then.
    pub(crate) over: CancellationToken,
}

/// A restart somebody waits for.
struct Restart {
    keep_data: bool,
    done: oneshot::Sender<()>,
}

/// Why a member does not open.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Its directory cannot be made.
    #[error("cannot use the data directory {}", path.display())]
    Directory {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Its store does not open.
    #[error("cannot open the store")]
    Store(#[from] embedded::OpenError),
    /// What is stored cannot be served.
    #[error("cannot serve what is stored")]
    Objects(#[from] serve::server::OpenError),
    /// There is no key to sign tokens with.
    #[error("cannot use the key of service accounts")]
    Keys(#[from] KeysError),
    /// The member was stopped while it was opening.
    #[error("the member was stopped")]
    Stopped,
}

/// Restarts that wait; a second one waits for the first.
const RESTARTS: usize = 4;

impl Member {
    /// Opens a member and starts its one task. It answers, and has its namespaces and nodes, when this returns.
    pub async fn open(
        config: MemberConfig,
        clock: Clock,
        spawner: &Spawner,
    ) -> Result<Self, OpenError> {
        let rules = Arc::new(config.rules.clone().before(Rules::defaults()));
        let (faults, sessions) = (Faults::default(), Sessions::default());
        let means = Means {
            rules: &rules,
            clock: &clock,
            spawner,
            faults: &faults,
            sessions: &sessions,
        };
        let present = present(&config, &means, None).await?;
        let (restarts, orders) = mpsc::channel(RESTARTS);
        let shape = Arc::new(config.shape());
        let inner = Arc::new(Inner {
            config,
            shape,
            rules,
            clock,
            spawner: spawner.clone(),
            faults,
            sessions,
            present: ArcSwap::from_pointee(present),
            restarts,
            ready: watch::Sender::new(false),
        });
        let mut ready = inner.ready.subscribe();
        let (name, living) = (inner.config.name.clone(), Arc::clone(&inner));
        spawner.spawn(format!("member {name}"), |stop| live(living, orders, stop));
        ready
            .wait_for(|ready| *ready)
            .await
            .map_err(|_| OpenError::Stopped)?;
        Ok(Self { inner })
    }

    /// The cluster's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.config.name
    }

    /// What is wrong with it, to be changed at will.
    #[must_use]
    pub fn faults(&self) -> &Faults {
        &self.inner.faults
    }

    /// The server of the moment, past all faults: for tests and tools that look at a member from inside.
    #[must_use]
    pub fn server(&self) -> Arc<Server> {
        Arc::clone(&self.inner.present.load().server)
    }

    /// The clock the member dates by.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.inner.clock
    }

    /// Answers a request of a known user, as far as faults and roles let it.
    pub async fn answer<B>(&self, user: User, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let present = self.inner.present.load_full();
        front::answer(self, &present, Some(user), request).await
    }

    /// Answers a request from outside: who sends it is in its certificate or token.
    pub async fn answer_stranger<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let present = self.inner.present.load_full();
        front::answer(self, &present, None, request).await
    }

    /// Stops everything and starts anew, with what was stored or without; heals all faults.
    pub async fn restart(&self, keep_data: bool) -> Result<(), OpenError> {
        let (done, wait) = oneshot::channel();
        let order = Restart { keep_data, done };
        self.inner
            .restarts
            .send(order)
            .await
            .map_err(|_| OpenError::Stopped)?;
        wait.await.map_err(|_| OpenError::Stopped)
    }
}

/// What a member in memory keeps through a restart with its data: its objects, and the keys of the tokens it gave out.
struct Kept {
    store: Store,
    keys: Keys,
}

/// Opens store, server and gate.
async fn present(
    config: &MemberConfig,
    means: &Means<'_>,
    kept: Option<Kept>,
) -> Result<Present, OpenError> {
    let directory = |path: PathBuf| {
        listen::private_directory(&path)
            .map_err(|source| OpenError::Directory {
                path: path.clone(),
                source,
            })
            .map(|()| path)
    };
    let Kept { store, keys } = match (kept, &config.data) {
        (Some(kept), _) => kept,
        (None, Data::Memory) => Kept {
            store: Store::Memory(Memory::new(config.retention())),
            keys: Keys::ephemeral()?,
        },
        (None, Data::Directory(path)) => {
            let keys = Keys::open(&directory(path.join("pki"))?)?;
            let path = directory(path.join("store"))?;
            let store = Embedded::open(&path, embedded::Options::default())?;
            Kept {
                store: Store::Embedded(store),
                keys,
            }
        }
    };
    let clock = means.clock;
    let surroundings = Arc::new(MemberSurroundings {
        clock: clock.clone(),
    });
    let cluster = Arc::new(ClusterAdmission::default());
    let limits = Arc::new(LimitRanges::new(Arc::clone(&surroundings) as _));
    let addresses = Arc::new(ServiceAddresses::new(Arc::clone(&surroundings) as _));
    let creation = Arc::new(CreationCheck::default());
    let escalation = Arc::new(EscalationCheck::default());
    let judging = Arc::new(ValidatingPolicies::default());
    let quotas = Arc::new(Quotas::new(Arc::clone(&surroundings) as _));
    // Webhooks are not asked: no pod of a member answers, and what they are needed for would be refused.
    // Who may make something is asked first, quotas last: they count what the others let through.
    let hooks: Vec<Arc<dyn Admission>> = vec![
        Arc::clone(&creation) as _,
        Arc::clone(&limits) as _,
        Arc::clone(&cluster) as _,
        Arc::clone(&addresses) as _,
        Arc::clone(&escalation) as _,
        Arc::clone(&judging) as _,
        Arc::clone(&quotas) as _,
    ];
    let about = About {
        version: config.version.clone(),
        address: format!("{}.sim:6443", config.name),
    };
    let table = tables::base().clone();
    let server = Server::open(
        store.clone(),
        table,
        hooks,
        Arc::clone(&surroundings) as _,
        about,
    )
    .await?;
    let gate = Arc::new(Access::new(
        server.cache(),
        Options::new(keys),
        surroundings,
    ));
    creation.judge_by(&gate);
    escalation.judge_by(&gate);
    cluster.look_into(server.cache());
    limits.look_into(server.cache());
    addresses.look_into(server.cache());
    quotas.look_into(server.cache());
    let server = Arc::new(server.with_handlers(parts::handlers(&gate, means)));
    judging.look_into(&server, Arc::new(gate.answers()));
    Ok(Present {
        server,
        access: gate,
        store,
        quotas,
        over: CancellationToken::new(),
    })
}

/// The member's one task: the cache's feed and the engine, side by side.
async fn live(inner: Arc<Inner>, mut orders: mpsc::Receiver<Restart>, stop: CancellationToken) {
    let mut waiting: Option<oneshot::Sender<()>> = None;
    loop {
        let present = inner.present.load_full();
        let running = async {
            parts::found(&present.server).await;
            let engine = Engine::new(
                Arc::clone(&present.server),
                inner.clock.clone(),
                Arc::clone(&inner.shape),
                Arc::clone(&inner.rules),
                inner.faults.clone(),
                inner.sessions.clone(),
                Arc::clone(&present.quotas),
            );
            engine
                .run(stop.clone(), || {
                    inner.ready.send_replace(true);
                    if let Some(waiting) = waiting.take() {
                        // Whoever asked may have gone.
                        let _told = waiting.send(());
                    }
                })
                .await;
        };
        let accounts = account_chores::follow(
            Arc::clone(&present.server),
            Arc::clone(&present.access),
            inner.config.authority_pem.clone(),
        );
        let trusting = root_authority::follow(
            Arc::clone(&present.server),
            inner.config.authority_pem.clone(),
        );
        let order = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            Some(order) = orders.recv() => order,
            Err(error) = present.server.feed() => {
                tracing::error!(member = inner.config.name, %error, "the store can no longer be followed");
                return;
            }
            () = running => return,
            () = accounts => return,
            () = trusting => return,
        };
        waiting = Some(order.done);
        present.over.cancel();
        let kept = order.keep_data.then(|| Kept {
            store: present.store.clone(),
            keys: present.access.accounts().keys().clone(),
        });
        if let (None, Data::Directory(path)) = (&kept, &inner.config.data) {
            // The directory is this member's own; what was in it is what was asked to go.
            drop(present);
            if let Err(error) = std::fs::remove_dir_all(path.join("store")) {
                tracing::error!(member = inner.config.name, %error, "data not removed");
            }
        }
        let means = Means {
            rules: &inner.rules,
            clock: &inner.clock,
            spawner: &inner.spawner,
            faults: &inner.faults,
            sessions: &inner.sessions,
        };
        match self::present(&inner.config, &means, kept).await {
            Ok(present) => inner.present.store(Arc::new(present)),
            Err(error) => {
                tracing::error!(member = inner.config.name, %error, "member not restarted");
                return;
            }
        }
        inner.faults.heal();
    }
}
