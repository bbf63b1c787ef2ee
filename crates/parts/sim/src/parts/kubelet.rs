//! Whether the kubelet of a pod can be reached: logs and streams come from there.

use object::Object;
use serve::server::Server;
use serve::status::{Status, Subject};

use crate::controllers::node::address_of;
use crate::faults::Faults;
use crate::read;

/// Where every kubelet listens.
const PORT: u16 = 10_250;

/// What is wanted of a kubelet. Upstream says differently why it does not get it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Errand<'a> {
    /// The log of a container.
    Log(&'a str),
    Stream,
}

/// Where the kubelet of a node listens.
pub(crate) fn address(node: &Object) -> String {
    format!("{}:{PORT}", address_of(node))
}

/// Refuses what needs the kubelet of a pod whose node is gone or silent. A pod without a node has no kubelet to ask.
pub(crate) fn reach(
    server: &Server,
    faults: &Faults,
    pod: &Object,
    errand: Errand<'_>,
) -> Result<(), Status> {
    let name = read::node_of(pod);
    if name.is_empty() {
        return Ok(());
    }
    let node = server.cache().collection("core/nodes").find(name);
    let Some(node) = node.and_then(|record| Object::from_value(record.value()).ok()) else {
        return Err(Status::not_found(Subject {
            group: "",
            resource: "nodes",
            name,
        }));
    };
    if !faults.state().lost_nodes.contains(name) {
        return Ok(());
    }
    let address = address(&node);
    let failed = format!("dial tcp {address}: connect: no route to host");
    let why = match errand {
        Errand::Stream => format!("error dialing backend: {failed}"),
        Errand::Log(container) => {
            let (namespace, pod) = (pod.namespace(), pod.name());
            format!(
                "Get \"https://{address}/containerLogs/{namespace}/{pod}/{container}\": {failed}"
            )
        }
    };
    let mut status = Status::internal(String::new(), None);
    (status.reason, status.message) = ("".into(), why);
    Err(status)
}
