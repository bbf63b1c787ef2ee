//! The contest for a template: who wins, and why the others do not.

use std::{cmp::Ordering, fmt};

use crate::{
    index::{Index, Match},
    policy::Policy,
    selector::Specificity,
    template::Template,
};
use api::registry::Scope;

/// Who a template belongs to, and why not to others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Claim<'i> {
    /// The policy that holds the template or is to hold it; `None` if no policy selects it.
    pub chosen: Option<Match<'i>>,
    /// The other policies that select the template, best first, with the reason why they do not hold it.
    pub considered: Vec<(Match<'i>, Verdict)>,
}

/// Why a policy that selects a template does not hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is being deleted.
    Terminating,
    /// It is a ClusterPropagationPolicy, and a PropagationPolicy selects the template too.
    Outscoped,
    /// Its explicit priority is lower.
    LowerPriority {
        /// Its own.
        own: i32,
        /// That of the policy that was chosen.
        chosen: i32,
    },
    /// Of equal priority, it describes the template less closely.
    LessSpecific {
        /// How closely it does.
        own: Specificity,
        /// How closely the policy that was chosen does.
        chosen: Specificity,
    },
    /// In all else equal, its name sorts behind.
    LaterName,
    /// Another policy holds the template already, and this one may not take it over.
    HeldByOther(NoTakeover),
}

/// Why a policy may not take a template over from its holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoTakeover {
    /// Taking over is switched off (`PropagationPolicyPreemption`).
    SwitchedOff,
    /// The policy does not ask to take over (`preemption: Always`).
    NotAsked,
    /// It is a ClusterPropagationPolicy, and the holder a PropagationPolicy.
    Outscoped,
    /// Its priority is not greater than the holder's.
    NotHigher {
        /// Its own.
        own: i32,
        /// The holder's.
        holder: i32,
    },
    /// The template is being deleted.
    TemplateTerminating,
    /// Override policies that it waits for do not exist yet.
    AwaitingOverrides,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Terminating => f.write_str("it is being deleted"),
            Self::Outscoped => {
                f.write_str("a PropagationPolicy goes before a ClusterPropagationPolicy")
            }
            Self::LowerPriority { own, chosen } => {
                write!(f, "its priority {own} is below {chosen}")
            }
            Self::LessSpecific { own, chosen } => {
                write!(f, "it selects {own}, the chosen one {chosen}")
            }
            Self::LaterName => f.write_str("its name sorts behind"),
            Self::HeldByOther(reason) => write!(f, "the template is held already: {reason}"),
        }
    }
}

impl fmt::Display for NoTakeover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SwitchedOff => f.write_str("the feature gate PropagationPolicyPreemption is off"),
            Self::NotAsked => f.write_str("its preemption is not Always"),
            Self::Outscoped => {
                f.write_str("a ClusterPropagationPolicy takes nothing from a PropagationPolicy")
            }
            Self::NotHigher { own, holder } => {
                write!(f, "its priority {own} is not above {holder}")
            }
            Self::TemplateTerminating => f.write_str("the template is being deleted"),
            Self::AwaitingOverrides => {
                f.write_str("override policies that it waits for do not exist yet")
            }
        }
    }
}

/// Whether policies may take templates over from each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preemption {
    /// They may not.
    #[default]
    Off,
    /// They may, if they ask for it.
    On,
}

/// The contest for a template that nobody holds.
#[must_use]
pub fn contest<'i>(policies: &'i Index, template: &Template<'_>) -> Claim<'i> {
    rank(policies.matches(template))
}

/// The contest for a template that `holder` holds: only who may take over is in it.
///
/// `is_ready` says whether the override policies that a policy waits for exist.
#[must_use]
pub fn challenge<'i>(
    policies: &'i Index,
    template: &Template<'_>,
    holder: Match<'i>,
    preemption: Preemption,
    is_ready: impl Fn(&Policy) -> bool,
) -> Claim<'i> {
    let mut challengers = Vec::new();
    let mut others = Vec::new();
    for found in policies.matches(template) {
        if found.policy.id == holder.policy.id {
            continue;
        }
        match takeover(found.policy, holder.policy, template, preemption) {
            Ok(()) if is_ready(found.policy) => challengers.push(found),
            Ok(()) => others.push((found, Verdict::HeldByOther(NoTakeover::AwaitingOverrides))),
            Err(verdict) => others.push((found, verdict)),
        }
    }
    let mut claim = if challengers.is_empty() {
        Claim {
            chosen: Some(holder),
            considered: others,
        }
    } else {
        challengers.push(holder);
        let mut claim = rank(challengers);
        claim.considered.extend(others);
        claim
    };
    claim.considered.sort_by(|(a, _), (b, _)| better(a, b));
    claim
}

/// Why a policy would not have a template that another has, even if the contest for it began anew; `None` if it would.
#[must_use]
pub fn outranked(loser: &Match<'_>, winner: &Match<'_>) -> Option<Verdict> {
    (better(winner, loser) == Ordering::Less).then(|| verdict(loser, Some(winner)))
}

/// Whether a policy may take a template over from its holder.
fn takeover(
    policy: &Policy,
    holder: &Policy,
    template: &Template<'_>,
    preemption: Preemption,
) -> Result<(), Verdict> {
    if policy.is_terminating {
        return Err(Verdict::Terminating);
    }
    let refusal = match (policy.id.scope(), holder.id.scope()) {
        _ if preemption == Preemption::Off => NoTakeover::SwitchedOff,
        _ if !policy.may_preempt() => NoTakeover::NotAsked,
        _ if template.object.is_terminating() => NoTakeover::TemplateTerminating,
        (Scope::Cluster, Scope::Namespaced) => NoTakeover::Outscoped,
        (Scope::Namespaced, Scope::Cluster) => return Ok(()),
        _ if policy.priority() > holder.priority() => return Ok(()),
        _ => NoTakeover::NotHigher {
            own: policy.priority(),
            holder: holder.priority(),
        },
    };
    Err(Verdict::HeldByOther(refusal))
}

fn rank(mut matches: Vec<Match<'_>>) -> Claim<'_> {
    matches.sort_by(better);
    let chosen = matches
        .iter()
        .find(|found| !found.policy.is_terminating)
        .copied();
    let considered = matches
        .into_iter()
        .filter(|found| chosen.is_none_or(|chosen| chosen.policy.id != found.policy.id))
        .map(|found| (found, verdict(&found, chosen.as_ref())))
        .collect();
    Claim { chosen, considered }
}

/// The better of two policies first: by scope, explicit priority, specificity, and name.
fn better(a: &Match<'_>, b: &Match<'_>) -> Ordering {
    let key = |found: &Match<'_>| (found.policy.id.scope(), -i64::from(found.policy.priority()));
    key(a)
        .cmp(&key(b))
        .then_with(|| b.specificity.cmp(&a.specificity))
        .then_with(|| a.policy.id.name.cmp(&b.policy.id.name))
}

/// Why a policy lost.
fn verdict(loser: &Match<'_>, chosen: Option<&Match<'_>>) -> Verdict {
    let Some(chosen) = chosen.filter(|_| !loser.policy.is_terminating) else {
        return Verdict::Terminating;
    };
    if loser.policy.id.scope() != chosen.policy.id.scope() {
        return Verdict::Outscoped;
    }
    let (own, best) = (loser.policy.priority(), chosen.policy.priority());
    if own != best {
        return Verdict::LowerPriority { own, chosen: best };
    }
    if loser.specificity != chosen.specificity {
        return Verdict::LessSpecific {
            own: loser.specificity,
            chosen: chosen.specificity,
        };
    }
    Verdict::LaterName
}
