//! What commands in a simulated container answer.

use object::Object;
use object::time::Time;

use crate::parts::archive;
use crate::parts::files::{self, Entry};
use crate::parts::line::{Joint, Line, Stream};
use crate::read;

/// What a command comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Output {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: i32,
}

/// Whether a command reads lines and answers each.
pub(crate) fn is_shell(command: &[String]) -> bool {
    let name = command.first().map_or("", |name| base(name));
    matches!(name, "sh" | "bash" | "ash") && command.get(1).map(String::as_str) != Some("-c")
}

/// The answer of a command.
pub(crate) fn run(command: &[String], pod: &Object, now: Time) -> Output {
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    match words.as_slice() {
        [shell, "-c", line, ..] if matches!(base(shell), "sh" | "bash" | "ash") => {
            run_line(line, pod, now)
        }
        [] => fail("no command was given", 126),
        [name, arguments @ ..] => run_words(base(name), arguments, pod, now),
    }
}

/// The answer to one line typed into a shell.
pub(crate) fn run_line(line: &str, pod: &Object, now: Time) -> Output {
    let mut all = Output::default();
    let mut line = Line::new(line);
    let (mut was_run, mut piped) = (true, None);
    loop {
        let code = all.code;
        let Some(command) = line.next(&|name| variable(name, code, pod)) else {
            return all;
        };
        let is_run = match command.joint {
            Joint::Always => true,
            Joint::Success => all.code == 0,
            Joint::Failure => all.code != 0,
            Joint::Pipe => was_run,
        };
        was_run = is_run;
        let input: Option<String> = piped.take();
        let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
        let [name, arguments @ ..] = words.as_slice() else {
            continue;
        };
        if !is_run {
            continue;
        }
        let one = match (base(name), input) {
            ("cat" | "tee", Some(input)) if arguments.is_empty() => Output {
                stdout: input,
                ..Output::default()
            },
            (name, _) => run_words(name, arguments, pod, now),
        };
        let (stdout, stderr) = directed(one.stdout, one.stderr, &command.redirects);
        if command.pipes {
            piped = Some(stdout);
        } else {
            all.stdout.push_str(&stdout);
        }
        all.stderr.push_str(&stderr);
        all.code = one.code;
        if base(name) == "exit" {
            return all;
        }
    }
}

/// What goes to the two streams once everything was sent where it was said to go, each by what the streams were then.
fn directed(stdout: String, stderr: String, redirects: &[(Stream, Stream)]) -> (String, String) {
    let (mut out_to, mut error_to) = (Stream::Out, Stream::Error);
    for (from, to) in redirects {
        let to = match to {
            Stream::Out => out_to,
            Stream::Error => error_to,
            Stream::Nowhere => Stream::Nowhere,
        };
        match from {
            Stream::Error => error_to = to,
            _ => out_to = to,
        }
    }
    let (mut out, mut error) = (String::new(), String::new());
    for (text, to) in [(stdout, out_to), (stderr, error_to)] {
        match to {
            Stream::Out => out.push_str(&text),
            Stream::Error => error.push_str(&text),
            Stream::Nowhere => {}
        }
    }
    (out, error)
}

/// What a variable stands for in a container.
fn variable(name: &str, code: i32, pod: &Object) -> String {
    match name {
        "?" => code.to_string(),
        "$" => "1".to_owned(),
        name => {
            let all = environment(pod);
            let mut lines = all.lines();
            let found = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
            found.unwrap_or_default().to_owned()
        }
    }
}

