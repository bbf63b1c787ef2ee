//! One call, understood: who asks for what, and how.

use std::collections::BTreeMap;

use object::Value;

use crate::options::WriteOptions;
use crate::resource::{ScalePaths, Served};
use crate::status::{Status, Subject};
use crate::target::{ResourceTarget, Verb};

/// Who is asking.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// The name, such as `system:serviceaccount:shop:default`.
    pub name: String,
    /// Told apart from others of the same name in time; may be empty.
    pub uid: String,
    /// What rules may be bound to besides the name.
    pub groups: Vec<String>,
    /// What the authenticator knows besides.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// A call on a resource.
#[derive(Clone)]
pub struct Call {
    /// Who asks.
    pub user: User,
    /// For what to be done.
    pub verb: Verb,
    /// With what.
    pub target: ResourceTarget,
    /// The resource, in the version asked for.
    pub served: Served,
    /// How a write is meant.
    pub options: WriteOptions,
    /// Whether it is a server-side apply, which settles the owners of fields itself.
    pub applies: bool,
    /// What admission is shown of a write.
    pub exhibit: Exhibit,
    /// Whether the server makes up the name of what is created.
    pub generates_name: bool,
}

/// What admission is shown of a write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Exhibit {
    /// The object that is written.
    #[default]
    Object,
    /// The `Scale` of the object, which has its size at these paths. Upstream: rules about the object itself are not
    /// meant, only those about its part `scale`.
    Scale(ScalePaths),
    /// Nothing: it was asked about the document that the write is due to.
    Nothing,
}

/// The part by which the size of an object is written.
pub(crate) const SCALE: &str = "scale";

impl Call {
    /// The part that owners of fields are said to have written through: what sets the size of an object writes the object
    /// itself.
    pub(crate) fn through(&self) -> &str {
        match &self.exhibit {
            Exhibit::Scale(_) => SCALE,
            Exhibit::Object | Exhibit::Nothing => &self.target.subresource,
        }
    }

    /// The object of the call, for messages about it.
    #[must_use]
    pub fn subject(&self) -> Subject<'_> {
        self.target.subject()
    }

    /// The same by the name an object gives itself, where the path has none: that of a creation.
    #[must_use]
    pub fn subject_of<'a>(&'a self, object: &'a Value) -> Subject<'a> {
        let metadata = object.get("metadata");
        let text = |field: &str| {
            let text = metadata.and_then(|metadata| metadata.get(field)?.as_str());
            text.filter(|text| !text.is_empty())
        };
        let subject = self.subject();
        if !subject.name.is_empty() {
            return subject;
        }
        // Upstream: refused before it was given one, it goes by what that would begin with.
        let name = text("name").or_else(|| text("generateName"));
        Subject {
            name: name.unwrap_or("Unknown"),
            ..subject
        }
    }

    /// An object of the call as a refusal shows it: whole, unless what it holds is secret.
    pub(crate) fn shown(&self, object: &Value) -> String {
        if self.served.is_secret {
            return REDACTED.to_owned();
        }
        object.to_string()
    }

    /// The kind and an object's name, for messages about invalid objects.
    #[must_use]
    pub fn kind_subject<'a>(&'a self, name: &'a str) -> Subject<'a> {
        Subject {
            group: &self.target.group,
            resource: &self.served.resource.kind,
            name,
        }
    }
}

/// What stands in refusals for what is secret.
pub(crate) const REDACTED: &str = "<redacted>";

/// What a call would change.
pub struct Proposal<'a> {
    /// What is there; `None` for a creation.
    pub old: Option<&'a Value>,
    /// What is to be there; `None` for a deletion.
    pub new: Option<&'a mut Value>,
}

/// Says no, or something else, before anything is written: quotas, webhooks, the kinds' own rules.
///
/// Implementers are asked in the order they were given: first all to change, then, when nothing changes any more, all
/// to judge.
pub trait Admission: Send + Sync {
    /// Whether it may change objects of a call, so that what it leaves out must be filled in again. Whoever changes
    /// objects in [`Admission::mutate`] says so here.
    fn changes(&self, _call: &Call) -> bool {
        false
    }

    /// May change the new object, or refuse it before anybody else has work with it.
    fn mutate<'a>(&'a self, _call: &'a Call, _proposal: Proposal<'a>) -> Verdict<'a> {
        at_once(Ok(Vec::new()))
    }

    /// May refuse the new object as it will be stored.
    fn validate<'a>(
        &'a self,
        _call: &'a Call,
        _old: Option<&'a Value>,
        _new: Option<&'a Value>,
    ) -> Verdict<'a> {
        at_once(Ok(Vec::new()))
    }

    /// May refuse a stream to what stands behind an object; `options` say what it is for, as Kubernetes writes them.
    fn connect<'a>(&'a self, _call: &'a Call, _options: &'a Value) -> Verdict<'a> {
        at_once(Ok(Vec::new()))
    }
}

/// What an [`Admission`] says: warnings for the client, or a refusal.
pub type Verdict<'a> =
    std::pin::Pin<Box<dyn Future<Output = Result<Vec<String>, Status>> + Send + 'a>>;

/// A verdict known without waiting.
#[must_use]
pub fn at_once<'a>(verdict: Result<Vec<String>, Status>) -> Verdict<'a> {
    Box::pin(std::future::ready(verdict))
}
