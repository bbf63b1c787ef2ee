//! Create and update.

use std::sync::Arc;
use std::time::Duration;

use http::{Response, StatusCode};
use object::field::{FieldError, FieldPath};
use object::{Map, Value};
use store::{CommitError, Entry, Expect, Key, Txn};

use crate::body::{self, Body};
use crate::cache;
use crate::call::{Call, Exhibit};
use crate::intake::{self, Taken};
use crate::lifecycle::{self, Stamp};
use crate::negotiate::{Answer, Content};
use crate::output::Include;
use crate::pipeline::name_of;
use crate::record::{self, Record};
use crate::resource::SchemaDuty;
use crate::server::Server;
use crate::status::{Status, Subject};
use crate::target::Verb;
use crate::warning::warn;

/// How often a generated name may be taken before the client hears of it.
const NAME_ATTEMPTS: usize = 8;
/// How often a write that did not insist on a revision is tried anew on top of a later one.
pub(crate) const WRITE_ATTEMPTS: usize = 32;

/// Makes the new object from the present one, both in the version of the call.
pub(crate) type Edit<'e> = &'e (dyn Fn(&Value) -> Result<Value, Status> + Send + Sync);

/// What a write came to.
pub(crate) enum Written {
    /// It is stored.
    Stored(Arc<Record>),
    /// Nothing differs from what is stored.
    Unchanged(Arc<Record>),
    /// The last finalizer went, and the object with it. This was its last state.
    Gone(Value),
    /// It would be stored, were this not a rehearsal.
    Rehearsed(Value),
}

/// Why a new object was not stored.
pub(crate) enum NotMade {
    /// Its name is taken.
    Taken(Status),
    /// Anything else, also a webhook's refusal that gives the same reason.
    Refused(Status),
}

/// What came of one attempt to write.
enum Attempt {
    /// It was made.
    Made(Written),
    /// Somebody else wrote in between, and the client did not insist on what it had seen. This is there now.
    Lost(Option<Arc<Entry>>),
}

impl Server {
    /// A new object from a body.
    pub(crate) async fn create(
        &self,
        call: &Call,
        content: Content,
        bytes: &[u8],
        answer: Answer,
    ) -> Result<Response<Body>, Status> {
        let Taken {
            object,
            mut warnings,
        } = intake::object(call, content, bytes)?;
        self.check_sent(call, &object)?;
        let written = self.store_new(call, object, &mut warnings).await;
        let written = written.map_err(|why| Status::from(why).with_warnings(&warnings))?;
        self.report(call, &written, StatusCode::CREATED, answer, &warnings)
            .await
    }

    /// A whole object replaced.
    pub(crate) async fn update(
        &self,
        call: &Call,
        content: Content,
        bytes: &[u8],
        answer: Answer,
    ) -> Result<Response<Body>, Status> {
        let Taken {
            object,
            mut warnings,
        } = intake::object(call, content, bytes)?;
        // Upstream: what cannot be decoded is told of before what cannot be found.
        self.check_sent(call, &object)?;
        let rules = &call.served.resource.rules;
        let is_made = call.target.subresource.is_empty() && rules.is_created_by_update();
        if is_made && self.find(call).is_none() {
            match self.store_new(call, object.clone(), &mut warnings).await {
                // Somebody else made it in between: then it is there to be replaced.
                Err(NotMade::Taken(_)) => {}
                Err(NotMade::Refused(status)) => return Err(status.with_warnings(&warnings)),
                Ok(written) => {
                    return self
                        .report(call, &written, StatusCode::CREATED, answer, &warnings)
                        .await;
                }
            }
        }
        let written = self
            .replace(call, &mut warnings, &|_| Ok(object.clone()))
            .await
            .map_err(|status| status.with_warnings(&warnings))?;
        self.report(call, &written, StatusCode::OK, answer, &warnings)
            .await
    }

    /// Changes the object of a call the way a handler decides, through the rules of the part the call is aimed at. The
    /// edit may be made several times, each on top of what others wrote meanwhile. Admission is not asked: the handler
    /// showed it the document ([`Server::mutate_sent`], [`Server::validate_sent`]).
    pub async fn change(
        &self,
        call: &Call,
        edit: &(dyn Fn(&Value) -> Result<Value, Status> + Send + Sync),
    ) -> Result<(), Status> {
        let call = Call {
            exhibit: Exhibit::Nothing,
            ..call.clone()
        };
        self.replace(&call, &mut Vec::new(), edit).await.map(drop)
    }

