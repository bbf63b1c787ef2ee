//! What the query string asks for.

use std::collections::BTreeMap;
use std::time::Duration;

use object::Value;
use object::field::{FieldError, FieldPath};
use percent_encoding::percent_decode_str;

use crate::status::{Status, Subject};
use crate::target::Verb;

/// The query string, undone. The last value of a repeated key counts, except where a list is meant.
#[derive(Clone, Debug, Default)]
pub struct Params {
    values: BTreeMap<String, Vec<String>>,
}

/// How to list or watch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListOptions {
    /// As the client wrote it; parsed where it is used.
    pub label_selector: String,
    /// As the client wrote it; parsed where it is used.
    pub field_selector: String,
    /// At most so many objects; 0 means all.
    pub limit: usize,
    /// Where the previous page ended.
    pub continues: String,
    /// Which state.
    pub freshness: Freshness,
    /// Whether changes are wanted instead of a list.
    pub watch: bool,
    /// Whether a watch reports its progress.
    pub bookmarks: bool,
    /// Whether a watch begins with the whole state.
    pub initial_events: bool,
    /// When a watch ends.
    pub timeout: Option<Duration>,
}

/// Which state a reader will accept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Freshness {
    /// The newest.
    #[default]
    Newest,
    /// Whatever is at hand.
    Any,
    /// Not older than this revision.
    NotOlderThan(u64),
    /// Exactly this revision.
    Exactly(u64),
}

/// What to do about fields nobody knows and fields given twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldValidation {
    /// Drop them without a word.
    Ignore,
    /// Drop them and say so in a `Warning` header.
    #[default]
    Warn,
    /// Refuse the request.
    Strict,
}

/// How to write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Answer as if it were done, and do nothing.
    pub dry_run: bool,
    /// Who owns the fields written: as the client says, or as its program is called.
    pub field_manager: String,
    /// Whether the client named the manager itself.
    pub manager_is_named: bool,
    /// What to do about unknown and repeated fields.
    pub field_validation: FieldValidation,
    /// Whether the client said so itself.
    pub validation_is_named: bool,
    /// Whether an apply takes fields from their owners.
    pub force: bool,
    /// What a deletion was asked for with, as clients write `DeleteOptions`.
    pub deletion: Option<Value>,
}

impl Params {
    /// Reads a query string.
    pub fn parse(query: &str) -> Result<Self, Status> {
        let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            values.entry(undo(key)?).or_default().push(undo(value)?);
        }
        Ok(Self { values })
    }

    /// The last value of a key; empty if there is none.
    #[must_use]
    pub fn text(&self, key: &str) -> &str {
        self.values
            .get(key)
            .and_then(|values| values.last())
            .map_or("", String::as_str)
    }

    /// All values of a key.
    #[must_use]
    pub fn texts(&self, key: &str) -> &[String] {
        self.values.get(key).map_or(&[], Vec::as_slice)
    }

    /// A switch: `1` and `true` and a bare key are on.
    pub fn flag(&self, key: &str) -> Result<bool, Status> {
        let Some(value) = self.values.get(key).and_then(|values| values.last()) else {
            return Ok(false);
        };
        match value.as_str() {
            "0" | "false" | "False" | "FALSE" | "f" | "F" => Ok(false),
            _ => Ok(true),
        }
    }

    /// Whether a switch is there at all, on or off.
    fn has(&self, key: &str) -> bool {
        !self.text(key).is_empty()
    }

    /// A number that counts something. Upstream: one below 0 says as much as none.
    fn number(&self, key: &str) -> Result<Option<u64>, Status> {
        match self.text(key) {
            "" => Ok(None),
            text => match text.parse::<i64>() {
                Ok(number) => Ok(u64::try_from(number).ok()),
                Err(_) => Err(Status::bad_request(format!(
                    "invalid value for query parameter {key:?}: strconv.ParseInt: parsing {text:?}: invalid syntax"
                ))),
            },
        }
    }
}

/// How long a client is willing to wait for an answer, if it says so: `timeout`, which client libraries send along with
/// their own patience. Nothing at all and no time mean the server's own limit.
pub fn patience(params: &Params) -> Result<Option<Duration>, Status> {
    let text = params.text("timeout");
    if text.is_empty() {
        return Ok(None);
    }
    let parsed: object::duration::Duration = text.parse().map_err(|_| {
        Status::bad_request(format!(
            "invalid timeout specified in the request URL - time: invalid duration {text:?}"
        ))
    })?;
    Ok(Some(parsed.to_wait()).filter(|wait| !wait.is_zero()))
}

