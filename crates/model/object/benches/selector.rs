//! How long selectors take to read and to match.
//!
//! `cargo bench -p karavel-object --bench selector`

use std::{collections::BTreeMap, hint::black_box};

use criterion::{Criterion, criterion_group, criterion_main};
use karavel_object::selector::{FieldSelector, Selector};

/// What clients ask for, then what nobody should write.
const SELECTORS: [(&str, &str); 5] = [
    ("everything", ""),
    ("one label", "app=web"),
    (
        "three labels",
        "app.kubernetes.io/name=web,app.kubernetes.io/part-of=shop,tier!=cache",
    ),
    (
        "sets",
        "environment in (production,staging),tier notin (frontend,backend),partition,!canary",
    ),
    (
        "a long set",
        "region in (r01,r02,r03,r04,r05,r06,r07,r08,r09,r10,r11,r12,r13,r14,r15,r16,r17,r18,r19,r20)",
    ),
];

/// The labels of an ordinary object.
const LABELS: [(&str, &str); 8] = [
    ("app", "web"),
    ("app.kubernetes.io/instance", "web-1"),
    ("app.kubernetes.io/managed-by", "someone"),
    ("app.kubernetes.io/name", "web"),
    ("app.kubernetes.io/part-of", "shop"),
    ("environment", "production"),
    ("partition", "p1"),
    ("region", "r17"),
];

fn read(c: &mut Criterion) {
    let mut group = c.benchmark_group("label selector parse");
    for (name, text) in SELECTORS {
        group.bench_function(name, |b| b.iter(|| black_box(text).parse::<Selector>()));
    }
    group.finish();
    c.bench_function("field selector parse", |b| {
        b.iter(|| black_box("metadata.name=web,status.phase!=Running").parse::<FieldSelector>())
    });
}

fn print(c: &mut Criterion) {
    let mut group = c.benchmark_group("label selector print");
    for (name, text) in SELECTORS {
        let selector: Selector = text.parse().expect("a selector");
        group.bench_function(name, |b| b.iter(|| black_box(&selector).to_string()));
    }
    group.finish();
}

fn compare(c: &mut Criterion) {
    let map: BTreeMap<String, String> = LABELS
        .iter()
        .map(|(key, value)| ((*key).into(), (*value).into()))
        .collect();
    let mut group = c.benchmark_group("label selector match");
    for (name, text) in SELECTORS {
        let selector: Selector = text.parse().expect("a selector");
        assert!(
            selector.matches_labels(&map),
            "{text:?} should match, so that every requirement is looked at"
        );
        group.bench_function(format!("{name}, map"), |b| {
            b.iter(|| black_box(&selector).matches_labels(black_box(&map)))
        });
        group.bench_function(format!("{name}, list"), |b| {
            b.iter(|| {
                let labels = black_box(&LABELS);
                black_box(&selector).matches(|key| {
                    labels
                        .iter()
                        .find(|label| label.0 == key)
                        .map(|label| label.1)
                })
            })
        });
    }
    group.finish();
    let selector: FieldSelector = "metadata.name=web,status.phase!=Running"
        .parse()
        .expect("a selector");
    c.bench_function("field selector match", |b| {
        b.iter(|| {
            black_box(&selector).matches(|field| match field {
                "metadata.name" => Some("web"),
                "status.phase" => Some("Pending"),
                _ => None,
            })
        })
    });
}

criterion_group!(benches, read, print, compare);
criterion_main!(benches);
