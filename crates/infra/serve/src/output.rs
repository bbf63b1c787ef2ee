//! Objects on their way out: whole, as rows of a table, or their metadata alone; in the version asked for.

use object::time::Time;
use object::{Map, Value};
use serde_json::json;
use store::Revision;

use crate::negotiate::Shape;
use crate::record::Record;
use crate::resource::Served;
use crate::status::Status;

/// How objects of one resource are shown to one client.
#[derive(Clone)]
pub struct Output {
    /// The resource, in the version asked for.
    pub served: Served,
    /// What the client wants to see.
    pub shape: Shape,
    /// What table rows carry beside their cells.
    pub include: Include,
    /// When tables reckon ages from.
    pub now: Time,
}

/// What table rows carry beside their cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Include {
    /// Nothing.
    None,
    /// The metadata.
    #[default]
    Metadata,
    /// The whole object.
    Object,
}

/// Whether a table says what its columns are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heading {
    /// It does.
    Columns,
    /// Whoever reads it was told before.
    None,
}

/// What a list says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListMeta {
    /// The state it was read from.
    pub revision: Revision,
    /// Where the next page begins; empty on the last.
    pub continues: String,
    /// How many objects are left, where that is known.
    pub remaining: Option<u64>,
}

impl Include {
    /// From the query parameter `includeObject`.
    pub fn parse(text: &str) -> Result<Self, Status> {
        match text {
            "None" => Ok(Self::None),
            "" | "Metadata" => Ok(Self::Metadata),
            "Object" => Ok(Self::Object),
            other => Err(Status::bad_request(format!(
                "unrecognized includeObject value: {other:?}"
            ))),
        }
    }
}

