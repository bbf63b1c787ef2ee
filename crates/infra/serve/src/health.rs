//! Whether the server can do its work: `/healthz`, `/livez`, `/readyz`, and each check below them.

use http::{Response, StatusCode};

use crate::body::{self, Body};
use crate::handler::Check;
use crate::server::Server;

/// The paths that ask for health.
const PATHS: [&str; 3] = ["healthz", "livez", "readyz"];

/// What is done or loaded before the first request is answered, by the names Kubernetes' server gives the steps of its
/// start: probes and tools ask for them one by one. There is no state in which one of them could fail and be asked.
const STARTED: [&str; 19] = [
    "log",
    "poststarthook/start-apiserver-admission-initializer",
    "poststarthook/generic-apiserver-start-informers",
    "poststarthook/start-apiextensions-informers",
    "poststarthook/start-apiextensions-controllers",
    "poststarthook/crd-informer-synced",
    "poststarthook/bootstrap-controller",
    "poststarthook/start-system-namespaces-controller",
    "poststarthook/start-service-ip-repair-controllers",
    "poststarthook/scheduling/bootstrap-system-priority-classes",
    "poststarthook/start-cluster-authentication-info-controller",
    "poststarthook/start-kube-aggregator-informers",
    "poststarthook/apiservice-registration-controller",
    "poststarthook/apiservice-status-local-available-controller",
    "poststarthook/apiservice-status-remote-available-controller",
    "poststarthook/kube-apiserver-autoregistration",
    "poststarthook/storage-readiness",
    "poststarthook/apiservice-openapi-controller",
    "autoregister-completion",
];
/// Asked for by `readyz` alone.
const LOADED: &str = "informer-sync";

/// Whether a path asks for health.
pub(crate) fn is_asked(path: &str) -> bool {
    let first = path.split('/').find(|segment| !segment.is_empty());
    first.is_some_and(|first| PATHS.contains(&first))
}

/// Every path that can be asked, with the further checks there are.
pub(crate) fn paths(further: &[(&'static str, Check)]) -> impl Iterator<Item = String> {
    PATHS.iter().flat_map(move |asked| {
        let below = names(asked, further).map(move |name| format!("/{asked}/{name}"));
        std::iter::once(format!("/{asked}")).chain(below)
    })
}

/// The checks below a path. The store has two names: its own, and that of the one it stands for. Whether a server is ready
/// others may have a say in; a restart mends nothing of theirs.
fn names(asked: &str, further: &[(&'static str, Check)]) -> impl Iterator<Item = &'static str> {
    let is_ready = asked == "readyz";
    let further = further.iter().map(|(name, _)| *name);
    let further = further.filter(move |_| is_ready);
    let first = ["ping", "store", "etcd"].into_iter();
    first
        .chain(further)
        .chain(is_ready.then_some(LOADED))
        .chain(STARTED)
}

impl Server {
    /// `ok`, or what fails. A store that takes no more writes fails all three: only a restart can mend it, once its cause
    /// is gone.
    pub(crate) async fn health(&self, path: &str, verbose: bool) -> Response<Body> {
        let path = path.trim_start_matches('/');
        let (asked, one) = path.split_once('/').unwrap_or((path, ""));
        let store = match self.store.status().await {
            Ok(status) => status.read_only.map(|why| why.to_string()),
            Err(error) => Some(error.to_string()),
        };
        let problem_of = |name: &str| match name {
            "store" | "etcd" => store.clone(),
            _ => {
                let mut checks = self.handlers.checks().iter();
                let check = checks.find(|(known, _)| *known == name);
                check.and_then(|(_, check)| check())
            }
        };
        let chosen: Vec<(&str, Option<String>)> = names(asked, self.handlers.checks())
            .filter(|name| one.is_empty() || one == *name)
            .map(|name| (name, problem_of(name)))
            .collect();
        if chosen.is_empty() {
            return body::text(StatusCode::NOT_FOUND, "there is no such check\n");
        }
        let fails = chosen.iter().any(|(_, problem)| problem.is_some());
        if !fails && !verbose {
            return body::text(StatusCode::OK, "ok");
        }
        let mut text = String::new();
        for (name, problem) in chosen {
            match problem {
                None => text.push_str(&format!("[+]{name} ok\n")),
                Some(problem) => text.push_str(&format!("[-]{name} failed: {problem}\n")),
            }
        }
        text.push_str(&format!(
            "{asked} check {}\n",
            if fails { "failed" } else { "passed" }
        ));
        body::text(
            if fails {
                StatusCode::INTERNAL_SERVER_ERROR
            } else {
                StatusCode::OK
            },
            text,
        )
    }
}
