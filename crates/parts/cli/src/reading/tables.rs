//! Tables as servers make them, one for each place, put together into one for people.

use api::well_known::labels::{MANAGED, TRUE};
use object::Value;

use super::place::CONTROL_PLANE;
use super::sorting::Order;
use crate::table::Table;

/// A table as a server makes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ServerTable {
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Row>,
}

/// A column of a server's table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column {
    name: String,
    /// Whether it is for wide tables only.
    is_wide: bool,
}

/// A row and what is known of its object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Row {
    cells: Vec<String>,
    namespace: String,
    is_managed: bool,
    labels: Vec<(String, String)>,
    /// The object's own state, where a watch goes on.
    pub(super) revision: String,
    /// The object, as far as the server showed it.
    pub(super) object: Value,
}

/// How much of tables is shown.
#[derive(Clone, Debug, Default)]
pub(super) struct Look {
    /// Columns for wide tables too.
    pub(super) is_wide: bool,
    /// A column of namespaces.
    pub(super) namespaces: bool,
    /// No headline.
    pub(super) is_bare: bool,
    /// Put before each name, with a slash.
    pub(super) kind: Option<String>,
    /// The last column only in wide tables. Upstream: so it is for pods.
    pub(super) rarely_adopted: bool,
    /// A last column with all labels.
    pub(super) labels: bool,
    /// A column for each of these labels.
    pub(super) label_columns: Vec<String>,
}

impl ServerTable {
    /// Reads a server's answer. One that is no table becomes one of names and times.
    pub(super) fn read(answer: &Value) -> Self {
        if answer["kind"] != "Table" {
            return Self::of_objects(answer);
        }
        let columns = items(&answer["columnDefinitions"]).map(|column| Column {
            name: clean(column["name"].as_str().unwrap_or_default()).to_uppercase(),
            is_wide: column["priority"].as_i64().unwrap_or_default() > 0,
        });
        let rows = items(&answer["rows"]).map(|row| {
            let cells = items(&row["cells"]).map(cell).collect();
            Row::new(cells, &row["object"])
        });
        Self {
            columns: columns.collect(),
            rows: rows.collect(),
        }
    }

    fn of_objects(answer: &Value) -> Self {
        let column = |name: &str| Column {
            name: name.to_owned(),
            is_wide: false,
        };
        let one = std::slice::from_ref(answer);
        let objects = answer["items"].as_array().map_or(one, Vec::as_slice);
        // Upstream: these two columns are what a server shows of a scale.
        let is_scale = answer["kind"] == "Scale";
        let rows = objects.iter().map(|object| {
            let about = &object["metadata"];
            let mut cells = vec![&about["name"], &about["creationTimestamp"]];
            if is_scale {
                let sizes = [&object["spec"]["replicas"], &object["status"]["replicas"]];
                cells.splice(1..1, sizes);
            }
            Row::new(cells.into_iter().map(cell).collect(), object)
        });
        let mut columns = vec![column("NAME"), column("CREATED AT")];
        if is_scale {
            columns.splice(1..1, [column("DESIRED"), column("AVAILABLE")]);
        }
        Self {
            columns,
            rows: rows.collect(),
        }
    }

    /// Adds the rows of another, whose columns are found by name.
    pub(super) fn append(&mut self, other: Self) {
        if self.columns.is_empty() {
            *self = other;
            return;
        }
        let places: Vec<Option<usize>> = self
            .columns
            .iter()
            .map(|known| {
                other
                    .columns
                    .iter()
                    .position(|column| column.name == known.name)
            })
            .collect();
        self.rows.extend(other.rows.into_iter().map(|row| {
            let cells = places.iter().map(|place| {
                let cell = place.and_then(|place| row.cells.get(place));
                cell.cloned().unwrap_or_else(none)
            });
            Row {
                cells: cells.collect(),
                ..row
            }
        }));
    }
}

