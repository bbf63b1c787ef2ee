//! Checking an object against its schema, with the messages Kubernetes' users know.
//!
//! Upstream: the texts, the order of checks at one place and the choice of which failed alternative of an `anyOf` is
//! reported follow kube-openapi; the order of fields is the object's own.

mod addresses;
mod embedded;
mod formats;
mod lists;
mod numbers;
mod values;

use std::collections::BTreeMap;
use std::sync::Arc;

use object::{
    Value,
    field::{FieldError, FieldPath},
    quantity::Quantity,
};

use self::values::{
    check_enumeration, check_format, check_string, check_type, dotted_path, effective_format,
    too_many,
};
use crate::{
    apply::path::is_identical,
    canonical,
    node::{ListKind, Node, Schema, SchemaId, Type, Types},
    rules::{Branch, Rules},
    trail::Trail,
};

/// Whether a text has the format of a name (`uuid`, `date-time`, …); `None` if nobody knows the format.
#[must_use]
pub fn matches_format(name: &str, text: &str) -> Option<bool> {
    formats::is_valid(name, text)
}

impl Schema {
    /// Everything wrong with an object: its schema, the identity of embedded objects, repeated keys in lists.
    #[must_use]
    pub fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut checker = Checker::new(&self.types);
        let outcome = checker.node(self.root, object, &Trail::ROOT, None);
        let mut errors = outcome.errors;
        errors.append(&mut checker.embedded);
        errors.append(&mut checker.lists);
        errors
    }

    /// Everything wrong with a value in the eyes of its schema; repeated list elements are not looked for.
    pub(crate) fn validate_value(&self, value: &Value) -> Vec<FieldError> {
        let mut checker = Checker::new(&self.types);
        let outcome = checker.node(self.root, value, &Trail::ROOT, None);
        if checker.embedded.is_empty() {
            outcome.errors
        } else {
            checker.embedded
        }
    }

    /// Everything wrong with a changed object, except what was already wrong before at a place that did not change:
    /// a schema that became stricter must not block unrelated edits.
    #[must_use]
    pub fn validate_update(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        let mut checker = Checker::new(&self.types);
        let previous = Previous {
            value: old,
            schema: self.root,
        };
        let outcome = checker.node(self.root, object, &Trail::ROOT, Some(previous));
        let mut errors = outcome.errors;
        errors.append(&mut checker.embedded);
        if !checker.lists.is_empty() {
            let mut before = Checker::new(&self.types);
            before.node(self.root, old, &Trail::ROOT, None);
            if before.lists.is_empty() {
                errors.append(&mut checker.lists);
            }
        }
        errors
    }
}

/// What came of one check: the errors, and how many rules held. The count tells which alternative came closest.
#[derive(Default)]
struct Outcome {
    errors: Vec<FieldError>,
    held: usize,
}

impl Outcome {
    fn push(&mut self, error: Option<FieldError>) {
        self.errors
            .extend(error.filter(|error| !self.errors.contains(error)));
    }

    fn merge(&mut self, other: Outcome) {
        self.errors.extend(other.errors);
        self.held += other.held;
    }

    /// Merges the result of an alternative, which may repeat what others found.
    fn merge_distinct(&mut self, other: Outcome) {
        self.held += other.held;
        // Two errors of one place are few; a long list may have many places.
        let mut known: BTreeMap<&str, Vec<&FieldError>> = BTreeMap::new();
        for error in &self.errors {
            known.entry(error.path.as_str()).or_default().push(error);
        }
        let is_news = |error: &FieldError| {
            let here = known.get(error.path.as_str());
            !here.is_some_and(|here| here.contains(&error))
        };
        let mut news = other.errors;
        if !known.is_empty() {
            news.retain(is_news);
        }
        self.errors.extend(news);
    }
}

/// The stored value at the same place, and the schema that says how its children correspond to the new ones.
#[derive(Clone, Copy)]
struct Previous<'a> {
    value: &'a Value,
    schema: SchemaId,
}

