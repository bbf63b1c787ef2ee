//! Delete and delete-collection.

use std::borrow::Cow;
use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use http::{Response, StatusCode};
use object::field::{FieldError, FieldPath};
use object::{Map, Value};
use store::{CommitError, Expect, Txn};

use crate::body::{self, Body};
use crate::call::{Call, Exhibit};
use crate::conversion::{convert_records, selectable};
use crate::intake;
use crate::lifecycle::{self, Farewell, Propagation};
use crate::listing;
use crate::negotiate::{Answer, Content, Wire};
use crate::options::{ListOptions, Params};
use crate::output::{Include, ListMeta};
use crate::record::Record;
use crate::select::Selection;
use crate::server::Server;
use crate::status::{Status, Subject};
use crate::target::{ResourceTarget, Verb};
use crate::verbs::write::{WRITE_ATTEMPTS, commit_failed, encode, record_of};
use crate::warning::warn;

/// How many objects of a collection are deleted at once: they are made durable together.
const REMOVED_AT_ONCE: usize = 16;

/// How a deletion is meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeleteOptions {
    /// What becomes of owned objects; `None` leaves it to the finalizers already there.
    pub(crate) propagation: Option<Propagation>,
    /// Only an object with this uid.
    pub(crate) uid: Option<String>,
    /// Only an object at this revision.
    pub(crate) resource_version: Option<String>,
    /// How many seconds it may take to end; `None` leaves it to the kind.
    pub(crate) grace: Option<i64>,
    /// Answer as if it were done.
    pub(crate) dry_run: bool,
    /// All of that as the client said it, for admission.
    sent: Map,
}

/// What a deletion came to.
enum Deleted {
    /// This was the last state.
    Gone(Arc<Record>),
    /// It waits for its finalizers.
    Held(Arc<Record>),
    /// It would wait or go, were this not a rehearsal.
    Rehearsed(Value),
}

impl DeleteOptions {
    /// From the query string and the body, which may be empty. The body counts where both say something.
    pub(crate) fn read(
        params: &Params,
        content: Content,
        bytes: &[u8],
        wire: Option<Wire>,
    ) -> Result<Self, Status> {
        let mut options = Self {
            dry_run: !params.texts("dryRun").is_empty(),
            ..Self::default()
        };
        let policy = params.text("propagationPolicy");
        if !policy.is_empty() {
            options.propagation = Some(propagation(policy)?);
        } else if !params.text("orphanDependents").is_empty() {
            options.propagation = Some(orphaning(params.flag("orphanDependents")?));
        }
        let grace = params.text("gracePeriodSeconds");
        if !grace.is_empty() {
            let seconds = grace.parse().map_err(|_| {
                Status::bad_request(format!("gracePeriodSeconds: not a number: {grace:?}"))
            })?;
            options.grace = Some(seconds);
        }
        options.sent = sent_in_query(params, options.grace)?;
        if bytes.is_empty() {
            return Ok(options);
        }
        let body = intake::decode_options(content, bytes, wire, "DeleteOptions")?;
        check_body(&body)?;
        if let Some(policy) = body.get("propagationPolicy").and_then(Value::as_str) {
            options.propagation = Some(propagation(policy)?);
        } else if let Some(orphan) = body.get("orphanDependents").and_then(Value::as_bool) {
            options.propagation = Some(orphaning(orphan));
        }
        let precondition = |name: &str| {
            body.get("preconditions")?
                .get(name)?
                .as_str()
                .map(str::to_owned)
        };
        if let Some(seconds) = body.get("gracePeriodSeconds").and_then(Value::as_i64) {
            options.grace = Some(seconds);
        }
        options.uid = precondition("uid");
        options.resource_version = precondition("resourceVersion");
        options.dry_run |= body
            .get("dryRun")
            .and_then(Value::as_array)
            .is_some_and(|list| !list.is_empty());
        for (name, _) in TYPES {
            let value = body.get(name).filter(|value| !value.is_null());
            if let Some(value) = value {
                options.sent.insert((*name).to_owned(), value.clone());
            }
        }
        Ok(options)
    }
}

