//! Notes for the audit log, taken while a request is on its way.

mod closing;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use access::attempt::{Attempt, What};
use access::audit::{AuditLog, AuditPolicy, Event, Extent, Level, Remark, Stage};
use access::fairness::is_long_running;
use access::{Admitted, Refused};
use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, USER_AGENT};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Response};
use http_body_util::Full;
use listen::Peer;
use object::Value;
use object::time::MicroTime;
use serde_json::json;
use serve::body::Body;
use serve::call::User;
use serve::compression::compress;
use serve::intake::said;
use serve::negotiate::Wire;
use serve::status::Status;

use self::closing::Closing;
use crate::arrival;
use crate::surroundings;

/// What a request is called in the log, told by the client or to it.
pub(crate) const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");
/// The longest name of a request that is taken from a client.
const LONGEST_ID: usize = 64;
const DECISION: &str = "authorization.k8s.io/decision";
const REASON: &str = "authorization.k8s.io/reason";

/// The audit log of a server, and what is written to it.
pub struct Audit {
    /// How much is written about what.
    pub policy: AuditPolicy,
    /// Where it is written.
    pub log: AuditLog,
}

/// What a request is called, among its extensions.
#[derive(Clone, Debug)]
pub(crate) struct RequestId(pub(crate) String);

impl RequestId {
    /// As its client calls it, or a new one.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let own = headers.get(AUDIT_ID).and_then(|id| id.to_str().ok());
        let own = own.filter(|id| (1..=LONGEST_ID).contains(&id.len()));
        Self(own.map_or_else(surroundings::uid, str::to_owned))
    }
}

/// What is known of one request so far.
pub(crate) struct Note {
    extent: Extent,
    id: String,
    /// Who sent it; `None` if it is not known.
    sender: Option<User>,
    /// Whom it counts as, if that is somebody else.
    acting: Option<User>,
    attempt: Option<Attempt>,
    uri: String,
    addresses: Vec<String>,
    agent: String,
    began: String,
    /// What the rules decided and what admission noted.
    annotations: BTreeMap<String, String>,
    request: Option<Value>,
    /// How bodies in protobuf are read.
    wire: Option<Wire>,
    /// In which forms the client takes an answer that is noted before it is packed.
    packing: HeaderMap,
}

impl Audit {
    /// Begins a note, and writes that the request came. An answer that is to be noted is asked for unpacked.
    pub(crate) async fn begin(
        &self,
        admitted: &Result<Admitted, Box<Refused>>,
        parts: &mut Parts,
        wire: Option<Wire>,
    ) -> Note {
        let mut note = self.note(admitted, parts, wire);
        if note.may_read_answer() {
            let taken = parts.headers.remove(ACCEPT_ENCODING);
            note.packing = taken
                .map(|forms| (ACCEPT_ENCODING, forms))
                .into_iter()
                .collect();
        }
        // Upstream: of somebody who is not known, only the answer is noted.
        if note.sender.is_some() {
            let (stage, nothing) = (Stage::RequestReceived, BTreeMap::new());
            let event = note.event(stage, &note.began, None, "", &nothing);
            let line = event.to_value();
            self.write(&note, stage, &line).await;
        }
        note
    }

    fn note(
        &self,
        admitted: &Result<Admitted, Box<Refused>>,
        parts: &Parts,
        wire: Option<Wire>,
    ) -> Note {
        let mut annotations = BTreeMap::new();
        let mut decided = |decision: &str, reason: String| {
            annotations.insert(DECISION.to_owned(), decision.to_owned());
            annotations.insert(REASON.to_owned(), reason);
        };
        let (user, sender, attempt) = match admitted {
            Ok(admitted) => {
                decided("allow", admitted.decision.reason());
                let attempt = Some(admitted.attempt.clone());
                (Some(&admitted.user), admitted.sender.as_ref(), attempt)
            }
            Err(refused) => {
                if let Some(why) = &refused.denied {
                    decided("forbid", why.clone());
                }
                let query = parts.uri.query().unwrap_or_default();
                let attempt = Attempt::read(&parts.method, parts.uri.path(), query).ok();
                (refused.user.as_ref(), refused.sender.as_ref(), attempt)
            }
        };
        let (sender, acting) = match sender {
            Some(sender) => (Some(sender), user),
            None => (user, None),
        };
        let extent = match &attempt {
            Some(attempt) => self.policy.extent(sender, attempt),
            None => Extent {
                level: Level::Metadata,
                omitted: BTreeSet::new(),
                omits_managed_fields: false,
                is_secret: true,
            },
        };
        let header = |name: &HeaderName| parts.headers.get(name).and_then(|it| it.to_str().ok());
        let id = parts.extensions.get::<RequestId>().cloned();
        let peer = parts.extensions.get::<Peer>();
        let target = parts.uri.path_and_query();
        Note {
            extent,
            id: id.unwrap_or_else(|| RequestId::of(&parts.headers)).0,
            sender: sender.cloned(),
            acting: acting.cloned(),
            attempt,
            uri: target.map_or("/", |target| target.as_str()).to_owned(),
            addresses: addresses(&parts.headers, peer.map(|peer| peer.address.ip())),
            agent: header(&USER_AGENT).unwrap_or_default().to_owned(),
            began: now(),
            annotations,
            request: None,
            wire,
            packing: HeaderMap::new(),
        }
    }

