//! The control plane in one process: the API server, and everything that works through it.
//!
//! Every part speaks to the server as itself, with a role of its own, by calls inside the process. What they look at is
//! held once: one watch for each kind, one copy of each object.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use apiserver::{ApiServer, Extensions, Handle, Options, StartError};
use cli::Failure;
use client::{Caches, Client};
use control::election::Election;
use control::{Cx, EventSink, Recorder};
use controllers::Enabled;
use housekeeping::Chores;
use member::connect::Dial;
use member::fleet::{self, Fleet};
use member::monitor::Grace;
use member::namespaces::Skipped;
use member::proxy::Proxy;
use object::ObjectKey;
use runtime::{Clock, Spawner, Tasks};
use scheduler::recorder::RecorderSettings;
use serve::call::Call;
use serve::handler::{Asked, Handler, Outcome};
use serve::server::Server;
use serve::status::Status;

/// The Lease that the one of several processes on a store holds which runs the controllers.
const LEASE: &str = "karavel-controllers";
/// How many clusters are taken care of at once.
const LIFECYCLE_WORKERS: usize = 4;

/// A control plane that runs.
pub(crate) struct Plane {
    /// Where it listens.
    pub(crate) address: SocketAddr,
    /// The administrator's kubeconfig.
    pub(crate) kubeconfig: PathBuf,
    parts: Parts,
}

/// Starts the server alone. What works through it comes with [`Plane::begin`].
pub(crate) async fn start(options: Options, tasks: &mut Tasks) -> Result<Plane, Failure> {
    let records = options.data_dir.join("decisions");
    let proxy = Arc::new(Later::default());
    let mut extensions = Extensions::default();
    let door = Arc::clone(&proxy) as Arc<dyn Handler>;
    extensions
        .handlers
        .insert("cluster.karmada.io", "clusters", "proxy", door);
    let server = ApiServer::start_with(options, extensions)
        .await
        .map_err(|error| refuse(&error))?;
    telemetry::process::watch_process(server.handle().server().metrics());
    let plane = Plane {
        address: server.address(),
        kubeconfig: server.kubeconfig().to_owned(),
        parts: Parts {
            handle: server.handle(),
            clock: Clock::system(),
            spawner: tasks.spawner(),
            proxy,
            records,
        },
    };
    server.run(tasks).await.map_err(|error| refuse(&error))?;
    Ok(plane)
}

impl Plane {
    /// Starts the parts that are enabled.
    pub(crate) fn begin(&self, enabled: &Enabled) -> Result<(), Failure> {
        let caches = self.parts.caches(&self.parts.spawner);
        self.parts.open_proxy(&caches);
        self.parts.work(enabled, caches, &self.parts.spawner)
    }

    /// Starts the parts that are enabled whenever this process is the one of several on the same store that shall.
    pub(crate) fn stand(self, enabled: Enabled) {
        let Self { address, parts, .. } = self;
        parts.open_proxy(&parts.caches(&parts.spawner));
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let moment = since.unwrap_or_default().as_micros();
        let identity = format!("{address}_{}_{moment}", std::process::id());
        let election = Election::new(ObjectKey::namespaced("kube-system", LEASE), identity);
        let (client, clock) = (parts.client("housekeeping"), parts.clock.clone());
        let spawner = parts.spawner.clone();
        election.run(client, clock, &spawner, move |spawner| {
            let caches = parts.caches(spawner);
            if let Err(error) = parts.work(&enabled, caches, spawner) {
                tracing::error!(%error, "the controllers cannot start");
            }
        });
    }

    /// A client that may do everything: whoever starts a control plane owns it.
    pub(crate) fn administrator(&self) -> Client {
        Client::in_process(self.parts.handle.as_user(access::names::apiserver()))
    }
}

/// What the parts are made from.
struct Parts {
    handle: Handle,
    clock: Clock,
    spawner: Spawner,
    /// The way to members, which opens when the parts start.
    proxy: Arc<Later>,
    /// Where the scheduler writes down why it decided as it did.
    records: PathBuf,
}

impl Parts {
    /// What the parts look at, held once for all of them.
    fn caches(&self, spawner: &Spawner) -> Caches {
        Caches::new(self.client("cache"), spawner.clone(), self.clock.clone())
    }

    fn open_proxy(&self, caches: &Caches) {
        let carrier = Proxy::new(caches, Arc::new(Dial::default()), self.spawner.clone());
        self.proxy.answer_with(Arc::new(carrier));
    }

