//! So many clusters, with room for all replicas where that matters.

use std::{cmp::Reverse, collections::BinaryHeap};

use super::{How, Room, SelectError, Selection};
use crate::{
    candidate::{Candidate, total_available},
    placement::Bounds,
};

/// The first clusters in canonical order, as many as allowed; exchanged for roomier ones, the least preferred first,
/// until `need` replicas find room.
pub(super) fn select(candidates: &[Candidate], bounds: Bounds, need: Option<i64>) -> Selection {
    let (mut swaps, mut room) = (Vec::new(), None);
    let chosen = choose(candidates, bounds, need, (&mut swaps, &mut room));
    Selection {
        chosen,
        how: How::ByCluster {
            min: bounds.min,
            max: bounds.max,
            need,
            swaps,
            room,
        },
    }
}

fn choose(
    candidates: &[Candidate],
    bounds: Bounds,
    need: Option<i64>,
    (swaps, found): (&mut Vec<(usize, usize)>, &mut Option<Room>),
) -> Result<Vec<Candidate>, SelectError> {
    if candidates.len() < bounds.min {
        return Err(SelectError::TooFewClusters);
    }
    let count = candidates.len().min(bounds.max);
    let (first, rest) = candidates.split_at(count);
    let mut chosen = first.to_vec();
    let Some(need) = need else {
        return Ok(chosen);
    };
    let preferred = total_available(&chosen);
    let room = match preferred < need {
        true => swap_for_room(&mut chosen, rest, need, swaps),
        false => preferred,
    };
    *found = Some(Room {
        clusters: count,
        preferred,
        found: room,
    });
    if room < need || chosen.is_empty() {
        return Err(SelectError::NotEnoughRoom { clusters: count });
    }
    Ok(chosen)
}

/// Walks the chosen from the least preferred and takes the roomiest of the others instead, if it is roomier; stops as
/// soon as there is enough. Returns the room there is then.
fn swap_for_room(
    chosen: &mut [Candidate],
    rest: &[Candidate],
    need: i64,
    swaps: &mut Vec<(usize, usize)>,
) -> i64 {
    // Of equally roomy ones the first in line is taken; a cluster that was put back stands where its successor stood.
    let mut others: BinaryHeap<(i64, Reverse<usize>)> = rest
        .iter()
        .enumerate()
        .map(|(place, other)| (other.available(), Reverse(place)))
        .collect();
    let mut line = rest.to_vec();
    let mut room = total_available(&*chosen);
    for seat in chosen.iter_mut().rev() {
        if room >= need {
            break;
        }
        let Some(&(roomiest, Reverse(place))) = others.peek() else {
            break;
        };
        if roomiest <= seat.available() {
            continue;
        }
        let Some(other) = line.get_mut(place) else {
            break;
        };
        others.pop();
        room = room
            .saturating_sub(seat.available())
            .saturating_add(roomiest);
        swaps.push((seat.cluster, other.cluster));
        std::mem::swap(seat, other);
        others.push((other.available(), Reverse(place)));
    }
    room
}
