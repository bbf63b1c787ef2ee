//! Changes as they happen, in all places at once, in one table.
//!
//! Every place is followed on its own, as `follow` says. Nothing ends the whole but the reader, or that nobody is left.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use client::Client;
use futures_util::stream::{self, StreamExt as _};
use object::{ResourceType, Value};
use serde_json::json;

use super::fetch::{Section, gather_kind};
use super::follow::{Changed, Follower, Heard};
use super::format::tabulate;
use super::tables::{self, Row};
use super::words;
use super::{
    Output, Place, Query, READINESS, Scope, blame, choose_places, lists, look, namespace_of,
    refuse_contradictions, show_document, sorting, with_unreached,
};
use crate::failure::Failure;
use crate::table::Table;

/// Where what is said goes, as soon as it is said.
pub type Sink<'a> = &'a mut (dyn FnMut(&str) -> Result<(), Failure> + Send);

/// Rows that come this close together are laid out together.
const QUIET: Duration = Duration::from_millis(60);
/// A batch is not held longer, however much there is to come.
const BATCH: usize = 500;

/// Shows objects as they change, until nobody is left to follow or `enough` is said, which is no failure; that somebody
/// refused to be followed, or does not answer at the end, is one however it ends. `only`: changes alone, not what is there already. `events`: say of each
/// row what happened.
pub async fn watch(
    control: &Client,
    query: &Query,
    (only, events): (bool, bool),
    (print, note): (Sink<'_>, Sink<'_>),
    enough: impl Future<Output = ()>,
) -> Result<(), Failure> {
    let mut enough = std::pin::pin!(enough);
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
    if wanted.names.len() > 1 {
        return Err(Failure::refused(
            "a watch shows one object or all of them",
            "name one object, or none",
        ));
    }
    let mut notes = Vec::new();
    let (places, unreached) = tokio::select! {
        () = &mut enough => return Ok(()),
        chosen = choose_places(control, query, &mut notes) => chosen?,
    };
    for text in notes {
        note(&format!("{text}\n"))?;
    }
    if let Some(failure) = &unreached {
        note(&format!("{failure}\n"))?;
    }
    if !query.sort_by.is_empty() {
        note("changes come as they happen: --sort-by has no effect on a watch\n")?;
    }
    let one = places.len() == 1 && query.scope == Scope::Karmada;
    let mut shown = Shown::new(query, events, places.len() > 1);
    let namespace = namespace_of(control, query);
    let mut standing = Standing::of(&places);
    let followers = places
        .into_iter()
        .map(|place| Follower::new(place, wanted, query, &namespace, only).changes());
    let mut all = stream::select_all(followers);
    let mut is_enough = false;
    while !is_enough {
        let first = tokio::select! {
            () = &mut enough => break,
            first = all.next() => first,
        };
        let Some(first) = first else {
            break;
        };
        let mut batch = vec![first];
        while batch.len() < BATCH {
            let next = tokio::select! {
                () = &mut enough => {
                    is_enough = true;
                    break;
                }
                next = tokio::time::timeout(QUIET, all.next()) => next,
            };
            match next {
                Ok(Some(next)) => batch.push(next),
                _ => break,
            }
        }
        let mut rows = Vec::new();
        for heard in batch {
            match heard {
                Heard::Rows(row) => rows.push(row),
                Heard::Begun(resource) => {
                    standing.has_begun = true;
                    shown.begin(query, resource);
                }
                Heard::Answer(place) => {
                    if standing.answer(&place) {
                        note(&format!("cluster({place}): answers again\n"))?;
                    }
                }
                Heard::Trouble(place, failure) => {
                    if let Some(failure) = standing.trouble(&place, &failure, one) {
                        return Err(failure);
                    }
                    note(&format!("{}; trying again\n", failure.in_cluster(&place)))?;
                }
                Heard::Refused(place, failure) => standing.refuse(place, failure),
            }
        }
        for said in standing.news() {
            note(&said)?;
        }
        if !rows.is_empty() {
            print(&shown.write(rows, query)?)?;
        }
    }
    with_unreached(standing.end(one), unreached).map_or(Ok(()), Err)
}

/// How every place stands to the watch.
struct Standing {
    places: usize,
    has_begun: bool,
    /// Who has not said anything yet.
    silent: BTreeSet<String>,
    /// Who does not answer any more, or never did.
    troubled: BTreeMap<String, Failure>,
    refused: Vec<(String, Failure)>,
    /// So many of the refusals have been told.
    told: usize,
}

