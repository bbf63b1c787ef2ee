//! Objects from one version to another, where that may take time: by webhook, or because objects were stored before
//! the version they are stored in was changed.
//!
//! Kinds of one version and built-in kinds never come here: [`KindRules::convert`](crate::resource::KindRules::convert)
//! does theirs at once.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use object::Value;
use store::Entry;

use crate::cache::Snapshot;
use crate::call::Call;
use crate::record::Record;
use crate::resource::{Resource, Served};
use crate::select::Selection;
use crate::server::{Server, Surroundings};
use crate::status::Status;
use crate::verbs::encode;

/// A conversion under way.
pub type Converting<'a> = Pin<Box<dyn Future<Output = Result<Vec<Value>, Status>> + Send + 'a>>;

/// Converts objects of one kind.
pub trait Converter: Send + Sync {
    /// The same objects, in the same order, in another version. `uid` tells this call from others.
    fn convert<'a>(
        &'a self,
        objects: Vec<Value>,
        api_version: &'a str,
        uid: String,
    ) -> Converting<'a>;
}

/// Objects in the version `api_version`; those that are in it already are left alone.
pub(crate) async fn convert(
    resource: &Resource,
    objects: Vec<Value>,
    api_version: &str,
    surroundings: &dyn Surroundings,
) -> Result<Vec<Value>, Status> {
    let Some(converter) = resource.rules.converter() else {
        let relabel = |object: Value| {
            if is_of(&object, api_version) {
                return Ok(object);
            }
            resource.rules.convert(&object, api_version).ok_or_else(|| {
                let why = format!("{} cannot be converted to {api_version}", resource.kind);
                Status::internal(why, None)
            })
        };
        return objects.into_iter().map(relabel).collect();
    };
    let wanting: Vec<Value> = objects
        .iter()
        .filter(|object| !is_of(object, api_version))
        .cloned()
        .collect();
    if wanting.is_empty() {
        return Ok(objects);
    }
    let uid = surroundings.uid();
    let converted = converter.convert(wanting, api_version, uid).await?;
    // A version shows and keeps the fields it knows, whatever the others have.
    let version = resource
        .versions
        .iter()
        .find(|version| resource.api_version(&version.name) == api_version);
    let schema = version.and_then(|version| version.schema.as_ref());
    let mut converted = converted.into_iter().map(|mut object| {
        if let Some(schema) = schema {
            schema.prune(&mut object);
            schema.apply_defaults(&mut object);
        }
        object
    });
    let mut made = Vec::with_capacity(objects.len());
    for object in objects {
        if is_of(&object, api_version) {
            made.push(object);
            continue;
        }
        let missing = || Status::internal("a conversion lost an object", None);
        made.push(converted.next().ok_or_else(missing)?);
    }
    Ok(made)
}

/// A state in which a selection can be looked for: where fields decide, everything it may be about is in the version that
/// is served, whose fields they are.
pub(crate) async fn selectable(
    served: &Served,
    selection: &Selection,
    mut snapshot: Snapshot,
    surroundings: &dyn Surroundings,
) -> Result<Snapshot, Status> {
    let rules = &served.resource.rules;
    let is_as_stored = rules.converter().is_none() && rules.defaults_since() == 0;
    if !selection.needs_body() || is_as_stored {
        return Ok(snapshot);
    }
    let records = snapshot.objects.values();
    let records = records.filter(|record| selection.may_include(record));
    let records = records.cloned().collect();
    let records = convert_records(served, records, surroundings).await?;
    snapshot.objects.extend(records);
    Ok(snapshot)
}

/// Records in the version that is served, with the defaults it gives now; the same ones where they are so already.
pub(crate) async fn convert_records(
    served: &Served,
    records: Vec<Arc<Record>>,
    surroundings: &dyn Surroundings,
) -> Result<Vec<Arc<Record>>, Status> {
    let records = in_served_version(served, records, surroundings).await?;
    if served.resource.rules.defaults_since() == 0 {
        return Ok(records);
    }
    let records = records.into_iter().map(|record| settled(served, record));
    Ok(records.collect())
}

