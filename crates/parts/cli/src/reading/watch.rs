//! Changes as they happen, in all places at once, in one table.
//!
//! Every place is followed on its own: a watch that the server ends goes on where it was, one that breaks is begun again
//! after a while, and one that is refused ends for good. Nothing ends the whole but the reader, or that nobody is left.

use std::time::Duration;

use client::Client;
use futures_util::stream::{self, BoxStream, StreamExt as _};
use object::Value;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;

use super::fetch::{Section, gather_kind};
use super::format::write_document;
use super::kinds;
use super::place::Place;
use super::tables::{self, Column, ServerTable};
use super::words::{self, Wanted};
use super::{Output, Query, Scope, blame, choose_places, lists, look, namespace_of};
use crate::failure::Failure;
use crate::lines::Lines;

/// Where what is said goes, as soon as it is said.
pub type Sink<'a> = &'a mut (dyn FnMut(&str) -> Result<(), Failure> + Send);

/// Rows that come this close together are laid out together.
const QUIET: Duration = Duration::from_millis(60);
/// A batch is not held longer, however much there is to come.
const BATCH: usize = 500;
/// Between two attempts to reach a place, the first time and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

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
    if wanted.names.len() > 1 || query.output == Output::Name && events {
        return Err(Failure::refused(
            "a watch shows one object or all of them",
            "name one object, or none",
        ));
    }
    if matches!(
        query.output,
        Output::JsonPath(_) | Output::JsonPathAsJson(_) | Output::Columns(_)
    ) {
        return Err(Failure::refused(
            "a watch cannot be shown this way",
            "choose -o table, wide, json, yaml or name",
        ));
    }
    let mut notes = Vec::new();
    let places = choose_places(control, query, &mut notes).await?;
    for text in notes {
        note(&format!("{text}\n"))?;
    }
    let namespace = namespace_of(control, query);
    let (mut followers, mut failures) = (Vec::new(), Vec::new());
    let mut section = Section::default();
    for place in &places {
        let begun = begin(place, wanted, query, &namespace, only).await;
        match begun {
            Ok((follower, resource)) => {
                gather_kind(&mut section, resource);
                followers.push(follower.changes());
            }
            Err(failure) => failures.push((place.name.clone(), failure)),
        }
    }
    let one = places.len() == 1 && query.scope == Scope::Karmada;
    if let Some(failure) = blame(failures, one) {
        if followers.is_empty() {
            return Err(failure);
        }
        note(&format!("error: {failure}\n"))?;
    }
    let mut shown = Shown {
        look: look(query, &section, false),
        events,
        ..Shown::default()
    };
    let mut all = stream::select_all(followers);
    let mut refused = Vec::new();
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
                Heard::Trouble(place, failure) => {
                    note(&format!("cluster({place}): {failure}; trying again\n"))?;
                }
                Heard::Refused(place, failure) => refused.push((place, failure)),
            }
        }
        if !rows.is_empty() {
            print(&match query.output {
                Output::Table | Output::Wide => shown.table(rows),
                _ => documents(rows, query, &section, events)?,
            })?;
        }
    }
    blame(refused, one).map_or(Ok(()), Err)
}

/// What a place says.
enum Heard {
    /// Something changed.
    Rows(Changed),
    /// It cannot be reached for the moment.
    Trouble(String, Failure),
    /// It will not say anything more.
    Refused(String, Failure),
}

struct Changed {
    place: Place,
    event: String,
    table: ServerTable,
}

/// What has been printed so far, as far as it matters for what comes.
#[derive(Default)]
struct Shown {
    look: tables::Look,
    events: bool,
    widths: Vec<usize>,
}

impl Shown {
    fn table(&mut self, rows: Vec<Changed>) -> String {
        let mut words = Vec::new();
        let mut parts = Vec::new();
        for changed in rows {
            words.extend(std::iter::repeat_n(changed.event, changed.table.rows.len()));
            parts.push((changed.place.name, changed.table));
        }
        let mut table = tables::merge(parts, &self.look, None);
        // The headline stands above the first rows only.
        self.look.is_bare = true;
        if self.events {
            if !table.header.is_empty() {
                table.header.insert(0, "EVENT".to_owned());
            }
            for (row, word) in table.rows.iter_mut().zip(words) {
                row.insert(0, word);
            }
        }
        table.write(&mut self.widths)
    }
}

