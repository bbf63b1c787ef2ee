//! What an API serves: its kinds, and its groups and versions.

use client::{Client, Discovered, Discovery};

use crate::failure::Failure;
use crate::nearest::nearest;
use crate::reading::{self, Answer, Output, Place, Scope};
use crate::table::Table;

/// Which kinds are asked for.
#[derive(Clone, Debug, Default)]
pub struct ApisQuery {
    /// Where to look; where the cluster is if absent.
    pub scope: Option<Scope>,
    /// The member.
    pub cluster: Option<String>,
    /// Only kinds of this group; the empty one is that of pods.
    pub group: Option<String>,
    /// Only kinds that live in namespaces, or only those that do not.
    pub namespaced: Option<bool>,
    /// Only kinds with all these verbs.
    pub verbs: Vec<String>,
    /// Only kinds of all these categories.
    pub categories: Vec<String>,
    /// How rows are sorted; by group and name if absent.
    pub sort_by: Option<ApiOrder>,
    /// A table, a wide one, or names.
    pub output: Output,
    /// No headline.
    pub no_headers: bool,
}

/// What kinds are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApiOrder {
    /// The plural.
    Name,
    /// The kind.
    Kind,
}

/// The kinds an API serves, each in the version it prefers.
pub async fn api_resources(control: &Client, query: &ApisQuery) -> Result<Answer, Failure> {
    if !matches!(query.output, Output::Table | Output::Wide | Output::Name) {
        return Err(Failure::refused(
            "kinds cannot be shown this way",
            "choose -o wide or name",
        ));
    }
    let discovery = discover(control, query.scope, query.cluster.as_deref()).await?;
    let mut found: Vec<&Discovered> = discovery
        .preferred()
        .filter(|found| is_wanted(found, query))
        .collect();
    if found.is_empty()
        && let Some(group) = &query.group
    {
        let groups = discovery.resources.iter().map(group_of);
        if !groups.clone().any(|known| known == group) {
            let hint = nearest(group, groups).map_or_else(
                || "`karavel api-versions` lists the groups there are".to_owned(),
                |known| format!("did you mean {known:?}?"),
            );
            return Err(Failure::refused(
                format!("no group is called {group:?}"),
                hint,
            ));
        }
    }
    found.sort_by_key(|found| {
        let name = found.resource.plural.clone();
        match query.sort_by {
            Some(ApiOrder::Name) => (name, String::new()),
            Some(ApiOrder::Kind) => (found.resource.kind.kind.clone(), name),
            None => (group_of(found).to_owned(), name),
        }
    });
    let mut notes = unreadable(&discovery);
    if found.is_empty() {
        notes.push("No resources found".to_owned());
    }
    Ok(Answer {
        text: write(&found, query),
        notes,
        failure: None,
    })
}

/// The groups and versions an API serves, one a line.
pub async fn api_versions(
    control: &Client,
    scope: Option<Scope>,
    cluster: Option<&str>,
) -> Result<Answer, Failure> {
    let discovery = discover(control, scope, cluster).await?;
    let versions = discovery.resources.iter();
    let mut versions: Vec<String> = versions
        .map(|found| found.resource.kind.api_version())
        .collect();
    versions.extend(
        discovery
            .failed
            .iter()
            .map(|failed| failed.group_version.to_string()),
    );
    versions.sort();
    versions.dedup();
    Ok(Answer {
        text: versions
            .iter()
            .map(|version| format!("{version}\n"))
            .collect(),
        notes: unreadable(&discovery),
        failure: None,
    })
}

async fn discover(
    control: &Client,
    scope: Option<Scope>,
    cluster: Option<&str>,
) -> Result<Discovery, Failure> {
    let place: Place = reading::place(control, scope, cluster).await?;
    let discovery = place.client().discover().await;
    discovery.map_err(|error| place.failure(&error))
}

fn group_of(found: &Discovered) -> &str {
    &found.resource.kind.group
}

