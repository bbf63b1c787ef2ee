//! Endpoints and EndpointSlices: the pods behind a service.
//!
//! Reads:  the service, pods of its namespace, nodes.
//! Writes: the Endpoints object of its name and the slices it owns.
//! Keeps:  an address is ready there as long as its pod is.

mod plan;

use std::sync::Arc;

use object::Object;

use crate::engine::action::Plan;
use crate::engine::kind::Kind;
use crate::engine::mirror::{Mirror, Seen};
use crate::engine::{Controller, View};
use crate::read;

use plan::Inputs;

pub(crate) const CONTROLLER: Controller = Controller {
    name: "endpoints",
    component: "endpoint-slice-controller",
    wakes,
    plan,
};

fn wakes(seen: &Seen, mirror: &Mirror, keys: &mut Vec<Arc<str>>) {
    match seen.kind {
        Kind::Service => keys.push(Arc::clone(&seen.key)),
        Kind::Pod => {
            let Some(pod) = seen.either() else { return };
            for service in mirror.within(Kind::Service, pod.namespace()) {
                if seen.both().any(|pod| is_behind(service, pod)) {
                    keys.push(format!("{}/{}", service.namespace(), service.name()).into());
                }
            }
        }
        _ => {}
    }
}

/// Whether a service's selector takes a pod. A service without a selector takes none.
pub(crate) fn is_behind(service: &Object, pod: &Object) -> bool {
    let selector = service.at(&["spec", "selector"]);
    let selector = selector.and_then(object::Value::as_object);
    selector.is_some_and(|selector| {
        !selector.is_empty()
            && selector
                .iter()
                .all(|(key, value)| pod.label(key) == value.as_str())
    })
}

fn plan(view: &View<'_>, key: &str) -> Plan {
    let Some(service) = view.mirror.find(Kind::Service, key) else {
        return Plan::default();
    };
    let pods: Vec<&Arc<Object>> = view
        .mirror
        .within(Kind::Pod, service.namespace())
        .filter(|pod| is_behind(service, pod) && !read::has_ended(pod))
        .collect();
    let zone_of = |node: &str| {
        let node = view.mirror.find(Kind::Node, node)?;
        node.label("topology.kubernetes.io/zone").map(str::to_owned)
    };
    plan::plan(&Inputs {
        service,
        pods: &pods,
        endpoints: view.mirror.find(Kind::Endpoints, key).map(|found| &**found),
        slices: &view.mirror.owned(service.uid(), Kind::EndpointSlice),
        zone_of: &zone_of,
    })
}
