//! Generated histories, step by step beside the model.

use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use store::{
    Changes, CommitError, CompactError, Expect, Key, Op, Query, ReadError, RenewError, Revision,
    Store, Txn, Watch, WatchError,
};

use super::model::Model;
use super::{Subject, drain, soon, try_drain};

/// Keys that are prefixes of each other, and one where a prefix has no end.
const KEYS: [&[u8]; 8] = [
    b"a",
    b"a/1",
    b"a/2",
    b"a/2/x",
    b"b",
    b"b/1",
    b"\xff",
    b"\xff\xff",
];
const PREFIXES: [&[u8]; 5] = [b"", b"a", b"a/", b"b/1", b"\xff"];

#[derive(Clone, Debug)]
enum Step {
    Commit {
        checks: Vec<(usize, Guess)>,
        ops: Vec<(usize, Change)>,
    },
    Get {
        key: usize,
        back: usize,
    },
    Range {
        span: (usize, usize),
        limit: usize,
        back: usize,
        between: bool,
    },
    Compact {
        back: usize,
    },
    Watch {
        prefix: usize,
        back: usize,
    },
    Read {
        watch: usize,
    },
    Renew {
        key: usize,
    },
    Pass {
        ticks: u32,
    },
    Reopen,
}

#[derive(Clone, Debug)]
enum Guess {
    Absent,
    Exists,
    /// The revision it really has.
    Right,
    /// Some revision it once may have had.
    Back(usize),
}

#[derive(Clone, Debug)]
enum Change {
    Put(Vec<u8>),
    PutFor(Vec<u8>, u32),
    Delete,
}

fn step(with_time: bool) -> impl Strategy<Value = Step> {
    let guess = prop_oneof![
        1 => Just(Guess::Absent),
        1 => Just(Guess::Exists),
        3 => Just(Guess::Right),
        1 => (0..6usize).prop_map(Guess::Back),
    ];
    let value = || prop::collection::vec(any::<u8>(), 0..40);
    let lifetime = if with_time { 2 } else { 0 };
    let change = prop_oneof![
        4 => value().prop_map(Change::Put),
        lifetime => (value(), 1..6u32).prop_map(|(value, ticks)| Change::PutFor(value, ticks)),
        2 => Just(Change::Delete),
    ];
    let keys = 0..KEYS.len();
    prop_oneof![
        12 => (
            prop::collection::vec((keys.clone(), guess), 0..3),
            prop::collection::btree_map(keys.clone(), change, 0..4),
        )
            .prop_map(|(checks, ops)| Step::Commit { checks, ops: ops.into_iter().collect() }),
        3 => (keys.clone(), 0..12usize).prop_map(|(key, back)| Step::Get { key, back }),
        5 => ((keys.clone(), keys.clone()), 0..5usize, 0..12usize, any::<bool>())
            .prop_map(|(span, limit, back, between)| Step::Range { span, limit, back, between }),
        1 => (0..8usize).prop_map(|back| Step::Compact { back }),
        2 => (0..PREFIXES.len(), 0..12usize).prop_map(|(prefix, back)| Step::Watch { prefix, back }),
        2 => (0..4usize).prop_map(|watch| Step::Read { watch }),
        lifetime => keys.prop_map(|key| Step::Renew { key }),
        lifetime => (1..4u32).prop_map(|ticks| Step::Pass { ticks }),
        1 => Just(Step::Reopen),
    ]
}

/// Runs generated histories, each on a new subject.
pub(crate) fn random_histories<S: Subject>(cases: u32, subject: impl Fn() -> S) {
    let with_time = subject().has_cheap_time();
    let steps = prop::collection::vec(step(with_time), 1..60);
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let result = TestRunner::new(config).run(&steps, |steps| {
        runtime.block_on(async {
            let mut run = Run::begin(subject()).await;
            for step in steps {
                run.step(step).await;
            }
            run.finish().await;
        });
        Ok(())
    });
    if let Err(failure) = result {
        panic!("{failure}");
    }
}

struct Run<S> {
    subject: S,
    store: Store,
    model: Model,
    watches: Vec<Open>,
}

/// A watch and what it is for.
struct Open {
    watch: Watch,
    prefix: &'static [u8],
    after: Revision,
    seen: Vec<Changes>,
}

/// Leaves out of what is expected which values a compaction has made unknowable.
fn forgive_lost_previous(expected: &mut [Changes], seen: &[Changes]) {
    for (expected, seen) in expected.iter_mut().zip(seen) {
        let forgiven = expected.events.iter().zip(seen.events.iter());
        expected.events = forgiven
            .map(|(expected, seen)| {
                let mut event = expected.clone();
                event.previous = event.previous.filter(|_| seen.previous.is_some());
                event
            })
            .chain(expected.events.iter().skip(seen.events.len()).cloned())
            .collect();
    }
}