impl Server {
    /// One object.
    pub(crate) async fn delete(
        &self,
        call: &Call,
        options: &DeleteOptions,
        answer: Answer,
    ) -> Result<Response<Body>, Status> {
        let mut warnings = Vec::new();
        let call = &as_sent(call, options);
        let deleted = self.remove(call, options, &mut warnings).await;
        let deleted = deleted.map_err(|status| status.with_warnings(&warnings))?;
        let mut response = match deleted {
            Deleted::Gone(record) if call.served.resource.rules.is_shown_when_gone() => {
                let record = self.in_asked_version(call, record).await?;
                self.show(call, &record, StatusCode::OK, answer, Include::default())
            }
            Deleted::Gone(record) => {
                let status = Status::deleted(call.subject(), record.head().uid);
                body::value(StatusCode::OK, answer.encoding, &status)
            }
            Deleted::Held(record) => {
                let record = self.in_asked_version(call, record).await?;
                self.show(call, &record, StatusCode::OK, answer, Include::default())
            }
            Deleted::Rehearsed(value) => body::value(StatusCode::OK, answer.encoding, &value),
        };
        warn(&mut response, &warnings);
        Ok(response)
    }

    /// Every selected object. Those gone or held by now are in the answer.
    pub(crate) async fn delete_collection(
        &self,
        call: &Call,
        list: &ListOptions,
        options: &DeleteOptions,
        answer: Answer,
    ) -> Result<Response<Body>, Status> {
        let call = &as_sent(call, options);
        let selection = Selection::new(&call.served, &call.target, list)?;
        let snapshot = self
            .cache
            .collection(&call.served.resource.collection)
            .snapshot();
        let seen = snapshot.clone();
        let seen = selectable(&call.served, &selection, seen, &*self.surroundings).await?;
        let selected = listing::page(&seen, &selection, &call.served, None, list.limit);
        // What goes is what is stored, in whatever version that is.
        let selected = selected.records.into_iter();
        let removals = selected.filter_map(|record| snapshot.objects.get(record.key()).cloned());
        let removals = removals.map(|record| self.remove_selected(call, options, record));
        let mut removals = stream::iter(removals).buffered(REMOVED_AT_ONCE);
        let (mut ended, mut warnings) = (Vec::new(), Vec::<String>::new());
        while let Some((removed, said)) = removals.next().await {
            // What is said of each of them is said once: long headers are cut short.
            let said = said.into_iter();
            let new: Vec<String> = said.filter(|text| !warnings.contains(text)).collect();
            warnings.extend(new);
            ended.extend(removed.map_err(|status| status.with_warnings(&warnings))?);
        }
        let meta = ListMeta {
            revision: self.cache.revision(),
            ..ListMeta::default()
        };
        let ended = convert_records(&call.served, ended, &*self.surroundings).await?;
        let bytes = self
            .output(call, answer, Include::default())
            .list(ended.iter().map(|record| &**record), &meta);
        let mut response = body::document(StatusCode::OK, answer.encoding, bytes.into());
        warn(&mut response, &warnings);
        Ok(response)
    }

    /// Deletes one object of a collection; `None` if it was gone or changed before. The texts are warnings.
    async fn remove_selected(
        &self,
        call: &Call,
        options: &DeleteOptions,
        record: Arc<Record>,
    ) -> (Result<Option<Arc<Record>>, Status>, Vec<String>) {
        let one = Call {
            user: call.user.clone(),
            verb: call.verb,
            target: ResourceTarget {
                namespace: record.head().namespace.to_string(),
                name: record.head().name.to_string(),
                ..call.target.clone()
            },
            served: call.served.clone(),
            options: call.options.clone(),
            applies: false,
            exhibit: Exhibit::Object,
            generates_name: false,
        };
        // Only the object that was selected: not one that took its name since.
        let options = DeleteOptions {
            uid: Some(record.head().uid.to_string()),
            ..options.clone()
        };
        let mut warnings = Vec::new();
        let removed = match self.remove(&one, &options, &mut warnings).await {
            Ok(Deleted::Gone(record) | Deleted::Held(record)) => Ok(Some(record)),
            Ok(Deleted::Rehearsed(_)) => Ok(Some(record)),
            Err(status) if matches!(status.code, 404 | 409) => Ok(None),
            Err(status) => Err(status),
        };
        (removed, warnings)
    }

