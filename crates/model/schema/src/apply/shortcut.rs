//! The usual update: a few fields change, one or two managers gain or lose some, all other entries stay.
//!
//! Entries are read where they stand and only those of managers that gain or lose fields are taken apart. Whatever
//! is not as the server writes it, or belongs to another version, is left to [`Write::update`] in full, which decides
//! the same: this is a shorter way, not another rule.

use object::{Map, Value, time::Time};

use super::{
    check::fits_without_metadata_field,
    compare::Comparison,
    fieldset::FieldSet,
    managers::{MAX_UPDATE_MANAGERS, Manager, Operation, Owned, entry},
    path::is_identical,
    settled::{covers, is_plain, is_settled, overlap, subtract},
    typed::Ty,
    write::{NEVER_OWNED, Write},
};

const MANAGED_FIELDS: &str = "managedFields";
/// More entries than this are not usual; each is held against all others here.
const MAX_ENTRIES: usize = 64;

/// The entries after a write, made from those before.
pub(super) struct Outcome {
    /// Whether the entries before are those of the new object; else they are the stored one's.
    pub(super) from_new: bool,
    /// What all but the writer lose.
    touched: Map,
    lines: Vec<Line>,
}

/// One entry of the list to be.
enum Line {
    /// An entry as it was.
    Kept { place: usize },
    /// An entry that loses fields, maybe all.
    Reduced { place: usize },
    /// The writer's entry, with the time of the write and other fields if they differ.
    Written {
        place: usize,
        fields: Option<Value>,
        time: Time,
    },
    /// An entry that was not there.
    Added(Value),
}

/// An entry where it stands.
struct Entry<'v> {
    name: &'v str,
    operation: Operation,
    time: Option<Time>,
    subresource: &'v str,
    fields: &'v Map,
}

/// What a write changed, as sets and as they would be written.
struct Changes {
    /// What is there now and was not so before.
    set: FieldSet,
    removed: FieldSet,
    /// Everything anyone may lose.
    touched: Map,
    /// What the writer owns from now on, and the same written.
    gained: FieldSet,
    gained_text: Map,
}

/// What an update does to the entries; `None` if that takes the long way.
pub(super) fn record(write: &Write<'_>, live: &Value, new: &Value) -> Option<Outcome> {
    let (Value::Object(old), Value::Object(new)) = (live, new) else {
        return None;
    };
    let ty = Ty::of(write.schema);
    let (from_new, entries) = entries_to_start_from(write, old, new)?;
    if entries.is_empty() || entries.len() > MAX_ENTRIES {
        return None;
    }
    let entries: Vec<Entry<'_>> = entries
        .iter()
        .map(|entry| Entry::read(entry, ty, write.api_version))
        .collect::<Option<_>>()?;
    let is_repeated = |(place, entry): (usize, &Entry<'_>)| {
        let before = entries.iter().take(place);
        before.into_iter().any(|other| other.is_of_same(entry))
    };
    if entries.iter().enumerate().any(is_repeated) {
        return None;
    }
    let fits = |object: &Map| fits_without_metadata_field(ty, object, MANAGED_FIELDS);
    if !fits(old) || !fits(new) {
        return None;
    }
    let changes = Changes::of(write, ty, old, new)?;
    let lines = lines(write, &entries, &changes)?;
    Some(Outcome {
        from_new,
        touched: changes.touched,
        lines,
    })
}

impl Outcome {
    /// Whether the objects differ in more than who owns what.
    pub(super) fn differs(&self) -> bool {
        !self.touched.is_empty()
    }

    /// The list, copied from the entries before.
    pub(super) fn copy(self, before: &Value) -> Option<Value> {
        self.build(|place| entries_of(before.as_object()?)?.get(place).cloned())
    }

    /// The list, made of the entries before, which are used up.
    pub(super) fn reuse(self, before: &mut Value) -> Option<Value> {
        let entries = before.get_mut("metadata")?.get_mut(MANAGED_FIELDS)?;
        self.build(|place| Some(std::mem::take(entries.get_mut(place)?)))
    }

    fn build(self, mut entry_at: impl FnMut(usize) -> Option<Value>) -> Option<Value> {
        let touched = self.touched;
        let entries = self.lines.into_iter().filter_map(|line| match line {
            Line::Kept { place } => entry_at(place),
            Line::Reduced { place } => {
                let mut entry = entry_at(place)?;
                let fields = entry.get_mut("fieldsV1")?.as_object_mut()?;
                subtract(fields, &touched);
                (!fields.is_empty()).then_some(entry)
            }
            Line::Written {
                place,
                fields,
                time,
            } => {
                let mut entry = entry_at(place)?;
                let members = entry.as_object_mut()?;
                members.insert("time".to_owned(), Value::from(time.to_string()));
                if let Some(fields) = fields {
                    members.insert("fieldsV1".to_owned(), fields);
                }
                Some(entry)
            }
            Line::Added(entry) => Some(entry),
        });
        let entries: Vec<Value> = entries.collect();
        (!entries.is_empty()).then_some(Value::Array(entries))
    }
}

/// The entries a write starts from, and whether they are the new object's.
fn entries_to_start_from<'v>(
    write: &Write<'_>,
    old: &'v Map,
    new: &'v Map,
) -> Option<(bool, &'v [Value])> {
    let (given, stored) = (entries_of(new), entries_of(old));
    if !write.subresource.is_empty() {
        let stored = stored?;
        // Equal lists are one: the new object's may be used up.
        let is_given = given.is_some_and(|given| {
            given.len() == stored.len() && given.iter().zip(stored).all(|(a, b)| is_identical(a, b))
        });
        return Some((is_given, stored));
    }
    match given {
        // Empty is as good as none. One entry that says nothing starts over, and is one that no reader accepts.
        Some([]) => None,
        Some(given) => Some((true, given)),
        None => Some((false, stored?)),
    }
}

