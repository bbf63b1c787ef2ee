//! One object at one place, to be looked at and changed: so a test reads as what it claims about it.

use std::fmt;

use object::{Object, Value};
use world::Api;

use crate::stage::{SOON, Stage, WHILE, all, on, policy};

/// An object of the control plane or of a member, whether it is there or not.
pub(crate) struct Spot<'s> {
    stage: &'s Stage,
    api: &'s Api,
    /// Where that is.
    place: String,
    kind: String,
    /// With its namespace, if it has one.
    pub(crate) name: String,
}

impl Stage {
    /// An object of the control plane.
    pub(crate) fn template(&self, kind: &str, name: &str) -> Spot<'_> {
        Spot {
            stage: self,
            api: self.control(),
            place: "the control plane".to_owned(),
            kind: kind.to_owned(),
            name: name.to_owned(),
        }
    }

    /// An object of a member.
    pub(crate) fn copy(&self, member: &str, kind: &str, name: &str) -> Spot<'_> {
        Spot {
            api: self.member(member),
            place: member.to_owned(),
            ..self.template(kind, name)
        }
    }

    /// The work for an object in a cluster, which must be there.
    pub(crate) async fn work_of(&self, kind: &str, name: &str, cluster: &str) -> Spot<'_> {
        let work = self.work(kind, name, cluster).await.unwrap();
        self.template("works", &work.key().to_string())
    }

    /// Applies templates, and a policy `p` that brings what the selectors take to clusters.
    pub(crate) async fn spread(&self, templates: &[String], selectors: &str, clusters: &str) {
        let mut documents = templates.to_vec();
        documents.push(policy("p", selectors, &on(clusters)));
        self.apply(&all(&documents)).await;
    }
}

impl Spot<'_> {
    /// Waits until a field has a value.
    pub(crate) async fn shows(&self, path: &str, value: impl Into<Value>) {
        let what = format!("{self} {path}");
        let found = async || self.field(path).await;
        self.stage.until_is(&what, SOON, value, found).await;
    }

    /// Sees to it that a field keeps its value.
    pub(crate) async fn keeps(&self, path: &str, value: impl Into<Value>) {
        let value = value.into();
        let what = format!("{self} {path} stays {value}");
        let is_kept = async || self.field(path).await == value;
        self.stage.stays(&what, WHILE, is_kept).await;
    }

    /// Waits until a condition has this status and reason.
    pub(crate) async fn says(&self, condition: &str, expected: &str) {
        let what = format!("{condition} of {self}");
        let found = async || self.condition(condition).await.into();
        self.stage.until_is(&what, SOON, expected, found).await;
    }

    /// Waits until it is there.
    pub(crate) async fn comes(&self) {
        let what = format!("{self} is there");
        self.stage
            .until(&what, SOON, async || self.is_there().await)
            .await;
    }

    /// Waits until it is there no more.
    pub(crate) async fn goes(&self) {
        let what = format!("{self} is gone");
        self.stage
            .until(&what, SOON, async || self.is_missing().await)
            .await;
    }

    pub(crate) async fn is_there(&self) -> bool {
        self.get().await.is_some()
    }

    pub(crate) async fn is_missing(&self) -> bool {
        self.get().await.is_none()
    }

    pub(crate) async fn get(&self) -> Option<Object> {
        self.api.get(&self.kind, &self.name).await
    }

    /// The object, which must be there.
    pub(crate) async fn found(&self) -> Object {
        self.get().await.unwrap()
    }

    pub(crate) async fn field(&self, path: &str) -> Value {
        self.api.field(&self.kind, &self.name, path).await
    }

    /// Status and reason of a condition.
    pub(crate) async fn condition(&self, condition: &str) -> String {
        let (kind, name) = (&self.kind, &self.name);
        self.api.condition(kind, name, condition).await
    }

    pub(crate) async fn patch(&self, patch: Value) {
        self.api.patch(&self.kind, &self.name, patch).await;
    }

    pub(crate) async fn patch_status(&self, patch: Value) {
        let (kind, name) = (&self.kind, &self.name);
        self.api.patch_status(kind, name, patch).await;
    }

    pub(crate) async fn delete(&self) {
        self.api.delete(&self.kind, &self.name).await;
    }
}

impl fmt::Display for Spot<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} in {}", self.kind, self.name, self.place)
    }
}
