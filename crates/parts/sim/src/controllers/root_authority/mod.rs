//! Every namespace has the ConfigMap that says whom clients of this API trust.
//!
//! Reads:  namespaces, ConfigMaps of that name.
//! Writes: the ConfigMap `kube-root-ca.crt`.
//! Keeps:  no namespace that stays is without it: every pod mounts it.

use std::sync::Arc;

use serde_json::json;

use crate::engine::action::Plan;
use crate::engine::kind::Kind;
use crate::engine::mirror::{Mirror, Seen};
use crate::engine::{Controller, View};

pub(crate) const CONTROLLER: Controller = Controller {
    name: "root authority",
    component: "root-ca-certificate-publisher",
    wakes,
    plan,
};

const NAME: &str = "kube-root-ca.crt";
const NOTE: &str = "What clients of the API inside the cluster trust.";

fn wakes(seen: &Seen, _: &Mirror, keys: &mut Vec<Arc<str>>) {
    match seen.kind {
        Kind::Namespace if seen.after.is_some() => keys.push(Arc::clone(&seen.key)),
        Kind::ConfigMap if seen.after.is_none() => {
            if let Some((namespace, NAME)) = seen.key.split_once('/') {
                keys.push(namespace.into());
            }
        }
        _ => {}
    }
}

fn plan(view: &View<'_>, namespace: &str) -> Plan {
    let mut plan = Plan::default();
    let stays = view
        .mirror
        .find(Kind::Namespace, namespace)
        .is_some_and(|namespace| !namespace.is_terminating());
    let is_there = || {
        let key = format!("{namespace}/{NAME}");
        view.mirror.find(Kind::ConfigMap, &key).is_some()
    };
    if stays && !is_there() {
        plan.create(
            Kind::ConfigMap,
            json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {
                    "name": NAME, "namespace": namespace, "annotations": {"kubernetes.io/description": NOTE},
                },
                "data": {"ca.crt": &*view.shape.authority_pem},
            }),
        );
    }
    plan
}
