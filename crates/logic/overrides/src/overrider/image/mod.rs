//! Changes to parts of image references.

mod reference;

use api::policy::{ImageComponent, ImageOverrider, OverriderOperator};
use object::{Value, patch::Pointer};

pub use self::reference::{Image, ParseImageError};

use super::{containers::containers_mut, find_mut};
use crate::problem::{Fault, Problem};

pub(crate) fn apply(document: &mut Value, change: &ImageOverrider) -> Result<(), Fault> {
    let Some(predicate) = &change.predicate else {
        for (place, container) in containers_mut(document)? {
            let image = container.get_mut("image");
            let mut missing = Value::from("");
            rewrite(image.unwrap_or(&mut missing), &place.child("image"), change)?;
        }
        return Ok(());
    };
    let place: Pointer = predicate.path.parse().map_err(|error| Fault {
        path: predicate.path.clone(),
        problem: Problem::Pointer(error),
    })?;
    let image = find_mut(document, &place).ok_or_else(|| Fault::at(&place, Problem::Missing))?;
    rewrite(image, &place, change)
}

fn rewrite(image: &mut Value, place: &Pointer, change: &ImageOverrider) -> Result<(), Fault> {
    let Some(text) = image.as_str() else {
        return Err(Fault::unexpected(place, "an image", image));
    };
    let reference = Image::parse(text).map_err(|error| Fault::at(place, error))?;
    let rewritten = changed(reference, change).to_string();
    if rewritten != text {
        *image = Value::from(rewritten);
    }
    Ok(())
}

/// The image with one part changed. No separators are put in: what is added to a part is joined to it as it is.
fn changed<'a>(image: Image<'a>, change: &'a ImageOverrider) -> Image<'a> {
    let value = change.value.as_str();
    let edit = |part: &str| match change.operator {
        OverriderOperator::Add => format!("{part}{value}"),
        OverriderOperator::Replace => value.to_owned(),
        OverriderOperator::Remove => String::new(),
    };
    match change.component {
        ImageComponent::Registry => Image {
            registry: edit(&image.registry).into(),
            ..image
        },
        ImageComponent::Repository => Image {
            repository: edit(&image.repository).into(),
            ..image
        },
        ImageComponent::Tag if change.operator == OverriderOperator::Remove => Image {
            version: None,
            ..image
        },
        ImageComponent::Tag => {
            let text = edit(image.version.as_ref().map_or("", |version| version.text()));
            // Upstream: what looks like neither a tag nor a digest changes nothing.
            match reference::Version::recognize(text) {
                Some(version) => Image {
                    version: Some(version),
                    ..image
                },
                None => image,
            }
        }
    }
}
