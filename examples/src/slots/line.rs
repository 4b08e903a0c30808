//! A line of the file.

use imtcp_cc::promise::Status;
use std::time::Duration;

/// The columns.
pub(super) const HEADER: &str = "path,seconds,event,what,slot,start_s,end_s,required_bps,\
 achieved_bps,warned_s,can_promise,cause,shortfall_bytes,note";

/// A line of the file; what an event does not have is empty.
#[derive(Default)]
pub(super) struct Line {
    pub(super) event: &'static str,
    pub(super) what: &'static str,
    pub(super) slot: Option<u64>,
    pub(super) span: Option<(Duration, Duration)>,
    pub(super) required_bps: Option<u64>,
    pub(super) achieved_bps: Option<u64>,
    pub(super) notice: Option<Duration>,
    pub(super) can_promise: Option<f64>,
    pub(super) cause: &'static str,
    pub(super) shortfall: Option<u64>,
    pub(super) note: String,
}

impl Line {
    /// With its line feed.
    pub(super) fn text(&self, path: u64, at: Duration) -> String {
        fn number(value: Option<u64>) -> String {
            value.map_or_else(String::new, |value| value.to_string())
        }
        fn seconds(value: Option<Duration>) -> String {
            value.map_or_else(String::new, |value| format!("{:.6}", value.as_secs_f64()))
        }
        let probability = self
            .can_promise
            .map_or_else(String::new, |p| format!("{p:.4}"));
        format!(
            "{path},{:.6},{},{},{},{},{},{},{},{},{probability},{},{},{}\n",
            at.as_secs_f64(),
            self.event,
            self.what,
            number(self.slot),
            seconds(self.span.map(|(start, _)| start)),
            seconds(self.span.map(|(_, end)| end)),
            number(self.required_bps),
            number(self.achieved_bps),
            seconds(self.notice),
            self.cause,
            number(self.shortfall),
            self.note,
        )
    }

    /// How a promise stands.
    pub(super) fn of_status(status: Status) -> Self {
        let (cause, shortfall) = match status {
            Status::AtRisk { cause, shortfall } | Status::Broken { cause, shortfall } => {
                (cause.name(), Some(shortfall.get()))
            }
            // Idle or kept.
            _ => ("", None),
        };
        Self {
            event: "status",
            what: status.name(),
            cause,
            shortfall,
            ..Self::default()
        }
    }
}