fn documents(
    rows: Vec<Changed>,
    query: &Query,
    section: &Section,
    events: bool,
) -> Result<String, Failure> {
    let mut text = String::new();
    for changed in rows {
        for row in changed.table.rows {
            if query.output == Output::Name {
                let name = row.object["metadata"]["name"].as_str().unwrap_or_default();
                text.push_str(&format!("{}/{name}\n", section.kind_word()));
                continue;
            }
            let member = changed
                .place
                .is_member()
                .then_some(changed.place.name.as_str());
            let marked = lists::mark_value(row.object, member, query.show_managed_fields);
            let document = match events {
                true => json!({"type": changed.event, "object": marked}),
                false => marked,
            };
            let yaml = query.output == Output::Yaml;
            if yaml {
                text.push_str("---\n");
            }
            text.push_str(&write_document(&document, yaml)?);
        }
    }
    Ok(text)
}

/// A watch of one place, and where it stands.
struct Follower {
    place: Place,
    path: String,
    tables: bool,
    revision: String,
    columns: Vec<Column>,
    lines: Option<Lines>,
    pause: Duration,
    is_over: bool,
}

async fn begin(
    place: &Place,
    wanted: &Wanted,
    query: &Query,
    namespace: &str,
    only: bool,
) -> Result<(Follower, object::ResourceType), Failure> {
    let client = place.client();
    let discovery = client.discover().await;
    let discovery = discovery.map_err(|error| super::fetch::unreachable(place, &error))?;
    let resource = kinds::resolve(&discovery, &wanted.word)?.resource.clone();
    let encode = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let mut fields: Vec<String> = Vec::new();
    fields.extend((!query.field_selector.is_empty()).then(|| query.field_selector.clone()));
    fields.extend(
        wanted
            .names
            .first()
            .map(|name| format!("metadata.name={name}")),
    );
    let mut path = format!(
        "{}?watch=true&allowWatchBookmarks=true",
        resource.path(namespace)
    );
    for (name, value) in [
        ("labelSelector", query.selector.clone()),
        ("fieldSelector", fields.join(",")),
    ] {
        if !value.is_empty() {
            path.push_str(&format!("&{name}={}", encode(&value)));
        }
    }
    let mut revision = String::new();
    if only {
        let options = client::ListOptions {
            limit: 1,
            ..client::ListOptions::default()
        };
        let listed = client.list(&resource, namespace, &options).await;
        revision = listed
            .map_err(|error| crate::reach::call_failure(&error))?
            .resource_version;
    }
    let follower = Follower {
        place: place.clone(),
        path,
        tables: query.output.is_table(),
        revision,
        columns: Vec::new(),
        lines: None,
        pause: Duration::ZERO,
        is_over: false,
    };
    Ok((follower, resource))
}

impl Follower {
    fn changes(self) -> BoxStream<'static, Heard> {
        stream::unfold(self, |mut follower| async move {
            let heard = follower.next().await?;
            Some((heard, follower))
        })
        .boxed()
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
            match lines.next().await {
                Some(Ok(line)) => {
                    self.pause = Duration::ZERO;
                    if let Some(heard) = self.read(&line) {
                        return Some(heard);
                    }
                }
                // The server ends watches now and then; the next one goes on where this one was.
                Some(Err(_)) | None => {
                    self.lines = None;
                    self.pause = self.pause.max(FIRST_PAUSE);
                }
            }
        }
    }

    async fn open(&mut self) -> Option<Heard> {
        if !self.pause.is_zero() {
            tokio::time::sleep(self.pause).await;
        }
        let mut path = self.path.clone();
        if !self.revision.is_empty() {
            path.push_str(&format!("&resourceVersion={}", self.revision));
        }
        match self.place.open_as(&path, self.tables).await {
            Ok(body) => {
                self.lines = Some(Lines::new(body));
                None
            }
            Err(failure @ Failure::Failed { .. }) => {
                let is_first = self.pause <= FIRST_PAUSE;
                self.pause = (self.pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
                is_first.then(|| Heard::Trouble(self.place.name.clone(), failure))
            }
            Err(failure) => {
                self.is_over = true;
                Some(Heard::Refused(self.place.name.clone(), failure))
            }
        }
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