    async fn remove(
        &self,
        call: &Call,
        options: &DeleteOptions,
        warnings: &mut Vec<String>,
    ) -> Result<Deleted, Status> {
        for _ in 0..WRITE_ATTEMPTS {
            let record = self
                .find(call)
                .ok_or_else(|| Status::not_found(call.subject()))?;
            check_preconditions(call.kind_subject(&call.target.name), options, &record)?;
            let old = record.value();
            let judged = with_grace(call, options, &old);
            warnings.extend(self.validate(&judged, Some(&old), None).await?);
            let resource = &call.served.resource;
            let told = resource.rules.undecided_deletion().map(str::to_owned);
            let told =
                told.filter(|told| options.propagation.is_none() && !warnings.contains(told));
            warnings.extend(told);
            // A kind that lets its dependents stay does so only while nobody has said otherwise.
            let by_default = Some(resource.rules.default_propagation())
                .filter(|policy| *policy == Propagation::Orphan);
            let propagation = options.propagation.or(by_default);
            let farewell = lifecycle::end(
                resource,
                &old,
                propagation,
                options.grace,
                self.surroundings.now(),
            );
            let key = self.store_key(call, &call.target.name)?;
            let txn = Txn::new().check(key.clone(), Expect::ModifiedAt(record.revision()));
            let txn = match (&farewell, options.dry_run) {
                (Farewell::Waiting, _) => return Ok(Deleted::Held(record)),
                (Farewell::Marked(marked), true) => {
                    return Ok(Deleted::Rehearsed(marked.clone()));
                }
                (Farewell::Gone, true) if resource.rules.is_shown_when_gone() => {
                    return Ok(Deleted::Held(record));
                }
                (Farewell::Gone, true) => {
                    return Ok(Deleted::Rehearsed(Status::deleted(
                        call.subject(),
                        record.head().uid,
                    )));
                }
                (Farewell::Marked(marked), false) => txn.put(key, encode(marked)),
                (Farewell::Gone, false) => txn.delete(key),
            };
            match self.store.commit(txn).await {
                Ok(committed) => {
                    self.taken_in(committed.revision).await;
                    let kept = committed
                        .outcomes
                        .into_iter()
                        .find_map(|outcome| outcome.current);
                    if kept.is_none() {
                        return Ok(Deleted::Gone(record));
                    }
                    return record_of(kept).map(Deleted::Held);
                }
                Err(CommitError::Conflict(conflict)) => {
                    self.taken_in(conflict.revision).await;
                }
                Err(other) => return Err(commit_failed(other)),
            }
        }
        Err(Status::stale(call.subject()))
    }
}

/// The call as admission sees it: what is said of the deletion, a rehearsal among it, may stand in the body.
fn as_sent(call: &Call, options: &DeleteOptions) -> Call {
    let mut call = call.clone();
    call.options.dry_run |= options.dry_run;
    call.options.deletion = Some(Value::Object(options.sent.clone()));
    call
}

/// The call with the time that an object which needs some is given to end. Upstream: admission sees what that comes to,
/// whatever was sent, unless a whole collection goes or the object was asked to go before.
fn with_grace<'c>(call: &'c Call, options: &DeleteOptions, old: &Value) -> Cow<'c, Call> {
    let is_marked = old.pointer("/metadata/deletionTimestamp").is_some();
    let given = call.served.resource.rules.grace(old, options.grace);
    let given = given.filter(|_| call.verb == Verb::Delete && !is_marked);
    let Some(seconds) = given else {
        return Cow::Borrowed(call);
    };
    let mut call = call.clone();
    let deletion = call.options.deletion.as_mut();
    if let Some(deletion) = deletion.and_then(Value::as_object_mut) {
        deletion.insert("gracePeriodSeconds".to_owned(), Value::from(seconds));
    }
    Cow::Owned(call)
}

