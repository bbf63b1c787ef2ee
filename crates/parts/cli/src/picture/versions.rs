//! Kinds that are served in several versions, and templates in those that are meant.
//!
//! A policy means the version that it names: that is what members are sent, and what rules of interpretation are written for.
//! What was begun in one version goes on in it, whatever policies say by now, as long as they do not act.

use std::collections::{BTreeMap, BTreeSet};

use builtin::{convert, kinds};
use client::{Discovered, Discovery};
use object::{GroupKind, GroupVersionKind, Object};

use super::Picture;

/// What a resource must offer to be propagated.
const VERBS: [&str; 3] = ["delete", "list", "watch"];

/// The versions in which each kind is served.
#[derive(Clone, Debug, Default)]
pub(crate) struct Versions {
    served: BTreeMap<GroupKind, Vec<String>>,
}

/// A template in one version, and in others as far as they are known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Forms {
    main: Object,
    others: BTreeMap<String, Object>,
    /// Those of the others that nobody who knows has told.
    assumed: BTreeSet<String>,
}

impl Versions {
    /// What a server serves.
    pub(crate) fn of(discovery: &Discovery) -> Self {
        let can_be_propagated = |found: &&Discovered| VERBS.iter().all(|verb| found.can(verb));
        let found = discovery.resources.iter().filter(can_be_propagated);
        let mut versions = Self::default();
        versions.add(found.map(|found| found.resource.kind.clone()));
        versions
    }

    /// Kinds that are served too.
    pub(crate) fn add(&mut self, kinds: impl IntoIterator<Item = GroupVersionKind>) {
        for kind in kinds {
            let known = self.served.entry(kind.group_kind()).or_default();
            if !known.contains(&kind.version) {
                known.push(kind.version);
            }
        }
    }

    /// Those of an object's kind, its own among them.
    fn of_kind(&self, object: &Object) -> &[String] {
        let known = self.served.get(&object.group_version_kind().group_kind());
        known.map(Vec::as_slice).unwrap_or_default()
    }
}

impl Forms {
    /// A template as it was read or written.
    pub(crate) fn new(main: Object) -> Self {
        Self {
            main,
            ..Self::default()
        }
    }

    /// As it was read or written.
    pub(crate) fn main(&self) -> &Object {
        &self.main
    }

    /// In a version; as it was read or written if it is not known in that.
    pub(crate) fn in_version(&self, version: &str) -> &Object {
        match self.others.get(version) {
            Some(other) => other,
            None => &self.main,
        }
    }

    /// Takes the same template in another version in; not one of the same name that was before or after it.
    pub(crate) fn add(&mut self, object: Object) {
        let version = version_of(&object).to_owned();
        if version != version_of(&self.main) && object.uid() == self.main.uid() {
            self.others.insert(version, object);
        }
    }

    /// Takes in what the template is taken for in another version.
    pub(crate) fn assume(&mut self, object: Object) {
        let version = version_of(&object).to_owned();
        self.assumed.insert(version.clone());
        self.others.insert(version, object);
    }

    /// Takes in what is known of the same template beside.
    pub(crate) fn merge(&mut self, known: Option<&Self>) {
        if let Some(known) = known {
            let all = std::iter::once(&known.main).chain(known.others.values());
            all.for_each(|form| self.add(form.clone()));
        }
    }

    /// Does the same to it in every version.
    pub(crate) fn edit(&mut self, mut edit: impl FnMut(&mut Object)) {
        edit(&mut self.main);
        self.others.values_mut().for_each(edit);
    }

    /// What is not known of it in a version in which somebody means it.
    pub(crate) fn doubt(&self, version: &str) -> Option<String> {
        let main = self.main.api_version();
        if version == version_in(main) {
            return None;
        }
        let meant = match main.rsplit_once('/') {
            Some((group, _)) => format!("{group}/{version}"),
            None => version.to_owned(),
        };
        match (
            self.others.contains_key(version),
            self.assumed.contains(version),
        ) {
            (true, false) => None,
            (true, true) => Some(format!(
                "goes by {meant}, and is taken to say there what it says in {main}"
            )),
            (false, _) => Some(format!(
                "goes by {meant}; what it would be in that cannot be foretold, and all is told as if it went by {main}"
            )),
        }
    }
}

impl Picture {
    /// A template as policies look at it.
    pub(crate) fn template<'a>(&'a self, object: &'a Object) -> policy::Template<'a> {
        policy::Template {
            object,
            other_versions: self.versions.of_kind(object),
        }
    }

    /// The version in which the policy means a template that is to have it; `None` if none is, or there is only one.
    pub(crate) fn version_meant(
        &self,
        template: &Object,
        binding: Option<&Object>,
    ) -> Option<String> {
        if self.versions.of_kind(template).len() < 2 {
            return None;
        }
        let chosen = self.claim(template, binding).claim.chosen?;
        let version = chosen.policy.version_meant(&self.template(template));
        version.map(str::to_owned)
    }