impl ListOptions {
    /// From the query string.
    pub fn from_params(params: &Params) -> Result<Self, Status> {
        let watch = params.flag("watch")?;
        if params.has("sendInitialEvents") && !watch {
            return Err(forbidden(
                "sendInitialEvents",
                "sendInitialEvents is forbidden for list",
            ));
        }
        Ok(Self {
            label_selector: params.text("labelSelector").to_owned(),
            field_selector: params.text("fieldSelector").to_owned(),
            limit: params
                .number("limit")?
                .map_or(0, |limit| usize::try_from(limit).unwrap_or(usize::MAX)),
            continues: params.text("continue").to_owned(),
            freshness: freshness(params, watch)?,
            watch,
            bookmarks: params.flag("allowWatchBookmarks")?,
            initial_events: params.flag("sendInitialEvents")?,
            // Upstream: less than no time is over at once, and none is as long as the server likes.
            timeout: match params.number("timeoutSeconds")? {
                None if params.has("timeoutSeconds") => Some(Duration::ZERO),
                seconds => seconds.filter(|given| *given > 0).map(Duration::from_secs),
            },
        })
    }
}

/// The longest name a manager of fields may give itself.
const MANAGER_BYTES: usize = 128;

impl WriteOptions {
    /// From the query string of a call of this verb, which `applies` or does not. `agent` is the client's `User-Agent`; the
    /// part before the slash names the program.
    pub fn from_params(
        params: &Params,
        agent: &str,
        verb: Verb,
        applies: bool,
    ) -> Result<Self, Status> {
        let kind = match verb {
            Verb::Update => "UpdateOptions",
            Verb::Patch => "PatchOptions",
            Verb::Delete | Verb::DeleteCollection => "DeleteOptions",
            _ => "CreateOptions",
        };
        let refuse = |error: FieldError| Err(invalid(kind, error));
        let dry_run = match params.texts("dryRun") {
            [] => false,
            all if all.iter().all(|value| value == "All") => true,
            other => {
                let given = FieldPath::new("dryRun");
                return refuse(FieldError::not_supported(given, other.to_vec(), &["All"]));
            }
        };
        let field_validation = match params.text("fieldValidation") {
            "" | "Warn" => FieldValidation::Warn,
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            other => {
                let given = FieldPath::new("fieldValidation");
                let known = ["", "Ignore", "Strict", "Warn"];
                return refuse(FieldError::not_supported(given, other, &known));
            }
        };
        let field_manager = params.text("fieldManager").to_owned();
        let given = FieldPath::new("fieldManager");
        if field_manager.len() > MANAGER_BYTES {
            return refuse(FieldError::too_long(given, MANAGER_BYTES));
        }
        let odd = |(_, character): &(usize, char)| character.is_control();
        if let Some((place, character)) = field_manager.char_indices().find(odd) {
            let why = format!(
                "invalid character U+{:04X} (at position {place})",
                u32::from(character)
            );
            return refuse(FieldError::invalid(given, field_manager, why));
        }
        if verb == Verb::Patch && !applies && params.has("force") {
            let why = "may not be specified for non-apply patch";
            return refuse(FieldError::forbidden(FieldPath::new("force"), why));
        }
        let manager_is_named = !field_manager.is_empty();
        let program = agent
            .split('/')
            .next()
            .unwrap_or_default()
            .chars()
            .filter(|c| !c.is_control())
            .take(128);
        Ok(Self {
            dry_run,
            field_manager: if manager_is_named {
                field_manager
            } else {
                program.collect()
            },
            manager_is_named,
            field_validation,
            validation_is_named: params.has("fieldValidation"),
            force: params.flag("force")?,
            deletion: None,
        })
    }
}

