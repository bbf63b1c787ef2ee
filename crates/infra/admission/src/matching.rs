//! Which requests a rule wants to see.

use object::Value;
use object::field::FieldPath;
use object::selector::{LabelSelector, Selector};
use serve::cache::{self, Cache};
use serve::call::Call;
use serve::record::Record;

use crate::following::GROUP;

/// What a request does to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Update,
    Delete,
    /// A stream to what stands behind it is opened.
    Connect,
}

/// A request as rules see it.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) call: &'a Call,
    pub(crate) operation: Operation,
    pub(crate) old: Option<&'a Value>,
    pub(crate) new: Option<&'a Value>,
}

/// Requests by operation, resource and, in policies, name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    operations: Vec<String>,
    groups: Vec<String>,
    versions: Vec<String>,
    resources: Vec<String>,
    names: Vec<String>,
    scope: Scope,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Everywhere,
    Cluster,
    Namespaced,
}

/// Rules and selectors of a webhook, a policy or a binding.
#[derive(Clone, Debug)]
pub(crate) struct Match {
    rules: Vec<Rule>,
    /// Requests left out although a rule has them.
    excluded: Vec<Rule>,
    /// Whether requests for the same objects in other versions count too.
    equivalent: bool,
    namespaces: Selector,
    objects: Selector,
}

impl Operation {
    pub(crate) fn of(old: Option<&Value>, new: Option<&Value>) -> Self {
        match (old, new) {
            (_, None) => Self::Delete,
            (None, Some(_)) => Self::Create,
            (Some(_), Some(_)) => Self::Update,
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }
}

impl<'a> Asked<'a> {
    pub(crate) fn new(call: &'a Call, old: Option<&'a Value>, new: Option<&'a Value>) -> Self {
        Self {
            call,
            operation: Operation::of(old, new),
            old,
            new,
        }
    }

    /// A stream that is asked for with options.
    pub(crate) fn connecting(call: &'a Call, options: &'a Value) -> Self {
        Self {
            call,
            operation: Operation::Connect,
            old: None,
            new: Some(options),
        }
    }

    /// Whether anybody may be asked about it. Configurations of admission are left alone: a bad one could not be taken
    /// away again otherwise.
    pub(crate) fn is_open(&self) -> bool {
        self.call.target.group != GROUP
    }

    pub(crate) fn is_namespace(&self) -> bool {
        self.call.target.group.is_empty() && self.call.target.resource == "namespaces"
    }

    /// The namespace of the request. Upstream: that of a request about a namespace is the namespace itself.
    pub(crate) fn namespace(&self) -> &str {
        if self.is_namespace() {
            return self.name();
        }
        &self.call.target.namespace
    }

    /// The name of the object. Upstream: none where the server makes one up, also once it has.
    pub(crate) fn name(&self) -> &str {
        if self.call.generates_name {
            return "";
        }
        let named = |object: &'a Value| object.get("metadata")?.get("name")?.as_str();
        let target = self.call.target.name.as_str();
        if !target.is_empty() {
            return target;
        }
        self.new.or(self.old).and_then(named).unwrap_or_default()
    }
}

impl Rule {
    /// Reads a rule; what is not text is left out, so that a damaged rule matches less.
    pub(crate) fn from_value(value: &Value) -> Self {
        let texts = |field: &str| {
            let list = value.get(field).and_then(Value::as_array);
            let texts = list.into_iter().flatten().filter_map(Value::as_str);
            texts.map(str::to_owned).collect::<Vec<_>>()
        };
        Self {
            operations: texts("operations"),
            groups: texts("apiGroups"),
            versions: texts("apiVersions"),
            resources: texts("resources"),
            names: texts("resourceNames"),
            scope: match value.get("scope").and_then(Value::as_str) {
                Some("Cluster") => Scope::Cluster,
                Some("Namespaced") => Scope::Namespaced,
                _ => Scope::Everywhere,
            },
        }
    }

    pub(crate) fn all_of(value: Option<&Value>) -> Vec<Self> {
        let rules = value.and_then(Value::as_array);
        rules.into_iter().flatten().map(Self::from_value).collect()
    }

