//! From a word for a kind to the kind, as a server serves it.

use client::{Discovered, Discovery};

use super::words::Wanted;
use crate::failure::Failure;
use crate::nearest::{distance, nearest};

/// Shorter ends of names say nothing.
const SUFFIX: usize = 5;
/// More suggestions would be a list to search.
const SUGGESTIONS: usize = 3;

/// The kind that `TYPE[.VERSION][.GROUP]` means, or why there is none.
pub(crate) fn resolve<'d>(discovery: &'d Discovery, word: &str) -> Result<&'d Discovered, Failure> {
    find(discovery, &word.to_ascii_lowercase()).ok_or_else(|| {
        let what = format!("the server doesn't have a resource type {word:?}");
        match suggest(discovery, word) {
            Some(known) => Failure::refused(what, format!("did you mean {known}?")),
            None => Failure::refused(what, "`karavel api-resources` lists the types there are"),
        }
    })
}

/// Kinds in place of words that name a group of them, such as `all`. A kind of that name goes before the group.
pub(crate) fn expand(discovery: &Discovery, wanted: Vec<Wanted>) -> Vec<Wanted> {
    let mut all: Vec<Wanted> = Vec::new();
    for one in wanted {
        let is_kind = find(discovery, &one.word.to_ascii_lowercase()).is_some();
        let members = discovery
            .preferred()
            .filter(|found| found.can("list") && found.categories.contains(&one.word));
        let words: Vec<String> = match is_kind || !one.names.is_empty() {
            true => Vec::new(),
            false => members
                .map(|found| {
                    let kind = &found.resource.kind;
                    match kind.group.as_str() {
                        "" => format!("{}.{}", found.resource.plural, kind.version),
                        group => format!("{}.{}.{group}", found.resource.plural, kind.version),
                    }
                })
                .collect(),
        };
        if words.is_empty() {
            all.push(one);
            continue;
        }
        all.extend(words.into_iter().map(|word| Wanted {
            word,
            names: Vec::new(),
            namespace: None,
        }));
    }
    all
}

fn find<'d>(discovery: &'d Discovery, word: &str) -> Option<&'d Discovered> {
    let Some((name, place)) = word.split_once('.') else {
        return named(discovery, word, |_| true);
    };
    // The version comes first if both are there; a group may have a name that looks like both.
    if let Some((version, group)) = place.split_once('.') {
        let found = named(discovery, name, |found| {
            found.resource.kind.version == version && found.resource.kind.group == group
        });
        if found.is_some() {
            return found;
        }
    }
    named(discovery, name, |found| found.resource.kind.group == place)
        .or_else(|| {
            named(discovery, name, |found| {
                found.resource.kind.group.starts_with(place)
            })
        })
        .or_else(|| {
            named(discovery, name, |found| {
                found.resource.kind.group.is_empty() && found.resource.kind.version == place
            })
        })
}

/// Full names go before abbreviations; of several, the server's favourite.
fn named<'d>(
    discovery: &'d Discovery,
    name: &str,
    is_wanted: impl Fn(&Discovered) -> bool,
) -> Option<&'d Discovered> {
    let readable = || readable(discovery).filter(|found| is_wanted(found));
    readable()
        .find(|found| {
            found.resource.plural == name
                || found.singular == name
                || found.resource.kind.kind.eq_ignore_ascii_case(name)
        })
        .or_else(|| readable().find(|found| found.short_names.iter().any(|short| short == name)))
}

/// The kinds that can be looked at: some, such as `bindings` of pods, can only be made.
fn readable(discovery: &Discovery) -> impl Iterator<Item = &Discovered> {
    let all = discovery.resources.iter();
    all.filter(|found| found.can("get") || found.can("list"))
}

/// The known names that may be meant by a word: the nearest one, else some that end nearly as the word does, such as
/// `propagationpolicies` for `polcies`; those of several clusters first, and of them the short ones.
fn suggest(discovery: &Discovery, word: &str) -> Option<String> {
    let word = word.split('.').next()?.to_ascii_lowercase();
    let names = || {
        readable(discovery).flat_map(|found| {
            let is_usual = !found.resource.kind.group.ends_with("karmada.io");
            let names = [found.resource.plural.as_str(), found.singular.as_str()];
            let names = names.into_iter().filter(|name| !name.is_empty());
            names.map(move |name| (is_usual, name))
        })
    };
    if let Some(name) = nearest(&word, names().map(|(_, name)| name)) {
        return Some(format!("{name:?}"));
    }
    let length = word.chars().count();
    // How far the end of a name is from the word, if it is near.
    let slips = |name: &str| {
        let letters = name.chars().count();
        let counts = (length.saturating_sub(1)..=length + 1).filter(|count| *count >= SUFFIX);
        let slips = counts.map(|count| {
            let rest: String = name.chars().skip(letters.saturating_sub(count)).collect();
            distance(&word, &rest)
        });
        slips.min().filter(|slips| *slips <= 1)
    };
    let near = names().filter_map(|(is_usual, name)| Some((slips(name)?, is_usual, name)));
    let mut alike: Vec<(usize, bool, &str)> = near.collect();
    alike.sort_unstable_by_key(|(slips, is_usual, name)| (*slips, *is_usual, name.len(), *name));
    alike.dedup();
    let best = alike.first().map(|(slips, ..)| *slips);
    alike.retain(|(slips, ..)| Some(*slips) == best);
    alike.truncate(SUGGESTIONS);
    let alike = alike.iter().map(|(.., name)| format!("{name:?}"));
    let quoted: Vec<String> = alike.collect();
    (!quoted.is_empty()).then(|| quoted.join(" or "))
}

