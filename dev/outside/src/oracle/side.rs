//! One server that is asked, and what it remembers of the object in question.

use std::path::Path;

use anyhow::{Context, Result};
use client::{Body as Bytes, Client, KubeconfigSource};
use http_body_util::BodyExt;
use serde_json::Value;

use super::requests::{Body, Request};

/// A server, ours or the real one.
pub(crate) struct Side {
    client: Client,
    object: Known,
}

/// What a server knows the object by.
#[derive(Default)]
struct Known {
    name: String,
    uid: String,
    first: String,
    latest: String,
}

/// What a server said.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) body: Value,
    pub(crate) warnings: Vec<String>,
}

impl Side {
    pub(crate) async fn open(kubeconfig: &Path) -> Result<Self> {
        let source = KubeconfigSource::File {
            path: kubeconfig.to_owned(),
            context: None,
        };
        Ok(Self {
            client: Client::from_kubeconfig(&source)
                .await
                .context("cannot reach a server")?,
            object: Known::default(),
        })
    }

    /// Begins with a new object of that name.
    pub(crate) fn forget(&mut self, name: &str) {
        self.object = Known {
            name: name.to_owned(),
            ..Known::default()
        };
    }

    /// Sends a request and hands back the answer, with what differs from server to server taken out.
    pub(crate) async fn ask(&mut self, request: &Request) -> Result<Answer> {
        let text = match &request.body {
            Body::Nothing => String::new(),
            Body::Json(value) => value.to_string(),
            Body::Text(text) => text.clone(),
        };
        let sent = http::Request::builder()
            .method(request.method)
            .uri(self.fill(&request.path))
            .header(http::header::CONTENT_TYPE, request.media)
            .header(http::header::ACCEPT, "application/json")
            .body(Bytes::from(self.fill(&text).into_bytes()))
            .context("not a request")?;
        let answer = self
            .client
            .send(sent)
            .await
            .map_err(|problem| anyhow::anyhow!("no answer: {problem}"))?;
        let code = answer.status().as_u16();
        let mut warnings: Vec<String> = answer
            .headers()
            .get_all(http::header::WARNING)
            .iter()
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
            .collect();
        warnings.sort();
        let bytes = answer
            .into_body()
            .collect()
            .await
            .map_err(|problem| anyhow::anyhow!("half an answer: {problem}"))?;
        let bytes = bytes.to_bytes();
        let body: Value = serde_json::from_slice(&bytes)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&bytes).into_owned()));
        self.remember(&body);
        Ok(Answer {
            code,
            body: self.blank(&body)?,
            warnings,
        })
    }

    fn fill(&self, text: &str) -> String {
        text.replace("$name", &self.object.name)
            .replace("$uid", &self.object.uid)
            .replace("$first", &self.object.first)
            .replace("$rv", &self.object.latest)
    }

    fn remember(&mut self, body: &Value) {
        let metadata = &body["metadata"];
        if metadata["name"] != self.object.name.as_str() || body["kind"] == "Status" {
            return;
        }
        if let (Some(uid), Some(revision)) = (
            metadata["uid"].as_str(),
            metadata["resourceVersion"].as_str(),
        ) {
            if self.object.first.is_empty() {
                self.object.first = revision.to_owned();
            }
            self.object.uid = uid.to_owned();
            self.object.latest = revision.to_owned();
        }
    }

    /// Takes out names, ids and revisions wherever they stand, and times where they are times.
    fn blank(&self, body: &Value) -> Result<Value> {
        let mut text = body.to_string();
        for (known, blank) in [(&self.object.uid, "$uid"), (&self.object.name, "$name")] {
            if !known.is_empty() {
                text = text.replace(known.as_str(), blank);
            }
        }
        let mut body: Value =
            serde_json::from_str(&text).context("cannot read back what was written")?;
        blank_object(&mut body);
        if let Some(items) = body.get_mut("items").and_then(Value::as_array_mut) {
            items.iter_mut().for_each(blank_object);
        }
        Ok(body)
    }
}

fn blank_object(object: &mut Value) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    for (field, value) in metadata.iter_mut() {
        match field.as_str() {
            "resourceVersion" | "creationTimestamp" | "deletionTimestamp" | "uid"
                if value.is_string() =>
            {
                *value = Value::String(format!("<{field}>"));
            }
            "managedFields" => {
                let Some(entries) = value.as_array_mut() else {
                    continue;
                };
                for entry in entries.iter_mut() {
                    if let Some(time) = entry.get_mut("time") {
                        *time = Value::String(String::from("<time>"));
                    }
                }
                // By their owners, as whoever wrote within the same second may stand in either order.
                let mut owners = serde_json::Map::new();
                for entry in entries.drain(..) {
                    let word = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
                    let owner = format!(
                        "{} {} {}",
                        word("manager"),
                        word("operation"),
                        word("subresource")
                    );
                    owners.insert(owner.trim_end().to_owned(), entry);
                }
                *value = Value::Object(owners);
            }
            _ => {}
        }
    }
}
