//! What sets the time at which echoes come: the data's own arrival, or something on the way back.
//!
//! The time of an echo is useful only while the packet's arrival at the peer decides it. A path
//! that releases packets in aggregates, a host that reads them in batches, and a full reverse link
//! all give echoes a time of their own. Four signs show this. The first two do not need the
//! capacity:
//!
//! - *Clumps*: packets that left well apart are echoed together. A link can bring packets only as
//!   close together as it serves them, so such packets are an aggregate.
//! - *A beat*: gaps between acknowledgements are all alike, while the packets that they cover are
//!   not. A link that serves data would need twice the time for twice the bytes. So this is the
//!   beat of another link, which sends one acknowledgement after the other ([`beat`]).
//! - *One pace*: packets that left one by one at the capacity's pace are all echoed more slowly
//!   than that, and at one pace ([`one_pace`]).
//! - *A contradiction*, found elsewhere ([`crate::path::capacity`]): by capacity and echoes
//!   together, others would send more than the link carries.
//!
//! After such a sign times are read coarsely: over gaps so long that the effect of the way back on
//! their ends is small.

mod beat;
mod one_pace;

use crate::units::{Bytes, Nanos, TimeDelta, Timestamp};
use beat::Neighbours;
use one_pace::OnePace;
use std::time::Duration;

/// The number of echoes for a judgement, as in [`super::CadenceDetector`].
const BLOCK: usize = 64;

/// Echoes are one clump if they are closer together than this part of the departures. A link that
/// serves both packets at C from a queue brings a flow at C / 4 four times closer together. Flows
/// below an eighth of the capacity come in clumps of two at most, if the queue belongs to others
/// and is short.
const CLUMP_DIVISOR: i64 = 8;

/// Echoes this close together are one clump, however their packets left: below 5 Gbit/s a full
/// packet takes longer.
const TOGETHER: TimeDelta = TimeDelta::from_nanos(2_000);

/// The average number of echoes per clump from which on clumps are the rule.
const CLUMPED_NUMERATOR: usize = 5;
const CLUMPED_DENOMINATOR: usize = 2;

/// How many blocks in a row must agree before echoes are read coarsely, and before they are read
/// finely again.
const AGREE_COARSE: u32 = 2;
const AGREE_FINE: u32 = 8;

/// The time after a contradiction in which fine reading is not tried again.
const DISTRUST: Duration = Duration::from_secs(30);

/// The shortest time of coarse reading. It doubles each time that a return to fine reading did not
/// last ten times as long. Nothing can be learnt from echoes if the way of reading them changes
/// often.
const COARSE_FOR: Duration = Duration::from_secs(1);
const RELAPSE_FACTOR: u32 = 10;

/// How many displacements of a block exceed the jitter.
const BEYOND: usize = BLOCK / 20;

/// What sets the time at which echoes come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EchoTiming {
    /// The data's own arrival.
    #[default]
    Own,
    /// The release of the aggregate in which the packet came. The edges of clumps can be read.
    Clumped,
    /// Something on the way back. Not even waiting can be read: nobody knows in which direction a
    /// packet waited.
    Foreign,
}

/// An echo and the one before it.
#[derive(Clone, Copy, Debug)]
pub struct EchoPair {
    /// How long after the one before it came.
    pub arrival: TimeDelta,
    /// How long after the other packet its own left.
    pub departure: TimeDelta,
    /// The packets that its acknowledgement covered, and their bytes on the wire.
    pub packets: u32,
    pub bytes: Bytes,
    /// How long the tight link needs for them.
    pub served: Option<Nanos>,
}

/// Follows gaps between echoes.
#[derive(Debug)]
pub struct TimingJudge {
    /// The echoes of the present block.
    filled: usize,
    /// How long after the echo before it each of them came, whichever was first.
    apart: [Nanos; BLOCK],
    /// The part of that gap that neither the time between the departures nor the link's own pace
    /// explains.
    off: [Nanos; BLOCK],
    /// How many packets the acknowledgement of each covered.
    packets: [u32; BLOCK],
    /// How many of them began a clump.
    clumps: usize,
    neighbours: Neighbours,
    one_pace: OnePace,
    /// The jitter of the last block and of the one before it.
    jitter: [Nanos; 2],
    timing: EchoTiming,
    /// How many blocks in a row speak for another timing.
    against: u32,
    distrusted_until: Timestamp,
    /// The timing until then.
    distrusted: EchoTiming,
    /// How long echoes were to be read coarsely when coarse reading last began, and the earliest
    /// time at which it ends.
    coarse_for: Duration,
    coarse_until: Timestamp,
}

impl Default for TimingJudge {
    fn default() -> Self {
        Self {
            filled: 0,
            apart: [Nanos::ZERO; BLOCK],
            off: [Nanos::ZERO; BLOCK],
            packets: [0; BLOCK],
            clumps: 0,
            neighbours: Neighbours::default(),
            one_pace: OnePace::default(),
            jitter: [Nanos::ZERO; 2],
            timing: EchoTiming::Own,
            against: 0,
            distrusted_until: Timestamp::ZERO,
            distrusted: EchoTiming::Own,
            coarse_for: Duration::ZERO,
            coarse_until: Timestamp::ZERO,
        }
    }
}

