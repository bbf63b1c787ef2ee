//! A control plane and its members.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use api::well_known::conditions::cluster::READY;
use apiserver::{Inside, Store};
use assembly::plane::{self, Plane, Settings};
use client::Client;
use member::join::{JoinOptions, UnjoinOptions};
use object::Value;
use object::time::Time;
use runtime::{Clock, Tasks};
use serve::call::User;
use store::embedded::Retention;
use store::memory::Memory;
use telemetry::chain;
use tempfile::TempDir;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::Instant;

use crate::api::Api;
use crate::builder::{Builder, Roster};
use crate::door::Door;
use crate::member::SimulatedMember;
use crate::report;
use crate::shown;
use crate::wire::Wires;

/// When every world begins: a Tuesday in the future of whoever reads a failure.
const START: i64 = 1_893_456_000; // 2030-01-01T00:00:00Z
/// How long members may take to become ready, in virtual time.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// The whole product in one process. It is also the control plane's API, as its administrator sees it.
pub struct World {
    /// The API, which is the same after a restart: clients go to whichever control plane runs.
    api: Api,
    clock: Clock,
    start: Time,
    store: Store,
    keys: TempDir,
    wires: Wires,
    settings: Settings,
    members: BTreeMap<String, SimulatedMember>,
    plane: Mutex<Option<Running>>,
    door: Door,
    /// Keeps the members running; a control plane has tasks of its own.
    member_tasks: Tasks,
}

/// A control plane that runs, and its tasks.
struct Running {
    plane: Plane,
    _tasks: Tasks,
}

impl World {
    /// A control plane and members of the usual shape, joined and ready: `3` for `m1` to `m3`, or their names.
    pub async fn with_members(roster: impl Into<Roster>) -> Self {
        Self::build().members(roster).start().await
    }

    /// A world to be described further.
    #[must_use]
    pub fn build() -> Builder {
        Builder::default()
    }

    pub(crate) async fn start(builder: Builder) -> Self {
        start_logging();
        let start = Time::from_unix_seconds(START);
        let clock = Clock::tied(start);
        let member_tasks = Tasks::new();
        let spawner = member_tasks.spawner();
        let wires = Wires::default();
        let mut members = BTreeMap::new();
        for plan in &builder.members {
            let name = plan.config.name.clone();
            let own = Clock::tied(start.plus_seconds(plan.skew));
            let opened = sim::Member::open(plan.config.clone(), own, &spawner);
            let simulator = match opened.await {
                Ok(simulator) => simulator,
                Err(error) => panic!("{name} does not open: {}", chain(&error)),
            };
            let address = format!("https://{name}.sim:6443");
            let wire = wires.add(&address, &simulator);
            let member = SimulatedMember::new(name.clone(), address, simulator, wire);
            members.insert(name, member);
        }
        let door = Door::default();
        let world = Self {
            api: Api::new("the control plane", Client::in_process(door.clone())),
            clock,
            start,
            store: Store::Memory(Memory::new(Retention::default())),
            keys: tempfile::tempdir().expect("a directory for keys can be made"),
            wires,
            settings: builder.settings,
            members,
            plane: Mutex::new(None),
            door,
            member_tasks,
        };
        world.begin().await;
        for plan in builder.members.iter().filter(|plan| plan.joins) {
            world.join(&plan.config.name).await;
        }
        if builder.ready {
            for plan in builder.members.iter().filter(|plan| plan.joins) {
                world.until_ready(&plan.config.name).await;
            }
        }
        world
    }

    /// The control plane's API, as its administrator sees it.
    #[must_use]
    pub fn control(&self) -> &Api {
        &self.api
    }

    /// The control plane's API, as a user sees it whose groups are these and `system:authenticated`.
    pub async fn as_user(&self, name: &str, groups: &[&str]) -> Api {
        let mut groups: Vec<String> = groups.iter().map(ToString::to_string).collect();
        groups.push(access::names::AUTHENTICATED.to_owned());
        let user = User {
            name: name.to_owned(),
            groups,
            ..User::default()
        };
        let plane = self.plane.lock().await;
        let Some(running) = plane.as_ref() else {
            panic!("the control plane does not run");
        };
        Api::new(
            format!("the control plane as {name}"),
            running.plane.client_of(user),
        )
    }

    /// A member.
    #[must_use]
    pub fn member(&self, name: &str) -> &SimulatedMember {
        match self.members.get(name) {
            Some(member) => member,
            None => panic!("there is no member {name}"),
        }
    }

    /// Joins a member that runs, as `karavel join` does.
    pub async fn join(&self, name: &str) {
        let member = self.member(name);
        let options = JoinOptions::new(name, member.address());
        let joined = member::join::join(self.api.client(), member.client(), &options).await;
        if let Err(error) = joined {
            panic!("{name} does not join: {}", chain(&error));
        }
    }

