//! What happened in a measurement: real send times, real echoes.

use super::range::{SearchRange, SubRange};
use super::{MAX_STREAM_PACKETS, MAX_SUB_RANGES};
use crate::path::ack::EchoCadence;
use crate::path::ack::EchoQuality;
use crate::units::{Bandwidth, Bytes, Timestamp};
use std::time::Duration;

/// An acknowledgement as the echo of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When the acknowledgement came (R of IM 3.2.3). For a lost packet, when the loss was
    /// declared.
    pub at: Timestamp,
    /// How far that time can be trusted.
    pub quality: EchoQuality,
}

/// A packet of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketRecord {
    /// The QUIC packet number. Numbers rise within a stream, with gaps.
    pub number: u64,
    /// The size on the wire, IP and UDP headers included (M of IM 3.2.3).
    pub size: Bytes,
    /// When the packet really left (S of IM 3.2.3).
    pub sent: Timestamp,
    /// The echo's time and quality, once the packet was acknowledged or declared lost.
    pub echo: Option<Arrival>,
}

impl PacketRecord {
    /// A packet that just left.
    pub fn sent(number: u64, size: Bytes, sent: Timestamp) -> Self {
        Self {
            number,
            size,
            sent,
            echo: None,
        }
    }

    /// The echo time, if it is the packet's own time (R of IM 3.2.3).
    pub fn timed_arrival(&self) -> Option<Timestamp> {
        self.echo
            .filter(|echo| echo.quality.is_timed())
            .map(|echo| echo.at)
    }

    /// Whether the packet was acknowledged, at whatever time.
    pub fn has_arrived(&self) -> bool {
        self.echo.is_some_and(|echo| echo.quality.has_arrived())
    }

    /// Whether the packet was declared lost.
    pub fn is_lost(&self) -> bool {
        self.echo.is_some_and(|echo| !echo.quality.has_arrived())
    }
}

/// A stream as it was really sent. The record is kept and refilled, and never grows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamRecord {
    rates: SubRange,
    target: usize,
    packets: Vec<PacketRecord>,
}

impl StreamRecord {
    fn new(target: usize, room: usize) -> Self {
        Self {
            rates: SubRange {
                low: Bandwidth::ZERO,
                high: Bandwidth::ZERO,
            },
            target,
            packets: Vec::with_capacity(room),
        }
    }

    /// The packets that left, in the order in which they left.
    pub fn packets(&self) -> &[PacketRecord] {
        &self.packets
    }

    /// Whether the stream was begun.
    pub fn was_sent(&self) -> bool {
        !self.packets.is_empty()
    }

    /// Whether all packets of the stream left.
    pub fn is_complete(&self) -> bool {
        self.packets.len() == self.target
    }

    /// Whether every packet that left was acknowledged or declared lost.
    pub fn is_settled(&self) -> bool {
        self.packets.iter().all(|packet| packet.echo.is_some())
    }
}

/// One measurement: up to k streams over one search range (IM 3.2).
///
/// It is allocated once and refilled for each measurement. Streams are counted from 1, the
/// fastest, as in the paper; stream numbers outside 1..=k are ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeasurementRecord {
    measurement: u64,
    range: SearchRange,
    cadence: EchoCadence,
    streams: Vec<StreamRecord>,
}

impl MeasurementRecord {
    /// A record with room for `sub_ranges` streams of `packets` packets, and for the longer
    /// streams that a peer with delayed acknowledgements needs. Both numbers are held to the
    /// bounds of [`crate::Config`].
    pub fn new(sub_ranges: u32, packets: u32) -> Self {
        let packets = packets.clamp(2, MAX_STREAM_PACKETS);
        let longest = EchoCadence::EverySecond.stream_packets(packets);
        let room = longest.min(MAX_STREAM_PACKETS) as usize;
        let packets = packets as usize;
        let sub_ranges = sub_ranges.clamp(1, MAX_SUB_RANGES) as usize;
        Self {
            measurement: 0,
            range: SearchRange::first(Bandwidth::ZERO),
            cadence: EchoCadence::default(),
            streams: (0..sub_ranges)
                .map(|_| StreamRecord::new(packets, room))
                .collect(),
        }
    }