/// A node, or the part of a combination that speaks about the same place.
#[derive(Clone, Copy)]
enum View<'a> {
    Node(&'a Node),
    Branch(&'a Branch),
}

impl<'a> View<'a> {
    fn types(self) -> &'static [&'static str] {
        let ty = match self {
            Self::Node(node) => node.ty,
            Self::Branch(branch) => branch.ty.unwrap_or_default(),
        };
        match ty {
            Type::Any => &[],
            Type::Object => &["object"],
            Type::Array => &["array"],
            Type::String => &["string"],
            Type::Integer => &["integer"],
            Type::Number => &["number"],
            Type::Boolean => &["boolean"],
            Type::IntOrString => &["integer", "string"],
            Type::Quantity => &["string", "number"],
        }
    }

    fn rules(self) -> Option<&'a Rules> {
        match self {
            Self::Node(node) => node.rules.as_deref(),
            Self::Branch(branch) => Some(&branch.rules),
        }
    }

    fn is_nullable(self) -> bool {
        matches!(self, Self::Node(node) if node.nullable)
    }
}

/// What is said about a text that should be a quantity and is none. Upstream: the same, when it cannot be decoded.
const QUANTITY: &str = "quantities must match the regular expression \
                        '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

struct Checker<'a> {
    types: &'a Types,
    embedded: Vec<FieldError>,
    lists: Vec<FieldError>,
}

impl<'a> Checker<'a> {
    fn new(types: &'a Types) -> Self {
        Self {
            types,
            embedded: Vec::new(),
            lists: Vec::new(),
        }
    }

    fn node(
        &mut self,
        id: SchemaId,
        value: &Value,
        trail: &Trail<'_>,
        previous: Option<Previous<'_>>,
    ) -> Outcome {
        if trail.is_too_deep() {
            let error = FieldError::invalid(trail.path(), "", "nested too deeply");
            return Outcome {
                errors: vec![error],
                held: 0,
            };
        }
        // Whatever were wrong with a value that is as it was would be forgiven; most of an object that changes is such. Only
        // the identity of embedded objects is looked at in any case.
        if !trail.is_root()
            && !self.types.embedded
            && previous.is_some_and(|previous| is_identical(value, previous.value))
        {
            return Outcome::default();
        }
        let node = self.types.node(id);
        if node.ty == Type::Quantity
            && let Value::String(text) = value
            && text.parse::<Quantity>().is_err()
        {
            let error = FieldError::type_invalid(trail.path(), text.as_str(), QUANTITY);
            return Outcome {
                errors: vec![error],
                held: 0,
            };
        }
        match value {
            Value::Object(fields) if node.embedded => {
                embedded::check(fields, trail, &mut self.embedded)
            }
            Value::Array(items) => lists::check(items, node, trail, &mut self.lists),
            _ => {}
        }
        let mut outcome = self.view(View::Node(node), value, trail, previous);
        // Upstream: an object as a whole is never taken for unchanged, for its identity is outside the schema.
        if !trail.is_root()
            && !outcome.errors.is_empty()
            && previous.is_some_and(|previous| self.is_unchanged(value, previous))
        {
            outcome.errors.clear();
        }
        outcome
    }