    /// Lets a member go, as `karavel unjoin` with its kubeconfig does.
    pub async fn unjoin(&self, name: &str, options: &UnjoinOptions) {
        let member = self.member(name).client();
        let left = member::join::unjoin(self.api.client(), Some(member), options).await;
        if let Err(error) = left {
            panic!("{name} does not leave: {}", chain(&error));
        }
    }

    /// Stops the control plane with all its parts and starts another on the same store. Members run on.
    pub async fn restart(&self) {
        self.stop().await;
        self.begin().await;
    }

    /// Stops the control plane with all its parts, without warning.
    pub async fn stop(&self) {
        self.door.close();
        drop(self.running().await.take());
        // Aborted tasks are dropped when the runtime comes to them.
        tokio::task::yield_now().await;
    }

    /// Starts the control plane.
    pub async fn begin(&self) {
        let (inside, wires) = self.ground();
        let mut tasks = Tasks::new();
        let started = plane::start_inside(inside, Arc::new(wires), &mut tasks).await;
        let plane = match started {
            Ok(plane) => plane,
            Err(error) => panic!("the control plane does not start: {error}"),
        };
        if let Err(error) = plane.begin(&self.settings) {
            panic!("the parts do not start: {error}");
        }
        self.door.open(plane.handle());
        *self.running().await = Some(Running {
            plane,
            _tasks: tasks,
        });
    }

    /// What time it is.
    #[must_use]
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// Lets time pass; everything that is due meanwhile happens.
    pub async fn advance(&self, span: Duration) {
        tokio::time::sleep(span).await;
    }

    /// Waits for a state, so long in virtual time; says what there is if it does not come about. Returns how long it took.
    pub async fn until(
        &self,
        what: &str,
        within: Duration,
        mut holds: impl AsyncFnMut() -> bool,
    ) -> Duration {
        let begun = Instant::now();
        while !holds().await {
            if begun.elapsed() >= within {
                let report = report::write(self).await;
                panic!("not within {within:?}: {what}\n\n{report}");
            }
            tokio::time::sleep(step(begun.elapsed())).await;
        }
        begun.elapsed()
    }

    /// Waits until something has a value; says what it was last if it does not get it.
    pub async fn until_is(
        &self,
        what: &str,
        within: Duration,
        expected: impl Into<Value>,
        mut found: impl AsyncFnMut() -> Value,
    ) -> Duration {
        let (begun, expected) = (Instant::now(), expected.into());
        loop {
            let found = found().await;
            if found == expected {
                return begun.elapsed();
            }
            if begun.elapsed() >= within {
                let report = report::write(self).await;
                panic!(
                    "not within {within:?}: {what}\nexpected: {expected}\nfound: {found}\n\n{report}"
                );
            }
            tokio::time::sleep(step(begun.elapsed())).await;
        }
    }

    /// Sees to it that something stays true for so long.
    pub async fn stays(&self, what: &str, span: Duration, mut holds: impl AsyncFnMut() -> bool) {
        let begun = Instant::now();
        loop {
            if !holds().await {
                let report = report::write(self).await;
                panic!("no longer after {:?}: {what}\n\n{report}", begun.elapsed());
            }
            if begun.elapsed() >= span {
                return;
            }
            tokio::time::sleep(step(begun.elapsed())).await;
        }
    }

    /// Waits until a member is seen as ready.
    pub async fn until_ready(&self, name: &str) -> Duration {
        let what = format!("{name} is ready");
        self.until(&what, READY_WITHIN, async || {
            let ready = self.condition("clusters", name, READY).await;
            ready.starts_with("True")
        })
        .await
    }

    /// An object as a snapshot shows it: times as `<t0+5m>`, uids as `<uid-1>`, nothing that only a server needs.
    #[must_use]
    pub fn shown(&self, object: &object::Object) -> String {
        shown::write(object, self.start)
    }

    /// What there is: for failures, and for whoever writes a test.
    pub async fn report(&self) -> String {
        report::write(self).await
    }

    /// What a control plane starts on, and how it reaches members.
    pub(crate) fn ground(&self) -> (Inside, Wires) {
        let inside = Inside {
            data_dir: self.keys.path().to_owned(),
            store: self.store.clone(),
            clock: self.clock.clone(),
        };
        (inside, self.wires.clone())
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn all_members(&self) -> impl Iterator<Item = &SimulatedMember> {
        self.members.values()
    }

    async fn running(&self) -> MutexGuard<'_, Option<Running>> {
        self.plane.lock().await
    }
}

impl Deref for World {
    type Target = Api;

    fn deref(&self) -> &Api {
        &self.api
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.door.close();
        self.member_tasks.stop_token().cancel();
    }
}

/// How long to wait before the next look: short at first, then a fiftieth of what has passed.
fn step(passed: Duration) -> Duration {
    (passed / 50).clamp(Duration::from_millis(10), Duration::from_secs(1))
}

fn start_logging() {
    if let Ok(filter) = std::env::var("KARAVEL_LOG") {
        // Another test of the process may have been first.
        let _started = telemetry::start_logging(&filter, telemetry::LogFormat::Text);
    }
}
