//! Models of what threads share with the packet path.
//!
//! loom runs each model under all interleavings of its threads, and lets every load return every
//! value that the orderings allow, stale ones too. The code is that of the library, compiled
//! against loom's atomics (`sync.rs` says what stands in for what). The models are small, because
//! what they try grows fast with every access: two words for a publication, two cells for the ring.
//!
//! The number of times that a running thread is interrupted is bounded, by [`INTERRUPTIONS`]. A
//! longer search: `LOOM_MAX_PREEMPTIONS=4 cargo test --release -p imtcp-cc --test models`.
//!
//! Each model says which changes of the library make it fail. They were tried.

#[path = "../../src/promise/threads/board.rs"]
mod board;
#[path = "../../src/promise/threads/mailbox.rs"]
mod mailbox;
#[path = "../../src/promise/threads/published.rs"]
mod published;
#[path = "../../src/promise/threads/ring.rs"]
mod ring;
#[path = "../../src/promise/threads/sleepers.rs"]
mod sleepers;
mod sync;

use board::Board;
use loom::future::block_on;
use loom::thread;
use mailbox::{Mailbox, Seen};
use published::Published;
use ring::{Place, Ring};
use sleepers::{Sleeper, Sleepers};
use std::future::poll_fn;
use sync::Arc;

/// How often a thread may be interrupted, unless `LOOM_MAX_PREEMPTIONS` says otherwise.
const INTERRUPTIONS: usize = 3;

fn model(threads: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(INTERRUPTIONS);
    builder.check(threads);
}

/// Sleeps until there is something to take.
fn next<T>(
    sleepers: &Sleepers,
    sleeper: &Sleeper,
    mut take: impl FnMut() -> Option<T>,
) -> Option<T> {
    block_on(poll_fn(|context| {
        sleepers.poll(sleeper, context, &mut take)
    }))
}

/// Fails without the release fence of `publish`, without the acquire fence of `try_read`, and when
/// the even version is stored before the words.
#[test]
fn nobody_reads_half_of_a_publication() {
    model(|| {
        let cell = Arc::new(Published::new([0, 0]));
        let writer = Arc::clone(&cell);
        let writing = thread::spawn(move || {
            writer.publish([1, 1]);
            writer.publish([2, 2]);
        });
        let mut last = (0, 0);
        for _ in 0..2 {
            if let Some(([one, other], version)) = cell.try_read() {
                assert_eq!(one, other);
                assert_eq!(version, Published::<2>::version_after(one));
                assert!((one, version) >= last);
                last = (one, version);
            }
        }
        writing.join().expect("no panic");
        assert_eq!(cell.try_read(), Some(([2, 2], 4)));
    });
}

/// Two threads require, while the packet path takes. Fails when `take` notes the version that it
/// finds after the reading in place of the one of the reading, and when `post` takes no lock.
#[test]
fn the_latest_requirement_is_taken_once() {
    model(|| {
        let mailbox = Arc::new(Mailbox::new([0, 0]));
        let posting = [1, 2].map(|number| {
            let mailbox = Arc::clone(&mailbox);
            thread::spawn(move || mailbox.post([number, number]))
        });
        let (mut seen, mut taken) = (Seen::NOTHING, Vec::new());
        taken.extend(mailbox.take(&mut seen));
        for thread in posting {
            thread.join().expect("no panic");
        }
        taken.extend(mailbox.take(&mut seen));
        assert_eq!(mailbox.take(&mut seen), None, "nothing is news twice");
        assert!(taken.iter().all(|[one, other]| one == other));
        assert!(taken.windows(2).all(|pair| pair[0] != pair[1]), "{taken:?}");
        assert_eq!(taken.last().copied(), mailbox.read());
    });
}

/// What a new controller brings along does not displace what an application requires meanwhile.
/// Fails when `post_first` posts without a look at what is there.
#[test]
fn what_is_required_is_not_displaced_by_a_setting() {
    model(|| {
        let mailbox = Arc::new(Mailbox::new([0]));
        let application = Arc::clone(&mailbox);
        let posting = thread::spawn(move || application.post([2]));
        mailbox.post_first([1]);
        posting.join().expect("no panic");
        assert_eq!(mailbox.take(&mut Seen::NOTHING.clone()), Some([2]));
    });
}

