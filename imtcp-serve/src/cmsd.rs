//! Common Media Server Data (CTA-5006): what the server knows of the path, for the player's choice
//! of quality. dash.js reads `etp` and `mb`.

use crate::required::HEADROOM;
use imtcp_cc::Estimate;
use imtcp_cc::units::{Bandwidth, Bytes};
use sfv::{KeyRef, ListSerializer, StringRef};
use std::time::Duration;

/// The field of responses.
pub const FIELD: &str = "cmsd-dynamic";

/// The entity that says it, as CTA-5006 wants it named.
const ENTITY: &str = "imtcp-serve";

/// The share of application data in IP packets of full size: 1350 bytes of QUIC, of which about 40
/// are headers and a tag, in 1378 of IPv4.
const GOODPUT_SHARE: f64 = 0.95;

/// What is known of a path when a response begins.
#[derive(Clone, Copy, Debug, Default)]
pub struct PathView {
    /// The smoothed round trip.
    pub round_trip: Option<Duration>,
    /// The window, in bytes, of a controller that does not measure.
    pub window: Option<u64>,
    /// What the inline measurement found last.
    pub estimate: Option<Estimate>,
}

impl PathView {
    /// `etp`: the available bandwidth as measured, in goodput. Where nothing measures, a window in
    /// a round trip, as CTA-5006 suggests. Where something does and cannot tell, nothing.
    pub fn estimated(&self) -> Option<Bandwidth> {
        let by_window = || {
            let window = Bytes::new(self.window?);
            Bandwidth::from_bytes_over(window, self.round_trip?)
        };
        let measured = |estimate: Estimate| estimate.available.scaled(GOODPUT_SHARE);
        self.estimate.map(measured).or_else(by_window)
    }

    /// `mb`: the highest bit rate whose objects come as fast as they play, by the estimate. Its
    /// interval is of no use here: beside bursts of segments it often reaches down to 0.
    pub fn suggested(&self) -> Option<Bandwidth> {
        let available = self.estimate?.available;
        Some(available.scaled(GOODPUT_SHARE / HEADROOM)).filter(|rate| !rate.is_zero())
    }

    /// The value of the field. `None` while nothing is known.
    pub fn field(&self) -> Option<String> {
        let rate = |rate: Bandwidth| Some((rate.as_bps() + 500) / 1000);
        let round_trip = self.round_trip.map(|span| span.as_micros().div_ceil(1000));
        let keys = [
            ("etp", self.estimated().and_then(rate)),
            ("mb", self.suggested().and_then(rate)),
            ("rtt", round_trip.and_then(|span| u64::try_from(span).ok())),
        ];
        let mut list = ListSerializer::new();
        let mut entity = list.bare_item(StringRef::constant(ENTITY));
        let mut is_empty = true;
        for (key, value) in keys {
            let value = value.and_then(|value| sfv::Integer::try_from(value).ok());
            if let Some(value) = value {
                entity = entity.parameter(KeyRef::constant(key), value);
                is_empty = false;
            }
        }
        if is_empty {
            return None;
        }
        list.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use imtcp_cc::Flags;
    use imtcp_cc::units::Timestamp;

    fn measured(kbps: u64) -> PathView {
        let available = Bandwidth::from_kbps(kbps);
        let estimate = Estimate {
            at: Timestamp::from_nanos(1),
            available,
            low: Bandwidth::ZERO,
            high: available,
            window: Duration::from_secs(1),
            flags: Flags::default(),
        };
        PathView {
            round_trip: Some(Duration::from_micros(38_200)),
            window: None,
            estimate: Some(estimate),
        }
    }

    #[test]
    fn the_field_has_estimate_suggestion_and_round_trip() {
        // 0.95 of 20 Mbit/s, and 0.95 / 1.1 of it.
        let field = measured(20_000).field();
        let expected = "\"imtcp-serve\";etp=19000;mb=17273;rtt=39";
        assert_eq!(field.as_deref(), Some(expected));
    }

    #[test]
    fn where_nothing_is_available_nothing_is_suggested() {
        let field = measured(0).field();
        assert_eq!(field.as_deref(), Some("\"imtcp-serve\";etp=0;rtt=39"));
    }

    #[test]
    fn a_window_tells_something_where_nothing_measures() {
        let unmeasured = PathView {
            round_trip: Some(Duration::from_micros(38_200)),
            window: Some(100_000),
            ..PathView::default()
        };
        // 800 000 bits in 38.2 ms.
        let field = unmeasured.field();
        assert_eq!(field.as_deref(), Some("\"imtcp-serve\";etp=20942;rtt=39"));
    }

    #[test]
    fn a_measurement_that_cannot_tell_is_no_estimate() {
        let unknown = PathView {
            estimate: None,
            ..measured(20_000)
        };
        let field = unknown.field();
        assert_eq!(field.as_deref(), Some("\"imtcp-serve\";rtt=39"));
        assert_eq!(PathView::default().field(), None);
    }
}
