//! Whoever writes a policy or a binding must be let read the parameters it takes: expressions can show all of them.

use std::sync::Arc;

use cel::Question;
use object::field::{FieldError, FieldPath};
use object::{GroupVersion, Value};
use serve::call::{Call, User};

use super::Followed;
use super::judging::served_kind;
use super::read::text;

/// Where nobody knows of which kind the parameters will be, they may be of any.
const ANY: &str = "*";

impl Followed {
    /// Why the writer of a policy or a binding may not take parameters from where it says.
    pub(super) fn refuse_reading(
        &self,
        call: &Call,
        old: Option<&Value>,
        new: &Value,
    ) -> Option<FieldError> {
        match call.target.resource.as_str() {
            "validatingadmissionpolicies" => self.refuse_kind(&call.user, old, new),
            "validatingadmissionpolicybindings" => self.refuse_reference(&call.user, old, new),
            _ => None,
        }
    }

    /// A policy can be bound to any object of its kind of parameters, so its writer must be let read all of them.
    fn refuse_kind(&self, user: &User, old: Option<&Value>, new: &Value) -> Option<FieldError> {
        let wanted = part(new, "paramKind")?;
        if old.and_then(|old| part(old, "paramKind")) == Some(wanted) {
            return None;
        }
        let (api_version, kind) = (text(wanted, "apiVersion"), text(wanted, "kind"));
        let question = Question {
            namespace: ANY.into(),
            name: ANY.into(),
            ..self.reading(Some((api_version, kind)))
        };
        if self.authority.decide(user, &question).allowed {
            return None;
        }
        let why = format!(
            "user {:?} must have \"get\" permission on all objects of the referenced paramKind (kind={kind}, apiVersion={api_version})",
            user.name
        );
        Some(FieldError::forbidden(path("paramKind"), why))
    }

    /// A binding takes parameters from one object; from any of a namespace if it has a selector; from any namespace if it
    /// names none.
    fn refuse_reference(
        &self,
        user: &User,
        old: Option<&Value>,
        new: &Value,
    ) -> Option<FieldError> {
        let wanted = part(new, "paramRef")?;
        let is_kept = |old: &Value| {
            part(old, "paramRef") == Some(wanted) && policy_name(old) == policy_name(new)
        };
        if old.is_some_and(is_kept) {
            return None;
        }
        let policies = self.policies.current();
        let policy = policies.by_name.get(policy_name(new));
        let kind = policy.and_then(|policy| policy.as_ref().ok()?.parameters.as_ref());
        // A selector wins over a name when parameters are looked up, so it does here.
        let selects = wanted.get("selector").is_some_and(|it| !it.is_null());
        let name = if selects { "" } else { text(wanted, "name") };
        let question = Question {
            namespace: text(wanted, "namespace").into(),
            name: name.into(),
            ..self.reading(kind.map(|(api_version, kind)| (api_version.as_str(), kind.as_str())))
        };
        if self.authority.decide(user, &question).allowed {
            return None;
        }
        let why = format!(
            "user {:?} does not have \"get\" permission on the object referenced by paramRef",
            user.name
        );
        Some(FieldError::forbidden(path("paramRef"), why))
    }

    /// Asks about objects of a kind, given as its `apiVersion` and name; about everything as far as it is not known.
    fn reading(&self, kind: Option<(&str, &str)>) -> Question {
        let group = kind.and_then(|(api_version, _)| api_version.parse::<GroupVersion>().ok());
        let resource = kind.and_then(|(api_version, kind)| {
            let table = self.server.upgrade()?.table();
            let resource = served_kind(&table, api_version, kind)?;
            Some(Arc::clone(&resource.plural))
        });
        Question {
            verb: "get".into(),
            group: group.map_or_else(|| ANY.into(), |known| known.group.as_str().into()),
            resource: resource.unwrap_or_else(|| ANY.into()),
            ..Question::default()
        }
    }
}

fn path(field: &str) -> FieldPath {
    FieldPath::new("spec").child(field)
}

fn part<'a>(object: &'a Value, field: &str) -> Option<&'a Value> {
    let part = object.get("spec")?.get(field)?;
    part.is_object().then_some(part)
}

fn policy_name(binding: &Value) -> &str {
    binding
        .get("spec")
        .map_or("", |spec| text(spec, "policyName"))
}