    /// Whether the rule wants the request if its resource were asked for in `version`.
    fn takes(&self, asked: &Asked<'_>, version: &str) -> bool {
        let target = &asked.call.target;
        let has = |list: &[String], wanted: &str| {
            list.iter().any(|entry| entry == "*" || entry == wanted)
        };
        let resource = self.resources.iter().any(|pattern| {
            let (resource, part) = pattern.split_once('/').unwrap_or((pattern, ""));
            (resource == "*" || resource == target.resource)
                && (part == "*" || part == target.subresource)
        });
        let is_namespaced = !asked.namespace().is_empty() && !asked.is_namespace();
        let scope = match self.scope {
            Scope::Everywhere => true,
            Scope::Cluster => !is_namespaced,
            Scope::Namespaced => is_namespaced,
        };
        resource
            && scope
            && has(&self.operations, asked.operation.as_str())
            && has(&self.groups, &target.group)
            && has(&self.versions, version)
            && (self.names.is_empty() || self.names.iter().any(|name| name == asked.name()))
    }
}

impl Match {
    /// Reads the rules named `rules` and `excluded` and the selectors beside them.
    ///
    /// # Errors
    /// When a selector is not valid.
    pub(crate) fn read(value: &Value, rules: &str, excluded: &str) -> Result<Self, String> {
        Ok(Self {
            rules: Rule::all_of(value.get(rules)),
            excluded: Rule::all_of(value.get(excluded)),
            equivalent: value.get("matchPolicy").and_then(Value::as_str) != Some("Exact"),
            namespaces: selector(value, "namespaceSelector")?,
            objects: selector(value, "objectSelector")?,
        })
    }

    /// The version of the request's resource that is wanted; `None` if the request is not.
    pub(crate) fn version<'a>(&self, asked: &Asked<'a>) -> Option<&'a str> {
        let version = self.version_among(&self.rules, asked)?;
        self.version_among(&self.excluded, asked)
            .is_none()
            .then_some(version)
    }

    fn version_among<'a>(&self, rules: &[Rule], asked: &Asked<'a>) -> Option<&'a str> {
        let exact = asked.call.target.version.as_str();
        if rules.iter().any(|rule| rule.takes(asked, exact)) {
            return Some(exact);
        }
        if !self.equivalent {
            return None;
        }
        let versions = asked.call.served.resource.versions.iter();
        let others = versions
            .filter(|version| version.served && &*version.name != exact)
            .map(|version| &*version.name);
        let mut others = others;
        others.find(|version| rules.iter().any(|rule| rule.takes(asked, version)))
    }

    /// Whether the labels of the object and of its namespace are those wanted.
    pub(crate) fn selects(&self, asked: &Asked<'_>, cache: &Cache) -> bool {
        self.selects_namespace(asked, cache) && self.selects_object(asked)
    }

    fn selects_namespace(&self, asked: &Asked<'_>, cache: &Cache) -> bool {
        if self.namespaces.is_empty() {
            return true;
        }
        if asked.is_namespace() {
            let object = asked.new.or(asked.old);
            return object.is_some_and(|object| self.namespaces.matches(|key| label(object, key)));
        }
        if asked.namespace().is_empty() {
            return true;
        }
        let record = namespace(cache, asked.namespace());
        record.is_some_and(|record| self.namespaces.matches(|key| record.head().label(key)))
    }

    fn selects_object(&self, asked: &Asked<'_>) -> bool {
        if self.objects.is_empty() {
            return true;
        }
        let mut both = [asked.new, asked.old].into_iter().flatten();
        both.any(|object| self.objects.matches(|key| label(object, key)))
    }
}

/// A namespace of the server.
pub(crate) fn namespace(cache: &Cache, name: &str) -> Option<std::sync::Arc<Record>> {
    cache
        .collection(&cache::name_of("", "namespaces"))
        .find(name)
}

/// A label selector; everything if there is none.
pub(crate) fn selector(value: &Value, field: &str) -> Result<Selector, String> {
    let Some(selector) = value.get(field).filter(|selector| !selector.is_null()) else {
        return Ok(Selector::everything());
    };
    let selector: LabelSelector =
        serde_json::from_value(selector.clone()).map_err(|error| format!("{field}: {error}"))?;
    selector
        .compile(&FieldPath::new(field))
        .map_err(|errors| object::field::join(&errors))
}

pub(crate) fn label<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.get("metadata")?.get("labels")?.get(key)?.as_str()
}
