//! One place followed: what is there, then what changes.
//!
//! What is there is listed, and changes are told from the state that the list shows: a watch that began by itself would
//! show it in an order that says nothing about how far it has come. A watch that the server ends goes on where it was, one
//! that breaks or cannot begin is tried again after a while, and one that is refused ends for good.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::stream::{self, BoxStream, StreamExt as _};
use http::Method;
use object::{ResourceType, Value};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, json};

use super::Query;
use super::fetch::{PAGE, read};
use super::kinds;
use super::place::Place;
use super::tables::{Column, ServerTable};
use super::words::Wanted;
use crate::failure::Failure;
use crate::lines::Lines;

/// Nobody tells who only listens that a place is cut off, so one that says nothing for so long is asked whether it is there.
const SILENCE: Duration = Duration::from_secs(30);
/// Servers say every minute how far they have come. A watch on which they do not, though they answer, is opened anew.
const UNHEARD: u32 = 3;
/// Between two attempts to reach a place, the first time and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(4);

/// What a place says.
pub(super) enum Heard {
    /// It is followed from now on; this is the kind, as it calls it.
    Begun(ResourceType),
    /// Something changed.
    Rows(Changed),
    /// It cannot be reached for the moment.
    Trouble(String, Failure),
    /// It can be reached, for the first time or again.
    Answer(String),
    /// It will not say anything more.
    Refused(String, Failure),
}

pub(super) struct Changed {
    pub(super) place: Place,
    pub(super) event: String,
    pub(super) table: ServerTable,
}

/// A watch of one place, and where it stands.
pub(super) struct Follower {
    place: Place,
    word: String,
    namespace: String,
    selector: String,
    fields: String,
    /// Not what is there already.
    only: bool,
    tables: bool,
    /// What is followed; unknown until the place has said what it serves.
    resource: Option<ResourceType>,
    /// How far it has come; `None` before what is there is listed.
    revision: Option<String>,
    columns: Vec<Column>,
    lines: Option<Lines>,
    /// How often it has been asked whether it is there since something was heard.
    unheard: u32,
    pause: Duration,
    has_answered: bool,
    is_lost: bool,
    is_over: bool,
    /// What is still to be told.
    said: VecDeque<Heard>,
}

