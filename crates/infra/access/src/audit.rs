//! What was asked and what came of it, as JSON lines: nothing, the facts, or the bodies too, by rule.
//!
//! The rules are those of an audit policy: the first that fits says how much is written. Bodies that are secrets by
//! nature (Secrets, tokens) are never written, whatever the rules say.

mod secrecy;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use object::{Map, Value};
use serde_json::json;
use serve::call::User;
use tokio::sync::{mpsc, oneshot};

use self::secrecy::Secrecy;
use crate::attempt::{Attempt, What};
use crate::reviews::user_info;
use crate::rule::Rule;

/// How much is written about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing.
    None,
    /// Who, what, when and how it ended.
    Metadata,
    /// That and what was sent.
    Request,
    /// That and what was answered.
    RequestResponse,
}

/// Which requests are written about, and how much.
#[derive(Clone, Debug, Default)]
pub struct AuditPolicy {
    rules: Vec<AuditRule>,
    secrecy: Secrecy,
}

#[derive(Clone, Debug)]
struct AuditRule {
    level: Level,
    users: BTreeSet<String>,
    groups: BTreeSet<String>,
    verbs: BTreeSet<String>,
    namespaces: BTreeSet<String>,
    /// Resources and paths, as roles name them.
    on: Vec<Rule>,
}

/// A policy that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rules[{place}]: {why}")]
pub struct AuditPolicyError {
    /// Which rule.
    pub place: usize,
    /// What is wrong with it.
    pub why: String,
}

/// One request, for the log.
pub struct Event<'a> {
    /// How much is written.
    pub level: Level,
    /// The request's own id.
    pub id: &'a str,
    /// Who it counts as; `None` if nobody knows.
    pub user: Option<&'a User>,
    /// Who sent it, if that is somebody else.
    pub sender: Option<&'a User>,
    /// What it attempted.
    pub attempt: Option<&'a Attempt>,
    /// The path and query, as sent.
    pub uri: &'a str,
    /// Where from.
    pub address: Option<String>,
    /// The program that sent it.
    pub agent: &'a str,
    /// When it came and when it was answered, as dates.
    pub times: (&'a str, &'a str),
    /// The code it was answered with.
    pub code: u16,
    /// Whether the rules of access let it; admission or the resource may have refused it afterwards.
    pub is_allowed: bool,
    /// Why it was let, or why not.
    pub reason: &'a str,
    /// What admission noted about it.
    pub notes: &'a BTreeMap<String, String>,
    /// What was sent, if that is to be written.
    pub request: Option<Value>,
    /// What was answered, if that is to be written.
    pub response: Option<Value>,
}

impl AuditPolicy {
    /// Reads an `audit.k8s.io/v1` Policy.
    pub fn read(policy: &Value) -> Result<Self, AuditPolicyError> {
        let rules = policy["rules"].as_array().into_iter().flatten().enumerate();
        let rules = rules.map(|(place, rule)| {
            AuditRule::read(rule).map_err(|why| AuditPolicyError { place, why })
        });
        Ok(Self {
            rules: rules.collect::<Result<_, _>>()?,
            secrecy: Secrecy::default(),
        })
    }

    /// Never writes the bodies of these resources either, given by group, plural and kind.
    #[must_use]
    pub fn hiding(mut self, resources: &[(&str, &str, &str)]) -> Self {
        for resource in resources {
            self.secrecy.add(*resource);
        }
        self
    }

    /// How much is written about a request: what the first rule that fits says, nothing if none does.
    #[must_use]
    pub fn level(&self, user: &User, attempt: &Attempt) -> Level {
        let fitting = self.rules.iter().find(|rule| rule.fits(user, attempt));
        let level = fitting.map_or(Level::None, |rule| rule.level);
        if self.secrecy.covers(attempt) {
            return level.min(Level::Metadata);
        }
        level
    }

    /// What was sent and what was answered with this code, without bodies that are secrets by what they say they are.
    #[must_use]
    pub fn without_secrets(
        &self,
        request: Option<Value>,
        response: Option<Value>,
        code: u16,
    ) -> (Option<Value>, Option<Value>) {
        self.secrecy.strip(request, response, code)
    }
}

