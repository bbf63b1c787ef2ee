//! The control plane in one process: the API server, and everything that works through it.
//!
//! Every part speaks to the server as itself, with a role of its own, by calls inside the process. What they look at is
//! held once: one watch for each kind, one copy of each object.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use apiserver::{ApiServer, Handle, Options, StartError};
use cli::Failure;
use client::{Caches, Client};
use control::{Cx, EventSink, Recorder};
use controllers::Enabled;
use member::connect::Dial;
use member::fleet::{self, Fleet};
use member::monitor::Grace;
use runtime::{Clock, Spawner, Tasks};

/// How many clusters are taken care of at once.
const LIFECYCLE_WORKERS: usize = 4;

/// A control plane that runs.
pub(crate) struct Plane {
    /// Where it listens.
    pub(crate) address: SocketAddr,
    /// The administrator's kubeconfig.
    pub(crate) kubeconfig: PathBuf,
    /// The server, for those inside the process.
    pub(crate) handle: Handle,
}

/// Starts the server and the controllers that are enabled.
pub(crate) async fn start(
    options: Options,
    enabled: &Enabled,
    tasks: &mut Tasks,
) -> Result<Plane, Failure> {
    let server = ApiServer::start(options)
        .await
        .map_err(|error| refuse(&error))?;
    let plane = Plane {
        address: server.address(),
        kubeconfig: server.kubeconfig().to_owned(),
        handle: server.handle(),
    };
    server.run(tasks).await.map_err(|error| refuse(&error))?;
    let parts = Parts {
        handle: plane.handle.clone(),
        clock: Clock::system(),
        spawner: tasks.spawner(),
    };
    parts.start(enabled)?;
    Ok(plane)
}

impl Plane {
    /// A client for a part of this process that may do everything: joining simulated members needs it.
    pub(crate) fn administrator(&self) -> Client {
        Client::in_process(self.handle.as_user(access::names::apiserver()))
    }
}

struct Parts {
    handle: Handle,
    clock: Clock,
    spawner: Spawner,
}

impl Parts {
    fn start(&self, enabled: &Enabled) -> Result<(), Failure> {
        let reader = self.client("cache");
        let caches = Caches::new(reader, self.spawner.clone(), self.clock.clone());
        let rules = controllers::customizations::follow(&caches, self.clock.clone(), &self.spawner);
        let options = controllers::Options {
            enabled: enabled.clone(),
            ..controllers::Options::default()
        };
        let cx = self.cx("controllers", "karmada-controller-manager");
        controllers::run(&cx, &caches, &self.spawner, rules.clone(), options);
        if enabled.is_on("scheduler") {
            let cx = self.cx("scheduler", "karmada-scheduler");
            scheduler::run(scheduler::Settings::default(), &caches, &cx, &self.spawner)
                .map_err(|error| Failure::refused(error.to_string(), "see --plugins"))?;
        }
        if enabled.is_on("cluster") {
            let cx = || self.cx("cluster-lifecycle", "cluster-controller");
            member::lifecycle::run(&caches, cx(), LIFECYCLE_WORKERS, &self.spawner);
            member::monitor::run(&caches, cx(), Grace::default(), &self.spawner);
        }
        let (reports, applies) = (enabled.is_on("clusterStatus"), enabled.is_on("execution"));
        if reports || applies {
            let fleet = Fleet {
                caches,
                cx: self.cx("member", "execution-controller"),
                connector: Arc::new(Dial::default()),
                interpreter: rules,
                options: fleet::Options {
                    reports,
                    applies,
                    ..fleet::Options::default()
                },
            };
            fleet::run(fleet, &self.spawner);
        }
        Ok(())
    }

    fn client(&self, part: &str) -> Client {
        let name = format!("system:karavel:{part}");
        Client::in_process(self.handle.as_component(&name)).named(&name)
    }

    /// What a part has at hand that writes as `manager`.
    fn cx(&self, part: &str, manager: &'static str) -> Cx {
        let client = self.client(part);
        let sink = EventSink {
            client: client.clone(),
            component: manager,
            namespace: "default",
        };
        let events = Recorder::start(sink, self.clock.clone(), &self.spawner);
        Cx::new(client, self.clock.clone(), events, manager)
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
