//! The role `up`: the control plane and simulated members in one process, already joined.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use api::well_known::taints::{NOT_READY, UNREACHABLE};
use apiserver::Options;
use assembly::plane::{self, Settings};
use cli::Failure;
use client::{Client, KubeconfigSource, ListOptions, PatchKind, WriteOptions};
use http::Method;
use intent::Part;
use member::join::{JoinError, JoinOptions};
use object::{Object, ObjectKey, ResourceType, Value};
use runtime::Tasks;
use serde_json::json;
use sim::SimConfig;

use crate::arguments::Up;
use crate::directory::{self, Beside, DataDirectory, Purpose};
use crate::{care, demo, memory, preflight, print, running, scheduling, sim as role, terminal};

/// How long members may take to be seen as ready; whoever waits is told for what.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long nothing is said while they are waited for.
const SILENCE: Duration = Duration::from_secs(2);
/// Between two looks at them.
const LOOK: Duration = Duration::from_millis(20);
/// As many members are told of one by one; of more, whenever so many further ones have joined.
const NAMED: usize = 20;
/// Whenever so many members have been opened, it is said: it takes a while.
const OPENED: u16 = 50;
/// The file in a member's directory that says which control plane it has joined.
const JOINED: &str = "joined";

/// Runs until it is told to stop.
pub(crate) fn run(typed: Up) -> Result<(), Failure> {
    running::log(&typed.logging.log, typed.logging.log_format)?;
    running::block_on(running::run(async |tasks: &mut Tasks| {
        bring_up(typed, tasks).await
    }))?
}

/// Starts everything, and returns what has to be held while it runs.
async fn bring_up(typed: Up, tasks: &mut Tasks) -> Result<Vec<DataDirectory>, Failure> {
    let begun = Instant::now();
    let data_dir = match typed.data_dir {
        Some(given) => given,
        None => default_data_dir()?,
    };
    let mut settings = Settings::default();
    scheduling::settle(&typed.scheduling, &mut settings)?;
    care::settle(&typed.care, &mut settings)?;
    let addresses = addresses(typed.listen, typed.members)?;
    let purpose = Purpose::ControlPlane;
    let held = preflight::take(&data_dir, purpose, Beside::Nothing, &addresses)?;
    if !held.is_new {
        print(&format!(
            "going on with what is in {}\n",
            data_dir.display()
        ))?;
    }
    let mut held = vec![held];
    let kept = data_dir.join("members");
    // Members first: a control plane that comes back should find them where they were.
    let mut members = Vec::new();
    for number in 1..=typed.members {
        let name = format!("member{number}");
        let config = SimConfig {
            listen: after(typed.listen, number)?,
            ..SimConfig::new(name.as_str(), kept.join(&name))
        };
        let place = directory::claim(&config.data_dir, Purpose::Members, Beside::Anything)?;
        held.push(place);
        let started = sim::run(&config, tasks)
            .await
            .map_err(|error| role::refuse(&error))?;
        if number > 1 && number.is_multiple_of(OPENED) {
            step(begun, &format!("{number} simulated members are open"))?;
        }
        members.extend(started.members.iter().map(|(_, address)| Member {
            name: name.clone(),
            directory: config.data_dir.clone(),
            kubeconfig: started.kubeconfig.clone(),
            endpoint: format!("https://{address}"),
        }));
    }
    match members.len() {
        0 => {}
        1 => step(begun, "1 simulated member is running")?,
        count => step(begun, &format!("{count} simulated members are running"))?,
    }
    let options = Options {
        storage: apiserver::Storage::Embedded,
        data_dir,
        listen: typed.listen,
        names: Vec::new(),
        security: apiserver::Security::default(),
    };
    let plane = plane::start(options, tasks).await?;
    step(
        begun,
        &format!("the control plane is on https://{}", plane.address),
    )?;
    let control = plane.administrator();
    let mut awaited: Vec<&str> = Vec::new();
    for member in &members {
        if is_let_go(&control, member).await? {
            print(&format!(
                "{name} was let go earlier and is not joined again; to do so:\n  karavel join {name} --cluster-kubeconfig {file}\n",
                name = member.name,
                file = terminal::word(&member.kubeconfig),
            ))?;
            continue;
        }
        join(&control, member).await?;
        awaited.push(&member.name);
        if members.len() <= NAMED {
            let said = format!("{} has joined from {}", member.name, member.endpoint);
            step(begun, &said)?;
        } else if awaited.len().is_multiple_of(NAMED) {
            step(begun, &format!("{} members have joined", awaited.len()))?;
        }
    }
    let absent = absent(&control, &members, &kept).await?;
    for name in &absent {
        print(&format!(
            "{name} has joined and is not run this time: start more --members, or let it go with\n  karavel unjoin {name} --force\n"
        ))?;
    }
    // Nobody looks for members before it is known where they are now.
    plane.begin(&settings)?;
    let kubeconfigs: Vec<PathBuf> = members
        .iter()
        .map(|member| member.kubeconfig.clone())
        .collect();
    cli::merge_kubeconfigs(&plane.kubeconfig, &kubeconfigs)?;
    if !awaited.is_empty() && wait_until_ready(&control, &awaited, &plane.kubeconfig).await? {
        step(
            begun,
            match absent.is_empty() {
                true => "all members are ready",
                false => "all members that run are ready",
            },
        )?;
    }
    let has_demo = typed.demo && demo::show(&control, begun, &awaited, members.len()).await?;
    print(&farewell(&plane.kubeconfig, has_demo, &awaited))?;
    memory::give_back(tasks);
    Ok(held)
}