impl Standing {
    fn of(places: &[Place]) -> Self {
        Self {
            places: places.len(),
            has_begun: false,
            silent: places.iter().map(|place| place.name.clone()).collect(),
            troubled: BTreeMap::new(),
            refused: Vec::new(),
            told: 0,
        }
    }

    /// Who has refused since this was asked last. Nothing if nobody is left to follow: that is how it ends, and told then.
    fn news(&mut self) -> Vec<String> {
        if self.refused.len() >= self.places {
            return Vec::new();
        }
        let refused = self.refused.iter().skip(self.told);
        let news = refused.map(|(place, failure)| {
            let again = Failure::refused(failure.to_string(), "").in_cluster(place);
            format!("{again}; it is not followed\n")
        });
        let news = news.collect();
        self.told = self.refused.len();
        news
    }

    /// Takes note of a place that answers, and says whether it had been in trouble.
    fn answer(&mut self, place: &str) -> bool {
        self.silent.remove(place);
        self.troubled.remove(place).is_some()
    }

    fn refuse(&mut self, place: String, failure: Failure) {
        self.answer(&place);
        self.refused.push((place, failure));
    }

    /// Takes note of a place that does not answer; the end of it all if nobody ever did.
    fn trouble(&mut self, place: &str, failure: &Failure, one: bool) -> Option<Failure> {
        self.silent.remove(place);
        let again = Failure::failed(failure.to_string(), failure.hint());
        self.troubled.insert(place.to_owned(), again);
        if self.has_begun || self.troubled.len() + self.refused.len() < self.places {
            return None;
        }
        self.end(one)
    }

    /// What is not known at the end: what was shown lacks the places that refused, and those that do not answer.
    fn end(&mut self, one: bool) -> Option<Failure> {
        let mut all = std::mem::take(&mut self.refused);
        all.extend(std::mem::take(&mut self.troubled));
        let silent = std::mem::take(&mut self.silent).into_iter().map(|place| {
            let failure = Failure::failed("no answer before the watch ended", READINESS);
            (place, failure)
        });
        all.extend(silent);
        blame(all, one)
    }
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
        match &query.output {
            Output::Table | Output::Wide => Ok(self.table(rows)),
            Output::Columns(columns) => {
                let documents: Vec<Value> = self.documents(rows, query).collect();
                let table = tabulate(columns, &documents, self.look.is_bare);
                Ok(self.below(&table))
            }
            Output::Name => Ok(self.names(rows)),
            // Each change is a document of its own, so that whoever reads along need not wait for an end.
            output => self
                .documents(rows, query)
                .map(|document| {
                    let text = show_document(Some(document), output, false, None)?;
                    let begin = if *output == Output::Yaml { "---\n" } else { "" };
                    Ok(format!("{begin}{text}"))
                })
                .collect(),
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
        self.below(&table)
    }

    /// A table below what was printed before it.
    fn below(&mut self, table: &Table) -> String {
        if !self.look.is_bare {
            // What comes later should stand below what is there, so columns are as wide as what is likely to come.
            self.widths = table.header.iter().map(|name| likely_width(name)).collect();
            // The headline stands above the first rows only.
            self.look.is_bare = true;
        }
        table.write(&mut self.widths)
    }

    fn names(&self, rows: Vec<Changed>) -> String {
        let kind = self.section.kind_word();
        let rows = rows.iter().flat_map(|changed| &changed.table.rows);
        let names = rows.filter_map(|row| row.object["metadata"]["name"].as_str());
        names.map(|name| format!("{kind}/{name}\n")).collect()
    }