    /// Changes the number of packets of a stream for the measurements to come (N of IM 3.2.3). A
    /// peer that acknowledges in another way needs streams of another length (IM 3.5.1). Makes room
    /// if there is too little.
    pub fn set_stream_packets(&mut self, packets: u32) {
        let packets = packets.clamp(2, MAX_STREAM_PACKETS) as usize;
        for stream in &mut self.streams {
            stream.packets.clear();
            stream.packets.reserve(packets);
            stream.target = packets;
        }
    }

    /// Empties the record for measurement number `measurement` over `range`, with a peer that
    /// acknowledges at `cadence`.
    pub fn begin(&mut self, measurement: u64, range: SearchRange, cadence: EchoCadence) {
        self.measurement = measurement;
        self.range = range;
        self.cadence = cadence;
        let sub_ranges = self.sub_ranges();
        for (i, stream) in (1..).zip(&mut self.streams) {
            stream.packets.clear();
            stream.rates = range.sub_range(i, sub_ranges);
        }
    }

    /// Empties stream `i`, which is about to be sent, or sent again (IM 3.4.1).
    pub fn begin_stream(&mut self, i: u32) {
        if let Some(stream) = self.slot(i) {
            stream.packets.clear();
        }
    }

    /// A packet of stream `i` left. Packets after the N-th are ignored.
    pub fn on_sent(&mut self, i: u32, packet: PacketRecord) {
        if let Some(stream) = self.slot(i)
            && stream.packets.len() < stream.target
        {
            stream.packets.push(packet);
        }
    }

    /// Packet `number` was acknowledged or declared lost. Returns the stream of the packet, if it
    /// belongs to one. The first report on a packet stands, so that a late acknowledgement of a
    /// packet that was declared lost changes no verdict.
    pub fn on_echo(&mut self, number: u64, echo: Arrival) -> Option<u32> {
        for (i, stream) in (1..).zip(&mut self.streams) {
            if let Ok(at) = stream
                .packets
                .binary_search_by_key(&number, |packet| packet.number)
            {
                stream.packets[at].echo.get_or_insert(echo);
                return Some(i);
            }
        }
        None
    }

    /// Echoes come by another clock from now on. When those so far came is not known by that one.
    pub fn on_other_clock(&mut self) {
        let packets = self.streams.iter_mut().flat_map(|it| &mut it.packets);
        for echo in packets.filter_map(|packet| packet.echo.as_mut()) {
            if echo.quality.is_timed() {
                echo.quality = EchoQuality::Aggregated;
            }
        }
    }

    /// The number of the measurement.
    pub fn measurement(&self) -> u64 {
        self.measurement
    }

    /// The search range that was really probed.
    pub fn range(&self) -> SearchRange {
        self.range
    }

    /// Which packets the peer is assumed to acknowledge by themselves.
    pub fn cadence(&self) -> EchoCadence {
        self.cadence
    }

    /// The number of streams of the measurement (k of IM 3.2.2).
    pub fn sub_ranges(&self) -> u32 {
        u32::try_from(self.streams.len()).unwrap_or(MAX_SUB_RANGES)
    }

    /// The number of packets of a whole stream (N of IM 3.2.3).
    pub fn stream_packets(&self) -> usize {
        self.streams.first().map_or(0, |stream| stream.target)
    }

    /// Stream `i`; 1 is the fastest.
    pub fn stream(&self, i: u32) -> Option<&StreamRecord> {
        let at = usize::try_from(i.checked_sub(1)?).ok()?;
        self.streams.get(at)
    }

    /// All k streams, the fastest first, whether sent or not.
    pub fn streams(&self) -> &[StreamRecord] {
        &self.streams
    }

    /// Whether every packet that left was acknowledged or declared lost.
    pub fn is_settled(&self) -> bool {
        self.streams.iter().all(StreamRecord::is_settled)
    }

    /// Whether a packet was acknowledged in a group.
    pub fn has_aggregated_echoes(&self) -> bool {
        self.arrivals()
            .any(|echo| echo.quality == EchoQuality::Aggregated)
    }

    /// When the last acknowledgement of the measurement came in, and how long that was after the
    /// first.
    pub fn arrival_span(&self) -> Option<(Timestamp, Duration)> {
        let arrived = || self.arrivals().filter(|echo| echo.quality.has_arrived());
        let first = arrived().map(|echo| echo.at).min()?;
        let last = arrived().map(|echo| echo.at).max()?;
        Some((last, last.saturating_since(first)))
    }

    fn arrivals(&self) -> impl Iterator<Item = Arrival> {
        self.streams
            .iter()
            .flat_map(|stream| &stream.packets)
            .filter_map(|packet| packet.echo)
    }