impl Row {
    fn new(cells: Vec<String>, object: &Value) -> Self {
        let metadata = &object["metadata"];
        let text = |value: &Value| clean(value.as_str().unwrap_or_default());
        let labels = metadata["labels"].as_object().into_iter().flatten();
        Self {
            cells,
            namespace: text(&metadata["namespace"]),
            is_managed: metadata["labels"][MANAGED] == TRUE,
            labels: labels
                .map(|(key, value)| (clean(key), text(value)))
                .collect(),
            revision: text(&metadata["resourceVersion"]),
            object: object.clone(),
        }
    }

    /// The labels as one cell.
    fn all_labels(&self) -> String {
        let mut all: Vec<String> = self
            .labels
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        all.sort_unstable();
        match all.is_empty() {
            true => none(),
            false => all.join(","),
        }
    }

    fn label(&self, wanted: &str) -> String {
        let found = self.labels.iter().find(|(key, _)| key == wanted);
        found.map_or_else(String::new, |(_, value)| value.clone())
    }
}

/// One table of all: whose row it is stands behind the first column, whether it was put there from here at the end.
pub(super) fn merge(
    parts: Vec<(String, ServerTable)>,
    look: &Look,
    order: Option<&Order>,
) -> Table {
    let mut whole = ServerTable::default();
    let mut clusters = Vec::new();
    for (cluster, part) in parts {
        clusters.extend(std::iter::repeat_n(cluster, part.rows.len()));
        whole.append(part);
    }
    let shown: Vec<bool> = whole
        .columns
        .iter()
        .map(|column| look.is_wide || !column.is_wide)
        .collect();
    let adoption = look.is_wide || !look.rarely_adopted;
    let lay_out =
        |namespace: &str, cells: Vec<String>, cluster: &str, adopted: &str, labels: Vec<String>| {
            let mut line = Vec::with_capacity(cells.len() + 3);
            if look.namespaces {
                line.push(namespace.to_owned());
            }
            let mut cells = cells
                .into_iter()
                .zip(&shown)
                .filter_map(|(cell, shown)| shown.then_some(cell));
            line.extend(cells.next());
            line.push(cluster.to_owned());
            line.extend(cells);
            if adoption {
                line.push(adopted.to_owned());
            }
            line.extend(labels);
            line
        };
    let header = if look.is_bare {
        Vec::new()
    } else {
        let names = whole.columns.iter().map(|column| column.name.clone());
        let mut labels: Vec<String> = look
            .label_columns
            .iter()
            .map(|label| label.rsplit('/').next().unwrap_or(label).to_uppercase())
            .collect();
        labels.extend(look.labels.then(|| "LABELS".to_owned()));
        lay_out("NAMESPACE", names.collect(), "CLUSTER", "ADOPTION", labels)
    };
    let mut rows: Vec<(Row, String)> = whole.rows.into_iter().zip(clusters).collect();
    if let Some(order) = order {
        rows.sort_by_cached_key(|(row, _)| order.key(&row.object));
    }
    let rows = rows.into_iter().map(|(row, cluster)| {
        let mut labels: Vec<String> = look
            .label_columns
            .iter()
            .map(|label| row.label(label))
            .collect();
        labels.extend(look.labels.then(|| row.all_labels()));
        let mut cells = row.cells;
        if let (Some(kind), Some(name)) = (&look.kind, cells.first_mut()) {
            *name = format!("{kind}/{name}");
        }
        let adopted = match row.is_managed {
            _ if cluster == CONTROL_PLANE => "-",
            true => "Y",
            false => "N",
        };
        lay_out(&row.namespace, cells, &cluster, adopted, labels)
    });
    Table {
        rows: rows.collect(),
        header,
    }
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => none(),
        Value::String(text) => match text.split_once('\n') {
            // The first line is what fits into a row.
            Some((line, _)) => format!("{}...", clean(line)),
            None => clean(text),
        },
        other => other.to_string(),
    }
}

