//! Members that listen: what `karavel sim` runs.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use futures_util::{StreamExt, TryStreamExt, stream};
use object::quantity::Quantity;
use runtime::{Clock, Tasks};

use crate::behaviour::Rules;
use crate::config::{Data, MemberConfig};
use crate::kubeconfig::{self, Entry};
use crate::member::{Member, OpenError};
use crate::ports::Ports;
use crate::serving::{Credentials, ServeError};

/// How simulated members are started.
#[derive(Clone, Debug)]
pub struct SimConfig {
    /// The member's name; of several, what comes before `-1`, `-2` and so on.
    pub name: String,
    /// Where certificates and the kubeconfig are, and one member's objects.
    pub data_dir: PathBuf,
    /// Where the first listens; the next ones on the ports after it. Port 0 takes those of the last time, which are in
    /// the data directory, or else any.
    pub listen: SocketAddr,
    /// Further names and addresses clients may reach them under.
    pub names: Vec<String>,
    /// How many nodes each has.
    pub nodes: usize,
    /// How many processors each node has.
    pub cpu: Quantity,
    /// How much memory each node has.
    pub memory: Quantity,
    /// How many pods each node takes.
    pub pods: u32,
    /// How many members there are. One keeps its objects in the data directory; several keep theirs in memory.
    pub count: usize,
    /// How pods behave, before the rules every member has.
    pub rules: Rules,
}

/// What was started.
pub struct Running {
    /// The members, each with its address.
    pub members: Vec<(Member, SocketAddr)>,
    /// Members that listen on another port than the last time, because somebody else has theirs.
    pub moved: Vec<Moved>,
    /// The administrator's kubeconfig, with one context for each member.
    pub kubeconfig: PathBuf,
}

/// A member that did not get the port of the last time. Whoever joined it does not find it any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Which.
    pub name: String,
    /// Where it listened the last time.
    pub from: u16,
    /// Where it listens now.
    pub to: u16,
}

/// Why simulated members do not start.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The data directory cannot be made or written.
    #[error("cannot use the data directory {}", path.display())]
    Directory {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The name cannot be a cluster's.
    #[error("{name:?} cannot be the name of a cluster: {why}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// There are not enough ports after the first.
    #[error("there are no {count} ports from {first} on")]
    Ports {
        /// The first port.
        first: u16,
        /// How many are needed.
        count: usize,
    },
    /// A member does not open.
    #[error("cannot open member {name}")]
    Open {
        /// Which.
        name: String,
        /// Why.
        source: OpenError,
    },
    /// A member cannot be served.
    #[error("cannot serve member {name}")]
    Serve {
        /// Which.
        name: String,
        /// Why.
        source: ServeError,
    },
}

/// So many members and more are not written about in events and registrations, and their nodes are heard of less often.
const MANY: usize = 20;
/// Members that open at the same time: enough to keep a few processors busy.
const OPEN_AT_ONCE: usize = 16;
/// Seconds between two renewals of a lease when there are many members.
const SLOW_HEARTBEAT: u32 = 300;

impl SimConfig {
    /// One member of three nodes on any local port.
    #[must_use]
    pub fn new(name: impl Into<String>, data_dir: impl Into<PathBuf>) -> Self {
        let member = MemberConfig::new(name);
        Self {
            name: member.name,
            data_dir: data_dir.into(),
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            names: Vec::new(),
            nodes: member.nodes,
            cpu: member.cpu,
            memory: member.memory,
            pods: member.pods,
            count: 1,
            rules: Rules::default(),
        }
    }

    /// Everybody who would listen, and where, before anything is begun; with port 0 on any port.
    pub fn addresses(&self) -> Result<Vec<(String, SocketAddr)>, RunError> {
        if let Some(why) = object::names::check_dns1123_label(&self.name).first() {
            return Err(RunError::Name {
                name: self.name.clone(),
                why: why.clone(),
            });
        }
        let places = 0..self.count.max(1);
        let one = |place| Ok((self.name_of(place), address(self, place, 0)?));
        places.map(one).collect()
    }

    /// What the member at a place is called.
    fn name_of(&self, place: usize) -> String {
        match self.count {
            0 | 1 => self.name.clone(),
            _ => format!("{}-{}", self.name, place.saturating_add(1)),
        }
    }

