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

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lines = || {
            let header = (!self.header.is_empty()).then_some(&self.header);
            header.into_iter().chain(&self.rows)
        };
        let columns = lines().map(Vec::len).max().unwrap_or_default();
        let width = |column: usize| {
            let cells = lines().filter_map(|line| line.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for line in lines() {
            let mut text = String::new();
            for (cell, width) in line.iter().zip(&widths) {
                text.push_str(cell);
                let padding = width.saturating_sub(cell.chars().count()) + GAP;
                text.extend(std::iter::repeat_n(' ', padding));
            }
            writeln!(f, "{}", text.trim_end())?;
        }
        Ok(())
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
