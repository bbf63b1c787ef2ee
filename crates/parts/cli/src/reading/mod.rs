//! Reading objects, in the control plane and in members, with one answer for all of them.
//!
//! Every place is asked on its own, and one that fails takes nothing away from the others: what was found is shown, what
//! went wrong is named for each place.

mod fetch;
mod follow;
mod format;
mod kinds;
mod kyaml;
mod lists;
mod place;
mod sorting;
mod tables;
mod template;
mod watch;
mod words;

use client::Client;
use futures_util::stream::{self, StreamExt as _};

use crate::failure::{Failure, server_words};
use crate::nearest::{Whose, note_absent_space};
use crate::reach::call_failure;
use fetch::{Asked, Part, Section};
use object::Value;
use sorting::Order;
use tables::Look;

pub use format::Output;
pub use template::GoTemplate;
pub use watch::{Sink, watch};

pub(crate) use fetch::key;
pub(crate) use format::write_document;
pub(crate) use kinds::{expand, resolve};
pub(crate) use lists::mark;
pub(crate) use place::{Place, READINESS, clusters_failure, place, places, within_reach};
pub(crate) use tables::clean;
pub(crate) use words::{Wanted, read as read_words, read_one};

/// How many places are asked at once.
const PLACES: usize = 32;

/// Which places are asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// The control plane.
    #[default]
    Karmada,
    /// Members.
    Members,
    /// The control plane and members.
    All,
}

/// What is asked.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// `TYPE[.VERSION][.GROUP] [NAME...]`, several types with commas in between, or `TYPE/NAME...`.
    pub words: Vec<String>,
    /// Objects that files name, in place of words: `TYPE/NAME` for each, and its namespace if the file has one.
    pub objects: Vec<(String, Option<String>)>,
    /// The namespace; what the kubeconfig names if absent.
    pub namespace: Option<String>,
    /// All namespaces.
    pub all_namespaces: bool,
    /// Only objects with these labels; empty for all.
    pub selector: String,
    /// Only objects with these fields; empty for all.
    pub field_selector: String,
    /// Which places are asked.
    pub scope: Scope,
    /// Which members, if members are asked; all if empty.
    pub clusters: Vec<String>,
    /// How the answer is written.
    pub output: Output,
    /// Tables without a headline.
    pub no_headers: bool,
    /// Tables without the column that says who looks after an object, but for wide ones.
    pub no_adoption: bool,
    /// A column with all labels.
    pub show_labels: bool,
    /// The kind before every name.
    pub show_kind: bool,
    /// A column for each of these labels.
    pub label_columns: Vec<String>,
    /// Who wrote which field, in documents.
    pub show_managed_fields: bool,
    /// A path by which rows and items are sorted; empty for by place.
    pub sort_by: String,
    /// A named object that is not there is no mistake.
    pub ignore_not_found: bool,
    /// A part of named objects, such as status; empty for the objects themselves.
    pub subresource: String,
}

/// What came of it: all three may be there at once.
#[derive(Debug, Default)]
pub struct Answer {
    /// What was found.
    pub text: String,
    /// What is worth knowing about it.
    pub notes: Vec<String>,
    /// What could not be read.
    pub failure: Option<Failure>,
}

