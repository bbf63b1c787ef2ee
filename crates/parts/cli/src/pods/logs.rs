//! What containers wrote.

use client::Client;
use futures_util::stream::{self, StreamExt as _};
use object::Object;
use object::time::Time;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::PodQuery;
use super::choose;
use crate::failure::Failure;
use crate::lines::Lines;
use crate::reading::{self, Place, Scope, clean};

/// Which logs, and how much of them.
#[derive(Clone, Debug, Default)]
pub struct LogQuery {
    /// Which pod.
    pub pod: PodQuery,
    /// All pods with these labels instead; empty for none.
    pub selector: String,
    /// Go on as more is written.
    pub follow: bool,
    /// Of the container's life before this one.
    pub previous: bool,
    /// All containers of each pod.
    pub all_containers: bool,
    /// All pods of what is named, not the first one alone.
    pub all_pods: bool,
    /// The pod and the container before each line.
    pub prefix: bool,
    /// When each line was written.
    pub timestamps: bool,
    /// So many lines from the end; all if -1.
    pub tail: Option<i64>,
    /// Nothing older, in seconds.
    pub since_seconds: Option<i64>,
    /// Nothing from before this time.
    pub since_time: Option<String>,
    /// Not more than this; 0 for all.
    pub limit_bytes: Option<u64>,
    /// At most so many logs at once.
    pub at_once: usize,
    /// A log that cannot be read takes nothing away from the others.
    pub ignore_errors: bool,
}

/// As many lines as there are. Upstream: what is below it is a mistake.
const ALL_LINES: i64 = -1;
/// Lines of a selection begin here from the end unless a number is given, so that many pods do not drown each other.
const SELECTED_TAIL: i64 = 10;

struct Source {
    path: String,
    prefix: String,
}

/// Prints logs, line by line.
pub async fn logs(
    control: &Client,
    query: &LogQuery,
    print: reading::Sink<'_>,
    note: reading::Sink<'_>,
) -> Result<(), Failure> {
    check(query)?;
    let Some(cluster) = &query.pod.cluster else {
        return Err(Failure::refused(
            "must specify a cluster",
            "name one with -C; `karavel get pods -s members` shows where pods are",
        ));
    };
    let place = reading::place(control, Some(Scope::Members), Some(cluster)).await?;
    let namespace = choose::namespace(control, query.pod.namespace.as_deref());
    let mut pods = match query.selector.as_str() {
        "" => choose::find(&place, &namespace, &query.pod.word).await?,
        selector => choose::select(&place, &namespace, selector).await?,
    };
    if query.selector.is_empty() && !query.all_pods && pods.len() > 1 {
        let names: Vec<&str> = pods.iter().map(Object::name).collect();
        note(&format!(
            "Found {} pods, using pod/{}\n",
            names.len(),
            names.first().unwrap_or(&"")
        ))?;
        pods.truncate(1);
    }
    let sources = sources(query, &pods, &mut *note)?;
    if query.follow && sources.len() > query.at_once {
        return Err(Failure::refused(
            format!(
                "{} logs are to be followed at once, and {} may be",
                sources.len(),
                query.at_once
            ),
            format!("add --max-log-requests={}", sources.len()),
        ));
    }
    if query.follow && sources.len() > 1 {
        return follow_all(&place, sources, query, print, note).await;
    }
    for source in sources {
        let copied = copy(&place, &source, &mut *print).await;
        match copied {
            Err(failure) if query.ignore_errors => note(&format!("error: {failure}\n"))?,
            other => other?,
        }
    }
    Ok(())
}

/// Says what makes no sense, before anybody is asked.
fn check(query: &LogQuery) -> Result<(), Failure> {
    if let Some(lines) = query.tail.filter(|lines| *lines < ALL_LINES) {
        return Err(Failure::refused(
            format!("--tail must be greater than or equal to -1, and is {lines}"),
            "write how many lines from the end are wanted, or -1 for all",
        ));
    }
    match since_time(query).map(str::parse::<Time>) {
        Some(Err(error)) => Err(Failure::refused(
            format!("--since-time: {error}"),
            "write a time such as 2026-01-31T12:00:00Z",
        )),
        _ => Ok(()),
    }
}

/// What a script gives whose variable is not set is no time.
fn since_time(query: &LogQuery) -> Option<&str> {
    query.since_time.as_deref().filter(|time| !time.is_empty())
}

async fn copy(place: &Place, source: &Source, print: reading::Sink<'_>) -> Result<(), Failure> {
    let mut lines = Lines::new(place.open(&source.path).await?);
    while let Some(line) = lines.next().await {
        let line = line.map_err(|error| broken(place, error.as_ref()))?;
        print(&format!("{}{}\n", source.prefix, text(&line)))?;
    }
    Ok(())
}