impl TimingJudge {
    /// An echo came.
    #[inline]
    pub fn on_echo(&mut self, now: Timestamp, echo: &EchoPair) {
        let arrival = echo.arrival;
        let off = (arrival - echo.departure).magnitude();
        let unserved = |served: Nanos| (arrival - served.signed()).magnitude();
        let at = self.filled % BLOCK;
        self.apart[at] = arrival.magnitude();
        self.off[at] = echo.served.map_or(off, |served| off.min(unserved(served)));
        self.packets[at] = echo.packets;
        self.clumps += usize::from(!Self::is_clump(arrival, echo.departure));
        self.neighbours.on_echo(echo);
        self.one_pace.on_echo(echo);
        self.filled = at + 1;
        if self.filled == BLOCK {
            self.judge(now);
            self.filled = 0;
            self.clumps = 0;
        }
    }

    /// Capacity and echoes contradict each other: something pushes echoes together. If it
    /// displaces them by no more than `readable`, their time can still be read coarsely.
    pub fn distrust(&mut self, now: Timestamp, readable: Nanos) {
        self.distrusted = if self.jitter() <= readable {
            EchoTiming::Clumped
        } else {
            EchoTiming::Foreign
        };
        self.timing = self.distrusted;
        self.against = 0;
        self.distrusted_until = now + DISTRUST;
    }

    /// Judges again whether distrusted echoes can be read coarsely. After a contradiction they
    /// were taken for unreadable, by their jitter at that moment. The start of a transfer, before
    /// its queue has filled, is a poor moment for that. If the jitter is now no more than
    /// `readable`, they can be read coarsely.
    pub fn reconsider(&mut self, readable: Nanos) {
        if self.distrusted == EchoTiming::Foreign && self.jitter() <= readable {
            self.distrusted = EchoTiming::Clumped;
        }
    }

    /// What sets the echoes' time.
    pub fn timing(&self) -> EchoTiming {
        self.timing
    }

    /// Whether only long gaps can be read.
    pub fn is_coarse(&self) -> bool {
        self.timing != EchoTiming::Own
    }

    /// The jitter: 95 % of the displacements stay below it. The time between two echoes differs
    /// from the time between their departures, and from the time that a busy link needs for the
    /// packets. The lesser difference is the displacement. Packets of others contribute to it.
    pub fn jitter(&self) -> Nanos {
        self.jitter[0].max(self.jitter[1])
    }

    /// Whether an echo that comes so soon after another belongs to the same clump.
    pub fn is_clump(arrival: TimeDelta, departure: TimeDelta) -> bool {
        arrival <= TOGETHER
            || arrival.as_nanos().saturating_mul(CLUMP_DIVISOR) < departure.as_nanos()
    }

    fn judge(&mut self, now: Timestamp) {
        self.jitter = [self.block_jitter(), self.jitter[0]];
        self.neighbours.on_block();
        self.one_pace.on_block();
        let seen = self.block_timing(now);
        if seen == self.timing {
            self.against = 0;
            return;
        }
        if seen == EchoTiming::Own && now < self.coarse_until {
            return;
        }
        self.against += 1;
        let enough = if seen == EchoTiming::Own {
            AGREE_FINE
        } else {
            AGREE_COARSE
        };
        if self.against >= enough {
            if self.timing == EchoTiming::Own {
                self.begin_coarse(now);
            }
            self.timing = seen;
            self.against = 0;
        }
    }

    fn begin_coarse(&mut self, now: Timestamp) {
        let relapse = now < self.coarse_until + self.coarse_for * RELAPSE_FACTOR;
        self.coarse_for = if relapse {
            (self.coarse_for * 2).min(DISTRUST)
        } else {
            COARSE_FOR
        };
        self.coarse_until = now + self.coarse_for;
    }

    fn block_timing(&self, now: Timestamp) -> EchoTiming {
        let is_beat = beat::is_heard(&self.apart, &self.packets)
            || self.neighbours.show_a_beat()
            || self.one_pace.is_a_beat();
        if is_beat {
            EchoTiming::Foreign
        } else if now < self.distrusted_until {
            self.distrusted
        } else if self.comes_in_clumps() {
            EchoTiming::Clumped
        } else {
            EchoTiming::Own
        }
    }

    /// The least of the greatest displacements, of which there is one more than [`BEYOND`].
    fn block_jitter(&self) -> Nanos {
        let mut greatest = [Nanos::ZERO; BEYOND + 1];
        for off in self.off {
            // Most are none of the greatest.
            if off > greatest[0] {
                let place = greatest.partition_point(|other| *other < off) - 1;
                greatest.copy_within(1..=place, 0);
                greatest[place] = off;
            }
        }
        greatest[0]
    }

    fn comes_in_clumps(&self) -> bool {
        BLOCK * CLUMPED_DENOMINATOR >= self.clumps.max(1) * CLUMPED_NUMERATOR
    }
}

#[cfg(test)]
mod tests;