fn is_wanted(found: &Discovered, query: &ApisQuery) -> bool {
    let has_all = |wanted: &[String], known: &[String]| {
        wanted
            .iter()
            .all(|word| known.iter().any(|one| one == word))
    };
    let group = query.group.as_deref();
    !found.verbs.is_empty()
        && group.is_none_or(|group| group_of(found) == group)
        && query
            .namespaced
            .is_none_or(|wanted| found.resource.namespaced == wanted)
        && has_all(&query.verbs, &found.verbs)
        && has_all(&query.categories, &found.categories)
}

/// Groups that are announced and could not be read are named: what they serve is not in the list.
fn unreadable(discovery: &Discovery) -> Vec<String> {
    let failed = discovery.failed.iter();
    failed
        .map(|failed| {
            format!(
                "warning: {} could not be read: {}",
                failed.group_version, failed.message
            )
        })
        .collect()
}

fn write(found: &[&Discovered], query: &ApisQuery) -> String {
    let full_name = |found: &Discovered| match group_of(found) {
        "" => found.resource.plural.clone(),
        group => format!("{}.{group}", found.resource.plural),
    };
    if query.output == Output::Name {
        return found
            .iter()
            .map(|found| format!("{}\n", full_name(found)))
            .collect();
    }
    if found.is_empty() {
        return String::new();
    }
    let is_wide = query.output == Output::Wide;
    let mut header = vec!["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND"];
    header.extend(is_wide.then_some("VERBS"));
    header.extend(is_wide.then_some("CATEGORIES"));
    let mut table = match query.no_headers {
        true => Table::default(),
        false => Table::new(&header),
    };
    table.rows = found
        .iter()
        .map(|found| {
            let mut row = vec![
                found.resource.plural.clone(),
                found.short_names.join(","),
                found.resource.kind.api_version(),
                found.resource.namespaced.to_string(),
                found.resource.kind.kind.clone(),
            ];
            if is_wide {
                row.push(found.verbs.join(","));
                row.push(found.categories.join(","));
            }
            row
        })
        .collect();
    table.to_string()
}

#[cfg(test)]
mod tests {
    use object::ResourceType;

    use super::*;

    fn served() -> Vec<Discovered> {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect();
        vec![
            Discovered {
                resource: ResourceType::namespaced("", "v1", "Pod", "pods"),
                short_names: words("po"),
                verbs: words("get list"),
                categories: words("all"),
                ..Discovered::default()
            },
            Discovered {
                resource: ResourceType::cluster("policy.io", "v1", "Rule", "rules"),
                verbs: words("get"),
                ..Discovered::default()
            },
        ]
    }

    #[test]
    fn kinds_are_chosen_and_written_as_kubectl_does() {
        let query = ApisQuery::default;
        let words = |text: &str| vec![text.to_owned()];
        for (query, expected) in [
            (
                query(),
                "NAME    SHORTNAMES   APIVERSION     NAMESPACED   KIND\npods    po           v1             true         Pod\nrules                policy.io/v1   false        Rule\n",
            ),
            (
                ApisQuery {
                    output: Output::Name,
                    ..query()
                },
                "pods\nrules.policy.io\n",
            ),
            (
                ApisQuery {
                    group: Some(String::new()),
                    output: Output::Name,
                    ..query()
                },
                "pods\n",
            ),
            (
                ApisQuery {
                    namespaced: Some(false),
                    output: Output::Name,
                    ..query()
                },
                "rules.policy.io\n",
            ),
            (
                ApisQuery {
                    verbs: words("list"),
                    output: Output::Name,
                    ..query()
                },
                "pods\n",
            ),
            (
                ApisQuery {
                    categories: words("all"),
                    output: Output::Name,
                    ..query()
                },
                "pods\n",
            ),
            (
                ApisQuery {
                    verbs: words("list"),
                    output: Output::Wide,
                    no_headers: true,
                    ..query()
                },
                "pods   po   v1   true   Pod   get,list   all\n",
            ),
            (
                ApisQuery {
                    verbs: words("fly"),
                    ..query()
                },
                "",
            ),
        ] {
            let served = served();
            let found: Vec<&Discovered> = served
                .iter()
                .filter(|found| is_wanted(found, &query))
                .collect();
            assert_eq!(write(&found, &query), expected, "{query:?}");
        }
    }
}
