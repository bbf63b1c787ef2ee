//! Changes as they happen, in all places at once, in one table.
//!
//! Every place is followed on its own: a watch that the server ends goes on where it was, one that breaks or cannot begin
//! is tried again after a while, and one that is refused ends for good. Nothing ends the whole but the reader, or that nobody is left.

use std::time::Duration;

use client::Client;
use futures_util::stream::{self, BoxStream, StreamExt as _};
use object::{ResourceType, Value};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;

use super::fetch::{Section, gather_kind};
use super::format::write_document;
use super::kinds;
use super::place::Place;
use super::tables::{self, Column, ServerTable};
use super::words::{self, Wanted};
use super::{
    Output, Query, Scope, blame, choose_places, kyaml, lists, look, namespace_of,
    refuse_contradictions, sorting, with_unreached,
};
use crate::failure::Failure;
use crate::lines::Lines;

/// Where what is said goes, as soon as it is said.
pub type Sink<'a> = &'a mut (dyn FnMut(&str) -> Result<(), Failure> + Send);

/// Rows that come this close together are laid out together.
const QUIET: Duration = Duration::from_millis(60);
/// A batch is not held longer, however much there is to come.
const BATCH: usize = 500;
/// Servers say every minute how far they have come. One that says nothing for longer may be cut off, which nobody tells who
/// only listens: the watch is opened anew where it was, and that tells.
const SILENCE: Duration = Duration::from_secs(75);
/// Between two attempts to reach a place, the first time and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(4);

/// Shows objects as they change, until nobody is left to follow. `only`: changes alone, not what is there already.
/// `events`: say of each row what happened.
pub async fn watch(
    control: &Client,
    query: &Query,
    (only, events): (bool, bool),
    print: Sink<'_>,
    note: Sink<'_>,
) -> Result<(), Failure> {
    let wanted = words::read(&query.words)?;
    let [wanted] = wanted.as_slice() else {
        return Err(Failure::refused(
            "watch is only supported on individual resources and resource collections - more than 1 resource was found",
            "name one type",
        ));
    };
    refuse_contradictions(query, !wanted.names.is_empty())?;
    sorting::read(&query.sort_by)?;
    if !query.subresource.is_empty() {
        return Err(Failure::refused(
            "a part of an object cannot be watched",
            "leave --subresource or --watch out",
        ));
    }
    if wanted.names.len() > 1 || query.output == Output::Name && events {
        return Err(Failure::refused(
            "a watch shows one object or all of them",
            "name one object, or none",
        ));
    }
    if matches!(
        query.output,
        Output::JsonPath(_)
            | Output::JsonPathAsJson(_)
            | Output::Columns(_)
            | Output::GoTemplate(_)
    ) {
        return Err(Failure::refused(
            "a watch cannot be shown this way",
            "choose -o table, wide, json, yaml or name",
        ));
    }
    let mut notes = Vec::new();
    let (places, unreached) = choose_places(control, query, &mut notes).await?;
    for text in notes {
        note(&format!("{text}\n"))?;
    }
    if let Some(failure) = &unreached {
        note(&format!("{failure}\n"))?;
    }
    let one = places.len() == 1 && query.scope == Scope::Karmada;
    let mut shown = Shown::new(query, events, places.len() > 1);
    let namespace = namespace_of(control, query);
    let mut lost = Lost::new(places.len());
    let followers = places
        .into_iter()
        .map(|place| Follower::new(place, wanted, query, &namespace, only).changes());
    let mut all = stream::select_all(followers);
    while let Some(first) = all.next().await {
        let mut batch = vec![first];
        while batch.len() < BATCH {
            match tokio::time::timeout(QUIET, all.next()).await {
                Ok(Some(next)) => batch.push(next),
                _ => break,
            }
        }
        let mut rows = Vec::new();
        for heard in batch {
            match heard {
                Heard::Rows(row) => rows.push(row),
                Heard::Begun(resource) => {
                    lost.has_begun = true;
                    shown.begin(query, resource);
                }
                Heard::Again(place) => note(&format!("cluster({place}): answers again\n"))?,
                Heard::Trouble(place, failure) => {
                    if let Some(failure) = lost.trouble(&place, &failure, one) {
                        return Err(failure);
                    }
                    note(&format!("{}; trying again\n", failure.in_cluster(&place)))?;
                }
                Heard::Refused(place, failure) => lost.refused.push((place, failure)),
            }
        }
        if !rows.is_empty() {
            print(&shown.write(rows, query)?)?;
        }
    }
    with_unreached(blame(lost.refused, one), unreached).map_or(Ok(()), Err)
}

/// Who cannot be followed.
struct Lost {
    places: usize,
    has_begun: bool,
    troubled: Vec<(String, Failure)>,
    refused: Vec<(String, Failure)>,
}

