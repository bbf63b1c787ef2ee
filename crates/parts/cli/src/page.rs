//! Text for a terminal of 80 columns: lines are broken between words.

use crate::reading::clean;

/// How wide a terminal is at least.
pub(crate) const WIDTH: usize = 80;

/// A text that grows line by line.
#[derive(Default)]
pub(crate) struct Page {
    text: String,
}

impl Page {
    /// The text.
    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// Text that is laid out already.
    pub(crate) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// An empty line.
    pub(crate) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// Words, indented; further lines stand below the first.
    pub(crate) fn wrap(&mut self, indent: usize, said: &str) {
        self.titled(indent, "", said);
    }

    /// A thing and what is said about it, which begins at a column of its own. A name too long for its column has a
    /// line of its own.
    pub(crate) fn titled(&mut self, indent: usize, name: &str, said: &str) {
        let name = clean(name);
        let mut line = String::new();
        if !name.is_empty() {
            if name.chars().count() >= indent {
                self.text.push_str(&name);
                self.text.push('\n');
            } else {
                line.push_str(&name);
            }
        }
        let room = WIDTH.saturating_sub(indent).max(1);
        let pad = |line: &mut String| {
            let missing = indent.saturating_sub(line.chars().count());
            line.extend(std::iter::repeat_n(' ', missing));
        };
        pad(&mut line);
        let mut taken = 0;
        // Line ends are spaces here; what else could steer the terminal is made harmless.
        for word in said.split_whitespace().map(clean) {
            let letters: Vec<char> = word.chars().collect();
            for piece in letters.chunks(room) {
                if taken > 0 && taken + 1 + piece.len() > room {
                    self.text.push_str(line.trim_end());
                    self.text.push('\n');
                    line.clear();
                    pad(&mut line);
                    taken = 0;
                }
                if taken > 0 {
                    line.push(' ');
                    taken += 1;
                }
                line.extend(piece);
                taken += piece.len();
            }
        }
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_is_too_long_for_the_page() {
        let mut page = Page::default();
        page.titled(12, "Name", &"x".repeat(150));
        page.titled(12, "a-name-longer-than-its-column", "y \u{1b}[2J");
        let expected = format!(
            "Name        {}\n            {}\n            {}\na-name-longer-than-its-column\n            y \\u{{1b}}[2J\n",
            "x".repeat(68),
            "x".repeat(68),
            "x".repeat(14)
        );
        assert_eq!(page.into_text(), expected);
    }
}
