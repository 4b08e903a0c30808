//! Models of what threads share with the packet path.
//!
//! loom runs each model under all interleavings of its threads, and lets every load return every
//! value that the orderings allow, stale ones too. The code is that of the library, compiled
//! against loom's atomics (`sync.rs` says what stands in for what). The models are small, because
//! what they try grows fast with every access: two words for a publication, two cells for the ring.
//!
//! The number of times that a running thread is interrupted is bounded, by [`INTERRUPTIONS`]. A
//! longer search: `LOOM_MAX_PREEMPTIONS=5 cargo test -p imtcp-cc --test models`.
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

fn check(threads: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(INTERRUPTIONS);
    builder.check(threads);
}

/// A packet path and a reader, or whoever else it meets. `make` makes what they share, and what is
/// the reader's; `after` is told what the reader returned, when both are done.
///
/// loom looks for other interleavings where two threads meet, but not behind an access of the same
/// thread's in between. So each side gets to go first.
fn model<S, R, T>(
    make: impl Fn() -> (S, R) + Copy + Send + Sync + 'static,
    packet_path: impl Fn(&S) + Copy + Send + Sync + 'static,
    reader: impl Fn(&S, R) -> T + Copy + Send + Sync + 'static,
    after: impl Fn(&S, T) + Copy + Send + Sync + 'static,
) where
    S: 'static,
    R: 'static,
    T: 'static,
{
    for packet_path_is_first in [true, false] {
        check(move || {
            let (shared, own) = make();
            let shared = Arc::new(shared);
            let other = Arc::clone(&shared);
            let returned = if packet_path_is_first {
                let reading = thread::spawn(move || reader(&other, own));
                packet_path(&shared);
                reading.join().expect("no panic")
            } else {
                let sending = thread::spawn(move || packet_path(&other));
                let returned = reader(&shared, own);
                sending.join().expect("no panic");
                returned
            };
            after(&shared, returned);
        });
    }
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

/// A ring of reports, readers that may be asleep, and the places of one of them.
fn reports<const N: usize>() -> ((Ring<1, N>, Sleepers), (Place, Sleeper)) {
    let (ring, sleepers) = (Ring::new(), Sleepers::new());
    let reader = (Place::at_end_of(&ring), sleepers.join());
    ((ring, sleepers), reader)
}

/// Fails without the release fence of `publish`, without the acquire fence of `try_read`, and when
/// the even version is stored before the words.
#[test]
fn nobody_reads_half_of_a_publication() {
    model(
        || (Published::new([0, 0]), ()),
        |cell| {
            cell.publish([1, 1]);
            cell.publish([2, 2]);
        },
        |cell, ()| {
            let mut last = (0, 0);
            for _ in 0..2 {
                if let Some(([one, other], version)) = cell.try_read() {
                    assert_eq!(one, other);
                    assert_eq!(version, Published::<2>::version_after(one));
                    assert!((one, version) >= last);
                    last = (one, version);
                }
            }
        },
        |cell, ()| assert_eq!(cell.try_read(), Some(([2, 2], 4))),
    );
}

/// Two threads require, while the packet path takes. Fails when `take` notes the version that it
/// finds after the reading in place of the one of the reading, and when `post` takes no lock.
#[test]
fn the_latest_requirement_is_taken_once() {
    check(|| {
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
/// Fails when `post_first` does not look whether anything was posted.
#[test]
fn what_is_required_is_not_displaced_by_a_setting() {
    model(
        || (Mailbox::new([0]), ()),
        |mailbox| mailbox.post_first([1]),
        |mailbox, ()| mailbox.post([2]),
        |mailbox, ()| {
            let mut seen = Seen::NOTHING;
            assert_eq!(mailbox.take(&mut seen), Some([2]));
        },
    );
}

/// Fails when `push` counts a report before it is published, and when `read` does not compare
/// versions.
#[test]
fn each_report_is_taken_once_and_whole_or_counted_as_missed() {
    model(
        reports::<2>,
        |(ring, _)| {
            for number in 0..3 {
                ring.push([number]);
            }
        },
        |(ring, _), (mut place, _)| {
            let first = place.take(ring);
            let second = place.take(ring);
            (Vec::from_iter([first, second].into_iter().flatten()), place)
        },
        |(ring, _), (mut taken, mut place)| {
            while let Some(words) = place.take(ring) {
                taken.push(words);
            }
            assert!(taken.windows(2).all(|pair| pair[0] < pair[1]), "{taken:?}");
            assert_eq!(taken.last(), Some(&[2]));
            assert_eq!(taken.len() as u64 + place.missed(), 3, "{taken:?}");
        },
    );
}

/// Fails when `tell` wakes nobody, when it wakes before it stores, and when `poll` does not look
/// once more after it has left its waker. Then loom finds that the reader sleeps for ever.
#[test]
fn no_report_is_slept_through() {
    model(
        reports::<3>,
        |(ring, sleepers)| {
            sleepers.tell(|| ring.push([7]));
            sleepers.tell(|| ring.push([8]));
        },
        |(ring, sleepers), (mut place, sleeper)| {
            let mut next = || next(sleepers, &sleeper, || place.take(ring));
            assert_eq!(next(), Some([7]));
            assert_eq!(next(), Some([8]));
        },
        |_, ()| {},
    );
}

/// Fails when `poll` looks for the end after its last look for a report.
#[test]
fn no_report_is_lost_at_the_end() {
    model(
        reports::<2>,
        |(ring, sleepers)| {
            sleepers.tell(|| ring.push([7]));
            sleepers.end();
        },
        |(ring, sleepers), (mut place, sleeper)| {
            let mut next = || next(sleepers, &sleeper, || place.take(ring));
            assert_eq!(next(), Some([7]), "before the end");
            assert_eq!(next(), None);
        },
        |(_, sleepers), ()| assert!(sleepers.has_ended()),
    );
}

/// A reader may join at any time, another may leave. Fails without either of the two fences that
/// are sequentially consistent, and when a reader that leaves stays in the list.
#[test]
fn who_joins_while_others_are_woken_is_not_forgotten() {
    model(
        || {
            let sleepers = Sleepers::new();
            let leaves = sleepers.join();
            (sleepers, leaves)
        },
        Sleepers::end,
        |sleepers, leaves| {
            let sleeper = sleepers.join();
            drop(leaves);
            assert_eq!(next(sleepers, &sleeper, || None::<()>), None);
        },
        |sleepers, ()| assert!(sleepers.is_empty()),
    );
}

/// Who sees that the status has changed reads the status that it has changed to, or a later one,
/// without having been woken, too. Fails when `Board::publish` counts before it publishes.
#[test]
fn a_change_of_the_status_is_counted_after_it_can_be_read() {
    model(
        || (Board::new([0, 0]), ()),
        |board| board.publish([1, 1], true),
        |board, ()| {
            if board.changes() == 1 {
                assert_eq!(board.read(), Some([1, 1]));
            }
        },
        |board, ()| assert_eq!(board.changes(), 1),
    );
}