fn freshness(params: &Params, watch: bool) -> Result<Freshness, Status> {
    let version = params.text("resourceVersion");
    let matching = params.text("resourceVersionMatch");
    let number = || {
        version.parse::<u64>().map_err(|_| {
            Status::bad_request(format!(
                "invalid resource version: resourceVersion: Invalid value: {version:?}: \
                 strconv.ParseUint: parsing {version:?}: invalid syntax"
            ))
        })
    };
    let begins = params.has("sendInitialEvents");
    if watch && begins && matching != "NotOlderThan" {
        return Err(forbidden(
            "resourceVersionMatch",
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        ));
    }
    if watch && !matching.is_empty() && !begins {
        return Err(forbidden(
            "resourceVersionMatch",
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        ));
    }
    if !params.text("continue").is_empty() {
        if !matching.is_empty() {
            return Err(forbidden(
                "resourceVersionMatch",
                "resourceVersionMatch is forbidden when continue is provided",
            ));
        }
        if !version.is_empty() && version != "0" {
            return Err(Status::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        return Ok(Freshness::Newest);
    }
    match (matching, version) {
        ("", "") => Ok(Freshness::Newest),
        ("", "0") => Ok(Freshness::Any),
        ("", _) => Ok(Freshness::NotOlderThan(number()?)),
        ("NotOlderThan" | "Exact", "") if watch => Ok(Freshness::Newest),
        ("NotOlderThan" | "Exact", "") => Err(forbidden(
            "resourceVersionMatch",
            "resourceVersionMatch is forbidden unless resourceVersion is provided",
        )),
        ("NotOlderThan", "0") => Ok(Freshness::Any),
        ("NotOlderThan", _) => Ok(Freshness::NotOlderThan(number()?)),
        ("Exact", "0") => Err(forbidden(
            "resourceVersionMatch",
            "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
        )),
        ("Exact", _) => Ok(Freshness::Exactly(number()?)),
        (other, _) => {
            let given = FieldPath::new("resourceVersionMatch");
            let known = ["Exact", "NotOlderThan", ""];
            let unknown = FieldError::not_supported(given, other, &known);
            Err(invalid("ListOptions", unknown))
        }
    }
}

fn forbidden(field: &str, why: &str) -> Status {
    invalid(
        "ListOptions",
        FieldError::forbidden(FieldPath::new(field), why),
    )
}

/// A refusal of options, which are documents of a kind of their own.
fn invalid(kind: &str, error: FieldError) -> Status {
    let options = Subject {
        group: "meta.k8s.io",
        resource: kind,
        name: "",
    };
    Status::invalid(options, &[error])
}

fn undo(text: &str) -> Result<String, Status> {
    let spaced = text.replace('+', " ");
    percent_decode_str(&spaced)
        .decode_utf8()
        .map(std::borrow::Cow::into_owned)
        .map_err(|_| Status::bad_request(format!("query {text:?} is not valid UTF-8")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(query: &str) -> Result<ListOptions, String> {
        ListOptions::from_params(&Params::parse(query).unwrap()).map_err(|status| status.message)
    }

    #[test]
    fn freshness_follows_the_match_rules() {
        use Freshness::{Any, Exactly, Newest, NotOlderThan};
        for (query, expected) in [
            ("", Some(Newest)),
            ("resourceVersion=0", Some(Any)),
            ("resourceVersion=7", Some(NotOlderThan(7))),
            (
                "resourceVersion=7&resourceVersionMatch=NotOlderThan",
                Some(NotOlderThan(7)),
            ),
            (
                "resourceVersion=0&resourceVersionMatch=NotOlderThan",
                Some(Any),
            ),
            (
                "resourceVersion=7&resourceVersionMatch=Exact",
                Some(Exactly(7)),
            ),
            ("resourceVersion=0&resourceVersionMatch=Exact", None),
            ("resourceVersionMatch=Exact", None),
            ("resourceVersion=7&resourceVersionMatch=Sometimes", None),
            ("resourceVersion=x", None),
            ("continue=abc", Some(Newest)),
            ("continue=abc&resourceVersion=7", None),
            ("continue=abc&resourceVersionMatch=Exact", None),
            (
                "watch=1&resourceVersion=7&resourceVersionMatch=NotOlderThan",
                None,
            ),
            (
                "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
                Some(Newest),
            ),
            (
                "watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan",
                Some(Newest),
            ),
            ("watch=1&sendInitialEvents=false", None),
            ("sendInitialEvents=true", None),
            ("sendInitialEvents=false", None),
        ] {
            assert_eq!(
                list(query).ok().map(|options| options.freshness),
                expected,
                "{query}"
            );
        }
    }

    #[test]
    fn values_are_undone_and_switches_read() {
        let options =
            list("labelSelector=a%3Db%2Cc+in+%28d%29&limit=500&watch=true&timeoutSeconds=30")
                .unwrap();
        assert_eq!(options.label_selector, "a=b,c in (d)");
        assert_eq!(
            (options.limit, options.watch, options.timeout),
            (500, true, Some(Duration::from_secs(30)))
        );
        assert_eq!(list("limit=-1").unwrap().limit, 0);
        for (query, lasts) in [
            ("watch=1", None),
            ("watch=1&timeoutSeconds=0", None),
            ("watch=1&timeoutSeconds=-1", Some(Duration::ZERO)),
            ("watch=1&timeoutSeconds=7", Some(Duration::from_secs(7))),
        ] {
            assert_eq!(list(query).unwrap().timeout, lasts, "{query}");
        }
        assert!(list("limit=x").is_err());
        let write_by = |query: &str, verb, applies| {
            let params = Params::parse(query).unwrap();
            WriteOptions::from_params(&params, "kubectl/v1", verb, applies).map_err(|s| s.message)
        };
        let write = |query: &str| write_by(query, Verb::Create, false);
        assert!(write_by("force=true", Verb::Patch, true).unwrap().force);
        assert!(write_by("force=true", Verb::Patch, false).is_err());
        assert!(write("dryRun=All").unwrap().dry_run);
        assert!(write("dryRun=Some").is_err());
        assert_eq!(
            write("fieldValidation=Strict").unwrap().field_validation,
            FieldValidation::Strict
        );
        assert!(write("fieldValidation=Maybe").is_err());
        assert!(write(&format!("fieldManager={}", "a".repeat(129))).is_err());
        assert!(
            write("fieldManager=ab%07")
                .unwrap_err()
                .ends_with("invalid character U+0007 (at position 2)")
        );
    }
}
