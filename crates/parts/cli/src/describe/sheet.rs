//! Lines of cells, laid out so that what belongs together stands below each other.
//!
//! A cell is as wide as the widest of those above and below it, as far as lines follow one another that have a cell there
//! and another one after it; so a line without cells, or with one alone, ends what stands below each other. Upstream: the
//! pages of `kubectl describe` are laid out by this rule, and it is why their columns begin where they do.

use crate::reading::clean;

/// What stands between two columns.
const GAP: usize = 2;

/// A page in the making.
#[derive(Default)]
pub(super) struct Sheet {
    lines: Vec<Vec<String>>,
}

impl Sheet {
    /// A line of cells, so far from the left.
    pub(super) fn line<T: AsRef<str>>(
        &mut self,
        indent: usize,
        cells: impl IntoIterator<Item = T>,
    ) {
        let mut line: Vec<String> = cells.into_iter().map(|cell| clean(cell.as_ref())).collect();
        if let Some(first) = line.first_mut() {
            first.insert_str(0, &" ".repeat(indent));
        }
        self.lines.push(line);
    }

    /// A line that is not cut into cells.
    pub(super) fn text(&mut self, indent: usize, text: &str) {
        self.line(indent, [text]);
    }

    /// What somebody has written, line by line. Tabs stay as they are: they do no harm here.
    pub(super) fn verbatim(&mut self, text: &str) {
        for line in text.split('\n') {
            let parts: Vec<String> = line.split('\t').map(clean).collect();
            self.lines.push(vec![parts.join("\t")]);
        }
    }

    /// An empty line.
    pub(super) fn blank(&mut self) {
        self.lines.push(Vec::new());
    }

    /// A name for what follows in the lines below.
    pub(super) fn title(&mut self, indent: usize, title: &str) {
        self.line(indent, [format!("{title}:")]);
    }

    /// A name and a value.
    pub(super) fn field(&mut self, indent: usize, name: &str, value: impl AsRef<str>) {
        self.line(indent, [&format!("{name}:"), value.as_ref()]);
    }

    /// The same if there is a value.
    pub(super) fn field_if(&mut self, indent: usize, name: &str, value: impl AsRef<str>) {
        if !value.as_ref().is_empty() {
            self.field(indent, name, value);
        }
    }

    /// A name and values below each other.
    pub(super) fn list<T: AsRef<str>>(&mut self, indent: usize, name: &str, values: &[T]) {
        let Some((first, rest)) = values.split_first() else {
            return self.field(indent, name, "<none>");
        };
        self.field(indent, name, first);
        for value in rest {
            self.line(0, ["", value.as_ref()]);
        }
    }

    /// Rows under a headline that is underlined.
    pub(super) fn table(&mut self, indent: usize, header: &[&str], rows: &[Vec<String>]) {
        self.line(indent, header);
        self.line(indent, header.iter().map(|name| "-".repeat(name.len())));
        for row in rows {
            self.line(indent, row);
        }
    }

    /// The text.
    pub(super) fn finish(self) -> String {
        let mut widths: Vec<Vec<usize>> = self
            .lines
            .iter()
            .map(|line| line.iter().map(|cell| cell.chars().count()).collect())
            .collect();
        let columns = widths.iter().map(Vec::len).max().unwrap_or(0);
        for column in 0..columns {
            let has_it = |line: &Vec<usize>| line.len() > column + 1;
            for block in widths.chunk_by_mut(|one, next| has_it(one) && has_it(next)) {
                let cells = || block.iter().filter(|line| has_it(line));
                let widest = cells().filter_map(|line| line.get(column)).max().copied();
                let Some(widest) = widest else {
                    continue;
                };
                for width in block.iter_mut().filter_map(|line| line.get_mut(column)) {
                    *width = widest + GAP;
                }
            }
        }
        let mut page = String::new();
        for (line, widths) in self.lines.iter().zip(widths) {
            let begin = page.len();
            for (cell, width) in line.iter().zip(widths) {
                page.push_str(cell);
                page.extend(std::iter::repeat_n(
                    ' ',
                    width.saturating_sub(cell.chars().count()),
                ));
            }
            let end = page.trim_end_matches(' ').len().max(begin);
            page.truncate(end);
            page.push('\n');
        }
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_one_another_stands_below_each_other() {
        let mut sheet = Sheet::default();
        sheet.field(0, "A", "1");
        sheet.list(0, "Longer", &["1", "2"]);
        sheet.title(0, "Title");
        sheet.field(2, "B", "1\u{1b}");
        sheet.line(2, ["", "x", "y"]);
        sheet.line(2, ["", "long", "z"]);
        sheet.field(0, "Empty", "");
        sheet.blank();
        sheet.verbatim("a\tb\n\nc");
        insta::assert_snapshot!(sheet.finish(), @r#"
        A:       1
        Longer:  1
                 2
        Title:
          B:    1\u{1b}
                x     y
                long  z
        Empty:

        a	b

        c
        "#);
    }
}
