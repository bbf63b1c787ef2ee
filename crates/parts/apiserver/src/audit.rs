//! Notes for the audit log, taken while a request is on its way.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use access::audit::{AuditLog, AuditPolicy, Event, Level};
use access::{Admitted, Refused};
use bytes::Bytes;
use http::Response;
use http::header::USER_AGENT;
use http::request::Parts;
use http_body_util::{BodyExt, Full, Limited};
use listen::Peer;
use object::Value;
use object::time::MicroTime;
use serve::body::Body;
use serve::call::User;
use serve::server::BODY_LIMIT;
use serve::status::Status;

use crate::surroundings;

/// The audit log of a server, and what is written to it.
pub struct Audit {
    /// How much is written about what.
    pub policy: AuditPolicy,
    /// Where it is written.
    pub log: AuditLog,
}

/// What is known of one request so far.
pub(crate) struct Note {
    level: Level,
    id: String,
    user: Option<User>,
    sender: Option<User>,
    attempt: Option<access::attempt::Attempt>,
    uri: String,
    address: Option<String>,
    agent: String,
    began: String,
    is_allowed: bool,
    reason: String,
    request: Option<Value>,
    /// What admission noted.
    notes: BTreeMap<String, String>,
}

impl Audit {
    /// Begins a note.
    pub(crate) fn begin(&self, admitted: &Result<Admitted, Box<Refused>>, parts: &Parts) -> Note {
        let (user, sender, attempt, reason) = match admitted {
            Ok(admitted) => (
                Some(&admitted.user),
                admitted.sender.clone(),
                Some(admitted.attempt.clone()),
                admitted.decision.reason(),
            ),
            Err(refused) => {
                let path = parts.uri.path();
                let query = parts.uri.query().unwrap_or_default();
                let attempt = access::attempt::Attempt::read(&parts.method, path, query).ok();
                (refused.user.as_ref(), None, attempt, String::new())
            }
        };
        let nobody = User::default();
        let level = attempt.as_ref().map_or(Level::Metadata, |attempt| {
            self.policy.level(user.unwrap_or(&nobody), attempt)
        });
        let agent = parts
            .headers
            .get(USER_AGENT)
            .and_then(|agent| agent.to_str().ok());
        let peer = parts.extensions.get::<Peer>();
        Note {
            level,
            id: surroundings::uid(),
            user: user.cloned(),
            sender,
            attempt,
            uri: parts.uri.to_string(),
            address: peer.map(|peer| peer.address.ip().to_string()),
            agent: agent.unwrap_or_default().to_owned(),
            began: now(),
            is_allowed: admitted.is_ok(),
            reason,
            request: None,
            notes: BTreeMap::new(),
        }
    }

    /// Ends a note and writes it. The answer goes on its way afterwards: what was done is on record by then.
    pub(crate) async fn end(&self, note: Note, response: Response<Body>) -> Response<Body> {
        if note.level == Level::None {
            return response;
        }
        let answered = match response.body() {
            Body::Whole(bytes) if note.level == Level::RequestResponse => {
                serde_json::from_slice(bytes).ok()
            }
            _ => None,
        };
        let code = response.status().as_u16();
        let (request, answered) = self.policy.without_secrets(note.request, answered, code);
        let event = Event {
            level: note.level,
            id: &note.id,
            user: note.user.as_ref(),
            sender: note.sender.as_ref(),
            attempt: note.attempt.as_ref(),
            uri: &note.uri,
            address: note.address,
            agent: &note.agent,
            times: (&note.began, &now()),
            code,
            is_allowed: note.is_allowed,
            reason: &note.reason,
            notes: &note.notes,
            request,
            response: answered,
        };
        self.log.write(&event).await;
        response
    }
}

impl Note {
    pub(crate) fn wants_request(&self) -> bool {
        self.level >= Level::Request
    }

    /// Keeps what admission noted.
    pub(crate) fn take(&mut self, notes: BTreeMap<String, String>) {
        self.notes = notes;
    }

    /// Reads what was sent, for the log, and gives it back for whoever answers.
    pub(crate) async fn read<B>(&mut self, body: B) -> Result<Full<Bytes>, Status>
    where
        B: http_body::Body + Send,
        B::Data: Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let collected = Limited::new(body, BODY_LIMIT).collect().await;
        let bytes = collected
            .map_err(|error| {
                if error.is::<http_body_util::LengthLimitError>() {
                    return Status::too_large(BODY_LIMIT);
                }
                Status::bad_request(format!("the body could not be read: {error}"))
            })?
            .to_bytes();
        self.request = serde_json::from_slice(&bytes).ok();
        Ok(Full::new(bytes))
    }
}

fn now() -> String {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    MicroTime::from_unix_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX)).to_string()
}
