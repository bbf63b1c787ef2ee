//! Commands about clusters: from what was typed to the call.

use cli::{Actor, ClustersQuery, Cordon, Failure, Reach, TaintChange};
use member::join::{JoinError, JoinOptions, UnjoinError, UnjoinOptions};
use object::duration::Duration;
use object::time::Time;
use object::{ObjectKey, ResourceType};

use crate::arguments;
use crate::reading::answer;
use crate::{print, running, say};

/// Shows all clusters.
pub(crate) fn clusters(reach: &Reach, typed: arguments::Clusters) -> Result<(), Failure> {
    let query = ClustersQuery {
        names: typed.names,
        selector: typed.selector,
        output: typed.output,
        no_headers: typed.no_headers,
    };
    answer(running::block_on(async {
        let control = reach.connect().await?;
        cli::clusters(&control, &query, now()).await
    })??)
}

/// Joins a cluster.
pub(crate) fn join(reach: &Reach, typed: &arguments::Join) -> Result<(), Failure> {
    running::block_on(async {
        let control = match &typed.karmada_as {
            None => reach.connect().await?,
            Some(user) => {
                let actor = Actor {
                    user: user.clone(),
                    groups: typed.karmada_as_group.clone(),
                    uid: typed.karmada_as_uid.clone(),
                };
                reach.connect_as(&actor).await?
            }
        };
        let target = Reach {
            kubeconfig: typed.target.cluster_kubeconfig.clone(),
            context: typed.target.cluster_context.clone(),
        };
        let (member, about) = (target.connect_member().await?, target.address().await?);
        let usual = JoinOptions::new(typed.name.as_str(), about.server);
        let namespace = typed.target.cluster_namespace.clone();
        let options = JoinOptions {
            namespace: namespace.unwrap_or(usual.namespace),
            insecure: about.insecure,
            proxy: about.proxy,
            provider: typed.cluster_provider.clone(),
            region: typed.cluster_region.clone(),
            zones: typed.cluster_zones.clone(),
            dry_run: typed.target.dry_run,
            ..usual
        };
        let joined = member::join::join(&control, &member, &options)
            .await
            .map_err(|error| join_failure(&error))?;
        if let Some(other) = joined.shared_as {
            crate::say(&format!(
                "warning: another control plane has this cluster as {other}, or left its rules there: both write the ClusterRole karmada-impersonator in it, and users of one of them will not get through to the cluster\n\
                 unjoin it from one, or give the same users clusters/proxy in both; if the other is gone for good: kubectl delete clusterrole,clusterrolebinding karmada-impersonator\n"
            ));
        }
        if typed.target.dry_run {
            return print(&format!("cluster({}) can be joined\n", typed.name));
        }
        print(&format!("cluster({}) is joined successfully\n", typed.name))
    })?
}

/// Lets a cluster go.
pub(crate) fn unjoin(reach: &Reach, typed: &arguments::Unjoin) -> Result<(), Failure> {
    let wait = wait(&typed.wait)?;
    running::block_on(async {
        let control = reach.connect().await?;
        let member = match &typed.target.cluster_kubeconfig {
            None => None,
            Some(path) => {
                let target = |context: Option<String>| Reach {
                    kubeconfig: Some(path.clone()),
                    context,
                };
                // A kubeconfig of several clusters calls their contexts as they are called; one that does not is the
                // member's own.
                let named = typed.target.cluster_context.as_ref();
                let own_name = named.unwrap_or(&typed.name).clone();
                Some(match target(Some(own_name)).connect_member().await {
                    Err(_) if named.is_none() => target(None).connect_member().await?,
                    connected => connected?,
                })
            }
        };
        let options = UnjoinOptions {
            namespace: typed.target.cluster_namespace.clone(),
            wait: wait.to_wait(),
            force: typed.force,
            dry_run: typed.target.dry_run,
            ..UnjoinOptions::new(typed.name.as_str())
        };
        let gone = match member::join::unjoin(&control, member.as_ref(), &options).await {
            Ok(gone) => gone,
            Err(error @ UnjoinError::NotFound(_)) => {
                let what = telemetry::chain(&error).to_string();
                return Err(cli::unknown(&control, &typed.name, what).await);
            }
            Err(error) => return Err(unjoin_failure(&error)),
        };
        for told in gone.foretold {
            print(&format!("{told}\n"))?;
        }
        for left in gone.left_behind {
            print(&format!("left behind: {left}\n"))?;
        }
        if gone.would_be_refused {
            return Err(Failure::failed(
                format!(
                    "cluster({}) would not be unjoined: it does not answer",
                    typed.name
                ),
                "repeat it when the cluster is back, or leave behind what is in it with --force",
            ));
        }
        if typed.target.dry_run {
            return print(&format!("cluster({}) can be unjoined\n", typed.name));
        }
        print(&format!("cluster({}) is unjoined\n", typed.name))
    })?
}

