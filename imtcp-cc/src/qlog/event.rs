//! The controller's events.

use super::ms;
use crate::estimate::Estimate;
use crate::event::Event;
use crate::promise::{SlotReport, Status};
use crate::units::Bandwidth;
use serde_json::{Value, json};

/// The name and the data of an event in qlog. Rates are in bits per second and spans in
/// milliseconds, as in qlog's main schema.
pub(super) fn record(event: &Event) -> (&'static str, Value) {
    match *event {
        Event::MeasurementStarted {
            measurement,
            low,
            high,
        } => (
            "imtcp:measurement_started",
            json!({
                "measurement": measurement,
                "low_bps": low.as_bps(),
                "high_bps": high.as_bps(),
            }),
        ),
        Event::StreamStarted {
            measurement,
            stream,
            waited,
            limit,
        } => (
            "imtcp:stream_started",
            json!({
                "measurement": measurement,
                "stream": stream,
                "waited": ms(waited),
                "limit": ms(limit),
            }),
        ),
        Event::StreamAbandoned {
            measurement,
            stream,
            sent,
        } => (
            "imtcp:stream_abandoned",
            json!({ "measurement": measurement, "stream": stream, "sent": sent }),
        ),
        Event::StreamJudged {
            measurement,
            stream,
            trend,
        } => (
            "imtcp:stream_judged",
            json!({ "measurement": measurement, "stream": stream, "trend": trend }),
        ),
        Event::MeasurementCompleted { measurement } => (
            "imtcp:measurement_completed",
            json!({ "measurement": measurement }),
        ),
        Event::MeasurementAbandoned { measurement } => (
            "imtcp:measurement_abandoned",
            json!({ "measurement": measurement }),
        ),
        Event::EstimateUpdated {
            estimator,
            estimate,
        } => (
            "imtcp:estimate_updated",
            estimate_data(&estimator.to_string(), &estimate),
        ),
        Event::EstimateWithdrawn { estimator } => (
            "imtcp:estimate_withdrawn",
            json!({ "estimator": estimator.to_string() }),
        ),
        Event::CapacityUpdated { capacity } => (
            "imtcp:capacity_updated",
            json!({ "capacity_bps": capacity.as_bps() }),
        ),
        Event::ModeChanged { mode } => ("imtcp:mode_changed", super::config::mode(mode)),
        Event::PromiseChanged { requirement } => (
            "imtcp:promise_changed",
            requirement.map_or_else(
                || json!({}),
                |requirement| {
                    json!({
                        "rate_bps": requirement.rate().as_bps(),
                        "per": ms(requirement.per()),
                        "demand": requirement.wanted().name(),
                    })
                },
            ),
        ),
        Event::ControlSlotStarted {
            target,
            round_trips,
        } => (
            "imtcp:control_slot_started",
            json!({ "target_bps": target.as_bps(), "round_trips": round_trips }),
        ),
        Event::PromiseStatusChanged { status } => {
            ("imtcp:promise_status_changed", status_data(status))
        }
        Event::SlotEnded { report } => ("imtcp:slot_ended", report_data(&report)),
    }
}

fn status_data(status: Status) -> Value {
    let mut data = json!({ "status": status.name() });
    if let Status::AtRisk { cause, shortfall } | Status::Broken { cause, shortfall } = status {
        data["shortfall"] = json!(shortfall.get());
        data["cause"] = json!(cause.name());
    }
    data
}

fn report_data(report: &SlotReport) -> Value {
    let warned = report.warned.map(|at| at.saturating_since(report.start));
    json!({
        "slot": report.index,
        "length": ms(report.end.saturating_since(report.start)),
        "required_bps": report.required.as_bps(),
        "achieved_bps": report.achieved.as_bps(),
        "outcome": report.outcome.name(),
        "warned_after": warned.map(ms),
    })
}

fn estimate_data(estimator: &str, estimate: &Estimate) -> Value {
    json!({
        "estimator": estimator,
        "available_bps": estimate.available.as_bps(),
        "low_bps": estimate.low.as_bps(),
        "high_bps": (estimate.high < Bandwidth::MAX).then(|| estimate.high.as_bps()),
        "window": ms(estimate.window),
        "flags": estimate.flags.names().collect::<Vec<_>>(),
    })
}
