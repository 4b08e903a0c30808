//! What is required and what gets through, in the units that the control counts in.

use super::super::law::PromiseLaw;
use super::super::requirement::Requirement;
use super::{Keeper, PathState};
use crate::units::Bytes;

/// The largest share of losses that is sent on top, and of repeats.
const MOST_LOSS: f64 = 0.5;
const MOST_REPEATS: f64 = 0.5;

impl Keeper {
    /// The goodput of a full datagram.
    pub(super) fn goodput_of(&self, path: &PathState) -> Bytes {
        self.goodput_of_datagram(path.datagram)
    }

    pub(super) fn goodput_of_datagram(&self, datagram: Bytes) -> Bytes {
        let payload = datagram.saturating_sub(self.settings.packet_overhead);
        payload.max(Bytes::new(1))
    }

    /// The required rate without its margin, in packets per second.
    pub(super) fn bare_packets(&self, path: &PathState, requirement: &Requirement) -> f64 {
        requirement.rate().as_bps_f64() / self.goodput_of(path).as_bits_f64()
    }

    /// The rate at which the control aims, in packets per second.
    pub(super) fn required_packets(&self, path: &PathState, requirement: &Requirement) -> f64 {
        let bw = self.bare_packets(path, requirement);
        if self.settings.law == PromiseLaw::Paper {
            return bw;
        }
        let per = requirement.per().as_secs_f64();
        let (round_trip, packets) = (path.smoothed.as_secs_f64() / per, bw * per);
        (1.0 + self.margin.of(requirement.wanted(), round_trip, packets)) * bw
    }

    /// How many bytes are sent for each one of full packets that gets through: what is lost is sent
    /// again, probes send again what may not be lost, and smaller packets have more headers.
    pub(super) fn sent_for_each(&self, path: &PathState) -> f64 {
        let payload = |size: Bytes| {
            let payload = size.saturating_sub(self.settings.packet_overhead);
            payload.max(Bytes::new(1)).as_f64() / size.as_f64().max(1.0)
        };
        match self.settings.law {
            PromiseLaw::Paper => 1.0,
            PromiseLaw::Proportional => {
                let headers = payload(path.datagram) / payload(path.leaving);
                let repeated = self.repeats.share().min(MOST_REPEATS);
                headers / (1.0 - path.lost.min(MOST_LOSS)) / (1.0 - repeated)
            }
        }
    }
}
