//! Sets of indexes as Kubernetes writes them: `0-2,5`.

use std::collections::BTreeSet;

/// Writes a set.
pub(crate) fn spell(indexes: &BTreeSet<i64>) -> String {
    let mut runs: Vec<(i64, i64)> = Vec::new();
    for index in indexes {
        match runs.last_mut() {
            Some((_, end)) if end.saturating_add(1) == *index => *end = *index,
            _ => runs.push((*index, *index)),
        }
    }
    let parts = runs.iter().map(|(first, last)| match last - first {
        0 => first.to_string(),
        1 => format!("{first},{last}"),
        _ => format!("{first}-{last}"),
    });
    parts.collect::<Vec<_>>().join(",")
}

/// Reads a set; what makes no sense is left out, and nothing below zero or from `end` on is in it.
pub(crate) fn read(text: &str, end: i64) -> BTreeSet<i64> {
    let mut indexes = BTreeSet::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.trim().parse::<i64>(), last.trim().parse::<i64>()) {
            indexes.extend(first.max(0)..=last.min(end.saturating_sub(1)));
        }
    }
    indexes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_written_in_runs_and_read_back() {
        for (indexes, text) in [
            (vec![], ""),
            (vec![3], "3"),
            (vec![0, 1], "0,1"),
            (vec![0, 1, 2, 5, 7, 8, 9], "0-2,5,7-9"),
        ] {
            let indexes: BTreeSet<i64> = indexes.into_iter().collect();
            assert_eq!(spell(&indexes), text);
            assert_eq!(read(text, 100), indexes, "{text}");
        }
        assert_eq!(read("1-999999999999,x,-4", 3), BTreeSet::from([1, 2]));
    }
}
