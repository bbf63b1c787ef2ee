//! What an API server does besides answering: accounts, certificates, statuses. Of several on one store, one does it.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::SystemTime;

use access::certificates as requests;
use access::{account_chores, client_authority, cluster_info, root_authority};
use admission::Quotas;
use client::Client;
use control::election::{self, Election};
use listen::Authority;
use object::ObjectKey;
use runtime::{Clock, Spawner};
use tokio::sync::watch;

use crate::agents;
use crate::certificates::reachable;
use crate::front::Handle;
use crate::kubeconfig;
use crate::own_service;
use crate::policies;
use crate::quotas;
use crate::registrations;

/// The Lease that the one of several servers on a store holds which does the chores.
const LEASE: &str = "karavel-apiserver";
/// Who stands for the Lease.
const IDENTITY: &str = "system:karavel:housekeeping";

/// What the chores need.
#[derive(Clone)]
pub(crate) struct Chores {
    pub(crate) handle: Handle,
    pub(crate) authority: Arc<Authority>,
    pub(crate) quotas: Arc<Quotas>,
    /// Where newcomers are told to go.
    pub(crate) address: SocketAddr,
    /// What others are told it is, if they can reach it.
    pub(crate) advertised: Option<IpAddr>,
    /// Whether agents' certificates are approved without anybody's doing.
    pub(crate) approve_agents: bool,
    /// Tells of every change of what is served.
    pub(crate) tables: watch::Receiver<bool>,
}

impl Chores {
    /// Does the chores while this server is the one of several on the same store that shall.
    pub(crate) fn stand(self, spawner: &Spawner) {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let moment = since.unwrap_or_default().as_micros();
        let identity = format!("{}_{}_{moment}", self.address, std::process::id());
        let election = Election::new(ObjectKey::namespaced("kube-system", LEASE), identity)
            .measured_by(self.handle.server().metrics().clone());
        let client = Client::in_process(self.handle.as_component(IDENTITY)).named(IDENTITY);
        election.run(client, Clock::system(), spawner, move |branch| {
            self.start(branch);
        });
    }

    /// Does the chores without asking: no other server can be on the same store.
    pub(crate) fn start_alone(&self, spawner: &Spawner) {
        election::lead_unopposed(self.handle.server().metrics(), LEASE);
        self.start(spawner);
    }

    /// Does the chores until the spawner's tasks are stopped.
    fn start(&self, spawner: &Spawner) {
        let Self {
            handle,
            authority,
            quotas,
            address,
            advertised,
            approve_agents,
            tables,
        } = self;
        let server = || Arc::clone(handle.server());
        let access = || Arc::clone(handle.access());
        let pem = authority.certificate_pem();
        let accounts = account_chores::follow(server(), access(), pem.to_owned());
        spawn_chore(spawner, "service accounts", accounts);
        let trusting = root_authority::follow(server(), pem.to_owned());
        spawn_chore(spawner, "root authority", trusting);
        let telling = client_authority::follow(server(), pem.to_owned());
        spawn_chore(spawner, "client authority", telling);
        let finding = own_service::follow(server(), *advertised, address.port());
        spawn_chore(spawner, "own service", finding);
        let signing = requests::follow(server(), Arc::clone(authority));
        spawn_chore(spawner, "certificate requests", signing);
        let looking = agents::follow(server(), access(), *approve_agents);
        spawn_chore(spawner, "agents", looking);
        spawn_chore(spawner, "status of policies", policies::follow(server()));
        let counting = quotas::follow(server(), Arc::clone(quotas));
        spawn_chore(spawner, "status of quotas", counting);
        let public = kubeconfig::public(&format!("https://{}", reachable(*address)), pem);
        let telling = cluster_info::follow(server(), public);
        spawn_chore(spawner, "cluster-info", telling);
        let registering = registrations::follow(server(), tables.clone());
        spawn_chore(spawner, "registrations", registering);
    }
}

/// Starts a task that never ends by itself.
pub(crate) fn spawn_chore(
    spawner: &Spawner,
    name: &str,
    chore: impl Future<Output = ()> + Send + 'static,
) {
    spawner.spawn(name, |stop| async move {
        tokio::select! {
            () = stop.cancelled() => {}
            () = chore => {}
        }
    });
}
