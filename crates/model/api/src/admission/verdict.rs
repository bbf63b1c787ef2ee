//! What comes of a check: leave to store, or a refusal with the face it shows to clients.

use object::{
    GroupKind, Object,
    field::{self, FieldError},
};

use crate::{
    Kind,
    read::{self, ReadError},
};

/// Leave to store the object, or why not.
pub type Verdict = Result<Allowed, Refusal>;

/// The object may be stored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Allowed {
    /// What must be written before the object is stored. A dry run leaves it out. If one of the writes meets a
    /// conflict, the check is made again with fresh related objects.
    pub writes: Vec<StatusWrite>,
}

/// A new status for another object.
#[derive(Clone, Debug, PartialEq)]
pub struct StatusWrite {
    /// The object with its new status, to be written to its `/status` on condition that its version is unchanged.
    pub object: Object,
}

/// Why an object is not stored.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// A rule that is kept by a webhook in the system whose API this is.
    #[error("admission webhook {webhook:?} denied the request: {text}")]
    Denied {
        /// Name of the webhook.
        webhook: &'static str,
        /// Why, for programs.
        reason: &'static str,
        /// Why, for people.
        text: String,
        /// The fields that are wrong; empty where no single field is.
        errors: Vec<FieldError>,
    },
    /// Something in the object kept a webhook from doing its part.
    #[error("admission webhook {webhook:?} denied the request: {text}")]
    Unprocessable {
        /// Name of the webhook.
        webhook: &'static str,
        /// What it was.
        text: String,
    },
    /// A rule that is kept by the server of the kind itself.
    #[error("{kind} {name:?} is invalid: {}", field::join(errors))]
    Invalid {
        /// Kind of the object.
        kind: GroupKind,
        /// Name of the object.
        name: String,
        /// The fields that are wrong.
        errors: Vec<FieldError>,
    },
    /// The object is not of its kind, or not in the version it is stored in.
    #[error("cannot admit the object: {problem}{}", detail(problem))]
    Unreadable {
        /// Which field does not fit.
        problem: ReadError,
    },
}

impl Refusal {
    /// The status code of the answer.
    #[must_use]
    pub fn code(&self) -> u16 {
        match self {
            Self::Denied { .. } => 403,
            Self::Unprocessable { .. } => 500,
            Self::Invalid { .. } => 422,
            Self::Unreadable { .. } => 400,
        }
    }

    /// The reason in the answer, for programs.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Denied { reason, .. } => reason,
            Self::Unprocessable { .. } => "InternalError",
            Self::Invalid { .. } => "Invalid",
            Self::Unreadable { .. } => "BadRequest",
        }
    }

    /// The fields that are wrong.
    #[must_use]
    pub fn errors(&self) -> &[FieldError] {
        match self {
            Self::Denied { errors, .. } | Self::Invalid { errors, .. } => errors,
            Self::Unprocessable { .. } | Self::Unreadable { .. } => &[],
        }
    }
}

/// Reason of a denial that has no other.
pub(super) const FORBIDDEN: &str = "Forbidden";

/// A webhook's verdict on what it found wrong.
pub(super) fn webhook_verdict(webhook: &'static str, errors: Vec<FieldError>) -> Verdict {
    if errors.is_empty() {
        return Ok(Allowed::default());
    }
    Err(Refusal::Denied {
        webhook,
        reason: FORBIDDEN,
        text: field::join(&errors),
        errors,
    })
}

/// The verdict of the server of a kind on what it found wrong.
pub(super) fn registry_verdict(object: &Object, errors: Vec<FieldError>) -> Verdict {
    if errors.is_empty() {
        return Ok(Allowed::default());
    }
    let kind = object.group_version_kind();
    Err(Refusal::Invalid {
        kind: GroupKind::new(kind.group, kind.kind),
        name: object.name().to_owned(),
        errors,
    })
}

/// Reads an object that is to be admitted.
pub(super) fn read<T: Kind>(object: &Object) -> Result<T, Refusal> {
    read::read(object).map_err(|problem| Refusal::Unreadable { problem })
}

/// Changes an object that is to be admitted.
pub(super) fn edit<T: Kind>(
    object: &Object,
    change: impl FnOnce(&mut T),
) -> Result<Object, Refusal> {
    read::edit(object, change).map_err(|problem| Refusal::Unreadable { problem })
}

/// Checks that an object is of the kind, and in the version, that it is stored in; for kinds that are written too often,
/// or are too large, to be read when nothing in them is looked at.
pub(super) fn expect_kind<T: Kind>(object: &Object) -> Result<(), Refusal> {
    let (api_version, kind) = (object.api_version(), object.kind());
    if (api_version, kind) == (T::API_VERSION, T::KIND) {
        return Ok(());
    }
    let problem = ReadError::Kind {
        expected: format!("{}, Kind={}", T::API_VERSION, T::KIND),
        found: format!("{api_version}, Kind={kind}"),
    };
    Err(Refusal::Unreadable { problem })
}

/// Reads the stored object of an update.
pub(super) fn read_old<T: Kind>(object: Option<&Object>) -> Result<Option<T>, Refusal> {
    object.map(read).transpose()
}

/// Clients see one line, so it carries the field as well.
fn detail(error: &ReadError) -> String {
    match error {
        ReadError::Field { source, .. } => format!(": {source}"),
        ReadError::Kind { .. } => String::new(),
    }
}