fn none() -> String {
    "<none>".to_owned()
}

/// What members say may not steer the terminal.
pub(crate) fn clean(text: &str) -> String {
    let is_harmful = |letter: char| letter.is_control();
    if !text.contains(is_harmful) {
        return text.to_owned();
    }
    let escape = |letter: char| match is_harmful(letter) {
        true => letter.escape_default().to_string(),
        false => letter.to_string(),
    };
    text.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn table(columns: &[&str], rows: Value) -> ServerTable {
        let columns: Vec<Value> = columns
            .iter()
            .map(|name| {
                let name = name.split('+').collect::<Vec<_>>();
                json!({"name": name[0], "priority": name.len() - 1})
            })
            .collect();
        let rows: Vec<Value> = rows.as_array().unwrap().iter().map(|row| json!({
            "cells": row["cells"],
            "object": {"metadata": {"namespace": "shop", "labels": {"karmada.io/managed": row["managed"]}}},
        })).collect();
        ServerTable::read(&json!({"kind": "Table", "columnDefinitions": columns, "rows": rows}))
    }

    fn parts() -> Vec<(String, ServerTable)> {
        let own = table(
            &["Name", "Ready", "Images+wide"],
            json!([{"cells": ["web", "4/4", "nginx"]}]),
        );
        let first = table(
            &["Name", "Ready", "Images+wide"],
            json!([{"cells": ["web", "2/2", "nginx"], "managed": "true"}, {"cells": ["own", 1, null]}]),
        );
        // An older server has other columns, in another order.
        let second = table(
            &["Name", "Age", "Ready"],
            json!([{"cells": ["web", "3h", "2\n2"], "managed": "true"}]),
        );
        let places = [(CONTROL_PLANE, own), ("east", first), ("west", second)];
        let named = places.map(|(place, table)| (place.to_owned(), table));
        named.to_vec()
    }

    #[test]
    fn places_share_one_table() {
        for (look, expected) in [
            (
                Look::default(),
                "
NAME   CLUSTER   READY   ADOPTION
web    Karmada   4/4     -
web    east      2/2     Y
own    east      1       N
web    west      2...    Y
",
            ),
            (
                Look {
                    is_wide: true,
                    namespaces: true,
                    rarely_adopted: true,
                    ..Look::default()
                },
                "
NAMESPACE   NAME   CLUSTER   READY   IMAGES   ADOPTION
shop        web    Karmada   4/4     nginx    -
shop        web    east      2/2     nginx    Y
shop        own    east      1       <none>   N
shop        web    west      2...    <none>   Y
",
            ),
            (
                Look {
                    is_bare: true,
                    rarely_adopted: true,
                    kind: Some("deployment.apps".to_owned()),
                    ..Look::default()
                },
                "
deployment.apps/web   Karmada   4/4
deployment.apps/web   east      2/2
deployment.apps/own   east      1
deployment.apps/web   west      2...
",
            ),
        ] {
            let merged = merge(parts(), &look, None).to_string();
            assert_eq!(format!("\n{merged}"), expected, "{look:?}");
        }
    }

    #[test]
    fn an_answer_that_is_no_table_shows_names_and_times() {
        let time = "2026-01-01T00:00:00Z";
        let object = |name: &str| json!({"metadata": {"name": name, "creationTimestamp": time}});
        for (answer, expected) in [
            (object("a"), "a,2026-01-01T00:00:00Z"),
            (
                json!({"items": [object("a"), object("b\u{1b}[2J")]}),
                "a,2026-01-01T00:00:00Z b\\u{1b}[2J,2026-01-01T00:00:00Z",
            ),
            (json!({"items": []}), ""),
        ] {
            let rows = ServerTable::read(&answer).rows;
            let shown: Vec<String> = rows.iter().map(|row| row.cells.join(",")).collect();
            assert_eq!(shown.join(" "), expected);
        }
    }
}
