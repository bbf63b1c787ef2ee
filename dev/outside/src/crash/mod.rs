//! `kill -9` under a write load: nothing acknowledged is lost, nothing is half visible, revisions never go back, and
//! watchers go on where they were.
//!
//! In each round writers write until the server dies at a random moment; it is started again and everything that is
//! there is held against what was acknowledged. With etcd there are two servers, and either may die.

mod follower;
mod load;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use client::{Client, KubeconfigSource, ListOptions};
use tokio::task::JoinSet;

use self::follower::Follower;
use self::load::{State, Writer, number_of, resource};
use crate::dice::Dice;
use crate::peer::Etcd;
use crate::process::Karavel;
use crate::script::make_folder;

/// What to do to whom.
#[derive(Debug)]
pub struct Choice {
    /// The server under test.
    pub karavel: PathBuf,
    /// How many times each store's server is killed.
    pub times: u64,
    /// Where chance begins.
    pub seed: u64,
    /// Only this store: `embedded` or `etcd`; both if empty.
    pub only: Vec<String>,
}

const WRITERS: usize = 8;
const WATCHERS: usize = 4;

/// How long a watcher may take to see everything after the last kill.
const CATCH_UP: Duration = Duration::from_secs(30);

/// Runs the suite and reports on the terminal; true when nothing was lost.
pub fn run(choice: &Choice) -> Result<bool> {
    let directory = tempfile::tempdir()?;
    let wants =
        |store: &str| choice.only.is_empty() || choice.only.iter().any(|only| only == store);
    let mut problems = 0;
    if wants("embedded") {
        let folder = make_folder(directory.path(), "embedded")?;
        let server = Karavel::start(&choice.karavel, &folder.join("server"), &[])?;
        problems += torment("embedded", vec![server], choice)?;
    }
    if wants("etcd") {
        let folder = make_folder(directory.path(), "etcd")?;
        let etcd = Etcd::start(&folder)?;
        let further = ["--store", "etcd", "--etcd-servers", &etcd.url];
        let first = start(&choice.karavel, &folder, "first", &further)?;
        // Servers of one store read what the others wrote.
        let keys = make_folder(&folder.join("second"), "pki")?;
        let key = "pki/encryption.key";
        fs::copy(first.data_dir.join(key), keys.join("encryption.key"))
            .context("cannot bring the key to the second server")?;
        let second = start(&choice.karavel, &folder, "second", &further)?;
        problems += torment("etcd", vec![first, second], choice)?;
    }
    Ok(problems == 0)
}

fn start(karavel: &Path, folder: &Path, name: &str, further: &[&str]) -> Result<Karavel> {
    Karavel::start(karavel, &folder.join(name), further)
}

fn torment(store: &str, servers: Vec<Karavel>, choice: &Choice) -> Result<usize> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .worker_threads(2)
        .build()?;
    let started = Instant::now();
    let outcome = runtime.block_on(torment_all(servers, choice))?;
    runtime.shutdown_background();
    for problem in outcome.problems.iter().take(20) {
        println!("--- {store}: {problem}");
    }
    println!(
        "crash, {store}: {} kills, {} acknowledged writes, {} events to {WATCHERS} watchers that began {} watches; \
         back within {} ms at the latest; {} problems, {} s, seed {}",
        choice.times,
        outcome.writes,
        outcome.events,
        outcome.resumed,
        outcome.slowest_start.as_millis(),
        outcome.problems.len(),
        started.elapsed().as_secs(),
        choice.seed,
    );
    Ok(outcome.problems.len())
}

#[derive(Default)]
struct Outcome {
    writes: u64,
    events: u64,
    resumed: u64,
    slowest_start: Duration,
    problems: Vec<String>,
}