    /// Stores an object that must not exist.
    pub(crate) async fn store_new(
        &self,
        call: &Call,
        object: Value,
        warnings: &mut Vec<String>,
    ) -> Result<Written, NotMade> {
        if !name_of(&object).is_empty() {
            return self.try_store_new(call, object, warnings).await;
        }
        let call = Call {
            generates_name: call.target.name.is_empty(),
            ..call.clone()
        };
        let mut refusal = None;
        for _ in 0..NAME_ATTEMPTS {
            match self.try_store_new(&call, object.clone(), warnings).await {
                Err(NotMade::Taken(status)) => refusal = Some(status),
                other => return other,
            }
        }
        let untried = || Status::internal("no name was tried", None);
        Err(NotMade::Taken(refusal.unwrap_or_else(untried)))
    }

    async fn try_store_new(
        &self,
        call: &Call,
        mut object: Value,
        warnings: &mut Vec<String>,
    ) -> Result<Written, NotMade> {
        let resource = &call.served.resource;
        let stamp = Stamp {
            now: self.surroundings.now(),
            uid: self.surroundings.uid(),
            suffix: self.surroundings.suffix(),
        };
        lifecycle::begin(resource, &mut object, &stamp)?;
        self.complete(call, &mut object);
        let version = &call.served.version().name;
        // Upstream: what the server or admission adds belongs to nobody, so that no client takes it away again.
        let is_owned_as_sent = resource.rules.adds_on_create();
        if is_owned_as_sent && !call.applies {
            self.own_fields(call, None, &mut object);
        }
        resource
            .rules
            .prepare_create(version, &mut object, stamp.now);
        if !is_owned_as_sent && !call.applies {
            self.own_fields(call, None, &mut object);
        }
        warnings.extend(self.mutate(call, None, &mut object).await?);
        self.judge(call, None, &object)?;
        if resource.rules.schema_duty() == SchemaDuty::Everything {
            warnings.extend(lifecycle::odd_finalizers(None, &object));
        }
        warnings.extend(self.validate(call, None, Some(&object)).await?);
        let name = name_of(&object).to_owned();
        let subject = Subject {
            name: &name,
            ..call.subject()
        };
        if call.options.dry_run {
            let key = cache::object_key(&call.target.namespace, &name);
            return match self.cache.collection(&resource.collection).find(&key) {
                Some(there) => Err(NotMade::Taken(taken(subject, Some(&there)))),
                None => Ok(Written::Rehearsed(object)),
            };
        }
        let key = self.store_key(call, &name)?;
        let stored = self.stored_form(call, object).await?;
        let value = encode(&stored);
        let bytes = value.len();
        let txn = Txn::new()
            .check(key.clone(), Expect::Absent)
            .put(key, value);
        match self.store.commit(txn).await {
            Ok(committed) => {
                self.recent.put(committed.revision, bytes, stored);
                self.taken_in(committed.revision).await;
                let entry = committed
                    .outcomes
                    .into_iter()
                    .find_map(|outcome| outcome.current);
                Ok(Written::Stored(self.recorded(call, &name, entry)?))
            }
            Err(CommitError::Conflict(conflict)) => {
                let there = record_of(conflict.current).ok();
                Err(NotMade::Taken(taken(subject, there.as_ref())))
            }
            Err(other) => Err(commit_failed(other).into()),
        }
    }

    /// Replaces an object with what `edit` makes of it. An edit that does not insist on a revision is made again on top
    /// of what others wrote meanwhile.
    pub(crate) async fn replace(
        &self,
        call: &Call,
        warnings: &mut Vec<String>,
        edit: Edit<'_>,
    ) -> Result<Written, Status> {
        let missing = || Status::not_found(call.subject());
        let mut current = self.find(call).ok_or_else(missing)?;
        for attempt in 0..WRITE_ATTEMPTS {
            // Two who write as fast as they can fall into step, and one of them would always come second. What is there by
            // the end of the pause comes with the next refusal, after which there is none.
            if attempt > 0 && attempt % 4 == 0 {
                tokio::time::sleep(self.chance_pause()).await;
            }
            let mut said = Vec::new();
            let attempt = self.try_replace(call, &current, &mut said, edit).await;
            match attempt.map_err(|status| status.with_warnings(&said))? {
                Attempt::Made(written) => {
                    warnings.extend(said);
                    return Ok(written);
                }
                // Whoever lost goes on from what the store has, before the winner has heard of it and writes again.
                Attempt::Lost(entry) => {
                    current = record_of(Some(entry.ok_or_else(missing)?))?;
                }
            }
        }
        Err(Status::stale(call.subject()))
    }

    /// Up to a few milliseconds, by chance.
    fn chance_pause(&self) -> Duration {
        let chance = self
            .surroundings
            .suffix()
            .bytes()
            .map(u64::from)
            .sum::<u64>();
        Duration::from_millis(chance % 8)
    }

