//! What can be said along with a call.

use std::borrow::Cow;

use intent::Propagation;
use serde_json::{Map, Value};

use crate::query::PathAndQuery;

/// Which objects a list is to have, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListOptions {
    /// Only objects with these labels; empty for all.
    pub label_selector: String,
    /// Only objects with these fields; empty for all.
    pub field_selector: String,
    /// At most so many; 0 for all at once.
    pub limit: u32,
    /// Where an earlier page ended.
    pub continue_token: String,
    /// The state asked for; empty for the newest.
    pub resource_version: String,
    /// How `resource_version` is meant: `Exact` or `NotOlderThan`.
    pub resource_version_match: &'static str,
    /// Only the metadata of the objects.
    pub metadata_only: bool,
}

/// Which changes a watch is to show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchOptions {
    /// Only objects with these labels; empty for all.
    pub label_selector: String,
    /// Only objects with these fields; empty for all.
    pub field_selector: String,
    /// Changes after this state; empty for the newest, with everything there is as additions first.
    pub resource_version: String,
    /// Everything there is first, then a bookmark that says so, then changes.
    pub initial_events: bool,
    /// When the server is to end the watch; 0 leaves it to the server.
    pub timeout_seconds: u32,
    /// Only the metadata of the objects.
    pub metadata_only: bool,
}

/// How a write is to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Who owns the fields that are written; empty for the client's name.
    pub field_manager: Cow<'static, str>,
    /// Checks everything and stores nothing.
    pub dry_run: bool,
    /// What becomes of unknown fields: `Strict`, `Warn`, `Ignore`; empty for the server's default.
    pub field_validation: &'static str,
}

/// How an object is to be deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// Only the object with this uid.
    pub uid: Option<String>,
    /// Only in this state.
    pub revision: Option<String>,
    /// What becomes of the objects it owns; the server's default if absent.
    pub propagation: Option<Propagation>,
    /// How long it may take to end; the kind's default if absent.
    pub grace_seconds: Option<u64>,
    /// Checks everything and deletes nothing.
    pub dry_run: bool,
}

/// What a patch is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchKind {
    /// RFC 6902: a list of operations.
    Json,
    /// RFC 7386: the fields to change.
    Merge,
    /// Kubernetes' own, which knows the keys of lists.
    Strategic,
}

impl PatchKind {
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json-patch+json",
            Self::Merge => "application/merge-patch+json",
            Self::Strategic => "application/strategic-merge-patch+json",
        }
    }
}

impl ListOptions {
    pub(crate) fn query(&self, path: String) -> PathAndQuery {
        PathAndQuery::new(path)
            .text("labelSelector", &self.label_selector)
            .text("fieldSelector", &self.field_selector)
            .number("limit", self.limit.into())
            .text("continue", &self.continue_token)
            .text("resourceVersion", &self.resource_version)
            .text("resourceVersionMatch", self.resource_version_match)
    }
}

impl WatchOptions {
    pub(crate) fn query(&self, path: String) -> PathAndQuery {
        let matching = if self.initial_events {
            "NotOlderThan"
        } else {
            ""
        };
        PathAndQuery::new(path)
            .flag("watch", true)
            .flag("allowWatchBookmarks", true)
            .text("labelSelector", &self.label_selector)
            .text("fieldSelector", &self.field_selector)
            .text("resourceVersion", &self.resource_version)
            .flag("sendInitialEvents", self.initial_events)
            .text("resourceVersionMatch", matching)
            .number("timeoutSeconds", self.timeout_seconds.into())
    }
}

impl WriteOptions {
    /// With a field manager.
    #[must_use]
    pub fn by(manager: impl Into<Cow<'static, str>>) -> Self {
        Self {
            field_manager: manager.into(),
            ..Self::default()
        }
    }

    pub(crate) fn query(&self, path: String) -> PathAndQuery {
        PathAndQuery::new(path)
            .text("fieldManager", &self.field_manager)
            .text("dryRun", if self.dry_run { "All" } else { "" })
            .text("fieldValidation", self.field_validation)
    }
}

impl DeleteOptions {
    /// The body of the request: `metav1.DeleteOptions`.
    pub(crate) fn body(&self) -> Value {
        let mut preconditions = Map::new();
        if let Some(uid) = &self.uid {
            preconditions.insert("uid".to_owned(), Value::from(uid.as_str()));
        }
        if let Some(revision) = &self.revision {
            preconditions.insert("resourceVersion".to_owned(), Value::from(revision.as_str()));
        }
        let mut body = Map::new();
        body.insert("kind".to_owned(), Value::from("DeleteOptions"));
        body.insert("apiVersion".to_owned(), Value::from("v1"));
        if !preconditions.is_empty() {
            body.insert("preconditions".to_owned(), Value::Object(preconditions));
        }
        if let Some(propagation) = self.propagation {
            let word = Value::from(propagation.as_str());
            body.insert("propagationPolicy".to_owned(), word);
        }
        if let Some(seconds) = self.grace_seconds {
            body.insert("gracePeriodSeconds".to_owned(), Value::from(seconds));
        }
        if self.dry_run {
            body.insert("dryRun".to_owned(), Value::from(vec!["All"]));
        }
        Value::Object(body)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_deletion_says_what_it_means_and_nothing_else() {
        let options = DeleteOptions {
            uid: Some("u".to_owned()),
            propagation: Some(Propagation::Foreground),
            ..DeleteOptions::default()
        };
        assert_eq!(
            options.body(),
            json!({"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": "u"},
                   "propagationPolicy": "Foreground"})
        );
        assert_eq!(
            DeleteOptions::default().body(),
            json!({"kind": "DeleteOptions", "apiVersion": "v1"})
        );
    }

    #[test]
    fn a_watch_asks_for_bookmarks_and_initial_events_properly() {
        let options = WatchOptions {
            initial_events: true,
            timeout_seconds: 300,
            ..WatchOptions::default()
        };
        assert_eq!(
            options.query("/p".to_owned()).into_string(),
            "/p?watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=300"
        );
    }
}
