//! From what was typed about members to the settings of the parts that face them.

use std::time::Duration;

use api::policy;
use assembly::plane::Settings;
use cli::Failure;
use controllers::Eviction;
use member::namespaces::Skipped;

use crate::arguments::{self, Care, PurgeMode};
use crate::scheduling::duration;

/// How long a worker rests that is to take nothing off. Upstream: the same.
const NEXT_TO_NEVER: Duration = Duration::from_secs(30 * 60);

/// Puts what was typed into the settings of all parts it concerns.
pub(crate) fn settle(typed: &Care, settings: &mut Settings) -> Result<(), Failure> {
    let rhythm = &mut settings.fleet.rhythm;
    rhythm.period = positive(
        "--cluster-status-update-frequency",
        &typed.cluster_status_update_frequency,
    )?;
    rhythm.thresholds.success = duration(
        "--cluster-success-threshold",
        &typed.cluster_success_threshold,
    )?;
    rhythm.thresholds.failure = duration(
        "--cluster-failure-threshold",
        &typed.cluster_failure_threshold,
    )?;
    settings.fleet.counts_room = typed.enable_cluster_resource_modeling;
    settings.fleet.workers = usize::from(typed.concurrent_work_syncs);
    let grace = &mut settings.grace;
    positive("--cluster-monitor-period", &typed.cluster_monitor_period)?;
    grace.running = positive(
        "--cluster-monitor-grace-period",
        &typed.cluster_monitor_grace_period,
    )?;
    grace.startup = positive(
        "--cluster-startup-grace-period",
        &typed.cluster_startup_grace_period,
    )?;
    skip(typed, settings)?;
    settings.controllers.eviction = eviction(&typed.eviction)?;
    settings.allows_no_execute_policies = typed.eviction.allow_no_execute_taint_policy;
    Ok(())
}

/// What stays in the control plane.
fn skip(typed: &Care, settings: &mut Settings) -> Result<(), Failure> {
    let namespaces = || {
        let all = typed.skipped_propagating_namespaces.iter();
        all.map(|entry| entry.trim())
            .filter(|entry| !entry.is_empty())
    };
    settings.controllers.exemptions =
        controllers::Exemptions::parse(&typed.skipped_propagating_apis, namespaces()).map_err(
            |error| {
                let hint = "correct --skipped-propagating-apis or --skipped-propagating-namespaces";
                Failure::refused(telemetry::chain(&error).to_string(), hint)
            },
        )?;
    settings.skipped = Skipped::new(namespaces()).map_err(|error| {
        Failure::refused(
            format!("cannot read a skipped namespace: {error}"),
            "correct --skipped-propagating-namespaces",
        )
    })?;
    Ok(())
}

fn eviction(typed: &arguments::Eviction) -> Result<Eviction, Failure> {
    let rate = typed.resource_eviction_rate;
    if !rate.is_finite() || rate < 0.0 {
        return Err(Failure::refused(
            format!("--resource-eviction-rate: {rate} is not a rate"),
            "give a number that is not negative, such as 0.5",
        ));
    }
    let rest = if rate == 0.0 {
        NEXT_TO_NEVER
    } else {
        Duration::try_from_secs_f64(1.0 / rate)
            .map_or(NEXT_TO_NEVER, |rest| rest.min(NEXT_TO_NEVER))
    };
    let timeout = &typed.graceful_eviction_timeout;
    Ok(Eviction {
        grace: duration("--graceful-eviction-timeout", timeout)?,
        heeds_taints: typed.enable_taint_manager && typed.enable_no_execute_taint_eviction,
        purge_mode: match typed.no_execute_taint_eviction_purge_mode {
            PurgeMode::Gracefully => policy::PurgeMode::Gracefully,
            PurgeMode::Directly => policy::PurgeMode::Directly,
        },
        rest,
    })
}

