//! Lists of what quiche's loss detection sees packet by packet and does not keep.

use crate::cc::LostPacket;
use crate::recovery::Sent;

/// Lists of the packets that one run of loss detection touched. Stays empty, at no cost, until a
/// plug-in switches it on.
#[derive(Default)]
pub(crate) struct Observed {
    enabled: bool,
    lost: Vec<LostPacket>,
    spurious: Vec<u64>,
}

impl Observed {
    pub(super) fn enable(&mut self) {
        self.enabled = true;
    }

    /// A packet was declared lost.
    pub(crate) fn on_lost(&mut self, packet: &Sent) {
        if self.enabled && packet.in_flight {
            self.lost.push(LostPacket {
                packet_number: packet.pkt_num,
                size: packet.size,
                time_sent: packet.time_sent,
            });
        }
    }

    /// A packet was acknowledged after it had been declared lost.
    pub(crate) fn on_spurious(&mut self, packet: &Sent) {
        if self.enabled && packet.in_flight {
            self.spurious.push(packet.pkt_num);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lost.is_empty() && self.spurious.is_empty()
    }

    pub(super) fn lost(&self) -> &[LostPacket] {
        &self.lost
    }

    pub(super) fn spurious(&self) -> &[u64] {
        &self.spurious
    }

    /// Forgets both lists and keeps their memory.
    pub(super) fn clear(&mut self) {
        self.lost.clear();
        self.spurious.clear();
    }
}
