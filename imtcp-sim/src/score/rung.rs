//! How soon a series says that a rate is free, and how soon that it is not any more.
//!
//! A live source that could send a better picture waits for this: the next rung of its ladder is
//! free as soon as the lower end of the interval is above it.

use super::Reference;
use imtcp_cc::units::Timestamp;
use std::time::Duration;

/// The lower end of the interval in bit/s, zero where nothing is said, and when that was said.
pub type Floor = (Timestamp, f64);

/// For each step of the truth across `rung_bps`, the time from it until the floor is across, too.
/// `None` where that is not before the next step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Crossings {
    /// From below the rung to above it.
    pub up: Vec<Option<Duration>>,
    /// From above it to below.
    pub down: Vec<Option<Duration>>,
}

/// How soon the floor follows the truth across a rung.
pub fn crossings(floors: &[Floor], reference: &Reference, rung_bps: f64) -> Crossings {
    let mut crossings = Crossings::default();
    let phases = super::found::phases(reference);
    let seen = reference.seen_after;
    let truth = |(start, end)| reference.truth.mean(start + seen, end + seen);
    for pair in phases.windows(2) {
        let (Some(before), Some(after)) = (truth(pair[0]), truth(pair[1])) else {
            continue;
        };
        let is_free = after >= rung_bps;
        if (before >= rung_bps) == is_free {
            continue;
        }
        let (start, end) = pair[1];
        let said = first_said(floors, (start, end), |floor| (floor >= rung_bps) == is_free);
        let after = said.map(|at| at.saturating_since(start));
        match is_free {
            true => crossings.up.push(after),
            false => crossings.down.push(after),
        }
    }
    crossings
}

/// When the floor that holds in the phase first is as wanted. It may be so from its beginning.
fn first_said(
    floors: &[Floor],
    (start, end): (Timestamp, Timestamp),
    wanted: impl Fn(f64) -> bool,
) -> Option<Timestamp> {
    let first = floors.partition_point(|(at, _)| *at < start);
    let held = first.checked_sub(1).map_or(0.0, |last| floors[last].1);
    if wanted(held) {
        return Some(start);
    }
    let inside = floors[first..].iter().take_while(|(at, _)| *at < end);
    let mut inside = inside.filter(|(_, floor)| wanted(*floor));
    inside.next().map(|(at, _)| *at)
}
