//! Builds a configuration, and checks it.

use super::{Config, ConfigError};
use crate::control::Window;
use crate::estimate::EstimatorKind;
use crate::mode::Mode;
use crate::promise::{PromiseLaw, Requirement, SlotLengthRule};
use crate::scheduler::{StoreTarget, StoreTimer};
use crate::units::{Bandwidth, Bytes};
use std::time::Duration;

/// Collects settings. [`ConfigBuilder::build`] checks them.
#[derive(Clone, Debug, Default)]
pub struct ConfigBuilder {
    pub(super) config: Config,
    /// What is set here is checked. A configuration to start from may have the values of a
    /// transport, which are not for anybody here to refuse.
    pub(super) initial_window_packets: Option<u32>,
    pub(super) initial_rtt: Option<Duration>,
}

macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $kind:ty),+ $(,)?) => {
        $($(#[$doc])*
        #[must_use]
        pub fn $name(mut self, $name: $kind) -> Self {
            self.config.$name = $name;
            self
        })+
    };
}

impl ConfigBuilder {
    setters! {
        /// See [`Config::measurement`].
        measurement: bool,
        /// See [`Config::estimator`].
        estimator: EstimatorKind,
        /// See [`Config::stream_packets`]; 3 to 64.
        stream_packets: u32,
        /// See [`Config::sub_ranges`]; 2 to 16.
        sub_ranges: u32,
        /// See [`Config::store_target`]; a fixed target is 2 to `stream_packets`.
        store_target: StoreTarget,
        /// See [`Config::store_timer`]; a fixed timer is above 0 and at most 1 s.
        store_timer: StoreTimer,
        /// See [`Config::measurement_interval_rtts`]; 1 to 1000.
        measurement_interval_rtts: u32,
        /// See [`Config::minimum_range`]; zero lets the library choose.
        minimum_range: Bandwidth,
        /// See [`Config::header_overhead`]; at most 200 bytes.
        header_overhead: Bytes,
        /// See [`Config::window`]; CUBIC unless set.
        window: Window,
        /// See [`Config::mode`]; its parameter is in the range that [`Mode`] tells.
        mode: Mode,
        /// See [`Config::promise`].
        promise: Option<Requirement>,
        /// See [`Config::promise_ceiling`]; above 0 and at most 1.
        promise_ceiling: f64,
        /// See [`Config::promise_weight`]; 1 to 16.
        promise_weight: f64,
        /// See [`Config::promise_law`].
        promise_law: PromiseLaw,
        /// See [`Config::slot_length`].
        slot_length: SlotLengthRule,
        /// See [`Config::packet_overhead`]; at most 400 bytes.
        packet_overhead: Bytes,
        /// See [`Config::ack_frequency`].
        ack_frequency: bool,
        /// See [`Config::pacing`].
        pacing: bool,
        /// See [`Config::longest_hold`]; at most 1 s.
        longest_hold: Duration,
        /// See [`Config::measured_start`].
        measured_start: bool,
        /// See [`Config::remember_paths`].
        remember_paths: bool,
        /// See [`Config::takes_marks`].
        takes_marks: bool,
    }

    /// See [`Config::initial_window_packets`]; 2 to 100.
    #[must_use]
    pub fn initial_window_packets(mut self, packets: u32) -> Self {
        self.initial_window_packets = Some(packets);
        self
    }

    /// See [`Config::initial_rtt`]; above 0.
    #[must_use]
    pub fn initial_rtt(mut self, initial_rtt: Duration) -> Self {
        self.initial_rtt = Some(initial_rtt);
        self
    }

    /// Checks every setting.
    ///
    /// # Errors
    /// If a setting is out of its range, the error names the setting, its value and the range. It
    /// names the first such setting.
    pub fn build(self) -> Result<Config, ConfigError> {
        let mut c = self.config;
        within("stream_packets", c.stream_packets, 3, 64)?;
        within("sub_ranges", c.sub_ranges, 2, 16)?;
        within(
            "measurement_interval_rtts",
            c.measurement_interval_rtts,
            1,
            1000,
        )?;
        if let Some(packets) = self.initial_window_packets {
            within("initial_window_packets", packets, 2, 100)?;
            c.initial_window_packets = Some(packets);
        }
        if let Some(rtt) = self.initial_rtt {
            if rtt.is_zero() {
                return Err(ConfigError::new("initial_rtt", "0 s".to_owned(), "above 0"));
            }
            c.initial_rtt = Some(rtt);
        }
        if let StoreTarget::Fixed(m) = c.store_target {
            within("store_target", m, 2, c.stream_packets)?;
        }
        if let StoreTimer::Fixed(t) = c.store_timer
            && (t.is_zero() || t > Duration::from_secs(1))
        {
            return Err(ConfigError::new(
                "store_timer",
                format!("{t:?}"),
                "above 0 and at most 1 s",
            ));
        }
        if c.header_overhead > Bytes::new(200) {
            return Err(ConfigError::new(
                "header_overhead",
                c.header_overhead.to_string(),
                "at most 200 B",
            ));
        }
        c.mode.check().map_err(|error| {
            let value = error.value().unwrap_or(f64::NAN);
            ConfigError::new("mode", value.to_string(), error.allowed())
        })?;
        if !(c.promise_ceiling > 0.0 && c.promise_ceiling <= 1.0) {
            return Err(ConfigError::new(
                "promise_ceiling",
                c.promise_ceiling.to_string(),
                "above 0 and at most 1",
            ));
        }
        if !(1.0..=16.0).contains(&c.promise_weight) {
            return Err(ConfigError::new(
                "promise_weight",
                c.promise_weight.to_string(),
                "1 to 16",
            ));
        }
        if c.packet_overhead > Bytes::new(400) {
            return Err(ConfigError::new(
                "packet_overhead",
                c.packet_overhead.to_string(),
                "at most 400 B",
            ));
        }
        if c.longest_hold > Duration::from_secs(1) {
            return Err(ConfigError::new(
                "longest_hold",
                format!("{:?}", c.longest_hold),
                "at most 1 s",
            ));
        }
        Ok(c)
    }
}

fn within(setting: &'static str, value: u32, low: u32, high: u32) -> Result<(), ConfigError> {
    if (low..=high).contains(&value) {
        Ok(())
    } else {
        Err(ConfigError::new(
            setting,
            value.to_string(),
            format!("{low} to {high}"),
        ))
    }
}