    /// Ends a note and writes it. The answer goes on its way afterwards: what was done is on record by then. Of an answer
    /// that goes on and on, the beginning is written, and the end when it comes.
    pub(crate) async fn end(&self, note: Note, mut response: Response<Body>) -> Response<Body> {
        if let Ok(id) = HeaderValue::from_str(&note.id) {
            response.headers_mut().insert(AUDIT_ID, id);
        }
        if note.extent.level == Level::None {
            return compress(&note.packing, response);
        }
        let code = response.status().as_u16();
        let answered: Option<Value> = match response.body() {
            Body::Whole(bytes) if note.reads_answer(code) => {
                said(response.headers(), bytes, note.wire)
            }
            _ => None,
        };
        let name = note.new_name(answered.as_ref()).to_owned();
        let mut status = json!({"metadata": {}, "code": code});
        if code >= 400 {
            add_refusal(&mut status, answered.as_ref(), &note);
        }
        let mut annotations = note.annotations.clone();
        if let Some(remark) = response.extensions().get::<Remark>() {
            annotations.insert(remark.name.to_owned(), remark.value.clone());
        }
        let (request, answered) = self
            .policy
            .without_secrets(note.request.clone(), answered, code);
        let fit = |body: Option<Value>, level: Level| {
            let body = body.filter(|_| note.extent.level >= level)?;
            Some(match note.extent.omits_managed_fields {
                true => without_managed_fields(body),
                false => body,
            })
        };
        let at = now();
        let stages = note.stages(&response);
        let first = stages.first().copied().unwrap_or(Stage::ResponseComplete);
        let event = Event {
            request: fit(request, Level::Request),
            response: fit(answered, Level::RequestResponse),
            ..note.event(first, &at, Some(status), &name, &annotations)
        };
        let mut line = event.to_value();
        for stage in stages {
            line["stage"] = json!(stage.as_str());
            self.write(&note, *stage, &line).await;
        }
        if note.goes_on(&response) && !note.extent.omitted.contains(&Stage::ResponseComplete) {
            response = response.map(|body| Closing::around(body, self.log.clone(), line));
        }
        compress(&note.packing, response)
    }

    /// Writes that the server stumbled over a request.
    pub(crate) async fn stumbled(&self, note: &Note, why: &str) {
        let status = json!({
            "metadata": {}, "status": "Failure", "reason": "InternalError", "code": 500,
            "message": format!("APIServer panic'd: {why}"),
        });
        let at = now();
        let event = note.event(Stage::Panic, &at, Some(status), "", &note.annotations);
        let line = event.to_value();
        self.write(note, Stage::Panic, &line).await;
    }

    async fn write(&self, note: &Note, stage: Stage, line: &Value) {
        if note.extent.level > Level::None && !note.extent.omitted.contains(&stage) {
            self.log.write(line).await;
        }
    }
}

impl Note {
    pub(crate) fn wants_request(&self) -> bool {
        self.extent.level >= Level::Request
    }

    /// Keeps what admission noted.
    pub(crate) fn take(&mut self, notes: BTreeMap<String, String>) {
        self.annotations.extend(notes);
    }

