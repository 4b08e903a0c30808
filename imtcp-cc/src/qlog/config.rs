//! With what a controller began.

use super::{BadRecord, nanos};
use crate::config::{Config, StoreTarget, StoreTimer};
use crate::control::Window;
use crate::estimate::EstimatorKind;
use crate::mode::Mode;
use crate::promise::{Demand, PromiseLaw, Requirement, SlotLengthRule};
use crate::saved::SavedPath;
use crate::units::{Bandwidth, Bytes};
use serde_json::{Value, json};
use std::time::Duration;

/// What makes a controller: with the same parameters and the same inputs another one does the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// The settings.
    pub config: Config,
    /// The size of full datagrams, in bytes of UDP payload.
    pub max_datagram: Bytes,
    /// What was remembered of the path.
    pub saved: Option<SavedPath>,
}

/// The data of [`super::PARAMETERS_SET`]. Spans are in nanoseconds, so that nothing is lost.
pub fn parameters(parameters: &Parameters) -> Value {
    let config = &parameters.config;
    let mut data = json!({
        "measurement": config.measurement(),
        "estimator": config.estimator().to_string(),
        "stream_packets": config.stream_packets(),
        "sub_ranges": config.sub_ranges(),
        "measurement_interval_rtts": config.measurement_interval_rtts(),
        "minimum_range_bps": config.minimum_range().as_bps(),
        "header_overhead": config.header_overhead().get(),
        "initial_window_packets": config.initial_window_packets(),
        "window": window_name(config.window()),
        "mode": mode(config.mode()),
        "promise_ceiling": config.promise_ceiling(),
        "promise_weight": config.promise_weight(),
        "promise_law": law_name(config.promise_law()),
        "slot_length": rule_name(config.slot_length()),
        "packet_overhead": config.packet_overhead().get(),
        "ack_frequency": config.ack_frequency(),
        "pacing": config.pacing(),
        "longest_hold_ns": nanos(config.longest_hold()),
        "measured_start": config.measured_start(),
        "remember_paths": config.remember_paths(),
        "takes_marks": config.takes_marks(),
        "max_datagram": parameters.max_datagram.get(),
    });
    if let StoreTarget::Fixed(packets) = config.store_target() {
        data["store_target"] = json!(packets);
    }
    if let StoreTimer::Fixed(span) = config.store_timer() {
        data["store_timer_ns"] = json!(nanos(span));
    }
    if let Some(rtt) = config.initial_rtt() {
        data["initial_rtt_ns"] = json!(nanos(rtt));
    }
    if let Some(promise) = config.promise() {
        data["promise"] = json!({
            "rate_bps": promise.rate().as_bps(),
            "per_ns": nanos(promise.per()),
            "demand": promise.wanted().name(),
        });
    }
    if let Some(saved) = parameters.saved {
        data["saved"] = json!({
            "available_bps": saved.available.as_bps(),
            "least_rtt_ns": nanos(saved.least_rtt),
        });
    }
    data
}

/// A mode as a member of a record, and as the data of `imtcp:mode_changed`.
pub(super) fn mode(mode: Mode) -> Value {
    let mut data = json!({ "mode": mode.name() });
    if let Some(parameter) = mode.parameter() {
        data["parameter"] = json!(parameter);
    }
    data
}

/// The mode of an event `imtcp:mode_changed`, or of the parameters' member of that name.
///
/// # Errors
/// There is no mode with that name, or its parameter is missing or out of its range.
pub fn parse_mode(data: &Value) -> Result<Mode, BadRecord> {
    let from = Members(data);
    let mode = match data.get("mode").and_then(Value::as_str) {
        Some("standard") => Mode::Standard,
        Some("background") => Mode::Background {
            share: from.number("parameter")?,
        },
        Some("full_speed") => Mode::FullSpeed {
            growth: from.number("parameter")?,
        },
        _ => return Err(missing("mode")),
    };
    mode.check()
        .map_err(|error| BadRecord::new(error.to_string()))
}

fn window_name(window: Window) -> &'static str {
    match window {
        Window::Cubic => "cubic",
        Window::Reno => "reno",
    }
}

fn law_name(law: PromiseLaw) -> &'static str {
    match law {
        PromiseLaw::Proportional => "proportional",
        PromiseLaw::Paper => "paper",
    }
}

