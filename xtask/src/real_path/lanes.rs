//! Several transfers at a time, each over a path of its own, as far as the machine can take it.
//!
//! A transfer at 5 Mbit/s leaves the processor idle nearly all the time, so transfers one after the
//! other would take hours instead of minutes. All controllers of a cell and run have their turns on
//! one lane, one after the other. So transfers that are compared never run at the same time.

use std::collections::VecDeque;
use std::sync::mpsc::{self, Sender};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use anyhow::Result;

use super::cells::Cell;
use super::results::Row;

/// More lanes than this are no use: each has three programs.
const MOST_LANES: u32 = 10;

/// The transfers that are made on one lane without a pause.
pub struct Unit<'a> {
    /// The path.
    pub cell: &'a Cell,
    /// Counted from 1.
    pub run: u32,
    /// The controllers that have their turn, in this order.
    pub controllers: Vec<&'a str>,
}

/// How many lanes there are for these cells, if all that is under way adds up to `load_mbps` at
/// most.
pub fn count<'a>(cells: impl Iterator<Item = &'a Cell>, load_mbps: u32) -> usize {
    let slowest = cells.map(|cell| cell.rate_mbps).min().unwrap_or(1).max(1);
    let lanes = (load_mbps / slowest).clamp(1, MOST_LANES);
    usize::try_from(lanes).unwrap_or(1)
}

/// Does all units. `transfer` makes one transfer on a lane, and `done` gets its result. After the
/// first error no transfer is begun, and those under way come to their end.
pub fn work<L: Sync>(
    lanes: &[L],
    units: Vec<Unit<'_>>,
    load_mbps: u32,
    transfer: impl Fn(&L, &Cell, &str, u32) -> Result<Row> + Sync,
    mut done: impl FnMut(Row) -> Result<()>,
) -> Result<()> {
    let queue = Queue {
        state: Mutex::new(State {
            waiting: units.into(),
            load_mbps: 0,
        }),
        freed: Condvar::new(),
        most_mbps: load_mbps,
    };
    let (results, finished) = mpsc::channel();
    let mut outcome = Ok(());
    thread::scope(|scope| {
        for lane in lanes {
            let (queue, transfer, results) = (&queue, &transfer, results.clone());
            scope.spawn(move || queue.serve(lane, transfer, &results));
        }
        drop(results);
        for result in finished {
            if let Err(error) = result.and_then(&mut done) {
                queue.give_up();
                if outcome.is_ok() {
                    outcome = Err(error);
                }
            }
        }
    });
    outcome
}

/// The units that wait, and the load that is under way.
struct Queue<'a> {
    state: Mutex<State<'a>>,
    freed: Condvar,
    most_mbps: u32,
}

struct State<'a> {
    waiting: VecDeque<Unit<'a>>,
    load_mbps: u32,
}

impl<'a> Queue<'a> {
    fn serve<L>(
        &self,
        lane: &L,
        transfer: &impl Fn(&L, &Cell, &str, u32) -> Result<Row>,
        results: &Sender<Result<Row>>,
    ) {
        while let Some(unit) = self.take() {
            let _load = Load {
                queue: self,
                mbps: unit.cell.rate_mbps,
            };
            for controller in unit.controllers {
                let result = transfer(lane, unit.cell, controller, unit.run);
                let failed = result.is_err();
                if failed {
                    self.give_up();
                }
                // The other end waits for all of them.
                if results.send(result).is_err() || failed {
                    break;
                }
            }
        }
    }

