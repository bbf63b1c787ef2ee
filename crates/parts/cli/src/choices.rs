//! Features and plugins by name: a name that nobody has is refused with those that were probably meant.

use api::well_known::feature_gates::{FeatureGates, GATES, GateError};
use schedule::plugin::{Registry, WorkloadGroups};

use crate::failure::Failure;
use crate::nearest::nearest;

/// Reads the value of `--feature-gates`.
pub fn read_gates(text: &str) -> Result<FeatureGates, Failure> {
    text.parse().map_err(|error: GateError| {
        let known = GATES.iter().map(|info| info.name);
        let hint = match &error {
            GateError::Unknown { name } => hint(name, known.chain(["AllAlpha", "AllBeta"])),
            _ => "write for example --feature-gates PropagationPolicyPreemption=true".to_owned(),
        };
        Failure::refused(format!("--feature-gates: {error}"), hint)
    })
}

/// Refuses values of `--plugins` that name no plugin. `others` are those that do not come with the scheduler.
pub fn check_plugins(list: &[String], others: &[String]) -> Result<(), Failure> {
    // Those behind a gate are known too, whether it is open or not.
    let in_tree = Registry::in_tree(WorkloadGroups::On).enabled_names(&["*"]);
    let known = || {
        let others = others.iter().map(String::as_str);
        in_tree.iter().map(|name| &**name).chain(others)
    };
    for entry in list {
        let name = entry.strip_prefix('-').unwrap_or(entry);
        if entry != "*" && !known().any(|known| known == name) {
            return Err(Failure::refused(
                format!("--plugins: there is no plugin {name:?}"),
                hint(name, known()),
            ));
        }
    }
    Ok(())
}

fn hint<'n>(wrong: &str, known: impl Iterator<Item = &'n str> + Clone) -> String {
    let all: Vec<&str> = known.clone().collect();
    let all = format!("there are {}", all.join(", "));
    match nearest(wrong, known) {
        Some(near) => format!("did you mean {near:?}? {all}"),
        None => all,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is wrong and the beginning of what is said about it; nothing if all is well.
    fn said(outcome: Result<(), Failure>) -> String {
        outcome.map_or_else(
            |failure| format!("{failure}; {}", failure.hint()),
            |()| String::new(),
        )
    }

    #[test]
    fn names_that_nobody_has_are_refused_with_the_right_one() {
        for (list, expected) in [
            ("*", ""),
            ("*,-TaintToleration,-Carbon", ""),
            ("ClusterAffinity,WorkloadAntiAffinity", ""),
            (
                "*,-TaintTolerations",
                "--plugins: there is no plugin \"TaintTolerations\"; did you mean \"TaintToleration\"? there are ClusterAffinity, ",
            ),
            (
                "Crabon",
                "--plugins: there is no plugin \"Crabon\"; did you mean \"Carbon\"? there are ",
            ),
            (
                "nosuch",
                "--plugins: there is no plugin \"nosuch\"; there are ClusterAffinity, ",
            ),
            ("-*", "--plugins: there is no plugin \"*\"; there are "),
        ] {
            let list: Vec<String> = list.split(',').map(str::to_owned).collect();
            let found = said(check_plugins(&list, &["Carbon".to_owned()]));
            assert!(found.starts_with(expected), "{list:?}: {found}");
            assert_eq!(found.is_empty(), expected.is_empty(), "{list:?}: {found}");
        }
        for (text, expected) in [
            ("Failover=true,AllAlpha=false", ""),
            (
                "Failovr=true",
                "--feature-gates: there is no feature gate \"Failovr\"; did you mean \"Failover\"? there are Failover, ",
            ),
            (
                "Failover",
                "--feature-gates: feature gate \"Failover\" is not of the form Name=true or Name=false; write for example",
            ),
        ] {
            let found = said(read_gates(text).map(drop));
            assert!(found.starts_with(expected), "{text}: {found}");
            assert_eq!(found.is_empty(), expected.is_empty(), "{text}: {found}");
        }
    }
}
