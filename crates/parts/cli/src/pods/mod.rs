//! What runs in members: its log, commands in it, ways into it. Everything goes through the control plane.

mod channels;
mod choose;
mod exec;
mod forward;
mod logs;
mod ports;

pub use exec::{Streams, Told, attach, exec};
pub use forward::forward;
pub use logs::{LogQuery, logs};
pub use ports::PortPair;

pub(crate) use choose::{all, containers_of};

use crate::reading::Scope;

/// Which pod, and where.
#[derive(Clone, Debug, Default)]
pub struct PodQuery {
    /// `POD`, or `TYPE/NAME` of what has pods.
    pub word: String,
    /// The namespace; what the kubeconfig names if absent.
    pub namespace: Option<String>,
    /// The container; the pod's default one if absent.
    pub container: Option<String>,
    /// Where to look; where the cluster is if absent.
    pub scope: Option<Scope>,
    /// The member.
    pub cluster: Option<String>,
}
