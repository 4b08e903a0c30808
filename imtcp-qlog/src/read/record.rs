//! A record of a log: when, what, and the data of it, which is read only where it is wanted.

use super::header::Dialect;
use super::parse::Raw;
use crate::error::Position;
use crate::whole::whole;
use serde::Deserialize;
use serde::de::{self, Deserializer, IgnoredAny, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// What a record is about. The drafts have renamed events, and the names of all of them count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A packet left.
    PacketSent,
    /// A packet came.
    PacketReceived,
    /// A packet was declared lost.
    PacketLost,
    /// Round trip, window or pacing rate changed.
    Metrics,
    /// The congestion controller entered another state.
    State,
    /// An event of the controller of this project.
    Imtcp,
    /// Any other event.
    Other,
}

impl Kind {
    fn of(name: &str) -> Self {
        let Some((namespace, event)) = name.split_once(':') else {
            return Self::Other;
        };
        match (namespace, event) {
            ("imtcp", _) => Self::Imtcp,
            ("quic" | "transport", "packet_sent") => Self::PacketSent,
            ("quic" | "transport", "packet_received") => Self::PacketReceived,
            ("quic" | "recovery" | "transport", "packet_lost") => Self::PacketLost,
            ("quic", "recovery_metrics_updated") | ("recovery", "metrics_updated") => Self::Metrics,
            ("quic" | "recovery", "congestion_state_updated") => Self::State,
            _ => Self::Other,
        }
    }
}

/// An event.
#[derive(Clone, Debug)]
pub struct Record<'r> {
    /// Where it stands.
    pub position: Position,
    /// Milliseconds since the beginning of the log.
    pub time_ms: f64,
    /// Its whole name.
    pub name: Cow<'r, str>,
    /// What it is about.
    pub kind: Kind,
    /// The data, as JSON text. Members of the record may follow it; [`Record::data`] knows.
    pub(super) data: &'r [u8],
    /// All of the record, as JSON text.
    pub(super) text: &'r [u8],
    pub(super) rtt_unit: f64,
    pub(super) pacing_unit: f64,
}

/// A number, or a string that holds one: older drafts and I-JSON write large numbers like that.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Number(pub(crate) f64);

