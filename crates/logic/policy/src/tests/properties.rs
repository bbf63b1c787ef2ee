//! What holds for policies and templates of any kind.

use std::collections::BTreeSet;

use api::policy::{PreemptionBehavior, PropagationSpec, ResourceSelector};
use object::{
    Object, ObjectMeta,
    selector::{LabelSelector, LabelSelectorRequirement},
};
use proptest::{collection::vec, option, prelude::*, sample::select};

use api::{registry::Scope, twins::PropagationView};

use crate::{
    Decision, Exemptions, Index, Inputs, Match, Outcome, Policy, PolicyId, Preemption, Reach,
    Template, decide, holder,
};

const NAMES: [&str; 3] = ["a", "b", "c"];
const NAMESPACES: [&str; 3] = ["", "n1", "n2"];
const KINDS: [(&str, &str); 4] = [
    ("v1", "ConfigMap"),
    ("apps/v1", "Deployment"),
    ("apps/v2", "Deployment"),
    ("example.io/v1", "Deployment"),
];

fn label_selector() -> impl Strategy<Value = LabelSelector> {
    let requirement = (
        select(vec!["app", "tier"]),
        select(vec!["In", "NotIn", "Exists", "DoesNotExist", "Like"]),
        vec(select(vec!["x", "y"]), 0..3),
    )
        .prop_map(|(key, operator, values)| LabelSelectorRequirement {
            key: key.to_owned(),
            operator: operator.to_owned(),
            values: values.into_iter().map(str::to_owned).collect(),
        });
    let labels = vec((select(vec!["app", "tier"]), select(vec!["x", "y"])), 0..2);
    (labels, vec(requirement, 0..2)).prop_map(|(labels, match_expressions)| LabelSelector {
        match_labels: labels
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect(),
        match_expressions,
    })
}

fn resource_selector() -> impl Strategy<Value = ResourceSelector> {
    (
        select(KINDS.to_vec()),
        select(NAMESPACES.to_vec()),
        option::weighted(0.3, select(NAMES.to_vec())),
        option::of(label_selector()),
    )
        .prop_map(
            |((api_version, kind), namespace, name, label_selector)| ResourceSelector {
                api_version: api_version.to_owned(),
                kind: kind.to_owned(),
                namespace: namespace.to_owned(),
                name: name.unwrap_or_default().to_owned(),
                label_selector,
            },
        )
}

fn any_policy() -> impl Strategy<Value = Policy> {
    (
        select(NAMESPACES.to_vec()),
        select(NAMES.to_vec()),
        vec(resource_selector(), 0..4),
        0..3_i32,
        any::<bool>(),
        any::<bool>(),
        vec(select(vec!["op1", "op2"]), 0..2),
        0..2_u8,
    )
        .prop_map(
            |(namespace, name, resource_selectors, priority, preempts, dying, overrides, life)| {
                let spec = PropagationSpec {
                    resource_selectors,
                    priority: Some(priority),
                    preemption: preempts.then_some(PreemptionBehavior::Always),
                    dependent_overrides: overrides.into_iter().map(str::to_owned).collect(),
                    ..PropagationSpec::default()
                };
                let metadata = ObjectMeta::namespaced(namespace, name);
                let mut policy = Policy::prepare(PropagationView {
                    scope: if namespace.is_empty() {
                        Scope::Cluster
                    } else {
                        Scope::Namespaced
                    },
                    metadata: &metadata,
                    spec: &spec,
                });
                policy.permanent_id = format!("{namespace}-{name}-{life}");
                policy.is_terminating = dying && priority == 0;
                policy
            },
        )
}

fn any_template() -> impl Strategy<Value = Object> {
    (
        select(KINDS.to_vec()),
        select(NAMESPACES.to_vec()),
        select(NAMES.to_vec()),
        vec((select(vec!["app", "tier"]), select(vec!["x", "y"])), 0..3),
    )
        .prop_map(|((api_version, kind), namespace, name, labels)| {
            let mut object = Object::default();
            object.set(&["apiVersion"], api_version).unwrap();
            object.set(&["kind"], kind).unwrap();
            object.set(&["metadata", "name"], name).unwrap();
            if !namespace.is_empty() {
                object.set(&["metadata", "namespace"], namespace).unwrap();
            }
            for (key, value) in labels {
                object.set(&["metadata", "labels", key], value).unwrap();
            }
            object
        })
}

/// Every policy tried in turn.
fn scan<'p>(
    policies: &'p Index,
    template: &Template<'_>,
) -> Vec<(&'p PolicyId, crate::Specificity)> {
    policies
        .policies()
        .filter_map(|policy| Some((&policy.id, policy.select(template)?)))
        .collect()
}

