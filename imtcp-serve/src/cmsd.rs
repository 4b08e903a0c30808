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

/// The same in QUIC packets.
const CONTENT_SHARE: f64 = 0.97;

/// What is known of a path when a response begins.
#[derive(Clone, Copy, Debug, Default)]
pub struct PathView {
    /// The smoothed round trip.
    pub round_trip: Option<Duration>,
    /// The window, in bytes, of a controller that does not measure.
    pub window: Option<u64>,
    /// What the inline measurement found last.
    pub estimate: Option<Estimate>,
    /// The rate that the last answer of some length had, in QUIC packets.
    pub delivered: Option<Bandwidth>,
}

impl PathView {
    /// `etp`: the available bandwidth as measured, and as seen, in goodput. Where nothing measures
    /// and nothing was sent yet, a window in a round trip, as CTA-5006 suggests. Where something
    /// measures and cannot tell, nothing.
    pub fn estimated(&self) -> Option<Bandwidth> {
        let by_window = || {
            let window = Bytes::new(self.window?);
            Bandwidth::from_bytes_over(window, self.round_trip?)
        };
        self.known().or_else(by_window)
    }

    /// By the estimate and by what the last answer had. Between the segments of a player the
    /// estimate is often withdrawn, or so vague that its value is chance. What was delivered was
    /// available.
    fn known(&self) -> Option<Bandwidth> {
        let delivered = self.delivered.map(|rate| rate.scaled(CONTENT_SHARE));
        let estimate = self.estimate.filter(|estimate| {
            let [low, high] = [estimate.low, estimate.high].map(|end| end.scaled(GOODPUT_SHARE));
            delivered.is_none_or(|delivered| low > delivered || high < delivered.scaled(2.0))
        });
        let measured = estimate.map(|estimate| estimate.available.scaled(GOODPUT_SHARE));
        measured.max(delivered)
    }

    /// `mb`: the highest bit rate whose objects come as fast as they play.
    pub fn suggested(&self) -> Option<Bandwidth> {
        let rate = self.known()?.scaled(1.0 / HEADROOM);
        Some(rate).filter(|rate| !rate.is_zero())
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
            delivered: None,
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
    fn what_was_delivered_was_available() {
        let etp = |view: PathView| view.estimated().map(Bandwidth::as_bps);
        let with = |kbps, low, high| {
            let mut view = measured(kbps);
            let ends = (Bandwidth::from_kbps(low), Bandwidth::from_kbps(high));
            view.estimate = view.estimate.map(|mut estimate| {
                (estimate.low, estimate.high) = ends;
                estimate
            });
            view.delivered = Some(Bandwidth::from_mbps(10));
            etp(view)
        };
        // A sharp estimate above it holds, one below it does not.
        assert_eq!(with(12_000, 9_000, 15_000), Some(11_400_000));
        assert_eq!(with(40_000, 20_000, 60_000), Some(38_000_000));
        assert_eq!(with(8_000, 7_000, 9_000), Some(9_700_000));
        // One that may be anything tells nothing.
        assert_eq!(with(200_000, 0, 600_000), Some(9_700_000));
        let unmeasured = PathView {
            delivered: Some(Bandwidth::from_mbps(10)),
            window: Some(1_000_000),
            round_trip: Some(Duration::from_millis(1)),
            estimate: None,
        };
        assert_eq!(etp(unmeasured), Some(9_700_000));
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
