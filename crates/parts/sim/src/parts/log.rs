//! `pods/log`: lines a container seems to have written, one when it starts and one every ten seconds.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use object::time::Time;
use object::{Object, Value};
use serve::body::{self, Body};
use serve::cache::Collection;
use serve::call::Call;
use serve::handler::{Asked, Handler, Outcome};
use serve::options::Params;
use serve::server::Server;
use serve::status::Status;

use runtime::Clock;

use crate::faults::Faults;
use crate::parts::kubelet::{self, Errand};
use crate::read;

/// Seconds between two lines.
const PERIOD: i64 = 10;
/// How often it is looked whether a container that is followed still runs.
const LOOK: Duration = Duration::from_secs(1);
/// As many lines as are shown at most.
const MOST: i64 = 10_000;

/// Answers for logs.
pub(crate) struct Log {
    pub(crate) clock: Clock,
    pub(crate) faults: Faults,
}

/// Which lines are wanted.
struct Wanted {
    container: String,
    tail: Option<i64>,
    /// As many bytes as are shown at most.
    limit: Option<usize>,
    since: Option<Time>,
    timestamps: bool,
    previous: bool,
    follow: bool,
}

/// When a container ran.
#[derive(Clone, Copy)]
struct Run {
    from: Time,
    to: Option<Time>,
}

impl Handler for Log {
    fn answer<'a>(&'a self, server: &'a Server, call: &'a Call, asked: Asked) -> Outcome<'a> {
        Box::pin(std::future::ready(self.show(server, call, &asked)))
    }
}

impl Log {
    fn show(&self, server: &Server, call: &Call, asked: &Asked) -> Result<Response<Body>, Status> {
        let params = Params::parse(asked.parts.uri.query().unwrap_or_default())?;
        let collection = server.cache().collection("core/pods");
        let key = serve::cache::object_key(&call.target.namespace, &call.target.name);
        let pod = collection
            .find(&key)
            .and_then(|record| Object::from_value(record.value()).ok())
            .ok_or_else(|| Status::not_found(call.subject()))?;
        let now = self.clock.now();
        let wanted = wanted(&params, &pod, now)?;
        kubelet::reach(server, &self.faults, &pod, Errand::Log(&wanted.container))?;
        let run = run_of(&pod, &wanted)?;
        let name = wanted.container.clone();
        let mut text = lines(&pod, &name, run, now, &wanted).concat();
        let timestamps = wanted.timestamps;
        let mut left = wanted.limit;
        cut(&mut text, &mut left);
        if !wanted.follow || run.to.is_some() {
            return Ok(body::text(StatusCode::OK, text));
        }
        let begin = Follow {
            collection,
            key,
            pod,
            name,
            run,
            clock: self.clock.clone(),
            next: due_after(run, now),
            timestamps,
            left,
            first: Some(text),
        };
        let stream = futures_util::stream::unfold(begin, Follow::next);
        let mut response = Response::new(Body::Stream(Box::pin(stream)));
        let media = HeaderValue::from_static("text/plain; charset=utf-8");
        response.headers_mut().insert(CONTENT_TYPE, media);
        Ok(response)
    }
}

/// What a container of a pod that runs writes from now on, after one line that shows that it is there.
pub(crate) fn follow(
    collection: Arc<Collection>,
    key: String,
    pod: &Object,
    container: String,
    clock: &Clock,
) -> impl Stream<Item = Bytes> + Send + use<> {
    let now = clock.now();
    let run = Run {
        from: read::running_since(pod, &container).unwrap_or(now),
        to: None,
    };
    let next = due_after(run, now);
    let present = next.plus_seconds(-PERIOD);
    let begin = Follow {
        first: Some(line(pod, &container, run.from, present, false)),
        collection,
        key,
        pod: pod.clone(),
        name: container,
        run,
        clock: clock.clone(),
        next,
        timestamps: false,
        left: None,
    };
    futures_util::stream::unfold(begin, Follow::next)
}

/// A log that is followed.
struct Follow {
    collection: Arc<Collection>,
    key: String,
    pod: Object,
    name: String,
    run: Run,
    clock: Clock,
    next: Time,
    timestamps: bool,
    /// As many bytes as may still be shown.
    left: Option<usize>,
    first: Option<String>,
}

impl Follow {
    async fn next(mut self) -> Option<(Bytes, Self)> {
        if let Some(first) = self.first.take().filter(|first| !first.is_empty()) {
            return Some((first.into(), self));
        }
        if self.left == Some(0) {
            return None;
        }
        loop {
            let wait = self.clock.until(self.next);
            tokio::time::sleep(wait.clamp(Duration::from_millis(1), LOOK)).await;
            if !self.runs() {
                return None;
            }
            if self.clock.now() < self.next {
                continue;
            }
            let (pod, name) = (&self.pod, &self.name);
            let mut line = line(pod, name, self.run.from, self.next, self.timestamps);
            cut(&mut line, &mut self.left);
            self.next = self.next.plus_seconds(PERIOD);
            return Some((line.into(), self));
        }
    }

