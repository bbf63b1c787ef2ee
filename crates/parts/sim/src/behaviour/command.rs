//! What the command of a container says about how it ends, where that is plain: nothing is run.

use object::Object;

use crate::behaviour::{Opinion, Span};
use crate::read;

/// What is said by the command of a pod that is meant to end: one container that sleeps, or that exits at once.
///
/// A pod that is always restarted is a service, and a simulated one runs whatever its command is.
pub(super) fn opinion(pod: &Object) -> Opinion {
    let silent = Opinion::default();
    let ends = matches!(
        pod.text_at(&["spec", "restartPolicy"]),
        Some("Never" | "OnFailure")
    );
    let [container] = read::list(pod, &["spec", "containers"]) else {
        return silent;
    };
    if !ends {
        return silent;
    }
    let words: Vec<&str> = ["command", "args"]
        .iter()
        .flat_map(|field| read::items(container, field))
        .filter_map(object::Value::as_str)
        .collect();
    of_words(&words).unwrap_or(silent)
}

fn of_words(words: &[&str]) -> Option<Opinion> {
    let (program, rest) = words.split_first()?;
    match (program.rsplit('/').next()?, rest) {
        ("sh" | "bash" | "ash", ["-c", script]) => {
            let words: Vec<&str> = script.split_whitespace().collect();
            // Anything more is a program, and those are not run.
            let is_plain = words.len() <= 2 && !script.contains(['$', ';', '|', '&', '(', '`']);
            is_plain.then(|| of_words(&words))?
        }
        ("sleep", [time]) => Some(Opinion {
            complete: Some(span(time)?),
            ..Opinion::default()
        }),
        ("true", []) => Some(exit(0)),
        ("false", []) => Some(exit(1)),
        ("exit", []) => Some(exit(0)),
        ("exit", [code]) => Some(exit(code.parse().ok()?)),
        _ => None,
    }
}

/// Ends in the second it started.
fn exit(code: i64) -> Opinion {
    match code {
        0 => Opinion {
            complete: Some(Span::After(1)),
            ..Opinion::default()
        },
        code => Opinion {
            crash: Some(1),
            exit_code: Some(code),
            ..Opinion::default()
        },
    }
}

/// As `sleep` reads it.
fn span(text: &str) -> Option<Span> {
    if text == "infinity" {
        return Some(Span::Never);
    }
    let (number, unit) = match text.strip_suffix(['s', 'm', 'h', 'd']) {
        Some(number) => (number, text.chars().last()?),
        None => (text, 's'),
    };
    let factor = match unit {
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        _ => 1,
    };
    let seconds: i64 = number.parse().ok().filter(|seconds| *seconds >= 0)?;
    Some(Span::After(seconds.checked_mul(factor)?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::behaviour::{Ending, Rules};

    fn ending(policy: &str, command: &[&str], args: &[&str], rules: &str) -> Option<Ending> {
        let pod = json!({
            "metadata": {"ownerReferences": [{"kind": "Job", "controller": true}]},
            "spec": {"restartPolicy": policy, "containers": [{"command": command, "args": args}]},
        });
        let rules = Rules::parse(rules).unwrap().before(Rules::defaults());
        rules.behaviour(&Object::from_value(pod).unwrap()).ending
    }

    #[test]
    fn plain_commands_of_pods_that_end_say_how() {
        let after = |after: i64, code: i64| Some(Ending { after, code });
        for (command, args, expected) in [
            (&["sleep", "300"][..], &[][..], after(300, 0)),
            (&["/bin/sleep"], &["2m"], after(120, 0)),
            (&["sleep", "infinity"], &[], None),
            (&["/bin/sh", "-c", "exit 3"], &[], after(1, 3)),
            (&["sh", "-c"], &["exit 0"], after(1, 0)),
            (&["sh", "-c", "sleep 7"], &[], after(7, 0)),
            (&["false"], &[], after(1, 1)),
            // Everything else ends as Jobs do.
            (&["sh", "-c", "sleep 7; exit 1"], &[], after(2, 0)),
            (&["sh", "-c", "exit $CODE"], &[], after(2, 0)),
            (&["sleep", "soon"], &[], after(2, 0)),
            (&["sleep", "-5"], &[], after(2, 0)),
            (&[], &[], after(2, 0)),
        ] {
            let found = ending("Never", command, args, "[]");
            assert_eq!(found, expected, "{command:?} {args:?}");
        }
    }

    #[test]
    fn rules_and_restarts_come_before_the_command() {
        let rules = r#"[{"owner": "Job", "complete-after": "9s"}]"#;
        let sleep = &["sleep", "300"];
        let found = ending("Never", sleep, &[], rules);
        assert_eq!(found, Some(Ending { after: 9, code: 0 }));
        let found = ending("Always", sleep, &[], "[]");
        assert_eq!(found, Some(Ending { after: 2, code: 0 }));
    }
}
