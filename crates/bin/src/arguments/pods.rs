//! Commands about what runs in members.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use clap::Args;

use super::places::OnePlace;

/// Where a pod is, and which of its containers is meant.
#[derive(Args, Debug)]
pub(crate) struct Pod {
    /// The namespace; what the kubeconfig names if absent.
    #[arg(short, long, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
    /// The container; the pod's default one if absent.
    #[arg(short, long, value_name = "NAME")]
    pub(crate) container: Option<String>,
    #[command(flatten)]
    pub(crate) place: OnePlace,
    /// How long to wait for a pod to run; pods are taken as they are.
    #[arg(long, value_name = "TIME", hide = true)]
    pub(crate) pod_running_timeout: Option<String>,
}

/// Print the log of a container.
#[derive(Args, Debug)]
pub(crate) struct Logs {
    /// The pod, or what has pods: POD, TYPE/NAME; absent with a selector.
    #[arg(value_name = "POD | TYPE/NAME")]
    pub(crate) word: Option<String>,
    /// The container, as a second word.
    #[arg(value_name = "CONTAINER")]
    pub(crate) second: Option<String>,
    /// The namespace; what the kubeconfig names if absent.
    #[arg(short, long, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
    /// The container; the pod's default one if absent.
    #[arg(short, long, value_name = "NAME", conflicts_with = "second")]
    pub(crate) container: Option<String>,
    /// The member.
    #[arg(short = 'C', long, value_name = "NAME", value_parser = super::places::cluster)]
    pub(crate) cluster: Option<String>,
    /// All pods with these labels.
    #[arg(short = 'l', long, value_name = "SELECTOR", default_value = "")]
    pub(crate) selector: String,
    /// Go on as more is written.
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Of the container's life before this one.
    #[arg(short, long)]
    pub(crate) previous: bool,
    /// All containers of the pod.
    #[arg(long)]
    pub(crate) all_containers: bool,
    /// All pods of what is named.
    #[arg(long)]
    pub(crate) all_pods: bool,
    /// The pod and the container before each line.
    #[arg(long)]
    pub(crate) prefix: bool,
    /// When each line was written.
    #[arg(long)]
    pub(crate) timestamps: bool,
    /// So many lines from the end; -1 for all.
    #[arg(long, value_name = "LINES", allow_negative_numbers = true)]
    pub(crate) tail: Option<i64>,
    /// Nothing older than this, such as 5s, 2m or 3h.
    #[arg(long, value_name = "TIME", conflicts_with = "since_time")]
    pub(crate) since: Option<String>,
    /// Nothing from before this time, such as 2026-01-31T12:00:00Z.
    #[arg(long, value_name = "DATE")]
    pub(crate) since_time: Option<String>,
    /// Not more than this.
    #[arg(long, value_name = "BYTES")]
    pub(crate) limit_bytes: Option<u64>,
    /// Follow at most so many logs at once.
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) max_log_requests: usize,
    /// A log that cannot be read takes nothing away from the others.
    #[arg(long)]
    pub(crate) ignore_errors: bool,
    /// Has no effect: the member's kubelets are behind its API server.
    #[arg(long, hide = true)]
    pub(crate) insecure_skip_tls_verify_backend: bool,
    /// How long to wait for a pod to run; pods are taken as they are.
    #[arg(long, value_name = "TIME", hide = true)]
    pub(crate) pod_running_timeout: Option<String>,
}

/// Run a command in a container.
#[derive(Args, Debug)]
pub(crate) struct Exec {
    /// The pod, or what has pods: POD, TYPE/NAME; absent with a file.
    #[arg(value_name = "POD | TYPE/NAME", required_unless_present = "file")]
    pub(crate) word: Option<String>,
    /// A file with the pod, or with what has pods.
    #[arg(short, long = "filename", value_name = "FILE", conflicts_with = "word")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) pod: Pod,
    #[command(flatten)]
    pub(crate) terminal: Terminal,
    /// The command, behind two dashes.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// Connect to what runs in a container.
#[derive(Args, Debug)]
pub(crate) struct Attach {
    /// The pod, or what has pods: POD, TYPE/NAME.
    #[arg(value_name = "POD | TYPE/NAME")]
    pub(crate) word: String,
    #[command(flatten)]
    pub(crate) pod: Pod,
    #[command(flatten)]
    pub(crate) terminal: Terminal,
}

/// What is connected.
#[derive(Args, Debug)]
pub(crate) struct Terminal {
    /// Send what is typed.
    #[arg(short = 'i', long)]
    pub(crate) stdin: bool,
    /// As a terminal.
    #[arg(short = 't', long)]
    pub(crate) tty: bool,
    /// Say nothing but what the container says.
    #[arg(short = 'q', long)]
    pub(crate) quiet: bool,
}

/// Reach ports of a pod on this machine.
#[derive(Args, Debug)]
pub(crate) struct PortForward {
    /// The pod, or what has pods: POD, TYPE/NAME.
    #[arg(value_name = "POD | TYPE/NAME")]
    pub(crate) word: String,
    #[command(flatten)]
    pub(crate) pod: Pod,
    /// A port, here and there: LOCAL:REMOTE, or one for both; any that is free if LOCAL is empty. REMOTE may be the name
    /// of a container's port, or of the service's.
    #[arg(required = true, value_name = "[LOCAL:]REMOTE", value_parser = cli::PortPair::parse)]
    pub(crate) ports: Vec<cli::PortPair>,
    /// Where to listen, with commas in between: IP addresses, or localhost.
    #[arg(long, value_name = "ADDR", value_delimiter = ',', default_value = "127.0.0.1", value_parser = address)]
    pub(crate) address: Vec<IpAddr>,
}

fn address(text: &str) -> Result<IpAddr, String> {
    match text {
        "localhost" => Ok(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        _ => text
            .parse()
            .map_err(|_| "write an IP address such as 127.0.0.1, or localhost".to_owned()),
    }
}

impl Pod {
    /// The pod that a word means.
    pub(crate) fn called(self, word: String) -> cli::PodQuery {
        cli::PodQuery {
            word,
            namespace: self.namespace,
            container: self.container,
            scope: self.place.scope.map(Into::into),
            cluster: self.place.cluster,
        }
    }
}