fn run_words(name: &str, arguments: &[&str], pod: &Object, now: Time) -> Output {
    let say = |text: String| Output {
        stdout: format!("{text}\n"),
        ..Output::default()
    };
    match name {
        "echo" => match arguments {
            ["-n", rest @ ..] => Output {
                stdout: rest.join(" "),
                ..Output::default()
            },
            all => say(all.join(" ")),
        },
        "hostname" => say(pod
            .text_at(&["spec", "hostname"])
            .unwrap_or(pod.name())
            .to_owned()),
        "whoami" => say("root".to_owned()),
        "pwd" => say("/".to_owned()),
        "date" => say(now.to_string()),
        "id" => say("uid=0(root) gid=0(root)".to_owned()),
        "uname" => say(uname(arguments, pod)),
        "ls" => ls(arguments, pod),
        "env" | "printenv" => say(environment(pod)),
        "true" | "sleep" | "cd" | "export" => Output::default(),
        "false" => Output {
            code: 1,
            ..Output::default()
        },
        "exit" => Output {
            code: arguments
                .first()
                .and_then(|code| code.parse().ok())
                .unwrap_or(0),
            ..Output::default()
        },
        "cat" => cat(arguments, pod),
        "tar" => tar(arguments, pod, now),
        "test" => Output {
            code: i32::from(!test(arguments, pod)),
            ..Output::default()
        },
        other => fail(&format!("sh: {other}: not found"), 127),
    }
}

/// What a command does with its input, if it does anything but ignore it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Appetite {
    /// It writes what it reads.
    Echoes,
    /// It reads everything and keeps it to itself.
    Swallows,
}

/// What a command does with its input.
pub(crate) fn appetite(command: &[String]) -> Option<Appetite> {
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    match words.as_slice() {
        [name] if base(name) == "cat" => Some(Appetite::Echoes),
        [name, ..] if base(name) == "tee" => Some(Appetite::Echoes),
        [name, flags, ..] if base(name) == "tar" && flags.contains('x') => Some(Appetite::Swallows),
        _ => None,
    }
}

fn cat(arguments: &[&str], pod: &Object) -> Output {
    let mut all = Output::default();
    for path in arguments {
        match files::find(pod, path) {
            Some(Entry::File(text)) => all.stdout.push_str(&text),
            Some(Entry::Directory(_)) => all.complain(&format!("cat: {path}: Is a directory"), 1),
            None => all.complain(&format!("cat: {path}: No such file or directory"), 1),
        }
    }
    all
}

fn ls(arguments: &[&str], pod: &Object) -> Output {
    let mut all = Output::default();
    let mut paths: Vec<&str> = arguments
        .iter()
        .copied()
        .filter(|word| !word.starts_with('-'))
        .collect();
    if paths.is_empty() {
        paths.push("/");
    }
    for path in paths {
        match files::find(pod, path) {
            Some(Entry::File(_)) => all.stdout.push_str(&format!("{path}\n")),
            Some(Entry::Directory(names)) => {
                for name in names {
                    all.stdout.push_str(&format!("{name}\n"));
                }
            }
            None => all.complain(&format!("ls: {path}: No such file or directory"), 1),
        }
    }
    all
}

fn test(arguments: &[&str], pod: &Object) -> bool {
    match arguments {
        ["-d", path] => matches!(files::find(pod, path), Some(Entry::Directory(_))),
        ["-f", path] => matches!(files::find(pod, path), Some(Entry::File(_))),
        ["-e", path] => files::find(pod, path).is_some(),
        _ => false,
    }
}

/// Packs what is at a path. What is unpacked is read elsewhere and goes nowhere.
fn tar(arguments: &[&str], pod: &Object, now: Time) -> Output {
    let packs = arguments.first().is_some_and(|flags| flags.contains('c'));
    let wanted = arguments.iter().skip(1).find(|word| **word != "-");
    let Some(path) = wanted.filter(|_| packs) else {
        return Output::default();
    };
    let entries = files::walk(pod, path);
    if entries.is_empty() {
        return fail(
            &format!("tar: {path}: Cannot stat: No such file or directory"),
            2,
        );
    }
    Output {
        stdout: archive::of(&entries, now.unix_seconds()),
        ..Output::default()
    }
}

/// What the system says of itself, as nodes do.
fn uname(arguments: &[&str], pod: &Object) -> String {
    let host = pod
        .text_at(&["spec", "hostname"])
        .unwrap_or_else(|| pod.name());
    let facts = [
        ('s', "Linux"),
        ('n', host),
        ('r', "6.1.0"),
        ('v', "#1 SMP"),
        ('m', "x86_64"),
        ('o', "GNU/Linux"),
    ];
    let flags: String = arguments.concat();
    let is_asked = |flag: char| flags.contains(flag) || flags.contains('a');
    let asked: Vec<&str> = facts
        .iter()
        .filter(|(flag, _)| is_asked(*flag))
        .map(|(_, fact)| *fact)
        .collect();
    if asked.is_empty() {
        return "Linux".to_owned();
    }
    asked.join(" ")
}

