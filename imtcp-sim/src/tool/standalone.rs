//! This project's own tool, `abw-ping`: `imtcp_cc::standalone` as a tool among others.

use baselines::tools::{Answer, Step, Tool};
use imtcp_cc::standalone::Step as Wanted;
use imtcp_cc::standalone::{Measurement, Settings};
use imtcp_cc::units::Timestamp;

/// A measurement by echoes.
#[derive(Debug)]
pub(super) struct Standalone {
    measurement: Measurement,
    is_continuous: bool,
    now: Timestamp,
}

impl Standalone {
    /// # Panics
    /// Never: the settings are the library's own.
    pub(super) fn new(settings: Settings, continuous: bool) -> Self {
        let settings = Settings {
            continuous,
            longest: settings.longest.filter(|_| !continuous),
            most_bytes: settings.most_bytes.filter(|_| !continuous),
            ..settings
        };
        Self {
            measurement: Measurement::new(settings).expect("the library's own settings are valid"),
            is_continuous: continuous,
            now: Timestamp::ZERO,
        }
    }
}

impl Tool for Standalone {
    fn step(&mut self, now: Timestamp) -> Step {
        self.now = now;
        match self.measurement.step(now) {
            Wanted::Send { id, size } => Step::Send { number: id, size },
            Wanted::WaitUntil(at) => Step::WaitUntil(at),
            Wanted::Done => Step::Done,
        }
    }

    fn on_arrival(&mut self, number: u64, arrived: Timestamp) {
        self.measurement.on_reply(number, arrived);
    }

    fn on_report(&mut self, _now: Timestamp) {}

    fn answer(&self) -> Option<Answer> {
        let report = self.measurement.report(self.now);
        let estimate = report.estimate?;
        let is_told = self.is_continuous || report.ended.is_some();
        is_told.then_some(Answer {
            low: estimate.low,
            high: estimate.high,
            value: estimate.available,
        })
    }

    fn told(&self) -> u64 {
        u64::from(self.measurement.report(self.now).measurements)
    }
}
