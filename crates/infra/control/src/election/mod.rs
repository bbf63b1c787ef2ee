//! One of several processes is the one that acts.
//!
//! The candidates share a Lease. Whoever holds it writes the time into it again and again; the others look, and take it over
//! once it has not changed for as long as it says. Clocks are never compared between machines: each candidate counts from
//! the moment it saw a change itself. The holder stops acting before the others may believe it gone.
//!
//! Upstream: client-go's algorithm and fields, so that candidates written in Go may stand for the same Lease.

mod lease;
#[cfg(test)]
mod tests;

use std::time::Duration;

use client::{CallError, Client, WriteOptions};
use intent::Part;
use object::{Object, ObjectKey, ResourceType};
use runtime::{Backoff, CancellationToken, Clock, Spawner};
use telemetry::chain;
use telemetry::metrics::{Metric, Registry};
use tokio::time::{Instant, timeout};

use self::lease::{Observed, Record, Step};

/// How a candidate stands for a Lease.
#[derive(Clone, Debug)]
pub struct Election {
    /// The Lease.
    pub lease: ObjectKey,
    /// Who stands: no two candidates may have the same.
    pub identity: String,
    /// How long others wait for a sign of life before they take over. Whole seconds.
    pub lease_duration: Duration,
    /// How long the holder tries to give one before it stops acting. Less than `lease_duration`.
    pub renew_deadline: Duration,
    /// How often the holder gives one, and how often others look.
    pub retry_period: Duration,
    /// Where it is told whether the candidate is the one.
    pub metrics: Registry,
}

/// A candidate's state and the way to the Lease.
struct Candidate {
    election: Election,
    client: Client,
    clock: Clock,
    observed: Option<Observed>,
}

impl Election {
    /// Stands for a Lease with upstream's times: 15 s, 10 s, 2 s.
    #[must_use]
    pub fn new(lease: ObjectKey, identity: impl Into<String>) -> Self {
        Self {
            lease,
            identity: identity.into(),
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
            metrics: Registry::default(),
        }
    }

    /// Tells there whether the candidate is the one.
    #[must_use]
    pub fn measured_by(self, metrics: Registry) -> Self {
        Self { metrics, ..self }
    }

    /// Stands until the spawner's tasks are stopped. Whenever this candidate is the one, `lead` starts what it has to do on a
    /// branch of the spawner, which is stopped when the Lease is lost; then it stands again.
    pub fn run<F>(self, client: Client, clock: Clock, spawner: &Spawner, lead: F)
    where
        F: Fn(&Spawner) + Send + Sync + 'static,
    {
        let branches = spawner.clone();
        let name = format!("election {}", self.lease);
        let mut candidate = Candidate {
            election: self,
            client,
            clock,
            observed: None,
        };
        spawner.spawn(name, |stop| async move {
            candidate.tell(false);
            while candidate.acquire(&stop).await {
                let branch = branches.branch();
                lead(&branch);
                candidate.tell(true);
                candidate.hold(&stop).await;
                // Invariant: what was started is told to stop before the Lease can be anybody else's.
                branch.stop();
                candidate.tell(false);
                if stop.is_cancelled() {
                    branch.finish().await;
                    candidate.release().await;
                    return;
                }
                branch.finish().await;
            }
        });
    }
}

/// Tells that this process is the one without an election: nobody else can reach what it acts on.
pub fn lead_unopposed(metrics: &Registry, lease: &str) {
    tell(metrics, lease, true);
}