impl AuditRule {
    fn read(rule: &Value) -> Result<Self, String> {
        let level = match rule["level"].as_str().unwrap_or_default() {
            "None" => Level::None,
            "Metadata" => Level::Metadata,
            "Request" => Level::Request,
            "RequestResponse" => Level::RequestResponse,
            other => {
                return Err(format!(
                    "level {other:?} is none of None, Metadata, Request, RequestResponse"
                ));
            }
        };
        let mut on: Vec<Rule> = Vec::new();
        for resources in rule["resources"].as_array().into_iter().flatten() {
            let group = resources["group"].as_str().unwrap_or_default();
            let all = json!(["*"]);
            let named = resources["resources"].as_array().map(Vec::len);
            let names = if named.unwrap_or_default() == 0 {
                &all
            } else {
                &resources["resources"]
            };
            on.push(Rule::from_value(&json!({
                "verbs": ["*"], "apiGroups": [group], "resources": names,
                "resourceNames": resources["resourceNames"],
            })));
        }
        if rule["nonResourceURLs"].is_array() {
            on.push(Rule::from_value(
                &json!({"verbs": ["*"], "nonResourceURLs": rule["nonResourceURLs"]}),
            ));
        }
        let texts = |field: &str| -> BTreeSet<String> {
            let texts = rule[field].as_array().into_iter().flatten();
            texts.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        Ok(Self {
            level,
            users: texts("users"),
            groups: texts("userGroups"),
            verbs: texts("verbs"),
            namespaces: texts("namespaces"),
            on,
        })
    }

    fn fits(&self, user: &User, attempt: &Attempt) -> bool {
        let among = |texts: &BTreeSet<String>, text: &str| texts.is_empty() || texts.contains(text);
        let groups_fit =
            self.groups.is_empty() || user.groups.iter().any(|group| self.groups.contains(group));
        let place_fits = match &attempt.what {
            What::Resource(target) => among(&self.namespaces, &target.namespace),
            What::Path(_) => self.namespaces.is_empty(),
        };
        among(&self.users, &user.name)
            && groups_fit
            && among(&self.verbs, &attempt.verb)
            && place_fits
            && (self.on.is_empty() || self.on.iter().any(|rule| rule.allows(attempt)))
    }
}

impl Event<'_> {
    /// The line of the log.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let level = match self.level {
            Level::None => "None",
            Level::Metadata => "Metadata",
            Level::Request => "Request",
            Level::RequestResponse => "RequestResponse",
        };
        let mut event = json!({
            "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": level, "auditID": self.id,
            "stage": "ResponseComplete", "requestURI": self.uri,
        });
        if let Some(attempt) = self.attempt {
            event["verb"] = json!(attempt.verb);
            if let What::Resource(target) = &attempt.what {
                let mut object = Map::new();
                for (field, text) in [
                    ("resource", &target.resource),
                    ("namespace", &target.namespace),
                    ("name", &target.name),
                    ("apiGroup", &target.group),
                    ("apiVersion", &target.version),
                    ("subresource", &target.subresource),
                ] {
                    if !text.is_empty() {
                        object.insert(field.to_owned(), json!(text));
                    }
                }
                event["objectRef"] = Value::Object(object);
            }
        }
        // As upstream: the user is who sent it, and whom they act as stands apart.
        let (sender, acting) = match (self.sender, self.user) {
            (Some(sender), acting) => (Some(sender), acting),
            (None, user) => (user, None),
        };
        event["user"] = sender.map_or(json!({}), user_info);
        if let Some(acting) = acting {
            event["impersonatedUser"] = user_info(acting);
        }
        if let Some(address) = &self.address {
            event["sourceIPs"] = json!([address]);
        }
        if !self.agent.is_empty() {
            event["userAgent"] = json!(self.agent);
        }
        event["responseStatus"] = json!({"metadata": {}, "code": self.code});
        if let Some(request) = &self.request {
            event["requestObject"] = request.clone();
        }
        if let Some(response) = &self.response {
            event["responseObject"] = response.clone();
        }
        event["requestReceivedTimestamp"] = json!(self.times.0);
        event["stageTimestamp"] = json!(self.times.1);
        let decision = if self.is_allowed { "allow" } else { "forbid" };
        event["annotations"] = json!({
            "authorization.k8s.io/decision": decision, "authorization.k8s.io/reason": self.reason,
        });
        for (name, value) in self.notes {
            event["annotations"][name] = json!(value);
        }
        event
    }
}

