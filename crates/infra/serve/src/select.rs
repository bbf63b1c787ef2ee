//! Which objects a list or a watch is about.

use object::selector::{FieldSelector, Selector};

use crate::options::ListOptions;
use crate::record::Record;
use crate::resource::Served;
use crate::status::Status;
use crate::target::ResourceTarget;

/// Which objects a list or a watch is about.
#[derive(Debug)]
pub struct Selection {
    /// Empty for all namespaces.
    namespace: String,
    /// One object, by path or by field selector.
    name: Option<String>,
    labels: Selector,
    fields: FieldSelector,
    /// Whether fields other than name and namespace are asked for: only then must an object be parsed.
    needs_body: bool,
}

const NAME: &str = "metadata.name";
const NAMESPACE: &str = "metadata.namespace";

impl Selection {
    /// From the path and the query string.
    pub fn new(
        served: &Served,
        target: &ResourceTarget,
        options: &ListOptions,
    ) -> Result<Self, Status> {
        let labels: Selector = options.label_selector.parse().map_err(|error| {
            Status::bad_request(format!("unable to parse requirement: {error}"))
        })?;
        let fields: FieldSelector = options
            .field_selector
            .parse()
            .map_err(|error| Status::bad_request(format!("invalid field selector: {error}")))?;
        let mut known = vec![NAME, NAMESPACE];
        known.extend(served.version().selectable.iter().map(|field| &**field));
        fields
            .require_known(&known)
            .map_err(|error| Status::bad_request(error.to_string()))?;
        let needs_body = fields
            .requirements()
            .iter()
            .any(|requirement| ![NAME, NAMESPACE].contains(&requirement.field.as_str()));
        let by_path = Some(target.name.clone()).filter(|name| !name.is_empty());
        let name = by_path.or_else(|| fields.exact_value(NAME).map(str::to_owned));
        Ok(Self {
            namespace: target.namespace.clone(),
            name,
            labels,
            fields,
            needs_body,
        })
    }

    /// The one object it can be about at most, by its key in the collection.
    #[must_use]
    pub fn single(&self, namespaced: bool) -> Option<String> {
        let name = self.name.as_deref()?;
        match (namespaced, self.namespace.is_empty()) {
            (false, _) => Some(name.to_owned()),
            (true, false) => Some(format!("{}/{name}", self.namespace)),
            (true, true) => None,
        }
    }

    /// The keys it can be about all begin with this.
    #[must_use]
    pub fn prefix(&self) -> String {
        if self.namespace.is_empty() {
            String::new()
        } else {
            format!("{}/", self.namespace)
        }
    }

    /// Whether every object of the namespace is meant.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.name.is_none() && self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether fields of a version decide, so that objects must be in it before they are looked at.
    #[must_use]
    pub fn needs_body(&self) -> bool {
        self.needs_body
    }

    /// Whether it may be about this object, in whatever version it is.
    #[must_use]
    pub fn may_include(&self, record: &Record) -> bool {
        if !self.namespace.is_empty() && !record.is_in(&self.namespace) {
            return false;
        }
        if self.name.is_none() && self.labels.is_empty() {
            return true;
        }
        let head = record.head();
        self.name.as_deref().is_none_or(|name| name == head.name)
            && self.labels.matches(|key| head.label(key))
    }

    /// Whether it is about this object.
    #[must_use]
    pub fn includes(&self, served: &Served, record: &Record) -> bool {
        if !self.may_include(record) {
            return false;
        }
        if self.fields.is_empty() {
            return true;
        }
        let head = record.head();
        let body = self.needs_body.then(|| record.value());
        let values: Vec<(&str, String)> = self
            .fields
            .requirements()
            .iter()
            .map(|requirement| {
                let field = requirement.field.as_str();
                let value = match field {
                    NAME => head.name.to_string(),
                    NAMESPACE => head.namespace.to_string(),
                    other => body
                        .as_ref()
                        .and_then(|body| served.resource.rules.field(body, other))
                        .unwrap_or_default(),
                };
                (field, value)
            })
            .collect();
        self.fields.matches(|field| {
            values
                .iter()
                .find(|(known, _)| *known == field)
                .map(|(_, value)| value.as_str())
        })
    }
}