    fn view(
        &mut self,
        view: View<'_>,
        value: &Value,
        trail: &Trail<'_>,
        previous: Option<Previous<'_>>,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        let types = view.types();
        let rules = view.rules();
        let format = rules.and_then(|rules| effective_format(types, rules));
        if value.is_null() {
            match check_type(view, format, value, trail) {
                None => outcome.held += 1,
                error => outcome.push(error),
            }
            outcome.push(rules.and_then(|rules| check_enumeration(rules, value, trail)));
            return outcome;
        }
        if !types.is_empty() || format.is_some() {
            match check_type(view, format, value, trail) {
                None => outcome.held += 2,
                error => {
                    outcome.held += 1;
                    outcome.push(error);
                }
            }
        }
        if let Some(rules) = rules {
            let combined = self.combinations(rules, value, trail);
            outcome.merge_distinct(combined);
        }
        outcome.held += 2;
        match (value, rules) {
            (Value::String(text), Some(rules)) => {
                outcome.push(check_string(rules, text, trail));
                if let Some(format) = format {
                    outcome.push(check_format(format, text, trail));
                    outcome.held += 1;
                }
            }
            (Value::Number(number), rules) => {
                let checked = numbers::check(rules, types, format, number, trail);
                outcome.merge_distinct(Outcome {
                    errors: checked,
                    held: 0,
                });
            }
            (Value::Array(items), _) => {
                let checked = self.items(view, items, trail, previous);
                outcome.merge_distinct(checked);
            }
            _ => {}
        }
        // Upstream: how many rules each type of value counts as.
        outcome.held += match value {
            Value::Null | Value::Bool(_) => 0,
            Value::String(_) | Value::Object(_) => 1,
            Value::Number(_) | Value::Array(_) => 2,
        };
        outcome.push(rules.and_then(|rules| check_enumeration(rules, value, trail)));
        outcome.held += 2;
        if let Value::Object(_) = value {
            let checked = self.fields(view, value, trail, previous);
            outcome.merge_distinct(checked);
        }
        outcome
    }

    fn items(
        &mut self,
        view: View<'_>,
        items: &[Value],
        trail: &Trail<'_>,
        previous: Option<Previous<'_>>,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        let stored = previous.and_then(|previous| self.stored_items(previous));
        for (index, item) in items.iter().enumerate() {
            let before = stored.as_ref().and_then(|stored| stored.find(item));
            let trail = trail.index(index);
            match view {
                View::Node(node) => {
                    let Some(schema) = node.items else { break };
                    let checked = self.node(schema, item, &trail, before);
                    outcome.merge(checked);
                }
                View::Branch(branch) => {
                    let Some(branch) = branch.items.as_deref() else {
                        break;
                    };
                    let checked = self.branch(branch, item, &trail);
                    outcome.merge(checked);
                }
            }
        }
        let Some(rules) = view.rules() else {
            return outcome;
        };
        let count = i64::try_from(items.len()).unwrap_or(i64::MAX);
        if let Some(least) = rules.min_items.filter(|least| count < *least) {
            let detail = format!(
                "{} in body should have at least {least} items",
                trail.dotted()
            );
            outcome.push(Some(FieldError::invalid(dotted_path(trail), count, detail)));
        }
        if let Some(most) = rules.max_items.filter(|most| count > *most) {
            outcome.push(Some(too_many(trail, count, most)));
        }
        if rules.unique_items && lists::has_duplicate(items) {
            let detail = format!("{} in body shouldn't contain duplicates", trail.dotted());
            outcome.push(Some(FieldError::invalid(dotted_path(trail), "", detail)));
        }
        outcome
    }

