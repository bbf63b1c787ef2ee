//! Rules for where workloads may go.

use std::collections::BTreeMap;

use object::{
    field::{FieldError, FieldPath},
    names,
};

use super::{
    affinity,
    problems::{self, shown},
};
use crate::{
    kubernetes::scheduling::{Toleration, toleration_operator},
    policy::{
        Placement, ReplicaDivisionPreference, ReplicaSchedulingStrategy, ReplicaSchedulingType,
        SpreadConstraint, SpreadField, WorkloadAffinity,
    },
};

/// Checks a placement.
pub(super) fn check(placement: &Placement, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let terms = &placement.cluster_affinities;
    let terms_path = path.child("clusterAffinities");
    if placement.cluster_affinity.is_some() && !terms.is_empty() {
        let detail = "clusterAffinity and clusterAffinities exclude each other";
        errors.push(FieldError::invalid(path.clone(), shown(placement), detail));
    }
    let can_overflow = placement
        .replica_scheduling
        .as_ref()
        .is_some_and(allows_overflow);
    for (position, term) in terms.iter().enumerate() {
        if term.overflow_affinities.is_empty() || can_overflow {
            continue;
        }
        errors.push(FieldError::invalid(
            terms_path.index(position).child("overflowAffinities"),
            shown(&term.overflow_affinities),
            "need replicas that are divided, by Aggregated or by a dynamic weight",
        ));
    }
    if let Some(affinity) = &placement.cluster_affinity {
        errors.extend(affinity::check(affinity, &path.child("clusterAffinity")));
    }
    errors.extend(affinity::check_terms(terms, &terms_path));
    errors.extend(check_spread(
        &placement.spread_constraints,
        &path.child("spreadConstraints"),
    ));
    if let Some(affinity) = &placement.workload_affinity {
        errors.extend(check_workload_affinity(
            affinity,
            &path.child("workloadAffinity"),
        ));
    }
    errors.extend(check_tolerations(
        &placement.cluster_tolerations,
        &path.child("clusterTolerations"),
    ));
    errors
}

fn allows_overflow(scheduling: &ReplicaSchedulingStrategy) -> bool {
    if scheduling.replica_scheduling_type == Some(ReplicaSchedulingType::Duplicated) {
        return false;
    }
    match scheduling.replica_division_preference {
        Some(ReplicaDivisionPreference::Aggregated) => true,
        Some(ReplicaDivisionPreference::Weighted) | None => scheduling
            .weight_preference
            .as_ref()
            .is_some_and(|weights| weights.dynamic_weight.is_some()),
    }
}

fn check_spread(constraints: &[SpreadConstraint], path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut uses: BTreeMap<SpreadField, usize> = BTreeMap::new();
    for (position, constraint) in constraints.iter().enumerate() {
        let (least, most) = (constraint.min_groups, constraint.max_groups);
        let field = constraint.spread_by_field;
        let problems = [
            (
                field.is_some() && !constraint.spread_by_label.is_empty(),
                "spreadByField and spreadByLabel exclude each other",
            ),
            (least < 0, "minGroups must not be negative"),
            (most < 0, "maxGroups must not be negative"),
            (
                most > 0 && most < least,
                "maxGroups must not be below minGroups",
            ),
        ];
        for (_, detail) in problems.into_iter().filter(|(is_wrong, _)| *is_wrong) {
            errors.push(FieldError::invalid(
                path.index(position),
                shown(constraint),
                detail,
            ));
        }
        let Some(field) = field else { continue };
        let count = uses.entry(field).or_default();
        *count += 1;
        // A field that is there three times is reported once.
        if *count == 2 {
            let name = shown(&field);
            let name = name.as_str().unwrap_or_default();
            let detail = format!("{name} is constrained more than once");
            errors.push(FieldError::invalid(
                path.clone(),
                shown(&constraints),
                detail,
            ));
        }
    }
    if !uses.is_empty() && !uses.contains_key(&SpreadField::Cluster) {
        let detail = "a constraint by field needs another one by cluster beside it";
        errors.push(FieldError::invalid(
            path.clone(),
            shown(&constraints),
            detail,
        ));
    }
    errors
}

fn check_workload_affinity(affinity: &WorkloadAffinity, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let sides = [
        ("affinity", &affinity.affinity),
        ("antiAffinity", &affinity.anti_affinity),
    ];
    for (side, term) in sides {
        let Some(term) = term else { continue };
        let key = &term.group_by_label_key;
        let path = path.child(side).child("groupByLabelKey");
        errors.extend(problems::each(&path, key, names::check_qualified_name(key)));
    }
    if let (Some(with), Some(apart)) = (&affinity.affinity, &affinity.anti_affinity)
        && with.group_by_label_key == apart.group_by_label_key
    {
        let detail = "affinity and antiAffinity must use different keys";
        errors.push(FieldError::invalid(path.clone(), shown(affinity), detail));
    }
    errors
}

fn check_tolerations(tolerations: &[Toleration], path: &FieldPath) -> Vec<FieldError> {
    use toleration_operator::{EQUAL, EXISTS, GT, LT};
    let numeric = |toleration: &Toleration| [LT, GT].contains(&&*toleration.operator);
    let wrong = tolerations
        .iter()
        .enumerate()
        .filter(|(_, toleration)| numeric(toleration));
    wrong
        .map(|(position, toleration)| {
            FieldError::not_supported(
                path.index(position).child("operator"),
                toleration.operator.as_str(),
                &["", EXISTS, EQUAL],
            )
        })
        .collect()
}
