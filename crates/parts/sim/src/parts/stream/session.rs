//! What happens in a container while somebody is connected to it, whatever carries the connection.

use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use object::Object;
use object::time::Time;
use runtime::Clock;
use serde_json::json;

use super::keyboard::{self, Keyboard, Typed};
use crate::parts::shell::{self, Appetite};
use crate::sessions::Sessions;

/// What a command ends with that was interrupted.
const INTERRUPTED: i32 = 130;

/// Input, output and the end of a session.
pub(crate) trait Line: Send {
    /// Writes to the client.
    fn say(&mut self, output: Output, data: &[u8]) -> impl Future<Output = ()> + Send;
    /// The next piece of standard input; `None` when there is no more. Nothing is lost if this is given up.
    fn hear(&mut self) -> impl Future<Output = Option<Bytes>> + Send;
    /// Returns when the client has gone.
    fn gone(&mut self) -> impl Future<Output = ()> + Send;
    /// Says how it ended and goodbye.
    fn end(&mut self, status: &str) -> impl Future<Output = ()> + Send;
}

/// Where something is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    Stdout,
    Stderr,
}

/// What of a session is streamed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Streamed {
    pub(crate) stdin: bool,
    pub(crate) stdout: bool,
    pub(crate) stderr: bool,
    pub(crate) tty: bool,
}

impl Streamed {
    /// The streams a client opens for it.
    pub(crate) fn names(self) -> Vec<&'static str> {
        let all = [
            ("error", true),
            ("stdin", self.stdin),
            ("stdout", self.stdout),
            ("stderr", self.stderr && !self.tty),
            ("resize", self.tty),
        ];
        all.into_iter()
            .filter(|(_, is_wanted)| *is_wanted)
            .map(|(name, _)| name)
            .collect()
    }
}

/// What a container writes, as it comes; it ends with the container.
pub(crate) type Told = Pin<Box<dyn Stream<Item = Bytes> + Send>>;

/// A session in a container.
pub(crate) struct Session {
    pub(crate) place: Place,
    pub(crate) purpose: Purpose,
}

/// Where a session is and what of it is streamed.
pub(crate) struct Place {
    pub(crate) pod: Object,
    pub(crate) clock: Clock,
    pub(crate) streamed: Streamed,
}

/// What a client wants to do in a container.
pub(crate) enum Purpose {
    Exec {
        command: Vec<String>,
    },
    /// To see what it writes.
    Attach {
        told: Told,
    },
    /// To talk to what it runs.
    Own(Own),
}

/// What a container runs and a client is attached to. The container ends with it.
pub(crate) struct Own {
    pub(crate) command: Vec<String>,
    pub(crate) container: String,
    /// When the container was started.
    pub(crate) since: Time,
    pub(crate) sessions: Sessions,
}

impl Session {
    pub(crate) async fn serve(self, mut line: impl Line) {
        let code = match self.purpose {
            Purpose::Exec { command } => self.place.exec(&mut line, &command).await,
            Purpose::Attach { told } => attach(&mut line, told, self.place.streamed).await,
            Purpose::Own(own) => {
                let code = self.place.exec(&mut line, &own.command).await;
                let uid = self.place.pod.uid();
                own.sessions
                    .leave(uid, &own.container, own.since, i64::from(code));
                // Upstream: what the container ended with is in its status, not in the session's.
                0
            }
        };
        let status = if code == 0 { success() } else { failure(code) };
        line.end(&status).await;
    }
}

impl Place {
    async fn exec(&self, line: &mut impl Line, command: &[String]) -> i32 {
        if shell::is_shell(command) && self.streamed.stdin {
            return self.shell(line).await;
        }
        if let Some(appetite) = shell::appetite(command).filter(|_| self.streamed.stdin) {
            if self.streamed.tty {
                return self.answer_back(line, appetite).await;
            }
            while let Some(data) = line.hear().await {
                if appetite == Appetite::Echoes {
                    line.say(Output::Stdout, &data).await;
                }
            }
            return 0;
        }
        let output = shell::run(command, &self.pod, self.clock.now());
        self.show(line, &output).await;
        output.code
    }

    async fn show(&self, line: &mut impl Line, output: &shell::Output) {
        let tty = self.streamed.tty;
        for (to, text) in [
            (Output::Stdout, &output.stdout),
            (Output::Stderr, &output.stderr),
        ] {
            if text.is_empty() {
                continue;
            }
            // A terminal has one stream and wants to be told to go back to the first column.
            let to = if tty { Output::Stdout } else { to };
            if tty {
                line.say(to, text.replace('\n', "\r\n").as_bytes()).await;
            } else {
                line.say(to, text.as_bytes()).await;
            }
        }
    }

    /// Answers line after line until the client has no more or says `exit`.
    async fn shell(&self, line: &mut impl Line) -> i32 {
        let mut keyboard = Keyboard::new(self.streamed.tty);
        let mut code = 0;
        loop {
            if self.streamed.tty {
                line.say(Output::Stdout, b"/ # ").await;
            }
            let typed = match self.typed(line, &mut keyboard).await {
                Typed::Line(typed) => typed,
                Typed::Interrupt => {
                    code = INTERRUPTED;
                    continue;
                }
                Typed::End => return code,
            };
            let typed = typed.trim();
            let output = shell::run_line(typed, &self.pod, self.clock.now());
            code = output.code;
            self.show(line, &output).await;
            if typed.split_whitespace().next() == Some("exit") {
                return code;
            }
        }
    }

