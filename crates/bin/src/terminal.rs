//! The terminal: whether there is one, how large it is, what is typed there, and giving it to somebody
//! else for a while.

use std::io::IsTerminal as _;
use std::path::Path;
use std::time::Duration;

use cli::Failure;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use tokio::io::AsyncRead;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// Changes of size that wait: only the last one matters, so further ones are dropped.
const SIZES: usize = 8;

/// Whether somebody looks at what is printed.
pub(crate) fn is_watched() -> bool {
    std::io::stdout().is_terminal()
}

/// A word in red, if somebody looks at complaints and wants colours.
pub(crate) fn alarm(word: &str) -> String {
    match std::io::stderr().is_terminal() && wants_colours() {
        true => format!("\u{1b}[1;31m{word}\u{1b}[0m"),
        false => word.to_owned(),
    }
}

/// A word in green, if somebody looks at the output and wants colours.
pub(crate) fn good(word: &str) -> String {
    match is_watched() && wants_colours() {
        true => format!("\u{1b}[32m{word}\u{1b}[0m"),
        false => word.to_owned(),
    }
}

/// `NO_COLOR` with anything in it says no, and so does a terminal that knows none.
fn wants_colours() -> bool {
    let is_off = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    !is_off && !is_dumb
}

/// What tells somebody who looks at complaints how far something has come, in one line that is written over.
pub(crate) fn progress() -> Option<cli::Tell> {
    let is_dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    let tell: cli::Tell = |line| crate::say(&format!("\r\u{1b}[K{line}"));
    (std::io::stderr().is_terminal() && !is_dumb).then_some(tell)
}

/// Whether somebody types.
pub(crate) fn is_input_terminal() -> bool {
    std::io::stdin().is_terminal()
}

/// What is typed.
pub(crate) fn input() -> Box<dyn AsyncRead + Send + Unpin> {
    Box::new(tokio::io::stdin())
}

/// The terminal without its own meaning of keys, until it is dropped.
pub(crate) struct Raw {
    before: Termios,
}

impl Raw {
    /// Takes the meaning from the keys; `None` if that is not possible.
    pub(crate) fn begin() -> Option<Self> {
        let before = tcgetattr(std::io::stdin()).ok()?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(std::io::stdin(), OptionalActions::Now, &raw).ok()?;
        Some(Self { before })
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.before);
    }
}

/// The size of the terminal now and whenever it changes, as width and height.
pub(crate) fn sizes() -> mpsc::Receiver<(u16, u16)> {
    let (sender, receiver) = mpsc::channel(SIZES);
    let tell = move || {
        if let Ok(size) = tcgetwinsize(std::io::stdout()) {
            let _ = sender.try_send((size.ws_col, size.ws_row));
        }
    };
    tell();
    #[expect(
        clippy::disallowed_methods,
        reason = "lives as long as the command, whose runtime ends it"
    )]
    if let Ok(mut changed) = signal(SignalKind::window_change()) {
        tokio::spawn(async move {
            while changed.recv().await.is_some() {
                tell();
            }
        });
    }
    receiver
}

/// Runs a command that may read what is typed. Reading cannot be interrupted, so it is not waited for.
pub(crate) fn run<F>(future: F) -> Result<Result<(), Failure>, Failure>
where
    F: Future<Output = Result<(), Failure>>,
{
    let runtime = crate::running::runtime()?;
    let ended = runtime.block_on(future);
    runtime.shutdown_timeout(Duration::ZERO);
    Ok(ended)
}
/// A path as one word of a line for a shell.
pub(crate) fn word(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-+:,@%=".contains(letter);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_words_of_a_shell() {
        for (path, expected) in [
            ("/srv/.karavel/kubeconfig", "/srv/.karavel/kubeconfig"),
            ("/path with space/k", "'/path with space/k'"),
            ("/it's/$HOME", r"'/it'\''s/$HOME'"),
            ("", "''"),
        ] {
            assert_eq!(word(Path::new(path)), expected);
        }
    }
}
