//! From two pictures to what differs, template by template and cluster by cluster.

use std::collections::{BTreeMap, BTreeSet};

use api::names::{cluster_of_execution_space, work_name};
use api::well_known::annotations::APPLIED_PLACEMENT;
use api::well_known::conditions::binding::SCHEDULED;
use api::well_known::feature_gates::Gate;
use binding::{Draft, targets, terms};
use object::condition::ConditionStatus;
use object::time::Time;
use object::{Object, ObjectMeta};
use policy::Outcome;
use schedule::assume::{Assumptions, View};
use schedule::cluster::Snapshot;
use schedule::trigger::{Applied, needs_cycle};

use super::along::{self, Along};
use super::change::{self, Line};
use super::groups::Groups;
use super::{Template, Templates};
use crate::picture::{Picture, Placed};

/// What would happen.
#[derive(Debug, Default)]
pub(super) struct Simulated {
    /// The clusters that are supposed to be lost.
    pub(super) lost: Vec<String>,
    /// What is not known of how the control plane decides.
    pub(super) doubts: Vec<String>,
    /// Every template, by kind and name.
    pub(super) templates: Vec<Fate>,
}

/// What would become of a template.
#[derive(Debug, Default)]
pub(super) struct Fate {
    pub(super) kind: String,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) is_new: bool,
    /// Whether somebody asked about this very template, and no policy selects it.
    pub(super) is_supposed: bool,
    /// The policy that would hold it.
    pub(super) policy: Option<String>,
    /// The policy that holds it now, if it is another.
    pub(super) was_of: Option<String>,
    /// The templates it comes along with.
    pub(super) with: Vec<String>,
    /// Why it would go nowhere, or what stands in the way.
    pub(super) problem: Option<String>,
    /// Whether the problem is one that it has already.
    pub(super) is_old_problem: bool,
    /// What else is worth knowing.
    pub(super) remark: Option<String>,
    /// What would become of it in each cluster, by name.
    pub(super) clusters: Vec<ClusterFate>,
}

/// What would become of a template in one cluster.
#[derive(Debug)]
pub(super) struct ClusterFate {
    pub(super) cluster: String,
    /// Replicas now; `None` if it is not there, or has no replicas.
    pub(super) before: Option<i32>,
    /// Replicas then.
    pub(super) after: Option<i32>,
    pub(super) what: What,
}

/// What happens to the object in a cluster.
#[derive(Debug, PartialEq)]
pub(super) enum What {
    Stays,
    Created,
    Deleted,
    /// It is lost with its cluster.
    Lost,
    Changed(Vec<Line>),
    /// It cannot be made for the cluster.
    Refused(String),
}

impl Fate {
    /// Whether anything happens.
    pub(super) fn is_affected(&self) -> bool {
        self.is_new
            || self.was_of.is_some()
            || self.is_supposed
            || (self.problem.is_some() && !self.is_old_problem)
            || self
                .clusters
                .iter()
                .any(|cluster| cluster.what != What::Stays)
    }
}

/// What has been decided so far about others, and what decisions look at.
struct Course {
    clusters: Snapshot,
    assumptions: Assumptions,
    groups: Groups,
    along: Along,
    now: Time,
}

/// Decides about every template.
pub(super) fn decide(
    before: &Picture,
    after: &Picture,
    templates: &Templates,
    lost: &[String],
    now: Time,
) -> Simulated {
    let mut course = Course {
        clusters: after.snapshot(),
        assumptions: Assumptions::default(),
        groups: Groups::of(templates.bindings.values()),
        along: Along::default(),
        now,
    };
    let (mut fates, mut followers) = (Vec::new(), Vec::new());
    for template in templates.all() {
        if only_follows(after, templates, template) {
            followers.push(template);
            continue;
        }
        let fate = fate(before, after, templates, template, lost, &mut course);
        fates.extend(fate);
    }
    // Where those go that come along is known when everybody else has been placed.
    for template in followers {
        fates.extend(follow(after, templates, template, lost, &course.along));
    }
    fates.sort_by_key(|fate| (fate.kind.clone(), fate.namespace.clone(), fate.name.clone()));
    Simulated {
        templates: fates,
        lost: lost.to_vec(),
        doubts: doubts(after, lost),
    }
}

