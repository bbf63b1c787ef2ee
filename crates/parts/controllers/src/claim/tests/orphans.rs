//! A template is deleted so that what it made stays, and nobody takes it away: in every order of what happens, and from
//! every state that the controller may still believe in.

use object::Value;

use super::*;
use crate::claim::plan::is_in_question;

/// What is true, and everything that was: the controller may look at any of it.
#[derive(Clone)]
struct History {
    templates: Vec<Option<Object>>,
    bindings: Vec<Object>,
    revision: u64,
    /// What happened, for whoever reads of a failure.
    told: Vec<String>,
}

/// What happens beside the controller, each once and in this order.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Move {
    /// The author deletes the template and lets what it made stay.
    Orphan,
    /// The collector takes the owner off the binding.
    Strip,
    /// The collector lets the template go.
    LetGo,
    /// The author makes a template of the same name.
    Remake,
}

impl History {
    fn template(&self) -> Option<&Object> {
        self.templates.last().unwrap().as_ref()
    }

    fn binding(&self) -> &Object {
        self.bindings.last().unwrap()
    }

    fn next(&mut self) -> String {
        self.revision += 1;
        self.revision.to_string()
    }

    fn edit_template(&mut self, path: &[&str], value: impl Into<Value>) {
        let mut template = self.template().unwrap().clone();
        template.set(path, value.into()).unwrap();
        let revision = self.next();
        let stamp = ["metadata", "resourceVersion"];
        template.set(&stamp, revision).unwrap();
        self.templates.push(Some(template));
    }

    fn act(mut self, r#move: Move) -> Self {
        self.told.push(format!("{move:?}"));
        match r#move {
            Move::Orphan => {
                let path = ["metadata", "deletionTimestamp"];
                self.edit_template(&path, "2026-01-02T03:04:05Z");
            }
            Move::Strip => {
                let uid = self.template().unwrap().uid().to_owned();
                let owners = self.binding().owner_references();
                if owners.map(|owner| owner.uid).any(|owner| owner == uid) {
                    self.write_binding(&serde_json::json!({"metadata": {"ownerReferences": []}}));
                }
            }
            Move::LetGo => self.templates.push(None),
            Move::Remake => {
                let revision = self.next();
                let text = WEB.replace("uid: u1", "uid: u2");
                let text = text.replace("'7'", &format!("'{revision}'"));
                self.templates.push(Some(one(&text)));
            }
        }
        self
    }

    fn write_binding(&mut self, change: &Value) {
        let merged = patch::merge(&self.binding().clone().into_value(), change);
        let mut binding = Object::from_value(merged).unwrap();
        let revision = self.next();
        let stamp = ["metadata", "resourceVersion"];
        binding.set(&stamp, revision).unwrap();
        self.bindings.push(binding);
    }

    /// What comes of a look at these states.
    fn look(mut self, template: usize, binding: usize, scene: &Scene) -> Self {
        self.told
            .push(format!("look at template {template}, binding {binding}"));
        let seen = (
            self.templates[template].clone(),
            self.bindings[binding].clone(),
        );
        let plan = match seen {
            (None, binding) => {
                let owner = binding::terms::controller(&binding);
                let is_back = owner
                    .is_some_and(|owner| self.template().is_some_and(|now| now.uid() == owner.uid));
                let absence = match is_back {
                    true => Absence::Unseen,
                    false => Absence::Gone,
                };
                plan_gone(&binding, absence)
            }
            (Some(template), binding) => {
                let is_there = self
                    .template()
                    .is_some_and(|now| now.uid() == template.uid() && !now.is_terminating());
                if is_in_question(&template, &binding) && !is_there {
                    return self;
                }
                let mut scene = scene.clone();
                scene.template = template;
                scene.binding = Some(binding);
                scene.plan()
            }
        };
        for action in &plan.actions {
            if !self.carry_out(action) {
                break;
            }
        }
        self
    }

    /// Does what an action says, if what must be true for it is.
    fn carry_out(&mut self, action: &Action) -> bool {
        let fits = |object: &Object, uid: Option<&str>, revision: Option<&str>| {
            uid.is_none_or(|uid| uid == object.uid())
                && revision.is_none_or(|revision| revision == object.resource_version())
        };
        match action {
            Action::Report { .. } => true,
            Action::Patch {
                resource,
                uid,
                revision,
                patch,
                ..
            } if resource.kind.kind == "ResourceBinding" => {
                let fits = fits(self.binding(), uid.as_deref(), revision.as_deref());
                if fits {
                    self.write_binding(patch);
                }
                fits
            }
            Action::Patch { uid, revision, .. } => {
                let template = self.template();
                let fits =
                    template.is_some_and(|now| fits(now, uid.as_deref(), revision.as_deref()));
                if fits {
                    self.edit_template(&["metadata", "annotations", "claimed"], "yes");
                }
                fits
            }
            Action::Delete { uid, revision, .. } => {
                let fits = fits(self.binding(), Some(uid), revision.as_deref());
                assert!(!fits, "the binding is deleted after {:#?}", self.told);
                fits
            }
            other => panic!("{other:?}"),
        }
    }

    /// What holds at every moment: nobody owns the binding who is gone.
    fn check(&self) {
        let owner = binding::terms::controller(self.binding());
        let template = self.template();
        let is_there = owner
            .as_ref()
            .is_none_or(|owner| template.is_some_and(|now| now.uid() == owner.uid));
        assert!(is_there, "owned by {owner:?} after {:#?}", self.told);
    }
}