fn key_at(index: usize) -> Key {
    Key::new(KEYS[index]).unwrap()
}

impl<S: Subject> Run<S> {
    async fn begin(subject: S) -> Self {
        let store = subject.open().await;
        let model = Model::new(store.revision().await.unwrap());
        Self {
            subject,
            store,
            model,
            watches: Vec::new(),
        }
    }

    async fn step(&mut self, step: Step) {
        match step {
            Step::Commit { checks, ops } => self.commit(&checks, &ops).await,
            Step::Get { key, back } => self.get(&key_at(key), self.model.back(back)).await,
            Step::Range {
                span,
                limit,
                back,
                between,
            } => {
                let query = if between {
                    Query::between(KEYS[span.0], KEYS[span.1])
                } else {
                    Query::prefix(PREFIXES[span.0 % PREFIXES.len()])
                };
                let query = query.limit(limit).counting();
                self.range(query.clone()).await;
                self.range(query.at(self.model.back(back))).await;
            }
            Step::Compact { back } => self.compact(self.model.back(back)).await,
            Step::Watch { prefix, back } => {
                self.watch(PREFIXES[prefix], self.model.back(back)).await
            }
            Step::Read { watch } => self.read(watch).await,
            Step::Renew { key } => self.renew(&key_at(key)).await,
            Step::Pass { ticks } => self.pass(self.subject.tick() * ticks).await,
            Step::Reopen if !self.subject.outlives_closing() => {}
            Step::Reopen => {
                self.store.close().await;
                self.watches.clear();
                self.store = self.subject.open().await;
            }
        }
    }

    async fn commit(&mut self, checks: &[(usize, Guess)], ops: &[(usize, Change)]) {
        let txn = self.txn(checks, ops);
        let before = self.model.revision();
        let conflict = self.model.conflict(&txn.checks);
        match (
            soon("a commit", self.store.commit(txn.clone())).await,
            conflict,
        ) {
            (Err(CommitError::Conflict(conflict)), Some(index)) => {
                assert_eq!(conflict.index, index);
                assert_eq!(conflict.check, txn.checks[index]);
                assert_eq!(
                    conflict.current.as_ref(),
                    self.model.current().get(&txn.checks[index].key)
                );
            }
            (Ok(committed), None) => {
                let previous: Vec<_> = txn
                    .ops
                    .iter()
                    .map(|op| self.model.current().get(op.key()).cloned())
                    .collect();
                if self.model.changes_something(&txn) {
                    assert!(committed.revision > before, "{committed:?}");
                    self.model.apply(committed.revision, &txn.ops);
                } else {
                    assert!(committed.revision >= before, "{committed:?}");
                }
                let current: Vec<_> = txn
                    .ops
                    .iter()
                    .map(|op| self.model.current().get(op.key()).cloned())
                    .collect();
                let outcomes: (Vec<_>, Vec<_>) = committed
                    .outcomes
                    .into_iter()
                    .map(|outcome| (outcome.previous, outcome.current))
                    .unzip();
                assert_eq!(outcomes, (previous, current));
            }
            (result, conflict) => panic!("{result:?}, while the model says {conflict:?}"),
        }
    }

    fn txn(&self, checks: &[(usize, Guess)], ops: &[(usize, Change)]) -> Txn {
        let txn = checks.iter().fold(Txn::new(), |txn, (index, guess)| {
            let key = key_at(*index);
            let expect = match guess {
                Guess::Absent => Expect::Absent,
                Guess::Exists => Expect::Exists,
                Guess::Back(steps) => Expect::ModifiedAt(self.model.back(*steps)),
                Guess::Right => match self.model.current().get(&key) {
                    Some(entry) => Expect::ModifiedAt(entry.modified),
                    None => Expect::Absent,
                },
            };
            txn.check(key, expect)
        });
        ops.iter().fold(txn, |txn, (index, change)| {
            let key = key_at(*index);
            match change {
                Change::Put(value) => txn.put(key, value.clone()),
                Change::PutFor(value, ticks) => {
                    txn.put_for(key, value.clone(), self.subject.tick() * *ticks)
                }
                Change::Delete => txn.delete(key),
            }
        })
    }

