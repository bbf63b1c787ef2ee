//! Differences that are there on purpose, or that belong to a version: each with its reason.

mod extensions;
mod kubernetes;

pub(crate) use self::extensions::EXTENSIONS;
pub(crate) use self::kubernetes::KUBERNETES;

/// A difference that does not count.
pub(crate) struct Known {
    /// What the request has, in part; all of them.
    pub(crate) sent: &'static [&'static str],
    /// What the difference says, in part; all of them.
    pub(crate) says: &'static [&'static str],
    /// Why it is so.
    pub(crate) reason: &'static str,
}

/// Why a difference between the answers to a request does not count, if it does not.
pub(crate) fn reason<'a>(list: &'a [Known], request: &str, difference: &str) -> Option<&'a str> {
    let has = |text: &str, parts: &[&str]| parts.iter().all(|part| text.contains(part));
    list.iter()
        .find(|known| has(request, known.sent) && has(difference, known.says))
        .map(|known| known.reason)
}
