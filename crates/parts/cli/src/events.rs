//! What happened lately, in the control plane and in members, in one table.

use client::{Client, ListOptions};
use futures_util::stream::{self, StreamExt as _};
use object::time::Time;
use object::{Object, ResourceType};

use crate::age;
use crate::failure::Failure;
use crate::reading::{self, Answer, Output, Place, Query, Scope, Sink, clean};
use crate::table::Table;

/// How many places are asked at once.
const PLACES: usize = 32;

/// Which events.
#[derive(Clone, Debug, Default)]
pub struct EventsQuery {
    /// Only about this: `TYPE/NAME`.
    pub about: Option<String>,
    /// The namespace; what the kubeconfig names if absent.
    pub namespace: Option<String>,
    /// All namespaces.
    pub all_namespaces: bool,
    /// Only these types, such as Warning; all if empty.
    pub types: Vec<String>,
    /// Which places are asked.
    pub scope: Scope,
    /// Which members, if members are asked; all if empty.
    pub clusters: Vec<String>,
    /// How the answer is written: a table, JSON or YAML.
    pub output: Output,
    /// No headline.
    pub no_headers: bool,
}

/// What happened lately, the newest last.
pub async fn events(control: &Client, query: &EventsQuery, now: Time) -> Result<Answer, Failure> {
    let asked = query.namespace.as_deref();
    let namespace = reading::meant_namespace(control, asked, query.all_namespaces);
    let (places, unreached) = reading::within_reach(control, query.scope, &query.clusters).await?;
    let answers: Vec<(Place, Result<Vec<Object>, Failure>)> = stream::iter(places.clone())
        .map(|place| {
            let namespace = namespace.as_str();
            async move {
                let answer = ask(&place, namespace, query).await;
                (place, answer)
            }
        })
        .buffered(PLACES)
        .collect()
        .await;
    let one = query.scope == Scope::Karmada;
    let several = answers.len() > 1;
    let (mut found, mut failed) = (Vec::new(), Vec::new());
    for (place, answer) in answers {
        match answer {
            Ok(events) => found.extend(events.into_iter().map(|event| (place.clone(), event))),
            Err(failure) => failed.push((place.name.clone(), failure)),
        }
    }
    let is_wanted = |event: &Object| {
        let kind = event.text_at(&["type"]).unwrap_or_default();
        query.types.is_empty()
            || query
                .types
                .iter()
                .any(|wanted| wanted.eq_ignore_ascii_case(kind))
    };
    found.retain(|(_, event)| is_wanted(event));
    found.sort_by_cached_key(|(place, event)| (last_seen(event), place.name.clone()));
    let mut notes = Vec::new();
    if found.is_empty() && failed.is_empty() && unreached.is_none() {
        notes.push(reading::nothing_found(&namespace, true));
        notes.extend(reading::no_such_space(&places, &namespace).await);
    }
    let text = match &query.output {
        Output::Table | Output::Wide | Output::Name if found.is_empty() => String::new(),
        Output::Table | Output::Wide => table(&found, query, now).to_string(),
        Output::Name => found
            .iter()
            .map(|(_, event)| format!("event/{}\n", clean(event.name())))
            .collect(),
        output => {
            let items = found
                .into_iter()
                .map(|(place, event)| reading::mark(event, place.mark(several), false));
            reading::show_list(items.collect(), output, query.no_headers)?
        }
    };
    Ok(Answer {
        text,
        notes,
        failure: reading::with_unreached(reading::blame(failed, one), unreached),
    })
}

/// Goes on with what happens, in all places at once, after what happened lately.
pub async fn watch_events(
    control: &Client,
    query: &EventsQuery,
    sinks: (Sink<'_>, Sink<'_>),
    enough: impl Future<Output = ()>,
) -> Result<(), Failure> {
    let mut fields = Vec::new();
    if let Some(about) = &query.about {
        fields.push(fields_about(&Place::control_plane(control), about).await?);
    }
    // Two types are all there are.
    if let [kind] = query.types.as_slice() {
        fields.push(format!("type={kind}"));
    }
    let query = Query {
        words: vec!["events.v1".to_owned()],
        namespace: query.namespace.clone(),
        all_namespaces: query.all_namespaces,
        field_selector: fields.join(","),
        scope: query.scope,
        clusters: query.clusters.clone(),
        output: query.output.clone(),
        no_headers: query.no_headers,
        // Nobody adopts what has happened.
        no_adoption: true,
        ..Query::default()
    };
    reading::watch(control, &query, (false, false), sinks, enough).await
}

