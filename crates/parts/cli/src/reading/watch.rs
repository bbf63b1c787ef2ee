//! Changes as they happen, in all places at once, in one table.
//!
//! Every place is followed on its own, as `follow` says. Nothing ends the whole but the reader, or that nobody is left.

use std::time::Duration;

use client::Client;
use futures_util::stream::{self, StreamExt as _};
use object::ResourceType;
use serde_json::json;

use super::fetch::{Section, gather_kind};
use super::follow::{Changed, Follower, Heard};
use super::format::write_document;
use super::tables;
use super::words;
use super::{
    Output, Query, Scope, blame, choose_places, kyaml, lists, look, namespace_of,
    refuse_contradictions, sorting, with_unreached,
};
use crate::failure::Failure;

/// Where what is said goes, as soon as it is said.
pub type Sink<'a> = &'a mut (dyn FnMut(&str) -> Result<(), Failure> + Send);

/// Rows that come this close together are laid out together.
const QUIET: Duration = Duration::from_millis(60);
/// A batch is not held longer, however much there is to come.
const BATCH: usize = 500;

/// Shows objects as they change, until nobody is left to follow or `enough` is said, which is no failure; that somebody
/// refused to be followed is one however it ends. `only`: changes alone, not what is there already. `events`: say of each
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
    let one = places.len() == 1 && query.scope == Scope::Karmada;
    let mut shown = Shown::new(query, events, places.len() > 1);
    let namespace = namespace_of(control, query);
    let mut lost = Lost::new(places.len());
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
        for said in lost.news() {
            note(&said)?;
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
    /// So many of the refusals have been told.
    told: usize,
}

impl Lost {
    fn new(places: usize) -> Self {
        Self {
            places,
            has_begun: false,
            troubled: Vec::new(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_refuses_is_told_of_once_and_at_once_while_others_are_followed() {
        let mut lost = Lost::new(2);
        assert!(lost.news().is_empty());
        let refuse = |lost: &mut Lost, place: &str| {
            let failure = Failure::refused("from server (Forbidden): no", "ask");
            lost.refused.push((place.to_owned(), failure));
        };
        refuse(&mut lost, "east");
        assert_eq!(lost.news(), ["cluster(east): no; it is not followed\n"]);
        assert!(lost.news().is_empty());
        refuse(&mut lost, "west");
        assert!(lost.news().is_empty(), "that is how it ends");
    }
}