/// Where the log is and how much of it is kept.
#[derive(Clone, Debug)]
pub struct LogOptions {
    /// The file that is written to.
    pub path: PathBuf,
    /// A larger file is put aside and a new one begun.
    pub largest: u64,
    /// How many files put aside are kept.
    pub kept: usize,
    /// Files put aside longer ago than this are removed; `None` keeps them.
    pub oldest: Option<Duration>,
}

/// Lines on their way to the file. When the disk is slow, requests wait: what happened is not forgotten.
#[derive(Clone)]
pub struct AuditLog {
    lines: mpsc::Sender<Piece>,
}

/// What the writer is sent.
enum Piece {
    Line(Vec<u8>),
    /// Everything before this is written when it is answered.
    Flush(oneshot::Sender<()>),
}

/// How many lines may be on their way.
const LINES: usize = 1024;

impl AuditLog {
    /// A log, and what writes it: run that on a thread that may block.
    pub fn open(options: LogOptions) -> io::Result<(Self, impl FnOnce() + Send + 'static)> {
        let (lines, mut coming) = mpsc::channel::<Piece>(LINES);
        let mut file = RotatingFile::open(options)?;
        let writer = move || {
            while let Some(piece) = coming.blocking_recv() {
                match piece {
                    Piece::Line(line) => {
                        if let Err(error) = file.write(&line) {
                            tracing::error!(%error, "audit line not written");
                        }
                    }
                    Piece::Flush(done) => done.send(()).unwrap_or_default(),
                }
            }
        };
        Ok((Self { lines }, writer))
    }

    /// Writes one line.
    pub async fn write(&self, event: &Event<'_>) {
        let mut line = event.to_value().to_string().into_bytes();
        line.push(b'\n');
        // The writer ends only with the process.
        drop(self.lines.send(Piece::Line(line)).await);
    }

    /// Waits until everything so far is in the file.
    pub async fn flush(&self) {
        let (done, written) = oneshot::channel();
        if self.lines.send(Piece::Flush(done)).await.is_ok() {
            drop(written.await);
        }
    }
}

struct RotatingFile {
    options: LogOptions,
    file: File,
    length: u64,
}

impl RotatingFile {
    fn open(options: LogOptions) -> io::Result<Self> {
        let file = append_to(&options.path)?;
        let length = file.metadata()?.len();
        Ok(Self {
            options,
            file,
            length,
        })
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        if self.length > 0 && self.length + line.len() as u64 > self.options.largest {
            self.put_aside()?;
        }
        self.file.write_all(line)?;
        self.length += line.len() as u64;
        Ok(())
    }

    /// `audit.log` becomes `audit.log.1`, that `audit.log.2`, and the oldest goes.
    fn put_aside(&mut self) -> io::Result<()> {
        let aside = |number: usize| {
            let mut name = self.options.path.clone().into_os_string();
            name.push(format!(".{number}"));
            PathBuf::from(name)
        };
        let is_missing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        for number in (1..self.options.kept).rev() {
            match fs::rename(aside(number), aside(number + 1)) {
                Err(error) if !is_missing(&error) => return Err(error),
                _ => {}
            }
        }
        if self.options.kept == 0 {
            fs::remove_file(&self.options.path)?;
        } else {
            fs::rename(&self.options.path, aside(1))?;
        }
        self.file = append_to(&self.options.path)?;
        self.length = 0;
        self.forget(SystemTime::now(), (1..=self.options.kept).map(aside))
    }

