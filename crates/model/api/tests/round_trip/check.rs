//! What must hold of every object of every kind.

use karavel_api::{
    Kind,
    read::{self, ReadError},
    schema::structural_schema,
};
use object::Object;
use proptest::{prelude::*, sample::Index};
use serde_json::Value;

use crate::{
    arbitrary::UNKNOWN,
    schema_walk::{essence, typed_places},
};

type Outcome = Result<(), TestCaseError>;

/// Reading, printing and reading again changes nothing, by values and by bytes, and nothing known is lost.
pub(crate) fn round_trip<T: Kind>(object: &Object) -> Outcome {
    let value: T = read_or_fail(object)?;
    let printed = read::write(&value);
    let again: T = read_or_fail(&printed)?;
    prop_assert_eq!(&again, &value);
    prop_assert_eq!(&read::write(&again), &printed);

    let bytes = serde_json::to_vec(&value).expect("kinds can be written");
    let from_bytes: T = serde_json::from_slice(&bytes).expect("kinds can be read again");
    prop_assert_eq!(&from_bytes, &value);

    let schema = structural_schema::<T>();
    let before = essence(&schema, &object.clone().into_value());
    let after = essence(&schema, &printed.into_value());
    prop_assert_eq!(before, after);
    Ok(())
}

/// An edit that does nothing leaves the object as it was, to the letter; one that does something leaves alone all that
/// the type does not know.
pub(crate) fn edit<T: Kind>(object: &Object) -> Outcome {
    let untouched = read::edit(object, |_: &mut T| {}).expect("the object fits");
    prop_assert_eq!(text(&untouched), text(object));

    let touched = read::edit(object, |value: &mut T| {
        value
            .metadata_mut()
            .labels
            .insert("touched".to_owned(), "yes".to_owned());
    })
    .expect("the object fits");
    prop_assert_eq!(touched.label("touched"), Some("yes"));
    prop_assert_eq!(unknown_fields(&touched), unknown_fields(object));
    Ok(())
}

/// A value of the wrong type anywhere is refused, and the error names the place.
pub(crate) fn wrong_type<T: Kind>(object: Object, pick: Index) -> Outcome {
    let mut value = object.into_value();
    let places = typed_places(&structural_schema::<T>(), &value);
    let places: Vec<_> = places
        .into_iter()
        .filter(|place| !place.path.starts_with("metadata"))
        .collect();
    let place = &places[pick.index(places.len())];
    *value
        .pointer_mut(&place.pointer)
        .expect("the place was found in the object") = place.misfit.clone();
    let broken = Object::from_value(value).expect("still an object");
    match read::read::<T>(&broken) {
        Err(ReadError::Field { source, .. }) => {
            prop_assert_eq!(source.path.to_string(), place.path.as_str(), "{}", source);
        }
        Err(ReadError::Kind { .. }) => {
            prop_assert!(["apiVersion", "kind"].contains(&place.path.as_str()))
        }
        Ok(_) => prop_assert!(false, "{} was accepted at {}", place.misfit, place.path),
    }
    Ok(())
}

fn read_or_fail<T: Kind>(object: &Object) -> Result<T, TestCaseError> {
    read::read(object).map_err(|error| {
        let cause = std::error::Error::source(&error)
            .map(ToString::to_string)
            .unwrap_or_default();
        TestCaseError::fail(format!("{error}: {cause}"))
    })
}

fn text(object: &Object) -> String {
    serde_json::to_string(object).expect("objects can be written")
}

/// Every field that no schema knows, with its place.
fn unknown_fields(object: &Object) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    gather(&object.clone().into_value(), "", &mut found);
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found
}

fn gather(value: &Value, path: &str, found: &mut Vec<(String, Value)>) {
    match value {
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(position, item)| gather(item, &format!("{path}[{position}]"), found));
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = format!("{path}.{name}");
                if name.starts_with(UNKNOWN) {
                    found.push((path, value.clone()));
                } else {
                    gather(value, &path, found);
                }
            }
        }
        _ => {}
    }
}
