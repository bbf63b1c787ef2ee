//! Create and update.

use std::sync::Arc;

use http::{Response, StatusCode};
use object::{Map, Value};
use schema::Schema;
use store::{CommitError, Expect, Txn};

use crate::body::{self, Body};
use crate::cache;
use crate::call::{Call, Proposal};
use crate::intake::{self, Taken};
use crate::lifecycle::{self, Stamp};
use crate::negotiate::{Answer, Content};
use crate::output::Include;
use crate::record::{self, Record};
use crate::server::{Server, WRITE_WAIT};
use crate::status::Status;

/// How often a generated name may be taken before the client hears of it.
const NAME_ATTEMPTS: usize = 8;
/// How often a write that did not insist on a revision is tried anew on top of a later one.
pub(crate) const WRITE_ATTEMPTS: usize = 16;

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

impl Server {
    /// A new object from a body.
    pub(crate) async fn create(
        &self,
        call: &Call,
        content: Content,
        bytes: &[u8],
        answer: Answer,
    ) -> Result<Response<Body>, Status> {
        let taken = intake::object(call, content, bytes)?;
        let mut warnings = taken.warnings.clone();
        let written = self.store_new(call, taken, &mut warnings).await?;
        Ok(self.report(call, &written, StatusCode::CREATED, answer, &warnings))
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
            fields,
            mut warnings,
        } = intake::object(call, content, bytes)?;
        let written = self
            .replace(call, &mut warnings, &|_| Ok(fields.clone()))
            .await?;
        Ok(self.report(call, &written, StatusCode::OK, answer, &warnings))
    }

    /// Stores an object that must not exist.
    pub(crate) async fn store_new(
        &self,
        call: &Call,
        taken: Taken,
        warnings: &mut Vec<String>,
    ) -> Result<Written, Status> {
        let named = taken
            .fields
            .get("metadata")
            .and_then(|m| m.get("name"))
            .and_then(Value::as_str)
            .is_some_and(|n| !n.is_empty());
        let attempts = if named { 1 } else { NAME_ATTEMPTS };
        let mut refusal = None;
        for _ in 0..attempts {
            match self
                .try_store_new(call, taken.fields.clone(), warnings)
                .await
            {
                Err(status) if status.reason == "AlreadyExists" && !named => refusal = Some(status),
                other => return other,
            }
        }
        Err(refusal.unwrap_or_else(|| Status::internal("no name was tried", None)))
    }

    async fn try_store_new(
        &self,
        call: &Call,
        fields: Map,
        warnings: &mut Vec<String>,
    ) -> Result<Written, Status> {
        let resource = &call.served.resource;
        let stamp = Stamp {
            now: self.surroundings.now(),
            uid: self.surroundings.uid(),
            suffix: self.surroundings.suffix(),
        };
        let mut object = self.in_stored_form(call, fields)?;
        lifecycle::begin(resource, &mut object, &stamp)?;
        resource.rules.prepare_create(&mut object);
        self.default(call, &mut object);
        let mut value = Value::Object(object);
        warnings.extend(self.mutate(call, None, &mut value).await?);
        let mut object = intake::into_fields(value);
        self.default(call, &mut object);
        let name = object
            .get("metadata")
            .and_then(|m| m.get("name"))
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        self.judge(call, None, &object)?;
        let value = Value::Object(object);
        warnings.extend(self.validate(call, None, Some(&value)).await?);
        let object = intake::into_fields(value);
        if call.options.dry_run {
            if self
                .cache
                .collection(&resource.collection())
                .find(&key_in(call, &name))
                .is_some()
            {
                return Err(Status::already_exists(crate::status::Subject {
                    name: &name,
                    ..call.subject()
                }));
            }
            return Ok(Written::Rehearsed(Value::Object(object)));
        }
        let key = self.store_key(call, &name)?;
        let txn = Txn::new()
            .check(key.clone(), Expect::Absent)
            .put(key, record::encode(&object));
        let subject = crate::status::Subject {
            name: &name,
            ..call.subject()
        };
        self.commit(txn)
            .await
            .map(Written::Stored)
            .map_err(|error| match error {
                CommitError::Conflict(_) => Status::already_exists(subject),
                other => commit_failed(other),
            })
    }

    /// Replaces an object with what `edit` makes of it, in the version of the call. An edit that does not insist on a
    /// revision is made again on top of what others wrote meanwhile.
    pub(crate) async fn replace(
        &self,
        call: &Call,
        warnings: &mut Vec<String>,
        edit: &(dyn Fn(&Map) -> Result<Map, Status> + Send + Sync),
    ) -> Result<Written, Status> {
        for _ in 0..WRITE_ATTEMPTS {
            let current = self
                .find(call)
                .ok_or_else(|| Status::not_found(call.subject()))?;
            let mut said = Vec::new();
            match self.try_replace(call, &current, &mut said, edit).await? {
                Some(written) => {
                    warnings.extend(said);
                    return Ok(written);
                }
                None => self.catch_up(call, &current).await?,
            }
        }
        Err(Status::stale(call.subject()))
    }

    /// One attempt; `None` if somebody else wrote in between and the client did not insist.
    async fn try_replace(
        &self,
        call: &Call,
        current: &Arc<Record>,
        warnings: &mut Vec<String>,
        edit: &(dyn Fn(&Map) -> Result<Map, Status> + Send + Sync),
    ) -> Result<Option<Written>, Status> {
        let resource = &call.served.resource;
        let old = intake::into_fields(current.value());
        let seen = self.in_asked_form(call, old.clone());
        let edited = edit(&seen)?;
        let insists = check_preconditions(call, &old, &edited)?;
        let mut new = self.in_stored_form(call, edited)?;
        self.default(call, &mut new);
        resource
            .rules
            .prepare_update(&old, &mut new, &call.target.subresource);
        lifecycle::go_on(resource, &old, &mut new);
        let old = Value::Object(old);
        let mut value = Value::Object(new);
        warnings.extend(self.mutate(call, Some(&old), &mut value).await?);
        let mut new = intake::into_fields(value);
        let old = intake::into_fields(old);
        self.default(call, &mut new);
        lifecycle::go_on(resource, &old, &mut new);
        self.judge(call, Some(&old), &new)?;
        let (old, value) = (Value::Object(old), Value::Object(new));
        warnings.extend(self.validate(call, Some(&old), Some(&value)).await?);
        let new = intake::into_fields(value);
        if same(&intake::into_fields(old), &new) {
            return Ok(Some(Written::Unchanged(Arc::clone(current))));
        }
        if call.options.dry_run {
            return Ok(Some(Written::Rehearsed(Value::Object(new))));
        }
        let key = self.store_key(call, &call.target.name)?;
        let expected = Expect::ModifiedAt(current.revision());
        let goes = lifecycle::may_go(&new);
        let txn = Txn::new().check(key.clone(), expected);
        let txn = if goes {
            txn.delete(key)
        } else {
            txn.put(key, record::encode(&new))
        };
        match self.store.commit(txn).await {
            Ok(committed) => {
                self.cache.wait_for(committed.revision, WRITE_WAIT).await;
                if goes {
                    return Ok(Some(Written::Gone(Value::Object(new))));
                }
                let entry = committed
                    .outcomes
                    .into_iter()
                    .find_map(|outcome| outcome.current);
                Ok(Some(Written::Stored(self.record_of(entry)?)))
            }
            Err(CommitError::Conflict(_)) if insists => Err(Status::stale(call.subject())),
            Err(CommitError::Conflict(_)) => Ok(None),
            Err(other) => Err(commit_failed(other)),
        }
    }

    /// The answer to a write.
    pub(crate) fn report(
        &self,
        call: &Call,
        written: &Written,
        code: StatusCode,
        answer: Answer,
        warnings: &[String],
    ) -> Response<Body> {
        let mut response = match written {
            Written::Stored(record) | Written::Unchanged(record) => {
                self.show(call, record, code, answer, Include::default())
            }
            Written::Gone(value) | Written::Rehearsed(value) => {
                let mut out = Vec::new();
                self.output(call, answer, Include::default())
                    .write_value(value, &mut out);
                body::document(code, answer.encoding, out.into())
            }
        };
        for warning in warnings {
            if let Ok(header) = http::HeaderValue::from_str(&format!("299 - {warning:?}")) {
                response.headers_mut().append(http::header::WARNING, header);
            }
        }
        response
    }

    /// The key of an object of the call in the store.
    pub(crate) fn store_key(&self, call: &Call, name: &str) -> Result<store::Key, Status> {
        let key = cache::store_key(
            &call.served.resource.collection(),
            &call.target.namespace,
            name,
        );
        store::Key::new(key).map_err(|error| Status::bad_request(error.to_string()))
    }

    /// Commits one write and returns what is stored now.
    async fn commit(&self, txn: Txn) -> Result<Arc<Record>, CommitError> {
        let committed = self.store.commit(txn).await?;
        self.cache.wait_for(committed.revision, WRITE_WAIT).await;
        let entry = committed
            .outcomes
            .into_iter()
            .find_map(|outcome| outcome.current);
        let entry = entry.expect("invariant: a put leaves an entry");
        Ok(Arc::new(
            Record::new(entry).expect("invariant: encode writes what Record reads"),
        ))
    }

    fn record_of(&self, entry: Option<Arc<store::Entry>>) -> Result<Arc<Record>, Status> {
        let entry = entry.ok_or_else(|| Status::internal("the store kept nothing", None))?;
        Record::new(entry).map(Arc::new).map_err(|error| {
            Status::internal("cannot read back what was written", Some(Box::new(error)))
        })
    }

    /// Waits until the cache has the write that came in between.
    async fn catch_up(&self, call: &Call, seen: &Record) -> Result<(), Status> {
        let key = self.store_key(call, &call.target.name)?;
        let entry = self.store.get(&key, None).await.map_err(|error| {
            Status::unavailable("the store cannot be read", Some(Box::new(error)))
        })?;
        let newest = entry.map_or(seen.revision(), |entry| entry.modified);
        self.cache.wait_for(newest, WRITE_WAIT).await;
        Ok(())
    }

    /// Fields the author left out, by the schema and by the kind.
    fn default(&self, call: &Call, object: &mut Map) {
        let version = call.served.resource.storage_version();
        if let Some(schema) = &version.schema {
            let mut value = Value::Object(std::mem::take(object));
            schema.apply_defaults(&mut value);
            *object = intake::into_fields(value);
        }
        call.served
            .resource
            .rules
            .apply_defaults(&version.name, object);
    }

    /// All that is wrong with an object, by the metadata's rules, the schema and the kind.
    fn judge(&self, call: &Call, old: Option<&Map>, new: &Map) -> Result<(), Status> {
        let resource = &call.served.resource;
        let mut errors = lifecycle::validate(resource, old, new);
        if let Some(schema) = &resource.storage_version().schema {
            errors.extend(schema_errors(schema, new));
        }
        if errors.is_empty() {
            errors.extend(resource.rules.validate(old, new));
        }
        if errors.is_empty() {
            return Ok(());
        }
        let name = new
            .get("metadata")
            .and_then(|m| m.get("name"))
            .and_then(Value::as_str)
            .unwrap_or_default();
        Err(Status::invalid(call.kind_subject(name), &errors))
    }

    async fn mutate(
        &self,
        call: &Call,
        old: Option<&Value>,
        new: &mut Value,
    ) -> Result<Vec<String>, Status> {
        let mut warnings = Vec::new();
        for admission in &self.admission {
            warnings.extend(
                admission
                    .mutate(
                        call,
                        Proposal {
                            old,
                            new: Some(new),
                        },
                    )
                    .await?,
            );
        }
        Ok(warnings)
    }

    pub(crate) async fn validate(
        &self,
        call: &Call,
        old: Option<&Value>,
        new: Option<&Value>,
    ) -> Result<Vec<String>, Status> {
        let mut warnings = Vec::new();
        for admission in &self.admission {
            warnings.extend(admission.validate(call, old, new).await?);
        }
        Ok(warnings)
    }

    fn in_stored_form(&self, call: &Call, fields: Map) -> Result<Map, Status> {
        if call.served.is_stored_form() {
            return Ok(fields);
        }
        let resource = &call.served.resource;
        let stored = resource.api_version(&resource.storage_version().name);
        resource.rules.convert(&fields, &stored).ok_or_else(|| {
            Status::internal(
                format!("{} cannot be converted to {stored}", resource.kind),
                None,
            )
        })
    }

    fn in_asked_form(&self, call: &Call, fields: Map) -> Map {
        if call.served.is_stored_form() {
            return fields;
        }
        call.served
            .resource
            .rules
            .convert(&fields, &call.served.api_version())
            .unwrap_or(fields)
    }
}

/// The uid and the revision the client insists on; the answer says whether it insists on a revision.
fn check_preconditions(call: &Call, old: &Map, new: &Map) -> Result<bool, Status> {
    let text = |object: &Map, name: &str| {
        object
            .get("metadata")
            .and_then(|m| m.get(name))
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let (wanted, found) = (text(new, "uid"), text(old, "uid"));
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

/// Equal but for the revision, which the new object may leave out.
fn same(old: &Map, new: &Map) -> bool {
    let strip = |object: &Map| {
        let mut object = object.clone();
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.shift_remove("resourceVersion");
        }
        object
    };
    strip(old) == strip(new)
}

fn key_in(call: &Call, name: &str) -> String {
    match call.target.namespace.as_str() {
        "" => name.to_owned(),
        namespace => format!("{namespace}/{name}"),
    }
}

fn schema_errors(schema: &Schema, object: &Map) -> Vec<object::field::FieldError> {
    schema.validate(&Value::Object(object.clone()))
}

/// A commit that failed for a reason the client cannot help.
pub(crate) fn commit_failed(error: CommitError) -> Status {
    match error {
        CommitError::Invalid(why) => Status::oversized(why.to_string()),
        other => Status::unavailable(other.to_string(), Some(Box::new(other))),
    }
}
