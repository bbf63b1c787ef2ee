//! Rules for choosing clusters.

use std::iter;

use object::{
    field::{FieldError, FieldPath},
    names,
};

use super::problems::{self, repeats, shown};
use crate::{
    kubernetes::scheduling::selector_operator,
    policy::{ClusterAffinity, ClusterAffinityTerm, FieldSelector, cluster_field},
};

/// Checks an affinity; only its field selector can be wrong.
pub(super) fn check(affinity: &ClusterAffinity, path: &FieldPath) -> Option<FieldError> {
    let selector = affinity.field_selector.as_ref()?;
    let problem = field_selector_problem(selector)?;
    Some(FieldError::invalid(
        path.child("fieldSelector"),
        shown(selector),
        problem,
    ))
}

/// Checks groups of clusters. Errors about a name are on the group, errors about two equal names on the list.
pub(super) fn check_terms(terms: &[ClusterAffinityTerm], path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut is_reported = false;
    let repeated = repeats(terms.iter().map(|term| &term.affinity_name));
    for (position, (term, is_repeated)) in terms.iter().zip(repeated).enumerate() {
        let name = &term.affinity_name;
        let path_of_term = path.index(position);
        errors.extend(problems::each(
            &path_of_term,
            name,
            names::check_qualified_name(name),
        ));
        // The error shows the whole list, so once is enough.
        if is_repeated && !is_reported {
            is_reported = true;
            let detail = "the names of terms must be unique";
            errors.push(FieldError::invalid(path.clone(), shown(&terms), detail));
        }
        errors.extend(check(&term.affinity, &path_of_term));
        errors.extend(check_overflow(
            term,
            &path_of_term.child("overflowAffinities"),
        ));
    }
    errors
}

fn check_overflow(term: &ClusterAffinityTerm, path: &FieldPath) -> Vec<FieldError> {
    let tiers = &term.overflow_affinities;
    let mut errors = Vec::new();
    if !tiers.is_empty() && term.affinity.is_empty() {
        let detail = "need an affinity in the term itself, to overflow from";
        errors.push(FieldError::invalid(path.clone(), shown(tiers), detail));
    }
    // The name of the term itself comes first, so that no tier can have it.
    let names = iter::once(&term.affinity_name).chain(tiers.iter().map(|tier| &tier.affinity_name));
    let taken = repeats(names).skip(1);
    for (position, (tier, is_taken)) in tiers.iter().zip(taken).enumerate() {
        let name = &tier.affinity_name;
        let path_of_name = path.index(position).child("affinityName");
        errors.extend(problems::each(
            &path_of_name,
            name,
            names::check_qualified_name(name),
        ));
        if is_taken {
            let detail = "must be unique and differ from the name of the term";
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
            return Some(format!(
                "key {key:?} is not one of provider, region and zone"
            ));
        }
        if ![IN, NOT_IN].contains(&operator) {
            return Some(format!("operator {operator:?} is neither In nor NotIn"));
        }
        None
    })
}
