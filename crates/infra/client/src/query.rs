//! The part of a URL behind the question mark.

use std::fmt::{Display, Write as _};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b',')
    .remove(b'/')
    .remove(b':');

/// A path that grows a query.
pub(crate) struct PathAndQuery {
    text: String,
    asked: bool,
}

impl PathAndQuery {
    pub(crate) fn new(path: impl Into<String>) -> Self {
        Self {
            text: path.into(),
            asked: false,
        }
    }

    /// Adds a parameter, unless its value is empty.
    pub(crate) fn text(mut self, name: &str, value: &str) -> Self {
        if !value.is_empty() {
            self.push(name, utf8_percent_encode(value, ESCAPED));
        }
        self
    }

    /// Adds a number, unless it is zero.
    pub(crate) fn number(mut self, name: &str, value: u64) -> Self {
        if value != 0 {
            self.push(name, value);
        }
        self
    }

    /// Adds a parameter that is true, unless it is false.
    pub(crate) fn flag(self, name: &str, value: bool) -> Self {
        self.text(name, if value { "true" } else { "" })
    }

    pub(crate) fn into_string(self) -> String {
        self.text
    }

    fn push(&mut self, name: &str, value: impl Display) {
        let sign = if self.asked { '&' } else { '?' };
        self.asked = true;
        // Writing to a text cannot fail.
        _ = write!(self.text, "{sign}{name}={value}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_given_is_asked_and_it_arrives_whole() {
        let query = PathAndQuery::new("/api/v1/pods")
            .text("labelSelector", "a=b,c!=d e")
            .text("fieldSelector", "")
            .number("limit", 500)
            .number("timeoutSeconds", 0)
            .flag("watch", true)
            .flag("force", false);
        assert_eq!(
            query.into_string(),
            "/api/v1/pods?labelSelector=a%3Db,c%21%3Dd%20e&limit=500&watch=true"
        );
    }
}
