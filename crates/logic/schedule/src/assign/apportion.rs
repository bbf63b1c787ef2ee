//! Sharing seats out in proportion to weights, by the method of Webster (also Sainte-Laguë).
//!
//! One seat after another goes to whoever has the largest `weight / (2·seats + 1)`. Equal quotients: to whoever has
//! fewer seats; then by name, in a direction that depends on the template, so that not every workload's odd replica
//! ends up on the same cluster.
//!
//! Handing seats out one by one takes as many steps as there are seats. The order in which they are handed out does not
//! depend on their number, so the seats that everybody is sure to get are given at once; only about three for each
//! cluster remain to be compared, whatever the number of seats.
//!
//! Why the bounds hold: for a quotient `q`, a cluster with weight `w` has between `(w/q - 1)/2` and `(w/q + 1)/2` seats
//! above it. With `k` clusters and total weight `W`, at most `W/2q + k/2` seats lie above `q` and at least
//! `W/2q - k/2`. So the seats above `W/(2n - k)` are at most `n`: all of them are handed out. The seats above
//! `W/(2n + k)` are at least `n`: no others are. Both bounds are taken a little wider, by `k` instead of `k/2`, so that
//! quotients which differ only by rounding stay between them and are compared as the rule compares them.

use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Which name wins where nothing else decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// The first.
    FirstName,
    /// The last.
    LastName,
}

impl Ties {
    /// The direction for a template: the last name wins if the FNV-1a hash of its UID is odd.
    #[must_use]
    pub fn of_template(uid: &str) -> Self {
        const OFFSET: u32 = 0x811c_9dc5;
        const PRIME: u32 = 0x0100_0193;
        if uid.is_empty() {
            return Self::FirstName;
        }
        let hash = uid.bytes().fold(OFFSET, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(PRIME)
        });
        if hash % 2 == 0 {
            Self::FirstName
        } else {
            Self::LastName
        }
    }
}

/// A claim to seats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Whose claim it is; orders as the name does.
    pub cluster: usize,
    /// Its weight; nothing comes of a weight below one.
    pub weight: i64,
}

/// How many of `seats` each name gets by its weight.
#[must_use]
pub fn shares(seats: i64, mut weights: Vec<(&str, i32)>, ties: Ties) -> BTreeMap<&str, i64> {
    weights.sort_unstable();
    let claims: Vec<Claim> = weights
        .iter()
        .enumerate()
        .map(|(cluster, (_, weight))| Claim {
            cluster,
            weight: i64::from(*weight),
        })
        .collect();
    let given = apportion(seats, &claims, ties);
    let names = weights.into_iter().map(|(name, _)| name);
    names.zip(given).collect()
}

/// How many of `seats` each claim gets, in the order of the claims. Without any weight nobody gets any.
#[must_use]
pub fn apportion(seats: i64, claims: &[Claim], ties: Ties) -> Vec<i64> {
    let mut given = vec![0_i64; claims.len()];
    let positive = claims.iter().filter(|claim| claim.weight > 0);
    let total: u128 = positive
        .clone()
        .map(|claim| u128::from(claim.weight.unsigned_abs()))
        .sum();
    let Ok(wanted) = u64::try_from(seats) else {
        return given;
    };
    if total == 0 || wanted == 0 {
        return given;
    }
    let claimants = u64::try_from(positive.count()).unwrap_or(u64::MAX);
    let sure = wanted.saturating_sub(claimants).saturating_mul(2);
    let possible = wanted.saturating_add(claimants).saturating_mul(2);

    let mut contested: Vec<Seat> = Vec::with_capacity(claims.len().saturating_mul(2));
    let mut remaining = seats;
    for ((index, claim), given) in claims.iter().enumerate().zip(&mut given) {
        let Ok(weight @ 1..) = u64::try_from(claim.weight) else {
            continue;
        };
        let from = seats_above(weight, sure, total);
        *given = from;
        remaining = remaining.saturating_sub(from);
        for number in from..seats_above(weight, possible, total) {
            contested.push(Seat {
                quotient: quotient(claim.weight, number),
                number,
                index,
                cluster: claim.cluster,
            });
        }
    }
    let remaining = usize::try_from(remaining).unwrap_or(0);
    if remaining < contested.len() {
        contested.select_nth_unstable_by(remaining, |a, b| a.order(b, ties));
        contested.truncate(remaining);
    }
    for seat in contested {
        if let Some(given) = given.get_mut(seat.index) {
            *given += 1;
        }
    }
    given
}

/// A seat that more than one may get.
#[derive(Clone, Copy, Debug)]
struct Seat {
    quotient: f64,
    /// How many seats its claimant has before it.
    number: i64,
    index: usize,
    cluster: usize,
}

impl Seat {
    /// `Less` if it is handed out earlier.
    fn order(&self, other: &Self, ties: Ties) -> Ordering {
        let by_name = match ties {
            Ties::FirstName => self.cluster.cmp(&other.cluster),
            Ties::LastName => other.cluster.cmp(&self.cluster),
        };
        other
            .quotient
            .total_cmp(&self.quotient)
            .then_with(|| self.number.cmp(&other.number))
            .then(by_name)
    }
}

/// The quotient that decides who gets the seat after `number` others, rounded as upstream rounds it.
#[expect(
    clippy::cast_precision_loss,
    reason = "equal after rounding is what the rule means by equal"
)]
fn quotient(weight: i64, number: i64) -> f64 {
    weight as f64 / (2.0 * number as f64 + 1.0)
}

/// How many seats of a claim have a quotient above `total / scale`: the odd numbers below `weight · scale / total`.
fn seats_above(weight: u64, scale: u64, total: u128) -> i64 {
    let below = match (weight.checked_mul(scale), u64::try_from(total)) {
        (Some(product), Ok(total)) => product.saturating_sub(1) / total,
        // Weights come from users and may be as large as they like; 128 bits hold any product.
        _ => {
            let product = u128::from(weight) * u128::from(scale);
            u64::try_from(product.saturating_sub(1) / total).unwrap_or(u64::MAX)
        }
    };
    i64::try_from(below / 2 + below % 2).unwrap_or(i64::MAX)
}
