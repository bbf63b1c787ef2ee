use serde_json::json;

use super::*;

#[test]
fn times_are_read_in_any_offset_and_written_in_utc() {
    let check = |text: &str, time: &str, micro: &str| {
        assert_eq!(text.parse::<Time>().unwrap().to_string(), time, "{text}");
        assert_eq!(
            text.parse::<MicroTime>().unwrap().to_string(),
            micro,
            "{text}"
        );
    };
    check(
        "2006-01-02T15:04:05Z",
        "2006-01-02T15:04:05Z",
        "2006-01-02T15:04:05.000000Z",
    );
    check(
        "2006-01-02T15:04:05+07:00",
        "2006-01-02T08:04:05Z",
        "2006-01-02T08:04:05.000000Z",
    );
    check(
        "2006-01-02T15:04:05-07:30",
        "2006-01-02T22:34:05Z",
        "2006-01-02T22:34:05.000000Z",
    );
    check(
        "2006-01-02T15:04:05.1Z",
        "2006-01-02T15:04:05Z",
        "2006-01-02T15:04:05.100000Z",
    );
    check(
        "2006-01-02T15:04:05.999999999Z",
        "2006-01-02T15:04:05Z",
        "2006-01-02T15:04:05.999999Z",
    );
    check(
        "2006-01-02T15:04:05,25Z",
        "2006-01-02T15:04:05Z",
        "2006-01-02T15:04:05.250000Z",
    );
    check(
        "2024-02-29T23:59:59.5+23:59",
        "2024-02-29T00:00:59Z",
        "2024-02-29T00:00:59.500000Z",
    );
    check(
        "1969-12-31T23:59:59.75Z",
        "1969-12-31T23:59:59Z",
        "1969-12-31T23:59:59.750000Z",
    );
    check(
        "1970-01-01T00:00:00-00:00",
        "1970-01-01T00:00:00Z",
        "1970-01-01T00:00:00.000000Z",
    );
    check(
        "0000-01-01T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "0000-01-01T00:00:00.000000Z",
    );
    check(
        "0001-01-01T00:00:00Z",
        "0001-01-01T00:00:00Z",
        "0001-01-01T00:00:00.000000Z",
    );
    check(
        "9999-12-31T23:59:59.999999Z",
        "9999-12-31T23:59:59Z",
        "9999-12-31T23:59:59.999999Z",
    );
}

#[test]
fn bad_times_say_what_is_wrong() {
    let check = |texts: &[&str], complaint: &str| {
        for text in texts {
            let problem = text.parse::<Time>().unwrap_err().to_string();
            assert!(problem.contains(complaint), "{text}: {problem}");
        }
    };
    check(
        &[
            "",
            "2006-01-02",
            "2006-01-02T15:04:05",
            "2006-01-02t15:04:05Z",
            "2006-01-02T15:04:05z",
            "2006-01-02 15:04:05Z",
            "2006-1-2T15:04:05Z",
            "2006-01-02T5:04:05Z",
            "2006-01-02T15:04Z",
            "2006-01-02T15:04:05.Z",
            "2006-01-02T15:04:05+0700",
            "2006-01-02T15:04:05+07",
            "12006-01-02T15:04:05Z",
            "-2006-01-02T15:04:05Z",
            "2006-01-02T15:04:05ZZ",
            "2006-01-02T15:04:05Z[UTC]",
            " 2006-01-02T15:04:05Z",
            "2006-01-02T15:04:0éZ",
            "2006-01-02T15:04:05+é7:0",
        ],
        "is not written like",
    );
    check(
        &[
            "2006-13-02T15:04:05Z",
            "2006-00-02T15:04:05Z",
            "2006-02-30T15:04:05Z",
            "2023-02-29T15:04:05Z",
            "2006-01-02T24:00:00Z",
            "2006-01-02T15:60:05Z",
            "2006-12-31T23:59:60Z",
            "2006-01-02T15:04:05+24:00",
            "2006-01-02T15:04:05-07:60",
        ],
        "does not exist",
    );
    check(
        &["0000-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01"],
        "not within the years",
    );
}

