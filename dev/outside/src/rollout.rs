//! The control plane killed without warning at random moments of a rollout, while its members run on: it always comes to
//! the same end, nothing is lost, and nothing is deleted that should stay.
//!
//! Templates are written in rounds, each with a new version in them, by a client that tries again until it is answered.
//! After each kill the members are read: an object that was there must still be there, and be the same one. After the
//! last, all members must have the last version of everything, and nothing else; and the control plane must say so.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::dice::Dice;
use crate::process::{Karavel, Running, pause, wait_until};

/// What to try.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The server under test.
    pub karavel: PathBuf,
    /// How often it is killed.
    pub times: u64,
    /// How many templates there are, half of them Deployments.
    pub objects: u64,
    /// Where chance begins.
    pub seed: u64,
}

/// The simulated members, which one process runs.
const MEMBERS: [&str; 3] = ["m-1", "m-2", "m-3"];
/// How long a server that is killed lives at most: shorter than a round, so that kills fall into everything.
const LONGEST_LIFE: Duration = Duration::from_millis(1_500);
/// How many times as long as it took to start, if that is more: a build that starts slowly works slowly, and would be killed
/// before it had done anything.
const LIVES_PER_START: u32 = 3;
/// How long the end may take.
const PATIENCE: Duration = Duration::from_secs(300);

const POLICY: &str = r#"{"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy", "metadata": {"name": "all", "namespace": "default"}, "spec": {"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}, {"apiVersion": "v1", "kind": "ConfigMap", "labelSelector": {"matchLabels": {"rolled": "out"}}}], "placement": {"clusterAffinity": {"clusterNames": ["m-1", "m-2", "m-3"]}}}}"#;

/// Name and kind of an object in a member, to its uid and version.
type Seen = BTreeMap<(String, String), (String, u64)>;

/// Kills, and looks; true if nothing was lost.
pub fn run(choice: &Choice) -> Result<bool> {
    let place = tempfile::tempdir().context("cannot make a directory")?;
    let members = Members::start(choice, place.path())?;
    let mut server = Karavel::start(&choice.karavel, &place.path().join("server"), &[])?;
    members.join(choice, &server)?;
    let stop = AtomicBool::new(false);
    let kubeconfig = server.kubeconfig();
    let begun = Instant::now();
    let lost = std::thread::scope(|scope| {
        let writer = scope.spawn(|| write(&kubeconfig, choice.objects, &stop));
        let killed = kill_and_look(choice, &mut server, &members);
        stop.store(true, Ordering::Relaxed);
        let rounds = writer
            .join()
            .unwrap_or_else(|_| bail!("the writer broke"))?;
        killed.map(|lost| (lost, rounds))
    });
    let (lost, rounds) = lost?;
    if let Some(lost) = lost {
        println!("rollout: {lost}");
        return Ok(false);
    }
    let caught_up = settle(&members, choice.objects, rounds)?;
    agree(&kubeconfig, choice.objects)?;
    println!(
        "rollout: {} objects on {} members, {} rounds, killed {} times in {:.0} s; the end was the same {:.1} s after the last write, nothing was lost",
        choice.objects,
        MEMBERS.len(),
        rounds,
        choice.times,
        begun.elapsed().as_secs_f64(),
        caught_up.as_secs_f64(),
    );
    Ok(true)
}

