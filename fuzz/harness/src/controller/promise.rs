//! Promises, required, changed and withdrawn at any moment, and questions about what could be
//! promised.

use crate::Met;
use crate::input::Input;
use imtcp_cc::ImTcp;
use imtcp_cc::promise::{Demand, Requirement, SlotReport, Status};
use imtcp_cc::units::{Bandwidth, Bytes};
use std::time::Duration;

/// An hour, in microseconds.
const LONGEST_PERIOD: u64 = 3_600_000_000;
/// A report is kept until so many newer ones have come.
const MOST_REPORTS: usize = 128;

/// A requirement that may be had in principle: demand, rate in kbit/s above the least, period.
pub(super) fn requirement(input: &mut Input) -> Option<Requirement> {
    let demand = match input.byte()? & 1 {
        0 => Demand::AtLeast,
        _ => Demand::Exactly,
    };
    let rate = Bandwidth::from_kbps(8 + input.below(1_000_000_000)?);
    let per = Duration::from_micros(100 + input.below(LONGEST_PERIOD - 100)?);
    let requirement = Requirement::new(rate, per).expect("within what is allowed");
    Some(requirement.demand(demand))
}

/// Requires something else, or nothing.
pub(super) fn change(input: &mut Input, core: &ImTcp) -> Option<()> {
    let handle = core.promise();
    if input.byte()? & 1 == 1 {
        handle.withdraw();
        assert_eq!(handle.required(), None);
        return Some(());
    }
    let before = handle.required();
    let requirement = requirement(input)?;
    let expected = match handle.require(requirement) {
        Ok(()) => Some(requirement),
        Err(_) => before,
    };
    assert_eq!(handle.required(), expected);
    Some(())
}

/// Asks everything that can be asked.
pub(super) fn ask(input: &mut Input, core: &ImTcp) -> Option<()> {
    let handle = core.promise();
    let rate = Bandwidth::from_kbps(input.number()?);
    let span = input.micros()?;
    if let Some(probability) = handle.can_promise(rate, span) {
        assert!((0.0..=1.0).contains(&probability), "{probability}");
    }
    for probability in [0.0, 0.5, 0.95, 1.0] {
        let _ = handle.bytes_within(span, probability);
    }
    let surely = handle.bytes_within(span, 0.99);
    let likely = handle.bytes_within(span, 0.5);
    assert!(surely.is_none_or(|surely| likely >= Some(surely)));
    Some(())
}

/// What the events say of promises is possible.
pub(super) fn check_report(report: &SlotReport, met: &mut Met) {
    met.insert(if report.outcome.is_kept() {
        "a promise kept"
    } else {
        "a promise not kept"
    });
    assert!(report.start <= report.end);
    let is_inside = |at| (report.start..=report.end).contains(&at);
    assert!(report.warned.is_none_or(is_inside), "{report:?}");
}

/// As [`check_report`], of how a slot stands.
pub(super) fn check_status(status: &Status) {
    if let Status::Broken { shortfall, .. } = status {
        assert!(*shortfall > Bytes::ZERO, "nothing is missing");
    }
}

/// A reader that has fallen behind by any number gets what is left, and no more.
pub(super) fn read_reports(reports: &mut imtcp_cc::promise::SlotReports) {
    let mut previous = None;
    let mut count = 0;
    while let Some(report) = reports.take() {
        assert!(previous < Some(report.index), "in order");
        previous = Some(report.index);
        count += 1;
    }
    assert!(count < MOST_REPORTS);
}
