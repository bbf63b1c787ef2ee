//! Static weights.

use super::check;

#[test]
fn static_weights_share_replicas_by_webster() {
    check(&[
        (
            "clusters m1 m2 m3; replicas 10; mode static m1=1 m2=1 m3=1",
            "m1=4 m2=3 m3=3",
        ),
        (
            "clusters m1 m2 m3; replicas 10; mode static m1=1 m2=1 m3=1; uid a",
            "m1=4 m2=3 m3=3",
        ),
        (
            "clusters m1 m2 m3; replicas 10; mode static m1=1 m2=1 m3=1; uid b",
            "m1=3 m2=3 m3=4",
        ),
        (
            "clusters m1 m2; replicas 9; mode static m1=1 m2=3",
            "m1=2 m2=7",
        ),
        (
            "clusters m1 m2 m3; replicas 13; mode static m1=3 m2=2 m3=1",
            "m1=7 m2=4 m3=2",
        ),
        ("clusters m1 m2; replicas 2; mode static m1=1 m2=5", "m2=2"),
        (
            "clusters m1 m2; replicas 3; mode static m1=1 m2=5",
            "m1=1 m2=2",
        ),
        (
            "clusters m1 m2; replicas 3; mode static m1=1 m2=5; uid b",
            "m1=1 m2=2",
        ),
        (
            "clusters m1 m2 m3 m4; replicas 7; mode static m1=2 m2=1 m3=1 m4=1",
            "m1=3 m2=2 m3=1 m4=1",
        ),
        (
            "clusters m1 m2 m3 m4; replicas 8; mode static m1=2 m2=1 m3=1 m4=1",
            "m1=3 m2=2 m3=2 m4=1",
        ),
        (
            "clusters m1 m2 m3 m4; replicas 9; mode static m1=2 m2=1 m3=1 m4=1",
            "m1=3 m2=2 m3=2 m4=2",
        ),
        ("clusters m1 m2; replicas 1; mode static m1=1 m2=1", "m1=1"),
        (
            "clusters m1 m2; replicas 1; mode static m1=1 m2=1; uid b",
            "m2=1",
        ),
    ]);
}

#[test]
fn seats_are_handed_out_one_after_another() {
    let expected = [
        "m1=1",
        "m1=1 m2=1",
        "m1=1 m2=1 m3=1",
        "m1=2 m2=1 m3=1",
        "m1=2 m2=2 m3=1",
        "m1=3 m2=2 m3=1",
    ];
    for (replicas, expected) in (1..).zip(expected) {
        let story = format!("clusters m1 m2 m3; replicas {replicas}; mode static m1=3 m2=2 m3=1");
        assert_eq!(super::decide(&story), expected, "{story}");
    }
    check(&[
        (
            "clusters m1 m2 m3; replicas 7; mode static m1=3 m2=2 m3=1",
            "m1=4 m2=2 m3=1",
        ),
        (
            "clusters m1 m2 m3; replicas 8; mode static m1=3 m2=2 m3=1",
            "m1=4 m2=3 m3=1",
        ),
    ]);
}

#[test]
fn weights_that_match_nothing_weigh_all_alike() {
    check(&[
        (
            "clusters m1 m2 m3; replicas 7; mode static other=5",
            "m1=3 m2=2 m3=2",
        ),
        ("clusters m1 m2 m3; replicas 7; mode even", "m1=3 m2=2 m3=2"),
        (
            "clusters m1 m2 m3; replicas 7; mode static-empty",
            "m1=3 m2=2 m3=2",
        ),
    ]);
}

#[test]
fn static_weights_ignore_what_runs_and_what_fits() {
    check(&[
        (
            "clusters m1 m2 m3; replicas 6; now m1=3 m2=3; mode static m1=1 m2=1 m3=1",
            "m1=2 m2=2 m3=2",
        ),
        (
            "clusters m1=0 m2=0; replicas 6; mode static m1=1 m2=2",
            "m1=2 m2=4",
        ),
        (
            "clusters m1 m2; replicas 6; mode static m1=1 m1=3 m2=1",
            "m1=4 m2=2",
        ),
    ]);
}

#[test]
fn the_largest_numbers_there_are_do_not_wrap() {
    check(&[
        (
            "clusters m1 m2; replicas 2147483647; mode static m1=9223372036854775807 m2=9223372036854775807",
            "m1=1073741824 m2=1073741823",
        ),
        (
            "clusters m1 m2; replicas 2147483647; mode static m1=9223372036854775807 m2=1",
            "m1=2147483647",
        ),
        (
            "clusters m1 m2; replicas 2147483647; mode duplicated",
            "m1=2147483647 m2=2147483647",
        ),
    ]);
}