/// A record with the defaults that its kind has got since it was written. Upstream: what is read has them, and what is
/// stored gets them with its next write.
pub(crate) fn settled(served: &Served, record: Arc<Record>) -> Arc<Record> {
    if record.revision().0 >= served.resource.rules.defaults_since() {
        return record;
    }
    let Some(schema) = &served.version().schema else {
        return record;
    };
    let stored = record.value();
    let mut filled = stored.clone();
    schema.apply_defaults(&mut filled);
    if filled == stored {
        return record;
    }
    let entry = Entry {
        value: encode(&filled),
        ..(**record.entry()).clone()
    };
    // Invariant: defaults take no name away, so that this is still an object.
    Record::new(Arc::new(entry)).map_or(record, Arc::new)
}

async fn in_served_version(
    served: &Served,
    records: Vec<Arc<Record>>,
    surroundings: &dyn Surroundings,
) -> Result<Vec<Arc<Record>>, Status> {
    let resource = &served.resource;
    if resource.rules.converter().is_none() {
        return Ok(records);
    }
    let api_version = served.api_version();
    if records.iter().all(|record| record.is_of(&api_version)) {
        return Ok(records);
    }
    let (already, wanting): (Vec<_>, Vec<_>) = records
        .iter()
        .cloned()
        .partition(|record| record.is_of(&api_version));
    drop(already);
    let values = wanting.iter().map(|record| record.value()).collect();
    let values = convert(resource, values, &api_version, surroundings).await?;
    let mut converted = wanting.iter().zip(values).map(|(record, value)| {
        let entry = Entry {
            value: encode(&value),
            ..(**record.entry()).clone()
        };
        Record::new(Arc::new(entry)).map(Arc::new).map_err(|error| {
            Status::internal(
                "a conversion gave no object",
                Some(Box::new(error) as Box<_>),
            )
        })
    });
    let mut made = Vec::with_capacity(records.len());
    for record in &records {
        if record.is_of(&api_version) {
            made.push(Arc::clone(record));
            continue;
        }
        let missing = || Status::internal("a conversion lost an object", None);
        made.push(converted.next().ok_or_else(missing)??);
    }
    Ok(made)
}

fn is_of(object: &Value, api_version: &str) -> bool {
    object.get("apiVersion").and_then(Value::as_str) == Some(api_version)
}

impl Server {
    /// One record in the version the call wants.
    pub(crate) async fn in_asked_version(
        &self,
        call: &Call,
        record: Arc<Record>,
    ) -> Result<Arc<Record>, Status> {
        let rules = &call.served.resource.rules;
        if rules.converter().is_none() {
            return Ok(settled(&call.served, record));
        }
        let records = convert_records(&call.served, vec![record], &*self.surroundings).await?;
        let missing = || Status::internal("a conversion lost an object", None);
        records.into_iter().next().ok_or_else(missing)
    }

    /// A stored object as the call sees it.
    pub(crate) async fn asked_form(&self, call: &Call, stored: Value) -> Result<Value, Status> {
        self.in_form(call, stored, &call.served.api_version()).await
    }

    /// An object of the call as it is stored.
    pub(crate) async fn stored_form(&self, call: &Call, object: Value) -> Result<Value, Status> {
        let stored_as = Arc::clone(&call.served.resource.stored_as);
        self.in_form(call, object, &stored_as).await
    }

    async fn in_form(&self, call: &Call, object: Value, form: &str) -> Result<Value, Status> {
        if is_of(&object, form) {
            return Ok(object);
        }
        let objects = vec![object];
        let resource = &call.served.resource;
        let converted = convert(resource, objects, form, &*self.surroundings).await?;
        let missing = || Status::internal("a conversion lost an object", None);
        converted.into_iter().next().ok_or_else(missing)
    }
}