/// A time that is not none at all.
fn positive(flag: &str, text: &str) -> Result<Duration, Failure> {
    let time = duration(flag, text)?;
    if time.is_zero() {
        let what = format!("{flag}: must be longer than nothing");
        return Err(Failure::refused(what, "write it as 300ms, 5s, 2m or 1h30m"));
    }
    Ok(time)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::arguments::{Arguments, Command};

    fn settled(flags: &str) -> Result<Settings, String> {
        let words = format!("karavel server --data-dir d {flags}");
        let typed = Arguments::try_parse_from(words.split_whitespace())
            .map_err(|error| error.to_string())?;
        let Command::Server(typed) = typed.command else {
            panic!("another command");
        };
        let mut settings = Settings::default();
        settle(&typed.care, &mut settings).map_err(|failure| failure.to_string())?;
        Ok(settings)
    }

    #[test]
    fn who_says_nothing_gets_what_the_parts_have_by_themselves() {
        let shown = |settings: &Settings| {
            format!(
                "{:?} {:?} {:?} {:?} {} {}",
                settings.fleet,
                settings.grace,
                settings.controllers.eviction,
                settings.controllers.exemptions,
                settings.allows_no_execute_policies,
                settings.skipped.contains("kube-x"),
            )
        };
        let settings = settled("").unwrap();
        assert_eq!(shown(&settings), shown(&Settings::default()));
    }

    #[test]
    fn flags_reach_the_parts_they_are_for() {
        let settings = settled(
            "--cluster-status-update-frequency 3s --cluster-failure-threshold=1m --cluster-success-threshold 0 \
             --cluster-monitor-period 1s --cluster-monitor-grace-period 2s --cluster-startup-grace-period 3s \
             --enable-cluster-resource-modeling=false --concurrent-work-syncs 2 \
             --skipped-propagating-namespaces kube-.*,team-[ab] --skipped-propagating-apis apps/v1/Deployment \
             --enable-no-execute-taint-eviction --no-execute-taint-eviction-purge-mode Directly \
             --allow-no-execute-taint-policy=true --resource-eviction-rate 4 --graceful-eviction-timeout 90s",
        )
        .unwrap();
        let seconds = Duration::from_secs;
        let rhythm = settings.fleet.rhythm;
        assert_eq!(rhythm.period, seconds(3));
        assert_eq!(rhythm.thresholds.failure, seconds(60));
        assert_eq!(rhythm.thresholds.success, seconds(0));
        let grace = settings.grace;
        assert_eq!([grace.running, grace.startup], [seconds(2), seconds(3)]);
        assert!(!settings.fleet.counts_room);
        assert_eq!(settings.fleet.workers, 2);
        assert!(settings.skipped.contains("team-a") && !settings.skipped.contains("team-c"));
        let exemptions = &settings.controllers.exemptions;
        assert!(exemptions.check_namespace("team-b").is_some());
        let deployment = object::GroupVersionKind::new("apps", "v1", "Deployment");
        assert!(exemptions.skips_kind(&deployment));
        let eviction = settings.controllers.eviction;
        assert!(eviction.heeds_taints && settings.allows_no_execute_policies);
        assert_eq!(eviction.purge_mode, policy::PurgeMode::Directly);
        assert_eq!(eviction.rest, Duration::from_millis(250));
        assert_eq!(eviction.grace, seconds(90));
        let off = settled("--enable-no-execute-taint-eviction --enable-taint-manager=false");
        assert!(!off.unwrap().controllers.eviction.heeds_taints);
        let never = settled("--resource-eviction-rate 0").unwrap();
        assert_eq!(never.controllers.eviction.rest, seconds(1800));
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_its_name() {
        for flag in [
            "--cluster-status-update-frequency=0s",
            "--cluster-monitor-period=0",
            "--cluster-failure-threshold=soon",
            "--resource-eviction-rate=-1",
            "--resource-eviction-rate=NaN",
            "--no-execute-taint-eviction-purge-mode=Never",
            "--skipped-propagating-namespaces=[",
            "--skipped-propagating-apis=a/b/c/d",
            "--concurrent-work-syncs=0",
            // Removed by the reference, and so unknown here.
            "--failover-eviction-timeout=1m",
            "--cluster-lease-duration=1m",
        ] {
            assert!(settled(flag).is_err(), "{flag}");
        }
    }
}