    /// The next unit that fits beside what is under way; waits for it, and is `None` after the
    /// last. A path that is too fast for any company goes alone.
    fn take(&self) -> Option<Unit<'a>> {
        let mut state = self.lock();
        loop {
            if state.waiting.is_empty() {
                return None;
            }
            let load = state.load_mbps;
            let fits = |unit: &Unit<'_>| load == 0 || load + unit.cell.rate_mbps <= self.most_mbps;
            if let Some(at) = state.waiting.iter().position(fits) {
                let unit = state.waiting.remove(at)?;
                state.load_mbps += unit.cell.rate_mbps;
                return Some(unit);
            }
            let waited = self.freed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn give_up(&self) {
        self.lock().waiting.clear();
        self.freed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<'a>> {
        // A thread that panicked had taken its unit already, and left the rest as it was.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a unit adds to the load that is under way. It ends with the unit, also if the thread
/// panics: the other lanes would wait for it without end.
struct Load<'q, 'a> {
    queue: &'q Queue<'a>,
    mbps: u32,
}

impl Drop for Load<'_, '_> {
    fn drop(&mut self) {
        self.queue.lock().load_mbps -= self.mbps;
        self.queue.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::super::cells::{Extensions, Source};
    use super::*;
    use anyhow::bail;

    fn cell(rate_mbps: u32) -> Cell {
        Cell {
            rate_mbps,
            rtt_ms: 10,
            queue_bdp: 1.0,
            tick_us: 0,
            rivals: 0,
            source: Source::Bulk,
            extensions: Extensions::Both,
        }
    }

    fn row(cell: &Cell, controller: &str, run: u32) -> Row {
        Row::new(cell.to_string(), controller, run)
    }

    fn units<'a>(cells: &'a [Cell], runs: u32) -> Vec<Unit<'a>> {
        let of_run = |run| {
            cells.iter().map(move |cell| Unit {
                cell,
                run,
                controllers: vec!["one", "other"],
            })
        };
        (1..=runs).flat_map(of_run).collect()
    }

    #[test]
    fn what_is_under_way_together_is_bounded_and_everything_is_done() {
        let cells = [cell(5), cell(40), cell(200)];
        let under_way = Mutex::new(Vec::new());
        let transfer = |_: &u32, cell: &Cell, controller: &str, run| {
            let now: u32 = {
                let mut all = under_way.lock().unwrap();
                all.push(cell.rate_mbps);
                all.iter().sum()
            };
            thread::yield_now();
            let mut all = under_way.lock().unwrap();
            let own = all.iter().position(|rate| *rate == cell.rate_mbps);
            all.swap_remove(own.unwrap());
            assert!(now <= 80 || now == 200, "{now} Mbit/s at a time");
            Ok(row(cell, controller, run))
        };
        let mut rows = Vec::new();
        let lanes: Vec<u32> = (0..4).collect();
        let kept = |row| {
            rows.push(row);
            Ok(())
        };
        work(&lanes, units(&cells, 20), 80, transfer, kept).unwrap();
        assert_eq!(rows.len(), 3 * 20 * 2);
        for pair in rows.iter().filter(|row| row.controller == "other") {
            let same = |row: &&Row| (&row.cell, row.run) == (&pair.cell, pair.run);
            let first = rows.iter().find(same).unwrap();
            assert_eq!(first.controller, "one", "in their turn");
        }
    }

    #[test]
    fn the_first_error_ends_it() {
        let cells = [cell(5)];
        let transfer = |_: &(), cell: &Cell, controller: &str, run| {
            if run == 3 {
                bail!("no more");
            }
            Ok(row(cell, controller, run))
        };
        let outcome = work(&[(), ()], units(&cells, 1000), 10, transfer, |row| {
            assert!(row.run < 100, "run {} was begun after the error", row.run);
            Ok(())
        });
        assert_eq!(outcome.unwrap_err().to_string(), "no more");
    }

    #[test]
    fn a_lane_that_panics_keeps_no_other_waiting() {
        let cells = [cell(200)];
        let transfer = |_: &(), cell: &Cell, controller: &str, run| {
            assert!(run != 1, "a mistake");
            Ok(row(cell, controller, run))
        };
        let mut made = 0;
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            work(&[(), ()], units(&cells, 3), 100, transfer, |_| {
                made += 1;
                Ok(())
            })
        }));
        assert!(outcome.is_err(), "it is told");
        assert_eq!(made, 4, "two runs with two controllers each");
    }

    #[test]
    fn slow_paths_make_more_lanes() {
        let lanes = |rates: &[u32], load| {
            let cells: Vec<Cell> = rates.iter().copied().map(cell).collect();
            count(cells.iter(), load)
        };
        assert_eq!(lanes(&[40, 200], 200), 5);
        assert_eq!(lanes(&[200], 100), 1);
        assert_eq!(lanes(&[5], 200), 10);
    }
}
