//! The control plane in one process: the API server, and everything that works through it.
//!
//! Every part speaks to the server as itself, with a role of its own, by calls inside the process. What they look at is
//! held once: one watch for each kind, one copy of each object.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use access::attempt::Attempt;
use access::policy::Decision;
use api::names::EXECUTION_SPACE_PREFIX;
use apiserver::{ApiServer, Extensions, Handle, Inside, Options, StartError};
use cli::Failure;
use client::{Caches, Client};
use control::election::{self, Election};
use control::{Cx, EventSink, Recorder};
use controllers::Enabled;
use housekeeping::Chores;
use member::connect::{Connect, Dial};
use member::fleet::{self, Fleet};
use member::monitor::Grace;
use member::namespaces::Skipped;
use member::proxy::Proxy;
use object::ObjectKey;
use runtime::{Clock, Spawner, Tasks};
use scheduler::DeschedulerSettings;
use scheduler::estimator::EstimatorSettings;
use scheduler::recorder::RecorderSettings;
use serve::call::{Call, User};
use serve::handler::{Asked, Handler, Outcome};
use serve::server::Server;
use serve::status::Status;
use serve::target::ResourceTarget;
use telemetry::metrics::{Metric, Registry};

use crate::configz;
use crate::decisions::{self, Decisions};
use crate::estimating;
use crate::trouble;

/// The Lease that the one of several processes on a store holds which runs the controllers.
const LEASE: &str = "karavel-controllers";
/// How many clusters are taken care of at once.
const LIFECYCLE_WORKERS: usize = 4;

/// A control plane that runs.
pub struct Plane {
    /// Where it listens.
    pub address: SocketAddr,
    /// The administrator's kubeconfig.
    pub kubeconfig: PathBuf,
    parts: Parts,
}

/// How the parts behave.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The controllers, and which of all parts run.
    pub controllers: controllers::Options,
    /// Who decides where bindings go.
    pub scheduler: scheduler::Settings,
    /// Whether and how nodes of members are counted in this process.
    pub ledgers: Option<estimator::Settings>,
    /// Whether and how replicas are taken back from members without room.
    pub descheduler: Option<DeschedulerSettings>,
    /// The loops that face members.
    pub fleet: fleet::Options,
    /// How long silence of clusters is borne.
    pub grace: Grace,
    /// Which namespaces stay in the control plane.
    pub skipped: Skipped,
    /// Whether ClusterTaintPolicies may put `NoExecute` taints on clusters.
    pub allows_no_execute_policies: bool,
}

impl Settings {
    /// What operators get who say nothing but which parts shall run.
    #[must_use]
    pub fn enabling(enabled: Enabled) -> Self {
        let mut settings = Self::default();
        settings.controllers.enabled = enabled;
        settings
    }
}

/// Starts the server alone. What works through it comes with [`Plane::begin`].
pub async fn start(options: Options, tasks: &mut Tasks) -> Result<Plane, Failure> {
    let way = Way {
        clock: Clock::system(),
        connector: Arc::new(Dial::default()),
        records: Some(options.data_dir.join("decisions")),
    };
    let (door, decisions, extensions) = doors();
    let server = ApiServer::start_with(options, extensions)
        .await
        .map_err(|error| refuse(&error))?;
    telemetry::process::watch_process(server.handle().server().metrics());
    go_on(server, (door, decisions), way, tasks).await
}

/// Starts a server that only this process reaches, and that reaches members as `connector` does: everything else is as
/// in [`start`].
pub async fn start_inside(
    inside: Inside,
    connector: Arc<dyn Connect>,
    tasks: &mut Tasks,
) -> Result<Plane, Failure> {
    let way = Way {
        clock: inside.clock.clone(),
        connector,
        records: None,
    };
    let (door, decisions, extensions) = doors();
    let server = ApiServer::start_inside(inside, extensions)
        .await
        .map_err(|error| refuse(&error))?;
    go_on(server, (door, decisions), way, tasks).await
}

impl Plane {
    /// Starts the parts that are enabled.
    pub fn begin(&self, settings: &Settings) -> Result<(), Failure> {
        election::lead_unopposed(self.parts.handle.server().metrics(), LEASE);
        self.parts.adopt(settings);
        self.parts.handle.publish(configz::tell(settings));
        let caches = self.parts.caches(&self.parts.spawner);
        self.parts.open_proxy(&caches);
        self.parts.work(settings, caches, &self.parts.spawner)
    }