#[test]
fn arithmetic_stays_within_the_years() {
    let time = |text: &str| text.parse::<Time>().unwrap();
    let noon = time("2024-02-28T12:00:00Z");
    assert_eq!(noon.plus_seconds(86_400), time("2024-02-29T12:00:00Z"));
    assert_eq!(noon.plus_seconds(-86_400).seconds_since(noon), -86_400);
    assert_eq!(noon.plus_seconds(i64::MAX), Time::MAX);
    assert_eq!(noon.plus_seconds(i64::MIN), Time::MIN);
    assert_eq!(noon.since(noon.plus_seconds(-90)).to_string(), "1m30s");
    assert_eq!(Time::MAX.since(Time::MIN), Duration::MAX);
    assert_eq!(Time::MIN.since(Time::MAX), Duration::MIN);
    assert_eq!(Time::MAX.to_string(), "9999-12-31T23:59:59Z");
    assert_eq!(Time::MIN.to_string(), "0000-01-01T00:00:00Z");

    let micro = MicroTime::from(noon);
    let soon = micro.plus("1.5ms".parse().unwrap());
    assert_eq!(soon.to_string(), "2024-02-28T12:00:00.001500Z");
    assert_eq!(soon.since(micro).to_string(), "1.5ms");
    assert_eq!(MicroTime::MAX.plus(Duration::MAX), MicroTime::MAX);
    assert_eq!(MicroTime::MIN.plus(Duration::MIN), MicroTime::MIN);
    assert_eq!(MicroTime::MAX.since(MicroTime::MIN), Duration::MAX);
}

#[test]
fn timestamps_convert_by_cutting_digits() {
    let stamp: Timestamp = "1969-12-31T23:59:58.7654321Z".parse().unwrap();
    assert_eq!(Time::from(stamp).to_string(), "1969-12-31T23:59:58Z");
    assert_eq!(
        MicroTime::from(stamp).to_string(),
        "1969-12-31T23:59:58.765432Z"
    );
    assert_eq!(Time::from(Timestamp::from(Time::MIN)), Time::MIN);
    assert_eq!(Timestamp::from(Time::MAX), Timestamp::MAX);
    assert_eq!(Time::from(Timestamp::MIN), Time::MIN);
    assert_eq!(Timestamp::from(MicroTime::MAX), Timestamp::MAX);
}

#[test]
fn documents_hold_times_as_strings() {
    let time: Time = serde_json::from_value(json!("2006-01-02T15:04:05.5+07:00")).unwrap();
    assert_eq!(
        serde_json::to_value(time).unwrap(),
        json!("2006-01-02T08:04:05Z")
    );
    let micro: MicroTime = serde_json::from_value(json!("2006-01-02T15:04:05.5Z")).unwrap();
    assert_eq!(
        serde_json::to_value(micro).unwrap(),
        json!("2006-01-02T15:04:05.500000Z")
    );
    assert_eq!(
        serde_json::from_value::<Option<Time>>(json!(null)).unwrap(),
        None
    );
    for wrong in [
        json!(1136214245),
        json!(null),
        json!("yesterday"),
        json!({}),
    ] {
        assert!(
            serde_json::from_value::<Time>(wrong.clone()).is_err(),
            "{wrong}"
        );
    }
}

proptest::proptest! {
    #[test]
    fn every_second_survives_the_trip_through_text(seconds in FIRST_SECOND..=LAST_SECOND, micros in 0..MICROS_PER_SECOND) {
        let time = Time::from_unix_seconds(seconds);
        proptest::prop_assert_eq!(time.to_string().parse::<Time>(), Ok(time));
        let micro = MicroTime::from_unix_micros(seconds * MICROS_PER_SECOND + micros);
        proptest::prop_assert_eq!(micro.to_string().parse::<MicroTime>(), Ok(micro));
        proptest::prop_assert_eq!(micro.to_time(), time);
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}[.,Z+:0-9-]{0,12}|.{0,40}") {
        if let Ok(time) = text.parse::<Time>() {
            proptest::prop_assert_eq!(time.to_string().parse::<Time>(), Ok(time));
        }
    }
}
