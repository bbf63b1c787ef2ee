//! One line of the log.

use std::collections::BTreeMap;

use object::{Map, Value};
use serde_json::json;
use serve::call::User;

use super::policy::Level;
use crate::attempt::{Attempt, What};
use crate::reviews::user_info;

/// The longest name of a program that is written whole. Upstream: the same.
const LONGEST_AGENT: usize = 1024;

/// How far a request had come when something was written about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// It is known who sent it, and nothing has been done.
    RequestReceived,
    /// The head of an answer that goes on and on is sent.
    ResponseStarted,
    /// Everything is sent, or nothing more will be.
    ResponseComplete,
    /// The server stumbled over it.
    Panic,
}

/// One request at one stage, for the log.
pub struct Event<'a> {
    /// How much is written.
    pub level: Level,
    /// How far the request had come.
    pub stage: Stage,
    /// The request's own id.
    pub id: &'a str,
    /// Who sent it; `None` if nobody knows.
    pub sender: Option<&'a User>,
    /// Whom it counts as, if that is somebody else.
    pub acting: Option<&'a User>,
    /// What it attempted.
    pub attempt: Option<&'a Attempt>,
    /// What the object is called, where the path does not say.
    pub name: &'a str,
    /// The path and query, as sent.
    pub uri: &'a str,
    /// Where from, the nearest last.
    pub addresses: &'a [String],
    /// The program that sent it.
    pub agent: &'a str,
    /// When it came, and when it reached the stage, as dates.
    pub times: (&'a str, &'a str),
    /// What it was answered with, as a `Status`, once it was.
    pub status: Option<Value>,
    /// What the rules of access and admission noted about it.
    pub annotations: &'a BTreeMap<String, String>,
    /// What was sent, if that is to be written.
    pub request: Option<Value>,
    /// What was answered, if that is to be written.
    pub response: Option<Value>,
}

impl Stage {
    /// All of them, in the order they are reached.
    pub const ALL: [Self; 4] = [
        Self::RequestReceived,
        Self::ResponseStarted,
        Self::ResponseComplete,
        Self::Panic,
    ];

    /// As policies and events name it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RequestReceived => "RequestReceived",
            Self::ResponseStarted => "ResponseStarted",
            Self::ResponseComplete => "ResponseComplete",
            Self::Panic => "Panic",
        }
    }

    /// The stage of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stage| stage.as_str() == name)
    }
}

impl Event<'_> {
    /// The line of the log.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut event = Map::new();
        let mut put = |name: &str, value: Value| drop(event.insert(name.to_owned(), value));
        put("kind", json!("Event"));
        put("apiVersion", json!("audit.k8s.io/v1"));
        put("level", json!(self.level.as_str()));
        put("auditID", json!(self.id));
        put("stage", json!(self.stage.as_str()));
        put("requestURI", json!(self.uri));
        if let Some(attempt) = self.attempt {
            put("verb", json!(attempt.verb));
        }
        put("user", self.sender.map_or_else(|| json!({}), user_info));
        if let Some(acting) = self.acting {
            put("impersonatedUser", user_info(acting));
        }
        if !self.addresses.is_empty() {
            put("sourceIPs", json!(self.addresses));
        }
        if !self.agent.is_empty() {
            put("userAgent", json!(shortened(self.agent)));
        }
        if let Some(object) = self.object() {
            put("objectRef", object);
        }
        for (name, value) in [
            ("responseStatus", &self.status),
            ("requestObject", &self.request),
            ("responseObject", &self.response),
        ] {
            if let Some(value) = value {
                put(name, value.clone());
            }
        }
        put("requestReceivedTimestamp", json!(self.times.0));
        put("stageTimestamp", json!(self.times.1));
        if !self.annotations.is_empty() {
            put("annotations", json!(self.annotations));
        }
        Value::Object(event)
    }

    /// The object of the request.
    fn object(&self) -> Option<Value> {
        let What::Resource(target) = &self.attempt?.what else {
            return None;
        };
        let name = match target.name.as_str() {
            "" => self.name,
            name => name,
        };
        let fields = [
            ("resource", target.resource.as_str()),
            ("namespace", target.namespace.as_str()),
            ("name", name),
            ("apiGroup", target.group.as_str()),
            ("apiVersion", target.version.as_str()),
            ("subresource", target.subresource.as_str()),
        ];
        let known = fields.into_iter().filter(|(_, text)| !text.is_empty());
        Some(
            known
                .map(|(field, text)| (field.to_owned(), json!(text)))
                .collect(),
        )
    }
}

fn shortened(agent: &str) -> String {
    if agent.len() <= LONGEST_AGENT {
        return agent.to_owned();
    }
    let end = agent.floor_char_boundary(LONGEST_AGENT);
    format!("{}...TRUNCATED", &agent[..end])
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;

    #[test]
    fn a_line_says_what_is_known_and_nothing_else() {
        let attempt = Attempt::read(&Method::POST, "/api/v1/namespaces/a/configmaps", "").unwrap();
        let user = User {
            name: "ann".to_owned(),
            ..User::default()
        };
        let nothing = BTreeMap::new();
        let event = Event {
            level: Level::Metadata,
            stage: Stage::RequestReceived,
            id: "1",
            sender: Some(&user),
            acting: None,
            attempt: Some(&attempt),
            name: "",
            uri: "/api/v1/namespaces/a/configmaps",
            addresses: &[],
            agent: "",
            times: ("t0", "t0"),
            status: None,
            annotations: &nothing,
            request: None,
            response: None,
        };
        let facts = json!({
            "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata", "auditID": "1",
            "stage": "RequestReceived", "requestURI": "/api/v1/namespaces/a/configmaps", "verb": "create",
            "user": {"username": "ann"},
            "objectRef": {"resource": "configmaps", "namespace": "a", "apiVersion": "v1"},
            "requestReceivedTimestamp": "t0", "stageTimestamp": "t0",
        });
        assert_eq!(event.to_value(), facts);
        let annotations = BTreeMap::from([("a".to_owned(), "b".to_owned())]);
        let agent = "x".repeat(2000);
        let later = Event {
            stage: Stage::ResponseComplete,
            acting: Some(&user),
            name: "m",
            addresses: &["10.0.0.1".to_owned()],
            agent: &agent,
            status: Some(json!({"metadata": {}, "code": 201})),
            annotations: &annotations,
            ..event
        };
        let line = later.to_value();
        assert_eq!(line["objectRef"]["name"], "m");
        assert_eq!(line["impersonatedUser"]["username"], "ann");
        assert_eq!(line["sourceIPs"], json!(["10.0.0.1"]));
        assert_eq!(line["annotations"], json!({"a": "b"}));
        assert_eq!(line["responseStatus"]["code"], 201);
        assert_eq!(line["userAgent"].as_str().unwrap().len(), 1024 + 12);
    }
}
