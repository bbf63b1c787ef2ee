use serde_json::json;

use super::*;

#[test]
fn durations_are_read_and_written_as_go_does() {
    let check = |text: &str, nanos: i64, canonical: &str| {
        let duration: Duration = text
            .parse()
            .unwrap_or_else(|problem| panic!("{text}: {problem}"));
        assert_eq!(duration.nanos(), nanos, "{text}");
        assert_eq!(duration.to_string(), canonical, "{text}");
        assert_eq!(canonical.parse(), Ok(duration), "{text}");
    };
    check("0", 0, "0s");
    check("-0", 0, "0s");
    check("+0", 0, "0s");
    check("0s", 0, "0s");
    check("0h0.0m", 0, "0s");
    check("1ns", 1, "1ns");
    check("999ns", 999, "999ns");
    check("1us", 1_000, "1µs");
    check("1\u{b5}s", 1_000, "1µs");
    check("1\u{3bc}s", 1_000, "1µs");
    check("1.1us", 1_100, "1.1µs");
    check("1500us", 1_500_000, "1.5ms");
    check("2.2ms", 2_200_000, "2.2ms");
    check("999.999999ms", 999_999_999, "999.999999ms");
    check("5s", 5_000_000_000, "5s");
    check("5.s", 5_000_000_000, "5s");
    check(".5s", 500_000_000, "500ms");
    check("1.000000001s", 1_000_000_001, "1.000000001s");
    check("60s", 60_000_000_000, "1m0s");
    check("+1m", 60_000_000_000, "1m0s");
    check("1m0.5s", 60_500_000_000, "1m0.5s");
    check("3600s", 3_600_000_000_000, "1h0m0s");
    check("1h0.003s", 3_600_003_000_000, "1h0m0.003s");
    check("-1.5h", -5_400_000_000_000, "-1h30m0s");
    check(
        "1h15m30.918273645s",
        4_530_918_273_645,
        "1h15m30.918273645s",
    );
    check("1s1h1s", 3_602_000_000_000, "1h0m2s");
    check("0.100000000000000000000h", 360_000_000_000, "6m0s");
    check(
        "0.3333333333333333333h",
        1_199_999_999_999,
        "19m59.999999999s",
    );
    check("0.9999999999ns", 0, "0s");
    check(
        "2562047h47m16.854775807s",
        i64::MAX,
        "2562047h47m16.854775807s",
    );
    check(
        "-2562047h47m16.854775808s",
        i64::MIN,
        "-2562047h47m16.854775808s",
    );
    check(
        "9223372036854775807ns",
        i64::MAX,
        "2562047h47m16.854775807s",
    );
    check(
        "-9223372036854775808ns",
        i64::MIN,
        "-2562047h47m16.854775808s",
    );
    check("0000000000000000000000000000001s", 1_000_000_000, "1s");
}

#[test]
fn bad_durations_say_what_is_wrong() {
    let check = |text: &str, complaint: &str| {
        assert_eq!(text.parse::<Duration>().unwrap_err().to_string(), complaint);
    };
    check("", "a duration must not be empty");
    check("-", "a duration must not be empty");
    check(
        "3",
        "duration \"3\" lacks a unit after a number; there are ns us ms s m h",
    );
    check(
        "1h3",
        "duration \"1h3\" lacks a unit after a number; there are ns us ms s m h",
    );
    check(
        "00",
        "duration \"00\" lacks a unit after a number; there are ns us ms s m h",
    );
    check("s", "duration \"s\" lacks a number before \"s\"");
    check(".s", "duration \".s\" lacks a number before \".s\"");
    check("--1s", "duration \"--1s\" lacks a number before \"-1s\"");
    check(" 1s", "duration \" 1s\" lacks a number before \" 1s\"");
    check(
        "1s ",
        "duration \"1s \" has the unknown unit \"s \"; there are ns us ms s m h",
    );
    check(
        "1d",
        "duration \"1d\" has the unknown unit \"d\"; there are ns us ms s m h",
    );
    check(
        "1S",
        "duration \"1S\" has the unknown unit \"S\"; there are ns us ms s m h",
    );
    check(
        "1h-1m",
        "duration \"1h-1m\" has the unknown unit \"h-\"; there are ns us ms s m h",
    );
    check(
        "1.5.5s",
        "duration \"1.5.5s\" lacks a unit after a number; there are ns us ms s m h",
    );
    for text in [
        "9223372036854775808ns",
        "-9223372036854775809ns",
        "2562047h47m16.854775808s",
        "2562048h",
        "2562047.999h",
        "99999999999999999999ns",
        "9223372036s9223372036s",
    ] {
        check(
            text,
            &format!("duration \"{text}\" is longer than 292 years"),
        );
    }
}

#[test]
fn conversions_keep_within_range() {
    assert_eq!(Duration::from_seconds(i64::MAX), Duration::MAX);
    assert_eq!(Duration::from_seconds(-3).seconds(), -3);
    assert!(Duration::from_seconds(-3).is_negative());
    assert_eq!(
        Duration::from_seconds(-3).to_wait(),
        std::time::Duration::ZERO
    );
    assert_eq!(
        Duration::from_seconds(3).to_wait(),
        std::time::Duration::from_secs(3)
    );
    assert_eq!(
        std::time::Duration::from_millis(1).try_into(),
        Ok(Duration::from_nanos(1_000_000))
    );
    assert!(Duration::try_from(std::time::Duration::MAX).is_err());
}

#[test]
fn documents_hold_durations_as_strings() {
    let duration: Duration = serde_json::from_value(json!("90s")).unwrap();
    assert_eq!(serde_json::to_value(duration).unwrap(), json!("1m30s"));
    for wrong in [json!(90), json!(null), json!("90")] {
        assert!(
            serde_json::from_value::<Duration>(wrong.clone()).is_err(),
            "{wrong}"
        );
    }
}

proptest::proptest! {
    #[test]
    fn every_duration_survives_the_trip_through_text(nanos: i64, shift in 0_u32..64) {
        let duration = Duration::from_nanos(nanos >> shift);
        proptest::prop_assert_eq!(duration.to_string().parse::<Duration>(), Ok(duration));
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "[-+]?([0-9]{0,25}(\\.[0-9]{0,25})?(ns|us|µs|ms|s|m|h)?){0,4}|.{0,30}") {
        if let Ok(duration) = text.parse::<Duration>() {
            proptest::prop_assert_eq!(duration.to_string().parse::<Duration>(), Ok(duration));
        }
    }
}
