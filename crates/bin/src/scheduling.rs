//! From what was typed about scheduling to the settings of its parts.

use std::path::Path;
use std::time::Duration;

use api::well_known::feature_gates::{FeatureGates, Gate};
use assembly::plane::Settings;
use cli::Failure;
use object::Value;
use scheduler::DeschedulerSettings;
use scheduler::estimator::{EstimatorSettings, Tls, Trusted};
use scheduler::webhook::{self, WebhookSettings};

use crate::arguments::{Estimators, Scheduling};

/// Puts what was typed into the settings of all parts it concerns.
pub(crate) fn settle(typed: &Scheduling, settings: &mut Settings) -> Result<(), Failure> {
    let gates = gates(typed.feature_gates.as_deref())?;
    let mut scheduler = scheduler::Settings::with_gates(&gates);
    scheduler.name.clone_from(&typed.scheduler_name);
    scheduler.plugins.clone_from(&typed.plugins);
    if let Some(file) = &typed.plugin_webhooks {
        scheduler.webhooks = webhooks(file)?;
    }
    let webhooks: Vec<String> = scheduler
        .webhooks
        .iter()
        .map(|it| it.name.to_string())
        .collect();
    cli::check_plugins(&typed.plugins, &webhooks)?;
    if typed.enable_empty_workload_propagation {
        scheduler.options.empty_workloads = scheduler::EmptyWorkloads::Propagated;
    }
    let estimators = EstimatorSettings {
        asks_pull_mode: !typed.disable_scheduler_estimator_in_pull_mode,
        ..estimators(&typed.estimators)?
    };
    if typed.enable_scheduler_estimator {
        scheduler.estimators = Some(estimators.clone());
    }
    if typed.enable_scheduler_estimator || typed.enable_descheduler {
        settings.ledgers = Some(ledgers(&gates));
    }
    // What is wrong is told also where it has no effect yet.
    let descheduler = DeschedulerSettings {
        interval: duration("--descheduling-interval", &typed.descheduling_interval)?,
        threshold: duration("--unschedulable-threshold", &typed.unschedulable_threshold)?,
        estimators,
    };
    if typed.enable_descheduler {
        settings.descheduler = Some(descheduler);
    }
    scheduler
        .enabled_plugins()
        .map_err(|error| Failure::refused(error.to_string(), "see karavel server --help"))?;
    settings.scheduler = scheduler;
    settings.controllers.gates = gates;
    Ok(())
}

/// What gates mean for counting on nodes.
pub(crate) fn ledgers(gates: &FeatureGates) -> estimator::Settings {
    estimator::Settings {
        heeds_quotas: gates.is_enabled(Gate::ResourceQuotaEstimate),
        heeds_promises: gates.is_enabled(Gate::SchedulingOvercommitProtection),
    }
}

/// The features that are on.
pub(crate) fn gates(typed: Option<&str>) -> Result<FeatureGates, Failure> {
    cli::read_gates(typed.unwrap_or_default())
}

/// The text of a file.
pub(crate) fn read(flag: &str, file: &Path) -> Result<String, Failure> {
    cli::read_text(file).map_err(|why| {
        let what = format!("cannot read {}: {why}", file.display());
        Failure::refused(what, format!("correct {flag}"))
    })
}

/// A time as Go writes it: `300ms`, `2m`, `1h30m`.
pub(crate) fn duration(flag: &str, text: &str) -> Result<Duration, Failure> {
    parse(text).ok_or_else(|| {
        let what = format!("{flag}: {text:?} is not a time");
        Failure::refused(what, "write it as 300ms, 5s, 2m or 1h30m")
    })
}

fn parse(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text;
    let mut whole = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit())?;
        let (number, after) = rest.split_at(digits);
        let number: u32 = number.parse().ok()?;
        let letters = after.find(|letter: char| letter.is_ascii_digit());
        let (unit, after) = after.split_at(letters.unwrap_or(after.len()));
        let unit = match unit {
            "ms" => Duration::from_millis(1),
            "s" => Duration::from_secs(1),
            "m" => Duration::from_secs(60),
            "h" => Duration::from_secs(3600),
            _ => return None,
        };
        whole = whole.checked_add(unit.checked_mul(number)?)?;
        rest = after;
    }
    (!text.is_empty()).then_some(whole)
}

fn estimators(typed: &Estimators) -> Result<EstimatorSettings, Failure> {
    let authority = typed.scheduler_estimator_ca_file.as_ref();
    let authority = authority.map(|file| read("--scheduler-estimator-ca-file", file));
    let trust = if typed.insecure_skip_estimator_verify {
        Some(Trusted::Anybody)
    } else {
        authority.transpose()?.map(Trusted::SignedBy)
    };
    let identity = match (
        &typed.scheduler_estimator_cert_file,
        &typed.scheduler_estimator_key_file,
    ) {
        (Some(certificate), Some(key)) => Some((
            read("--scheduler-estimator-cert-file", certificate)?,
            read("--scheduler-estimator-key-file", key)?,
        )),
        _ => None,
    };
    let tls = trust.map(|trust| Tls { trust, identity });
    Ok(EstimatorSettings {
        timeout: duration(
            "--scheduler-estimator-timeout",
            &typed.scheduler_estimator_timeout,
        )?,
        namespace: typed.scheduler_estimator_service_namespace.clone(),
        prefix: typed.scheduler_estimator_service_prefix.clone(),
        port: typed.scheduler_estimator_port,
        tls,
        ..EstimatorSettings::default()
    })
}

fn webhooks(file: &Path) -> Result<Vec<WebhookSettings>, Failure> {
    let text = read("--plugin-webhooks", file)?;
    let hint = "see examples/scheduling/webhook";
    let refused = |error: String| Failure::refused(format!("{}: {error}", file.display()), hint);
    let value: Value = serde_saphyr::from_str(&text).map_err(|error| refused(error.to_string()))?;
    webhook::read_all(&value).map_err(|error| refused(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_go_writes_them() {
        let cases = [
            ("300ms", Some(300)),
            ("5s", Some(5_000)),
            ("2m", Some(120_000)),
            ("1h30m", Some(5_400_000)),
            ("0", Some(0)),
            ("", None),
            ("5", None),
            ("s", None),
            ("-5s", None),
            ("5 s", None),
            ("99999999999h", None),
        ];
        for (text, expected) in cases {
            let read = parse(text).map(|time| time.as_millis());
            assert_eq!(read, expected, "{text}");
        }
    }
}