    fn fields(
        &mut self,
        view: View<'_>,
        value: &Value,
        trail: &Trail<'_>,
        previous: Option<Previous<'_>>,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        let Value::Object(fields) = value else {
            return outcome;
        };
        let count = i64::try_from(fields.len()).unwrap_or(i64::MAX);
        if let Some(rules) = view.rules() {
            if let Some(least) = rules.min_properties.filter(|least| count < *least) {
                let detail = format!(
                    "{} in body should have at least {least} properties",
                    trail.dotted()
                );
                outcome.push(Some(FieldError::invalid(dotted_path(trail), count, detail)));
            }
            if let Some(most) = rules.max_properties.filter(|most| count > *most) {
                outcome.push(Some(too_many(trail, count, most)));
            }
        }
        for (name, field) in fields {
            // Upstream: `apiVersion` and `kind` may differ between the stored and the served form, so that being
            // equal says nothing.
            let comparable = !trail.is_root() || (name != "apiVersion" && name != "kind");
            let before = previous
                .filter(|_| comparable)
                .and_then(|previous| self.previous_field(previous, name));
            match view {
                View::Node(node) => {
                    if let Some(property) = node.property(name) {
                        let checked = self.node(property.schema, field, &trail.field(name), before);
                        outcome.merge(checked);
                    } else if let Some(values) = node.values {
                        let checked = self.node(values, field, &trail.key(name), before);
                        outcome.merge(checked);
                    } else if node.closed {
                        let detail = format!(
                            "{} in body is a forbidden property",
                            trail.key(name).dotted()
                        );
                        outcome.push(Some(FieldError::invalid(
                            dotted_path(trail),
                            name.as_str(),
                            detail,
                        )));
                    }
                }
                View::Branch(branch) => {
                    let place = branch
                        .properties
                        .binary_search_by(|(known, _)| (**known).cmp(name));
                    if let Some((_, branch)) =
                        place.ok().and_then(|place| branch.properties.get(place))
                    {
                        let checked = self.branch(branch, field, &trail.field(name));
                        outcome.merge(checked);
                    }
                }
            }
        }
        for name in view.rules().map_or(&[][..], |rules| &rules.required) {
            if !fields.contains_key(&**name) {
                outcome.push(Some(FieldError::required(
                    dotted_path(&trail.field(name)),
                    "",
                )));
            }
        }
        outcome
    }

    fn branch(&mut self, branch: &Branch, value: &Value, trail: &Trail<'_>) -> Outcome {
        if trail.is_too_deep() {
            return Outcome::default(); // The node that carries the branch reports it.
        }
        self.view(View::Branch(branch), value, trail, None)
    }

    /// Upstream: what is wrong inside an alternative counts even where nothing changed.
    fn combinations(&mut self, rules: &Rules, value: &Value, trail: &Trail<'_>) -> Outcome {
        let mut outcome = Outcome::default();
        let complain = |text: &str| {
            let detail = format!("{:?} must {text}", trail.dotted());
            Some(FieldError::invalid(FieldPath::from(NOWHERE), "", detail))
        };
        if !rules.any_of.is_empty() {
            let mut best: Option<Outcome> = None;
            for branch in &rules.any_of {
                let tried = self.view(View::Branch(branch), value, trail, None);
                let succeeded = tried.errors.is_empty();
                if succeeded || best.as_ref().is_none_or(|best| tried.held > best.held) {
                    best = Some(tried);
                }
                if succeeded {
                    break;
                }
            }
            if best.as_ref().is_some_and(|best| !best.errors.is_empty()) {
                outcome.push(complain("validate at least one schema (anyOf)"));
            }
            outcome.merge_distinct(best.unwrap_or_default());
        }
        if !rules.one_of.is_empty() {
            let mut valid = 0;
            let mut first: Option<Outcome> = None;
            let mut best: Option<Outcome> = None;
            for branch in &rules.one_of {
                let tried = self.view(View::Branch(branch), value, trail, None);
                if tried.errors.is_empty() {
                    valid += 1;
                    best = None;
                    first.get_or_insert(tried);
                } else if valid == 0 && best.as_ref().is_none_or(|best| tried.held > best.held) {
                    best = Some(tried);
                }
            }
            match valid {
                1 => outcome.merge_distinct(first.unwrap_or_default()),
                0 => outcome.push(complain(
                    "validate one and only one schema (oneOf). Found none valid",
                )),
                many => {
                    let text = format!(
                        "validate one and only one schema (oneOf). Found {many} valid alternatives"
                    );
                    outcome.push(complain(&text));
                }
            }
            outcome.merge_distinct(best.filter(|_| valid != 1).unwrap_or_default());
        }
        if !rules.all_of.is_empty() {
            let mut valid = 0;
            for branch in &rules.all_of {
                let tried = self.view(View::Branch(branch), value, trail, None);
                valid += usize::from(tried.errors.is_empty());
                outcome.merge_distinct(tried);
            }
            if valid == 0 {
                outcome.push(complain("validate all the schemas (allOf). None validated"));
            } else if valid < rules.all_of.len() {
                outcome.push(complain("validate all the schemas (allOf)"));
            }
        }
        if let Some(branch) = &rules.not {
            let tried = self.view(View::Branch(branch), value, trail, None);
            if tried.errors.is_empty() {
                outcome.push(complain("not validate the schema (not)"));
            }
        }
        outcome
    }

    fn previous_field<'p>(&self, previous: Previous<'p>, name: &str) -> Option<Previous<'p>> {
        let node = self.types.node(previous.schema);
        let schema = node
            .property(name)
            .map(|property| property.schema)
            .or(node.values)?;
        Some(Previous {
            value: previous.value.get(name)?,
            schema,
        })
    }

    /// The stored elements that new ones replace; only elements with keys can be told apart.
    fn stored_items<'p>(&self, previous: Previous<'p>) -> Option<StoredItems<'a, 'p>> {
        let node = self.types.node(previous.schema);
        let ListKind::Map(keys) = &node.list else {
            return None;
        };
        let items = previous.value.as_array()?;
        Some(StoredItems::new(keys, items, node.items?))
    }

    /// Whether nothing changed. The order of lists with keys means nothing.
    fn is_unchanged(&self, value: &Value, previous: Previous<'_>) -> bool {
        if value.is_object() && self.types.node(previous.schema).embedded {
            return false;
        }
        match (value, previous.value) {
            (Value::Array(items), Value::Array(old)) if items.len() == old.len() => {
                if !matches!(self.types.node(previous.schema).list, ListKind::Map(_)) {
                    return items == old;
                }
                let stored = self.stored_items(previous);
                let find = |item| stored.as_ref().and_then(|stored| stored.find(item));
                items.iter().all(|item| {
                    find(item).is_some_and(|previous| self.is_unchanged(item, previous))
                })
            }
            (Value::Object(fields), Value::Object(old)) if fields.len() == old.len() => {
                fields.iter().all(|(name, field)| {
                    self.previous_field(previous, name)
                        .is_some_and(|previous| self.is_unchanged(field, previous))
                })
            }
            (value, old) => value == old,
        }
    }
}

