//! Notes on Secrets whose token was shown on which day it was, so that operators find those that nobody uses any more.
//!
//! Whoever believes tokens does not wait for anything; what they saw is written a moment later, once a day for each
//! Secret. Upstream: the same label, written while the client waits.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Request, StatusCode};
use http_body_util::Full;
use object::time::Time;
use serde_json::json;
use serve::record::Record;
use serve::server::Server;
use tokio::sync::Notify;

use crate::access::Access;
use crate::names;

/// The day on which the token of a Secret was last shown.
pub const LAST_USED: &str = "kubernetes.io/legacy-token-last-used";
/// How many Secrets wait to be written. One that finds no place is noted when its token is shown the next time.
const WAITING: usize = 4096;
const DAY_SECONDS: i64 = 24 * 3600;

/// Secrets whose tokens were shown and which do not say so yet.
#[derive(Default)]
pub(crate) struct Uses {
    waiting: Mutex<BTreeMap<(String, String), Use>>,
    arrived: Notify,
}

/// Which Secret it was, and on which day.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Use {
    uid: String,
    day: String,
}

impl Uses {
    /// A token was shown whose Secret this is.
    pub(crate) fn note(&self, secret: &Record, now: Time) {
        let head = secret.head();
        let said = head.label(LAST_USED).unwrap_or_default();
        let Some(day) = unsaid(said, now) else { return };
        let key = (head.namespace.to_string(), head.name.to_string());
        let seen = Use {
            uid: head.uid.to_string(),
            day,
        };
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() < WAITING || waiting.contains_key(&key) {
            waiting.insert(key, seen);
            self.arrived.notify_one();
        }
    }

    fn take(&self) -> BTreeMap<(String, String), Use> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *waiting)
    }
}

/// The day to write, unless that is what is said. Upstream: a clock that is ahead elsewhere may have said tomorrow.
fn unsaid(said: &str, now: Time) -> Option<String> {
    let day = |time: Time| time.to_string().chars().take(10).collect::<String>();
    let (today, tomorrow) = (day(now), day(now.plus_seconds(DAY_SECONDS)));
    (said != today && said != tomorrow).then_some(today)
}

/// Writes down what is noted, until it is dropped. Every server does so for the tokens that it is shown.
pub async fn follow(server: Arc<Server>, access: Arc<Access>) {
    let uses = Arc::clone(access.accounts().uses());
    loop {
        uses.arrived.notified().await;
        for ((namespace, name), seen) in uses.take() {
            write(&server, &namespace, &name, &seen).await;
        }
    }
}

async fn write(server: &Server, namespace: &str, name: &str, seen: &Use) {
    let patch = json!({"metadata": {"uid": seen.uid, "labels": {LAST_USED: seen.day}}});
    let request = Request::patch(format!("/api/v1/namespaces/{namespace}/secrets/{name}"))
        .header(CONTENT_TYPE, "application/merge-patch+json")
        .body(Full::new(Bytes::from(patch.to_string())));
    let Ok(request) = request else { return };
    let code = server.answer(names::apiserver(), request).await.status();
    // A Secret that went, or came again since, has nothing to say about this token.
    let is_another = [
        StatusCode::NOT_FOUND,
        StatusCode::CONFLICT,
        StatusCode::UNPROCESSABLE_ENTITY,
    ];
    if !code.is_success() && !is_another.contains(&code) {
        tracing::warn!(namespace, name, %code, "use of a token not noted on its secret");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_noted_once() {
        let now: Time = "2026-02-28T23:59:00Z".parse().unwrap();
        let today = Some("2026-02-28".to_owned());
        for (said, expected) in [
            ("", today.clone()),
            ("2026-02-27", today.clone()),
            ("2026-02-28", None),
            ("2026-03-01", None),
            ("2026-03-02", today),
        ] {
            assert_eq!(unsaid(said, now), expected, "{said}");
        }
    }
}
