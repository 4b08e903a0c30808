//! What the core is fed, as compact records of whole nanoseconds, and back.

use super::nanos;
use crate::input::Input;
use crate::transport::{
    AckInfo, AckedPacket, LossInfo, PeerAcks, RoundTrip, SendRequest, SentPacket,
};
use crate::units::{Bytes, Timestamp};
use serde_json::{Value, json};
use std::fmt;
use std::time::Duration;

/// A record that is not what the controller writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRecord {
    /// What is missing or wrong.
    pub(super) what: String,
}

impl BadRecord {
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into() }
    }
}

impl fmt::Display for BadRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is missing or wrong", self.what)
    }
}

impl std::error::Error for BadRecord {}

/// The data of [`super::CORE_INPUT`].
pub fn input(now: Timestamp, input: &Input) -> Value {
    let mut data = fields(input);
    data["at"] = json!(now.as_nanos());
    data
}

fn fields(input: &Input) -> Value {
    match input {
        Input::Asked(request) => json!({ "asked": [
            request.queued.get(),
            u64::from(request.retransmission),
            request.window_left.get(),
            request.max_datagram.get(),
        ] }),
        Input::Sent(packet) => json!({ "sent": [
            packet.number,
            packet.size.get(),
            u64::from(packet.released),
            packet.bytes_in_flight.get(),
        ] }),
        Input::Acked { info, packets } => json!({
            "acked": packets.iter().map(acked).collect::<Vec<_>>(),
            "info": [
                info.largest,
                nanos(info.ack_delay),
                nanos(info.rtt.latest),
                nanos(info.rtt.min),
                nanos(info.rtt.smoothed),
                nanos(info.rtt.variation),
                info.bytes_in_flight.get(),
            ],
        }),
        Input::Lost { info, numbers } => json!({
            "lost": numbers,
            "info": [
                info.oldest_sent.as_nanos(),
                info.newest_sent.as_nanos(),
                u64::from(info.persistent_congestion),
            ],
        }),
        Input::Spurious(number) => json!({ "spurious": [number] }),
        Input::Marked(newest_sent) => json!({ "marked": [newest_sent.as_nanos()] }),
        Input::MaxDatagram(size) => json!({ "max_datagram": [size.get()] }),
        Input::PeerAcks(peer) => {
            let mut fields = vec![nanos(peer.max_ack_delay)];
            fields.extend(peer.min_ack_delay.map(nanos));
            json!({ "peer_acks": fields })
        }
        Input::ApplicationLimited => json!({ "call": "application_limited" }),
        Input::ImmediateAck => json!({ "call": "immediate_ack" }),
        Input::AckRequest => json!({ "call": "ack_request" }),
        Input::PathLeft => json!({ "call": "path_left" }),
        Input::Closed => json!({ "call": "closed" }),
    }
}

/// Number, size, time of departure, and the peer's receive time if there is one.
fn acked(packet: &AckedPacket) -> Vec<u64> {
    let mut fields = vec![packet.number, packet.size.get(), packet.sent.as_nanos()];
    fields.extend(packet.received.map(nanos));
    fields
}

/// The time and the input of a record that [`input`] made.
///
/// # Errors
/// The record is not what [`input`] makes.
pub fn parse_input(data: &Value) -> Result<(Timestamp, Input), BadRecord> {
    let bad = |what: &str| BadRecord::new(what);
    let at = data.get("at").and_then(Value::as_u64);
    let at = Timestamp::from_nanos(at.ok_or_else(|| bad("`at`"))?);
    if let Some(call) = data.get("call") {
        return Ok((at, called(call.as_str().unwrap_or_default())?));
    }
    let field = |name: &str| data.get(name).and_then(numbers);
    let span = Duration::from_nanos;
    let parsed = if let Some(asked) = field("asked") {
        let [queued, retransmission, window_left, max_datagram] =
            asked.try_into().map_err(|_| bad("`asked`"))?;
        Input::Asked(SendRequest {
            queued: Bytes::new(queued),
            retransmission: retransmission != 0,
            window_left: Bytes::new(window_left),
            max_datagram: Bytes::new(max_datagram),
        })
    } else if let Some(sent) = field("sent") {
        let [number, size, released, in_flight] = sent.try_into().map_err(|_| bad("`sent`"))?;
        Input::Sent(SentPacket {
            number,
            size: Bytes::new(size),
            released: released != 0,
            bytes_in_flight: Bytes::new(in_flight),
        })
    } else if let Some(packets) = data.get("acked").and_then(Value::as_array) {
        let info = field("info").and_then(|info| info.try_into().ok());
        let [
            largest,
            ack_delay,
            latest,
            min,
            smoothed,
            variation,
            in_flight,
        ] = info.ok_or_else(|| bad("`info`"))?;
        let packets: Option<Vec<_>> = packets.iter().map(acked_packet).collect();
        Input::Acked {
            info: AckInfo {
                largest,
                ack_delay: span(ack_delay),
                rtt: RoundTrip {
                    latest: span(latest),
                    min: span(min),
                    smoothed: span(smoothed),
                    variation: span(variation),
                },
                bytes_in_flight: Bytes::new(in_flight),
            },
            packets: packets.ok_or_else(|| bad("`acked`"))?,
        }
    } else if let Some(numbers) = field("lost") {
        let info = field("info").and_then(|info| info.try_into().ok());
        let [oldest_sent, newest_sent, persistent] = info.ok_or_else(|| bad("`info`"))?;
        Input::Lost {
            info: LossInfo {
                oldest_sent: Timestamp::from_nanos(oldest_sent),
                newest_sent: Timestamp::from_nanos(newest_sent),
                persistent_congestion: persistent != 0,
            },
            numbers,
        }
    } else {
        single(field)?
    };
    Ok((at, parsed))
}

