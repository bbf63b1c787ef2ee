//! How long quantities take to read, print, compare and add up.
//!
//! `cargo bench -p karavel-object --bench quantity`

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use karavel_object::quantity::{Quantity, Scale};

/// What pods ask for, then what nobody should write.
const TEXTS: [&str; 8] = [
    "100m",
    "4",
    "1500m",
    "4Gi",
    "128Gi",
    "0.5Gi",
    "1e3",
    "123456789012345678901234567890.123456789123e-12",
];

fn read(c: &mut Criterion) {
    let mut group = c.benchmark_group("parse");
    for text in TEXTS {
        group.bench_function(text, |b| b.iter(|| black_box(text).parse::<Quantity>()));
    }
    group.finish();
}

fn print(c: &mut Criterion) {
    let mut group = c.benchmark_group("print");
    for text in TEXTS {
        let quantity: Quantity = text.parse().expect("a quantity");
        group.bench_function(text, |b| {
            b.iter(|| black_box(quantity).canonical_text().len())
        });
    }
    let quantity: Quantity = "4Gi".parse().expect("a quantity");
    group.bench_function("4Gi into a String", |b| {
        b.iter(|| black_box(quantity).to_string())
    });
    group.finish();
}

fn calculate(c: &mut Criterion) {
    let mut group = c.benchmark_group("arithmetic");
    let a: Quantity = "4Gi".parse().expect("a quantity");
    let b: Quantity = "1500m".parse().expect("a quantity");
    group.bench_function("compare", |x| x.iter(|| black_box(a) < black_box(b)));
    group.bench_function("add", |x| x.iter(|| black_box(a) + black_box(b)));
    group.bench_function("subtract", |x| x.iter(|| black_box(a) - black_box(b)));
    group.bench_function("multiply", |x| x.iter(|| black_box(a) * black_box(7)));
    group.bench_function("milli value", |x| x.iter(|| black_box(b).milli_value()));
    group.bench_function("value of 128Gi", |x| x.iter(|| (black_box(a) * 32).value()));
    group.bench_function("round up to kilo", |x| {
        x.iter(|| black_box(a).round_up(Scale::Kilo))
    });
    let requests = vec![b; 1_000];
    group.bench_function("sum of 1000", |x| {
        x.iter(|| black_box(&requests).iter().sum::<Quantity>())
    });
    group.finish();
}

fn document(c: &mut Criterion) {
    let mut group = c.benchmark_group("json");
    group.bench_function("read 4Gi", |b| {
        b.iter(|| serde_json::from_str::<Quantity>(black_box("\"4Gi\"")));
    });
    let quantity: Quantity = "4Gi".parse().expect("a quantity");
    let mut buffer = Vec::with_capacity(64);
    group.bench_function("write 4Gi", |b| {
        b.iter(|| {
            buffer.clear();
            serde_json::to_writer(&mut buffer, &black_box(quantity)).expect("a Vec takes all")
        });
    });
    group.finish();
}

criterion_group!(benches, read, print, calculate, document);
criterion_main!(benches);