    /// One attempt.
    async fn try_replace(
        &self,
        call: &Call,
        current: &Arc<Record>,
        warnings: &mut Vec<String>,
        edit: Edit<'_>,
    ) -> Result<Attempt, Status> {
        let resource = &call.served.resource;
        let old = self.asked_form(call, self.value_of(current)).await?;
        let mut new = edit(&old)?;
        let insists = check_preconditions(call, &old, &new)?;
        let ends = lifecycle::check_end(&old, &new);
        if !ends.is_empty() {
            return Err(Status::invalid(call.kind_subject(&call.target.name), &ends));
        }
        if !insists
            && call.verb == Verb::Update
            && !matches!(call.exhibit, Exhibit::Scale(_))
            && resource.rules.needs_revision()
        {
            return Err(unconditional(call));
        }
        if !insists {
            // Upstream: whoever names no revision writes on top of the one there is.
            set_revision(&mut new, &old);
        }
        // A patch carries the revision of what it was made from: it is made again on top of what others wrote, and then
        // still has the revision it names itself, if it names one.
        let insists = insists && call.verb != Verb::Patch;
        self.complete(call, &mut new);
        let version = &call.served.version().name;
        resource
            .rules
            .prepare_update(version, &old, &mut new, &call.target.subresource);
        lifecycle::go_on(resource, &old, &mut new, &call.target.subresource);
        if !call.applies {
            self.own_fields(call, Some(&old), &mut new);
        }
        warnings.extend(self.mutate(call, Some(&old), &mut new).await?);
        lifecycle::go_on(resource, &old, &mut new, &call.target.subresource);
        self.judge(call, Some(&old), &new)?;
        if resource.rules.schema_duty() == SchemaDuty::Everything {
            warnings.extend(lifecycle::odd_finalizers(Some(&old), &new));
        }
        warnings.extend(self.validate(call, Some(&old), Some(&new)).await?);
        set_revision(&mut new, &old);
        if old == new {
            return Ok(Attempt::Made(Written::Unchanged(Arc::clone(current))));
        }
        if call.options.dry_run {
            return Ok(Attempt::Made(Written::Rehearsed(new)));
        }
        let key = self.store_key(call, &call.target.name)?;
        let txn = Txn::new().check(key.clone(), Expect::ModifiedAt(current.revision()));
        if lifecycle::may_go(resource, &new) {
            return match self.store.commit(txn.delete(key)).await {
                Ok(committed) => {
                    self.taken_in(committed.revision).await;
                    Ok(Attempt::Made(Written::Gone(new)))
                }
                Err(error) => not_written(call, error, insists),
            };
        }
        let stored = self.stored_form(call, new).await?;
        let value = encode(&stored);
        let bytes = value.len();
        match self.store.commit(txn.put(key, value)).await {
            Ok(committed) => {
                self.recent.put(committed.revision, bytes, stored);
                self.taken_in(committed.revision).await;
                let entry = committed
                    .outcomes
                    .into_iter()
                    .find_map(|outcome| outcome.current);
                let record = self.recorded(call, &call.target.name, entry)?;
                Ok(Attempt::Made(Written::Stored(record)))
            }
            Err(error) => not_written(call, error, insists),
        }
    }

    /// The object of a record, in the form it is stored in. One that was written a moment ago is not parsed again.
    fn value_of(&self, record: &Record) -> Value {
        let Some(mut value) = self.recent.take(record.revision()) else {
            return record.value();
        };
        record::set_revision(&mut value, record.revision());
        // Bytes leave it out, and so would a value that was parsed from them.
        if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.shift_remove("selfLink");
        }
        value
    }

    /// What was written, read once: by the cache if that has come so far, which it mostly has.
    fn recorded(
        &self,
        call: &Call,
        name: &str,
        entry: Option<Arc<Entry>>,
    ) -> Result<Arc<Record>, Status> {
        let key = cache::object_key(&call.target.namespace, name);
        let collection = self.cache.collection(&call.served.resource.collection);
        let is_it = |record: &Arc<Record>| {
            let entry = entry.as_ref();
            entry.is_some_and(|entry| record.revision() == entry.modified)
        };
        match collection.find(&key).filter(is_it) {
            Some(record) => Ok(record),
            None => record_of(entry),
        }
    }

    /// The answer to a write.
    pub(crate) async fn report(
        &self,
        call: &Call,
        written: &Written,
        code: StatusCode,
        answer: Answer,
        warnings: &[String],
    ) -> Result<Response<Body>, Status> {
        let mut response = match written {
            Written::Stored(record) | Written::Unchanged(record) => {
                let record = self.in_asked_version(call, Arc::clone(record)).await?;
                self.show(call, &record, code, answer, Include::default())
            }
            Written::Gone(value) | Written::Rehearsed(value) => {
                let mut out = Vec::new();
                self.output(call, answer, Include::default())
                    .write_value(value, &mut out);
                body::document(code, answer.encoding, out.into())
            }
        };
        warn(&mut response, warnings);
        Ok(response)
    }

    /// The key of an object of the call in the store.
    pub(crate) fn store_key(&self, call: &Call, name: &str) -> Result<Key, Status> {
        let key = cache::store_key(
            &call.served.resource.collection,
            &call.target.namespace,
            name,
        );
        Key::new(key).map_err(|error| Status::bad_request(error.to_string()))
    }
}