    /// Every change as programs get it.
    fn documents<'s>(
        &'s self,
        rows: Vec<Changed>,
        query: &'s Query,
    ) -> impl Iterator<Item = Value> + 's {
        rows.into_iter().flat_map(move |changed| {
            let Changed {
                place,
                event,
                table,
            } = changed;
            let document = move |row: Row| {
                let member = place.mark(self.several);
                let marked = lists::mark_value(row.object, member, query.show_managed_fields);
                match self.events {
                    true => json!({"type": event, "object": marked}),
                    false => marked,
                }
            };
            table.rows.into_iter().map(document)
        })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::place::tests::silent;

    fn standing(places: &[&str]) -> Standing {
        let silent = places.iter().map(|place| (*place).to_owned()).collect();
        Standing {
            places: places.len(),
            silent,
            ..Standing::of(&[])
        }
    }

    #[test]
    fn who_refuses_is_told_of_once_and_at_once_while_others_are_followed() {
        let mut standing = standing(&["east", "west"]);
        assert!(standing.news().is_empty());
        let refuse = |standing: &mut Standing, place: &str| {
            let failure = Failure::refused("from server (Forbidden): no", "ask");
            standing.refuse(place.to_owned(), failure);
        };
        refuse(&mut standing, "east");
        let expected = ["cluster(east): no; it is not followed\n"];
        assert_eq!(standing.news(), expected);
        assert!(standing.news().is_empty());
        refuse(&mut standing, "west");
        assert!(standing.news().is_empty(), "that is how it ends");
    }

    /// One word for what a place does: `+` it answers, `!` it does not, `-` it refuses.
    #[test]
    fn a_watch_ends_well_if_all_answer_then() {
        for (words, expected) in [
            ("+east +west", None),
            ("+east !west +west", None),
            ("+east", Some(("west: no answer before the watch ended", 2))),
            ("+east !west", Some(("west: gone", 2))),
            ("+east +west !east", Some(("east: gone", 2))),
            ("+east -west", Some(("west: no", 1))),
            ("!east -west", Some(("west: no\nerror: east: gone", 2))),
        ] {
            let mut standing = standing(&["east", "west"]);
            // So that trouble everywhere is not the end.
            standing.has_begun = true;
            for word in words.split(' ') {
                let (sign, place) = word.split_at(1);
                match sign {
                    "+" => drop(standing.answer(place)),
                    "!" => {
                        let gone = Failure::failed("gone", "look");
                        assert!(standing.trouble(place, &gone, false).is_none());
                    }
                    _ => standing.refuse(place.to_owned(), Failure::refused("no", "ask")),
                }
            }
            let end = standing.end(false);
            let end = end.map(|failure| (failure.to_string(), failure.exit_code()));
            let expected = expected.map(|(said, code)| {
                let named = |place: &str| format!("cluster({place}): ");
                let said = said.replace("east: ", &named("east"));
                (said.replace("west: ", &named("west")), code)
            });
            assert_eq!(end, expected, "{words}");
        }
    }

    #[tokio::test]
    async fn every_change_is_shown_in_the_form_asked_for() {
        let row = |event: &str, cluster: &str, name: &str| Changed {
            place: Place::member(&silent(), cluster),
            event: event.to_owned(),
            table: tables::ServerTable::read(&json!({
                "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": "v"},
            })),
        };
        for (output, events, expected) in [
            ("jsonpath={.metadata.name},", false, "a,a,b,"),
            (
                "jsonpath={.type}:{.object.metadata.name} ",
                true,
                "ADDED:a ADDED:a DELETED:b ",
            ),
            ("jsonpath-as-json={.data.k}", false, "[\n  \"v\"\n]\n|*3"),
            (
                "custom-columns=N:.metadata.name,WHERE:.metadata.annotations.resource\\.karmada\\.io/cached-from-cluster",
                false,
                "N   WHERE\na   east\na   west\nb   west\n",
            ),
            (
                "custom-columns=EVENT:.type,N:.object.metadata.name",
                true,
                "EVENT      N\nADDED      a\nADDED      a\nDELETED    b\n",
            ),
            ("go-template={{.metadata.name}};", false, "a;a;b;"),
            ("name", false, "configmap/a\nconfigmap/a\nconfigmap/b\n"),
            ("name", true, "configmap/a\nconfigmap/a\nconfigmap/b\n"),
        ] {
            let query = Query {
                output: Output::parse(output).unwrap(),
                ..Query::default()
            };
            let mut shown = Shown::new(&query, events, true);
            shown.begin(
                &query,
                ResourceType::namespaced("", "v1", "ConfigMap", "configmaps"),
            );
            let first = vec![row("ADDED", "east", "a"), row("ADDED", "west", "a")];
            let mut text = shown.write(first, &query).unwrap();
            let second = vec![row("DELETED", "west", "b")];
            text.push_str(&shown.write(second, &query).unwrap());
            let expected = match expected.split_once("|*3") {
                Some((one, _)) => one.repeat(3),
                None => expected.to_owned(),
            };
            assert_eq!(text, expected, "{output}");
        }
    }
}