    /// Starts the parts that are enabled whenever this process is the one of several on the same store that shall.
    pub fn stand(self, settings: Settings) {
        let Self { address, parts, .. } = self;
        parts.adopt(&settings);
        parts.handle.publish(configz::tell(&settings));
        // One set for the proxy, which answers in every process, and for the parts, which work in one: what both follow is
        // held once, and whoever takes over has it already.
        let caches = parts.caches(&parts.spawner);
        parts.open_proxy(&caches);
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let moment = since.unwrap_or_default().as_micros();
        let identity = format!("{address}_{}_{moment}", std::process::id());
        let election = Election::new(ObjectKey::namespaced("kube-system", LEASE), identity)
            .measured_by(parts.handle.server().metrics().clone());
        let (client, clock) = (parts.client("housekeeping"), parts.way.clock.clone());
        let spawner = parts.spawner.clone();
        election.run(client, clock, &spawner, move |spawner| {
            if let Err(error) = parts.work(&settings, caches.clone(), spawner) {
                tracing::error!(%error, "the controllers cannot start");
            }
        });
    }

    /// A client that may do everything: whoever starts a control plane owns it.
    #[must_use]
    pub fn administrator(&self) -> Client {
        self.client_of(access::names::apiserver())
    }

    /// A client that may do what roles give the user.
    #[must_use]
    pub fn client_of(&self, user: User) -> Client {
        Client::in_process(self.parts.handle.as_user(user))
    }

    /// The server for those inside the process.
    #[must_use]
    pub fn handle(&self) -> &Handle {
        &self.parts.handle
    }
}

/// What differs between a control plane on a machine and one in a test.
struct Way {
    clock: Clock,
    connector: Arc<dyn Connect>,
    /// Where the scheduler writes down why it decided as it did.
    records: Option<PathBuf>,
}

/// What the parts add to the API, and the way to members, which opens when the parts start.
fn doors() -> (Arc<Later>, Arc<Decisions>, Extensions) {
    let proxy = Arc::new(Later::default());
    let decisions = Arc::new(Decisions::default());
    let mut extensions = Extensions::default();
    let door = Arc::clone(&proxy) as Arc<dyn Handler>;
    extensions
        .handlers
        .insert("cluster.karmada.io", "clusters", "proxy", door);
    decisions::register(&decisions, &mut extensions.handlers);
    (proxy, decisions, extensions)
}

async fn go_on(
    server: ApiServer,
    (proxy, decisions): (Arc<Later>, Arc<Decisions>),
    way: Way,
    tasks: &mut Tasks,
) -> Result<Plane, Failure> {
    tell_build(server.handle().server().metrics());
    let plane = Plane {
        address: server.address(),
        kubeconfig: server.kubeconfig().to_owned(),
        parts: Parts {
            handle: server.handle(),
            spawner: tasks.spawner(),
            proxy,
            decisions,
            pressure: control::Pressure::default(),
            way,
        },
    };
    server.run(tasks).await.map_err(|error| refuse(&error))?;
    Ok(plane)
}

/// What the parts are made from.
struct Parts {
    handle: Handle,
    spawner: Spawner,
    /// The way to members, which opens when the parts start.
    proxy: Arc<Later>,
    /// What the scheduler has decided lately, for those who ask.
    decisions: Arc<Decisions>,
    /// How much waits in all of them.
    pressure: control::Pressure,
    way: Way,
}

impl Parts {
    /// What the parts look at, held once for all of them.
    fn caches(&self, spawner: &Spawner) -> Caches {
        Caches::new(
            self.client("cache"),
            spawner.clone(),
            self.way.clock.clone(),
        )
    }

    /// Lets the server itself go by the settings.
    fn adopt(&self, settings: &Settings) {
        self.handle.switch(&settings.controllers.gates);
        self.handle
            .allow_no_execute_taint_policies(settings.allows_no_execute_policies);
    }

    fn open_proxy(&self, caches: &Caches) {
        let access = Arc::clone(self.handle.access());
        let may_connect = move |user: &User, cluster: &str| {
            let target = ResourceTarget {
                group: "cluster.karmada.io".to_owned(),
                version: "v1alpha1".to_owned(),
                resource: "clusters".to_owned(),
                name: cluster.to_owned(),
                subresource: "proxy".to_owned(),
                ..ResourceTarget::default()
            };
            let decision = access.decide(user, &Attempt::on("create", target));
            !matches!(decision, Decision::Denied(_))
        };
        let carrier = Proxy::new(
            caches,
            Arc::clone(&self.way.connector),
            self.spawner.clone(),
            Box::new(may_connect),
        );
        self.proxy.answer_with(Arc::new(carrier));
    }

