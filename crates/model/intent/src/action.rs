//! One thing to be done.

use std::borrow::Cow;

use object::{GroupVersionKind, Object, ObjectKey, ResourceType, Value};
use serde::{Serialize, Serializer};

/// One thing to be done to one object.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "do", rename_all = "camelCase")]
pub enum Action {
    /// Makes an object that is not there. If it is there, somebody was quicker: the key is looked at again.
    Create {
        /// Where it goes.
        resource: ResourceType,
        /// What it says.
        object: Object,
    },
    /// Server-side apply: makes the object or brings the fields it names to what it says.
    Apply {
        /// Where it goes.
        resource: ResourceType,
        /// The fields that are to be as they are here, and the object's name. A uid or revision in it is a precondition.
        object: Object,
        /// Who owns these fields from now on.
        manager: Cow<'static, str>,
        /// Whether fields of other managers are taken over; otherwise they are a conflict.
        force: bool,
        /// Which part of the object.
        part: Part,
    },
    /// Changes the fields of a merge patch and no others.
    Patch {
        /// Where it is.
        resource: ResourceType,
        /// Which object.
        key: ObjectKey,
        /// The object that was looked at; another of the same name is left alone.
        #[serde(skip_serializing_if = "Option::is_none")]
        uid: Option<String>,
        /// The state that was looked at; a newer one is left alone and looked at again.
        #[serde(skip_serializing_if = "Option::is_none")]
        revision: Option<String>,
        /// A JSON merge patch.
        patch: Value,
        /// Which part of the object.
        part: Part,
    },
    /// Puts an object in place of the state whose revision it carries.
    Replace {
        /// Where it is.
        resource: ResourceType,
        /// The whole object, with the revision that was looked at.
        object: Object,
        /// Which part of the object.
        part: Part,
    },
    /// Takes an object away. An object that is gone already is as wanted.
    Delete {
        /// Where it is.
        resource: ResourceType,
        /// Which object.
        key: ObjectKey,
        /// The object that was looked at; another of the same name is left alone.
        uid: String,
        /// The state that was looked at; a newer one is left alone and looked at again.
        #[serde(skip_serializing_if = "Option::is_none")]
        revision: Option<String>,
        /// What becomes of the objects it owns; the server's default if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        propagation: Option<Propagation>,
        /// Why, for whoever asks where the object went.
        cause: String,
    },
    /// Tells whoever looks at an object what happened to it: an event.
    Report {
        /// The object.
        about: ObjectRef,
        /// Whether it is good or bad news.
        kind: EventKind,
        /// One word for programs.
        reason: String,
        /// A sentence for people.
        message: String,
    },
}

/// A part of an object that is written by requests of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// The object itself.
    #[default]
    Object,
    /// Its status.
    Status,
    /// Another subresource, by the name it has in URLs: `scale`, `finalize`, `approval`.
    Named(Cow<'static, str>),
}

/// What becomes of the objects a deleted one owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub enum Propagation {
    /// They stay and lose their owner.
    Orphan,
    /// They go after the owner.
    Background,
    /// They go before the owner, which waits for them.
    Foreground,
}

/// Whether an event is good or bad news.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub enum EventKind {
    /// For information.
    Normal,
    /// That a step went as it should, for whoever follows an object closely. Told while there are few such: a server with
    /// much to do leaves them out.
    Progress,
    /// Somebody may have to do something.
    Warning,
}

/// Names an object of any kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectRef {
    /// What it is.
    pub kind: GroupVersionKind,
    /// Where it is.
    pub key: ObjectKey,
    /// Which of those that had the name.
    pub uid: String,
    /// The state that was looked at; may be empty.
    pub revision: String,
}

impl Action {
    /// A merge patch with the uid and the revision of the object that was looked at.
    #[must_use]
    pub fn patch(resource: ResourceType, object: &Object, patch: Value, part: Part) -> Self {
        Self::Patch {
            resource,
            key: object.key(),
            uid: text(object.uid()),
            revision: text(object.resource_version()),
            patch,
            part,
        }
    }

    /// Takes away the object that was looked at, in any later state of it.
    #[must_use]
    pub fn delete(resource: ResourceType, object: &Object, cause: impl Into<String>) -> Self {
        Self::Delete {
            resource,
            key: object.key(),
            uid: object.uid().to_owned(),
            revision: None,
            propagation: None,
            cause: cause.into(),
        }
    }

    /// Takes away the object in the very state that was looked at: for whoever decides on a field that others may change.
    #[must_use]
    pub fn delete_as_seen(
        resource: ResourceType,
        object: &Object,
        cause: impl Into<String>,
    ) -> Self {
        Self::Delete {
            resource,
            key: object.key(),
            uid: object.uid().to_owned(),
            revision: text(object.resource_version()),
            propagation: None,
            cause: cause.into(),
        }
    }

    /// An event about an object.
    #[must_use]
    pub fn report(
        about: ObjectRef,
        kind: EventKind,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self::Report {
            about,
            kind,
            reason: reason.into(),
            message: message.into(),
        }
    }

    /// The word for what is done, as logs and metrics have it.
    #[must_use]
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Create { .. } => "create",
            Self::Apply { .. } => "apply",
            Self::Patch { .. } => "patch",
            Self::Replace { .. } => "replace",
            Self::Delete { .. } => "delete",
            Self::Report { .. } => "report",
        }
    }

    /// The kind of the object it is about.
    #[must_use]
    pub fn kind(&self) -> &GroupVersionKind {
        match self {
            Self::Create { resource, .. }
            | Self::Apply { resource, .. }
            | Self::Patch { resource, .. }
            | Self::Replace { resource, .. }
            | Self::Delete { resource, .. } => &resource.kind,
            Self::Report { about, .. } => &about.kind,
        }
    }

    /// The key of the object it is about.
    #[must_use]
    pub fn key(&self) -> ObjectKey {
        match self {
            Self::Create { object, .. }
            | Self::Apply { object, .. }
            | Self::Replace { object, .. } => object.key(),
            Self::Patch { key, .. } | Self::Delete { key, .. } => key.clone(),
            Self::Report { about, .. } => about.key.clone(),
        }
    }
}

impl Part {
    /// As URLs have it; `None` for the object itself.
    #[must_use]
    pub fn subresource(&self) -> Option<&str> {
        match self {
            Self::Object => None,
            Self::Status => Some("status"),
            Self::Named(name) => Some(name),
        }
    }
}

impl Propagation {
    /// As the API spells it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Orphan => "Orphan",
            Self::Background => "Background",
            Self::Foreground => "Foreground",
        }
    }
}

impl EventKind {
    /// As the API spells it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal | Self::Progress => "Normal",
            Self::Warning => "Warning",
        }
    }
}

impl ObjectRef {
    /// Names an object.
    #[must_use]
    pub fn of(object: &Object) -> Self {
        Self {
            kind: object.group_version_kind(),
            key: object.key(),
            uid: object.uid().to_owned(),
            revision: object.resource_version().to_owned(),
        }
    }
}

/// `object`, or the name of the subresource.
impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.subresource().unwrap_or("object"))
    }
}

/// With the field names of Kubernetes' object references.
impl Serialize for ObjectRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap as _;
        let api_version = self.kind.api_version();
        let fields = [
            ("apiVersion", api_version.as_str()),
            ("kind", &self.kind.kind),
            ("namespace", &self.key.namespace),
            ("name", &self.key.name),
            ("uid", &self.uid),
            ("resourceVersion", &self.revision),
        ];
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in fields {
            if !value.is_empty() {
                map.serialize_entry(name, value)?;
            }
        }
        map.end()
    }
}

fn text(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}
