//! What would happen, without doing it.
//!
//! The control plane is read twice over: as it is, and as it would be. For every template that either picture concerns,
//! the rules say where it would go and what each cluster would get; the difference to the works there are now is the
//! answer.

mod along;
mod bringing;
mod change;
mod claims;
mod decide;
mod fate;
mod groups;
mod kinds;
mod look;
mod progress;
mod rehearsal;
mod settle;
mod spaces;
mod stage;
mod templates;
mod text;
mod ties;
mod troubles;
mod verdict;
mod works;

use client::Client;
use object::time::Time;

pub(crate) use change::Line;
pub(crate) use kinds::kinds_of;
pub use progress::Tell;
pub(crate) use templates::{Template, Templates};

use crate::failure::Failure;
use crate::manifests::{Home, Manifest};
use crate::nearest::cluster_hint;
use crate::picture::{Picture, Presumption};
use crate::reach::call_failure;
use crate::reading::Answer;
use claims::Claims;
use progress::Progress;
use stage::{Stage, Supposed};
use works::Scene;

/// What is supposed.
#[derive(Clone, Debug, Default)]
pub struct Supposition {
    /// These objects are applied.
    pub manifests: Vec<Manifest>,
    /// These clusters are lost.
    pub lost: Vec<String>,
    /// The namespace of objects that name none; what the kubeconfig names if absent.
    pub namespace: Option<String>,
    /// Who is supposed to apply the objects; the program itself if absent.
    pub manager: Option<String>,
    /// Answer programs.
    pub json: bool,
    /// What does not change too.
    pub all: bool,
    /// Members are only read, and not asked by a dry run whether they would take what they would get.
    pub only_reads: bool,
    /// What the control plane is presumed to run with, in place of what it says itself.
    pub presumed: Presumption,
    /// Whom to tell how far it has come when it takes long.
    pub tell: Option<Tell>,
}

/// Says what would happen.
pub async fn simulate(
    control: &Client,
    supposed: &Supposition,
    now: Time,
) -> Result<Answer, Failure> {
    if supposed.manifests.is_empty() && supposed.lost.is_empty() {
        return Err(Failure::refused(
            "nothing is supposed",
            "name a file with -f, or a cluster with --lose",
        ));
    }
    let progress = Progress::default();
    let told = foretell(control, supposed, now, &progress);
    progress.tell(supposed.tell, told).await
}

async fn foretell(
    control: &Client,
    supposed: &Supposition,
    now: Time,
    progress: &Progress,
) -> Result<Answer, Failure> {
    progress.begin("reading the control plane", 0);
    let discovery = control.discover().await;
    let discovery = discovery.map_err(|error| call_failure(&error))?;
    let before = Picture::read(control, &discovery, &supposed.presumed).await?;
    let lost = lost(&supposed.lost, &before)?;
    let home = Home::new(supposed.namespace.as_deref(), control);
    let mut after = before.clone();
    after.clusters.retain(|name, _| !lost.contains(name));
    let mut templates = Templates::read(control, discovery).await?;
    let (mut order, mut refused) = (Vec::new(), Vec::new());
    let manager = supposed.manager.as_deref();
    let (manifests, discovery) = (&supposed.manifests, &templates.discovery);
    let mut stage = Stage::read(control, home, manager, manifests, discovery).await?;
    progress.begin("trying objects on", supposed.manifests.len());
    for manifest in &supposed.manifests {
        match stage.try_on(manifest, &templates.discovery).await {
            Ok(supposed) => {
                let is_template = !after.take(supposed.object.main());
                order.push((supposed, is_template));
            }
            Err(failure) => refused.push((manifest.place.clone(), failure)),
        }
        progress.step();
    }
    progress.begin("reading templates", 0);
    after.versions.add(stage.coming_kinds());
    templates.add_selected(control, &after).await?;
    for (supposed, is_template) in &mut order {
        if *is_template {
            stage.complete(supposed, &after, &templates).await;
            templates.put(supposed);
        }
    }
    let order: Vec<Supposed> = order.into_iter().map(|(supposed, _)| supposed).collect();
    let mut claims = Claims::after_each((&before, &after), &templates, &order);
    claims.complete(&after, &templates);
    let unread = templates.add_references(control, &after, &claims).await?;
    let unlisted = templates.add_namespaces(control).await?;
    claims.complete(&after, &templates);
    let decide = |after: &Picture| {
        let scene = Scene {
            before: &before,
            after,
            templates: &templates,
            claims: &claims,
            lost: &lost,
        };
        decide::decide(scene, now)
    };
    let mut outcome = decide(&after);
    // What clusters serve decides where objects go, and comes with definitions that go there.
    let defined = kinds::defined_by(templates.all().map(|template| template.object.main()));
    if kinds::serve(&mut after, &outcome, &defined) {
        outcome = decide(&after);
    }
    outcome.doubts.extend(stage.unchecked());
    outcome.doubts.extend(unread.into_iter().chain(unlisted));
    let mut silent = look::look(control, &after, &templates, &mut outcome, progress).await;
    let discovery = &templates.discovery;
    match supposed.only_reads {
        true => rehearsal::pass_over(&mut outcome),
        false => {
            let (silent, outcome) = (&mut silent, &mut outcome);
            let pictures = (&before, &after);
            rehearsal::rehearse(control, pictures, discovery, silent, outcome, progress).await;
        }
    }
    // What is supposed to be lost need not answer.
    silent.retain(|cluster, _| !lost.contains(cluster));
    let text = match supposed.json {
        true => crate::reading::write_document(&text::to_value(&outcome), false)?,
        false => text::write(&outcome, supposed.all, refused.len()),
    };
    Ok(Answer {
        text,
        notes: before.unreadable,
        failure: crate::reading::blame_places_and_members(refused, silent),
    })
}

/// The clusters that are supposed to be lost, each once.
fn lost(named: &[String], before: &Picture) -> Result<Vec<String>, Failure> {
    let mut lost: Vec<String> = Vec::new();
    for name in named {
        if !before.clusters.contains_key(name) {
            return Err(Failure::refused(
                format!("clusters don't exist: {name}"),
                cluster_hint(&[name], before.clusters.keys().map(String::as_str)),
            ));
        }
        if !lost.contains(name) {
            lost.push(name.clone());
        }
    }
    Ok(lost)
}
