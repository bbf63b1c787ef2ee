//! Apportionment against the rule followed seat by seat.

use proptest::prelude::*;

use super::apportion::{Claim, Ties, apportion};

/// The rule as it is written: one seat after another.
fn seat_by_seat(seats: i64, weights: &[i64], ties: Ties) -> Vec<i64> {
    let mut given = vec![0_i64; weights.len()];
    if weights.iter().all(|weight| *weight <= 0) {
        return given;
    }
    for _ in 0..seats {
        let quotient = |index: usize| weights[index].max(0) as f64 / (2 * given[index] + 1) as f64;
        let winner = (0..weights.len())
            .reduce(|best, next| {
                let order = quotient(next)
                    .total_cmp(&quotient(best))
                    .then_with(|| given[best].cmp(&given[next]))
                    .then_with(|| {
                        if ties == Ties::FirstName {
                            best.cmp(&next)
                        } else {
                            next.cmp(&best)
                        }
                    });
                if order.is_gt() { next } else { best }
            })
            .unwrap();
        given[winner] += 1;
    }
    given
}

fn claims(weights: &[i64]) -> Vec<Claim> {
    weights
        .iter()
        .enumerate()
        .map(|(cluster, weight)| Claim {
            cluster,
            weight: *weight,
        })
        .collect()
}

fn any_ties() -> impl Strategy<Value = Ties> {
    prop_oneof![Just(Ties::FirstName), Just(Ties::LastName)]
}

proptest! {
    #[test]
    fn all_at_once_is_the_same_as_seat_by_seat(
        seats in 0_i64..400,
        weights in prop::collection::vec(prop_oneof![0_i64..6, 0_i64..1000, Just(i64::MAX), Just(i64::MAX - 1)], 1..12),
        ties in any_ties(),
    ) {
        prop_assert_eq!(apportion(seats, &claims(&weights), ties), seat_by_seat(seats, &weights, ties));
    }

    #[test]
    fn one_more_seat_takes_none_away(
        seats in 0_i64..100_000,
        weights in prop::collection::vec(0_i64..10_000, 1..30),
        ties in any_ties(),
    ) {
        let fewer = apportion(seats, &claims(&weights), ties);
        let more = apportion(seats + 1, &claims(&weights), ties);
        prop_assert!(fewer.iter().zip(&more).all(|(fewer, more)| fewer <= more));
    }

    #[test]
    fn all_seats_are_given_and_capacities_are_kept(
        weights in prop::collection::vec(0_i64..5000, 1..40),
        part in 0.0_f64..=1.0,
        ties in any_ties(),
    ) {
        let total: i64 = weights.iter().sum();
        let seats = (total as f64 * part) as i64;
        let given = apportion(seats, &claims(&weights), ties);
        prop_assert_eq!(given.iter().sum::<i64>(), seats);
        prop_assert!(given.iter().zip(&weights).all(|(given, weight)| given <= weight));
    }

    #[test]
    fn the_order_of_claims_does_not_matter(
        seats in 0_i64..10_000,
        weights in prop::collection::vec(0_i64..50, 1..20),
        ties in any_ties(),
    ) {
        let forward = apportion(seats, &claims(&weights), ties);
        let mut reversed = claims(&weights);
        reversed.reverse();
        let mut backward = apportion(seats, &reversed, ties);
        backward.reverse();
        prop_assert_eq!(forward, backward);
    }
}

#[test]
fn nothing_is_given_without_weight_or_seats() {
    assert_eq!(apportion(5, &claims(&[0, -3]), Ties::FirstName), [0, 0]);
    assert_eq!(apportion(0, &claims(&[1, 2]), Ties::FirstName), [0, 0]);
    assert_eq!(apportion(-5, &claims(&[1, 2]), Ties::FirstName), [0, 0]);
    assert_eq!(apportion(5, &[], Ties::FirstName), [0_i64; 0]);
}

#[test]
fn the_direction_follows_the_hash_of_the_uid() {
    let cases = [
        ("", Ties::FirstName),
        ("a", Ties::FirstName),
        ("b", Ties::LastName),
    ];
    for (uid, expected) in cases {
        assert_eq!(Ties::of_template(uid), expected, "{uid}");
    }
    // The hash is odd exactly if an even number of bytes is odd.
    for uid in ["", "0", "3f2b", "7a1c-9e", "d41d8cd9-8f00-b204"] {
        let odd_bytes = uid.bytes().filter(|byte| byte % 2 == 1).count();
        let expected = if !uid.is_empty() && odd_bytes % 2 == 0 {
            Ties::LastName
        } else {
            Ties::FirstName
        };
        assert_eq!(Ties::of_template(uid), expected, "{uid}");
    }
}