fn environment(pod: &Object) -> String {
    let mut lines = vec![
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned(),
        format!("HOSTNAME={}", pod.name()),
    ];
    let containers = read::list(pod, &["spec", "containers"]);
    for entry in containers
        .first()
        .map_or(&[][..], |container| read::items(container, "env"))
    {
        lines.push(format!(
            "{}={}",
            read::text(entry, "name"),
            read::text(entry, "value")
        ));
    }
    lines.push("KUBERNETES_SERVICE_HOST=10.96.0.1".to_owned());
    lines.join("\n")
}

fn fail(why: &str, code: i32) -> Output {
    Output {
        stderr: format!("{why}\n"),
        code,
        ..Output::default()
    }
}

impl Output {
    fn complain(&mut self, why: &str, code: i32) {
        self.stderr.push_str(&format!("{why}\n"));
        self.code = code;
    }
}

fn base(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn commands_answer_as_one_expects_of_them() {
        let pod = json!({"metadata": {"name": "web-1"}, "spec": {"containers": [{"env": [{"name": "A", "value": "b"}]}]}});
        let pod = Object::from_value(pod).unwrap();
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        for (command, stdout, code) in [
            (vec!["echo", "a", "b"], "a b\n", 0),
            (vec!["/bin/hostname"], "web-1\n", 0),
            (vec!["sh", "-c", "echo hi; exit 3"], "hi\n", 3),
            (vec!["sh", "-c", "exit 3; echo hi"], "", 3),
            (vec!["sh", "-c", "echo a; echo b >&2"], "a\n", 0),
            (
                vec!["sh", "-c", "cat /nothing 2>&1 || echo \"no $?\""],
                "cat: /nothing: No such file or directory\nno 1\n",
                0,
            ),
            (
                vec!["sh", "-c", "cat /nothing 2>/dev/null && echo no"],
                "",
                1,
            ),
            (vec!["sh", "-c", "echo $A | cat"], "b\n", 0),
            (vec!["sh", "-c", "echo -n \"$HOSTNAME\""], "web-1", 0),
            (
                vec!["sh", "-c", "echo 'one' && date"],
                "one\n2026-01-01T00:00:00Z\n",
                0,
            ),
            (vec!["cat", "/etc/hostname"], "web-1\n", 0),
            (vec!["cat", "/etc/nothing"], "", 1),
            (vec!["test", "-d", "/tmp"], "", 0),
            (vec!["test", "-d", "/nothing"], "", 1),
            (vec!["test", "-f", "/etc/hostname"], "", 0),
            (vec!["tar", "cf", "-", "/nothing"], "", 2),
            (vec!["uname"], "Linux\n", 0),
            (
                vec!["uname", "-a"],
                "Linux web-1 6.1.0 #1 SMP x86_64 GNU/Linux\n",
                0,
            ),
            (vec!["uname", "-s", "-m"], "Linux x86_64\n", 0),
            (vec!["ls", "/tmp"], "", 0),
            (vec!["ls", "-l", "/nothing"], "", 1),
            (vec!["cat", "/etc"], "", 1),
            (vec!["frobnicate"], "", 127),
            (vec![], "", 126),
        ] {
            let command: Vec<String> = command.into_iter().map(str::to_owned).collect();
            let output = run(&command, &pod, now);
            assert_eq!(
                (output.stdout.as_str(), output.code),
                (stdout, code),
                "{command:?}"
            );
        }
        assert!(run(&["env".to_owned()], &pod, now).stdout.contains("A=b\n"));
        let both = run_line("echo a; echo b >&2", &pod, now);
        assert_eq!((both.stdout.as_str(), both.stderr.as_str()), ("a\n", "b\n"));
    }
}