/// Reads objects.
pub async fn get(control: &Client, query: &Query) -> Result<Answer, Failure> {
    let mut wanted = match query.objects.as_slice() {
        [] => words::read(&query.words)?,
        objects => words::read_objects(objects)?,
    };
    let order = sorting::read(&query.sort_by)?;
    if wanted.iter().any(Wanted::is_category) {
        let discovery = control.discover().await;
        wanted = kinds::expand(&discovery.map_err(|error| call_failure(&error))?, wanted);
    }
    refuse_contradictions(query, wanted.iter().any(|wanted| !wanted.names.is_empty()))?;
    let mut notes = Vec::new();
    let (places, unreached) = choose_places(control, query, &mut notes).await?;
    if places.is_empty() {
        return Ok(Answer {
            notes,
            failure: unreached,
            ..Answer::default()
        });
    }
    let asked = Asked {
        wanted: &wanted,
        namespace: namespace_of(control, query),
        selector: &query.selector,
        fields: &query.field_selector,
        with_objects: order.is_some(),
        tables: query.output.is_table(),
        ignore_not_found: query.ignore_not_found,
        suggests: places.len() == 1,
        part: &query.subresource,
    };
    let parts: Vec<Part> = stream::iter(&places)
        .map(|place| fetch::ask(place, &asked))
        .buffered(PLACES)
        .collect()
        .await;
    let one = places.len() == 1 && query.scope == Scope::Karmada;
    let several = places.len() > 1;
    let (sections, failures) = fetch::gather(wanted.len(), parts);
    let failure = with_unreached(blame(failures, one), unreached);
    if sections.iter().all(Section::is_empty) && failure.is_none() && !query.ignore_not_found {
        let is_somewhere = sections.iter().any(|section| section.is_namespaced());
        notes.push(nothing_found(&asked.namespace, is_somewhere));
        let absent = match is_somewhere {
            true => no_such_space(&places, &asked.namespace).await,
            false => None,
        };
        if let Some(absent) = absent {
            notes.push(absent);
        } else if query.scope == Scope::Karmada && sections.iter().all(Section::is_of_members) {
            notes.push("they are in members: add -s members".to_owned());
        }
    }
    // Not by how many members there happen to be: whoever names one knows what to expect.
    let is_one_named = places.len() == 1 && query.clusters.len() == 1;
    let is_single = (one || is_one_named)
        && wanted.len() == 1
        && wanted.iter().all(|wanted| wanted.names.len() == 1);
    let text = match &query.output {
        Output::Table | Output::Wide => show_tables(sections, query, order.as_ref()),
        Output::Name => lists::names(&sections),
        output => {
            let document = lists::document(sections, is_single, several, query.show_managed_fields);
            show_document(document, output, query.no_headers, order.as_ref())?
        }
    };
    Ok(Answer {
        text,
        notes,
        failure,
    })
}

/// What is said where nothing is.
pub(crate) fn nothing_found(namespace: &str, is_namespaced: bool) -> String {
    match namespace {
        namespace if is_namespaced && !namespace.is_empty() => {
            format!("No resources found in {namespace} namespace.")
        }
        _ => "No resources found".to_owned(),
    }
}

/// What is said beside that if none of the places has the namespace.
pub(crate) async fn no_such_space(places: &[Place], namespace: &str) -> Option<String> {
    let clients: Vec<Client> = places.iter().map(Place::client).collect();
    let whose = match places.iter().any(Place::is_member) {
        true => Whose::Members,
        false => Whose::ControlPlane,
    };
    note_absent_space(&clients, namespace, whose).await
}

async fn choose_places(
    control: &Client,
    query: &Query,
    notes: &mut Vec<String>,
) -> Result<(Vec<Place>, Option<Failure>), Failure> {
    if !query.clusters.is_empty() && query.scope == Scope::Karmada {
        notes.push(
            "--clusters chooses among members, and the control plane was asked: add -s members, or -s all for both"
                .to_owned(),
        );
    }
    let (places, unreached) = within_reach(control, query.scope, &query.clusters).await?;
    if places.is_empty() && unreached.is_none() {
        notes.push("No member Clusters found in Karmada control plane".to_owned());
    }
    Ok((places, unreached))
}

/// What went wrong, and that members were not asked because nobody may know which there are.
pub(crate) fn with_unreached(
    failure: Option<Failure>,
    unreached: Option<Failure>,
) -> Option<Failure> {
    let all = [unreached, failure].into_iter().flatten();
    worst(all.map(|failure| (failure.to_string(), failure)).collect())
}

/// The namespace that is meant; empty for all.
fn namespace_of(control: &Client, query: &Query) -> String {
    meant_namespace(control, query.namespace.as_deref(), query.all_namespaces)
}

/// The namespace that was asked for, or what the kubeconfig names; empty for all.
pub(crate) fn meant_namespace(control: &Client, asked: Option<&str>, all: bool) -> String {
    match asked {
        _ if all => String::new(),
        // What a script gives whose variable is not set is none, and not all of them.
        Some(namespace) if !namespace.is_empty() => namespace.to_owned(),
        _ => control.raw().default_namespace().to_owned(),
    }
}

/// Objects for programs, or what is picked from them: one as it is, several as a list.
pub(crate) fn show_objects(mut objects: Vec<Value>, output: &Output) -> Result<String, Failure> {
    let document = match objects.len() {
        0 | 1 => objects.pop(),
        _ => Some(lists::list(objects)),
    };
    show_document(document, output, false, None)
}