impl Lost {
    fn new(places: usize) -> Self {
        Self {
            places,
            has_begun: false,
            troubled: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// Takes note of a place that does not answer; the end of it all if nobody ever did.
    fn trouble(&mut self, place: &str, failure: &Failure, one: bool) -> Option<Failure> {
        let again = Failure::failed(failure.to_string(), failure.hint());
        self.troubled.push((place.to_owned(), again));
        if self.has_begun || self.troubled.len() + self.refused.len() < self.places {
            return None;
        }
        let mut all = std::mem::take(&mut self.refused);
        all.append(&mut self.troubled);
        blame(all, one)
    }
}

/// What a place says.
enum Heard {
    /// It is followed from now on; this is the kind, as it calls it.
    Begun(ResourceType),
    /// Something changed.
    Rows(Changed),
    /// It cannot be reached for the moment.
    Trouble(String, Failure),
    /// It can be reached again.
    Again(String),
    /// It will not say anything more.
    Refused(String, Failure),
}

struct Changed {
    place: Place,
    event: String,
    table: ServerTable,
}

/// What has been printed so far, as far as it matters for what comes.
struct Shown {
    section: Section,
    look: tables::Look,
    events: bool,
    several: bool,
    widths: Vec<usize>,
}

impl Shown {
    fn new(query: &Query, events: bool, several: bool) -> Self {
        let section = Section::default();
        Self {
            look: look(query, &section, false),
            section,
            events,
            several,
            widths: Vec::new(),
        }
    }

    /// Learns which kind it is about.
    fn begin(&mut self, query: &Query, resource: ResourceType) {
        gather_kind(&mut self.section, resource);
        self.look = tables::Look {
            is_bare: self.look.is_bare,
            ..look(query, &self.section, false)
        };
    }

    fn write(&mut self, rows: Vec<Changed>, query: &Query) -> Result<String, Failure> {
        match query.output {
            Output::Table | Output::Wide => Ok(self.table(rows)),
            _ => self.documents(rows, query),
        }
    }

    fn table(&mut self, rows: Vec<Changed>) -> String {
        let mut words = Vec::new();
        let mut parts = Vec::new();
        for changed in rows {
            words.extend(std::iter::repeat_n(changed.event, changed.table.rows.len()));
            parts.push((changed.place.name, changed.table));
        }
        let mut table = tables::merge(parts, &self.look, None);
        if self.events {
            if !table.header.is_empty() {
                table.header.insert(0, "EVENT".to_owned());
            }
            for (row, word) in table.rows.iter_mut().zip(words) {
                row.insert(0, word);
            }
        }
        if !self.look.is_bare {
            // What comes later should stand below what is there, so columns are as wide as what is likely to come.
            self.widths = table.header.iter().map(|name| likely_width(name)).collect();
            // The headline stands above the first rows only.
            self.look.is_bare = true;
        }
        table.write(&mut self.widths)
    }

    fn documents(&self, rows: Vec<Changed>, query: &Query) -> Result<String, Failure> {
        let mut text = String::new();
        for changed in rows {
            for row in changed.table.rows {
                if query.output == Output::Name {
                    let name = row.object["metadata"]["name"].as_str().unwrap_or_default();
                    text.push_str(&format!("{}/{name}\n", self.section.kind_word()));
                    continue;
                }
                let member = changed.place.mark(self.several);
                let marked = lists::mark_value(row.object, member, query.show_managed_fields);
                let document = match self.events {
                    true => json!({"type": changed.event, "object": marked}),
                    false => marked,
                };
                if query.output == Output::Kyaml {
                    text.push_str(&kyaml::write(&document));
                    continue;
                }
                let yaml = query.output == Output::Yaml;
                if yaml {
                    text.push_str("---\n");
                }
                text.push_str(&write_document(&document, yaml)?);
            }
        }
        Ok(text)
    }
}

/// How wide the cells of a column are likely to become.
fn likely_width(column: &str) -> usize {
    let longest = match column {
        "EVENT" => "MODIFIED",
        "STATUS" => "ContainerCreating",
        "AGE" => "10m10s",
        other => other,
    };
    longest.len()
}

/// A watch of one place, and where it stands.
struct Follower {
    place: Place,
    word: String,
    namespace: String,
    selector: String,
    fields: String,
    /// Not what is there already.
    only: bool,
    tables: bool,
    /// Where changes are told; unknown until the place has said what it serves.
    path: Option<String>,
    revision: String,
    columns: Vec<Column>,
    lines: Option<Lines>,
    pause: Duration,
    is_lost: bool,
    is_over: bool,
}

impl Follower {
    fn new(place: Place, wanted: &Wanted, query: &Query, namespace: &str, only: bool) -> Self {
        let mut fields: Vec<String> = Vec::new();
        fields.extend((!query.field_selector.is_empty()).then(|| query.field_selector.clone()));
        let name = wanted.names.first();
        fields.extend(name.map(|name| format!("metadata.name={name}")));
        Self {
            place,
            word: wanted.word.clone(),
            namespace: namespace.to_owned(),
            selector: query.selector.clone(),
            fields: fields.join(","),
            only,
            tables: query.output.is_table(),
            path: None,
            revision: String::new(),
            columns: Vec::new(),
            lines: None,
            pause: Duration::ZERO,
            is_lost: false,
            is_over: false,
        }
    }

    fn changes(self) -> BoxStream<'static, Heard> {
        stream::unfold(self, |mut follower| async move {
            let heard = follower.next().await?;
            Some((heard, follower))
        })
        .boxed()
    }

    /// Learns where changes are told.
    async fn begin(&mut self) -> Result<ResourceType, Failure> {
        let client = self.place.client();
        let discovery = client.discover().await;
        let discovery = discovery.map_err(|error| self.place.failure(&error))?;
        let resource = kinds::resolve(&discovery, &self.word)?.resource.clone();
        let mut path = format!(
            "{}?watch=true&allowWatchBookmarks=true",
            resource.path(&self.namespace)
        );
        for (name, value) in [
            ("labelSelector", &self.selector),
            ("fieldSelector", &self.fields),
        ] {
            if !value.is_empty() {
                let value = utf8_percent_encode(value, NON_ALPHANUMERIC);
                path.push_str(&format!("&{name}={value}"));
            }
        }
        if self.only {
            let options = client::ListOptions {
                limit: 1,
                ..client::ListOptions::default()
            };
            let listed = client.list(&resource, &self.namespace, &options).await;
            let listed = listed.map_err(|error| self.place.failure(&error))?;
            self.revision = listed.resource_version;
        }
        self.path = Some(path);
        Ok(resource)
    }

    async fn next(&mut self) -> Option<Heard> {
        loop {
            if self.is_over {
                return None;
            }
            let Some(lines) = &mut self.lines else {
                if let Some(heard) = self.open().await {
                    return Some(heard);
                }
                continue;
            };
            match tokio::time::timeout(SILENCE, lines.next()).await {
                Ok(Some(Ok(line))) => {
                    self.pause = Duration::ZERO;
                    if let Some(heard) = self.read(&line) {
                        return Some(heard);
                    }
                }
                // The server ends watches now and then; the next one goes on where this one was.
                Ok(Some(Err(_)) | None) | Err(_) => {
                    self.lines = None;
                    self.pause = self.pause.max(FIRST_PAUSE);
                }
            }
        }
    }

    /// Opens the watch; what there is to say about that.
    async fn open(&mut self) -> Option<Heard> {
        if !self.pause.is_zero() {
            tokio::time::sleep(self.pause).await;
        }
        let Some(path) = &self.path else {
            return match self.begin().await {
                Ok(resource) => Some(Heard::Begun(resource)),
                Err(failure) => self.fail(failure),
            };
        };
        let mut path = path.clone();
        if !self.revision.is_empty() {
            path.push_str(&format!("&resourceVersion={}", self.revision));
        }
        match self.place.open_as(&path, self.tables).await {
            Ok(body) => {
                self.lines = Some(Lines::new(body));
                let was_lost = std::mem::take(&mut self.is_lost);
                was_lost.then(|| Heard::Again(self.place.name.clone()))
            }
            // What came after the last change may be forgotten by now: everything there is comes again.
            Err(failure) if failure.exit_code() == 1 && !self.revision.is_empty() => {
                self.revision.clear();
                self.pause = FIRST_PAUSE;
                None
            }
            Err(failure) => self.fail(failure),
        }
    }

    /// What is said about a failure: once, however often it is tried again.
    fn fail(&mut self, failure: Failure) -> Option<Heard> {
        let name = self.place.name.clone();
        if failure.exit_code() == 1 {
            self.is_over = true;
            return Some(Heard::Refused(name, failure));
        }
        self.pause = (self.pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
        // Whoever tries again soon need not wait long each time.
        self.place = self.place.clone().with_little_patience();
        let was_lost = std::mem::replace(&mut self.is_lost, true);
        (!was_lost).then(|| Heard::Trouble(name, failure))
    }

    /// One line of a watch; nothing if it says nothing to people.
    fn read(&mut self, line: &[u8]) -> Option<Heard> {
        let change: Value = serde_json::from_slice(line).ok()?;
        let event = change["type"].as_str().unwrap_or_default().to_owned();
        let object = &change["object"];
        match event.as_str() {
            "BOOKMARK" => {
                let revision = object["metadata"]["resourceVersion"].as_str();
                self.revision = revision.unwrap_or_default().to_owned();
                None
            }
            // What was missed is gone: everything there is comes again.
            "ERROR" => {
                self.revision.clear();
                self.lines = None;
                self.pause = FIRST_PAUSE;
                None
            }
            _ => {
                let mut table = ServerTable::read(object);
                // Servers name the columns once.
                if table.columns.is_empty() {
                    table.columns.clone_from(&self.columns);
                } else {
                    self.columns.clone_from(&table.columns);
                }
                if let Some(row) = table.rows.last() {
                    self.revision.clone_from(&row.revision);
                }
                (!table.rows.is_empty()).then(|| {
                    Heard::Rows(Changed {
                        place: self.place.clone(),
                        event,
                        table,
                    })
                })
            }
        }
    }
}