/// What to do next: where the kubeconfig is, and three commands worth typing.
fn farewell(kubeconfig: &Path, has_demo: bool, members: &[&str]) -> String {
    // Another terminal is somewhere else.
    let kubeconfig = std::path::absolute(kubeconfig).unwrap_or_else(|_| kubeconfig.to_owned());
    let commands = match (has_demo, members) {
        (true, [first, ..]) => format!(
            "  karavel get deployments,pods -n shop -s all
  karavel explain deployment/web -n shop
  karavel simulate --lose {first}"
        ),
        (_, []) => "  karavel join NAME --cluster-kubeconfig FILE
  karavel clusters
  karavel apply -f FILE --all-clusters"
            .to_owned(),
        (false, _) => "  karavel clusters
  karavel create deployment web --image=nginx --dry-run -o yaml |
    karavel apply -f - --all-clusters
  karavel get deployments -s all"
            .to_owned(),
    };
    format!(
        "
karavel is up. In another terminal:

  export KUBECONFIG={kubeconfig}
{commands}

Ctrl-C stops it; the same command goes on where it was.
",
        kubeconfig = terminal::word(&kubeconfig)
    )
}

/// Everybody who will listen, and where.
fn addresses(listen: SocketAddr, members: u16) -> Result<Vec<(String, SocketAddr)>, Failure> {
    let mut all = vec![("the control plane".to_owned(), listen)];
    for number in 1..=members {
        all.push((format!("member{number}"), after(listen, number)?));
    }
    Ok(all)
}

/// Says what has been done, and how long it took altogether.
pub(crate) fn step(begun: Instant, what: &str) -> Result<(), Failure> {
    let time = format!("[{:5.2} s]", begun.elapsed().as_secs_f64());
    print(&format!("{} {what}\n", terminal::good(&time)))
}

/// A simulated member that runs.
struct Member {
    name: String,
    /// Where its files are.
    directory: PathBuf,
    kubeconfig: PathBuf,
    endpoint: String,
}

