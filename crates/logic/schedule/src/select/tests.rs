//! Group scores, and combinations against a walk through all of them.

use proptest::prelude::*;

use super::{
    combination::{Group, Limits, choose},
    group_score::{Wanted, group_score},
};
use crate::{candidate::Candidate, placement::Bounds};

fn members(numbers: &[(i64, i64)]) -> Vec<Candidate> {
    let member = |(cluster, (score, allocatable)): (usize, &(i64, i64))| Candidate {
        cluster,
        tier: 0,
        score: *score,
        allocatable: *allocatable,
        assigned: 0,
    };
    numbers.iter().enumerate().map(member).collect()
}

#[test]
fn a_group_weighs_what_it_can_take_then_its_scores() {
    let share = |replicas| Wanted::Share {
        replicas,
        groups: 2,
        clusters: 2,
    };
    assert_eq!(
        group_score(&members(&[(100, 10), (100, 10), (0, 5)]), share(40)),
        20_100
    );
    assert_eq!(
        group_score(&members(&[(0, 30), (0, 30)]), share(40)),
        20_000
    );
    assert_eq!(group_score(&members(&[(100, 4), (0, 4)]), share(40)), 8_050);
    assert_eq!(
        group_score(
            &members(&[(100, 12), (0, 3)]),
            Wanted::Each { replicas: 10 }
        ),
        1_100
    );
    assert_eq!(
        group_score(&members(&[(100, 2)]), Wanted::Each { replicas: 10 }),
        0
    );
    let no_groups = Wanted::Share {
        replicas: 4,
        groups: 0,
        clusters: 0,
    };
    assert_eq!(group_score(&members(&[(0, 9)]), no_groups), 4_000);
}

#[test]
fn a_prefix_of_the_best_combination_is_better_still() {
    let groups: Vec<Group> = [(1, 80), (4, 40), (1, 30), (3, 30)]
        .into_iter()
        .map(|(value, weight)| Group { value, weight })
        .collect();
    let limits = Limits {
        groups: Bounds { min: 2, max: 4 },
        least_value: 5,
    };
    assert_eq!(choose(&groups, limits).groups, [0, 1]);
}

/// The rule as it is written: every combination along the line, then the best, then its prefixes.
fn walk_all(groups: &[Group], limits: Limits) -> Vec<usize> {
    let (min, max) = (limits.groups.min.max(1), limits.groups.max);
    let mut line: Vec<usize> = (0..groups.len()).collect();
    line.sort_by_key(|position| {
        (
            groups[*position].value,
            -groups[*position].weight,
            *position,
        )
    });
    let mut found: Vec<Vec<usize>> = Vec::new();
    let mut path = Vec::new();
    walk(
        groups,
        &line,
        0,
        (min, max, limits.least_value),
        &mut path,
        &mut found,
    );
    let weight = |path: &[usize]| {
        path.iter()
            .map(|position| groups[*position].weight)
            .sum::<i64>()
    };
    let value = |path: &[usize]| {
        path.iter()
            .map(|position| groups[*position].value)
            .sum::<usize>()
    };
    for path in &mut found {
        path.sort_by_key(|position| (-groups[*position].weight, *position));
    }
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.sort_by_key(|id| {
        (
            -weight(&found[*id]),
            std::cmp::Reverse(value(&found[*id])),
            *id,
        )
    });
    let Some(best) = order.first() else {
        return Vec::new();
    };
    let mut pick = &found[*best];
    for id in &order[1..] {
        let other = &found[*id];
        if other.len() < pick.len() && pick.starts_with(other) {
            pick = other;
        }
    }
    pick.clone()
}

fn walk(
    groups: &[Group],
    line: &[usize],
    begin: usize,
    (min, max, least): (usize, usize, usize),
    path: &mut Vec<usize>,
    found: &mut Vec<Vec<usize>>,
) {
    let value: usize = path.iter().map(|position| groups[*position].value).sum();
    if value >= least && path.len() >= min && path.len() <= max {
        found.push(path.clone());
        return;
    }
    if path.len() >= max {
        return;
    }
    for next in begin..line.len() {
        path.push(line[next]);
        walk(groups, line, next + 1, (min, max, least), path, found);
        path.pop();
    }
}

proptest! {
    #[test]
    fn the_table_finds_what_a_walk_through_all_combinations_finds(
        groups in prop::collection::vec((1_usize..5, 0_i64..6), 1..9),
        min in 0_usize..5,
        more in 0_usize..5,
        least_value in 0_usize..14,
    ) {
        let groups: Vec<Group> = groups.into_iter().map(|(value, weight)| Group { value, weight }).collect();
        let limits = Limits { groups: Bounds { min, max: min + more }, least_value };
        let choice = choose(&groups, limits);
        prop_assert!(!choice.is_approximate);
        prop_assert_eq!(choice.groups, walk_all(&groups, limits));
    }
}

#[test]
fn hundreds_of_groups_are_taken_by_weight() {
    let groups: Vec<Group> = (0..500)
        .map(|index| Group {
            value: 1 + index % 7,
            weight: index as i64,
        })
        .collect();
    let limits = Limits {
        groups: Bounds { min: 10, max: 400 },
        least_value: 900,
    };
    let choice = choose(&groups, limits);
    assert!(choice.is_approximate);
    let value: usize = choice
        .groups
        .iter()
        .map(|position| groups[*position].value)
        .sum();
    assert!(
        value >= 900 && choice.groups.len() <= 400,
        "{value} in {}",
        choice.groups.len()
    );
    let few = Limits {
        groups: Bounds { min: 1, max: 135 },
        least_value: 940,
    };
    let value: usize = choose(&groups, few)
        .groups
        .iter()
        .map(|position| groups[*position].value)
        .sum();
    assert!(value == 0 || value >= 940);
    let none = Limits {
        groups: Bounds { min: 1, max: 499 },
        least_value: 5000,
    };
    assert!(choose(&groups, none).groups.is_empty());
}
