//! What is drawn as marks below the panels.

use super::{Run, rounded};
use crate::series::{Slot, State, Stream};
use serde_json::{Value, json};

/// The marks of a run. The script of the page takes each apart by the order of its elements.
pub(super) fn lanes(run: &Run) -> Value {
    let series = &run.series;
    let states = |is_promise: bool| -> Vec<Value> {
        let states = series.states.iter();
        let states = states.filter(|state| state.is_promise == is_promise);
        states.map(state).collect()
    };
    let losses = series.losses.points().iter();
    json!({
        "name": run.name,
        "streams": series.streams.iter().map(stream).collect::<Vec<_>>(),
        "slots": series.slots.iter().map(slot).collect::<Vec<_>>(),
        "states": states(false),
        "statuses": states(true),
        "losses": losses.map(|point| rounded(point.0)).collect::<Vec<_>>(),
    })
}

fn stream(stream: &Stream) -> Value {
    json!([
        rounded(stream.start_ms),
        rounded(stream.end_ms),
        rounded(stream.judged_ms),
        stream.trend,
        stream.measurement,
        stream.stream,
        stream.low_bps,
        stream.high_bps,
        stream.packets,
        stream.verdict,
    ])
}

fn slot(slot: &Slot) -> Value {
    json!([
        rounded(slot.end_ms - slot.length_ms),
        rounded(slot.end_ms),
        slot.outcome,
        slot.required_bps,
        slot.achieved_bps,
    ])
}

fn state(state: &State) -> Value {
    json!([rounded(state.time_ms), state.name])
}
