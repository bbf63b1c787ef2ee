//! How bindings are placed.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{ArgAction, Args};

use super::server::Logging;

/// How bindings are placed, by the names the reference has for it.
#[derive(Args, Debug)]
#[command(next_help_heading = "Scheduling")]
pub(crate) struct Scheduling {
    /// Features to turn on or off, such as PriorityBasedScheduling=true,WorkloadAffinity=true.
    #[arg(long, env = "KARAVEL_FEATURE_GATES", value_name = "GATES")]
    pub(crate) feature_gates: Option<String>,
    /// The name by which bindings choose this scheduler.
    #[arg(long, value_name = "NAME", default_value = "default-scheduler")]
    pub(crate) scheduler_name: String,
    /// Which plugins have a say: `*` for all, `*,-Name` for all but that one, or the names of some.
    #[arg(
        long,
        env = "KARAVEL_PLUGINS",
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "*",
        allow_hyphen_values = true
    )]
    pub(crate) plugins: Vec<String>,
    /// A file that names plugins outside of the process, asked over HTTPS.
    #[arg(long, value_name = "FILE")]
    pub(crate) plugin_webhooks: Option<PathBuf>,
    /// Also send workloads without replicas to the clusters that were chosen for them.
    #[arg(long)]
    pub(crate) enable_empty_workload_propagation: bool,
    /// Count on single nodes: here for members this process reaches, by estimators beside the others.
    #[arg(long)]
    pub(crate) enable_scheduler_estimator: bool,
    /// Do not ask the estimators of members in pull mode.
    #[arg(long)]
    pub(crate) disable_scheduler_estimator_in_pull_mode: bool,
    #[command(flatten)]
    pub(crate) estimators: Estimators,
    /// Take replicas back from members whose nodes have no room for them. Needs estimators.
    #[arg(long)]
    pub(crate) enable_descheduler: bool,
    /// How often replicas without a node are looked for.
    #[arg(long, value_name = "DURATION", default_value = "2m")]
    pub(crate) descheduling_interval: String,
    /// How long a pod must have found no node before it is taken back.
    #[arg(long, value_name = "DURATION", default_value = "5m")]
    pub(crate) unschedulable_threshold: String,
}

/// Where estimators are and how they are spoken to.
#[derive(Args, Debug)]
pub(crate) struct Estimators {
    /// How long all estimators together may take to answer.
    #[arg(long, value_name = "DURATION", default_value = "3s")]
    pub(crate) scheduler_estimator_timeout: String,
    /// The namespace of the estimators' Services.
    #[arg(long, value_name = "NAMESPACE", default_value = "karmada-system")]
    pub(crate) scheduler_estimator_service_namespace: String,
    /// What comes before `-CLUSTER` in the names of the estimators' Services.
    #[arg(
        long,
        value_name = "PREFIX",
        default_value = "karmada-scheduler-estimator"
    )]
    pub(crate) scheduler_estimator_service_prefix: String,
    /// The port of the estimators' Services.
    #[arg(long, value_name = "PORT", default_value_t = 10352)]
    pub(crate) scheduler_estimator_port: u16,
    /// The certificate shown to estimators.
    #[arg(long, value_name = "FILE", requires = "scheduler_estimator_key_file")]
    pub(crate) scheduler_estimator_cert_file: Option<PathBuf>,
    /// Its key.
    #[arg(long, value_name = "FILE", requires = "scheduler_estimator_cert_file")]
    pub(crate) scheduler_estimator_key_file: Option<PathBuf>,
    /// Who signs the estimators' certificates; without it they are spoken to in the clear.
    #[arg(long, value_name = "FILE")]
    pub(crate) scheduler_estimator_ca_file: Option<PathBuf>,
    /// Believe estimators whatever certificate they show. Only where nobody else can answer on their addresses.
    #[arg(long)]
    pub(crate) insecure_skip_estimator_verify: bool,
}

/// Run the estimator of one member.
#[derive(Args, Debug)]
pub(crate) struct Estimator {
    /// The member's name in the control plane.
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster_name: String,
    /// The context of the member's kubeconfig; its current one if absent.
    #[arg(long, value_name = "CONTEXT")]
    pub(crate) context: Option<String>,
    /// The port that schedulers ask on.
    #[arg(long, value_name = "PORT", default_value_t = 10352)]
    pub(crate) server_port: u16,
    /// The address that schedulers ask on.
    #[arg(long, value_name = "ADDR", default_value = "0.0.0.0")]
    pub(crate) bind_address: std::net::IpAddr,
    /// The own certificate; without one schedulers are answered in the clear.
    #[arg(long, value_name = "FILE", requires = "grpc_auth_key_file")]
    pub(crate) grpc_auth_cert_file: Option<PathBuf>,
    /// Its key.
    #[arg(long, value_name = "FILE", requires = "grpc_auth_cert_file")]
    pub(crate) grpc_auth_key_file: Option<PathBuf>,
    /// Who signs the certificates of schedulers; without it anybody may ask.
    #[arg(long, value_name = "FILE", requires = "grpc_auth_cert_file")]
    pub(crate) grpc_client_ca_file: Option<PathBuf>,
    /// Let anybody ask although schedulers' certificates could be checked.
    #[arg(long)]
    pub(crate) insecure_skip_grpc_client_verify: bool,
    /// Where /metrics is answered; 0 turns it off.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080", value_parser = address)]
    pub(crate) metrics_bind_address: OffOr,
    /// Where /healthz and /readyz are answered; 0 turns it off.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:10351", value_parser = address)]
    pub(crate) health_probe_bind_address: OffOr,
    /// How many nodes are counted at once; taken for compatibility, counting is done in one pass.
    #[arg(long, value_name = "N", default_value_t = 0, action = ArgAction::Set, hide = true)]
    pub(crate) parallelism: i32,
    /// Requests a second; taken for compatibility, what is needed is watched.
    #[arg(long, value_name = "N", default_value_t = 20.0, action = ArgAction::Set, hide = true)]
    pub(crate) kube_api_qps: f32,
    /// Requests at once; taken for compatibility, what is needed is watched.
    #[arg(long, value_name = "N", default_value_t = 30, action = ArgAction::Set, hide = true)]
    pub(crate) kube_api_burst: i32,
    /// Features to turn on or off, such as ResourceQuotaEstimate=true.
    #[arg(long, env = "KARAVEL_FEATURE_GATES", value_name = "GATES")]
    pub(crate) feature_gates: Option<String>,
    #[command(flatten)]
    pub(crate) logging: Logging,
}

/// An address, or that there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OffOr(pub(crate) Option<SocketAddr>);

/// `:8080` is all addresses of the machine, as the reference writes it.
fn address(text: &str) -> Result<OffOr, String> {
    if text == "0" {
        return Ok(OffOr(None));
    }
    let whole = match text.strip_prefix(':') {
        Some(port) => format!("0.0.0.0:{port}"),
        None => text.to_owned(),
    };
    let address = whole
        .parse()
        .map_err(|_| "expected host:port, :port or 0".to_owned())?;
    Ok(OffOr(Some(address)))
}