    /// What a command does on a terminal that reads until there is no more.
    async fn answer_back(&self, line: &mut impl Line, appetite: Appetite) -> i32 {
        let mut keyboard = Keyboard::new(true);
        loop {
            match self.typed(line, &mut keyboard).await {
                Typed::Line(typed) if appetite == Appetite::Echoes => {
                    let echo = format!("{typed}\r\n");
                    line.say(Output::Stdout, echo.as_bytes()).await;
                }
                Typed::Line(_) => {}
                Typed::Interrupt => return INTERRUPTED,
                Typed::End => return 0,
            }
        }
    }

    /// The next that is typed, shown as it comes if there is a terminal.
    async fn typed(&self, line: &mut impl Line, keyboard: &mut Keyboard) -> Typed {
        loop {
            let (typed, shown) = keyboard.next();
            if self.streamed.tty && !shown.is_empty() {
                line.say(Output::Stdout, &shown).await;
            }
            if let Some(typed) = typed {
                return typed;
            }
            match line.hear().await {
                Some(data) => keyboard.press(&data),
                None => return keyboard.close(),
            }
        }
    }
}

/// Shows what the container writes until it ends or the client goes. What is typed is taken and changes nothing, but for
/// the keys that end things on a terminal: they end the session, as nothing here runs that they could be meant for.
async fn attach(line: &mut impl Line, mut told: Told, streamed: Streamed) -> i32 {
    let mut listens = streamed.stdin;
    loop {
        let heard = async {
            match listens {
                true => line.hear().await,
                false => {
                    line.gone().await;
                    None
                }
            }
        };
        let said = tokio::select! {
            heard = heard => {
                if heard.is_none() && !listens {
                    return 0;
                }
                let ends = |data: &Bytes| data.iter().any(|key| keyboard::ENDING.contains(key));
                if streamed.tty && heard.as_ref().is_some_and(ends) {
                    return 0;
                }
                listens &= heard.is_some();
                continue;
            }
            said = told.next() => said,
        };
        let Some(said) = said else { return 0 };
        line.say(Output::Stdout, &said).await;
    }
}

fn success() -> String {
    json!({"metadata": {}, "status": "Success"}).to_string()
}

fn failure(code: i32) -> String {
    json!({
        "metadata": {}, "status": "Failure", "reason": "NonZeroExitCode",
        "message": format!("command terminated with non-zero exit code: exit status {code}"),
        "details": {"causes": [{"reason": "ExitCode", "message": code.to_string()}]},
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    /// What is typed, and what came of it. The client stays when it has typed everything.
    #[derive(Default)]
    struct Typist {
        keys: VecDeque<&'static str>,
        seen: String,
    }

    impl Line for Typist {
        async fn say(&mut self, _: Output, data: &[u8]) {
            self.seen.push_str(&String::from_utf8_lossy(data));
        }

        async fn hear(&mut self) -> Option<Bytes> {
            match self.keys.pop_front() {
                Some(keys) => Some(Bytes::from_static(keys.as_bytes())),
                None => std::future::pending().await,
            }
        }

        async fn gone(&mut self) {
            std::future::pending().await
        }

        async fn end(&mut self, status: &str) {
            self.seen.push_str(status);
        }
    }

    const TERMINAL: Streamed = Streamed {
        stdin: true,
        stdout: true,
        stderr: false,
        tty: true,
    };

    /// What a terminal shows, and the code; `None` if the session goes on.
    async fn exec(command: &str, keys: &[&'static str]) -> (String, Option<i32>) {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-1"}});
        let place = Place {
            pod: Object::from_value(pod).unwrap(),
            clock: Clock::system(),
            streamed: TERMINAL,
        };
        let mut line = Typist {
            keys: keys.iter().copied().collect(),
            ..Typist::default()
        };
        let command = [command.to_owned()];
        let code = tokio::time::timeout(PATIENCE, place.exec(&mut line, &command)).await;
        (line.seen.replace('\r', ""), code.ok())
    }

    const PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);

    #[tokio::test(start_paused = true)]
    async fn nobody_is_trapped_in_a_terminal() {
        for (command, keys, seen, code) in [
            ("sh", vec!["\x04"], "/ # \n", Some(0)),
            (
                "sh",
                vec!["echo a", "\x03", "exit\r"],
                "/ # echo a^C\n/ # exit\n",
                Some(0),
            ),
            ("sh", vec!["\x03\x04"], "/ # ^C\n/ # \n", Some(130)),
            (
                "sh",
                vec!["echo ab\x7fc\r\x04"],
                "/ # echo ab\u{8} \u{8}c\nac\n/ # \n",
                Some(0),
            ),
            ("sh", vec!["echo\x04"], "/ # echo", None),
            ("cat", vec!["a\r", "\x04"], "a\na\n\n", Some(0)),
            ("cat", vec!["a\x03"], "a^C\n", Some(130)),
            ("cat", vec!["a"], "a", None),
        ] {
            let found = exec(command, &keys).await;
            assert_eq!(found, (seen.to_owned(), code), "{command} {keys:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn keys_that_end_things_end_a_session_that_only_shows() {
        for (keys, tty, code) in [
            ("\x03", true, Some(0)),
            ("a\x04", true, Some(0)),
            ("a\r", true, None),
            ("\x03", false, None),
        ] {
            let mut line = Typist {
                keys: VecDeque::from([keys]),
                ..Typist::default()
            };
            let told: Told = Box::pin(futures_util::stream::pending());
            let streamed = Streamed { tty, ..TERMINAL };
            let attached = attach(&mut line, told, streamed);
            let found = tokio::time::timeout(PATIENCE, attached).await.ok();
            assert_eq!(found, code, "{keys:?} {tty}");
        }
    }
}