/// Fails when `push` counts a report before it is published, and when `read` does not compare
/// versions.
#[test]
fn each_report_is_taken_once_and_whole_or_counted_as_missed() {
    model(|| {
        let ring = Arc::new(Ring::<1, 2>::new());
        let mut place = Place::at_end_of(&ring);
        let pushing = Arc::clone(&ring);
        let packet_path = thread::spawn(move || {
            for number in 0..3 {
                pushing.push([number]);
            }
        });
        let mut taken = Vec::new();
        taken.extend(place.take(&ring));
        taken.extend(place.take(&ring));
        packet_path.join().expect("no panic");
        while let Some(words) = place.take(&ring) {
            taken.push(words);
        }
        assert!(taken.windows(2).all(|pair| pair[0] < pair[1]), "{taken:?}");
        assert_eq!(taken.last(), Some(&[2]));
        assert_eq!(taken.len() as u64 + place.missed(), 3, "{taken:?}");
    });
}

/// Fails when `tell` wakes nobody, when it wakes before it stores, and when `poll` does not look
/// once more after it has left its waker. Then loom finds that the reader sleeps for ever.
#[test]
fn no_report_is_slept_through() {
    model(|| {
        let shared = Arc::new((Ring::<1, 3>::new(), Sleepers::new()));
        let (sleeper, mut place) = (shared.1.join(), Place::at_end_of(&shared.0));
        let telling = Arc::clone(&shared);
        let packet_path = thread::spawn(move || {
            let (ring, sleepers) = &*telling;
            sleepers.tell(|| ring.push([7]));
            sleepers.tell(|| ring.push([8]));
        });
        let (ring, sleepers) = &*shared;
        assert_eq!(next(sleepers, &sleeper, || place.take(ring)), Some([7]));
        assert_eq!(next(sleepers, &sleeper, || place.take(ring)), Some([8]));
        packet_path.join().expect("no panic");
    });
}

/// Fails when `poll` looks for the end after its last look for a report.
#[test]
fn no_report_is_lost_at_the_end() {
    model(|| {
        let shared = Arc::new((Ring::<1, 2>::new(), Sleepers::new()));
        let (sleeper, mut place) = (shared.1.join(), Place::at_end_of(&shared.0));
        let telling = Arc::clone(&shared);
        let packet_path = thread::spawn(move || {
            let (ring, sleepers) = &*telling;
            sleepers.tell(|| ring.push([7]));
            sleepers.end();
        });
        let (ring, sleepers) = &*shared;
        let mut next = || next(sleepers, &sleeper, || place.take(ring));
        assert_eq!(next(), Some([7]), "before the end");
        assert_eq!(next(), None);
        assert!(sleepers.has_ended());
        packet_path.join().expect("no panic");
    });
}

/// A reader may join at any time, another may leave. Fails without either of the two fences that
/// are sequentially consistent.
#[test]
fn who_joins_while_others_are_woken_is_not_forgotten() {
    model(|| {
        let sleepers = Arc::new(Sleepers::new());
        let leaves = sleepers.join();
        let telling = Arc::clone(&sleepers);
        let packet_path = thread::spawn(move || telling.end());
        let sleeper = sleepers.join();
        drop(leaves);
        assert_eq!(next(&sleepers, &sleeper, || None::<()>), None);
        packet_path.join().expect("no panic");
        drop(sleeper);
        assert!(sleepers.is_empty());
    });
}

/// Who is told that the status has changed reads the status that it has changed to, or a later one.
/// Fails when `count_change` or `changes` is relaxed.
#[test]
fn a_change_of_the_status_is_told_after_it_can_be_read() {
    model(|| {
        let shared = Arc::new((Board::new([0, 0]), Sleepers::new()));
        let sleeper = shared.1.join();
        let telling = Arc::clone(&shared);
        let packet_path = thread::spawn(move || {
            let (board, sleepers) = &*telling;
            board.publish([1, 1]);
            sleepers.tell(|| board.count_change());
        });
        let (board, sleepers) = &*shared;
        let change = || (board.changes() == 1).then(|| board.read());
        let told = next(sleepers, &sleeper, change);
        assert_eq!(told, Some(Some([1, 1])));
        packet_path.join().expect("no panic");
    });
}
