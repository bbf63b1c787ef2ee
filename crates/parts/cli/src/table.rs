//! Tables for people, laid out as kubectl's: columns as wide as their longest cell, three spaces apart.

/// What stands between two columns.
const GAP: usize = 3;
/// So much of a name is left at least, however wide the other columns are.
const LEAST: usize = 12;

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
    /// Shortens names, which stand in the first column, until the table is no wider than this.
    pub(crate) fn narrow(&mut self, room: usize) {
        let width = |column: usize| {
            let lines = std::iter::once(&self.header).chain(&self.rows);
            let cells = lines.filter_map(|line| line.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let columns = self.rows.first().map_or(0, Vec::len);
        let others: usize = (1..columns).map(|column| width(column) + GAP).sum();
        let most = room.saturating_sub(others).max(LEAST);
        for name in self.rows.iter_mut().filter_map(|row| row.first_mut()) {
            *name = shortened(name, most);
        }
    }

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

/// A name in so many characters: clusters are told apart by how their names begin and end.
fn shortened(name: &str, most: usize) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= most {
        return name.to_owned();
    }
    let shown = most.saturating_sub(1);
    let (head, tail) = (shown - shown / 2, letters.len() - shown / 2);
    let head = letters.iter().take(head);
    let tail = letters.iter().skip(tail);
    head.chain(&['\u{2026}']).chain(tail).collect()
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

    #[test]
    fn long_names_lose_their_middle_where_there_is_no_room() {
        let table = |name: &str| {
            let mut table = Table::new(&["NAME", "AGE"]);
            table.rows.push(vec![name.to_owned(), "5m".to_owned()]);
            table
        };
        for (name, room, expected) in [
            ("production-europe-west-1", 80, "production-europe-west-1"),
            ("production-europe-west-1", 24, "productio\u{2026}e-west-1"),
            ("production-europe-west-1", 5, "produc\u{2026}est-1"),
            ("east", 5, "east"),
        ] {
            let mut table = table(name);
            table.narrow(room);
            assert_eq!(table.rows[0][0], expected, "{room}");
        }
    }
}
