//! Definitions that were made into resources, kept for as long as they say the same.
//!
//! What is served is put together anew whenever any definition changes. A resource that is the same as before lets watches of
//! it go on, and its schemas need not be compiled again.

use std::collections::BTreeMap;
use std::sync::Arc;

use object::Value;
use serve::resource::Resource;
use serve::webhook::Caller;

use crate::definition::{DefinitionError, resource_with_webhooks};

/// The resources of definitions, by the uids of these.
#[derive(Default)]
pub struct Compiled {
    known: BTreeMap<String, Known>,
}

/// What became of a definition in one generation: whatever else is written to it, its `spec` is the same.
struct Known {
    generation: u64,
    made: Result<Arc<Resource>, DefinitionError>,
}

impl Compiled {
    /// The resource that a definition describes: the same one as before, unless its `spec` was changed. Conversions call
    /// their webhooks through `caller`.
    ///
    /// # Errors
    /// What keeps the definition from being served.
    pub fn resource(
        &mut self,
        definition: &Value,
        caller: Option<&Arc<dyn Caller>>,
    ) -> Result<Arc<Resource>, DefinitionError> {
        let make = || resource_with_webhooks(definition, caller).map(Arc::new);
        let Some((uid, generation)) = state(definition) else {
            return make();
        };
        if let Some(known) = self.known.get(uid)
            && known.generation == generation
        {
            return known.made.clone();
        }
        let made = make();
        let known = Known {
            generation,
            made: made.clone(),
        };
        self.known.insert(uid.to_owned(), known);
        made
    }

    /// Forgets all definitions but these.
    pub fn keep<'d>(&mut self, definitions: impl Iterator<Item = &'d Value>) {
        let mut known = std::mem::take(&mut self.known);
        let kept = definitions.filter_map(|definition| known.remove_entry(state(definition)?.0));
        self.known = kept.collect();
    }
}

/// Which definition it is, and in which state; `None` where nobody has said so, as outside a server.
fn state(definition: &Value) -> Option<(&str, u64)> {
    let metadata = definition.get("metadata")?;
    let uid = metadata.get("uid")?.as_str()?;
    Some((uid, metadata.get("generation")?.as_u64()?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn definition(uid: &str, generation: u64, plural: &str) -> Value {
        let schema = json!({"openAPIV3Schema": {"type": "object"}});
        json!({
            "metadata": {"uid": uid, "generation": generation},
            "spec": {
                "group": "test.io", "scope": "Namespaced", "names": {"plural": plural, "kind": "Widget"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}],
            },
        })
    }

    #[test]
    fn a_resource_is_the_same_until_its_definition_says_something_else() {
        let mut compiled = Compiled::default();
        let first = definition("a", 1, "widgets");
        let mut make = |definition: &Value| compiled.resource(definition, None).unwrap();
        let made = make(&first);
        let mut told = first.clone();
        told["status"] = json!({"storedVersions": ["v1"]});
        assert!(Arc::ptr_eq(&made, &make(&told)), "only its status changed");
        assert!(!Arc::ptr_eq(&made, &make(&definition("a", 2, "widgets"))));
        assert!(!Arc::ptr_eq(&made, &make(&definition("b", 1, "widgets"))));
        let nobodys = json!({"metadata": {}, "spec": first["spec"]});
        assert!(!Arc::ptr_eq(&make(&nobodys), &make(&nobodys)));
    }

    #[test]
    fn what_is_gone_is_forgotten() {
        let mut compiled = Compiled::default();
        let (stays, goes) = (definition("a", 1, "widgets"), definition("b", 1, "gadgets"));
        let made = [&stays, &goes].map(|one| compiled.resource(one, None).unwrap());
        compiled.keep([&stays].into_iter());
        let again = [&stays, &goes].map(|one| compiled.resource(one, None).unwrap());
        let is_same = |place: usize| Arc::ptr_eq(&made[place], &again[place]);
        assert_eq!((is_same(0), is_same(1)), (true, false));
    }
}