/// Kills the server again and again; says what was lost, if anything.
fn kill_and_look(
    choice: &Choice,
    server: &mut Karavel,
    members: &Members,
) -> Result<Option<String>> {
    let mut dice = Dice::new(choice.seed);
    let mut known: BTreeMap<&str, Seen> = BTreeMap::new();
    let mut start = Duration::ZERO;
    for round in 1..=choice.times {
        let longest = LONGEST_LIFE.max(start * LIVES_PER_START);
        let longest = usize::try_from(longest.as_micros()).unwrap_or(usize::MAX);
        let life = u64::try_from(dice.below(longest)).unwrap_or_default();
        pause(Duration::from_micros(life));
        server.kill();
        for member in MEMBERS {
            let found = members.list(member)?;
            let before = known.entry(member).or_default();
            for (name, (uid, version)) in before.iter() {
                match found.get(name) {
                    None => {
                        return Ok(Some(format!(
                            "kill {round}: {name:?} is gone from {member}"
                        )));
                    }
                    Some((other, _)) if other != uid => {
                        return Ok(Some(format!(
                            "kill {round}: {name:?} in {member} is another"
                        )));
                    }
                    Some((_, older)) if older < version => {
                        return Ok(Some(format!(
                            "kill {round}: {name:?} in {member} went back from {version} to {older}"
                        )));
                    }
                    Some(_) => {}
                }
            }
            *before = found;
        }
        start = server.start_again()?;
        if round % 10 == 0 {
            let there: usize = known.values().map(BTreeMap::len).sum();
            println!("rollout: killed {round} times, {there} objects in members");
        }
    }
    Ok(None)
}

/// Writes round after round until told to stop; every template at least once. Returns how many rounds there were.
fn write(kubeconfig: &Path, objects: u64, stop: &AtomicBool) -> Result<u64> {
    until_written(kubeconfig, POLICY)?;
    let mut round = 0;
    loop {
        round += 1;
        let numbers: Vec<u64> = (0..objects).collect();
        for batch in numbers.chunks(50) {
            let items: Vec<Value> = batch
                .iter()
                .map(|number| template(*number, round))
                .collect();
            let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
            until_written(kubeconfig, &list.to_string())?;
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(round);
        }
    }
}

fn template(number: u64, round: u64) -> Value {
    let version = round.to_string();
    if number.is_multiple_of(2) {
        return json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": format!("c{number}"), "namespace": "default", "labels": {"rolled": "out"}},
            "data": {"version": version}});
    }
    let name = format!("d{number}");
    json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default", "labels": {"rolled": "out"}, "annotations": {"version": version}},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}}}})
}

/// Waits until every member has the last version of everything and nothing else.
fn settle(members: &Members, objects: u64, rounds: u64) -> Result<Duration> {
    let begun = Instant::now();
    let expected = usize::try_from(objects).context("too many objects")?;
    wait_until("the last version in all members", PATIENCE, || {
        MEMBERS.iter().all(|member| {
            members.list(member).is_ok_and(|found| {
                found.len() == expected && found.values().all(|(_, version)| *version == rounds)
            })
        })
    })?;
    Ok(begun.elapsed())
}

/// Waits until the control plane says the same: every template bound once, brought to every member, and ready there; and
/// no work too many.
fn agree(kubeconfig: &Path, objects: u64) -> Result<()> {
    let objects = usize::try_from(objects).context("too many objects")?;
    wait_until("the control plane says so too", PATIENCE, || {
        let list = |kinds: &str| -> Option<Vec<Value>> {
            let mut command = Command::new("kubectl");
            command.args(["get", kinds, "-A", "-o", "json"]);
            let text = kubectl(command, kubeconfig, "").ok()?;
            let mut list: Value = serde_json::from_str(&text).ok()?;
            match list["items"].take() {
                Value::Array(items) => Some(items),
                _ => None,
            }
        };
        let is_rolled = |item: &&Value| item["metadata"]["labels"]["rolled"] == "out";
        let (Some(bindings), Some(works), Some(deployments)) = (
            list("resourcebindings"),
            list("works"),
            list("deployments.apps"),
        ) else {
            return false;
        };
        let applied = bindings.iter().filter(|binding| is_applied(binding));
        let made = works.iter().filter(|work| {
            let manifest = &work["spec"]["workload"]["manifests"][0];
            is_rolled(&manifest)
        });
        let copies = MEMBERS.len();
        let ready = deployments.iter().filter(is_rolled).filter(|deployment| {
            deployment["status"]["readyReplicas"] == copies
                && deployment["status"]["observedGeneration"]
                    == deployment["metadata"]["generation"]
        });
        bindings.len() == objects
            && applied.count() == objects
            && made.count() == objects * copies
            && ready.count() == objects / 2
    })
}

