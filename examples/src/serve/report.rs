//! What a server has to say at its end.

use super::client::Client;
use crate::acknowledgements::Acknowledgements;
use crate::slots::SlotTotals;
use crate::timing::TimingSummary;
use serde::Serialize;
use std::fmt;

/// Totals over all connections.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Report {
    /// Connections that came.
    pub connections: u64,
    /// Responses given to quiche in full.
    pub responses: u64,
    /// Packets sent, of whatever kind.
    pub sent_packets: u64,
    /// UDP payload of these.
    pub sent_bytes: u64,
    /// Bytes of packets that were acknowledged.
    pub acknowledged_bytes: u64,
    /// Seconds from the first datagram of a client to its latest; of the longest connection.
    pub longest_connection_s: f64,
    /// Packets declared lost.
    pub lost_packets: u64,
    /// Stream data sent more than once.
    pub retransmitted_bytes: u64,
    /// Datagrams that had to wait for room in the socket: their send times are wrong.
    pub blocked_sends: u64,
    /// Datagrams that the kernel refused.
    pub refused_sends: u64,
    /// How clients acknowledged; nothing for quiche's own controllers.
    pub acknowledgements: Option<Acknowledgements>,
    /// Planned times against real ones; nothing for quiche's own controllers.
    pub timing: Option<TimingSummary>,
    /// What became of the promises; nothing if there were none.
    pub slots: Option<SlotTotals>,
}

impl Report {
    pub(super) fn add(&mut self, client: &Client) {
        let stats = client.session.connection.stats();
        self.responses += client.completed_responses();
        self.sent_packets += stats.sent as u64;
        self.sent_bytes += stats.sent_bytes;
        self.acknowledged_bytes += stats.acked_bytes;
        let heard_for = client.session.heard_for().as_secs_f64();
        self.longest_connection_s = self.longest_connection_s.max(heard_for);
        self.lost_packets += stats.lost as u64;
        self.retransmitted_bytes += stats.stream_retrans_bytes;
        self.blocked_sends += client.session.blocked_sends;
        self.refused_sends += client.refused_sends;
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "connections: {}, responses: {}",
            self.connections, self.responses
        )?;
        writeln!(
            f,
            "sent: {} packets, {} bytes; lost: {} packets; sent again: {} bytes",
            self.sent_packets, self.sent_bytes, self.lost_packets, self.retransmitted_bytes
        )?;
        write!(
            f,
            "sends that waited for the socket: {}, refused: {}",
            self.blocked_sends, self.refused_sends
        )?;
        if let Some(acknowledgements) = &self.acknowledgements {
            write!(f, "\n{acknowledgements}")?;
        }
        if let Some(timing) = &self.timing {
            write!(f, "\n{timing}")?;
        }
        match &self.slots {
            Some(slots) => write!(f, "\n{slots}"),
            None => Ok(()),
        }
    }
}
