//! Rules for choosing clusters.

use object::{
    field::{FieldError, FieldPath},
    names,
};

use super::problems::{self, shown};
use crate::{
    kubernetes::scheduling::selector_operator,
    policy::{ClusterAffinity, ClusterAffinityTerm, FieldSelector, cluster_field},
};

/// Checks an affinity; only its field selector can be wrong.
pub(super) fn check(affinity: &ClusterAffinity, path: &FieldPath) -> Option<FieldError> {
    let selector = affinity.field_selector.as_ref()?;
    let problem = field_selector_problem(selector)?;
    Some(FieldError::invalid(path.child("fieldSelector"), shown(selector), problem))
}

/// Checks groups of clusters. Errors about a name are on the group, errors about two equal names on the list.
pub(super) fn check_terms(terms: &[ClusterAffinityTerm], path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (position, term) in terms.iter().enumerate() {
        let name = &term.affinity_name;
        let path_of_term = path.index(position);
        errors.extend(problems::each(&path_of_term, name, names::check_qualified_name(name)));
        if terms.iter().take(position).any(|earlier| earlier.affinity_name == *name) {
            let detail = "each affinity term in a policy must have a unique name";
            errors.push(FieldError::invalid(path.clone(), shown(&terms), detail));
        }
        errors.extend(check(&term.affinity, &path_of_term));
        errors.extend(check_overflow(term, &path_of_term.child("overflowAffinities")));
    }
    errors
}

fn check_overflow(term: &ClusterAffinityTerm, path: &FieldPath) -> Vec<FieldError> {
    let tiers = &term.overflow_affinities;
    let mut errors = Vec::new();
    if !tiers.is_empty() && term.affinity.is_empty() {
        let detail = "overflowAffinities need an affinity in the term itself, to overflow from";
        errors.push(FieldError::invalid(path.clone(), shown(tiers), detail));
    }
    for (position, tier) in tiers.iter().enumerate() {
        let name = &tier.affinity_name;
        let path_of_name = path.index(position).child("affinityName");
        errors.extend(problems::each(&path_of_name, name, names::check_qualified_name(name)));
        let is_taken = *name == term.affinity_name
            || tiers.iter().take(position).any(|earlier| earlier.affinity_name == *name);
        if is_taken {
            let detail = "overflow affinity names must be unique and differ from the name of their term";
            errors.push(FieldError::invalid(path_of_name, name.as_str(), detail));
        }
        errors.extend(check(&tier.affinity, &path.index(position)));
    }
    errors
}

/// The first thing wrong with a field selector.
fn field_selector_problem(selector: &FieldSelector) -> Option<String> {
    use cluster_field::{PROVIDER, REGION, ZONE};
    use selector_operator::{IN, NOT_IN};
    selector.match_expressions.iter().find_map(|requirement| {
        let (key, operator) = (&*requirement.key, &*requirement.operator);
        if ![PROVIDER, REGION, ZONE].contains(&key) {
            return Some(format!("unsupported key {key:?}, must be provider, region, or zone"));
        }
        if ![IN, NOT_IN].contains(&operator) {
            return Some(format!("unsupported operator {operator:?}, must be In or NotIn"));
        }
        None
    })
}
