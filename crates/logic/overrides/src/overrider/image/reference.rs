//! Image references: `registry.example/team/web:v1`.
//!
//! The grammar is the one container runtimes use, without filling in a registry or a tag that is not written.

use std::{borrow::Cow, fmt};

/// The longest name (registry and repository) there may be.
const NAME_LENGTH: usize = 255;
/// The longest tag there may be.
const TAG_LENGTH: usize = 128;
/// The fewest hexadecimal digits that make a text look like a digest.
const DIGEST_LENGTH: usize = 32;

/// The parts of an image reference.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image<'a> {
    /// The host the image comes from, perhaps with a port; empty if not said.
    pub registry: Cow<'a, str>,
    /// The path within the registry.
    pub repository: Cow<'a, str>,
    /// The tag or digest, if there is one.
    pub version: Option<Version<'a>>,
}

/// Which version of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Version<'a> {
    /// By a name that may move: `v1`.
    Tag(Cow<'a, str>),
    /// By content: `sha256:…`.
    Digest(Cow<'a, str>),
}

/// Why a text is not an image reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseImageError {
    /// There is no name.
    #[error("the image has no name")]
    NoName,
    /// Names are written in lower case.
    #[error("the repository of an image must be lowercase")]
    Uppercase,
    /// A character is not allowed where it is.
    #[error("not an image reference")]
    Malformed,
    /// The name is too long.
    #[error("the name of an image may not be longer than {NAME_LENGTH} characters")]
    TooLong,
    /// The digest is of an unknown sort, or of the wrong length.
    #[error("the digest of an image must be of sha256, sha384 or sha512, in lowercase digits")]
    Digest,
}

impl<'a> Image<'a> {
    /// Reads a reference. Of a tag and a digest together only the tag is kept, as upstream does.
    pub fn parse(text: &'a str) -> Result<Self, ParseImageError> {
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest)),
            None => (text, None),
        };
        let (name, tag) = match rest.rsplit_once(':') {
            Some((name, tag)) if !tag.contains('/') => (name, Some(tag)),
            _ => (rest, None),
        };
        check_name(name)?;
        if tag.is_some_and(|tag| !is_tag(tag)) {
            return Err(ParseImageError::Malformed);
        }
        if let Some(digest) = digest {
            check_digest(digest)?;
        }
        let (registry, repository) = split_name(name);
        let version = match (tag, digest) {
            (Some(tag), _) => Some(Version::Tag(tag.into())),
            (None, Some(digest)) => Some(Version::Digest(digest.into())),
            (None, None) => None,
        };
        Ok(Self {
            registry: registry.into(),
            repository: repository.into(),
            version,
        })
    }
}

impl Version<'_> {
    /// A tag if the text is one, else a digest if it looks like one.
    pub(super) fn recognize<'t>(text: String) -> Option<Version<'t>> {
        if is_tag(&text) {
            return Some(Version::Tag(text.into()));
        }
        looks_like_digest(&text).then(|| Version::Digest(text.into()))
    }

    /// The tag or digest itself.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Tag(text) | Self::Digest(text) => text,
        }
    }
}

impl fmt::Display for Image<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.registry.is_empty() {
            write!(f, "{}/", self.registry)?;
        }
        f.write_str(&self.repository)?;
        match &self.version {
            Some(Version::Tag(tag)) => write!(f, ":{tag}"),
            Some(Version::Digest(digest)) => write!(f, "@{digest}"),
            None => Ok(()),
        }
    }
}

/// The registry is what stands before the first slash, if it could not be part of a repository.
fn split_name(name: &str) -> (&str, &str) {
    match name.split_once('/') {
        Some((host, path)) if host.contains(['.', ':']) || host == "localhost" => (host, path),
        _ => ("", name),
    }
}

fn check_name(name: &str) -> Result<(), ParseImageError> {
    if name.is_empty() {
        return Err(ParseImageError::NoName);
    }
    if name.len() > NAME_LENGTH {
        return Err(ParseImageError::TooLong);
    }
    let path = match name.split_once('/') {
        Some((host, path)) if is_host(host) => path,
        _ => name,
    };
    if path.split('/').all(is_path_component) {
        return Ok(());
    }
    if name
        .to_lowercase()
        .split('/')
        .all(|component| is_path_component(component) || is_host(component))
    {
        return Err(ParseImageError::Uppercase);
    }
    Err(ParseImageError::Malformed)
}

/// `example.com`, `localhost:5000` or `[::1]:5000`.
fn is_host(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    let is_address = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .is_some_and(|address| {
            !address.is_empty()
                && address
                    .bytes()
                    .all(|byte| byte.is_ascii_hexdigit() || byte == b':')
        });
    let is_named = || {
        host.split('.').all(|label| {
            !label.is_empty()
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        })
    };
    let has_port =
        port.is_none_or(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()));
    has_port && (is_address || is_named())
}

/// Lower-case words joined by one dot, one or two underscores, or any number of dashes.
fn is_path_component(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let joints = text.split(|character: char| u8::try_from(character).is_ok_and(is_word));
    let ends_in_words =
        text.bytes().next().is_some_and(is_word) && text.bytes().next_back().is_some_and(is_word);
    ends_in_words
        && joints.filter(|joint| !joint.is_empty()).all(|joint| {
            matches!(joint, "." | "_" | "__") || joint.bytes().all(|byte| byte == b'-')
        })
}

fn is_tag(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.len() <= TAG_LENGTH
        && text.bytes().next().is_some_and(is_word)
        && text
            .bytes()
            .all(|byte| is_word(byte) || byte == b'.' || byte == b'-')
}

/// `algorithm:digits`, where the name of the algorithm is words joined by `-`, `_`, `+` or `.`.
fn looks_like_digest(text: &str) -> bool {
    let Some((algorithm, digits)) = text.split_once(':') else {
        return false;
    };
    let is_algorithm = algorithm.split(['-', '_', '+', '.']).all(|word| {
        word.starts_with(|first: char| first.is_ascii_alphabetic())
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric())
    });
    is_algorithm
        && digits.len() >= DIGEST_LENGTH
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A digest that can be checked: of a known algorithm, with as many digits as that has.
fn check_digest(text: &str) -> Result<(), ParseImageError> {
    if !looks_like_digest(text) {
        return Err(ParseImageError::Malformed);
    }
    let length = match text.split_once(':') {
        Some(("sha256", _)) => 64,
        Some(("sha384", _)) => 96,
        Some(("sha512", _)) => 128,
        _ => return Err(ParseImageError::Digest),
    };
    let is_right = text.split_once(':').is_some_and(|(_, digits)| {
        digits.len() == length && !digits.bytes().any(|byte| byte.is_ascii_uppercase())
    });
    if is_right {
        Ok(())
    } else {
        Err(ParseImageError::Digest)
    }
}