async fn follow_all(
    place: &Place,
    sources: Vec<Source>,
    query: &LogQuery,
    print: reading::Sink<'_>,
    note: reading::Sink<'_>,
) -> Result<(), Failure> {
    let mut opened = Vec::new();
    for source in sources {
        match place.open(&source.path).await {
            Ok(body) => {
                let state = (Lines::new(body), source.prefix);
                opened.push(
                    stream::unfold(state, |(mut lines, prefix)| async move {
                        let line = lines.next().await?;
                        let line = line.map(|line| format!("{prefix}{}\n", text(&line)));
                        Some((line, (lines, prefix)))
                    })
                    .boxed(),
                );
            }
            Err(failure) if query.ignore_errors => note(&format!("error: {failure}\n"))?,
            Err(failure) => return Err(failure),
        }
    }
    let mut all = stream::select_all(opened);
    while let Some(line) = all.next().await {
        match line {
            Ok(line) => print(&line)?,
            Err(error) if query.ignore_errors => note(&format!("error: {error}\n"))?,
            Err(error) => return Err(broken(place, error.as_ref())),
        }
    }
    Ok(())
}

/// A log is its author's: what could steer the terminal is left to it, except that it has to be text.
fn text(line: &[u8]) -> String {
    String::from_utf8_lossy(line).into_owned()
}

fn broken(place: &Place, error: &(dyn std::error::Error + 'static)) -> Failure {
    Failure::failed(
        format!(
            "cluster({}): the log ended early: {}",
            place.name,
            telemetry::chain(error)
        ),
        "repeat; --since=1m shows the last minute alone",
    )
}

fn sources(
    query: &LogQuery,
    pods: &[Object],
    note: reading::Sink<'_>,
) -> Result<Vec<Source>, Failure> {
    let mut sources = Vec::new();
    for pod in pods {
        let containers = if query.all_containers {
            choose::containers(pod, true)
        } else {
            let (name, guessed) = choose::container(pod, query.pod.container.as_deref())?;
            if let Some(guessed) = guessed {
                note(&format!("{guessed}\n"))?;
            }
            vec![name]
        };
        for container in containers {
            sources.push(Source {
                path: path(query, pod, &container),
                prefix: match query.prefix {
                    true => format!("[pod/{}/{}] ", clean(pod.name()), clean(&container)),
                    false => String::new(),
                },
            });
        }
    }
    Ok(sources)
}

fn path(query: &LogQuery, pod: &Object, container: &str) -> String {
    let mut path = format!(
        "{}/log?container={container}",
        choose::pods().object_path(&pod.key())
    );
    for (name, wanted) in [
        ("follow", query.follow),
        ("previous", query.previous),
        ("timestamps", query.timestamps),
    ] {
        if wanted {
            path.push_str(&format!("&{name}=true"));
        }
    }
    let usual = (!query.selector.is_empty()).then_some(SELECTED_TAIL);
    let tail = query.tail.or(usual).filter(|lines| *lines >= 0);
    for (name, number) in [
        ("tailLines", tail),
        ("sinceSeconds", query.since_seconds),
        (
            "limitBytes",
            query
                .limit_bytes
                .filter(|limit| *limit > 0)
                .and_then(|limit| i64::try_from(limit).ok()),
        ),
    ] {
        if let Some(number) = number {
            path.push_str(&format!("&{name}={number}"));
        }
    }
    if let Some(time) = since_time(query) {
        path.push_str(&format!(
            "&sinceTime={}",
            utf8_percent_encode(time, NON_ALPHANUMERIC)
        ));
    }
    path
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_makes_no_sense_is_told_before_anybody_is_asked() {
        for (tail, since_time, expected) in [
            (None, None, ""),
            (Some(-1), Some("2026-01-31T12:00:00Z"), ""),
            (Some(0), Some("2026-01-31T12:00:00.5+02:00"), ""),
            (Some(-5), None, "--tail must be greater than or equal to -1"),
            (None, Some("foo"), "--since-time: "),
            (None, Some(""), ""),
            (None, Some("2026-01-31"), "--since-time: "),
        ] {
            let query = LogQuery {
                tail,
                since_time: since_time.map(str::to_owned),
                ..LogQuery::default()
            };
            let said = check(&query).map_or_else(|failure| failure.to_string(), |()| String::new());
            assert!(
                said.starts_with(expected),
                "{tail:?} {since_time:?}: {said}"
            );
            assert_eq!(
                said.is_empty(),
                expected.is_empty(),
                "{since_time:?}: {said}"
            );
        }
    }

    #[test]
    fn what_is_asked_for_is_in_the_path() {
        let pod = Object::from_value(json!({"metadata": {"name": "p", "namespace": "n"}})).unwrap();
        let query = |selector: &str, tail, follow| LogQuery {
            selector: selector.to_owned(),
            tail,
            follow,
            since_time: follow.then(|| "2026-01-01T00:00:00Z".to_owned()),
            limit_bytes: Some(u64::from(follow)),
            ..LogQuery::default()
        };
        let begin = "/api/v1/namespaces/n/pods/p/log?container=c";
        for (query, expected) in [
            (query("", None, false), ""),
            (query("a=b", None, false), "&tailLines=10"),
            (query("a=b", Some(-1), false), ""),
            (
                query("", Some(1), true),
                "&follow=true&tailLines=1&limitBytes=1&sinceTime=2026%2D01%2D01T00%3A00%3A00Z",
            ),
        ] {
            assert_eq!(path(&query, &pod, "c"), format!("{begin}{expected}"));
        }
    }
}