/// Goes on in every way: with what happens next, and with looks in between.
fn explore(history: &History, moves: &[Move], looks: usize, scene: &Scene, ends: &mut usize) {
    history.check();
    if moves.is_empty() && looks == 0 {
        *ends += 1;
    }
    if let Some((first, rest)) = moves.split_first() {
        explore(&history.clone().act(*first), rest, looks, scene, ends);
    }
    if looks == 0 {
        return;
    }
    for template in 0..history.templates.len() {
        for binding in 0..history.bindings.len() {
            let next = history.clone().look(template, binding, scene);
            explore(&next, moves, looks - 1, scene, ends);
        }
    }
}

fn begin() -> (History, Scene) {
    let scene = scene(&format!("{WEB}\n---\n{PP}"));
    let placed = scene.clone().after(&scene.plan());
    let history = History {
        templates: vec![Some(placed.template.clone())],
        bindings: vec![placed.binding.clone().unwrap()],
        revision: 100,
        told: Vec::new(),
    };
    (history, scene)
}

#[test]
fn what_is_left_behind_stays_whatever_is_seen_of_it_and_when() {
    let (history, scene) = begin();
    let moves = [Move::Orphan, Move::Strip, Move::LetGo, Move::Remake];
    let mut ends = 0;
    explore(&history, &moves, 2, &scene, &mut ends);
    assert!(ends > 300, "{ends} ways");
}

#[test]
fn what_is_left_behind_belongs_to_the_next_template_of_the_name() {
    let (mut history, scene) = begin();
    for r#move in [Move::Orphan, Move::Strip, Move::LetGo, Move::Remake] {
        history = history.act(r#move);
    }
    let (template, binding) = (history.templates.len() - 1, history.bindings.len() - 1);
    let history = history.look(template, binding, &scene);
    let owner = binding::terms::controller(history.binding()).unwrap();
    assert_eq!(owner.uid, "u2");
    let named = history.binding().text_at(&["spec", "resource", "uid"]);
    assert_eq!(named, Some("u2"));
}

#[test]
fn what_is_going_gets_no_new_binding() {
    let (history, mut scene) = begin();
    let history = history.act(Move::Orphan);
    scene.template = history.template().unwrap().clone();
    assert_eq!(done(&scene.plan()), "nothing");
}

/// Somebody takes the owner away by hand, and whatever happens then, what is to stay stays.
#[test]
fn a_binding_that_lost_its_owner_gets_it_back_from_a_template_that_stays() {
    let (mut history, scene) = begin();
    history.write_binding(&serde_json::json!({"metadata": {"ownerReferences": []}}));
    let moves = [Move::Orphan, Move::Strip, Move::LetGo, Move::Remake];
    let mut ends = 0;
    explore(&history, &moves, 2, &scene, &mut ends);
    assert!(ends > 300, "{ends} ways");

    let owner = |history: History| binding::terms::controller(history.binding());
    let (first, last) = (0, history.bindings.len() - 1);
    let looked = history.clone().look(first, last, &scene);
    assert_eq!(owner(looked).unwrap().uid, "u1");
    // What is seen of the template is older than its end.
    let gone = history.clone().act(Move::Orphan);
    assert_eq!(owner(gone.look(first, last, &scene)), None);
    // No policy has to claim it for that.
    let mut unclaimed = scene;
    unclaimed.policies = Index::default();
    let looked = history.look(first, last, &unclaimed);
    assert_eq!(owner(looked).unwrap().uid, "u1");
}