    /// The version in which a template's binding names it; `None` if it is not served in that.
    pub(crate) fn version_bound(&self, template: &Object, binding: &Object) -> Option<String> {
        let named = binding.text_at(&["spec", "resource", "apiVersion"])?;
        let mut served = self.versions.of_kind(template).iter();
        served
            .find(|version| *version == version_in(named))
            .cloned()
    }

    /// What else somebody may mean a template to be: its kind in those other versions that its binding and policies name that
    /// select it.
    pub(crate) fn kinds_named(
        &self,
        template: &Object,
        binding: Option<&Object>,
    ) -> Vec<GroupVersionKind> {
        if self.versions.of_kind(template).len() < 2 {
            return Vec::new();
        }
        let seen = self.template(template);
        let policies = self.policies.policies();
        let named = policies.filter_map(|policy| policy.version_meant(&seen));
        let mut all: BTreeSet<String> = named.map(str::to_owned).collect();
        all.extend(binding.and_then(|binding| self.version_bound(template, binding)));
        all.remove(version_of(template));
        let own = template.group_version_kind();
        let named = all.into_iter().map(|version| GroupVersionKind {
            version,
            ..own.clone()
        });
        named.collect()
    }
}

/// An object as another version of its kind, where every server makes the same of it; `None` for what is not built in.
pub(crate) fn converted(object: &Object, kind: &GroupVersionKind) -> Option<Object> {
    let known = |kind: &GroupVersionKind| kinds::find(&kind.group, &kind.version, &kind.kind);
    let (own, other) = (known(&object.group_version_kind())?, known(kind)?);
    let value = object.clone().into_value();
    let stored = convert::to_stored(own, &value).unwrap_or(value);
    let converted = convert::from_stored(other, &stored).unwrap_or(stored);
    let converted = Object::from_value(converted).ok()?;
    (converted.group_version_kind() == *kind).then_some(converted)
}

/// The version that an object is in.
pub(crate) fn version_of(object: &Object) -> &str {
    version_in(object.api_version())
}

fn version_in(api_version: &str) -> &str {
    let parts = api_version.rsplit_once('/');
    parts.map_or(api_version, |(_, version)| version)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn gadget(version: &str, uid: &str) -> Object {
        let metadata = json!({"name": "g", "namespace": "n", "uid": uid});
        let value = json!({"apiVersion": format!("acme.io/{version}"), "kind": "Gadget", "metadata": metadata});
        Object::from_value(value).unwrap()
    }

    #[test]
    fn a_template_is_known_in_the_versions_it_was_read_in() {
        let mut forms = Forms::new(gadget("v2", "a"));
        forms.add(gadget("v1", "a"));
        forms.add(gadget("v1alpha1", "b"));
        forms.assume(gadget("v1beta1", "a"));
        for (version, shown, doubt) in [
            ("v2", "v2", ""),
            ("v1", "v1", ""),
            (
                "v1beta1",
                "v1beta1",
                "goes by acme.io/v1beta1, and is taken to say there what it says in acme.io/v2",
            ),
            (
                "v1alpha1",
                "v2",
                "goes by acme.io/v1alpha1; what it would be in that cannot be foretold, and all is told as if it went by acme.io/v2",
            ),
        ] {
            assert_eq!(version_of(forms.in_version(version)), shown);
            assert_eq!(forms.doubt(version).unwrap_or_default(), doubt, "{version}");
        }
    }

    #[test]
    fn what_is_built_in_is_converted_as_servers_do_it() {
        let scaler = json!({
            "apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"},
            "spec": {"maxReplicas": 3, "targetCPUUtilizationPercentage": 60},
        });
        let scaler = Object::from_value(scaler).unwrap();
        let kind = |api_version: &str| {
            GroupVersionKind::from_api_version(api_version, "HorizontalPodAutoscaler").unwrap()
        };
        let newer = converted(&scaler, &kind("autoscaling/v2")).unwrap();
        let metrics = newer.at(&["spec", "metrics"]).unwrap();
        assert_eq!(metrics[0]["resource"]["target"]["averageUtilization"], 60);
        let older = converted(&newer, &kind("autoscaling/v1")).unwrap();
        assert_eq!(older.at(&["spec"]), scaler.at(&["spec"]));
        assert_eq!(converted(&scaler, &kind("autoscaling/v9")), None);
        let other = GroupVersionKind::new("acme.io", "v1", "Gadget");
        assert_eq!(converted(&gadget("v2", ""), &other), None);
    }

    #[test]
    fn a_kind_is_served_in_versions_of_one_group() {
        let kind = |api_version: &str, kind: &str| {
            GroupVersionKind::from_api_version(api_version, kind).unwrap()
        };
        let mut versions = Versions::default();
        versions.add([
            kind("acme.io/v2", "Gadget"),
            kind("acme.io/v1", "Gadget"),
            kind("shop.io/v3", "Gadget"),
            kind("acme.io/v4", "Wheel"),
        ]);
        versions.add([kind("acme.io/v1", "Gadget")]);
        assert_eq!(versions.of_kind(&gadget("v1", "")), ["v2", "v1"]);
        let other = json!({"apiVersion": "v1", "kind": "Gadget"});
        let other = Object::from_value(other).unwrap();
        assert_eq!(versions.of_kind(&other), [""; 0]);
    }
}