async fn torment_all(mut servers: Vec<Karavel>, choice: &Choice) -> Result<Outcome> {
    let mut dice = Dice::new(choice.seed);
    let mut outcome = Outcome::default();
    let kubeconfigs: Vec<PathBuf> = servers.iter().map(Karavel::kubeconfig).collect();
    let (_, mut newest) = found(&kubeconfigs[0]).await?;
    let mut following = JoinSet::new();
    let followers: Vec<Follower> = (0..WATCHERS).map(|_| Follower::new(newest)).collect();
    for (index, follower) in followers.iter().enumerate() {
        let mut turns = kubeconfigs.clone();
        turns.rotate_left(index % kubeconfigs.len());
        following.spawn(follower.clone().follow(turns));
    }
    let mut writers: Vec<Writer> = (0..WRITERS).map(Writer::new).collect();
    for round in 0..choice.times {
        let stop = Arc::new(AtomicBool::new(false));
        let mut writing = JoinSet::new();
        for (index, writer) in writers.drain(..).enumerate() {
            let client = open(&kubeconfigs[index % kubeconfigs.len()]).await?;
            writing.spawn(writer.write(client, Arc::clone(&stop)));
        }
        let millis = 30 + u64::try_from(dice.below(400)).unwrap_or_default();
        tokio::time::sleep(Duration::from_millis(millis)).await;
        let victim = dice.below(servers.len());
        if let Some(server) = servers.get_mut(victim) {
            server.kill();
        }
        stop.store(true, Ordering::Relaxed);
        while let Some(writer) = writing.join_next().await {
            writers.push(writer.context("a writer broke")?);
        }
        writers.sort_by_key(|writer| writer.number);
        let acknowledged = writers
            .iter()
            .map(|writer| writer.revision)
            .max()
            .unwrap_or_default();
        if let Some(server) = servers.get_mut(victim) {
            let took = server
                .start_again()
                .context("the server did not come back")?;
            outcome.slowest_start = outcome.slowest_start.max(took);
        }
        for kubeconfig in &kubeconfigs {
            let (states, revision) = found(kubeconfig).await?;
            let mut problems = Vec::new();
            if revision < acknowledged.max(newest) {
                problems.push(format!(
                    "revision {revision} after {}",
                    acknowledged.max(newest)
                ));
            }
            newest = newest.max(revision);
            let mut numbers = BTreeMap::new();
            for (name, state) in states {
                match state {
                    Ok(number) => drop(numbers.insert(name, Some(number))),
                    Err(problem) => problems.push(problem),
                }
            }
            for writer in &mut writers {
                problems.extend(writer.check(&numbers));
            }
            outcome.problems.extend(
                problems
                    .into_iter()
                    .map(|problem| format!("round {round}: {problem}")),
            );
        }
    }
    outcome.writes = writers.iter().map(|writer| writer.writes).sum();
    let wanted: BTreeMap<String, State> = writers
        .iter()
        .flat_map(|writer| writer.acknowledged.clone())
        .filter(|(_, state)| state.is_some())
        .collect();
    for (index, follower) in followers.iter().enumerate() {
        let seen = settle(follower, &wanted).await;
        if seen != wanted {
            let differs = seen
                .iter()
                .filter(|(name, state)| wanted.get(*name) != Some(state))
                .count();
            let lacks = wanted
                .keys()
                .filter(|name| !seen.contains_key(*name))
                .count();
            outcome.problems.push(format!(
                "watcher {index} ends with {differs} wrong and {lacks} missing of {}",
                wanted.len()
            ));
        }
        follower.locked(|seen| {
            outcome.events += seen.events;
            outcome.resumed += seen.resumed;
            outcome.problems.append(&mut seen.problems);
        });
    }
    following.abort_all();
    Ok(outcome)
}

/// What a watcher's events add up to, once it has caught up or had time enough.
async fn settle(follower: &Follower, wanted: &BTreeMap<String, State>) -> BTreeMap<String, State> {
    let deadline = Instant::now() + CATCH_UP;
    loop {
        let state: BTreeMap<String, State> = follower
            .locked(|seen| seen.state.clone())
            .into_iter()
            .filter(|(_, state)| state.is_some())
            .collect();
        if state == *wanted || Instant::now() > deadline {
            return state;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn open(kubeconfig: &Path) -> Result<Client> {
    let source = KubeconfigSource::File {
        path: kubeconfig.to_owned(),
        context: None,
    };
    Client::from_kubeconfig(&source)
        .await
        .context("cannot reach the server")
}

/// Everything that is there, each with its number or what is wrong with it, and the revision of the list.
async fn found(kubeconfig: &Path) -> Result<(Vec<(String, Result<u64, String>)>, u64)> {
    let options = ListOptions {
        label_selector: String::from("suite=crash"),
        ..ListOptions::default()
    };
    let list = open(kubeconfig)
        .await?
        .list(&resource(), "default", &options)
        .await
        .context("cannot list")?;
    let states = list
        .items
        .iter()
        .map(|object| (object.name().to_owned(), number_of(object)))
        .collect();
    let revision = list
        .resource_version
        .parse()
        .context("a list without a revision")?;
    Ok((states, revision))
}