impl Follower {
    pub(super) fn new(
        place: Place,
        wanted: &Wanted,
        query: &Query,
        namespace: &str,
        only: bool,
    ) -> Self {
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
            resource: None,
            revision: None,
            columns: Vec::new(),
            lines: None,
            unheard: 0,
            pause: Duration::ZERO,
            has_answered: false,
            is_lost: false,
            is_over: false,
            said: VecDeque::new(),
        }
    }

    pub(super) fn changes(self) -> BoxStream<'static, Heard> {
        stream::unfold(self, |mut follower| async move {
            let heard = follower.next().await?;
            Some((heard, follower))
        })
        .boxed()
    }

    async fn next(&mut self) -> Option<Heard> {
        loop {
            if let Some(heard) = self.said.pop_front() {
                return Some(heard);
            }
            if self.is_over {
                return None;
            }
            let Some(lines) = &mut self.lines else {
                if let Err(failure) = self.open().await {
                    self.fail(failure);
                }
                continue;
            };
            match tokio::time::timeout(SILENCE, lines.next()).await {
                Ok(Some(Ok(line))) => {
                    (self.pause, self.unheard) = (Duration::ZERO, 0);
                    if let Some(heard) = self.hear(&line) {
                        return Some(heard);
                    }
                }
                // The server ends watches now and then; the next one goes on where this one was.
                Ok(Some(Err(_)) | None) => self.close(),
                Err(_) => self.ask().await,
            }
        }
    }

    /// Comes one step closer to a watch: what is served, what is there, what changes.
    async fn open(&mut self) -> Result<(), Failure> {
        if !self.pause.is_zero() {
            tokio::time::sleep(self.pause).await;
        }
        let Some(resource) = self.resource.clone() else {
            let resource = self.find().await?;
            self.resource = Some(resource.clone());
            self.said.push_back(Heard::Begun(resource));
            return Ok(());
        };
        let Some(revision) = &self.revision else {
            return self.list(&resource).await;
        };
        let path = self.path(
            &resource,
            &[
                ("watch", "true"),
                ("allowWatchBookmarks", "true"),
                ("resourceVersion", revision),
            ],
        );
        match self.place.open_as(&path, self.tables).await {
            Ok(body) => {
                self.lines = Some(Lines::new(body));
                self.unheard = 0;
                self.answer();
                Ok(())
            }
            // What came after the last change is forgotten by now: everything there is comes again.
            Err(unopened) if unopened.is_forgotten() => {
                self.revision = None;
                self.pause = FIRST_PAUSE;
                Ok(())
            }
            Err(unopened) => Err(unopened.failure),
        }
    }

    /// Learns what the place calls the kind.
    async fn find(&mut self) -> Result<ResourceType, Failure> {
        let discovery = self.place.client().discover().await;
        let discovery = discovery.map_err(|error| self.place.failure(&error))?;
        Ok(kinds::resolve(&discovery, &self.word)?.resource.clone())
    }

    /// Shows what is there, and learns from where changes are told.
    async fn list(&mut self, resource: &ResourceType) -> Result<(), Failure> {
        let client = match self.tables {
            true => self.place.tables(),
            false => self.place.client(),
        };
        let limit = if self.only { 1 } else { PAGE }.to_string();
        let mut table = ServerTable::default();
        let mut token = String::new();
        let revision = loop {
            let path = self.path(resource, &[("limit", &limit), ("continue", &token)]);
            let answer = match read(&client, &path).await {
                Ok(answer) => answer,
                // The list took so long that its beginning is forgotten.
                Err(error) if error.code() == 410 && !token.is_empty() => {
                    self.pause = FIRST_PAUSE;
                    return Ok(());
                }
                Err(error) => return Err(self.place.failure(&error)),
            };
            let text = |field: &str| answer["metadata"][field].as_str().unwrap_or_default();
            let revision = text("resourceVersion").to_owned();
            token = text("continue").to_owned();
            if self.only {
                break revision;
            }
            table.append(ServerTable::read(&with_kinds(answer, resource)));
            if token.is_empty() {
                break revision;
            }
        };
        self.revision = Some(revision);
        self.pause = Duration::ZERO;
        self.answer();
        self.columns.clone_from(&table.columns);
        if !table.rows.is_empty() {
            self.said.push_back(Heard::Rows(Changed {
                place: self.place.clone(),
                event: "ADDED".to_owned(),
                table,
            }));
        }
        Ok(())
    }

    /// Where objects are found, as far as they are wanted, with what else there is to say.
    fn path(&self, resource: &ResourceType, further: &[(&str, &str)]) -> String {
        let selectors = [
            ("labelSelector", self.selector.as_str()),
            ("fieldSelector", self.fields.as_str()),
        ];
        let given = further.iter().chain(&selectors);
        let given = given.filter(|(_, value)| !value.is_empty());
        let given = given.map(|(name, value)| {
            let value = utf8_percent_encode(value, NON_ALPHANUMERIC);
            format!("{name}={value}")
        });
        let given: Vec<String> = given.collect();
        format!("{}?{}", resource.path(&self.namespace), given.join("&"))
    }

    /// Asks a place that says nothing whether it is there. What it says meanwhile waits.
    async fn ask(&mut self) {
        self.unheard += 1;
        if self.unheard >= UNHEARD {
            return self.close();
        }
        let client = self.place.client();
        let asked = client.request(
            Method::GET,
            "/version",
            "application/json",
            Vec::new().into(),
        );
        let Err(error) = asked.await else {
            return;
        };
        let failure = self.place.failure(&error);
        // Who refuses is there.
        if failure.exit_code() != 1 {
            self.lines = None;
            self.fail(failure);
        }
    }

    fn close(&mut self) {
        self.lines = None;
        self.pause = self.pause.max(FIRST_PAUSE);
    }

    /// The place has answered.
    fn answer(&mut self) {
        let answered = std::mem::replace(&mut self.has_answered, true);
        if std::mem::take(&mut self.is_lost) || !answered {
            self.said.push_back(Heard::Answer(self.place.name.clone()));
        }
    }

    /// What is said about a failure: once, however often it is tried again.
    fn fail(&mut self, failure: Failure) {
        let name = self.place.name.clone();
        if failure.exit_code() == 1 {
            self.is_over = true;
            return self.said.push_back(Heard::Refused(name, failure));
        }
        self.pause = (self.pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
        // Whoever tries again soon need not wait long each time.
        self.place = self.place.clone().with_little_patience();
        if !std::mem::replace(&mut self.is_lost, true) {
            self.said.push_back(Heard::Trouble(name, failure));
        }
    }

    /// One line of a watch; nothing if it says nothing to people.
    fn hear(&mut self, line: &[u8]) -> Option<Heard> {
        let change: Value = serde_json::from_slice(line).ok()?;
        let event = change["type"].as_str().unwrap_or_default().to_owned();
        let object = &change["object"];
        match event.as_str() {
            "BOOKMARK" => {
                let revision = object["metadata"]["resourceVersion"].as_str();
                self.revision = revision.map(str::to_owned).or(self.revision.take());
                None
            }
            "ERROR" => {
                // What was missed is gone: everything there is comes again.
                if object["code"] == 410 {
                    self.revision = None;
                }
                self.close();
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
                if let (Some(known), Some(row)) = (&mut self.revision, table.rows.last())
                    && is_later(&row.revision, known)
                {
                    known.clone_from(&row.revision);
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

/// Whether a watch has come further with a row of this state. Some servers tell what they know of several others, and then
/// the state of a row is not a state of the whole.
fn is_later(row: &str, known: &str) -> bool {
    match (row.parse::<u64>(), known.parse::<u64>()) {
        (Ok(row), Ok(known)) => row > known,
        (Ok(_), Err(_)) => known.is_empty(),
        (Err(_), _) => !row.is_empty(),
    }
}

/// A list whose items say what they are: servers say it once, for all of them.
fn with_kinds(mut answer: Value, resource: &ResourceType) -> Value {
    let items = answer.get_mut("items").and_then(Value::as_array_mut);
    for item in items.into_iter().flatten() {
        let Value::Object(fields) = item else {
            continue;
        };
        if fields.contains_key("kind") {
            continue;
        }
        let mut named = Map::new();
        named.insert("apiVersion".to_owned(), json!(resource.kind.api_version()));
        named.insert("kind".to_owned(), json!(resource.kind.kind));
        named.append(fields);
        *fields = named;
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_never_goes_back() {
        for (row, known, expected) in [
            ("10", "9", true),
            ("9", "10", false),
            ("9", "9", false),
            ("9", "", true),
            // What is known of several servers at once.
            ("9", "m1=4,m2=7", false),
            ("m1=5,m2=7", "m1=4,m2=7", true),
            ("", "9", false),
        ] {
            assert_eq!(is_later(row, known), expected, "{row} after {known}");
        }
    }

    #[test]
    fn items_of_lists_say_what_they_are() {
        let resource = ResourceType::namespaced("apps", "v1", "Deployment", "deployments");
        let list = json!({"items": [{"metadata": {"name": "a"}}, {"kind": "Other"}]});
        let said = with_kinds(list, &resource)["items"].to_string();
        assert_eq!(
            said,
            r#"[{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"}},{"kind":"Other"}]"#
        );
    }
}