/// How events about `TYPE/NAME` are chosen.
async fn fields_about(place: &Place, about: &str) -> Result<String, Failure> {
    let (word, name) = reading::read_one(&[about.to_owned()])?;
    let discovery = place.client().discover().await;
    let discovery = discovery.map_err(|error| place.failure(&error))?;
    let kind = &reading::resolve(&discovery, &word)?.resource.kind.kind;
    Ok(format!(
        "involvedObject.kind={kind},involvedObject.name={name}"
    ))
}

fn table(found: &[(Place, Object)], query: &EventsQuery, now: Time) -> Table {
    let mut header = Vec::new();
    header.extend(query.all_namespaces.then_some("NAMESPACE"));
    header.extend([
        "LAST SEEN",
        "CLUSTER",
        "TYPE",
        "REASON",
        "OBJECT",
        "MESSAGE",
    ]);
    let mut table = if query.no_headers {
        Table::default()
    } else {
        Table::new(&header)
    };
    table.rows = found
        .iter()
        .map(|(place, event)| {
            let mut row = Vec::new();
            row.extend(query.all_namespaces.then(|| clean(event.namespace())));
            let [seen, kind, reason, object, message] = cells(event, now);
            row.extend([seen, place.name.clone(), kind, reason, object, message]);
            row
        })
        .collect();
    table
}

fn cells(event: &Object, now: Time) -> [String; 5] {
    let text = |path: &[&str]| clean(event.text_at(path).unwrap_or_default().trim());
    let about = text(&["involvedObject", "kind"]).to_lowercase();
    let message = text(&["message"]);
    let times = event
        .integer_at(&["count"])
        .or_else(|| event.integer_at(&["series", "count"]));
    let seen = age::of(&last_seen(event), now);
    [
        match times {
            Some(times) if times > 1 => format!("{seen} (x{times})"),
            _ => seen,
        },
        text(&["type"]),
        text(&["reason"]),
        format!("{about}/{}", text(&["involvedObject", "name"])),
        message,
    ]
}

/// When it happened last, as it was written down.
fn last_seen(event: &Object) -> String {
    let times: [&[&str]; 5] = [
        &["series", "lastObservedTime"],
        &["lastTimestamp"],
        &["eventTime"],
        &["firstTimestamp"],
        &["metadata", "creationTimestamp"],
    ];
    let known = times.iter().filter_map(|path| event.text_at(path));
    let whole = known.filter(|time| !time.is_empty()).map(|time| {
        // Parts of seconds are written by some and not by others.
        match time.split_once('.') {
            Some((seconds, _)) => format!("{seconds}Z"),
            None => time.to_owned(),
        }
    });
    whole.into_iter().next().unwrap_or_default()
}

async fn ask(place: &Place, namespace: &str, query: &EventsQuery) -> Result<Vec<Object>, Failure> {
    let fields = match &query.about {
        Some(about) => fields_about(place, about).await?,
        None => String::new(),
    };
    list(place, namespace, fields).await
}

async fn list(place: &Place, namespace: &str, fields: String) -> Result<Vec<Object>, Failure> {
    let kind = ResourceType::namespaced("", "v1", "Event", "events");
    let options = ListOptions {
        field_selector: fields,
        ..ListOptions::default()
    };
    let listed = place.client().list_all(&kind, namespace, &options).await;
    Ok(listed.map_err(|error| place.failure(&error))?.items)
}

/// What happened to one object, the latest last.
pub(crate) async fn about(place: &Place, object: &Object) -> Result<Vec<Object>, Failure> {
    let fields = format!(
        "involvedObject.kind={},involvedObject.name={}",
        object.kind(),
        object.name()
    );
    let mut found = list(place, object.namespace(), fields).await?;
    found.retain(|event| {
        let uid = event
            .text_at(&["involvedObject", "uid"])
            .unwrap_or_default();
        // Upstream: a kubelet calls its node by the name where others give the uid.
        let is_node = object.kind() == "Node" && uid == object.name();
        uid.is_empty() || object.uid().is_empty() || uid == object.uid() || is_node
    });
    found.sort_by_cached_key(last_seen);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_last_time_counts_whoever_wrote_it_down() {
        let now: Time = "2026-01-01T00:01:00Z".parse().unwrap();
        for (event, expected) in [
            (
                json!({"lastTimestamp": "2026-01-01T00:00:30Z", "count": 3, "type": "Warning", "reason": "R",
                    "involvedObject": {"kind": "Pod", "name": "p"}, "message": "m\u{1b}\n"}),
                "30s (x3)|Warning|R|pod/p|m\\u{1b}",
            ),
            (
                json!({"eventTime": "2026-01-01T00:00:50.123456Z", "lastTimestamp": null, "type": "Normal"}),
                "10s|Normal||/|",
            ),
            (json!({}), "<unknown>|||/|"),
        ] {
            let event = Object::from_value(event).unwrap();
            assert_eq!(cells(&event, now).join("|"), expected);
        }
    }
}
