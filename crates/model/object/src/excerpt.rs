//! What an error message repeats of the text it complains about.

use std::fmt;

/// The start of a text that could not be read, short enough for a message whoever sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    start: Box<str>,
    is_cut: bool,
}

/// Longer than any sensible value of the types that use it, and still one line.
const LONGEST: usize = 64;

impl From<&str> for Excerpt {
    fn from(text: &str) -> Self {
        let end = text.floor_char_boundary(LONGEST);
        let (start, rest) = text.split_at(end);
        Self {
            start: start.into(),
            is_cut: !rest.is_empty(),
        }
    }
}

/// In double quotes, with control characters escaped.
impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}{}", self.start, if self.is_cut { "…" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::Excerpt;

    #[test]
    fn long_texts_are_cut_at_a_character() {
        assert_eq!(Excerpt::from("4 Gi\n").to_string(), "\"4 Gi\\n\"");
        let cut = Excerpt::from("é".repeat(1_000_000).as_str()).to_string();
        assert_eq!(cut, format!("\"{}\"…", "é".repeat(32)));
        let uneven = Excerpt::from(format!("a{}", "é".repeat(99)).as_str()).to_string();
        assert_eq!(uneven, format!("\"a{}\"…", "é".repeat(31)));
    }
}
