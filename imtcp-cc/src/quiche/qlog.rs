//! The controller's events as qlog events of the namespace `imtcp`.

use super::Controller;
use crate::estimate::Estimate;
use crate::event::Event;
use serde_json::{Value, json};
use std::time::Instant;

/// Hands over what was kept since the last call, and keeps events from the first call on.
pub(super) fn drain(controller: &mut Controller, emit: &mut dyn FnMut(Instant, &str, Value)) {
    controller.core_mut().keep_log();
    while let Some((at, event)) = controller.core_mut().take_logged_event() {
        let (name, data) = record(&event);
        emit(controller.instant(at), name, data);
    }
}

/// Rates in bits per second, spans in milliseconds, as qlog's main schema has them.
fn record(event: &Event) -> (&'static str, Value) {
    match *event {
        Event::MeasurementStarted {
            measurement,
            low,
            high,
        } => (
            "imtcp:measurement_started",
            json!({ "measurement": measurement, "low_bps": low.as_bps(), "high_bps": high.as_bps() }),
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
                "waited": waited.as_secs_f64() * 1e3,
                "limit": limit.as_secs_f64() * 1e3,
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
        Event::CapacityUpdated { capacity } => (
            "imtcp:capacity_updated",
            json!({ "capacity_bps": capacity.as_bps() }),
        ),
    }
}

fn estimate_data(estimator: &str, estimate: &Estimate) -> Value {
    json!({
        "estimator": estimator,
        "available_bps": estimate.available.as_bps(),
        "low_bps": estimate.low.as_bps(),
        "high_bps": estimate.high.as_bps(),
        "window": estimate.window.as_secs_f64() * 1e3,
        "flags": estimate.flags.names().collect::<Vec<_>>(),
    })
}