/// The same as a list, however many they are.
pub(crate) fn show_list(
    objects: Vec<Value>,
    output: &Output,
    is_bare: bool,
) -> Result<String, Failure> {
    show_document(Some(lists::list(objects)), output, is_bare, None)
}

/// A document for programs, or what is picked from it.
fn show_document(
    document: Option<Value>,
    output: &Output,
    is_bare: bool,
    order: Option<&Order>,
) -> Result<String, Failure> {
    let Some(mut document) = document else {
        return Ok(String::new());
    };
    let items = document.get_mut("items").and_then(Value::as_array_mut);
    if let (Some(order), Some(items)) = (order, items) {
        items.sort_by_cached_key(|item| order.key(item));
    }
    match output {
        Output::JsonPath(template) => format::write_path(template, &document),
        Output::JsonPathAsJson(template) => format::write_found(template, &document),
        Output::GoTemplate(template) => template.write(&document),
        Output::Columns(columns) => {
            let one = std::slice::from_ref(&document);
            let items = document["items"].as_array().map_or(one, Vec::as_slice);
            Ok(format::write_columns(columns, items, is_bare))
        }
        Output::Kyaml => Ok(kyaml::write(&document)),
        output => write_document(&document, *output == Output::Yaml),
    }
}

fn refuse_contradictions(query: &Query, names: bool) -> Result<(), Failure> {
    refuse_names(names, &[&query.selector, &query.field_selector])?;
    if !names && !query.subresource.is_empty() {
        return Err(Failure::refused(
            "subresource cannot be used when bulk resources are specified",
            "name the objects, or leave --subresource out",
        ));
    }
    if names && query.all_namespaces {
        return Err(Failure::refused(
            "an object cannot be read by name in all namespaces",
            "name its namespace with -n, or leave the name out",
        ));
    }
    Ok(())
}

/// Refuses names beside selectors: what is named is shown whether it is selected or not, and whoever gives both may mean
/// either. Upstream: the words of kubectl.
pub(crate) fn refuse_names(names: bool, selectors: &[&str]) -> Result<(), Failure> {
    match names && selectors.iter().any(|selector| !selector.is_empty()) {
        true => Err(Failure::refused(
            "name cannot be provided when a selector is specified",
            "leave the names out, or -l and --field-selector",
        )),
        false => Ok(()),
    }
}

/// A table for each kind, with an empty line in between.
fn show_tables(sections: Vec<Section>, query: &Query, order: Option<&Order>) -> String {
    let sections = fetch::join(sections);
    let several = sections.len() > 1;
    let texts: Vec<String> = sections
        .into_iter()
        .filter(|section| !section.is_empty())
        .map(|section| {
            let look = look(query, &section, several);
            tables::merge(section.tables(), &look, order).to_string()
        })
        .collect();
    texts.join("\n")
}

/// How much is shown of a kind.
fn look(query: &Query, section: &Section, several: bool) -> Look {
    Look {
        is_wide: query.output == Output::Wide,
        namespaces: query.all_namespaces && section.is_namespaced(),
        is_bare: query.no_headers,
        kind: (several || query.show_kind).then(|| section.kind_word()),
        rarely_adopted: section.is_pods() || query.no_adoption,
        labels: query.show_labels,
        label_columns: query.label_columns.clone(),
    }
}

/// All that went wrong, each with its place unless only the control plane was asked.
pub(crate) fn blame(failures: Vec<(String, Failure)>, one: bool) -> Option<Failure> {
    if one {
        let said = failures.into_iter();
        return worst(
            said.map(|(_, failure)| (failure.to_string(), failure))
                .collect(),
        );
    }
    worst(of_members(failures).collect())
}

fn of_members(
    failures: impl IntoIterator<Item = (String, Failure)>,
) -> impl Iterator<Item = (String, Failure)> {
    let failures = failures.into_iter();
    failures.map(|(place, failure)| {
        let failure = failure.in_cluster(&place);
        (failure.to_string(), failure)
    })
}

/// All that went wrong, each with where it did. What a server says begins as it always does: scripts look for that.
pub(crate) fn blame_places(failures: Vec<(String, Failure)>) -> Option<Failure> {
    worst(in_places(failures).collect())
}

/// The same, and what went wrong in members.
pub(crate) fn blame_places_and_members(
    places: Vec<(String, Failure)>,
    members: impl IntoIterator<Item = (String, Failure)>,
) -> Option<Failure> {
    worst(in_places(places).chain(of_members(members)).collect())
}