    fn work(&self, enabled: &Enabled, caches: Caches, spawner: &Spawner) -> Result<(), Failure> {
        let cx = |part: &str, manager| self.cx(part, manager, spawner);
        let chores = cx("housekeeping", "karavel-housekeeping");
        housekeeping::start(Chores::default(), &caches, &chores, spawner);
        let rules = controllers::customizations::follow(&caches, self.clock.clone(), spawner);
        let options = controllers::Options {
            enabled: enabled.clone(),
            ..controllers::Options::default()
        };
        let manager = cx("controllers", "karmada-controller-manager");
        controllers::run(&manager, &caches, spawner, rules.clone(), options);
        if enabled.is_on("scheduler") {
            let cx = cx("scheduler", "karmada-scheduler");
            let settings = scheduler::Settings {
                recorder: Some(RecorderSettings {
                    directory: Some(self.records.clone()),
                    ..RecorderSettings::default()
                }),
                ..scheduler::Settings::default()
            };
            scheduler::run(settings, &caches, &cx, spawner).map_err(|error| {
                Failure::refused(
                    telemetry::chain(&error).to_string(),
                    "choose a directory you own with --data-dir",
                )
            })?;
        }
        if enabled.is_on("cluster") {
            let cx = || cx("cluster-lifecycle", "cluster-controller");
            member::lifecycle::run(&caches, cx(), LIFECYCLE_WORKERS, spawner);
            member::monitor::run(&caches, cx(), Grace::default(), spawner);
        }
        if enabled.is_on("namespace") {
            let cx = cx("work", "namespace-sync-controller");
            member::namespaces::run(&caches, cx, Skipped::default(), spawner);
        }
        if enabled.is_on("unifiedAuth") {
            let cx = cx("work", "unified-auth-controller");
            member::impersonation::run(&caches, cx, spawner);
        }
        let (reports, applies) = (enabled.is_on("clusterStatus"), enabled.is_on("execution"));
        if reports || applies {
            let fleet = Fleet {
                caches,
                cx: cx("member", "execution-controller"),
                connector: Arc::new(Dial::default()),
                interpreter: rules,
                options: fleet::Options {
                    reports,
                    applies,
                    ..fleet::Options::default()
                },
            };
            fleet::run(fleet, spawner);
        }
        Ok(())
    }

    fn client(&self, part: &str) -> Client {
        let name = format!("system:karavel:{part}");
        Client::in_process(self.handle.as_component(&name)).named(&name)
    }

    /// What a part has at hand that writes as `manager`.
    fn cx(&self, part: &str, manager: &'static str, spawner: &Spawner) -> Cx {
        let client = self.client(part);
        let sink = EventSink {
            client: client.clone(),
            component: manager,
            namespace: "default",
        };
        let events = Recorder::start(sink, self.clock.clone(), spawner);
        Cx::new(client, self.clock.clone(), events, manager)
    }
}

/// A handler that is named before it can be there: what it needs is made from the server that it belongs to.
#[derive(Default)]
struct Later(OnceLock<Arc<dyn Handler>>);

impl Later {
    fn answer_with(&self, handler: Arc<dyn Handler>) {
        let _ = self.0.set(handler);
    }
}

impl Handler for Later {
    fn answer<'a>(&'a self, server: &'a Server, call: &'a Call, request: Asked) -> Outcome<'a> {
        match self.0.get() {
            Some(handler) => handler.answer(server, call, request),
            None => Box::pin(std::future::ready(Err(Status::unavailable(
                "the server is starting; try again in a moment",
                None,
            )))),
        }
    }
}

fn refuse(error: &StartError) -> Failure {
    let hint = match error {
        StartError::Directory { .. } => "choose a directory you own with --data-dir",
        StartError::Listen(_) => "choose another address with --listen",
        StartError::Etcd(_) => "check --etcd-servers and that etcd is up",
        StartError::Store(apiserver::StoreError::Locked { .. }) => {
            "stop the other server first, or choose another --data-dir"
        }
        StartError::Store(_) | StartError::Objects(_) => {
            "restore a backup into a new directory, or choose another --data-dir"
        }
        StartError::Authority(_) | StartError::Identity(_) | StartError::Keys(_) => {
            "restore the files under pki in the data directory"
        }
        StartError::Roles(_) => "this is a mistake in the program; please report it",
    };
    Failure::refused(telemetry::chain(error).to_string(), hint)
}