impl From<Status> for NotMade {
    fn from(status: Status) -> Self {
        Self::Refused(status)
    }
}

impl From<NotMade> for Status {
    fn from(why: NotMade) -> Self {
        match why {
            NotMade::Taken(status) | NotMade::Refused(status) => status,
        }
    }
}

/// What a commit that failed means for an attempt.
fn not_written(call: &Call, error: CommitError, insists: bool) -> Result<Attempt, Status> {
    match error {
        CommitError::Conflict(_) if insists => Err(Status::stale(call.subject())),
        CommitError::Conflict(conflict) => Ok(Attempt::Lost(conflict.current)),
        other => Err(commit_failed(other)),
    }
}

/// The uid and the revision the client insists on; the answer says whether it insists on a revision.
fn check_preconditions(call: &Call, old: &Value, new: &Value) -> Result<bool, Status> {
    let text = |object: &Value, name: &str| {
        object
            .get("metadata")
            .and_then(|m| m.get(name))
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let (wanted, found) = (text(new, "uid"), text(old, "uid"));
    if !wanted.is_empty() && wanted != found && call.verb == Verb::Patch && !call.applies {
        // Upstream: a patch changes the uid, where an update names the one it means.
        let uid = FieldPath::new("metadata").child("uid");
        let error = FieldError::invalid(uid, wanted, "field is immutable");
        return Err(Status::invalid(
            call.kind_subject(&call.target.name),
            &[error],
        ));
    }
    if !wanted.is_empty() && wanted != found {
        return Err(Status::conflict(
            call.subject(),
            &format!(
                "Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}"
            ),
        ));
    }
    let version = text(new, "resourceVersion");
    if version.is_empty() || version == "0" {
        return Ok(false);
    }
    if version != text(old, "resourceVersion") {
        return Err(Status::stale(call.subject()));
    }
    Ok(true)
}

/// The name of a new object is taken, perhaps by one that is about to go.
fn taken(subject: Subject<'_>, there: Option<&Arc<Record>>) -> Status {
    let mut status = Status::already_exists(subject);
    let goes = there.is_some_and(|record| {
        let object = record.value();
        let metadata = object.get("metadata");
        metadata.is_some_and(|metadata| metadata.get("deletionTimestamp").is_some())
    });
    if goes {
        status.message = format!("object is being deleted: {}", status.message);
    }
    status
}

/// An update that does not say what it is an update of, of a kind that wants to know.
fn unconditional(call: &Call) -> Status {
    let revision = FieldPath::new("metadata").child("resourceVersion");
    let error = FieldError::invalid(revision, 0, "must be specified for an update");
    Status::invalid(call.subject(), &[error])
}

/// Gives an object the revision of the one it replaces, so that the two differ only where the client changed something.
fn set_revision(new: &mut Value, old: &Value) {
    let revision = old
        .get("metadata")
        .and_then(|metadata| metadata.get("resourceVersion"));
    if let (Some(metadata), Some(revision)) = (
        new.get_mut("metadata").and_then(Value::as_object_mut),
        revision,
    ) {
        metadata.insert("resourceVersion".to_owned(), revision.clone());
    }
}

pub(crate) fn encode(object: &Value) -> bytes::Bytes {
    match object {
        Value::Object(fields) => record::encode(fields),
        _ => record::encode(&Map::new()),
    }
}

pub(crate) fn record_of(entry: Option<Arc<Entry>>) -> Result<Arc<Record>, Status> {
    let entry = entry.ok_or_else(|| Status::internal("the store kept nothing", None))?;
    let unreadable = |error| {
        Status::internal(
            "cannot read back what was written",
            Some(Box::new(error) as Box<_>),
        )
    };
    Record::new(entry).map(Arc::new).map_err(unreadable)
}

/// A commit that failed for a reason the client cannot help.
pub(crate) fn commit_failed(error: CommitError) -> Status {
    match error {
        CommitError::Invalid(why) => Status::oversized(why.to_string()),
        other => Status::unavailable(other.to_string(), Some(Box::new(other))),
    }
}