fn in_places(failures: Vec<(String, Failure)>) -> impl Iterator<Item = (String, Failure)> {
    failures.into_iter().map(|(place, failure)| {
        let said = failure.to_string();
        let (head, message) = said.split_at(server_words(&said));
        (format!("{head}{place}: {message}"), failure)
    })
}

/// All that went wrong, each with what it happened to; a server says that itself.
pub(crate) fn blame_objects(failures: Vec<(String, Failure)>) -> Option<Failure> {
    let said = failures.into_iter().map(|(object, failure)| {
        let said = failure.to_string();
        match server_words(&said) {
            0 => (format!("{object}: {said}"), failure),
            _ => (said, failure),
        }
    });
    worst(said.collect())
}

/// Many failures as one: all that was said, all advice once, and the worst counts.
fn worst(failures: Vec<(String, Failure)>) -> Option<Failure> {
    let lines: Vec<&str> = failures.iter().map(|(line, _)| line.as_str()).collect();
    let what = lines.join("\nerror: ");
    let mut hints: Vec<String> = Vec::new();
    for (_, failure) in &failures {
        let hint = failure.hint().to_owned();
        if !hint.is_empty() && !hints.contains(&hint) {
            hints.push(hint);
        }
    }
    let (_, worst) = failures
        .into_iter()
        .max_by_key(|(_, failure)| failure.exit_code())?;
    Some(worst.reworded(|_| what).advised(hints.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_named_for_each_place_and_the_worst_counts() {
        let refused = || Failure::refused("no", "ask");
        let failed = || Failure::failed("broken", "look");
        for (failures, one, expected) in [
            (vec![], false, None),
            (vec![("Karmada", refused())], true, Some(("no", 1))),
            (
                vec![("Karmada", refused())],
                false,
                Some(("cluster(Karmada): no", 1)),
            ),
            (
                vec![("east", failed()), ("west", failed())],
                false,
                Some(("cluster(east): broken\nerror: cluster(west): broken", 2)),
            ),
            (
                vec![("east", failed()), ("west", refused())],
                false,
                Some(("cluster(east): broken\nerror: cluster(west): no", 2)),
            ),
        ] {
            let failures = failures
                .into_iter()
                .map(|(place, failure)| (place.to_owned(), failure))
                .collect();
            let found = blame(failures, one);
            let found = found.map(|failure| (failure.to_string(), failure.exit_code()));
            let expected = expected.map(|(text, code)| (text.to_owned(), code));
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn what_a_server_says_begins_as_it_always_does() {
        for (what, in_file, of_object) in [
            (
                "from server (NotFound): pods \"p\" not found",
                "from server (NotFound): f.yaml: pods \"p\" not found",
                "from server (NotFound): pods \"p\" not found",
            ),
            (
                "from server: it is late",
                "from server: f.yaml: it is late",
                "from server: it is late",
            ),
            ("it is late", "f.yaml: it is late", "f.yaml: it is late"),
            ("from server", "f.yaml: from server", "f.yaml: from server"),
        ] {
            let failures = || vec![("f.yaml".to_owned(), Failure::refused(what, ""))];
            let said = |failure: Option<Failure>| failure.map(|failure| failure.to_string());
            assert_eq!(said(blame_places(failures())).as_deref(), Some(in_file));
            assert_eq!(said(blame_objects(failures())).as_deref(), Some(of_object));
        }
    }

    #[test]
    fn names_go_neither_with_selectors_nor_with_all_namespaces() {
        let part = Query {
            subresource: "status".to_owned(),
            ..Query::default()
        };
        assert!(refuse_contradictions(&part, true).is_ok());
        assert!(refuse_contradictions(&part, false).is_err());
        for (selector, fields, all_namespaces, names, is_fine) in [
            ("", "", false, true, true),
            ("", "", true, false, true),
            ("a=b", "", true, false, true),
            ("a=b", "", false, true, false),
            ("", "metadata.name=b", false, true, false),
            ("", "metadata.name=b", false, false, true),
            ("", "", true, true, false),
        ] {
            let query = Query {
                selector: selector.to_owned(),
                field_selector: fields.to_owned(),
                all_namespaces,
                ..Query::default()
            };
            let found = refuse_contradictions(&query, names);
            assert_eq!(found.is_ok(), is_fine, "{query:?} {names}");
        }
    }
}