impl Number {
    /// As a count; what is no count becomes the nearest one.
    pub(crate) fn count(self) -> u64 {
        whole(self.0)
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = Number;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Number, E> {
                Ok(Number(value))
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Number, E> {
                Ok(Number(value as f64))
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Number, E> {
                Ok(Number(value as f64))
            }
            fn visit_str<E: de::Error>(self, value: &str) -> Result<Number, E> {
                let number = value.parse().ok().filter(|number: &f64| number.is_finite());
                number
                    .map(Number)
                    .ok_or_else(|| E::custom("the string holds no number"))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// The space of packet numbers that a packet belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Space {
    /// Initial packets.
    Initial,
    /// Handshake packets.
    Handshake,
    /// Packets with application data.
    #[default]
    Application,
}

/// A packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Its space.
    pub space: Space,
    /// Its number, if the log tells it.
    pub number: Option<u64>,
    /// Bytes of UDP payload; 0 if the log does not tell them.
    pub length: u64,
}

/// Some writers have null where there is nothing to tell.
#[derive(Default, Deserialize)]
#[serde(default)]
struct PacketData<'r> {
    #[serde(borrow)]
    header: Option<HeaderData<'r>>,
    #[serde(borrow)]
    packet_type: Option<Cow<'r, str>>,
    packet_number: Option<Number>,
    raw: Option<RawData>,
    packet_size: Option<Number>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct HeaderData<'r> {
    #[serde(borrow)]
    packet_type: Option<Cow<'r, str>>,
    packet_number: Option<Number>,
    packet_size: Option<Number>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawData {
    length: Option<Number>,
}

/// What loss recovery reports; what did not change is left out. Bytes, and milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Metrics {
    /// The congestion window.
    pub congestion_window: Option<f64>,
    /// The bytes in flight.
    pub bytes_in_flight: Option<f64>,
    /// The slow-start threshold; `None` too where the log says "unlimited".
    pub ssthresh: Option<f64>,
    /// The pacing rate in bits per second.
    pub pacing_bps: Option<f64>,
    /// The last sample of the round trip.
    pub latest_rtt: Option<f64>,
    /// The smoothed round trip.
    pub smoothed_rtt: Option<f64>,
    /// The least round trip.
    pub min_rtt: Option<f64>,
    /// The mean deviation of the round trip.
    pub rtt_variance: Option<f64>,
}

impl Metrics {
    /// What is known, by the names that exports and older drafts have.
    pub fn values(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let Self {
            congestion_window,
            bytes_in_flight,
            ssthresh,
            pacing_bps,
            latest_rtt,
            smoothed_rtt,
            min_rtt,
            rtt_variance,
        } = *self;
        let all = [
            ("congestion_window", congestion_window),
            ("bytes_in_flight", bytes_in_flight),
            ("ssthresh", ssthresh),
            ("pacing_bps", pacing_bps),
            ("latest_rtt", latest_rtt),
            ("smoothed_rtt", smoothed_rtt),
            ("min_rtt", min_rtt),
            ("rtt_variance", rtt_variance),
        ];
        all.into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct MetricsData {
    #[serde(alias = "cwnd")]
    congestion_window: Option<Number>,
    bytes_in_flight: Option<Number>,
    ssthresh: Option<Number>,
    pacing_rate: Option<Number>,
    latest_rtt: Option<Number>,
    smoothed_rtt: Option<Number>,
    min_rtt: Option<Number>,
    rtt_variance: Option<Number>,
}

/// No threshold is as large as that; writers say so where there is none.
const UNLIMITED: f64 = 1e15;

/// An acknowledgement in a packet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ack {
    /// The ranges of packet numbers, both ends included, as they stand in the log.
    pub ranges: Vec<(u64, u64)>,
}

impl<'r> Record<'r> {
    pub(super) fn new(
        raw: Raw<'r>,
        text: &'r [u8],
        position: Position,
        time_ms: f64,
        dialect: &Dialect,
    ) -> Self {
        Self {
            position,
            time_ms,
            kind: Kind::of(&raw.name),
            name: raw.name,
            data: raw.data,
            text,
            rtt_unit: dialect.rtt_unit,
            pacing_unit: dialect.pacing_unit,
        }
    }

    /// The name without its namespace.
    pub fn event(&self) -> &str {
        self.name
            .split_once(':')
            .map_or(&self.name, |(_, event)| event)
    }

    /// The data as whatever can be made of it.
    ///
    /// # Errors
    /// The data is not JSON, or lacks what is wanted.
    pub fn data<T: Deserialize<'r>>(&self) -> Result<T, serde_json::Error> {
        let mut json = serde_json::Deserializer::from_slice(self.data);
        let data = T::deserialize(&mut json)?;
        match json.end() {
            // What follows the data are other members of the record, if the record is whole.
            Err(error) if serde_json::from_slice::<IgnoredAny>(self.text).is_err() => Err(error),
            _ => Ok(data),
        }
    }

    /// The packet of [`Kind::PacketSent`], [`Kind::PacketReceived`] and [`Kind::PacketLost`].
    ///
    /// # Errors
    /// The data is not JSON, or no packet.
    pub fn packet(&self) -> Result<Packet, serde_json::Error> {
        let data: PacketData<'_> = self.data()?;
        let header = data.header.unwrap_or_default();
        let kind = header.packet_type.or(data.packet_type);
        let length = data.raw.and_then(|raw| raw.length);
        let size = length.or(data.packet_size).or(header.packet_size);
        Ok(Packet {
            space: match kind.as_deref() {
                Some("initial" | "Initial") => Space::Initial,
                Some("handshake" | "Handshake") => Space::Handshake,
                _ => Space::Application,
            },
            number: header
                .packet_number
                .or(data.packet_number)
                .map(Number::count),
            length: size.map_or(0, Number::count),
        })
    }

    /// The metrics of [`Kind::Metrics`].
    ///
    /// # Errors
    /// The data is not JSON, or says something else.
    pub fn metrics(&self) -> Result<Metrics, serde_json::Error> {
        let data: MetricsData = self.data()?;
        let span = |value: Option<Number>| value.map(|value| value.0 * self.rtt_unit);
        let plain = |value: Option<Number>| value.map(|value| value.0);
        Ok(Metrics {
            congestion_window: plain(data.congestion_window),
            bytes_in_flight: plain(data.bytes_in_flight),
            ssthresh: plain(data.ssthresh).filter(|bytes| *bytes < UNLIMITED),
            pacing_bps: plain(data.pacing_rate).map(|rate| rate * self.pacing_unit),
            // ngtcp2 writes 0 before there is one.
            latest_rtt: span(data.latest_rtt).filter(|sample| *sample > 0.0),
            smoothed_rtt: span(data.smoothed_rtt),
            min_rtt: span(data.min_rtt),
            rtt_variance: span(data.rtt_variance),
        })
    }

    /// The acknowledgements in a packet.
    ///
    /// # Errors
    /// The data is not JSON, or no packet.
    pub fn acks(&self) -> Result<Vec<Ack>, serde_json::Error> {
        #[derive(Deserialize)]
        struct Data {
            frames: Option<Vec<Frame>>,
        }
        #[derive(Deserialize)]
        struct Frame {
            acked_ranges: Option<Vec<Range>>,
        }
        let data: Data = self.data()?;
        let frames = data.frames.unwrap_or_default().into_iter();
        let acks = frames.filter_map(|frame| {
            let ranges = frame.acked_ranges.filter(|ranges| !ranges.is_empty())?;
            let ranges = ranges.iter().map(|range| (range.0, range.1)).collect();
            Some(Ack { ranges })
        });
        Ok(acks.collect())
    }
}

/// `[5]`, `[5,9]` or `5`.
struct Range(u64, u64);

impl<'de> Deserialize<'de> for Range {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Ends;
        impl<'de> Visitor<'de> for Ends {
            type Value = Range;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a range of packet numbers")
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Range, E> {
                Ok(Range(value, value))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut ends: A) -> Result<Range, A::Error> {
                let first: Option<Number> = ends.next_element()?;
                let first = first
                    .ok_or_else(|| de::Error::invalid_length(0, &self))?
                    .count();
                let last: Option<Number> = ends.next_element()?;
                while ends.next_element::<IgnoredAny>()?.is_some() {}
                let last = last.map_or(first, Number::count);
                Ok(Range(first.min(last), first.max(last)))
            }
        }
        deserializer.deserialize_any(Ends)
    }
}