    /// Whether the container still does, and was not started again.
    fn runs(&self) -> bool {
        let Some(record) = self.collection.find(&self.key) else {
            return false;
        };
        if record.head().uid != self.pod.uid() {
            return false;
        }
        let pod = Object::from_value(record.value()).ok();
        pod.and_then(|pod| read::running_since(&pod, &self.name)) == Some(self.run.from)
    }
}

fn wanted(params: &Params, pod: &Object, now: Time) -> Result<Wanted, Status> {
    let containers: Vec<&str> = read::CONTAINERS
        .iter()
        .flat_map(|list| read::list(pod, &["spec", list]))
        .map(|container| read::text(container, "name"))
        .collect();
    let main = read::list(pod, &["spec", "containers"]);
    let asked = params.text("container");
    let container = match (asked, main) {
        ("", [only]) => read::text(only, "name").to_owned(),
        ("", _) => {
            let why = format!(
                "a container name must be specified for pod {}, choose one of: [{}]",
                pod.name(),
                containers.join(" ")
            );
            return Err(Status::bad_request(why));
        }
        (name, _) if containers.contains(&name) => name.to_owned(),
        (name, _) => {
            let why = format!("container {name} is not valid for pod {}", pod.name());
            return Err(Status::bad_request(why));
        }
    };
    let number = |name: &str| -> Result<Option<i64>, Status> {
        match params.text(name) {
            "" => Ok(None),
            text => text
                .parse()
                .map(Some)
                .map_err(|_| Status::bad_request(format!("{name}: not a number: {text:?}"))),
        }
    };
    let since = match number("sinceSeconds")? {
        Some(seconds) => Some(now.plus_seconds(seconds.saturating_neg())),
        None => params.text("sinceTime").parse().ok(),
    };
    let limit = match number("limitBytes")? {
        Some(bytes) if bytes < 1 => {
            let why = format!("limitBytes: Invalid value: {bytes}: must be greater than 0");
            return Err(Status::bad_request(why));
        }
        bytes => bytes.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
    };
    Ok(Wanted {
        limit,
        container,
        tail: number("tailLines")?,
        since,
        timestamps: params.flag("timestamps")?,
        previous: params.flag("previous")?,
        follow: params.flag("follow")?,
    })
}

/// When the container ran, or the run before.
fn run_of(pod: &Object, wanted: &Wanted) -> Result<Run, Status> {
    let name = &wanted.container;
    let status = read::container_status(pod, name);
    let state = |field: &str| status.and_then(|status| status.get(field));
    let ended = |state: &Value| {
        let terminated = state.get("terminated")?;
        Some(Run {
            from: read::time(terminated, "startedAt")?,
            to: read::time(terminated, "finishedAt"),
        })
    };
    if wanted.previous {
        return state("lastState").and_then(ended).ok_or_else(|| {
            let why = format!(
                "previous terminated container {name:?} in pod {:?} not found",
                pod.name()
            );
            Status::bad_request(why)
        });
    }
    let running = state("state").and_then(|state| {
        Some(Run {
            from: read::time(state.get("running")?, "startedAt")?,
            to: None,
        })
    });
    let run = running
        .or_else(|| state("state").and_then(ended))
        .or_else(|| state("lastState").and_then(ended));
    run.ok_or_else(|| {
        let reason = state("state")
            .and_then(|state| state.pointer("/waiting/reason"))
            .and_then(Value::as_str)
            .unwrap_or("ContainerCreating");
        let why = format!(
            "container {name:?} in pod {:?} is waiting to start: {reason}",
            pod.name()
        );
        Status::bad_request(why)
    })
}

fn lines(pod: &Object, name: &str, run: Run, now: Time, wanted: &Wanted) -> Vec<String> {
    let end = run.to.unwrap_or(now);
    let count = (end.seconds_since(run.from).max(0) / PERIOD + 1).min(MOST);
    let mut lines: Vec<String> = (0..count)
        .map(|place| run.from.plus_seconds(place.saturating_mul(PERIOD)))
        .filter(|at| wanted.since.is_none_or(|since| *at >= since))
        .map(|at| line(pod, name, run.from, at, wanted.timestamps))
        .collect();
    if let Some(tail) = wanted.tail {
        let keep = usize::try_from(tail.max(0)).unwrap_or(usize::MAX);
        let surplus = lines.len().saturating_sub(keep);
        lines.drain(..surplus);
    }
    lines
}

/// Shortens a text to as many bytes as are left, and counts them.
fn cut(text: &mut String, left: &mut Option<usize>) {
    let Some(left) = left else { return };
    text.truncate(text.floor_char_boundary(*left));
    *left = left.saturating_sub(text.len());
}

fn due_after(run: Run, now: Time) -> Time {
    let passed = now.seconds_since(run.from).max(0) / PERIOD;
    run.from.plus_seconds((passed + 1).saturating_mul(PERIOD))
}

fn line(pod: &Object, container: &str, from: Time, at: Time, timestamps: bool) -> String {
    let number = at.seconds_since(from) / PERIOD;
    let stamp = if timestamps {
        format!("{at} ")
    } else {
        String::new()
    };
    match number {
        0 => format!("{stamp}{container} started in pod {}\n", pod.name()),
        number => {
            format!("{stamp}{container} is well, {number} times {PERIOD} seconds after its start\n")
        }
    }
}
