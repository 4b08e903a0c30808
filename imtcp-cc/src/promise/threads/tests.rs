//! On real threads. What no interleaving may do is in `tests/models/`.

use super::published::Published;
use super::sleepers::Sleepers;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

#[test]
fn what_is_published_is_read_and_the_version_tells() {
    let cell = Published::new([1, 2, 3]);
    let (words, first) = cell.read().expect("nobody writes");
    assert_eq!(words, [1, 2, 3]);
    assert!(cell.is_first());
    cell.publish([4, 5, 6]);
    let (words, second) = cell.read().expect("nobody writes");
    assert_eq!(words, [4, 5, 6]);
    assert!(second != first && second == cell.version());
    assert!(!cell.is_first());
}

#[test]
fn readers_never_see_half_of_a_publication() {
    /// New publications that the readers together have to meet before the writer stops.
    const ENOUGH: u64 = 1000;
    let cell = Published::new([0u64; 16]);
    let (stop, met) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut last = 0;
                while !stop.load(Ordering::Relaxed) {
                    let Some((words, _)) = cell.try_read() else {
                        continue;
                    };
                    let sound = words.iter().all(|word| *word == words[0]) && words[0] >= last;
                    // Without this the writer would wait for readers that are gone.
                    stop.fetch_or(!sound, Ordering::Relaxed);
                    assert!(sound, "{words:?} after {last}");
                    met.fetch_add(u64::from(words[0] > last), Ordering::Relaxed);
                    last = words[0];
                }
            });
        }
        for round in 1.. {
            cell.publish([round; 16]);
            if round % 1000 == 0 {
                std::thread::yield_now();
            }
            if met.load(Ordering::Relaxed) >= ENOUGH || stop.load(Ordering::Relaxed) {
                break;
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn all_that_sleep_are_woken_once_and_who_left_is_not() {
    let sleepers = Sleepers::new();
    let [first, second, gone] = std::array::from_fn(|_| sleepers.join());
    let counts: [Arc<Count>; 3] = std::array::from_fn(|_| Arc::default());
    for (sleeper, count) in [&first, &second, &gone].into_iter().zip(&counts) {
        let waker = Waker::from(Arc::clone(count));
        let nothing = || None::<()>;
        let polled = sleepers.poll(sleeper, &mut Context::from_waker(&waker), nothing);
        assert_eq!(polled, Poll::Pending);
    }
    drop(gone);
    sleepers.tell(|| ());
    sleepers.tell(|| ());
    let woken = counts.map(|count| count.0.load(Ordering::Relaxed));
    assert_eq!(woken, [1, 1, 0]);
    drop((first, second));
    assert!(sleepers.is_empty());
}
