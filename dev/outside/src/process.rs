//! Servers as processes: started, waited for, killed without warning.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// A process that ends with this value.
#[derive(Debug)]
pub struct Running {
    process: Child,
}

impl Running {
    /// Starts a program whose words go to a file.
    pub fn start(command: &mut Command, log: &Path) -> Result<Self> {
        let file = File::options()
            .create(true)
            .append(true)
            .open(log)
            .with_context(|| format!("cannot write {}", log.display()))?;
        let second = file.try_clone().context("cannot share the log")?;
        let process = command
            .stdin(Stdio::null())
            .stdout(file)
            .stderr(second)
            .spawn()
            .with_context(|| format!("cannot start {command:?}"))?;
        Ok(Self { process })
    }

    /// By which number the system knows it.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Kills it without warning.
    pub fn kill(&mut self) {
        // It may have ended by itself; then there is nothing to kill.
        drop(self.process.kill());
        drop(self.process.wait());
    }

    /// Whether it has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(Some(_)))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Our server, on one port for all its lives.
#[derive(Debug)]
pub struct Karavel {
    program: PathBuf,
    further: Vec<String>,
    /// Where it keeps everything.
    pub data_dir: PathBuf,
    /// Where it listens.
    pub port: u16,
    running: Option<Child>,
}

impl Karavel {
    /// Starts a server and waits until it is ready.
    pub fn start(program: &Path, data_dir: &Path, further: &[&str]) -> Result<Self> {
        let mut server = Self {
            program: program.to_owned(),
            further: further
                .iter()
                .map(|argument| (*argument).to_owned())
                .collect(),
            data_dir: data_dir.to_owned(),
            port: free_port()?,
            running: None,
        };
        server.start_again()?;
        Ok(server)
    }

    /// Starts it anew on the same port and data.
    pub fn start_again(&mut self) -> Result<Duration> {
        let started = Instant::now();
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.data_dir.with_extension("log"))
            .context("cannot write the server's log")?;
        let mut process = Command::new(&self.program)
            .args([
                "server",
                "--listen",
                &format!("127.0.0.1:{}", self.port),
                "--data-dir",
            ])
            .arg(&self.data_dir)
            .args(&self.further)
            .env("KARAVEL_LOG", "warn")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .with_context(|| format!("cannot start {}", self.program.display()))?;
        let output = process.stdout.take().context("the server has no output")?;
        self.running = Some(process);
        let mut first = String::new();
        BufReader::new(output)
            .read_line(&mut first)
            .context("cannot read what the server says")?;
        if !first.starts_with("karavel is ready on ") {
            bail!("the server did not get ready: it said {first:?}");
        }
        Ok(started.elapsed())
    }

    /// Kills it without warning.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.running.take() {
            drop(process.kill());
            drop(process.wait());
        }
    }

    /// Its number among the processes, while it runs.
    pub fn id(&self) -> Option<u32> {
        self.running.as_ref().map(Child::id)
    }

    /// The kubeconfig of its administrator.
    pub fn kubeconfig(&self) -> PathBuf {
        self.data_dir.join("kubeconfig")
    }
}

impl Drop for Karavel {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A port that nobody listens on.
pub fn free_port() -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").context("cannot find a free port")?;
    Ok(listener
        .local_addr()
        .context("a listener without an address")?
        .port())
}

/// Asks again and again until something is so.
pub fn wait_until(what: &str, limit: Duration, mut is_so: impl FnMut() -> bool) -> Result<()> {
    let deadline = Instant::now() + limit;
    while !is_so() {
        if Instant::now() > deadline {
            bail!("{what} did not happen within {} s", limit.as_secs());
        }
        pause(Duration::from_millis(100));
    }
    Ok(())
}

/// Lets other processes go on.
#[expect(
    clippy::disallowed_methods,
    reason = "the suites wait for other people's processes, outside any executor"
)]
pub fn pause(time: Duration) {
    std::thread::sleep(time);
}