/// What the query string says of a deletion, by the names the body has for it.
fn sent_in_query(params: &Params, grace: Option<i64>) -> Result<Map, Status> {
    let mut sent = Map::new();
    if let Some(seconds) = grace {
        sent.insert("gracePeriodSeconds".to_owned(), Value::from(seconds));
    }
    if !params.text("orphanDependents").is_empty() {
        let orphans = params.flag("orphanDependents")?;
        sent.insert("orphanDependents".to_owned(), Value::from(orphans));
    }
    let policy = params.text("propagationPolicy");
    if !policy.is_empty() {
        sent.insert("propagationPolicy".to_owned(), Value::from(policy));
    }
    let rehearsal = params.texts("dryRun");
    if !rehearsal.is_empty() {
        sent.insert("dryRun".to_owned(), Value::from(rehearsal));
    }
    Ok(sent)
}

fn check_preconditions(
    subject: Subject<'_>,
    options: &DeleteOptions,
    record: &Record,
) -> Result<(), Status> {
    if let Some(uid) = &options.uid
        && **uid != *record.head().uid
    {
        let found = record.head().uid;
        let why = format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({found}). The object might have been deleted and then recreated"
        );
        return Err(Status::conflict(subject, &why));
    }
    if let Some(version) = &options.resource_version {
        let found = record.revision().to_string();
        if *version != found {
            let why = format!(
                "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({found}). The object might have been modified"
            );
            return Err(Status::conflict(subject, &why));
        }
    }
    Ok(())
}

/// Refuses a body that says something else than a deletion can be told: nothing is deleted by mistake.
fn check_body(body: &Value) -> Result<(), Status> {
    let Some(fields) = body.as_object() else {
        return Err(Status::bad_request("DeleteOptions: expected an object"));
    };
    let kind = fields.get("kind").and_then(Value::as_str);
    if let Some(kind) = kind.filter(|kind| !matches!(*kind, "" | "DeleteOptions")) {
        return Err(Status::bad_request(format!(
            "the body is of kind {kind:?}, where DeleteOptions were expected"
        )));
    }
    let mistyped = TYPES.iter().find(|(name, is_right)| {
        let value = fields.get(*name);
        value.is_some_and(|value| !value.is_null() && !is_right(value))
    });
    if let Some((name, _)) = mistyped {
        return Err(Status::bad_request(format!(
            "DeleteOptions: {name}: has the wrong type"
        )));
    }
    let runs = fields.get("dryRun").and_then(Value::as_array);
    let runs = runs.map_or(&[][..], Vec::as_slice);
    if runs.iter().any(|run| run != "All") {
        let given = FieldPath::new("dryRun");
        return Err(refuse_options(FieldError::not_supported(
            given,
            runs.to_vec(),
            &["All"],
        )));
    }
    let policy = fields.get("propagationPolicy").and_then(Value::as_str);
    if let (Some(policy), Some(Value::Bool(_))) = (policy, fields.get("orphanDependents")) {
        return Err(refuse_options(FieldError::invalid(
            FieldPath::new("propagationPolicy"),
            policy,
            "orphanDependents and deletionPropagation cannot be both set",
        )));
    }
    Ok(())
}

/// Tells whether a value has the type it should have.
type IsRight = fn(&Value) -> bool;

/// What the fields of a body are.
const TYPES: &[(&str, IsRight)] = &[
    ("dryRun", Value::is_array),
    ("gracePeriodSeconds", Value::is_i64),
    ("orphanDependents", Value::is_boolean),
    ("preconditions", Value::is_object),
    ("propagationPolicy", Value::is_string),
];

fn refuse_options(error: FieldError) -> Status {
    let options = Subject {
        group: "meta.k8s.io",
        resource: "DeleteOptions",
        name: "",
    };
    Status::invalid(options, &[error])
}

fn propagation(text: &str) -> Result<Propagation, Status> {
    match text {
        "Background" => Ok(Propagation::Background),
        "Foreground" => Ok(Propagation::Foreground),
        "Orphan" => Ok(Propagation::Orphan),
        other => {
            let known = ["Foreground", "Background", "Orphan", "nil"];
            let given = FieldPath::new("propagationPolicy");
            Err(refuse_options(FieldError::not_supported(
                given, other, &known,
            )))
        }
    }
}

fn orphaning(orphan: bool) -> Propagation {
    if orphan {
        Propagation::Orphan
    } else {
        Propagation::Background
    }
}