impl Candidate {
    /// Waits to become the one; `false` when stopped before.
    async fn acquire(&mut self, stop: &CancellationToken) -> bool {
        let period = self.election.retry_period;
        // Candidates that start together shall not try together.
        let seed = seed_of(&self.election.identity);
        let mut jitter = Backoff::new(period.mul_f64(1.25), period.mul_f64(1.25), seed);
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return false,
                held = self.attempt() => if held {
                    tracing::info!(lease = %self.election.lease, "leading");
                    return true;
                },
            }
            tokio::select! {
                biased;
                () = stop.cancelled() => return false,
                () = tokio::time::sleep(jitter.fail()) => {}
            }
        }
    }

    /// Stays the one until stopped or until no sign of life could be given for too long.
    async fn hold(&mut self, stop: &CancellationToken) {
        loop {
            let deadline = Instant::now() + self.election.renew_deadline;
            let renewed = loop {
                let renewed = tokio::select! {
                    biased;
                    () = stop.cancelled() => return,
                    renewed = tokio::time::timeout_at(deadline, self.attempt()) => renewed,
                };
                match renewed {
                    Ok(true) => break true,
                    // Somebody else holds it: no use in trying on.
                    Ok(false) if !self.is_holder() => break false,
                    Err(_) => break false,
                    Ok(false) => {}
                }
                tokio::select! {
                    biased;
                    () = stop.cancelled() => return,
                    () = tokio::time::sleep_until(deadline) => break false,
                    () = tokio::time::sleep(self.election.retry_period) => {}
                }
            };
            if !renewed {
                tracing::warn!(lease = %self.election.lease, "no longer leading");
                return;
            }
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = tokio::time::sleep(self.election.retry_period) => {}
            }
        }
    }

    fn tell(&self, leads: bool) {
        let Election { lease, metrics, .. } = &self.election;
        tell(metrics, &lease.name, leads);
    }

    fn is_holder(&self) -> bool {
        let observed = self.observed.as_ref();
        observed.is_some_and(|observed| observed.record.holder == self.election.identity)
    }

    /// Takes or renews the Lease, if that is possible now.
    async fn attempt(&mut self) -> bool {
        match self.try_once().await {
            Ok(held) => held,
            Err(error) => {
                // Somebody was quicker, or the server is away: the next attempt will see.
                tracing::debug!(lease = %self.election.lease, error = %chain(&error), "lease not written");
                false
            }
        }
    }

    async fn try_once(&mut self) -> Result<bool, CallError> {
        let found = match self.client.get(&leases(), &self.election.lease).await {
            Ok(found) => Some(found),
            Err(error) if error.is_not_found() => None,
            Err(error) => return Err(error),
        };
        let now = Instant::now();
        let written = self.clock.now_micros();
        let Some(found) = found else {
            let record = Record::first(&self.election, written);
            let lease = record.to_lease(Object::new(&leases().kind, &self.election.lease));
            let stored = self
                .client
                .create(&leases(), &lease, &self.options())
                .await?;
            self.observed = Some(Observed::new(&stored, now));
            return Ok(true);
        };
        let observed = Observed::update(self.observed.take(), &found, now);
        let step = observed.decide(&self.election, now, written);
        self.observed = Some(observed);
        let record = match step {
            Step::Wait => return Ok(false),
            Step::Write(record) => record,
        };
        let stored = self.replace(record.to_lease(found)).await?;
        self.observed = Some(Observed::new(&stored, now));
        Ok(true)
    }

    /// Lets the others in at once. Upstream: an empty holder with a second to live.
    async fn release(&mut self) {
        let Some(observed) = self.observed.take() else {
            return;
        };
        if observed.record.holder != self.election.identity {
            return;
        }
        let releasing = async {
            let found = self.client.get(&leases(), &self.election.lease).await?;
            let record = Record::read(&found);
            if record.holder != self.election.identity {
                return Ok(());
            }
            let released = record.released(self.clock.now_micros());
            self.replace(released.to_lease(found)).await.map(drop)
        };
        // Stopping must not hang on a server that is away; the Lease ends by itself.
        match timeout(self.election.retry_period, releasing).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::debug!(lease = %self.election.lease, error = %chain(&error), "lease not released");
            }
            Err(_) => tracing::debug!(lease = %self.election.lease, "lease not released in time"),
        }
    }

    /// With the revision that was looked at: if somebody was quicker it is refused.
    async fn replace(&self, lease: Object) -> Result<Object, CallError> {
        let options = self.options();
        self.client
            .replace(&leases(), &lease, &Part::Object, &options)
            .await
    }

    fn options(&self) -> WriteOptions {
        WriteOptions::default()
    }
}

fn tell(metrics: &Registry, lease: &str, leads: bool) {
    let status = Metric::LeaderElectionMasterStatus;
    metrics.set(status, &[lease], f64::from(u8::from(leads)));
}

fn leases() -> ResourceType {
    ResourceType::namespaced("coordination.k8s.io", "v1", "Lease", "leases")
}

/// The FNV-1a hash: the same for the same name everywhere.
fn seed_of(identity: &str) -> u64 {
    identity.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