    fn slot(&mut self, i: u32) -> Option<&mut StreamRecord> {
        let at = usize::try_from(i.checked_sub(1)?).ok()?;
        self.streams.get_mut(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64, quality: EchoQuality) -> Arrival {
        Arrival {
            at: Timestamp::from_nanos(nanos),
            quality,
        }
    }

    fn two_streams() -> MeasurementRecord {
        let mut record = MeasurementRecord::new(2, 3);
        record.begin(
            7,
            SearchRange::first(Bandwidth::from_mbps(80)),
            EchoCadence::EveryPacket,
        );
        for (i, numbers) in [(1, [10, 11, 13]), (2, [20, 21, 22])] {
            record.begin_stream(i);
            for number in numbers {
                let sent = Timestamp::from_nanos(number * 100);
                record.on_sent(i, PacketRecord::sent(number, Bytes::new(1200), sent));
            }
        }
        record
    }

    #[test]
    fn an_echo_finds_its_stream_by_packet_number() {
        let mut record = two_streams();
        assert_eq!(record.on_echo(13, at(2000, EchoQuality::Single)), Some(1));
        assert_eq!(record.on_echo(21, at(3000, EchoQuality::Single)), Some(2));
        assert_eq!(record.on_echo(12, at(2000, EchoQuality::Single)), None);
        let arrivals: Vec<_> = record.streams()[0]
            .packets()
            .iter()
            .map(PacketRecord::timed_arrival)
            .collect();
        assert_eq!(arrivals, [None, None, Some(Timestamp::from_nanos(2000))]);
    }

    #[test]
    fn the_first_word_on_a_packet_stands() {
        let mut record = two_streams();
        record.on_echo(10, at(5000, EchoQuality::Lost));
        record.on_echo(10, at(6000, EchoQuality::Single));
        assert!(record.streams()[0].packets()[0].is_lost());
    }

    #[test]
    fn times_by_another_clock_are_not_those_of_later_echoes() {
        let mut record = two_streams();
        record.on_echo(10, at(5000, EchoQuality::Single));
        record.on_echo(11, at(6000, EchoQuality::Lost));
        record.on_other_clock();
        record.on_echo(13, at(70, EchoQuality::Single));
        let packets = record.streams()[0].packets();
        assert!(packets[0].has_arrived() && packets[1].is_lost());
        let times: Vec<_> = packets.iter().map(PacketRecord::timed_arrival).collect();
        assert_eq!(times, [None, None, Some(Timestamp::from_nanos(70))]);
    }

    #[test]
    fn a_measurement_is_settled_when_each_packet_is_acknowledged_or_lost() {
        let mut record = two_streams();
        for number in [10, 11, 13, 20, 21] {
            record.on_echo(number, at(number * 200, EchoQuality::Single));
            assert!(!record.is_settled());
        }
        record.on_echo(22, at(9000, EchoQuality::Lost));
        assert!(record.is_settled());
        // First arrival 2000, last 4200; the loss at 9000 is no arrival.
        assert_eq!(
            record.arrival_span(),
            Some((Timestamp::from_nanos(4200), Duration::from_nanos(2200)))
        );
    }

    #[test]
    fn a_record_is_refilled_without_growing() {
        let mut record = two_streams();
        let room = |record: &MeasurementRecord| -> Vec<*const PacketRecord> {
            record
                .streams()
                .iter()
                .map(|stream| stream.packets().as_ptr())
                .collect()
        };
        let before = room(&record);
        for measurement in 0..100 {
            record.begin(
                measurement,
                SearchRange::first(Bandwidth::from_mbps(10)),
                EchoCadence::EveryPacket,
            );
            for number in 0..10 {
                record.on_sent(
                    2,
                    PacketRecord::sent(number, Bytes::new(1200), Timestamp::ZERO),
                );
            }
            assert_eq!(record.streams()[1].packets().len(), 3);
        }
        assert_eq!(room(&record), before);
    }

    #[test]
    fn a_stream_that_is_sent_again_starts_empty() {
        let mut record = two_streams();
        assert!(record.streams()[1].is_complete());
        record.begin_stream(2);
        assert!(!record.streams()[1].was_sent());
        record.begin_stream(0);
        record.begin_stream(3);
        assert!(record.streams()[0].is_complete());
        assert_eq!(record.stream(0), None);
        assert_eq!(record.stream(3), None);
    }
}
