//! Tables for people, laid out as kubectl's: columns as wide as their longest cell, three spaces apart.

/// What stands between two columns.
const GAP: usize = 3;

/// Rows under a headline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// The headline; empty for none.
    pub header: Vec<String>,
    /// The rows, each with a cell for each column.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with this headline and no rows yet.
    #[must_use]
    pub fn new(header: &[&str]) -> Self {
        Self {
            header: header.iter().map(ToString::to_string).collect(),
            rows: Vec::new(),
        }
    }
}

impl Table {
    /// The text, with columns at least as wide as `widths`, which grow to what the columns took: so tables that
    /// are printed one after the other stand below each other.
    #[must_use]
    pub fn write(&self, widths: &mut Vec<usize>) -> String {
        let header = (!self.header.is_empty()).then_some(&self.header);
        let lines = || header.into_iter().chain(&self.rows);
        for line in lines() {
            for (column, cell) in line.iter().enumerate() {
                let width = cell.chars().count();
                match widths.get_mut(column) {
                    Some(known) => *known = width.max(*known),
                    None => widths.push(width),
                }
            }
        }
        let mut text = String::new();
        for line in lines() {
            let begin = text.len();
            for (cell, width) in line.iter().zip(widths.iter()) {
                text.push_str(cell);
                let padding = width.saturating_sub(cell.chars().count()) + GAP;
                text.extend(std::iter::repeat_n(' ', padding));
            }
            let end = text.trim_end().len().max(begin);
            text.truncate(end);
            text.push('\n');
        }
        text
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.write(&mut Vec::new()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_longest_cell() {
        let mut table = Table::new(&["NAME", "AGE"]);
        table.rows.push(vec!["kühn".to_owned(), "5m".to_owned()]);
        table.rows.push(vec!["a".to_owned(), "3d".to_owned()]);
        assert_eq!(table.to_string(), "NAME   AGE\nkühn   5m\na      3d\n");
        assert_eq!(Table::default().to_string(), "");
    }
}
