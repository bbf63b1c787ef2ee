//! Whether the server can do its work: `/healthz`, `/livez`, `/readyz`, and each check below them.

use http::{Response, StatusCode};

use crate::body::{self, Body};
use crate::server::Server;

/// Whether a path asks for health.
pub(crate) fn is_asked(path: &str) -> bool {
    matches!(
        path.split('/').find(|segment| !segment.is_empty()),
        Some("healthz" | "livez" | "readyz")
    )
}

impl Server {
    /// `ok`, or what fails. A store that takes no more writes fails all three: only a restart can mend it, once its cause
    /// is gone.
    pub(crate) async fn health(&self, path: &str, verbose: bool) -> Response<Body> {
        let mut segments = path.split('/').filter(|segment| !segment.is_empty());
        let (asked, one) = (segments.next().unwrap_or_default(), segments.next());
        let store = match self.store.status().await {
            Ok(status) => status.read_only.map(|why| why.to_string()),
            Err(error) => Some(error.to_string()),
        };
        let checks = [("ping", None), ("store", store)];
        let chosen: Vec<&(&str, Option<String>)> = checks
            .iter()
            .filter(|(name, _)| one.is_none_or(|one| one == *name))
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
