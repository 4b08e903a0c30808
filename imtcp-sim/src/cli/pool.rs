//! Work on a few threads.

use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Why a job failed.
pub type Failure = Box<dyn Error + Send + Sync>;

/// Does jobs 0 to `count` on up to `threads` threads; the results are in order all the same. After
/// a failure no new job is begun.
pub fn run_all<T: Send>(
    count: usize,
    threads: usize,
    job: impl Fn(usize) -> Result<T, Failure> + Sync,
) -> Result<Vec<T>, Failure> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return;
            }
            let result = job(index);
            if result.is_err() {
                next.store(count, Ordering::Relaxed);
            }
            let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
            results.push((index, result));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.min(count) {
            scope.spawn(work);
        }
    });
    let mut results: Vec<(usize, Result<T, Failure>)> =
        results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_unstable_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_and_a_failure_ends_it() {
        let squares = run_all(20, 4, |index| Ok(index * index)).expect("none fails");
        assert_eq!(
            squares,
            (0..20).map(|index| index * index).collect::<Vec<_>>()
        );
        let result = run_all(20, 1, |index| match index {
            3 => Err(Failure::from("the third")),
            index => {
                assert!(index < 3, "{index} was begun");
                Ok(())
            }
        });
        assert_eq!(result.expect_err("one fails").to_string(), "the third");
    }
}
