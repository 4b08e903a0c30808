//! Westwood: Reno, whose threshold after a loss is the window that the used bandwidth fills
//! without a queue (DFT (4)).

use super::window::{Law, Reduced};
use crate::estimators::{Dft, Estimator, Westwood as Own};
use crate::observe::Feed;
use imtcp_cc::units::Bytes;
use quiche::cc::{AckReceived, PacketSent};
use std::time::Instant;

/// The law with any estimator.
#[derive(Debug)]
pub(super) struct Westwood {
    feed: Feed,
    estimator: Box<dyn Estimator>,
}

/// With Westwood's own estimator.
pub(super) fn own(now: Instant) -> Westwood {
    with(now, Box::new(Own::default()))
}

/// With DFT on sent packets.
pub(super) fn dft_on_sent(now: Instant) -> Westwood {
    with(now, Box::new(Dft::of_sent_packets()))
}

/// With DFT on acknowledgements.
pub(super) fn dft_on_acks(now: Instant) -> Westwood {
    with(now, Box::new(Dft::of_acknowledgements()))
}

fn with(now: Instant, estimator: Box<dyn Estimator>) -> Westwood {
    Westwood {
        // The window counts UDP payload, so the estimate does as well.
        feed: Feed::new(now, Bytes::ZERO),
        estimator,
    }
}

impl Law for Westwood {
    fn growth(&self, _window: f64) -> f64 {
        1.0
    }

    /// ssthresh = Bwe * RTT_min. Without an estimate it is Reno's.
    fn threshold(&self, reduced: &Reduced) -> f64 {
        let Some(used) = self.estimator.estimate() else {
            return reduced.window / 2.0;
        };
        used.bytes_in(reduced.min_rtt).as_f64() / reduced.packet
    }

    /// cwnd = ssthresh if it is above it, and stays otherwise (Westwood, after three duplicate
    /// acknowledgements).
    fn window(&self, reduced: &Reduced, threshold: f64) -> f64 {
        reduced.window.min(threshold)
    }

    fn on_sent(&mut self, sent: &PacketSent) {
        self.feed
            .on_sent(sent, std::iter::once(&mut self.estimator));
    }

    fn on_ack(&mut self, ack: &AckReceived<'_>) {
        self.feed.on_ack(ack, std::iter::once(&mut self.estimator));
    }
}