/// How long to wait: so many seconds, or a time.
fn wait(text: &str) -> Result<Duration, Failure> {
    let is_count = text.ends_with(|letter: char| letter.is_ascii_digit());
    let parsed: Result<Duration, _> = match is_count {
        true => format!("{text}s").parse(),
        false => text.parse(),
    };
    parsed.map_err(|error| {
        Failure::refused(
            format!("--wait: {error}"),
            "write seconds, or a time such as 90s or 2m",
        )
    })
}

/// Why a cluster has not joined, and what to do about it.
pub(crate) fn join_failure(error: &JoinError) -> Failure {
    let what = telemetry::chain(error).to_string();
    match error {
        JoinError::Name { .. } => Failure::refused(
            what,
            "choose another name: lower-case letters, digits and dashes, 48 at most",
        ),
        JoinError::Itself => Failure::refused(
            what,
            "name the member's own kubeconfig with --cluster-kubeconfig, and one of its contexts with --cluster-context",
        ),
        JoinError::Registered { .. } | JoinError::Exists(_) => Failure::refused(
            what,
            "`karavel clusters` lists who has joined; `karavel unjoin NAME` lets one go",
        ),
        JoinError::Claimed { objects, .. } => {
            let delete = |(resource, key): &(ResourceType, ObjectKey)| {
                let namespace = match key.namespace.as_str() {
                    "" => String::new(),
                    namespace => format!(" -n {namespace}"),
                };
                let (plural, name) = (&resource.plural, &key.name);
                format!("  kubectl delete{namespace} {plural} {name}")
            };
            let lines: Vec<String> = objects.iter().map(delete).collect();
            Failure::refused(
                what,
                format!(
                    "choose another name; if that control plane is gone for good, delete in the cluster what it made, and repeat it:\n{}",
                    lines.join("\n")
                ),
            )
        }
        JoinError::SecretTaken { .. } => {
            Failure::refused(what, "choose another name, or remove the secret")
        }
        JoinError::NamespaceEnding { .. } => Failure::failed(
            what,
            "repeat it when the namespace is gone; `kubectl get namespace` shows what it waits for",
        ),
        JoinError::NoToken { .. } => Failure::failed(
            what,
            "check that the cluster's controller manager runs, then repeat it",
        ),
        JoinError::Left { source, .. } => join_failure(source).reworded(|_| what),
        JoinError::Member { source, .. } | JoinError::ControlPlane { source, .. } => {
            cli::call_failure(source).reworded(|_| what)
        }
    }
}

/// The exit code of what was refused.
const REFUSED: u8 = 1;

fn unjoin_failure(error: &UnjoinError) -> Failure {
    let what = telemetry::chain(error).to_string();
    match error {
        UnjoinError::Pulled(_) => Failure::refused(
            what,
            "the agent beside it has to be removed with Karmada's own karmadactl; pull mode is not built here yet",
        ),
        UnjoinError::Another { .. } => Failure::refused(
            what,
            "nothing was changed; name the member's own context with --cluster-context, or leave --cluster-kubeconfig out if the cluster was made anew",
        ),
        UnjoinError::Foreign { .. } => Failure::refused(
            what,
            "nothing was changed; if no control plane uses it any more, delete it there with kubectl",
        ),
        UnjoinError::Away { .. } => Failure::failed(
            what,
            "nothing was changed; repeat it when the cluster is back, or leave behind what is in it with --force",
        ),
        UnjoinError::NoWait => Failure::refused(what, "give it some time with --wait"),
        // What is refused once is refused again; what only cannot be reached may be given up.
        UnjoinError::Call { source, .. } if cli::call_failure(source).exit_code() == REFUSED => {
            cli::call_failure(source).reworded(|_| what)
        }
        _ => Failure::failed(
            what,
            "repeat it; --force gives up on a cluster that cannot be reached and says what it leaves behind",
        ),
    }
}

/// Closes or opens a cluster.
pub(crate) fn cordon(
    reach: &Reach,
    typed: &arguments::Cordon,
    wanted: Cordon,
) -> Result<(), Failure> {
    let verb = match wanted {
        Cordon::Closed => "cordon",
        Cordon::Open => "uncordon",
    };
    let hint = format!("for example: karavel {verb} member1; `karavel clusters` lists them");
    let name = match typed.names.as_slice() {
        [name] if !name.is_empty() => name,
        [] | [_] => return Err(Failure::refused("cluster name is required", hint)),
        _ => {
            let what = "more than one cluster name is not supported";
            return Err(Failure::refused(what, hint));
        }
    };
    running::block_on(async {
        let control = reach.connect().await?;
        print(&cli::cordon(&control, name, wanted, typed.dry_run).await?)?;
        tell_rehearsal(typed.dry_run);
        Ok(())
    })?
}

/// Upstream: the line of a rehearsal is that of the deed, so it is said beside it that nothing was done.
fn tell_rehearsal(dry_run: bool) {
    if dry_run {
        say("dry run: nothing was changed\n");
    }
}