    async fn get(&mut self, key: &Key, at: Revision) {
        let now = self.store.get(key, None).await.unwrap();
        assert_eq!(now.as_ref(), self.model.current().get(key));
        match self.store.get(key, Some(at)).await {
            Ok(then) => {
                assert!(at >= self.model.compacted);
                assert_eq!(then.as_ref(), self.model.state(at).get(key));
            }
            Err(ReadError::Compacted { .. }) => assert!(at < self.model.compacted),
            Err(other) => panic!("{other}"),
        }
        let far = Revision(self.model.revision().0 + 1_000_000);
        let future = self.store.get(key, Some(far)).await;
        assert!(
            matches!(future, Err(ReadError::Future { .. })),
            "{future:?}"
        );
    }

    async fn range(&mut self, query: Query) {
        match self.store.range(&query).await {
            Ok(page) => {
                assert!(query.at.is_none_or(|at| at >= self.model.compacted));
                let (entries, left) = self.model.range(&query);
                assert_eq!(page.entries, entries);
                assert_eq!(page.more, left > 0);
                assert_eq!(page.remaining, Some(left as u64));
                match query.at {
                    Some(at) => assert_eq!(page.revision, at),
                    None => assert!(page.revision >= self.model.revision()),
                }
            }
            Err(ReadError::Compacted { .. }) => assert!(query.at.unwrap() < self.model.compacted),
            Err(other) => panic!("{other}"),
        }
    }

    async fn compact(&mut self, revision: Revision) {
        self.store.compact(revision).await.unwrap();
        self.model.compacted = self.model.compacted.max(revision);
        let far = Revision(self.model.revision().0 + 1_000_000);
        let future = self.store.compact(far).await;
        assert!(
            matches!(future, Err(CompactError::Future { .. })),
            "{future:?}"
        );
    }

    async fn watch(&mut self, prefix: &'static [u8], after: Revision) {
        match self.store.watch(prefix, after).await {
            Ok(watch) => {
                assert!(
                    after.next() >= self.model.compacted,
                    "a compacted revision is watched"
                );
                if after >= self.model.compacted && self.watches.len() < 4 {
                    self.watches.push(Open {
                        watch,
                        prefix,
                        after,
                        seen: Vec::new(),
                    });
                }
            }
            Err(WatchError::Compacted { .. }) => assert!(after < self.model.compacted),
            Err(other) => panic!("{other}"),
        }
    }

    async fn read(&mut self, index: usize) {
        let Some(mut open) = (index < self.watches.len()).then(|| self.watches.remove(index))
        else {
            return;
        };
        let ended = try_drain(&mut open.watch, self.model.revision(), &mut open.seen).await;
        let mut expected = self.model.changes(open.prefix, open.after);
        let may_suffer = !self.subject.spares_watches() && open.after < self.model.compacted;
        if may_suffer {
            forgive_lost_previous(&mut expected, &open.seen);
        }
        match ended {
            Ok(()) => {
                assert_eq!(open.seen, expected);
                self.watches.insert(index, open);
            }
            Err(WatchError::FellBehind { .. } | WatchError::Compacted { .. }) if may_suffer => {
                expected.truncate(open.seen.len());
                assert_eq!(open.seen, expected);
            }
            Err(error) => panic!("{error}"),
        }
    }

    async fn renew(&mut self, key: &Key) {
        let exists = self.model.current().contains_key(key);
        match (self.store.renew(key).await, self.model.renew(key)) {
            (Ok(()), Some(())) => {}
            (Err(RenewError::Missing { .. }), None) => assert!(!exists),
            (Err(RenewError::Lasting { .. }), None) => assert!(exists),
            (result, renewed) => panic!("{result:?}, while the model says {renewed:?}"),
        }
    }

    async fn pass(&mut self, time: Duration) {
        let mut watch = self.store.watch("", self.model.revision()).await.unwrap();
        let mut due = self.model.pass(time);
        self.subject.pass(time).await;
        while !due.is_empty() {
            let store::Notice::Changes(changes) = soon("an expiry", watch.next()).await.unwrap()
            else {
                continue;
            };
            let ops: Vec<Op> = changes
                .events
                .iter()
                .map(|event| Op::Delete {
                    key: event.key.clone(),
                })
                .collect();
            for op in &ops {
                assert!(due.remove(op.key()), "{op:?} was not due");
            }
            self.model.apply(changes.revision, &ops);
            assert_eq!(Some(&changes), self.model.log.last());
        }
    }

    async fn finish(mut self) {
        for index in (0..self.watches.len()).rev() {
            self.read(index).await;
        }
        let after = self.model.compacted.max(self.model.back(usize::MAX - 1));
        let mut all = self.store.watch("", after).await.unwrap();
        assert_eq!(
            drain(&mut all, self.model.revision()).await,
            self.model.changes(b"", after)
        );
        self.range(Query::default().counting()).await;
        self.store.close().await;
    }
}
