//! What became of a probe stream, packet by packet. It is gathered only while somebody keeps a log.

use crate::measurement::{Judged, MAX_SUB_RANGES, Measuring, Step};
use crate::units::{Bandwidth, Bytes, Timestamp};

/// A stream whose trend was judged, or whose measurement ended before that.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StreamReport {
    /// The measurement that the stream belongs to.
    pub measurement: u64,
    /// The number of the stream; 1 is the fastest.
    pub stream: u32,
    /// The lower end of the stream's sub-range, in IP-layer bits per second.
    pub low: Bandwidth,
    /// The upper end of the stream's sub-range, in IP-layer bits per second.
    pub high: Bandwidth,
    /// The packets, in the order in which they left.
    pub packets: Vec<ProbePacket>,
    /// The share of packet pairs whose delay rises (PCT of Pathload); `None` without a pair.
    pub pct: Option<f64>,
    /// The share of the delay's movement that is a net rise (PDT of Pathload); `None` without a
    /// pair.
    pub pdt: Option<f64>,
    /// The trend of the delay (T_i of IM 3.2.3): +1, -1, or 0 if the stream cannot tell.
    pub trend: i8,
    /// The verdict in a word, with its reason where the stream cannot tell: `increasing`,
    /// `not_increasing`, `incomplete`, `packet_lost`, `too_few_echoes`, `contradiction` or
    /// `grey_zone`.
    pub verdict: &'static str,
}

/// A packet of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbePacket {
    /// The packet number.
    pub number: u64,
    /// The size on the wire, headers included.
    pub size: Bytes,
    /// When the packet was to leave; `None` if nobody planned that.
    pub planned: Option<Timestamp>,
    /// When it left (S of IM 3.2.3).
    pub sent: Timestamp,
    /// When its echo came (R of IM 3.2.3), or when it was declared lost.
    pub echo: Option<Timestamp>,
    /// How far the time of the echo can be trusted: `single`, `aggregated`, `lost` or `reordered`.
    pub quality: &'static str,
}

/// What a log has to know of the present measurement beside its record.
#[derive(Debug, Default)]
pub(crate) struct Plans {
    /// Packets with the times at which they were due.
    due: Vec<(u64, Timestamp)>,
    /// The streams that were reported, a bit each.
    reported: u64,
}

/// The most packets of which the plan is kept: those of two measurements of the largest size.
const MOST_PLANNED: usize = 2048;

impl Plans {
    /// The scheduler took a step. True if the measurement ends with it, unfinished.
    pub(crate) fn on_step(&mut self, step: &Step) -> bool {
        match *step {
            Step::MeasurementStarted { .. } => self.reported = 0,
            // It began, or began again.
            Step::StreamStarted { stream, .. } => self.reported &= !bit(stream),
            _ => {}
        }
        matches!(step, Step::MeasurementAbandoned { .. })
    }

    /// Reports the streams of which everything is known, or all that were not reported yet if the
    /// measurement `is_over`.
    pub(crate) fn report(
        &mut self,
        measuring: &Measuring,
        is_over: bool,
        mut push: impl FnMut(StreamReport),
    ) {
        for stream in 1..=MAX_SUB_RANGES {
            if self.reported & bit(stream) != 0 {
                continue;
            }
            let judged = measuring.judged(stream);
            let is_due = |it: &Judged<'_>| !it.packets.is_empty() && (is_over || it.is_whole);
            if let Some(judged) = judged.filter(is_due) {
                self.reported |= bit(stream);
                push(self.report_of(stream, &judged));
            }
        }
    }

    /// A probe packet left that was due then. The first packet of a stream is never late, because
    /// the stream begins with it.
    pub(crate) fn on_sent(&mut self, number: u64, due: Timestamp) {
        if self.due.len() == MOST_PLANNED {
            self.due.drain(..MOST_PLANNED / 2);
        }
        self.due.push((number, due));
    }

    fn report_of(&self, stream: u32, judged: &Judged<'_>) -> StreamReport {
        let planned = |number: u64| {
            let found = self.due.binary_search_by_key(&number, |(known, _)| *known);
            found.ok().map(|at| self.due[at].1)
        };
        let packets = judged.packets.iter().map(|packet| ProbePacket {
            number: packet.number,
            size: packet.size,
            planned: planned(packet.number),
            sent: packet.sent,
            echo: packet.echo.map(|echo| echo.at),
            quality: packet.echo.map_or("none", |echo| echo.quality.name()),
        });
        StreamReport {
            measurement: judged.measurement,
            stream,
            low: judged.low,
            high: judged.high,
            packets: packets.collect(),
            pct: judged.pct,
            pdt: judged.pdt,
            trend: judged.trend,
            verdict: judged.verdict,
        }
    }
}

fn bit(stream: u32) -> u64 {
    1 << stream.min(u64::BITS - 1)
}
