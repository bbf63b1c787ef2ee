//! Which volume that is there already suits a claim.

use object::quantity::Quantity;
use object::{Object, Value};

use crate::read;

/// The best of the volumes nobody has claimed: the smallest that is large enough, then the first by name. A volume may be
/// kept for a claim by name, and a claim may ask for a volume by name.
pub(crate) fn choose<'v>(
    claim: &Object,
    volumes: impl Iterator<Item = &'v Object>,
) -> Option<&'v Object> {
    volumes
        .filter(|volume| !volume.is_terminating() && suits(claim, volume))
        .min_by(|one, other| {
            let is_open = |volume: &Object| volume.at(&["spec", "claimRef"]).is_none();
            (is_open(one), capacity(one), one.name()).cmp(&(
                is_open(other),
                capacity(other),
                other.name(),
            ))
        })
}

/// Whether a volume belongs to a claim, or is kept for it.
pub(crate) fn is_of(volume: &Object, claim: &Object) -> bool {
    let of = |name: &str| {
        volume
            .text_at(&["spec", "claimRef", name])
            .unwrap_or_default()
    };
    of("namespace") == claim.namespace()
        && of("name") == claim.name()
        && (of("uid").is_empty() || of("uid") == claim.uid())
}

fn suits(claim: &Object, volume: &Object) -> bool {
    let is_free = volume.at(&["spec", "claimRef"]).is_none();
    if !is_free && !is_of(volume, claim) {
        return false;
    }
    let wanted = claim.text_at(&["spec", "volumeName"]).unwrap_or_default();
    if !wanted.is_empty() && wanted != volume.name() {
        return false;
    }
    let class = |object: &Object| {
        let class = object.text_at(&["spec", "storageClassName"]);
        class.unwrap_or_default().to_owned()
    };
    let mode = |object: &Object| {
        let mode = object.text_at(&["spec", "volumeMode"]);
        mode.unwrap_or("Filesystem").to_owned()
    };
    let has_modes = read::list(claim, &["spec", "accessModes"])
        .iter()
        .all(|mode| read::list(volume, &["spec", "accessModes"]).contains(mode));
    let selector = claim.at(&["spec", "selector"]);
    let is_selected = selector.is_none_or(|selector| {
        read::selector(Some(selector)).is_some_and(|selector| read::selects(&selector, volume))
    });
    let asked = amount(claim.at(&["spec", "resources", "requests", "storage"]));
    class(claim) == class(volume)
        && mode(claim) == mode(volume)
        && has_modes
        && is_selected
        && capacity(volume) >= asked
}

fn capacity(volume: &Object) -> i64 {
    amount(volume.at(&["spec", "capacity", "storage"]))
}

fn amount(value: Option<&Value>) -> i64 {
    let quantity = value.and_then(|value| value.as_str()?.parse::<Quantity>().ok());
    quantity.map_or(0, |quantity| quantity.value())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn volume(name: &str, further: Value) -> Object {
        let mut volume = json!({
            "metadata": {"name": name, "labels": {"tier": name}},
            "spec": {
                "capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce", "ReadOnlyMany"],
                "storageClassName": "manual",
            },
        });
        for (field, value) in further.as_object().into_iter().flatten() {
            volume["spec"][field] = value.clone();
        }
        Object::from_value(volume).unwrap()
    }

    fn check(further: Value) -> Option<String> {
        let mut claim = json!({
            "metadata": {"name": "c", "namespace": "d", "uid": "u"},
            "spec": {
                "accessModes": ["ReadWriteOnce"], "storageClassName": "manual",
                "resources": {"requests": {"storage": "2Gi"}},
            },
        });
        for (field, value) in further.as_object().into_iter().flatten() {
            claim["spec"][field] = value.clone();
        }
        let claim = Object::from_value(claim).unwrap();
        let volumes = [
            volume("large", json!({"capacity": {"storage": "9Gi"}})),
            volume("medium", json!({})),
            volume("small", json!({"capacity": {"storage": "1Gi"}})),
            volume(
                "other",
                json!({"storageClassName": "fast", "capacity": {"storage": "2Gi"}}),
            ),
            volume(
                "taken",
                json!({"capacity": {"storage": "2Gi"}, "claimRef": {"namespace": "d", "name": "x"}}),
            ),
        ];
        choose(&claim, volumes.iter()).map(|volume| volume.name().to_owned())
    }

    #[test]
    fn a_claim_gets_the_smallest_volume_that_suits_it() {
        for (further, chosen) in [
            (json!({}), Some("medium")),
            (json!({"volumeName": "large"}), Some("large")),
            (json!({"volumeName": "taken"}), None),
            (json!({"storageClassName": "fast"}), Some("other")),
            (json!({"storageClassName": ""}), None),
            (json!({"accessModes": ["ReadWriteMany"]}), None),
            (json!({"volumeMode": "Block"}), None),
            (
                json!({"resources": {"requests": {"storage": "6Gi"}}}),
                Some("large"),
            ),
            (
                json!({"selector": {"matchLabels": {"tier": "large"}}}),
                Some("large"),
            ),
        ] {
            assert_eq!(check(further.clone()).as_deref(), chosen, "{further}");
        }
    }
}
