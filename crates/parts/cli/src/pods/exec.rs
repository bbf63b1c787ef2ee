//! Commands in containers, and the streams of what runs in them.

use client::Client;
use object::Value;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;

use super::channels::{self, Receiver, Sender};
use super::{PodQuery, choose};
use crate::failure::Failure;
use crate::reading;

const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const STATUS: u8 = 3;
const RESIZE: u8 = 4;

/// What is connected to the other end.
pub struct Streams {
    /// What is sent there; nothing if absent.
    pub input: Option<Box<dyn AsyncRead + Send + Unpin>>,
    /// Where what it writes goes.
    pub output: Box<dyn AsyncWrite + Send + Unpin>,
    /// Where its complaints go.
    pub errors: Box<dyn AsyncWrite + Send + Unpin>,
    /// The size of the terminal, as width and height, whenever it changes; absent if it is none.
    pub sizes: Option<mpsc::Receiver<(u16, u16)>>,
}

/// What is worth saying before the streams are connected.
pub struct Told(pub Vec<String>);

/// Runs a command in a container.
pub async fn exec(
    control: &Client,
    query: &PodQuery,
    command: &[String],
    streams: impl FnOnce(Told) -> Streams,
) -> Result<(), Failure> {
    if command.is_empty() {
        return Err(Failure::refused(
            "you must specify at least one command for the container",
            "put it behind two dashes: karavel exec POD --cluster NAME -- date",
        ));
    }
    let mut tail = String::new();
    for word in command {
        tail.push_str(&format!(
            "&command={}",
            utf8_percent_encode(word, NON_ALPHANUMERIC)
        ));
    }
    run(control, query, "exec", &tail, streams).await
}

/// Connects to what runs in a container.
pub async fn attach(
    control: &Client,
    query: &PodQuery,
    streams: impl FnOnce(Told) -> Streams,
) -> Result<(), Failure> {
    run(control, query, "attach", "", streams).await
}

async fn run(
    control: &Client,
    query: &PodQuery,
    verb: &str,
    tail: &str,
    streams: impl FnOnce(Told) -> Streams,
) -> Result<(), Failure> {
    let place = reading::place(control, query.scope, query.cluster.as_deref()).await?;
    let namespace = choose::namespace(control, query.namespace.as_deref());
    let pods = choose::find(&place, &namespace, &query.word).await?;
    let Some(pod) = pods.first() else {
        return Err(Failure::refused("there is no such pod", "check the name"));
    };
    let (container, guessed) = choose::container(pod, query.container.as_deref())?;
    let mut streams = streams(Told(guessed.into_iter().collect()));
    let path = format!(
        "{}/{verb}?container={container}&stdin={}&stdout=true&stderr={}&tty={}{tail}",
        choose::pods().object_path(&pod.key()),
        streams.input.is_some(),
        // A terminal has one stream for both.
        streams.sizes.is_none(),
        streams.sizes.is_some(),
    );
    let (sender, receiver) = channels::open(&place, &path).await?;
    carry(sender, receiver, &mut streams).await
}

/// What happened, one at a time.
enum Event {
    Typed(Vec<u8>),
    InputEnded,
    Resized(u16, u16),
    Heard(Option<Result<(u8, Vec<u8>), Failure>>),
}

async fn carry(
    mut sender: Sender,
    mut receiver: Receiver,
    streams: &mut Streams,
) -> Result<(), Failure> {
    let mut buffer = vec![0_u8; 16 << 10];
    let mut ending = Ok(());
    loop {
        let event = {
            let input = streams.input.as_mut();
            let typed = async {
                match input {
                    None => std::future::pending().await,
                    Some(input) => match input.read(&mut buffer).await {
                        Ok(0) | Err(_) => Event::InputEnded,
                        Ok(length) => {
                            Event::Typed(buffer.get(..length).unwrap_or_default().to_vec())
                        }
                    },
                }
            };
            let sizes = streams.sizes.as_mut();
            let resized = async {
                let size = match sizes {
                    None => None,
                    Some(sizes) => sizes.recv().await,
                };
                match size {
                    Some((width, height)) => Event::Resized(width, height),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                heard = receiver.next() => Event::Heard(heard),
                event = resized => event,
                event = typed => event,
            }
        };
        match event {
            Event::Typed(bytes) => sender.send(STDIN, &bytes).await?,
            Event::InputEnded => {
                streams.input = None;
                sender.close(STDIN).await?;
            }
            Event::Resized(width, height) => {
                let size = format!("{{\"Width\":{width},\"Height\":{height}}}");
                sender.send(RESIZE, size.as_bytes()).await?;
            }
            Event::Heard(None) => break,
            Event::Heard(Some(message)) => match message? {
                (STDOUT, bytes) => write(&mut streams.output, &bytes).await?,
                (STDERR, bytes) => write(&mut streams.errors, &bytes).await?,
                (STATUS, bytes) => ending = read_status(&bytes),
                _ => {}
            },
        }
    }
    ending
}

async fn write(to: &mut (dyn AsyncWrite + Send + Unpin), bytes: &[u8]) -> Result<(), Failure> {
    let written = async {
        to.write_all(bytes).await?;
        to.flush().await
    };
    written.await.map_err(|error| {
        Failure::failed(
            format!("cannot write what came: {error}"),
            "check where the output goes",
        )
    })
}

/// How the command ended, as the status tells it.
fn read_status(bytes: &[u8]) -> Result<(), Failure> {
    let status: Value = serde_json::from_slice(bytes).unwrap_or_default();
    if status["status"] == "Success" || status.is_null() {
        return Ok(());
    }
    let causes = status["details"]["causes"].as_array().into_iter().flatten();
    let code = causes
        .filter(|cause| cause["reason"] == "ExitCode")
        .find_map(|cause| cause["message"].as_str()?.parse::<u8>().ok());
    match code {
        Some(0) => Ok(()),
        Some(code) => Err(Failure::Ended {
            what: format!("command terminated with exit code {code}"),
            code,
        }),
        None => Err(Failure::failed(
            status["message"]
                .as_str()
                .unwrap_or("the command failed")
                .to_owned(),
            "check the command and the container",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_own_exit_code_is_passed_on() {
        let exit = |code: &str| {
            format!(
                r#"{{"status":"Failure","details":{{"causes":[{{"reason":"ExitCode","message":"{code}"}}]}}}}"#
            )
        };
        for (status, expected) in [
            (r#"{"status":"Success"}"#.to_owned(), None),
            (exit("7"), Some(7)),
            (exit("0"), None),
            (exit("many"), Some(2)),
            (
                r#"{"status":"Failure","message":"no such file"}"#.to_owned(),
                Some(2),
            ),
            ("nonsense".to_owned(), None),
        ] {
            let found = read_status(status.as_bytes()).err();
            assert_eq!(
                found.map(|failure| failure.exit_code()),
                expected,
                "{status}"
            );
        }
    }
}