/// Changes the taints of clusters.
pub(crate) fn taint(reach: &Reach, typed: &arguments::Taint) -> Result<(), Failure> {
    let (names, changes) = split(&typed.words)?;
    running::block_on(async {
        let control = reach.connect().await?;
        for name in names {
            let said = cli::taint(&control, name, &changes, typed.overwrite, typed.dry_run).await?;
            print(&said)?;
        }
        tell_rehearsal(typed.dry_run);
        Ok(())
    })?
}

/// The names and the changes among the words.
fn split(words: &[String]) -> Result<(Vec<&str>, Vec<TaintChange>), Failure> {
    let example = "for example: karavel taint clusters member1 gpu=yes:NoSchedule";
    let is_change = |word: &str| word.contains([':', '=']) || word.ends_with('-');
    let all = words;
    let (kind, words) = words
        .split_first()
        .ok_or_else(|| Failure::refused("nothing is named", example))?;
    if !matches!(kind.as_str(), "cluster" | "clusters") {
        let what = format!("invalid resource type {kind:?}: only clusters can be tainted");
        // Names alone are of clusters: there is nothing else to taint.
        let is_name = !matches!(kind.as_str(), "node" | "nodes" | "no") && !is_change(kind);
        let has_names = words.iter().any(|word| !is_change(word));
        let near = cli::nearest(kind, ["clusters", "cluster"]).filter(|_| has_names);
        let is_short = is_name && words.iter().any(|word| is_change(word));
        let hint = match (near, is_short) {
            (Some(near), _) => format!("did you mean {near:?}? {example}"),
            (None, true) => format!("did you mean: karavel taint clusters {}", all.join(" ")),
            (None, false) => example.to_owned(),
        };
        return Err(Failure::refused(what, hint));
    }
    let first = words.iter().position(|word| is_change(word));
    let (names, changes) = words.split_at(first.unwrap_or(words.len()));
    if let Some(name) = changes.iter().find(|word| !is_change(word)) {
        let what = format!("all resources must be specified before taint changes: {name}");
        return Err(Failure::refused(what, example));
    }
    if names.is_empty() || changes.is_empty() {
        let what = "at least one cluster and one taint must be named";
        return Err(Failure::refused(what, example));
    }
    let names = names.iter().map(String::as_str).collect();
    let changes: Result<_, _> = changes
        .iter()
        .map(|word| TaintChange::parse(word))
        .collect();
    Ok((names, changes?))
}

pub(crate) fn now() -> Time {
    runtime::Clock::system().now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_place_of_the_type_is_answered_with_the_whole_line() {
        let words = ["member1", "gpu=yes:NoSchedule"].map(str::to_owned);
        let failure = split(&words).unwrap_err();
        let meant = "did you mean: karavel taint clusters member1 gpu=yes:NoSchedule";
        assert_eq!(failure.hint(), meant);
        let words = ["cluser", "member1", "gpu=yes:NoSchedule"].map(str::to_owned);
        let hint = split(&words).unwrap_err().hint().to_owned();
        assert!(hint.starts_with("did you mean \"cluster\"?"), "{hint}");
    }

    #[test]
    fn a_wait_is_seconds_or_a_time_and_told_as_it_was_typed() {
        for (text, expected) in [
            ("60", Ok(60)),
            ("90s", Ok(90)),
            ("2m", Ok(120)),
            ("bogus", Err("\"bogus\"")),
            ("5x", Err("\"5x\"")),
            ("", Err("empty")),
        ] {
            match (wait(text), expected) {
                (Ok(wait), Ok(seconds)) => assert_eq!(wait.to_wait().as_secs(), seconds),
                (Err(failure), Err(named)) => {
                    assert!(failure.to_string().contains(named), "{failure}");
                    assert!(!failure.to_string().contains("boguss"), "{failure}");
                }
                (found, _) => panic!("{text}: {found:?}"),
            }
        }
    }

    #[test]
    fn names_come_before_taints() {
        for (line, expected) in [
            ("clusters a b k=v:NoSchedule k2-", Ok((vec!["a", "b"], 2))),
            ("cluster a k:NoExecute", Ok((vec!["a"], 1))),
            ("nodes a k:NoExecute", Err("invalid resource type")),
            ("clusters a k:NoExecute b", Err("before taint changes: b")),
            ("clusters a b", Err("one taint must be named")),
            ("clusters k:NoExecute", Err("at least one cluster")),
            ("clusters a k:Sometimes", Err("invalid taint")),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            match (split(&words), expected) {
                (Ok((names, changes)), Ok((expected, count))) => {
                    assert_eq!((names, changes.len()), (expected, count), "{line}");
                }
                (Err(error), Err(expected)) => {
                    assert!(error.to_string().contains(expected), "{line}: {error}");
                }
                (found, expected) => panic!("{line}: {found:?} instead of {expected:?}"),
            }
        }
    }
}
