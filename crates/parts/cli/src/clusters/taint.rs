//! Marking clusters so that only work that tolerates the mark goes there.

use api::kubernetes::scheduling::Taint;
use client::Client;
use object::names;

use super::change_taints;
use crate::failure::Failure;
use crate::nearest::nearest;

/// What a taint may do.
const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// One change, as typed: `KEY[=VALUE]:EFFECT`, or `KEY[:EFFECT]-`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaintChange {
    /// The taint is to be there.
    Add {
        /// What it is about.
        key: String,
        /// In detail; mostly empty.
        value: String,
        /// What it does.
        effect: String,
    },
    /// The taint is to go; with every effect if none is named.
    Remove {
        /// What it is about.
        key: String,
        /// What it does.
        effect: Option<String>,
    },
}

impl TaintChange {
    /// Reads one change.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let wrong = |why: &str| {
            Failure::refused(
                format!("invalid taint {text:?}: {why}"),
                "write KEY=VALUE:EFFECT to add a taint and KEY:EFFECT- to remove it, such as gpu=yes:NoSchedule",
            )
        };
        let (body, removes) = match text.strip_suffix('-') {
            Some(body) => (body, true),
            None => (text, false),
        };
        let end = if removes { "-" } else { "" };
        let (mark, effect) = match body.rsplit_once(':') {
            Some((mark, effect)) => (mark, Some(effect)),
            None => (body, None),
        };
        if let Some(effect) = effect
            && !EFFECTS.contains(&effect)
        {
            let why = format!("the effect must be one of {}", EFFECTS.join(", "));
            return Err(match meant(effect) {
                Some(near) => wrong(&why).advised(format!("did you mean {mark}:{near}{end}?")),
                None => wrong(&why),
            });
        }
        let (key, value) = mark.split_once('=').unwrap_or((mark, ""));
        let problems = names::check_qualified_name(key);
        if let Some(problem) = problems.first() {
            return Err(wrong(problem));
        }
        let problems = names::check_label_value(value);
        if let Some(problem) = problems.first() {
            return Err(wrong(problem));
        }
        match (removes, effect) {
            (true, effect) => Ok(Self::Remove {
                key: key.to_owned(),
                effect: effect.map(str::to_owned),
            }),
            (false, Some(effect)) => Ok(Self::Add {
                key: key.to_owned(),
                value: value.to_owned(),
                effect: effect.to_owned(),
            }),
            (false, None) => Err(wrong("an effect is needed to add it")),
        }
    }

    fn key(&self) -> &str {
        match self {
            Self::Add { key, .. } | Self::Remove { key, .. } => key,
        }
    }

    fn concerns(&self, taint: &Taint) -> bool {
        taint.key == self.key()
            && match self {
                Self::Add { effect, .. } => taint.effect == *effect,
                Self::Remove { effect, .. } => {
                    effect.as_ref().is_none_or(|effect| taint.effect == *effect)
                }
            }
    }
}

/// The effect that was probably meant by a word, in whatever case of letters.
fn meant(word: &str) -> Option<&'static str> {
    let lower = word.to_ascii_lowercase();
    let known = EFFECTS.map(str::to_ascii_lowercase);
    let near = nearest(&lower, known.iter().map(String::as_str))?;
    EFFECTS
        .into_iter()
        .find(|effect| effect.eq_ignore_ascii_case(near))
}

/// Changes the taints of a cluster, and says what came of it.
pub async fn taint(
    control: &Client,
    name: &str,
    changes: &[TaintChange],
    overwrite: bool,
    dry_run: bool,
) -> Result<String, Failure> {
    check(changes)?;
    let decide = |taints: Vec<Taint>| changed(name, taints, changes, overwrite).map(Some);
    change_taints(control, name, dry_run, decide).await?;
    let only_removes = changes
        .iter()
        .all(|change| matches!(change, TaintChange::Remove { .. }));
    let word = match (overwrite, only_removes) {
        (true, _) => "modified",
        (false, true) => "untainted",
        (false, false) => "tainted",
    };
    Ok(format!("cluster/{name} {word}\n"))
}

/// Whether the changes make sense together.
fn check(changes: &[TaintChange]) -> Result<(), Failure> {
    for (index, change) in changes.iter().enumerate() {
        let TaintChange::Add { key, effect, .. } = change else {
            continue;
        };
        for other in changes.iter().skip(index + 1) {
            if matches!(other, TaintChange::Add { key: k, effect: e, .. } if k == key && e == effect)
            {
                return Err(Failure::refused(
                    format!("duplicated taints with the same key and effect: {key}:{effect}"),
                    "name each taint once",
                ));
            }
        }
        let removed = changes.iter().any(|other| {
            matches!(other, TaintChange::Remove { key: k, effect: e } if k == key && e.as_ref().is_none_or(|e| e == effect))
        });
        if removed {
            return Err(Failure::refused(
                format!(
                    "can not both modify and remove the following taint(s) in the same command: {{{key:?}:{effect:?}}}"
                ),
                "use two commands, or --overwrite to change a taint's value",
            ));
        }
    }
    Ok(())
}