    /// Reads what was sent, for the log, and gives it back for whoever answers.
    pub(crate) async fn read<B>(
        &mut self,
        headers: &HeaderMap,
        body: B,
    ) -> Result<Full<Bytes>, Status>
    where
        B: http_body::Body + Send,
        B::Data: Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let bytes = arrival::whole(body).await?;
        self.request = said(headers, &bytes, self.wire);
        Ok(Full::new(bytes))
    }

    fn event<'a>(
        &'a self,
        stage: Stage,
        at: &'a str,
        status: Option<Value>,
        name: &'a str,
        annotations: &'a BTreeMap<String, String>,
    ) -> Event<'a> {
        Event {
            level: self.extent.level,
            stage,
            id: &self.id,
            sender: self.sender.as_ref(),
            // Nobody has been let act as somebody else when the request came.
            acting: (self.acting.as_ref()).filter(|_| stage != Stage::RequestReceived),
            attempt: self.attempt.as_ref(),
            name,
            uri: &self.uri,
            addresses: &self.addresses,
            agent: &self.agent,
            times: (&self.began, at),
            status,
            annotations,
            request: None,
            response: None,
        }
    }

    /// Whether the answer is looked into: to be written, for what was refused, or for the name of what was made.
    fn reads_answer(&self, code: u16) -> bool {
        self.extent.level == Level::RequestResponse || code >= 400 || self.makes_unnamed()
    }

    /// Whether the answer is looked into if all goes well. One that goes on and on never is, nor what is no resource.
    fn may_read_answer(&self) -> bool {
        let is_whole = self.attempt.as_ref().is_some_and(|attempt| {
            matches!(attempt.what, What::Resource(_)) && !is_long_running(attempt)
        });
        let is_noted = self.extent.level > Level::None;
        is_whole
            && is_noted
            && (self.extent.level == Level::RequestResponse || self.makes_unnamed())
    }

    fn makes_unnamed(&self) -> bool {
        self.attempt.as_ref().is_some_and(|attempt| {
            let is_unnamed = matches!(&attempt.what, What::Resource(target)
                if target.name.is_empty());
            is_unnamed && attempt.verb == "create"
        })
    }

    /// The name of what was made, where the path does not say it.
    fn new_name<'a>(&self, answered: Option<&'a Value>) -> &'a str {
        let named = answered.filter(|_| self.makes_unnamed());
        let named = named.and_then(|made| made.get("metadata")?.get("name")?.as_str());
        named.unwrap_or_default()
    }

    /// The stages that an answer has come to.
    fn stages(&self, response: &Response<Body>) -> &'static [Stage] {
        let is_long = self.attempt.as_ref().is_some_and(is_long_running);
        match (self.sender.is_some(), is_long, self.goes_on(response)) {
            // Upstream: of somebody who is not known, the beginning of the answer is all that is noted.
            (false, ..) | (true, true, true) => &[Stage::ResponseStarted],
            (true, true, false) => &[Stage::ResponseStarted, Stage::ResponseComplete],
            (true, false, _) => &[Stage::ResponseComplete],
        }
    }

    /// Whether more of the answer is to come after it was noted.
    fn goes_on(&self, response: &Response<Body>) -> bool {
        let is_long = self.attempt.as_ref().is_some_and(is_long_running);
        is_long && matches!(response.body(), Body::Stream(_))
    }
}

/// Adds to a status why a request was refused. A text may quote what was sent, so it is added only where bodies are
/// written too.
fn add_refusal(status: &mut Value, answered: Option<&Value>, note: &Note) {
    let Some(refusal) = answered.filter(|answered| answered["kind"] == "Status") else {
        return;
    };
    let has_texts = note.wants_request() && !note.extent.is_secret;
    let is_told = |field: &&str| has_texts || matches!(*field, "status" | "reason");
    for field in ["status", "message", "reason", "details"]
        .iter()
        .filter(|field| is_told(field))
    {
        if let Some(value) = refusal.get(*field) {
            status[*field] = value.clone();
        }
    }
}

/// Where a request came from, as far as anybody says so, the nearest last. Upstream: the same headers are believed.
fn addresses(headers: &HeaderMap, peer: Option<IpAddr>) -> Vec<String> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let forwarded = text("x-forwarded-for").unwrap_or_default().split(',');
    let mut found: Vec<IpAddr> = forwarded
        .filter_map(|address| address.trim().parse().ok())
        .collect();
    let further = text("x-real-ip").and_then(|address| address.trim().parse().ok());
    for address in [further, peer].into_iter().flatten() {
        if !found.contains(&address) {
            found.push(address);
        }
    }
    let found = found.iter().map(IpAddr::to_canonical);
    found.map(|address| address.to_string()).collect()
}

/// An object, or the objects of a list or table, without their managed fields.
fn without_managed_fields(mut body: Value) -> Value {
    strip(&mut body);
    for list in ["items", "rows"] {
        let parts = body.get_mut(list).and_then(Value::as_array_mut);
        for part in parts.into_iter().flatten() {
            strip(part);
            if let Some(object) = part.get_mut("object") {
                strip(object);
            }
        }
    }
    body
}

fn strip(object: &mut Value) {
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
    if let Some(metadata) = metadata {
        metadata.shift_remove("managedFields");
    }
}

pub(crate) fn now() -> String {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    MicroTime::from_unix_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_written_in_its_own_family() {
        for (forwarded, peer, expected) in [
            ("", "::ffff:127.0.0.1", "127.0.0.1"),
            ("", "fd00::7", "fd00::7"),
            (
                "::ffff:10.0.0.1, 10.0.0.2",
                "127.0.0.1",
                "10.0.0.1 10.0.0.2 127.0.0.1",
            ),
        ] {
            let mut headers = HeaderMap::new();
            if !forwarded.is_empty() {
                headers.insert("x-forwarded-for", HeaderValue::from_static(forwarded));
            }
            let found = addresses(&headers, Some(peer.parse().unwrap()));
            assert_eq!(found.join(" "), expected);
        }
    }
}