/// Joins a member, or lets one that has joined before be found where it is now.
async fn join(control: &Client, simulated: &Member) -> Result<(), Failure> {
    let Member {
        name,
        directory,
        kubeconfig,
        endpoint,
    } = simulated;
    let source = KubeconfigSource::File {
        path: kubeconfig.clone(),
        context: None,
    };
    let member = Client::from_kubeconfig(&source).await.map_err(|error| {
        Failure::failed(
            telemetry::chain(&error).to_string(),
            "remove the member's directory and start again",
        )
    })?;
    let options = JoinOptions {
        provider: "karavel".to_owned(),
        // Its members are nobody else's: what is there is of a control plane whose data was removed.
        takes_over: true,
        ..JoinOptions::new(name.as_str(), endpoint.as_str())
    };
    match member::join::join(control, &member, &options).await {
        Ok(_) => {}
        Err(JoinError::Registered { id, .. }) => {
            move_to(control, name, &id, endpoint).await?;
            // Nobody replaced its tokens while nothing ran.
            let now = runtime::Clock::system().now();
            let renewed = member::join::renew(control, &member, &options, now).await;
            renewed.map_err(|error| crate::clusters::join_failure(&error))?;
        }
        Err(error) => return Err(crate::clusters::join_failure(&error)),
    }
    let note = directory.join(JOINED);
    std::fs::write(&note, identity(control).await?).map_err(|error| {
        Failure::failed(
            format!("cannot write {}: {error}", note.display()),
            "check who may write there, and the space left",
        )
    })
}

/// Whether a member has joined this control plane before and is not joined any more: somebody let it go.
async fn is_let_go(control: &Client, member: &Member) -> Result<bool, Failure> {
    let Ok(noted) = std::fs::read_to_string(member.directory.join(JOINED)) else {
        return Ok(false);
    };
    let found = control
        .get_metadata(&clusters(), &ObjectKey::cluster(&member.name))
        .await;
    match found {
        Ok(_) => Ok(false),
        Err(error) if error.is_not_found() => Ok(noted == identity(control).await?),
        Err(error) => Err(cli::call_failure(&error)),
    }
}

/// What tells this control plane from others.
async fn identity(control: &Client) -> Result<String, Failure> {
    let kind = ResourceType::cluster("", "v1", "Namespace", "namespaces");
    let found = control
        .get_metadata(&kind, &ObjectKey::cluster("kube-system"))
        .await
        .map_err(|error| cli::call_failure(&error))?;
    Ok(found.uid().to_owned())
}

/// Simulated members, kept in `place`, that have joined in an earlier run and are not run now.
async fn absent(
    control: &Client,
    members: &[Member],
    place: &Path,
) -> Result<Vec<String>, Failure> {
    let listed = control
        .list_all(&clusters(), "", &ListOptions::default())
        .await
        .map_err(|error| cli::call_failure(&error))?;
    let names = listed.items.iter().map(Object::name);
    let not_run = names
        .filter(|name| place.join(name).is_dir())
        .filter(|name| !members.iter().any(|member| member.name == *name));
    Ok(not_run.map(str::to_owned).collect())
}

/// Lets the control plane find a member under its present address, if it is the one that joined under the name.
async fn move_to(control: &Client, name: &str, id: &str, endpoint: &str) -> Result<(), Failure> {
    let key = ObjectKey::cluster(name);
    let found = control
        .get(&clusters(), &key)
        .await
        .map_err(|error| cli::call_failure(&error))?;
    if found.text_at(&["spec", "id"]) != Some(id) {
        return Err(Failure::refused(
            format!("another cluster has joined as {name}"),
            "let it go with `karavel unjoin`, or choose another --data-dir",
        ));
    }
    if found.text_at(&["spec", "apiEndpoint"]) == Some(endpoint) {
        return Ok(());
    }
    let patch = json!({
        "metadata": {"resourceVersion": found.resource_version()},
        "spec": {"apiEndpoint": endpoint},
    });
    let (options, kind) = (WriteOptions::by("karavel-up"), PatchKind::Merge);
    control
        .patch(&clusters(), &key, kind, &patch, &Part::Object, &options)
        .await
        .map_err(|error| cli::call_failure(&error))?;
    Ok(())
}