#[cfg(test)]
mod tests {
    use object::ResourceType;

    use super::*;

    fn served() -> Discovery {
        let all = [
            ("", "v1", "Pod", "pods", "po"),
            ("", "v1", "Event", "events", "ev"),
            ("apps", "v1", "Deployment", "deployments", "deploy"),
            ("apps", "v1beta1", "Deployment", "deployments", "deploy"),
            ("events.k8s.io", "v1", "Event", "events", "ev"),
            ("shop.example.com", "v1", "Deploy", "deploys", "po"),
            (
                "policy.karmada.io",
                "v1",
                "PropagationPolicy",
                "propagationpolicies",
                "pp",
            ),
            ("", "v1", "Binding", "bindings", "bd"),
            ("rbac.io", "v1", "RoleBinding", "rolebindings", "rob"),
            (
                "work.karmada.io",
                "v1",
                "ResourceBinding",
                "resourcebindings",
                "rb",
            ),
        ];
        let resources = all.map(|(group, version, kind, plural, short)| Discovered {
            resource: ResourceType::namespaced(group, version, kind, plural),
            singular: kind.to_lowercase(),
            short_names: vec![short.to_owned()],
            verbs: vec![if kind == "Binding" { "create" } else { "list" }.to_owned()],
            ..Discovered::default()
        });
        Discovery {
            resources: resources.to_vec(),
            failed: Vec::new(),
        }
    }

    #[test]
    fn a_category_stands_for_its_kinds() {
        let mut served = served();
        for found in served.resources.iter_mut().take(3) {
            found.categories = vec!["all".to_owned()];
        }
        let wanted = |words: &[&str]| -> Vec<Wanted> {
            words
                .iter()
                .map(|word| Wanted {
                    word: (*word).to_owned(),
                    names: Vec::new(),
                    namespace: None,
                })
                .collect()
        };
        for (words, expected) in [
            (
                &["all"][..],
                &["pods.v1", "events.v1", "deployments.v1.apps"][..],
            ),
            (
                &["pods", "all"],
                &["pods", "pods.v1", "events.v1", "deployments.v1.apps"],
            ),
            (&["pods"], &["pods"]),
            (&["nothing"], &["nothing"]),
        ] {
            assert_eq!(expand(&served, wanted(words)), wanted(expected));
        }
    }

    #[test]
    fn a_word_means_a_kind_in_a_version_of_a_group() {
        let served = served();
        for (word, expected) in [
            ("pods", Ok("v1/pods")),
            ("po", Ok("v1/pods")),
            ("Pod", Ok("v1/pods")),
            ("pods.v1", Ok("v1/pods")),
            ("events", Ok("v1/events")),
            ("events.events.k8s.io", Ok("events.k8s.io/v1/events")),
            ("ev.events", Ok("events.k8s.io/v1/events")),
            ("deployments.apps", Ok("apps/v1/deployments")),
            ("deployments.v1beta1.apps", Ok("apps/v1beta1/deployments")),
            // A kind of that name goes before an abbreviation.
            ("deploy", Ok("shop.example.com/v1/deploys")),
            ("deploy.apps", Ok("apps/v1/deployments")),
            ("po.shop.example.com", Ok("shop.example.com/v1/deploys")),
            ("deploymets", Err("did you mean \"deployments\"?")),
            ("dpeloyment", Err("did you mean \"deployment\"?")),
            ("pods.apps", Err("did you mean \"pods\"?")),
            ("polcies", Err("did you mean \"propagationpolicies\"?")),
            ("polices", Err("did you mean \"propagationpolicies\"?")),
            (
                "bindings",
                Err("did you mean \"resourcebindings\" or \"rolebindings\"?"),
            ),
            ("ppolicy", Err("did you mean \"propagationpolicy\"?")),
            ("unicorns", Err("lists the types there are")),
            ("", Err("lists the types there are")),
        ] {
            match (resolve(&served, word), expected) {
                (Ok(found), Ok(expected)) => {
                    let version = found.resource.kind.api_version();
                    let shown = format!("{version}/{}", found.resource.plural);
                    assert_eq!(shown, expected, "{word}");
                }
                (Err(failure), Err(expected)) => {
                    assert!(
                        failure.hint().contains(expected),
                        "{word}: {}",
                        failure.hint()
                    );
                }
                (found, expected) => panic!("{word}: {found:?} instead of {expected:?}"),
            }
        }
    }
}
