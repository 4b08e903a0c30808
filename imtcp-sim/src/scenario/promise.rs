//! What a flow's application requires of the path: `imtcp = { promise = { ... } }`.
//!
//! The measuring controller steers by it. Beside any other controller it is a yardstick: the same
//! slots are counted.

use super::error::{Complaint, ScenarioError};
use super::quantity;
use super::reader::{Entry, Section};
use imtcp_cc::config::ConfigBuilder;
use imtcp_cc::promise::{Demand, PromiseLaw, Requirement, SlotLengthRule};
use std::time::Duration;

/// `promise`, and the settings whose names begin so, and `slot_length`.
pub(super) fn read(
    section: &mut Section<'_>,
    mut builder: ConfigBuilder,
    round_trip: Duration,
) -> Result<ConfigBuilder, ScenarioError> {
    if let Some(entry) = section.optional("promise") {
        builder = builder.promise(Some(requirement(&entry, round_trip)?));
    }
    if let Some(entry) = section.optional("promise_ceiling") {
        builder = builder.promise_ceiling(entry.quantity(quantity::share)?);
    }
    if let Some(entry) = section.optional("promise_weight") {
        builder = builder.promise_weight(entry.number(1.0..=16.0)?);
    }
    if let Some(entry) = section.optional("promise_law") {
        builder = builder.promise_law(entry.choice(&[
            ("proportional", PromiseLaw::Proportional),
            ("paper", PromiseLaw::Paper),
        ])?);
    }
    if let Some(entry) = section.optional("slot_length") {
        builder = builder.slot_length(entry.choice(&[
            ("loss intervals", SlotLengthRule::LossIntervals),
            ("doubling", SlotLengthRule::Doubling),
        ])?);
    }
    Ok(builder)
}

/// `{ rate = "8 Mbit/s", per = "2 s" | "32 RTT", demand = "at least" | "exactly" }`
fn requirement(entry: &Entry<'_>, round_trip: Duration) -> Result<Requirement, ScenarioError> {
    let mut section = entry.section()?;
    let rate = section.required("rate", "\"8 Mbit/s\"")?;
    let rate = rate.quantity(quantity::rate_above_zero)?;
    let per = section.required("per", "\"2 s\"")?;
    let per = per.quantity(|text| quantity::span_or_round_trips(text, round_trip))?;
    let demand = section.optional("demand");
    let demand = demand.map_or(Ok(Demand::default()), |entry| {
        entry.choice(&[("at least", Demand::AtLeast), ("exactly", Demand::Exactly)])
    })?;
    section.finish()?;
    let requirement = Requirement::new(rate, per);
    let requirement = requirement.map_err(|error| {
        entry.reject(Complaint::new(error.to_string(), "ask for something else"))
    })?;
    Ok(requirement.demand(demand))
}