fn ids<'i>(matches: &[Match<'i>]) -> Vec<(&'i PolicyId, crate::Specificity)> {
    matches
        .iter()
        .map(|found| (&found.policy.id, found.specificity))
        .collect()
}

/// What would be done, without the policies it compares.
fn effect(
    decision: &Decision<'_>,
    template: &Object,
) -> (String, Option<crate::Release>, crate::MetadataEdit) {
    let outcome = match &decision.outcome {
        Outcome::Exempt(_) => "exempt".to_owned(),
        Outcome::Unclaimed => "unclaimed".to_owned(),
        Outcome::Awaiting { policy, missing } => format!("{} {missing:?}", policy.id),
        Outcome::Held(policy) => format!("held {} {:?}", policy.id, policy.spec),
        Outcome::Applied(policy) => format!("applied {} {:?}", policy.id, policy.spec),
    };
    (
        outcome,
        decision.release.clone(),
        decision.template_edit(template),
    )
}

fn claimed(template: &Object, policy: Option<&Policy>) -> Object {
    policy.map_or_else(
        || template.clone(),
        |policy| super::written(template, &holder::claim(template, policy)),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn the_index_answers_as_the_scan_does_also_after_removals(
        policies in vec(any_policy(), 0..12),
        removed in vec(0..12_usize, 0..6),
        templates in vec(any_template(), 1..4),
        versions in vec(select(vec!["v1".to_owned(), "v2".to_owned()]), 0..2),
    ) {
        let mut index: Index = policies.iter().cloned().collect();
        for position in removed {
            if let Some(policy) = policies.get(position) {
                index.remove(&policy.id);
            }
        }
        for object in &templates {
            let template = Template { object, other_versions: &versions };
            prop_assert_eq!(ids(&index.matches(&template)), scan(&index, &template));
        }
    }

    #[test]
    fn an_index_emptied_again_keeps_nothing(policies in vec(any_policy(), 0..12)) {
        let mut index: Index = policies.iter().cloned().collect();
        for policy in &policies {
            index.remove(&policy.id);
        }
        prop_assert_eq!(format!("{index:?}"), format!("{:?}", Index::default()));
    }

    #[test]
    fn deciding_again_after_writing_changes_nothing(
        policies in vec(any_policy(), 0..8),
        template in any_template(),
        holder in option::of(any_policy()),
        gate in any::<bool>(),
    ) {
        let index: Index = policies.into_iter().collect();
        let template = claimed(&template, holder.as_ref());
        let overrides = BTreeSet::from(["op1".parse().unwrap(), "n1/op1".parse().unwrap()]);
        let exemptions = Exemptions::default();
        let at = |template: &Object| {
            let decision = decide(&Inputs {
                template: Template::new(template),
                binding: None,
                policies: &index,
                overrides: &overrides,
                exemptions: &exemptions,
                preemption: if gate { Preemption::On } else { Preemption::Off },
            });
            let edit = decision.template_edit(template);
            let chosen = decision.claim.chosen.map(|chosen| chosen.policy.id.clone());
            (chosen, edit)
        };
        let (chosen, edit) = at(&template);
        let after = super::written(&template, &edit);
        let (again, rest) = at(&after);
        prop_assert!(rest.is_empty(), "{rest:?}");
        prop_assert_eq!(again, chosen);
    }

    #[test]
    fn a_change_that_matters_to_a_template_reaches_it(
        policies in vec(any_policy(), 0..6),
        changed in any_policy(),
        deleted in any::<bool>(),
        template in any_template(),
        holder in option::of(0..6_usize),
        gate in any::<bool>(),
    ) {
        let before: Index = policies.iter().cloned().collect();
        let mut after = before.clone();
        let former = before.policy(&changed.id).cloned();
        if deleted {
            after.remove(&changed.id);
        } else {
            after.insert(changed.clone());
        }
        let template = claimed(&template, holder.and_then(|position| policies.get(position)));
        let overrides = BTreeSet::from(["op1".parse().unwrap(), "n1/op1".parse().unwrap()]);
        let exemptions = Exemptions::default();
        let at = |index: &Index| {
            let decision = decide(&Inputs {
                template: Template::new(&template),
                binding: None,
                policies: index,
                overrides: &overrides,
                exemptions: &exemptions,
                preemption: if gate { Preemption::On } else { Preemption::Off },
            });
            effect(&decision, &template)
        };
        let reach = Reach::of_policy(former.as_ref(), (!deleted).then_some(&changed));
        if at(&before) != at(&after) {
            prop_assert!(reach.covers(&Template::new(&template)));
        }
    }
}