fn rule_name(rule: SlotLengthRule) -> &'static str {
    match rule {
        SlotLengthRule::LossIntervals => "loss_intervals",
        SlotLengthRule::Doubling => "doubling",
    }
}

/// Reads single members of a record.
struct Members<'r>(&'r Value);

impl Members<'_> {
    fn count(&self, name: &str) -> Result<u64, BadRecord> {
        self.optional(name).ok_or_else(|| missing(name))
    }

    fn small(&self, name: &str) -> Result<u32, BadRecord> {
        u32::try_from(self.count(name)?).map_err(|_| missing(name))
    }

    fn optional(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(Value::as_u64)
    }

    fn span(&self, name: &str) -> Option<Duration> {
        self.optional(name).map(Duration::from_nanos)
    }

    fn number(&self, name: &str) -> Result<f64, BadRecord> {
        let value = self.0.get(name).and_then(Value::as_f64);
        value.ok_or_else(|| missing(name))
    }

    fn flag(&self, name: &str) -> Result<bool, BadRecord> {
        let value = self.0.get(name).and_then(Value::as_bool);
        value.ok_or_else(|| missing(name))
    }

    /// The choice with this name.
    fn choice<T: Copy>(
        &self,
        name: &str,
        choices: &[T],
        text: impl Fn(T) -> &'static str,
    ) -> Result<T, BadRecord> {
        let value = self.0.get(name).and_then(Value::as_str);
        let found = choices.iter().find(|choice| Some(text(**choice)) == value);
        found.copied().ok_or_else(|| missing(name))
    }
}

fn missing(name: &str) -> BadRecord {
    BadRecord::new(format!("`{name}`"))
}

/// The parameters of a record that [`parameters`] made.
///
/// # Errors
/// A member is missing, or a setting is out of its range.
pub fn parse_parameters(data: &Value) -> Result<Parameters, BadRecord> {
    let from = Members(data);
    let initial_window = from.small("initial_window_packets")?;
    let estimators = [EstimatorKind::Classic, EstimatorKind::Statistical];
    let mut builder = Config::builder()
        .measurement(from.flag("measurement")?)
        .estimator(from.choice("estimator", &estimators, |kind| match kind {
            EstimatorKind::Classic => "classic",
            EstimatorKind::Statistical => "statistical",
        })?)
        .stream_packets(from.small("stream_packets")?)
        .sub_ranges(from.small("sub_ranges")?)
        .measurement_interval_rtts(from.small("measurement_interval_rtts")?)
        .minimum_range(Bandwidth::from_bps(from.count("minimum_range_bps")?))
        .header_overhead(Bytes::new(from.count("header_overhead")?))
        .window(from.choice("window", &[Window::Cubic, Window::Reno], window_name)?)
        .mode(data.get("mode").map_or(Ok(Mode::Standard), parse_mode)?)
        .promise(promise(data)?)
        .promise_ceiling(from.number("promise_ceiling")?)
        .promise_weight(from.number("promise_weight")?)
        .promise_law(from.choice(
            "promise_law",
            &[PromiseLaw::Proportional, PromiseLaw::Paper],
            law_name,
        )?)
        .slot_length(from.choice(
            "slot_length",
            &[SlotLengthRule::LossIntervals, SlotLengthRule::Doubling],
            rule_name,
        )?)
        .packet_overhead(Bytes::new(from.count("packet_overhead")?))
        .ack_frequency(from.flag("ack_frequency")?)
        .pacing(from.flag("pacing")?)
        .longest_hold(
            from.span("longest_hold_ns")
                .ok_or_else(|| missing("longest_hold_ns"))?,
        )
        .measured_start(from.flag("measured_start")?)
        .remember_paths(from.flag("remember_paths")?)
        .takes_marks(from.flag("takes_marks")?);
    if data.get("store_target").is_some() {
        builder = builder.store_target(StoreTarget::Fixed(from.small("store_target")?));
    }
    if let Some(span) = from.span("store_timer_ns") {
        builder = builder.store_timer(StoreTimer::Fixed(span));
    }
    let config = builder.build();
    let config = config.map_err(|error| BadRecord::new(error.to_string()))?;
    Ok(Parameters {
        config: config.logged(initial_window, from.span("initial_rtt_ns")),
        max_datagram: Bytes::new(from.count("max_datagram")?),
        saved: data.get("saved").map(saved).transpose()?,
    })
}

