//! Single decisions as tables, and whole worlds of owners against a plain reference.

use std::collections::{BTreeMap, BTreeSet};

use intent::{Action, Propagation};
use object::Value;
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn things() -> Arc<ResourceType> {
    Arc::new(ResourceType::namespaced("", "v1", "Thing", "things"))
}

/// An object with owners, each `uid` or `uid!` if it blocks, and finalizers; `*` marks it as ending.
fn thing(uid: &str, owners: &str, finalizers: &str) -> Arc<Object> {
    let (uid, ends) = uid
        .strip_suffix('*')
        .map_or((uid, false), |uid| (uid, true));
    let owners: Vec<Value> = owners
        .split_whitespace()
        .map(|owner| {
            let blocks = owner.ends_with('!');
            let uid = owner.trim_end_matches('!');
            json!({"apiVersion": "v1", "kind": "Thing", "name": uid, "uid": uid, "blockOwnerDeletion": blocks})
        })
        .collect();
    let finalizers: Vec<&str> = finalizers.split_whitespace().collect();
    let mut thing = json!({"apiVersion": "v1", "kind": "Thing", "metadata": {
        "name": uid, "namespace": "n", "uid": uid, "resourceVersion": "1", "ownerReferences": owners, "finalizers": finalizers}});
    if ends {
        thing["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    }
    Arc::new(Object::from_value(thing).unwrap())
}

/// `delete Policy`, `owners a b`, `finalizers x`, of which object.
fn shown(action: &Action) -> String {
    let name = action.key().name;
    match action {
        Action::Delete {
            propagation,
            revision,
            ..
        } => {
            assert!(revision.is_some(), "a deletion is for one state");
            format!("{name} delete {}", propagation.unwrap().as_str())
        }
        Action::Patch {
            patch,
            uid,
            revision,
            ..
        } => {
            assert!(uid.is_some() && revision.is_some());
            format!("{name} {}", patch["metadata"])
        }
        other => format!("{name} {}", other.verb()),
    }
}

fn decide(
    object: &Arc<Object>,
    owners: &[OwnerState],
    dependents: Option<&[Arc<Object>]>,
) -> String {
    let owners: Vec<Owner> = object
        .owner_references()
        .zip(owners.iter().cloned())
        .map(|(reference, state)| Owner { reference, state })
        .collect();
    let dependents: Option<Vec<_>> = dependents.map(|dependents| {
        let with_kind = |object: &Arc<Object>| (things(), Arc::clone(object));
        dependents.iter().map(with_kind).collect()
    });
    let of = |uid: &str| match uid == object.uid() {
        true => dependents
            .iter()
            .flatten()
            .map(|(_, object)| Arc::clone(object))
            .collect(),
        false => Vec::new(),
    };
    let plan = plan(&Inputs {
        resource: &things(),
        object,
        owners: &owners,
        dependents: dependents.as_deref(),
        blockers: &blockers(object.uid(), of),
    });
    let mut lines: Vec<String> = plan.actions.iter().map(shown).collect();
    lines.extend(
        plan.problems
            .iter()
            .map(|problem| format!("problem: {}", problem.message)),
    );
    lines.join("; ")
}

#[test]
fn an_object_goes_when_all_its_owners_are_gone() {
    use OwnerState::{Absent, Elsewhere, Left, Misplaced, Solid, Unknown, Waiting};
    let two = thing("x", "a b", "");
    let none: &[Arc<Object>] = &[];
    let left = r#"x {"ownerReferences":[{"apiVersion":"v1","kind":"Thing","name":"b","uid":"b","blockOwnerDeletion":false}]}"#;
    for (states, expected) in [
        ([Solid, Solid], ""),
        ([Absent, Solid], left),
        ([Waiting, Solid], left),
        ([Absent, Absent], "x delete Background"),
        ([Absent, Waiting], "x delete Background"),
        (
            [Absent, Unknown("its kind is not known")],
            "problem: its kind is not known",
        ),
        ([Absent, Misplaced], "x report"),
        ([Elsewhere, Absent], "x report; x delete Background"),
        ([Left, Solid], left),
        ([Left, Absent], left),
        (
            [Left, Unknown("its kind is not known")],
            "problem: its kind is not known",
        ),
    ] {
        assert_eq!(decide(&two, &states, Some(none)), expected, "{states:?}");
    }
    assert_eq!(decide(&thing("x", "", ""), &[], Some(none)), "");
}

#[test]
fn finalizers_that_are_there_say_how_it_goes() {
    let absent = [OwnerState::Absent];
    for (finalizers, expected) in [
        ("orphan", "x delete Orphan"),
        ("foregroundDeletion", "x delete Foreground"),
        ("else", "x delete Background"),
    ] {
        assert_eq!(
            decide(&thing("x", "a", finalizers), &absent, None),
            expected
        );
    }
}

#[test]
fn an_object_with_dependents_of_its_own_waits_for_them_too() {
    let waiting = [OwnerState::Waiting];
    let middle = thing("x", "a!", "");
    assert_eq!(
        decide(&middle, &waiting, Some(&[thing("y", "x!", "")])),
        "x delete Foreground"
    );
    assert_eq!(
        decide(&middle, &waiting, None),
        "problem: not all of its dependents are known"
    );
}

#[test]
fn in_a_ring_nobody_keeps_those_waiting_that_it_waits_for() {
    let ending = thing("x*", "a! b!", "foregroundDeletion");
    let ring = decide(
        &ending,
        &[],
        Some(&[thing("a*", "x!", "foregroundDeletion")]),
    );
    let unblocked = r#"x {"ownerReferences":[{"apiVersion":"v1","kind":"Thing","name":"a","uid":"a","blockOwnerDeletion":false},{"apiVersion":"v1","kind":"Thing","name":"b","uid":"b","blockOwnerDeletion":true}]}"#;
    assert_eq!(ring, unblocked);
    // One that ends and does not wait will be gone soon.
    assert_eq!(decide(&ending, &[], Some(&[thing("a*", "x!", "else")])), "");
}

#[test]
fn an_ending_owner_waits_or_lets_go() {
    let waiting = thing("a*", "", "mine foregroundDeletion");
    assert_eq!(decide(&waiting, &[], Some(&[thing("x", "a!", "")])), "");
    let free = r#"a {"finalizers":["mine"]}"#;
    assert_eq!(decide(&waiting, &[], Some(&[thing("x", "a", "")])), free);
    assert_eq!(decide(&waiting, &[], Some(&[])), free);
    let orphaning = thing("a*", "", "orphan");
    assert_eq!(
        decide(&orphaning, &[], Some(&[thing("x", "a! b", "")])),
        r#"x {"ownerReferences":[{"apiVersion":"v1","kind":"Thing","name":"b","uid":"b","blockOwnerDeletion":false}]}; a {"finalizers":[]}"#
    );
    for ending in [&waiting, &orphaning] {
        assert_eq!(
            decide(ending, &[], None),
            "problem: not all of its dependents are known"
        );
    }
    assert_eq!(decide(&thing("a*", "b", "mine"), &[], Some(&[])), "");
}

/// Objects by uid, with the rules of a server for what deletion and finalizers do.
struct World {
    objects: BTreeMap<String, Arc<Object>>,
}

impl World {
    fn delete(&mut self, uid: &str, propagation: Propagation) {
        let Some(object) = self.objects.get(uid) else {
            return;
        };
        let mut finalizers: Vec<String> = object.finalizers().map(str::to_owned).collect();
        finalizers.retain(|name| name != ORPHAN && name != FOREGROUND);
        match propagation {
            Propagation::Background => {}
            Propagation::Foreground => finalizers.push(FOREGROUND.to_owned()),
            Propagation::Orphan => finalizers.push(ORPHAN.to_owned()),
        }
        let mut changed = (**object).clone();
        changed
            .set(&["metadata", "deletionTimestamp"], "2026-01-01T00:00:00Z")
            .unwrap();
        changed
            .set(&["metadata", "finalizers"], finalizers)
            .unwrap();
        self.put(changed);
    }

    fn put(&mut self, object: Object) {
        let uid = object.uid().to_owned();
        if object.is_terminating() && object.finalizers().next().is_none() {
            self.objects.remove(&uid);
        } else {
            self.objects.insert(uid, Arc::new(object));
        }
    }

    /// What the collector would see of one object.
    fn plan(&self, object: &Arc<Object>) -> intent::Plan {
        let owners: Vec<Owner> = object
            .owner_references()
            .map(|reference| {
                let found = self.objects.get(&reference.uid);
                let state = found.map_or(OwnerState::Absent, |found| state_of(found));
                Owner { reference, state }
            })
            .collect();
        let of = |uid: &str| {
            let owned =
                |other: &&Arc<Object>| other.owner_references().any(|owner| owner.uid == uid);
            self.objects.values().filter(owned).cloned().collect()
        };
        let dependents: Vec<Arc<Object>> = of(object.uid());
        let dependents: Vec<_> = dependents
            .into_iter()
            .map(|other| (things(), other))
            .collect();
        plan(&Inputs {
            resource: &things(),
            object,
            owners: if object.is_terminating() {
                &[]
            } else {
                &owners
            },
            dependents: Some(&dependents),
            blockers: &blockers(object.uid(), of),
        })
    }

    fn carry_out(&mut self, plan: &intent::Plan) {
        for action in &plan.actions {
            match action {
                Action::Delete {
                    uid, propagation, ..
                } => self.delete(uid, propagation.unwrap()),
                Action::Patch { key, patch, .. } => {
                    let object = (*self.objects[&key.name]).clone().into_value();
                    let patched = object::patch::merge(&object, patch);
                    self.put(Object::from_value(patched).unwrap());
                }
                other => panic!("unexpected {other:?}"),
            }
        }
    }

    /// Looks at everything in a shuffled order until nothing is left to do; `None` if that does not end.
    fn settle(&mut self, seed: usize) -> Option<()> {
        for round in 0..200 {
            let mut uids: Vec<String> = self.objects.keys().cloned().collect();
            let turn = (seed + round) % uids.len().max(1);
            uids.rotate_left(turn);
            if (seed + round) % 2 == 1 {
                uids.reverse();
            }
            let mut idle = true;
            for uid in uids {
                let Some(object) = self.objects.get(&uid).filter(|object| is_concerned(object))
                else {
                    continue;
                };
                let plan = self.plan(&Arc::clone(object));
                idle &= plan.is_empty();
                self.carry_out(&plan);
            }
            if idle {
                return Some(());
            }
        }
        None
    }
}

const SIZE: usize = 8;

/// For each object its owners, among them one that was never there, and whether it blocks.
fn graphs() -> impl Strategy<Value = Vec<Vec<(usize, bool)>>> {
    let owners = prop::collection::btree_map(0..=SIZE, any::<bool>(), 0..3);
    prop::collection::vec(owners.prop_map(|owners| owners.into_iter().collect()), SIZE)
}

fn world(graph: &[Vec<(usize, bool)>]) -> World {
    let objects = graph.iter().enumerate().map(|(number, owners)| {
        let owners: Vec<String> = owners
            .iter()
            .filter(|(owner, _)| *owner != number)
            .map(|(owner, blocks)| format!("{owner}{}", if *blocks { "!" } else { "" }))
            .collect();
        (
            number.to_string(),
            thing(&number.to_string(), &owners.join(" "), ""),
        )
    });
    World {
        objects: objects.collect(),
    }
}

/// Who is left when these are deleted: everybody but those whose owners, having had some, are all gone.
fn survivors(graph: &[Vec<(usize, bool)>], deleted: &BTreeSet<usize>) -> BTreeSet<String> {
    let mut gone = deleted.clone();
    loop {
        let more: Vec<usize> = (0..graph.len())
            .filter(|number| !gone.contains(number))
            .filter(|number| {
                let mut owners = graph[*number]
                    .iter()
                    .map(|(owner, _)| *owner)
                    .filter(|owner| owner != number);
                let has_owners = graph[*number].iter().any(|(owner, _)| owner != number);
                has_owners && owners.all(|owner| owner == SIZE || gone.contains(&owner))
            })
            .collect();
        if more.is_empty() {
            let left = (0..graph.len()).filter(|number| !gone.contains(number));
            return left.map(|number| number.to_string()).collect();
        }
        gone.extend(more);
    }
}

proptest! {
    #[test]
    fn exactly_those_go_whose_owners_are_all_gone(
        graph in graphs(),
        deleted in prop::collection::btree_map(0..SIZE, any::<bool>(), 0..4),
        seed in 0..1_000_usize,
    ) {
        let mut world = world(&graph);
        for (number, foreground) in &deleted {
            let propagation = if *foreground { Propagation::Foreground } else { Propagation::Background };
            world.delete(&number.to_string(), propagation);
        }
        prop_assert!(world.settle(seed).is_some(), "it never came to rest");
        let left: BTreeSet<String> = world.objects.keys().cloned().collect();
        prop_assert_eq!(left, survivors(&graph, &deleted.into_keys().collect()));
    }

    #[test]
    fn a_plan_cut_short_anywhere_changes_nothing_about_the_end(
        graph in graphs(),
        deleted in prop::collection::btree_map(0..SIZE, any::<bool>(), 0..4),
        crashes in prop::collection::vec((0..SIZE, 0..3_usize), 0..12),
        seed in 0..1_000_usize,
    ) {
        let mut world = world(&graph);
        for (number, foreground) in &deleted {
            let propagation = if *foreground { Propagation::Foreground } else { Propagation::Background };
            world.delete(&number.to_string(), propagation);
        }
        // Each crash carries out the beginning of one decision and forgets the rest.
        for (number, actions) in crashes {
            let Some(object) = world.objects.get(&number.to_string()).cloned() else { continue };
            if is_concerned(&object) {
                let mut plan = world.plan(&object);
                plan.actions.truncate(actions);
                world.carry_out(&plan);
            }
        }
        prop_assert!(world.settle(seed).is_some(), "it never came to rest");
        let left: BTreeSet<String> = world.objects.keys().cloned().collect();
        prop_assert_eq!(left, survivors(&graph, &deleted.into_keys().collect()));
    }

    #[test]
    fn orphans_outlive_their_owner(mut graph in graphs(), owner in 0..SIZE, seed in 0..1_000_usize) {
        // All owners are there: what one that never was does to an orphan depends on who is looked at first.
        for owners in &mut graph {
            owners.retain(|(owner, _)| *owner != SIZE);
        }
        let mut world = world(&graph);
        world.delete(&owner.to_string(), Propagation::Orphan);
        prop_assert!(world.settle(seed).is_some(), "it never came to rest");
        prop_assert_eq!(world.objects.len(), SIZE - 1);
        let owner = owner.to_string();
        for object in world.objects.values() {
            prop_assert!(object.owner_references().all(|reference| reference.uid != owner));
        }
    }
}
