//! How old something is, in the few characters kubectl takes for it.

use object::time::Time;

/// The age of something made at a time written down as text.
pub(crate) fn of(created: &str, now: Time) -> String {
    created.parse::<Time>().map_or_else(
        |_| "<unknown>".to_owned(),
        |created| short(now.seconds_since(created)),
    )
}

/// Two units at most, and only while the second one matters.
pub(crate) fn short(seconds: i64) -> String {
    if seconds < 0 {
        return "0s".to_owned();
    }
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let years = days / 365;
    let with = |large: String, rest: i64, unit: &str| {
        if rest == 0 {
            large
        } else {
            format!("{large}{rest}{unit}")
        }
    };
    match () {
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 => with(format!("{minutes}m"), seconds % 60, "s"),
        () if minutes < 180 => format!("{minutes}m"),
        () if hours < 8 => with(format!("{hours}h"), minutes % 60, "m"),
        () if hours < 48 => format!("{hours}h"),
        () if hours < 24 * 8 => with(format!("{days}d"), hours % 24, "h"),
        () if days < 365 * 2 => format!("{days}d"),
        () if days < 365 * 8 => with(format!("{years}y"), days % 365, "d"),
        () => format!("{years}y"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_read_as_kubectl_writes_them() {
        for (seconds, text) in [
            (-5, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (135, "2m15s"),
            (600, "10m"),
            (3600, "60m"),
            (10_800, "3h"),
            (11_700, "3h15m"),
            (28_800, "8h"),
            (172_800, "2d"),
            (176_400, "2d1h"),
            (691_200, "8d"),
            (63_072_000, "2y"),
            (63_158_400, "2y1d"),
            (252_288_000, "8y"),
        ] {
            assert_eq!(short(seconds), text);
        }
    }
}