fn promise(data: &Value) -> Result<Option<Requirement>, BadRecord> {
    let Some(promise) = data.get("promise") else {
        return Ok(None);
    };
    let from = Members(promise);
    let rate = Bandwidth::from_bps(from.count("rate_bps")?);
    let per = Duration::from_nanos(from.count("per_ns")?);
    let demand = from.choice("demand", &[Demand::AtLeast, Demand::Exactly], Demand::name)?;
    let requirement = Requirement::new(rate, per);
    let requirement = requirement.map_err(|error| BadRecord::new(error.to_string()))?;
    Ok(Some(requirement.demand(demand)))
}

fn saved(data: &Value) -> Result<SavedPath, BadRecord> {
    let from = Members(data);
    Ok(SavedPath {
        available: Bandwidth::from_bps(from.count("available_bps")?),
        least_rtt: Duration::from_nanos(from.count("least_rtt_ns")?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn back(one: &Parameters) -> Parameters {
        let text = parameters(one).to_string();
        let data: Value = serde_json::from_str(&text).expect("it is JSON");
        parse_parameters(&data).expect("it is complete")
    }

    #[test]
    fn parameters_come_back_as_they_were() {
        let promise = Requirement::from_f64(8e6, 2.000_000_001).expect("it is possible");
        let config = Config::builder()
            .measurement(false)
            .estimator(EstimatorKind::Classic)
            .stream_packets(16)
            .sub_ranges(5)
            .measurement_interval_rtts(7)
            .minimum_range(Bandwidth::from_bps(1_234_567))
            .header_overhead(Bytes::new(48))
            .promise_weight(2.5)
            .packet_overhead(Bytes::new(51))
            .longest_hold(Duration::from_nanos(2_345_678))
            .pacing(false)
            .remember_paths(true)
            .takes_marks(true)
            .store_target(StoreTarget::Fixed(4))
            .store_timer(StoreTimer::Fixed(Duration::from_nanos(1_234_567)))
            .promise(Some(promise.demand(Demand::Exactly)))
            .promise_ceiling(0.3)
            .promise_law(PromiseLaw::Paper)
            .slot_length(SlotLengthRule::Doubling)
            .window(Window::Reno)
            .mode(Mode::Background { share: 0.875 })
            .initial_window_packets(32)
            .initial_rtt(Duration::from_millis(333))
            .measured_start(true)
            .ack_frequency(false)
            .build()
            .expect("within its ranges");
        assert_differs_everywhere(&config);
        let saved = SavedPath {
            available: Bandwidth::from_bps(12_345_678),
            least_rtt: Duration::from_nanos(20_000_001),
        };
        // 1.0666666666666667, whose last bit is lost where numbers are read fast.
        let weighted = Config::builder().promise_weight(16.0 / 15.0);
        let weighted = weighted.initial_window_packets(10);
        for one in [
            Parameters {
                config,
                max_datagram: Bytes::new(1350),
                saved: Some(saved),
            },
            of(Config::default().or_transport(10, Duration::from_millis(333))),
            // What a transport may say, and no builder.
            of(Config::default().or_transport(200, Duration::from_millis(333))),
            of(Config::default().or_transport(1, Duration::ZERO)),
            of(weighted.build().expect("within its range")),
        ] {
            assert_eq!(back(&one), one);
        }
    }

    fn of(config: Config) -> Parameters {
        Parameters {
            config,
            max_datagram: Bytes::new(1200),
            saved: None,
        }
    }

    /// What stays at its default would come back even if nobody wrote it.
    fn assert_differs_everywhere(config: &Config) {
        let record = |config: &Config| parameters(&of(config.clone()));
        let (own, default) = (record(config), record(&Config::default()));
        for (name, value) in own.as_object().expect("an object") {
            assert!(
                name == "max_datagram" || default.get(name) != Some(value),
                "{name}"
            );
        }
    }

    #[test]
    fn a_missing_setting_is_named() {
        let error = parse_parameters(&json!({ "measurement": true }));
        let error = error.expect_err("nearly all of it is missing").to_string();
        assert_eq!(error, "`initial_window_packets` is missing or wrong");
    }
}