impl Output {
    /// Whether stored bytes go out as they are.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.shape == Shape::Whole && self.served.is_stored_form()
    }

    /// Whether the metadata goes out as it is stored.
    #[must_use]
    pub fn is_bare(&self) -> bool {
        self.shape == Shape::Metadata && self.served.is_stored_form()
    }

    /// Appends one object as of a revision.
    pub fn write(&self, record: &Record, revision: Revision, out: &mut Vec<u8>) {
        if self.is_plain() {
            record.write_at(revision, out);
            return;
        }
        if self.is_bare() {
            record.write_metadata_at(revision, out);
            return;
        }
        let shown = match self.shape {
            Shape::Table => self.table(
                &[self.in_version(record, revision)],
                &ListMeta::at(revision),
                Heading::Columns,
            ),
            Shape::Metadata => metadata_of(&self.in_version(record, revision)),
            Shape::Whole | Shape::Discovery(_) => self.in_version(record, revision),
        };
        append(&shown, out);
    }

    /// Appends one object as a table of one row, for a stream of them.
    pub fn write_row(
        &self,
        record: &Record,
        revision: Revision,
        heading: Heading,
        out: &mut Vec<u8>,
    ) {
        let object = self.in_version(record, revision);
        append(
            &self.table(&[object], &ListMeta::at(revision), heading),
            out,
        );
    }

    /// What is no stored object, as a table of one row.
    #[must_use]
    pub fn row_of(&self, object: Value, revision: Revision) -> Value {
        self.table(&[object], &ListMeta::at(revision), Heading::None)
    }

    /// Appends one object that is not stored, such as the answer to a rehearsal. It is in the version asked for.
    pub fn write_value(&self, value: &Value, out: &mut Vec<u8>) {
        let shown = match self.shape {
            Shape::Table => self.table(
                std::slice::from_ref(value),
                &ListMeta::default(),
                Heading::Columns,
            ),
            Shape::Metadata => metadata_of(value),
            Shape::Whole | Shape::Discovery(_) => value.clone(),
        };
        append(&shown, out);
    }

    /// A whole list.
    #[must_use]
    pub fn list<'r>(&self, records: impl Iterator<Item = &'r Record>, meta: &ListMeta) -> Vec<u8> {
        let mut out = Vec::with_capacity(4096);
        match self.shape {
            Shape::Table => {
                let objects: Vec<Value> = records
                    .map(|record| self.in_version(record, record.revision()))
                    .collect();
                append(&self.table(&objects, meta, Heading::Columns), &mut out);
                return out;
            }
            Shape::Metadata => {
                out.extend_from_slice(
                    b"{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/v1\"",
                );
            }
            Shape::Whole | Shape::Discovery(_) => {
                let head = json!({"kind": &*self.served.resource.list_kind, "apiVersion": self.served.api_version()});
                append(&head, &mut out);
                out.pop(); // The list goes on inside these braces.
            }
        }
        out.extend_from_slice(b",\"metadata\":");
        let mut meta = meta.to_value();
        let is_typed = self.served.resource.rules.is_typed();
        // Upstream: lists of custom objects say so when they do not go on.
        if self.shape == Shape::Whole
            && !is_typed
            && let Some(fields) = meta.as_object_mut()
        {
            fields.entry("continue").or_insert_with(|| Value::from(""));
        }
        append(&meta, &mut out);
        out.extend_from_slice(b",\"items\":[");
        for (position, record) in records.enumerate() {
            if position > 0 {
                out.push(b',');
            }
            match self.shape {
                Shape::Whole if is_typed => self.write_item(record, &mut out),
                _ => self.write(record, record.revision(), &mut out),
            }
        }
        out.extend_from_slice(b"]}");
        out
    }

    /// Appends an object whose list says what it is.
    fn write_item(&self, record: &Record, out: &mut Vec<u8>) {
        if self.is_plain() {
            record.write_item(out);
            return;
        }
        let mut object = self.in_version(record, record.revision());
        if let Some(fields) = object.as_object_mut() {
            fields.retain(|name, _| !matches!(name.as_str(), "apiVersion" | "kind"));
        }
        append(&object, out);
    }

    /// The object in the version asked for.
    #[must_use]
    pub fn in_version(&self, record: &Record, revision: Revision) -> Value {
        let mut value = record.value();
        if revision != record.revision()
            && let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut)
        {
            metadata.insert(
                "resourceVersion".to_owned(),
                Value::from(revision.to_string()),
            );
        }
        self.convert(value)
    }

    fn convert(&self, value: Value) -> Value {
        let asked = self.served.api_version();
        if value.get("apiVersion").and_then(Value::as_str) == Some(&*asked) {
            return value;
        }
        let converted = self.served.resource.rules.convert(&value, &asked);
        converted.unwrap_or(value)
    }

    fn table(&self, objects: &[Value], meta: &ListMeta, heading: Heading) -> Value {
        let version = self.served.version();
        let columns = match heading {
            Heading::None => Value::Null,
            Heading::Columns => version
                .columns
                .iter()
                .map(|column| {
                    json!({
                        "name": &*column.name, "type": &*column.kind, "format": &*column.format,
                        "description": &*column.description, "priority": column.priority,
                    })
                })
                .collect(),
        };
        let rows: Vec<Value> = objects
            .iter()
            .map(|object| {
                let mut row = Map::new();
                let cells = self
                    .served
                    .resource
                    .rules
                    .cells(&version.name, object, self.now);
                row.insert("cells".to_owned(), Value::Array(cells));
                match self.include {
                    Include::None => {}
                    Include::Metadata => drop(row.insert("object".to_owned(), metadata_of(object))),
                    Include::Object => drop(row.insert("object".to_owned(), object.clone())),
                }
                Value::Object(row)
            })
            .collect();
        json!({
            "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": meta.to_value(),
            "columnDefinitions": columns, "rows": rows,
        })
    }
}

impl ListMeta {
    /// Of what was read from one state and is all there.
    fn at(revision: Revision) -> Self {
        Self {
            revision,
            ..Self::default()
        }
    }

    fn to_value(&self) -> Value {
        let mut fields = Map::new();
        fields.insert(
            "resourceVersion".to_owned(),
            Value::from(self.revision.to_string()),
        );
        if !self.continues.is_empty() {
            fields.insert("continue".to_owned(), Value::from(self.continues.as_str()));
        }
        if let Some(remaining) = self.remaining.filter(|remaining| *remaining > 0) {
            fields.insert("remainingItemCount".to_owned(), Value::from(remaining));
        }
        Value::Object(fields)
    }
}

fn metadata_of(object: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
        "metadata": object.get("metadata").cloned().unwrap_or_else(|| json!({})),
    })
}

fn append(value: &Value, out: &mut Vec<u8>) {
    serde_json::to_writer(out, value).expect("invariant: a value always encodes");
}