/// The stored elements of a list with keys, to be found by them.
struct StoredItems<'k, 'p> {
    keys: &'k [Arc<str>],
    items: &'p [Value],
    schema: SchemaId,
    /// The first of each key; only for lists too long to be looked through for every element.
    by_key: Option<BTreeMap<String, &'p Value>>,
}

/// The longest list that is looked through: to write down the keys of a short one takes longer.
const LOOKED_THROUGH: usize = 16;

impl<'k, 'p> StoredItems<'k, 'p> {
    fn new(keys: &'k [Arc<str>], items: &'p [Value], schema: SchemaId) -> Self {
        let mut stored = Self {
            keys,
            items,
            schema,
            by_key: None,
        };
        if items.len() > LOOKED_THROUGH {
            let mut by_key = BTreeMap::new();
            for item in items {
                if let Some(key) = stored.key(item) {
                    by_key.entry(key).or_insert(item);
                }
            }
            stored.by_key = Some(by_key);
        }
        stored
    }

    /// The element that `item` replaces.
    fn find(&self, item: &Value) -> Option<Previous<'p>> {
        let value = match &self.by_key {
            Some(by_key) => by_key.get(&self.key(item)?).copied()?,
            None => self.items.iter().find(|old| self.are_alike(old, item))?,
        };
        Some(Previous {
            value,
            schema: self.schema,
        })
    }

    fn are_alike(&self, old: &Value, item: &Value) -> bool {
        self.keys.iter().all(|key| {
            item.get(&**key)
                .is_some_and(|part| old.get(&**key) == Some(part))
        })
    }

    /// What tells an element from others, as text; `None` if part of it is missing.
    fn key(&self, item: &Value) -> Option<String> {
        let mut text = String::new();
        for key in self.keys {
            canonical::write(item.get(&**key)?, &mut text);
            text.push('\n');
        }
        Some(text)
    }
}

/// Upstream: errors about combinations and number ranges name no field but this.
const NOWHERE: &str = "<nil>";

#[cfg(test)]
mod tests;
