//! What a simulated cluster is to look like.

use std::path::PathBuf;

use object::quantity::Quantity;
use store::embedded::Retention;

use crate::behaviour::Rules;

/// How a member is made.
#[derive(Clone, Debug)]
pub struct MemberConfig {
    /// The cluster's name; its nodes are called after it.
    pub name: String,
    /// How many nodes it has.
    pub nodes: usize,
    /// How many processors each node has.
    pub cpu: Quantity,
    /// How much memory each node has.
    pub memory: Quantity,
    /// How many pods each node takes.
    pub pods: u32,
    /// The Kubernetes version it says it is.
    pub version: String,
    /// Where it keeps its objects.
    pub data: Data,
    /// Whether what happens is told in Event objects; they cost more than all other writes together.
    pub events: bool,
    /// Whether what is served is registered in APIService objects. Few ask for them, and they are some thirty.
    pub registers: bool,
    /// Seconds between two renewals of a node's lease. Kubernetes renews every ten seconds; many members in one process
    /// do with less.
    pub heartbeat: u32,
    /// What clients must trust; it goes into the Secrets of tokens. Empty for a member that nobody reaches over TLS.
    pub authority_pem: String,
    /// How pods behave, before the rules every member has.
    pub rules: Rules,
}

/// Where a member keeps its objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    /// Nowhere: they are gone with the process.
    Memory,
    /// In a directory, where certificates and the kubeconfig are too.
    Directory(PathBuf),
}

/// Changes a member in memory keeps: enough for watchers that are a little late, little enough for a thousand members.
const KEPT_EVENTS: usize = 1_000;
const KEPT_BYTES: usize = 512 * 1024;
/// Kubernetes' own.
const HEARTBEAT: u32 = 10;
/// The version of the kinds that are served.
const VERSION: &str = "v1.34.0";

impl MemberConfig {
    /// A cluster of three nodes of 8 processors, 16 GiB and 110 pods, kept in memory.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            nodes: 3,
            cpu: Quantity::from_units(8, object::quantity::Format::DecimalSI),
            memory: Quantity::from_units(16 << 30, object::quantity::Format::BinarySI),
            pods: 110,
            version: VERSION.to_owned(),
            data: Data::Memory,
            events: true,
            registers: false,
            heartbeat: HEARTBEAT,
            authority_pem: String::new(),
            rules: Rules::default(),
        }
    }

    /// How much of the past its store keeps when it is kept in memory.
    pub(crate) fn retention(&self) -> Retention {
        Retention {
            events: KEPT_EVENTS,
            bytes: KEPT_BYTES,
            ..Retention::default()
        }
    }

    /// What plans need to know of it.
    pub(crate) fn shape(&self) -> Shape {
        Shape {
            name: self.name.clone(),
            nodes: self.nodes,
            cpu: self.cpu,
            memory: self.memory,
            pods: self.pods,
            version: self.version.clone(),
            events: self.events,
            heartbeat: i64::from(self.heartbeat.max(1)),
            registers: self.registers,
        }
    }
}

/// What plans need to know of a member.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) name: String,
    pub(crate) nodes: usize,
    pub(crate) cpu: Quantity,
    pub(crate) memory: Quantity,
    pub(crate) pods: u32,
    pub(crate) version: String,
    pub(crate) events: bool,
    pub(crate) heartbeat: i64,
    pub(crate) registers: bool,
}
