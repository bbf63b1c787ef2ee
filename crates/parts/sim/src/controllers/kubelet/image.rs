//! Images: what is told when one is there or fetched, and how it goes when there is none.

use object::Value;
use object::time::Time;

use crate::controllers::kubelet::container::Told;
use crate::read;

/// How long a failed pull is shown as such before it is waited for the next.
const SHOWN: i64 = 2;
/// The first wait between two pulls of an image that is not there; the next ones double.
const FIRST_WAIT: i64 = 10;
/// The longest.
const LONGEST_WAIT: i64 = 300;
/// Images are between 10 MB and 250 MB large.
const SMALLEST: u64 = 10_000_000;
const LARGER: u64 = 240_000_000;

/// A container whose image cannot be pulled, at some moment.
pub(crate) struct Stage {
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    /// What is told when this begins.
    pub(crate) told: Vec<Told>,
    pub(crate) until: Time,
}

/// What is told of a container's image that is there.
pub(crate) fn pulled(container: &Value) -> Vec<Told> {
    let image = read::text(container, "image");
    if read::text(container, "imagePullPolicy") != "Always" {
        let message = format!("Container image {image:?} already present on machine");
        return vec![(false, "Pulled", message)];
    }
    let size = image.bytes().fold(SMALLEST, |sum, byte| {
        SMALLEST + (sum.wrapping_mul(31) + u64::from(byte)) % LARGER
    });
    vec![
        (false, "Pulling", format!("Pulling image {image:?}")),
        (
            false,
            "Pulled",
            format!(
                "Successfully pulled image {image:?} in 1s (1s including waiting). Image size: {size} bytes."
            ),
        ),
    ]
}

/// What is to be seen of an image that is not there and has been wanted since a time: a pull that failed, or the wait for
/// the next one.
pub(crate) fn stage(image: &str, since: Time, now: Time) -> Stage {
    let passed = now.seconds_since(since).max(0);
    let (mut begun, mut wait) = (0_i64, FIRST_WAIT);
    while passed >= begun.saturating_add(SHOWN + wait) && wait < LONGEST_WAIT {
        begun = begun.saturating_add(SHOWN + wait);
        wait = wait.saturating_mul(2).min(LONGEST_WAIT);
    }
    // From here on every wait is as long as the one before.
    let round = SHOWN + wait;
    begun = begun.saturating_add((passed - begun) / round * round);
    let after = passed - begun;
    if after < SHOWN {
        let why = format!("rpc error: code = NotFound desc = {image}: not found");
        return Stage {
            reason: "ErrImagePull",
            told: vec![
                (false, "Pulling", format!("Pulling image {image:?}")),
                (
                    true,
                    "Failed",
                    format!("Failed to pull image {image:?}: {why}"),
                ),
                (true, "Failed", "Error: ErrImagePull".to_owned()),
            ],
            message: why,
            until: since.plus_seconds(begun.saturating_add(SHOWN)),
        };
    }
    let message = format!("Back-off pulling image {image:?}");
    Stage {
        reason: "ImagePullBackOff",
        told: vec![
            (false, "BackOff", message.clone()),
            (true, "Failed", "Error: ImagePullBackOff".to_owned()),
        ],
        message,
        until: since.plus_seconds(begun.saturating_add(round)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pulls_that_fail_are_repeated_after_waits_that_double() {
        let at = Time::from_unix_seconds;
        for (second, reason, until) in [
            (0, "ErrImagePull", 2),
            (2, "ImagePullBackOff", 12),
            (12, "ErrImagePull", 14),
            (33, "ImagePullBackOff", 34),
            (34, "ErrImagePull", 36),
            (100_000, "ImagePullBackOff", 0),
        ] {
            let found = stage("i", at(0), at(second));
            assert_eq!(found.reason, reason, "{second}");
            if second < 100_000 {
                assert_eq!(found.until, at(until), "{second}");
            }
            assert!(found.until > at(second));
        }
    }

    #[test]
    fn only_images_that_must_be_pulled_are() {
        for (policy, told) in [
            ("Always", &["Pulling", "Pulled"][..]),
            ("IfNotPresent", &["Pulled"]),
            ("Never", &["Pulled"]),
        ] {
            let container = serde_json::json!({"image": "i:1", "imagePullPolicy": policy});
            let reasons: Vec<&str> = pulled(&container).iter().map(|told| told.1).collect();
            assert_eq!(reasons, told, "{policy}");
        }
    }
}