    fn member(&self, place: usize) -> MemberConfig {
        let mut config = MemberConfig::new(self.name_of(place));
        (config.nodes, config.pods) = (self.nodes, self.pods);
        (config.cpu, config.memory) = (self.cpu, self.memory);
        config.rules = self.rules.clone();
        config.registers = self.count < MANY;
        if self.count == 1 {
            config.data = Data::Directory(self.data_dir.clone());
            return config;
        }
        if self.count >= MANY {
            config.events = false;
            config.heartbeat = SLOW_HEARTBEAT;
        }
        config
    }
}

/// Starts members and their listeners as tasks, and writes the kubeconfig. They answer when this returns.
pub async fn run(config: &SimConfig, tasks: &mut Tasks) -> Result<Running, RunError> {
    config.addresses()?;
    let pki = config.data_dir.join("pki");
    let unusable = |path: &PathBuf, source| RunError::Directory {
        path: path.clone(),
        source,
    };
    listen::private_directory(&pki).map_err(|source| unusable(&pki, source))?;
    let serve = |name: &str, source| RunError::Serve {
        name: name.to_owned(),
        source,
    };
    let mut names = config.names.clone();
    if !config.listen.ip().is_unspecified() {
        names.push(config.listen.ip().to_string());
    }
    let credentials =
        Credentials::open(&pki, &names).map_err(|source| serve(&config.name, source))?;
    let kubeconfig = config.data_dir.join("kubeconfig");
    let ports_file = config.data_dir.join("ports.json");
    let mut ports = Ports::read(&ports_file);
    let (spawner, credentials, last) = (&tasks.spawner(), &credentials, &ports);
    let opening = (0..config.count.max(1)).map(|place| async move {
        let mut member = config.member(place);
        member.authority_pem = credentials.authority_pem().to_owned();
        let name = member.name.clone();
        let wanted = address(config, place, last.of(&name))?;
        let opened = Member::open(member, Clock::system(), spawner).await;
        let opened = opened.map_err(|source| RunError::Open {
            name: name.clone(),
            source,
        })?;
        let listening = opened.listen(wanted, credentials, spawner).await;
        let listening = match listening {
            // The port of the last time is somebody else's by now.
            Err(_) if wanted.port() != config.listen.port() && config.listen.port() == 0 => {
                opened.listen(config.listen, credentials, spawner).await
            }
            listening => listening,
        };
        Ok((opened, listening.map_err(|source| serve(&name, source))?))
    });
    let members: Vec<(Member, SocketAddr)> = stream::iter(opening)
        .buffered(OPEN_AT_ONCE)
        .try_collect()
        .await?;
    let mut moved = Vec::new();
    for (member, address) in &members {
        let (name, from, to) = (member.name(), ports.of(member.name()), address.port());
        if from != 0 && from != to && config.listen.port() == 0 {
            tracing::warn!(
                member = name,
                from,
                to,
                "the port of the last time is taken"
            );
            let name = name.to_owned();
            moved.push(Moved { name, from, to });
        }
        ports.put(member.name(), to);
    }
    ports
        .write(&ports_file)
        .map_err(|source| unusable(&ports_file, source))?;
    let admin = credentials
        .administrator()
        .map_err(|source| serve(&config.name, source))?;
    let entries: Vec<Entry<'_>> = members
        .iter()
        .map(|(member, address)| Entry {
            name: member.name(),
            server: format!("https://{address}"),
        })
        .collect();
    let before = kubeconfig::read(&kubeconfig);
    let authority = credentials.authority_pem();
    let document = kubeconfig::document(&entries, authority, &admin, before.as_ref());
    kubeconfig::write(&kubeconfig, &document).map_err(|source| unusable(&kubeconfig, source))?;
    Ok(Running {
        members,
        moved,
        kubeconfig,
    })
}

/// Where the member at a place listens, which had the port `last` the last time.
fn address(config: &SimConfig, place: usize, last: u16) -> Result<SocketAddr, RunError> {
    let first = config.listen.port();
    if first == 0 {
        return Ok(SocketAddr::new(config.listen.ip(), last));
    }
    let port = u16::try_from(place)
        .ok()
        .and_then(|place| first.checked_add(place))
        .ok_or(RunError::Ports {
            first,
            count: config.count,
        })?;
    Ok(SocketAddr::new(config.listen.ip(), port))
}
