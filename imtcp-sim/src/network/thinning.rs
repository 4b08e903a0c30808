//! Thinning of acknowledgements by a hop, as some access networks do it.

use super::{Owner, Packet};
use imtcp_cc::units::Bytes;

/// The largest IP packet that is taken for a pure acknowledgement. A QUIC ACK with a few ranges is
/// smaller. A packet with data is larger, unless it carries a few bytes only.
const LARGEST_ACKNOWLEDGEMENT: Bytes = Bytes::new(100);

/// Lets every n-th small packet of each flow through and drops the others.
#[derive(Clone, Debug)]
pub struct Thinning {
    keep_every: u32,
    /// Small packets seen since the last one kept, by flow.
    seen: Vec<u32>,
}

impl Thinning {
    /// `keep_every` of 1 keeps all.
    pub fn new(keep_every: u32) -> Self {
        Self {
            keep_every,
            seen: Vec::new(),
        }
    }

    /// Whether the hop drops this packet.
    pub fn drops(&mut self, packet: &Packet) -> bool {
        let Owner::Flow(flow) = packet.owner else {
            return false;
        };
        if self.keep_every <= 1 || packet.size > LARGEST_ACKNOWLEDGEMENT {
            return false;
        }
        if self.seen.len() <= flow.0 {
            self.seen.resize(flow.0 + 1, 0);
        }
        let seen = &mut self.seen[flow.0];
        *seen = (*seen + 1) % self.keep_every;
        *seen != 0
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Ecn, FlowId};
    use super::*;

    fn packet(owner: Owner, size: u64) -> Packet {
        Packet {
            size: Bytes::new(size),
            owner,
            ecn: Ecn::NotCapable,
            datagram: None,
            probe: None,
        }
    }

    #[test]
    fn every_nth_small_packet_of_each_flow_passes() {
        let mut thinning = Thinning::new(4);
        let one = packet(Owner::Flow(FlowId(0)), 60);
        let other = packet(Owner::Flow(FlowId(1)), 60);
        let mut kept = [0, 0];
        for _ in 0..40 {
            kept[0] += u32::from(!thinning.drops(&one));
            kept[1] += u32::from(!thinning.drops(&other));
        }
        assert_eq!(kept, [10, 10]);
    }

    #[test]
    fn data_and_cross_traffic_pass() {
        let mut thinning = Thinning::new(4);
        for _ in 0..8 {
            assert!(!thinning.drops(&packet(Owner::Flow(FlowId(0)), 1378)));
            assert!(!thinning.drops(&packet(Owner::Cross, 40)));
        }
    }
}