    fn work(&self, settings: &Settings, caches: Caches, spawner: &Spawner) -> Result<(), Failure> {
        let enabled = &settings.controllers.enabled;
        let cx = |part: &str, manager| self.cx(part, manager, spawner);
        let chores = cx("housekeeping", "karavel-housekeeping");
        let what = Chores {
            own_namespaces: EXECUTION_SPACE_PREFIX,
            ..Chores::default()
        };
        housekeeping::start(what, apiserver::built_in(), &caches, &chores, spawner);
        let options = settings.controllers.clone();
        let manager = cx("controllers", "karmada-controller-manager");
        let rules = controllers::customizations::follow(&caches, &manager, spawner, &options.gates);
        controllers::run(&manager, &caches, spawner, rules.clone(), options);
        let nearby = settings.ledgers.map(|ledgers| {
            let (client, connector) = (self.client("member"), Arc::clone(&self.way.connector));
            let clock = self.way.clock.clone();
            let metrics = self.handle.server().metrics();
            estimating::nearby(ledgers, &caches, client, connector, clock, metrics, spawner)
        });
        if let Some(descheduler) = settings.descheduler.clone() {
            let mut descheduler = descheduler;
            descheduler.estimators.nearby.clone_from(&nearby);
            let cx = cx("scheduler", "karmada-descheduler");
            scheduler::deschedule(descheduler, &caches, &cx, spawner);
        }
        if enabled.is_on("scheduler") {
            let cx = cx("scheduler", "karmada-scheduler");
            let estimators = settings.scheduler.estimators.clone();
            let settings = scheduler::Settings {
                estimators: estimators.map(|estimators| EstimatorSettings {
                    nearby,
                    ..estimators
                }),
                recorder: Some(RecorderSettings {
                    directory: self.way.records.clone(),
                    ..settings.scheduler.recorder.clone().unwrap_or_default()
                }),
                ..settings.scheduler.clone()
            };
            let scheduler = scheduler::run(settings, &caches, &cx, spawner).map_err(|error| {
                Failure::refused(
                    telemetry::chain(&error).to_string(),
                    "choose a directory you own with --data-dir",
                )
            })?;
            self.decisions.of(scheduler.recorder());
            let metrics = self.handle.server().metrics();
            metrics.include("scheduler", move || scheduler.metrics());
        }
        if enabled.is_on("cluster") {
            let cx = || cx("cluster-lifecycle", "cluster-controller");
            member::lifecycle::run(&caches, cx(), LIFECYCLE_WORKERS, spawner);
            member::monitor::run(&caches, cx(), settings.grace, spawner);
        }
        if enabled.is_on("namespace") {
            let cx = cx("work", "namespace-sync-controller");
            member::namespaces::run(&caches, cx, settings.skipped.clone(), spawner);
        }
        if enabled.is_on("unifiedAuth") {
            let cx = cx("work", "unified-auth-controller");
            member::impersonation::run(&caches, cx, spawner);
        }
        let reports = enabled.is_on("clusterStatus") && settings.fleet.reports;
        let applies = enabled.is_on("execution") && settings.fleet.applies;
        if reports || applies {
            let fleet = Fleet {
                caches,
                cx: cx("member", "execution-controller"),
                connector: Arc::clone(&self.way.connector),
                interpreter: rules,
                options: fleet::Options {
                    reports,
                    applies,
                    skipped: match enabled.is_on("namespace") {
                        true => settings.skipped.clone(),
                        false => Skipped::all(),
                    },
                    ..settings.fleet.clone()
                },
            };
            let shared = fleet.caches.clone();
            let members = fleet::run(fleet, spawner);
            if enabled.is_on("cluster") {
                let cx = cx("cluster-lifecycle", "cluster-controller");
                member::credentials::run(&shared, cx, members, spawner);
            }
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
        let events = Recorder::start(sink, self.way.clock.clone(), spawner);
        Cx::new(client, self.way.clock.clone(), events, manager)
            .measured_by(self.handle.server().metrics().clone())
            .pressed_by(self.pressure.clone())
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

/// Says what is running, as the reference says it of itself.
fn tell_build(metrics: &Registry) {
    let version = concat!("v", env!("CARGO_PKG_VERSION"));
    let platform = format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH);
    // Release builds are told which commit they are made of, and when that was made.
    let described = option_env!("KARAVEL_COMMIT").unwrap_or_default();
    let revision = option_env!("KARAVEL_REVISION").unwrap_or_default();
    let date = option_env!("KARAVEL_DATE").unwrap_or_default();
    let short = revision.get(..12).unwrap_or_default();
    let tree = match (described.is_empty(), described.ends_with("-dirty")) {
        (true, _) => "",
        (_, true) => "dirty",
        (_, false) => "clean",
    };
    let values = [version, revision, short, tree, date, "", "rustc", &platform];
    metrics.set(Metric::KarmadaBuildInfo, &values, 1.0);
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
        StartError::Sealing(_) => "check the encryption configuration and the keys it names",
        StartError::Sharing(_) => "check that all servers on this etcd have the same keys",
        StartError::Issuer(_) => "check the OIDC flags and that the issuer can be reached",
        StartError::Audit(_) => "choose another place for the audit log",
        StartError::Roles(_) => "this is a mistake in the program; please report it",
    };
    let hint = trouble::hint(error).unwrap_or(hint);
    let what = telemetry::chain(error).to_string();
    match trouble::is_full(error) {
        true => Failure::failed(what, hint),
        false => Failure::refused(what, hint),
    }
}