fn entries_of(object: &Map) -> Option<&[Value]> {
    let entries = object.get("metadata")?.get(MANAGED_FIELDS)?;
    entries.as_array().map(Vec::as_slice)
}

impl<'v> Entry<'v> {
    /// Reads an entry that is exactly as it would be written; `None` for any other.
    fn read(entry: &'v Value, ty: Ty<'_>, api_version: &str) -> Option<Self> {
        let mut members = entry.as_object()?.iter().peekable();
        // What is no text stays in the way of all that follows.
        let mut text = |name: &str| {
            let (_, text) = members.next_if(|(known, text)| *known == name && text.is_string())?;
            text.as_str()
        };
        let name = text("manager").filter(|name| !name.is_empty())?;
        let operation = match text("operation")? {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return None,
        };
        if text("apiVersion")? != api_version {
            return None;
        }
        let time = match text("time") {
            Some(text) => Some(read_time(text)?),
            None => None,
        };
        if text("fieldsType")? != "FieldsV1" {
            return None;
        }
        let fields = members.next_if(|(name, _)| *name == "fieldsV1")?.1;
        let fields = fields.as_object().filter(|fields| !fields.is_empty())?;
        let subresource = match members.next() {
            None => "",
            Some((name, Value::String(text))) if name == "subresource" && !text.is_empty() => text,
            Some(_) => return None,
        };
        if members.next().is_some() || !is_settled(ty, fields) {
            return None;
        }
        Some(Self {
            name,
            operation,
            time,
            subresource,
            fields,
        })
    }

    fn is_of_same(&self, other: &Self) -> bool {
        self.name == other.name
            && self.operation == other.operation
            && self.subresource == other.subresource
    }

    fn is_manager(&self, manager: &Manager) -> bool {
        self.name == manager.name
            && self.operation == manager.operation
            && self.subresource == manager.subresource
    }

    /// What is left of the fields after a write; `None` if they cannot be read.
    fn left(&self, changes: &Changes) -> Option<FieldSet> {
        let fields = FieldSet::decode_fields(self.fields).ok()?;
        Some(fields.difference(&changes.set).difference(&changes.removed))
    }
}

/// The time a text says, if it is how that time is written.
fn read_time(text: &str) -> Option<Time> {
    let time: Time = text.parse().ok()?;
    (time.to_string() == text).then_some(time)
}

impl Changes {
    fn of(write: &Write<'_>, ty: Ty<'_>, old: &Map, new: &Map) -> Option<Self> {
        let mut found = Comparison::without_metadata_field(ty, old, new, MANAGED_FIELDS)?;
        if let Some(ignored) = write.versions.ignored(write.api_version) {
            found = found.without(&ignored);
        }
        let set = found.modified.union(&found.added);
        let touched = set.union(&found.removed).encode_fields();
        let gained = set.difference(&NEVER_OWNED);
        let gained_text = gained.encode_fields();
        is_plain(&touched).then_some(Self {
            set,
            removed: found.removed,
            touched,
            gained,
            gained_text,
        })
    }

    /// Whether the writer has all it gains and keeps all it has.
    fn leave(&self, fields: &Map) -> bool {
        let lost = self
            .set
            .difference(&self.gained)
            .union(&self.removed)
            .encode_fields();
        covers(fields, &self.gained_text) && !overlap(&lost, fields)
    }
}

/// The entries after a write, in order.
fn lines(write: &Write<'_>, entries: &[Entry<'_>], changes: &Changes) -> Option<Vec<Line>> {
    let writer = Manager::new(
        write.manager,
        Operation::Update,
        write.api_version,
        write.subresource,
    );
    let writes = !changes.gained.is_empty();
    let mut lines = Vec::with_capacity(entries.len() + 1);
    let mut is_known = false;
    for (place, entry) in entries.iter().enumerate() {
        let is_writer = writes && entry.is_manager(&writer);
        is_known |= is_writer;
        let (line, time) = if is_writer {
            entry.time?; // A time would have to be put between the others.
            let fields = if changes.leave(entry.fields) {
                None
            } else {
                Some(entry.left(changes)?.union(&changes.gained).encode())
            };
            let time = write.now;
            let line = Line::Written {
                place,
                fields,
                time,
            };
            (line, Some(time))
        } else if overlap(&changes.touched, entry.fields) {
            (Line::Reduced { place }, entry.time)
        } else {
            (Line::Kept { place }, entry.time)
        };
        let order = (
            entry.operation,
            seconds(time),
            entry.name,
            entry.subresource,
        );
        lines.push((order, line));
    }
    if writes && !is_known {
        let owned = Owned {
            fields: changes.gained.clone(),
            api_version: write.api_version.to_owned(),
            time: Some(write.now),
        };
        let order = (
            Operation::Update,
            seconds(owned.time),
            writer.name.as_str(),
            writer.subresource.as_str(),
        );
        lines.push((order, Line::Added(entry(&writer, &owned))));
    }
    let updates = lines
        .iter()
        .filter(|(order, _)| order.0 == Operation::Update);
    if updates.count() > MAX_UPDATE_MANAGERS {
        return None;
    }
    lines.sort_by_key(|(order, _)| *order);
    Some(lines.into_iter().map(|(_, line)| line).collect())
}

fn seconds(time: Option<Time>) -> i64 {
    time.map_or(0, Time::unix_seconds)
}