/// Waits until these clusters are seen as ready and can be looked into, and says whether it is so.
async fn wait_until_ready(
    control: &Client,
    members: &[&str],
    kubeconfig: &Path,
) -> Result<bool, Failure> {
    let count = members.len();
    let source = KubeconfigSource::File {
        path: kubeconfig.to_owned(),
        context: None,
    };
    let user = Client::from_kubeconfig(&source).await.map_err(|error| {
        Failure::failed(
            telemetry::chain(&error).to_string(),
            "remove the kubeconfig and start again: it is written anew",
        )
    })?;
    let begun = Instant::now();
    let (mut told, mut open) = (None, BTreeSet::new());
    let ready = async {
        loop {
            let listed = control
                .list_all(&clusters(), "", &ListOptions::default())
                .await
                .map_err(|error| cli::call_failure(&error))?;
            let names = listed.items.iter().filter(|cluster| is_ready(cluster));
            let names = names
                .map(Object::name)
                .filter(|name| members.contains(name));
            for name in names {
                if !open.contains(name) && is_open(&user, name).await {
                    open.insert(name.to_owned());
                }
            }
            let ready = open.len();
            if ready >= count {
                return Ok(true);
            }
            // Whoever waits for long is told for what, and again when something happens.
            if begun.elapsed() > SILENCE && told != Some(ready) {
                told = Some(ready);
                print(&format!(
                    "waiting for members: {ready} of {count} are ready\n"
                ))?;
            }
            tokio::time::sleep(LOOK).await;
        }
    };
    match tokio::time::timeout(PATIENCE, ready).await {
        Ok(done) => done,
        // They may still become ready; whoever looks will see which are not.
        Err(_) => {
            print("not all members are ready yet; `karavel clusters` shows which\n")?;
            Ok(false)
        }
    }
}

/// Whether work may go to a cluster: it is well, has said what it serves, and the mark that kept work away while it was
/// not well is gone.
fn is_ready(cluster: &Object) -> bool {
    let list = |path: &[&str]| -> Vec<&Value> {
        let found = cluster.at(path).and_then(Value::as_array);
        found.into_iter().flatten().collect()
    };
    let is_well = list(&["status", "conditions"])
        .into_iter()
        .any(|condition| condition["type"] == "Ready" && condition["status"] == "True");
    let is_marked = list(&["spec", "taints"])
        .into_iter()
        .any(|taint| taint["key"] == NOT_READY || taint["key"] == UNREACHABLE);
    is_well && !is_marked && !list(&["status", "apiEnablements"]).is_empty()
}

/// Whether the control plane lets the user of its kubeconfig through to a member: what allows it there comes a moment after
/// the member has joined, and whoever types the first command should not be refused.
async fn is_open(user: &Client, member: &str) -> bool {
    let path = format!(
        "{}/proxy/api",
        clusters().object_path(&ObjectKey::cluster(member))
    );
    let answer = user
        .request(Method::GET, &path, "application/json", Vec::new().into())
        .await;
    answer.is_ok()
}

fn clusters() -> ResourceType {
    ResourceType::from(&api::registry::CLUSTER)
}

/// Where a member listens: on the port that is its number after the control plane's, on the same address; on any port
/// if the control plane does.
fn after(first: SocketAddr, number: u16) -> Result<SocketAddr, Failure> {
    if first.port() == 0 {
        return Ok(first);
    }
    let port = first.port().checked_add(number).ok_or_else(|| {
        Failure::refused(
            format!("there is no port {number} after {}", first.port()),
            "choose a lower port with --listen",
        )
    })?;
    Ok(SocketAddr::new(first.ip(), port))
}

fn default_data_dir() -> Result<PathBuf, Failure> {
    let home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty());
    let home = home.ok_or_else(|| {
        Failure::refused(
            "there is no home directory",
            "choose a directory with --data-dir",
        )
    })?;
    let data_dir = home.join(".karavel");
    if !data_dir.exists() {
        directory::check_home(&home)?;
    }
    Ok(data_dir)
}