/// What may be otherwise than is told.
fn doubts(after: &Picture, lost: &[String]) -> Vec<String> {
    let mut doubts = after.settings.doubts.clone();
    if !lost.is_empty() && !after.settings.gates.is_enabled(Gate::Failover) {
        doubts.push(
            "this is what letting it go for good does; nothing moves away from a cluster that only cannot be reached, as the feature gate Failover is off"
                .to_owned(),
        );
    }
    doubts
}

/// Whether nobody claims a template: it goes where others need it, if anywhere.
fn only_follows(after: &Picture, templates: &Templates, template: &Template) -> bool {
    let object = &template.object;
    let binding = templates.bindings.get(&terms::key(object));
    let existing = binding.and_then(|binding| Placed::read(binding).ok());
    let claimed = after.claim(object, binding);
    let is_free = matches!(claimed.outcome, Outcome::Exempt(_) | Outcome::Unclaimed);
    is_free && existing.is_none_or(|placed| !placed.spec.required_by.is_empty())
}

/// What would become of a template that comes along with others.
fn follow(
    after: &Picture,
    templates: &Templates,
    template: &Template,
    lost: &[String],
    along: &Along,
) -> Option<Fate> {
    let object = &template.object;
    let binding = templates.bindings.get(&terms::key(object));
    let existing = binding.and_then(|binding| Placed::read(binding).ok());
    let needs = along.needs_of(object);
    if existing.is_none() && needs.is_empty() {
        return unselected(after, template);
    }
    let had = shares(existing.as_ref());
    let spec = along::spec(object, existing.as_ref().map(|placed| &placed.spec), needs);
    let placed = with_spec(existing, object, spec);
    Some(Fate {
        kind: object.kind().to_owned(),
        namespace: object.namespace().to_owned(),
        name: object.name().to_owned(),
        is_new: !template.is_there,
        with: needs.iter().map(|need| need.by.clone()).collect(),
        clusters: in_clusters(after, templates, object, &placed, &had, lost),
        ..Fate::default()
    })
}

/// What is said of a supposed template that goes nowhere, because nobody sends it. Namespaces go everywhere by themselves.
fn unselected(after: &Picture, template: &Template) -> Option<Fate> {
    let object = &template.object;
    let is_namespace = object.kind() == "Namespace" && object.api_version() == "v1";
    if !template.is_supposed || is_namespace {
        return None;
    }
    let remark = match after.claim(object, None).outcome {
        Outcome::Exempt(exemption) => format!("goes to no cluster: {exemption}"),
        _ => "goes to no cluster: no policy selects it".to_owned(),
    };
    Some(Fate {
        kind: object.kind().to_owned(),
        namespace: object.namespace().to_owned(),
        name: object.name().to_owned(),
        is_new: !template.is_there,
        is_supposed: true,
        remark: Some(remark),
        ..Fate::default()
    })
}

/// The clusters of a binding, with their replicas.
fn shares(existing: Option<&Placed>) -> BTreeMap<String, i32> {
    let targets = existing.map(|placed| targets::targets(&placed.spec));
    let targets = targets.into_iter().flatten();
    targets
        .map(|target| (target.name.clone(), target.replicas))
        .collect()
}