    /// Removes files that were put aside too long ago.
    fn forget(&self, now: SystemTime, aside: impl Iterator<Item = PathBuf>) -> io::Result<()> {
        let Some(oldest) = self.options.oldest else {
            return Ok(());
        };
        for path in aside {
            let Ok(written) = fs::metadata(&path).and_then(|about| about.modified()) else {
                continue; // There are fewer than may be.
            };
            if now.duration_since(written).unwrap_or_default() > oldest {
                fs::remove_file(&path)?;
            }
        }
        Ok(())
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;

    fn user(name: &str, group: &str) -> User {
        User {
            name: name.to_owned(),
            groups: vec![group.to_owned()],
            ..User::default()
        }
    }

    #[test]
    fn the_first_rule_that_fits_says_how_much_is_written() {
        let policy = AuditPolicy::read(&json!({"rules": [
            {"level": "None", "users": ["prober"]},
            {"level": "None", "nonResourceURLs": ["/healthz*", "/version"]},
            {"level": "RequestResponse", "resources": [{"group": "", "resources": ["pods"]}], "namespaces": ["shop"]},
            {"level": "Request", "resources": [{"group": "apps"}], "verbs": ["create", "delete"]},
            {"level": "RequestResponse", "resources": [{"group": "", "resources": ["secrets", "serviceaccounts/token"]}]},
            {"level": "RequestResponse", "resources": [{"group": "cluster.karmada.io"}]},
            {"level": "Metadata", "userGroups": ["ops"]},
        ]}))
        .unwrap();
        for (name, group, line, expected) in [
            (
                "prober",
                "",
                "GET /api/v1/namespaces/shop/pods",
                Level::None,
            ),
            ("ann", "", "GET /healthz/ping", Level::None),
            (
                "ann",
                "",
                "GET /api/v1/namespaces/shop/pods",
                Level::RequestResponse,
            ),
            ("ann", "", "GET /api/v1/namespaces/other/pods", Level::None),
            (
                "ann",
                "ops",
                "GET /api/v1/namespaces/other/pods",
                Level::Metadata,
            ),
            (
                "ann",
                "",
                "POST /apis/apps/v1/namespaces/a/deployments",
                Level::Request,
            ),
            (
                "ann",
                "",
                "PUT /apis/apps/v1/namespaces/a/deployments/d",
                Level::None,
            ),
            (
                "ann",
                "",
                "GET /api/v1/namespaces/a/secrets/s",
                Level::Metadata,
            ),
            (
                "ann",
                "",
                "POST /api/v1/namespaces/a/serviceaccounts/s/token",
                Level::Metadata,
            ),
            (
                "ann",
                "",
                "POST /apis/cluster.karmada.io/v1alpha1/clusters/m/proxy/api/v1/namespaces/a/secrets",
                Level::Metadata,
            ),
            (
                "ann",
                "",
                "GET /apis/cluster.karmada.io/v1alpha1/clusters/m",
                Level::RequestResponse,
            ),
        ] {
            let (method, path) = line.split_once(' ').unwrap();
            let method: Method = method.parse().unwrap();
            let attempt = Attempt::read(&method, path, "").unwrap();
            assert_eq!(
                policy.level(&user(name, group), &attempt),
                expected,
                "{name} {line}"
            );
        }
        assert_eq!(
            AuditPolicy::read(&json!({"rules": [{"level": "All"}]}))
                .unwrap_err()
                .to_string(),
            "rules[0]: level \"All\" is none of None, Metadata, Request, RequestResponse"
        );
    }

    #[test]
    fn a_full_file_is_put_aside_and_the_oldest_goes() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.log");
        let options = LogOptions {
            path: path.clone(),
            largest: 8,
            kept: 2,
            oldest: None,
        };
        let mut file = RotatingFile::open(options).unwrap();
        for line in [
            "one\n",
            "two\n",
            "three\n",
            "four\n",
            "a long line\n",
            "six\n",
        ] {
            file.write(line.as_bytes()).unwrap();
        }
        let shown =
            |name: &str| fs::read_to_string(directory.path().join(name)).unwrap_or_default();
        assert_eq!(
            [
                shown("audit.log"),
                shown("audit.log.1"),
                shown("audit.log.2"),
                shown("audit.log.3")
            ],
            ["six\n", "a long line\n", "four\n", ""]
        );
        file.options.oldest = Some(Duration::from_secs(3600));
        let aside = || [path.with_extension("log.1"), path.with_extension("log.2")].into_iter();
        let now = SystemTime::now();
        file.forget(now, aside()).unwrap();
        assert!(aside().all(|path| path.exists()));
        let later = now + Duration::from_secs(7200);
        file.forget(later, aside()).unwrap();
        assert!(!aside().any(|path| path.exists()));
    }
}
