//! Versions of etcd, and what they can be trusted with.

use std::fmt;

/// A release of etcd.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Version {
    major: u32,
    minor: u32,
    patch: u32,
}

impl Version {
    /// The oldest release with everything this client uses: fragments and requests for progress.
    const OLDEST: Self = Self::new(3, 4, 0);

    pub(super) const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self {
            major,
            minor,
            patch,
        }
    }

    /// Reads `3.4.23`, and also `3.6.0-rc.1` or `3.5.1+git`; `None` when the text begins otherwise.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let core = text.split(['-', '+']).next()?;
        let mut numbers = core.split('.').map(str::parse);
        let mut number = || numbers.next()?.ok();
        Some(Self::new(number()?, number()?, number()?))
    }

    pub(super) fn is_supported(self) -> bool {
        self >= Self::OLDEST
    }

    /// Whether an answer to a request for progress comes after all events it speaks of, and always comes.
    ///
    /// Earlier releases send it on a path of its own, so that it may overtake events, or keep silent on a watch
    /// that has had none.
    pub(super) fn tells_progress(self) -> bool {
        match (self.major, self.minor) {
            (3, 4) => self.patch >= 31,
            (3, 5) => self.patch >= 13,
            _ => self.is_supported(),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_say_what_a_server_can_be_trusted_with() {
        let cases = [
            ("3.3.27", Some((false, false))),
            ("3.4.0", Some((true, false))),
            ("3.4.23", Some((true, false))),
            ("3.4.31", Some((true, true))),
            ("3.5.1", Some((true, false))),
            ("3.5.30", Some((true, true))),
            ("3.6.0-rc.1", Some((true, true))),
            ("3.6.4+git", Some((true, true))),
            ("4.0.0", Some((true, true))),
            ("2.3.8", Some((false, false))),
            ("3.4", None),
            ("latest", None),
            ("", None),
        ];
        for (text, expected) in cases {
            let version = Version::parse(text);
            assert_eq!(
                version.map(|version| (version.is_supported(), version.tells_progress())),
                expected,
                "{text}"
            );
        }
    }
}
