//! How clients acknowledged, as the server's controllers saw it.

use quiche::cc::{AckReceived, PacketSpace};
use serde::Serialize;
use std::fmt;

/// Counts over all connections.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Acknowledgements {
    /// ACK frames that acknowledged something new.
    pub frames: u64,
    /// The packets that they acknowledged.
    pub packets: u64,
    /// Those of these whose time of arrival the client told.
    pub timed_packets: u64,
    /// Requests to acknowledge more or less often.
    pub requests: u64,
}

impl Acknowledgements {
    pub(crate) fn on_ack(&mut self, ack: &AckReceived<'_>) {
        if ack.space == PacketSpace::Application {
            self.frames += 1;
            self.packets += ack.acked.len() as u64;
            self.timed_packets += ack.receive_times.len() as u64;
        }
    }

    pub(crate) fn on_request(&mut self) {
        self.requests += 1;
    }
}

impl fmt::Display for Acknowledgements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "acknowledgements: {} for {} packets, {} of these with the time of arrival; requests: \
             {}",
            self.frames, self.packets, self.timed_packets, self.requests
        )
    }
}
