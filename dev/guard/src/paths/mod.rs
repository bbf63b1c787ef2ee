//! The paths that are hot: what the product does for every object, binding and watcher.

mod decide;
mod render;
mod serve;
mod store;

use anyhow::Result;

/// Something that is done very often.
pub(crate) struct Path {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// Sets up, then does it so many times.
    pub(crate) run: fn(u32) -> Result<()>,
    /// How many rounds are few, yet enough for a steady count.
    pub(crate) rounds: u32,
}

/// All of them.
pub(crate) const ALL: &[Path] = &[
    Path {
        name: "decide",
        about: "one decision over 100 clusters by the room they have",
        run: decide::run,
        rounds: 10,
    },
    Path {
        name: "render",
        about: "one Deployment with five override rules for one cluster",
        run: render::run,
        rounds: 50,
    },
    Path {
        name: "encode",
        about: "one Deployment to the bytes it is stored as",
        run: serve::encode,
        rounds: 50,
    },
    Path {
        name: "put",
        about: "one object into the store",
        run: store::put,
        rounds: 100,
    },
    Path {
        name: "create",
        about: "one Deployment created through the API, without the network",
        run: serve::create,
        rounds: 20,
    },
    Path {
        name: "patch",
        about: "one Deployment changed by merge patch through the API",
        run: serve::patch,
        rounds: 20,
    },
    Path {
        name: "apply",
        about: "one Deployment changed by server-side apply through the API",
        run: serve::apply,
        rounds: 20,
    },
    Path {
        name: "fan-out",
        about: "one change told to 100 watchers",
        run: serve::fan_out,
        rounds: 10,
    },
];

pub(crate) fn find(name: &str) -> Option<&'static Path> {
    ALL.iter().find(|path| path.name == name)
}

/// A Deployment as people write them.
const DEPLOYMENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {app: web}, annotations: {team: blue}}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: reg.io/shop/web:v1
        args: [--port, '8080']
        ports: [{containerPort: 8080}]
        env: [{name: A, value: b}, {name: C, valueFrom: {secretKeyRef: {name: s, key: k}}}]
        resources: {requests: {cpu: 100m, memory: 128Mi}, limits: {cpu: 200m, memory: 256Mi}}
        volumeMounts: [{name: config, mountPath: /etc/web}]
      - name: proxy
        image: reg.io/shop/proxy:v2
      volumes: [{name: config, configMap: {name: web}}]
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_can_be_gone() {
        for path in ALL {
            (path.run)(2).unwrap_or_else(|error| panic!("{}: {error:#}", path.name));
        }
    }
}
