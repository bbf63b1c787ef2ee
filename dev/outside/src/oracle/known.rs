//! Differences that are there on purpose, or that belong to a version: each with its reason.

/// A difference that does not count.
pub(crate) struct Known {
    /// What the difference says, in part; all of them.
    pub(crate) says: &'static [&'static str],
    /// Why it is so.
    pub(crate) reason: &'static str,
}

/// Against the API server for users' own kinds of 1.36.
pub(crate) const EXTENSIONS: &[Known] = &[];

/// Against the whole API server of 1.20.
pub(crate) const KUBERNETES: &[Known] = &[];

/// Why a difference does not count, if it does not.
pub(crate) fn reason<'a>(list: &'a [Known], difference: &str) -> Option<&'a str> {
    list.iter()
        .find(|known| known.says.iter().all(|part| difference.contains(part)))
        .map(|known| known.reason)
}
