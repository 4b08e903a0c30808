//! A congestion controller that controls nothing: the measurement keeps to its own rates. It notes
//! what becomes of packets.

use quiche::cc::{
    AckReceived, CongestionController, Factory, PacketSent, PacketSpace, PacketsLost, PathContext,
    PeerAcks, Release, SendContext,
};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// More than any train has in flight.
const WINDOW: usize = 10_000_000;

/// So many notes are kept at most; they are taken after each datagram that comes.
const MOST_NOTES: usize = 10_000;

/// An acknowledgement that was held longer than this waited for a timer, or for its process. What
/// the peer states of such a delay is less exact than what is measured.
const HELD: Duration = Duration::from_millis(1);

/// What became of a packet, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// It caused an acknowledgement, which left the peer when the packet came. This is when the
    /// acknowledgement would have been here.
    Acknowledged(u64, Instant),
    /// An acknowledgement of a later packet says that it arrived.
    Arrived(u64),
    /// It was declared lost.
    Lost(u64),
}

/// What the observer has seen.
#[derive(Debug, Default)]
pub struct Notes {
    /// What became of packets since the last look.
    pub news: Vec<Note>,
    /// The last packet that left and has to be acknowledged.
    pub last_sent: Option<u64>,
    /// Whether the peer takes IMMEDIATE_ACK.
    pub at_once: bool,
}

/// Notes that observer and program share.
#[derive(Clone, Debug, Default)]
pub struct Shared(Arc<Mutex<Notes>>);

impl Shared {
    /// Reads or changes the notes.
    pub fn with<T>(&self, look: impl FnOnce(&mut Notes) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Factory for Shared {
    fn build(&self, _path: &PathContext) -> Box<dyn CongestionController> {
        Box::new(Observer(self.clone()))
    }
}

#[derive(Debug)]
struct Observer(Shared);

impl Observer {
    fn note(&self, note: Note) {
        self.0.with(|notes| {
            if notes.news.len() < MOST_NOTES {
                notes.news.push(note);
            }
        });
    }
}

impl CongestionController for Observer {
    fn cwnd(&self) -> usize {
        WINDOW
    }

    fn next_release(&mut self, _context: &SendContext) -> Release {
        Release::Now
    }

    fn on_packet_sent(&mut self, sent: &PacketSent) {
        if sent.space == PacketSpace::Application && sent.ack_eliciting {
            self.0
                .with(|notes| notes.last_sent = Some(sent.packet_number));
        }
    }

    fn on_ack(&mut self, ack: &AckReceived<'_>) {
        if ack.space != PacketSpace::Application {
            return;
        }
        for packet in ack.acked {
            let number = packet.packet_number;
            self.note(if number == ack.largest_acked && ack.ack_delay <= HELD {
                // A peer that claims to have waited longer than the round trip took is mistaken.
                let left = ack.now.checked_sub(ack.ack_delay);
                let at = left.filter(|at| *at > packet.time_sent);
                Note::Acknowledged(number, at.unwrap_or(ack.now))
            } else {
                Note::Arrived(number)
            });
        }
    }

    fn on_loss(&mut self, loss: &PacketsLost<'_>) {
        if loss.space == PacketSpace::Application {
            for packet in loss.lost {
                self.note(Note::Lost(packet.packet_number));
            }
        }
    }

    fn on_max_datagram_size(&mut self, _size: usize) {}

    fn on_peer_acks(&mut self, peer: &PeerAcks) {
        self.0
            .with(|notes| notes.at_once = peer.min_ack_delay.is_some());
    }

    fn state(&self) -> &'static str {
        "observing"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiche::cc::{AckedPacket, Rtt};

    const MS: Duration = Duration::from_millis(1);

    /// Packets 5 to 7 left at `sent`; their acknowledgement came `later`.
    fn notes(sent: Instant, later: Duration, ack_delay: Duration) -> Vec<Note> {
        let shared = Shared::default();
        let acked = [5, 6, 7].map(|packet_number| AckedPacket {
            packet_number,
            size: 1000,
            time_sent: sent,
            app_limited: true,
        });
        Observer(shared.clone()).on_ack(&AckReceived {
            now: sent + later,
            space: PacketSpace::Application,
            largest_acked: 7,
            ack_delay,
            acked: &acked,
            rtt: Rtt {
                latest: later,
                min: later,
                smoothed: later,
                variation: MS,
            },
            bytes_in_flight: 0,
            ecn_ce: None,
            receive_times: &[],
        });
        shared.with(|notes| notes.news.clone())
    }

    #[expect(clippy::disallowed_methods, reason = "any origin will do")]
    fn origin() -> Instant {
        Instant::now()
    }

    #[test]
    fn the_largest_packet_alone_has_a_time_of_its_own() {
        let sent = origin();
        let expected = [
            Note::Arrived(5),
            Note::Arrived(6),
            Note::Acknowledged(7, sent + 19 * MS),
        ];
        assert_eq!(notes(sent, 20 * MS, MS), expected);
    }

    #[test]
    fn a_delay_longer_than_the_round_trip_is_not_believed() {
        let sent = origin();
        let last = notes(sent, MS / 10, MS / 5).last().copied();
        assert_eq!(last, Some(Note::Acknowledged(7, sent + MS / 10)));
    }

    #[test]
    fn an_acknowledgement_that_was_held_back_tells_no_time() {
        let last = notes(origin(), 20 * MS, 5 * MS).last().copied();
        assert_eq!(last, Some(Note::Arrived(7)));
    }
}