fn changed(
    cluster: &str,
    mut taints: Vec<Taint>,
    changes: &[TaintChange],
    overwrite: bool,
) -> Result<Vec<Taint>, Failure> {
    for change in changes {
        let present = taints.iter().any(|taint| change.concerns(taint));
        match change {
            TaintChange::Add { key, .. } if present && !overwrite => {
                return Err(Failure::refused(
                    format!(
                        "cluster {cluster} already has {key} taint(s) with same effect(s) and --overwrite is false"
                    ),
                    "add --overwrite to change it",
                ));
            }
            TaintChange::Add { key, value, effect } => {
                taints.retain(|taint| !change.concerns(taint));
                taints.push(Taint {
                    key: key.clone(),
                    value: value.clone(),
                    effect: effect.clone(),
                    ..Taint::default()
                });
            }
            TaintChange::Remove { key, effect } if !present => {
                let effect = effect.as_deref().map(|effect| format!(":{effect}"));
                return Err(Failure::refused(
                    format!("taint \"{key}{}\" not found", effect.unwrap_or_default()),
                    "`karavel clusters` shows the taints there are",
                ));
            }
            TaintChange::Remove { .. } => taints.retain(|taint| !change.concerns(taint)),
        }
    }
    Ok(taints)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(before: &[&str], changes: &[&str], overwrite: bool) -> Result<Vec<String>, String> {
        let parse = |text: &&str| TaintChange::parse(text).map_err(|error| error.to_string());
        let taints = before.iter().map(|text| match parse(text) {
            Ok(TaintChange::Add { key, value, effect }) => Taint {
                key,
                value,
                effect,
                ..Taint::default()
            },
            other => panic!("no taint: {other:?}"),
        });
        let changes: Vec<TaintChange> = changes.iter().map(parse).collect::<Result<_, _>>()?;
        check(&changes).map_err(|error| error.to_string())?;
        let taints = changed("c", taints.collect(), &changes, overwrite);
        let taints = taints.map_err(|error| error.to_string())?;
        let show = |taint: &Taint| format!("{}={}:{}", taint.key, taint.value, taint.effect);
        Ok(taints.iter().map(show).collect())
    }

    #[test]
    fn taints_are_added_changed_and_removed() {
        type Case<'a> = (
            &'a [&'a str],
            &'a [&'a str],
            bool,
            Result<&'a [&'a str], &'a str>,
        );
        let cases: [Case<'_>; 9] = [
            (&[], &["a=1:NoSchedule"], false, Ok(&["a=1:NoSchedule"])),
            (
                &["a=1:NoSchedule"],
                &["a=2:NoSchedule"],
                false,
                Err("already has a taint"),
            ),
            (
                &["a=1:NoSchedule"],
                &["a=2:NoSchedule"],
                true,
                Ok(&["a=2:NoSchedule"]),
            ),
            (
                &["a=1:NoSchedule"],
                &["a=1:NoExecute"],
                false,
                Ok(&["a=1:NoSchedule", "a=1:NoExecute"]),
            ),
            (
                &["a=1:NoSchedule", "a=1:NoExecute"],
                &["a-"],
                false,
                Ok(&[]),
            ),
            (
                &["a=1:NoSchedule", "a=1:NoExecute"],
                &["a:NoExecute-"],
                false,
                Ok(&["a=1:NoSchedule"]),
            ),
            (
                &[],
                &["a:NoExecute-"],
                false,
                Err("taint \"a:NoExecute\" not found"),
            ),
            (
                &[],
                &["a=1:NoSchedule", "a:NoSchedule-"],
                false,
                Err("can not both modify and remove"),
            ),
            (
                &[],
                &["a=1:NoSchedule", "a=2:NoSchedule"],
                false,
                Err("duplicated taints"),
            ),
        ];
        for (before, changes, overwrite, expected) in cases {
            let what = format!("{before:?} {changes:?}");
            match (after(before, changes, overwrite), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{what}"),
                (Err(found), Err(expected)) => assert!(found.contains(expected), "{what}: {found}"),
                (found, expected) => panic!("{what}: {found:?} instead of {expected:?}"),
            }
        }
    }

    #[test]
    fn what_is_no_taint_is_refused() {
        for text in [
            "",
            "a",
            "a=b",
            "a:Never",
            "a b:NoSchedule",
            "a=b c:NoSchedule",
            "-",
            ":NoSchedule",
        ] {
            assert!(TaintChange::parse(text).is_err(), "{text:?}");
        }
    }
}