fn is_applied(binding: &Value) -> bool {
    let conditions = binding["status"]["conditions"].as_array();
    conditions
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "FullyApplied" && condition["status"] == "True")
}

fn until_written(kubeconfig: &Path, text: &str) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let mut command = Command::new("kubectl");
        command.args(["apply", "--server-side", "--force-conflicts", "-f", "-"]);
        if kubectl(command, kubeconfig, text).is_ok() {
            return Ok(());
        }
        ensure!(
            Instant::now() < deadline,
            "the server takes nothing any more"
        );
        pause(Duration::from_millis(50));
    }
}

fn kubectl(mut command: Command, kubeconfig: &Path, input: &str) -> Result<String> {
    use std::io::Write as _;
    use std::process::Stdio;
    let mut child = command
        .env("KUBECONFIG", kubeconfig)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start kubectl")?;
    if let Some(mut pipe) = child.stdin.take() {
        // A client that gave up early does not read; what it says is what counts.
        drop(pipe.write_all(input.as_bytes()));
    }
    let output = child
        .wait_with_output()
        .context("cannot wait for kubectl")?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr));
    }
    String::from_utf8(output.stdout).context("kubectl wrote something else than text")
}

/// The members, in one process that is not killed.
struct Members {
    _running: Running,
    kubeconfig: PathBuf,
}

impl Members {
    fn start(choice: &Choice, place: &Path) -> Result<Self> {
        let home = place.join("members");
        let mut command = Command::new(&choice.karavel);
        command
            .args(["sim", "--name", "m", "--count", "3", "--data-dir"])
            .arg(&home)
            .env("KARAVEL_LOG", "warn");
        let running = Running::start(&mut command, &place.join("members.log"))?;
        let members = Self {
            _running: running,
            kubeconfig: home.join("kubeconfig"),
        };
        wait_until("three members", Duration::from_secs(60), || {
            members.kubeconfig.is_file() && MEMBERS.iter().all(|name| members.list(name).is_ok())
        })?;
        Ok(members)
    }

    fn join(&self, choice: &Choice, server: &Karavel) -> Result<()> {
        for member in MEMBERS {
            let joined = Command::new(&choice.karavel)
                .args([
                    "join",
                    member,
                    "--cluster-context",
                    member,
                    "--cluster-kubeconfig",
                ])
                .arg(&self.kubeconfig)
                .arg("--kubeconfig")
                .arg(server.kubeconfig())
                .output()
                .context("cannot run karavel join")?;
            ensure!(
                joined.status.success(),
                "{member} does not join: {}",
                String::from_utf8_lossy(&joined.stderr)
            );
        }
        Ok(())
    }

    fn list(&self, member: &str) -> Result<Seen> {
        let mut command = Command::new("kubectl");
        command.args([
            "--context",
            member,
            "get",
            "deployments,configmaps",
            "-n",
            "default",
        ]);
        command.args(["-l", "rolled=out", "-o", "json"]);
        let text = kubectl(command, &self.kubeconfig, "")?;
        let list: Value = serde_json::from_str(&text).context("kubectl wrote no JSON")?;
        let items = list["items"].as_array().into_iter().flatten();
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Ok(items
            .map(|item| {
                let version = match &item["data"]["version"] {
                    Value::Null => &item["metadata"]["annotations"]["version"],
                    version => version,
                };
                (
                    (word(&item["kind"]), word(&item["metadata"]["name"])),
                    (
                        word(&item["metadata"]["uid"]),
                        word(version).parse().unwrap_or_default(),
                    ),
                )
            })
            .collect())
    }
}
