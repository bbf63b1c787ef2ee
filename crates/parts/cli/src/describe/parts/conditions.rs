//! Conditions as a table.

use object::Value;

use crate::describe::sheet::Sheet;
use crate::describe::values::{items, moment, plain};

/// A headline, and the field below it.
pub(in crate::describe) type Column = (&'static str, &'static str);

/// What conditions of workloads say.
pub(in crate::describe) const BRIEF: [Column; 3] =
    [("Type", "type"), ("Status", "status"), ("Reason", "reason")];

/// The table, if there are conditions. `loose`: so many columns are a space further apart than they need be, as kubectl's are.
pub(in crate::describe) fn write(
    sheet: &mut Sheet,
    conditions: &Value,
    columns: &[Column],
    loose: usize,
) {
    let conditions = items(conditions);
    if conditions.is_empty() {
        return;
    }
    sheet.title(0, "Conditions");
    let header: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    sheet.table(2, &header, &rows(conditions, columns, loose));
}

/// The rows alone.
pub(in crate::describe) fn rows(
    conditions: &[Value],
    columns: &[Column],
    loose: usize,
) -> Vec<Vec<String>> {
    let row = |condition: &Value| {
        let cells = columns.iter().enumerate();
        let cells = cells.map(|(column, (_, field))| {
            let value = &condition[*field];
            let cell = match field.ends_with("Time") {
                true => moment(value),
                false => plain(value),
            };
            match column < loose {
                true => cell + " ",
                false => cell,
            }
        });
        cells.collect()
    };
    conditions.iter().map(row).collect()
}