fn fate(
    before: &Picture,
    after: &Picture,
    templates: &Templates,
    template: &Template,
    lost: &[String],
    course: &mut Course,
) -> Option<Fate> {
    let object = &template.object;
    let binding = templates.bindings.get(&terms::key(object));
    let existing = binding.and_then(|binding| Placed::read(binding).ok());
    let claimed = after.claim(object, binding);
    let held = match &claimed.outcome {
        Outcome::Applied(policy) | Outcome::Held(policy) => Some(*policy),
        Outcome::Awaiting { policy, .. } => Some(*policy),
        Outcome::Exempt(_) | Outcome::Unclaimed => None,
    };
    if held.is_none() && existing.is_none() {
        return None;
    }
    let was = before.claim(object, binding);
    let name_of = |decision: &policy::Decision<'_>| {
        decision
            .claim
            .chosen
            .map(|found| found.policy.id.to_string())
    };
    let (policy, was_of) = (name_of(&claimed), name_of(&was));
    let mut fate = Fate {
        kind: object.kind().to_owned(),
        namespace: object.namespace().to_owned(),
        name: object.name().to_owned(),
        is_new: !template.is_there,
        was_of: was_of.filter(|was| existing.is_some() && Some(was) != policy.as_ref()),
        policy,
        ..Fate::default()
    };
    let placed = match &claimed.outcome {
        Outcome::Applied(policy) => {
            let terms = after.terms(object, policy, existing.as_ref().map(|placed| &placed.spec));
            match terms {
                Ok(spec) => Some(with_spec(existing.clone(), object, spec)),
                Err(why) => {
                    fate.problem = Some(why);
                    fate.is_old_problem = !template.is_supposed;
                    existing.clone()
                }
            }
        }
        Outcome::Awaiting { missing, .. } => {
            fate.problem = Some(format!(
                "waits for override policies: {}",
                missing.join(", ")
            ));
            fate.is_old_problem = matches!(was.outcome, Outcome::Awaiting { .. });
            existing.clone()
        }
        // A binding outlives the claim; its targets stay as they are until somebody else claims the template.
        _ => existing.clone(),
    };
    let Some(mut placed) = placed else {
        return Some(fate);
    };
    let had = shares(existing.as_ref());
    let lives_on_lost = placed
        .spec
        .clusters
        .iter()
        .any(|target| lost.contains(&target.name));
    placed
        .spec
        .clusters
        .retain(|target| !lost.contains(&target.name));
    match after.left_alone(&placed) {
        Some(why) => fate.remark = Some(why),
        None => {
            if let Some(problem) = place(after, &mut placed, binding, lives_on_lost, course) {
                fate.problem = Some(problem);
                fate.is_old_problem = existing.as_ref().is_some_and(is_unplaced);
            }
        }
    }
    course.groups.put(&placed);
    course.along.note(after, object, &placed);
    fate.clusters = in_clusters(after, templates, object, &placed, &had, lost);
    Some(fate)
}

/// Whether the scheduler has found no place for a binding.
fn is_unplaced(placed: &Placed) -> bool {
    let scheduled = object::condition::find(&placed.status.conditions, SCHEDULED);
    scheduled.is_some_and(|scheduled| scheduled.status == ConditionStatus::False)
}

/// The binding as it would be.
fn with_spec(
    existing: Option<Placed>,
    template: &Object,
    spec: api::work::v1alpha2::ResourceBindingSpec,
) -> Placed {
    match existing {
        Some(placed) => Placed { spec, ..placed },
        None => {
            let key = terms::key(template);
            Placed {
                metadata: ObjectMeta::namespaced(key.namespace, key.name),
                spec,
                status: Default::default(),
            }
        }
    }
}