fn called(name: &str) -> Result<Input, BadRecord> {
    Ok(match name {
        "application_limited" => Input::ApplicationLimited,
        "immediate_ack" => Input::ImmediateAck,
        "ack_request" => Input::AckRequest,
        "path_left" => Input::PathLeft,
        "closed" => Input::Closed,
        _ => return Err(BadRecord::new("`call`")),
    })
}

/// The inputs that are a number or two.
fn single(field: impl Fn(&str) -> Option<Vec<u64>>) -> Result<Input, BadRecord> {
    let first = |name: &str| field(name).and_then(|numbers| numbers.first().copied());
    if let Some(number) = first("spurious") {
        return Ok(Input::Spurious(number));
    }
    if let Some(nanos) = first("marked") {
        return Ok(Input::Marked(Timestamp::from_nanos(nanos)));
    }
    if let Some(size) = first("max_datagram") {
        return Ok(Input::MaxDatagram(Bytes::new(size)));
    }
    let peer = field("peer_acks").ok_or_else(|| BadRecord::new("the kind of the input"))?;
    let most = peer.first().ok_or_else(|| BadRecord::new("`peer_acks`"))?;
    Ok(Input::PeerAcks(PeerAcks {
        max_ack_delay: Duration::from_nanos(*most),
        min_ack_delay: peer.get(1).copied().map(Duration::from_nanos),
    }))
}

fn numbers(value: &Value) -> Option<Vec<u64>> {
    value.as_array()?.iter().map(Value::as_u64).collect()
}

fn acked_packet(value: &Value) -> Option<AckedPacket> {
    let fields = numbers(value)?;
    let [number, size, sent, rest @ ..] = fields.as_slice() else {
        return None;
    };
    Some(AckedPacket {
        number: *number,
        size: Bytes::new(*size),
        sent: Timestamp::from_nanos(*sent),
        received: rest.first().copied().map(Duration::from_nanos),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some_inputs() -> Vec<Input> {
        let rtt = RoundTrip {
            latest: Duration::from_nanos(30_000_001),
            min: Duration::from_nanos(29_999_999),
            smoothed: Duration::from_millis(31),
            variation: Duration::from_micros(7),
        };
        let packet = |number, received| AckedPacket {
            number,
            size: Bytes::new(1350),
            sent: Timestamp::from_nanos(123_456_789),
            received,
        };
        let info = AckInfo {
            largest: 9,
            ack_delay: Duration::from_micros(25),
            rtt,
            bytes_in_flight: Bytes::new(2700),
        };
        let peer = |min_ack_delay| {
            Input::PeerAcks(PeerAcks {
                max_ack_delay: Duration::from_millis(25),
                min_ack_delay,
            })
        };
        vec![
            Input::Asked(SendRequest {
                queued: Bytes::new(u64::from(u32::MAX) * 3),
                retransmission: true,
                window_left: Bytes::new(1),
                max_datagram: Bytes::new(1350),
            }),
            Input::Sent(SentPacket {
                number: 7,
                size: Bytes::new(1350),
                released: true,
                bytes_in_flight: Bytes::new(4050),
            }),
            Input::Acked {
                info,
                packets: vec![packet(7, None), packet(9, Some(Duration::from_nanos(5)))],
            },
            Input::Acked {
                info,
                packets: Vec::new(),
            },
            Input::Lost {
                info: LossInfo {
                    oldest_sent: Timestamp::from_nanos(16),
                    newest_sent: Timestamp::from_nanos(17),
                    persistent_congestion: true,
                },
                numbers: vec![1, 5],
            },
            Input::Spurious(5),
            Input::Marked(Timestamp::from_nanos(3)),
            Input::MaxDatagram(Bytes::new(1400)),
            peer(None),
            peer(Some(Duration::from_millis(1))),
            Input::ApplicationLimited,
            Input::ImmediateAck,
            Input::AckRequest,
            Input::PathLeft,
            Input::Closed,
        ]
    }

    #[test]
    fn every_input_comes_back_as_it_was() {
        let at = Timestamp::from_nanos(86_400_000_000_001);
        for one in some_inputs() {
            let text = input(at, &one).to_string();
            let data: Value = serde_json::from_str(&text).expect("it is JSON");
            assert_eq!(parse_input(&data), Ok((at, one)), "{text}");
        }
    }

    #[test]
    fn a_record_that_lacks_something_names_it() {
        for (text, missing) in [
            ("{}", "`at`"),
            (r#"{"at":1}"#, "the kind of the input"),
            (r#"{"at":1,"sent":[1,2,3]}"#, "`sent`"),
            (r#"{"at":1,"acked":[]}"#, "`info`"),
            (
                r#"{"at":1,"acked":[[1]],"info":[1,2,3,4,5,6,7]}"#,
                "`acked`",
            ),
            (r#"{"at":1,"call":"off"}"#, "`call`"),
        ] {
            let data: Value = serde_json::from_str(text).expect("it is JSON");
            let error = parse_input(&data).expect_err(text).to_string();
            assert_eq!(error, format!("{missing} is missing or wrong"));
        }
    }
}
