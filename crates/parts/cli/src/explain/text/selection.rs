//! How the clusters of a decision were selected where spread constraints choose among those that passed.

use serde_json::Value;

use super::{items, text};
use crate::explain::decisions::MOST_NAMED;

/// A line each, the first of them what was asked for; none where nothing constrains the choice.
pub(super) fn told(how: &Value) -> Vec<String> {
    match how["by"].as_str() {
        Some("cluster") => by_cluster(how),
        Some("region") => by_region(how),
        Some("weights") => {
            vec!["fixed weights name the clusters, so spread constraints do not apply".to_owned()]
        }
        _ => Vec::new(),
    }
}

fn by_cluster(how: &Value) -> Vec<String> {
    let mut asked = match (how["min"].as_u64(), how["max"].as_u64()) {
        (Some(min), Some(max)) if min == max => clusters(min),
        (Some(min), Some(max)) if max <= MOST_NAMED => format!("{min} to {}", clusters(max)),
        (min, _) => format!("at least {}", clusters(min.unwrap_or(0))),
    };
    if let Some(need) = how["need"].as_i64() {
        asked.push_str(&format!(" with room for {need}"));
    }
    let mut lines = vec![asked];
    let room = |name: &str| how["room"][name].as_i64();
    if let (Some(count), Some(preferred)) = (how["room"]["clusters"].as_u64(), room("preferred")) {
        let preferred = amount(preferred);
        lines.push(match count {
            1 => format!("the preferred one has room for {preferred}"),
            _ => format!("the preferred {count} have room for {preferred}"),
        });
    }
    let swaps = items(&how["swaps"]);
    for swap in swaps {
        let (out, into) = (text(&swap["out"]), text(&swap["in"]));
        lines.push(format!("{into} instead of {out}, which has less room"));
    }
    if let Some(found) = room("found").filter(|_| !swaps.is_empty()) {
        lines.push(format!("with that there is room for {}", amount(found)));
    }
    lines
}

fn by_region(how: &Value) -> Vec<String> {
    let mut regions: Vec<&Value> = items(&how["regions"]).iter().collect();
    regions.sort_by_key(|region| region["rank"].as_u64().unwrap_or(u64::MAX));
    let mut lines = vec![match how["approximate"].as_bool() {
        Some(true) => "by region, too many to weigh every combination".to_owned(),
        _ => "by region".to_owned(),
    }];
    lines.extend(regions.into_iter().map(|region| {
        let chosen = match region["rank"].as_u64() {
            Some(rank) => format!("choice {}", rank.saturating_add(1)),
            None => "not chosen".to_owned(),
        };
        let (name, score) = (text(&region["name"]), &region["weight"]);
        let count = clusters(region["clusters"].as_u64().unwrap_or(0));
        format!("{name}: {chosen}, {count}, score {score}")
    }));
    lines
}

fn clusters(count: u64) -> String {
    match count {
        1 => "1 cluster".to_owned(),
        _ => format!("{count} clusters"),
    }
}

/// A number of replicas; what has no requirements fits as often as anybody asks.
fn amount(replicas: i64) -> String {
    match replicas >= i64::from(i32::MAX) {
        true => "any number".to_owned(),
        false => replicas.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whoever_asks_is_told_by_what_clusters_were_selected() {
        let cases = [
            (json!({"by": "none"}), ""),
            (json!(null), ""),
            (
                json!({"by": "weights"}),
                "fixed weights name the clusters, so spread constraints do not apply",
            ),
            (
                json!({"by": "cluster", "min": 1, "max": 2, "need": 37, "swaps": [{"out": "n2", "in": "w1"}], "room": {"clusters": 2, "preferred": 11, "found": 39}}),
                "1 to 2 clusters with room for 37 | the preferred 2 have room for 11 \
                 | w1 instead of n2, which has less room | with that there is room for 39",
            ),
            (
                json!({"by": "cluster", "min": 1, "max": 1, "need": 3, "room": {"clusters": 1, "preferred": 2147483647, "found": 2147483647}}),
                "1 cluster with room for 3 | the preferred one has room for any number",
            ),
            (
                json!({"by": "cluster", "min": 2, "max": 9_223_372_036_854_775_807_u64}),
                "at least 2 clusters",
            ),
            (
                json!({"by": "region", "approximate": false, "regions": [
                    {"name": "east", "clusters": 2, "weight": 11000, "rank": 1},
                    {"name": "north", "clusters": 2, "weight": 11000},
                    {"name": "west", "clusters": 1, "weight": 12000, "rank": 0},
                ]}),
                "by region | west: choice 1, 1 cluster, score 12000 | east: choice 2, 2 clusters, score 11000 \
                 | north: not chosen, 2 clusters, score 11000",
            ),
        ];
        for (how, expected) in cases {
            assert_eq!(told(&how).join(" | "), expected, "{how}");
        }
    }
}