/// Lets the scheduler decide if it would; gives the problem if it finds no place.
fn place(
    after: &Picture,
    placed: &mut Placed,
    binding: Option<&Object>,
    lives_on_lost: bool,
    course: &mut Course,
) -> Option<String> {
    let (settings, now) = (&after.settings, course.now);
    let applied = binding.and_then(|binding| binding.annotation(APPLIED_PLACEMENT));
    let applied = applied.map(serde_json::from_str::<object::Value>);
    let applied = applied.map(|value| {
        let value = value.ok()?;
        object::parse::shape::<api::policy::Placement, _>(&value).ok()
    });
    let applied = match &applied {
        None => Applied::Absent,
        Some(None) => Applied::Unreadable,
        Some(Some(placement)) => Applied::Placement(placement),
    };
    let (view, clusters) = (placed.view(), &course.clusters);
    let is_wanted = needs_cycle(&view, applied, clusters, settings.options).is_some();
    if !is_wanted && !lives_on_lost {
        return None;
    }
    // What one takes, those that come after it do not find free, if the scheduler heeds that.
    let is_guarded = settings
        .gates
        .is_enabled(Gate::SchedulingOvercommitProtection)
        && !placed.metadata.namespace.is_empty();
    let taken = match is_guarded {
        true => course.assumptions.view(now),
        false => View::default(),
    };
    let peers = course.groups.peers_of(placed);
    let decision = after.schedule(placed, &course.clusters, &taken.by_cluster, &peers)?;
    if let Some(targets) = decision.targets_to_write() {
        let key = placed.view().key().to_string();
        if is_guarded {
            let promised = &mut course.assumptions;
            let _ = promised.promise(&taken, &key, &placed.spec, targets, now);
        }
        placed.spec.clusters = targets.iter().map(schedule::Target::to_api).collect();
    }
    let refusal = decision.refusal()?;
    Some(format!("{}: {refusal}", refusal.reason()))
}

fn in_clusters(
    after: &Picture,
    templates: &Templates,
    template: &Object,
    placed: &Placed,
    had: &BTreeMap<String, i32>,
    lost: &[String],
) -> Vec<ClusterFate> {
    let gets: BTreeMap<&str, i32> = targets::targets(&placed.spec)
        .into_iter()
        .map(|target| (target.name.as_str(), target.replicas))
        .collect();
    let name = work_name(template.kind(), template.name(), template.namespace());
    let works: BTreeMap<&str, &Object> = templates
        .works
        .iter()
        .filter(|work| work.name() == name)
        .filter_map(|work| Some((cluster_of_execution_space(work.namespace())?, work)))
        .collect();
    let mut names: BTreeSet<&str> = gets.keys().copied().collect();
    names.extend(works.keys());
    names.extend(had.keys().map(String::as_str));
    let is_workload = placed.spec.is_workload();
    let stays: BTreeSet<&str> = targets::expected(&placed.spec);
    names
        .into_iter()
        .map(|cluster| {
            let replicas = |count: Option<i32>| count.filter(|_| is_workload);
            let (before, now) = (had.get(cluster).copied(), gets.get(cluster).copied());
            let what = if lost.iter().any(|lost| lost == cluster) {
                What::Lost
            } else if let Some(count) = now {
                write(
                    after,
                    template,
                    placed,
                    (cluster, count),
                    works.get(cluster).copied(),
                )
            } else if stays.contains(cluster) || !works.contains_key(cluster) {
                What::Stays
            } else {
                What::Deleted
            };
            ClusterFate {
                cluster: cluster.to_owned(),
                before: replicas(before),
                after: replicas(now),
                what,
            }
        })
        .collect()
}

/// What a cluster would get, against what it has.
fn write(
    after: &Picture,
    template: &Object,
    placed: &Placed,
    (cluster, replicas): (&str, i32),
    work: Option<&Object>,
) -> What {
    let rendering = after.render(template, placed.spec.is_workload(), cluster, replicas);
    let (rendered, applied_overrides) = match rendering.result {
        Ok(rendered) => rendered,
        Err(why) => return What::Refused(why),
    };
    let draft = binding::draft(Draft {
        binding: placed.view(),
        template,
        cluster,
        rendered,
        applied_overrides,
        inherited_labels: None,
        existing: work,
    });
    let draft = match draft {
        Ok(draft) => draft,
        Err(error) => return What::Refused(error.to_string()),
    };
    let Some(work) = work else {
        return What::Created;
    };
    let manifest = |work: &Object| {
        let manifests = work.at(&["spec", "workload", "manifests"]);
        manifests
            .and_then(|list| list.get(0))
            .cloned()
            .unwrap_or_default()
    };
    let lines = change::lines(&manifest(work), &manifest(&draft));
    match lines.is_empty() {
        true => What::Stays,
        false => What::Changed(lines),
    }
}
