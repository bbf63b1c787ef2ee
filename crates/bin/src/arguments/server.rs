//! The roles that keep running.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{Care, Scheduling, Security, Storage};

/// Run the control plane.
#[derive(Args, Debug)]
pub(crate) struct Server {
    /// Where everything is kept: objects, certificates, the kubeconfig.
    #[arg(long, env = "KARAVEL_DATA_DIR", value_name = "DIR")]
    pub(crate) data_dir: PathBuf,
    /// Where to listen.
    #[arg(
        long,
        env = "KARAVEL_LISTEN",
        value_name = "ADDR",
        default_value = "127.0.0.1:5443",
        value_parser = listen_address
    )]
    pub(crate) listen: SocketAddr,
    /// A further name or address clients reach the server under; may be given several times.
    #[arg(long = "tls-san", value_name = "NAME", value_parser = server_name)]
    pub(crate) names: Vec<String>,
    #[command(flatten)]
    pub(crate) storage: Storage,
    #[command(flatten)]
    pub(crate) security: Security,
    /// Which controllers run, by name: `*` for all, `-name` for all but that one. `scheduler` is one of them.
    #[arg(
        long,
        env = "KARAVEL_CONTROLLERS",
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "*",
        allow_hyphen_values = true
    )]
    pub(crate) controllers: Vec<String>,
    #[command(flatten)]
    pub(crate) scheduling: Scheduling,
    #[command(flatten)]
    pub(crate) care: Care,
    #[command(flatten)]
    pub(crate) logging: Logging,
}

/// Run the control plane and simulated members.
#[derive(Args, Debug)]
pub(crate) struct Up {
    /// Where everything is kept; `.karavel` in the home directory if absent.
    #[arg(long, env = "KARAVEL_DATA_DIR", value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Where to listen; members take the ports after it.
    #[arg(
        long,
        env = "KARAVEL_LISTEN",
        value_name = "ADDR",
        default_value = "127.0.0.1:5443",
        value_parser = listen_address
    )]
    pub(crate) listen: SocketAddr,
    /// How many simulated members to run, named member1, member2 and so on.
    #[arg(
        long,
        env = "KARAVEL_MEMBERS",
        value_name = "N",
        default_value_t = 3,
        value_parser = clap::value_parser!(u16).range(0..=1000)
    )]
    pub(crate) members: u16,
    /// Apply a sample application and show it arriving.
    #[arg(long)]
    pub(crate) demo: bool,
    #[command(flatten)]
    pub(crate) scheduling: Scheduling,
    #[command(flatten)]
    pub(crate) care: Care,
    #[command(flatten)]
    pub(crate) logging: Logging,
}

/// What is logged, and how. `up`, whose terminal is for people, logs less unless told otherwise.
#[derive(Args, Debug)]
pub(crate) struct Logging {
    /// What to log, such as info or karavel=debug.
    #[arg(
        long,
        env = "KARAVEL_LOG",
        value_name = "FILTER",
        default_value = "info"
    )]
    pub(crate) log: String,
    /// How log lines look.
    #[arg(
        long,
        env = "KARAVEL_LOG_FORMAT",
        value_name = "FORMAT",
        default_value = "text"
    )]
    pub(crate) log_format: LogFormat,
}

/// An address and a port of this machine.
pub(crate) fn listen_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        let example = match text.trim_start_matches(':').parse::<u16>() {
            Ok(port) => format!("127.0.0.1:{port}, or 0.0.0.0:{port} for all addresses"),
            Err(_) => match text.strip_prefix("localhost:") {
                Some(port) => format!("127.0.0.1:{port}"),
                None => "127.0.0.1:5443".to_owned(),
            },
        };
        format!("write an address of this machine and a port, such as {example}")
    })
}

/// A name that a certificate can be for: an address, or a name of the DNS, whose first label may be a star.
pub(crate) fn server_name(text: &str) -> Result<String, String> {
    let name = text.to_ascii_lowercase();
    let rest = name.strip_prefix("*.").unwrap_or(&name);
    // What ends in a number is meant to be an address; clients would not take it for a name.
    let last = rest.rsplit('.').next().unwrap_or_default();
    let is_name = !last.bytes().all(|byte| byte.is_ascii_digit())
        && object::names::check_dns1123_subdomain(rest).is_empty();
    if is_name || text.parse::<IpAddr>().is_ok() {
        return Ok(text.to_owned());
    }
    Err("write a DNS name or an IP address, such as fleet.example.com, *.example.com or 10.0.0.1, without a port".to_owned())
}

/// How log lines look.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_are_for_names_and_addresses() {
        for (text, is_one) in [
            ("fleet.example.com", true),
            ("Fleet.Example.com", true),
            ("localhost", true),
            ("*.example.com", true),
            ("10.9.8.7", true),
            ("::1", true),
            ("bad name!", false),
            ("", false),
            ("*", false),
            ("a.*.example.com", false),
            ("*.10.0.0.1", false),
            ("10.9.8.777", false),
            ("10.9.8.7:443", false),
            ("[::1]", false),
            ("https://fleet.example.com", false),
            ("fleet.example.com.", false),
        ] {
            assert_eq!(server_name(text).is_ok(), is_one, "{text}");
        }
    }

    #[test]
    fn a_wrong_address_is_answered_with_a_right_one() {
        assert!(listen_address("127.0.0.1:1").is_ok());
        assert!(listen_address("[::1]:1").is_ok());
        for (text, expected) in [
            ("foo", "such as 127.0.0.1:5443"),
            (":80", "such as 127.0.0.1:80, or 0.0.0.0:80"),
            ("80", "such as 127.0.0.1:80, or 0.0.0.0:80"),
            ("localhost:80", "such as 127.0.0.1:80"),
            ("127.0.0.1", "such as 127.0.0.1:5443"),
            ("127.0.0.1:99999", "such as 127.0.0.1:5443"),
        ] {
            let said = listen_address(text).unwrap_err();
            assert!(said.contains(expected), "{text}: {said}");
        }
    }
}
