//! What happens in a container while somebody is connected to it, whatever carries the connection.

use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use object::Object;
use object::time::Time;
use runtime::Clock;
use serde_json::json;

use crate::parts::shell::{self, Appetite};
use crate::sessions::Sessions;

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
        let tty = self.streamed.tty;
        let mut pending = String::new();
        let mut code = 0;
        loop {
            if tty {
                line.say(Output::Stdout, b"/ # ").await;
            }
            let typed = loop {
                if let Some(end) = pending.find(['\n', '\r']) {
                    let rest = pending.split_off(end + 1);
                    break Some(std::mem::replace(&mut pending, rest));
                }
                match line.hear().await {
                    Some(data) => {
                        let text = String::from_utf8_lossy(&data);
                        if tty {
                            let echo = text.replace('\r', "\r\n");
                            line.say(Output::Stdout, echo.as_bytes()).await;
                        }
                        pending.push_str(&text);
                    }
                    None if pending.is_empty() => break None,
                    None => break Some(std::mem::take(&mut pending)),
                }
            };
            let Some(typed) = typed else { return code };
            // What a terminal sends at the end of input.
            if typed.starts_with('\u{4}') {
                return code;
            }
            let typed = typed.trim();
            let output = shell::run_line(typed, &self.pod, self.clock.now());
            code = output.code;
            self.show(line, &output).await;
            if typed.split_whitespace().next() == Some("exit") {
                return code;
            }
        }
    }
}

/// Shows what the container writes until it ends or the client goes. What is typed is taken and changes nothing.
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
