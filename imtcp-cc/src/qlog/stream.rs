//! What became of a probe stream.

use crate::stream_report::{ProbePacket, StreamReport};
use crate::units::Timestamp;
use serde_json::{Value, json};

/// Gaps are in nanoseconds, because rounding to microseconds would hide what they tell.
pub(super) fn record(report: &StreamReport) -> (&'static str, Value) {
    let packets = &report.packets;
    let numbers: Vec<u64> = packets.iter().map(|packet| packet.number).collect();
    let sizes: Vec<u64> = packets.iter().map(|packet| packet.size.get()).collect();
    let qualities: Vec<&str> = packets.iter().map(|packet| packet.quality).collect();
    (
        "imtcp:stream_completed",
        json!({
            "measurement": report.measurement,
            "stream": report.stream,
            "low_bps": report.low.as_bps(),
            "high_bps": report.high.as_bps(),
            "started_ns": packets.first().map(|packet| packet.sent.as_nanos()),
            "packet_numbers": numbers,
            "sizes": sizes,
            "planned_gaps_ns": gaps(packets, |packet| packet.planned),
            "sent_gaps_ns": gaps(packets, |packet| Some(packet.sent)),
            "echo_gaps_ns": gaps(packets, |packet| packet.echo),
            "first_delay_ns": packets.first().and_then(|packet| {
                let delay = packet.echo?.saturating_since(packet.sent);
                u64::try_from(delay.as_nanos()).ok()
            }),
            "qualities": qualities,
            "pct": report.pct,
            "pdt": report.pdt,
            "trend": report.trend,
            "verdict": report.verdict,
        }),
    )
}

/// The differences of successive times; null where one of the two is not known.
fn gaps(packets: &[ProbePacket], time: impl Fn(&ProbePacket) -> Option<Timestamp>) -> Vec<Value> {
    let difference = |pair: &[ProbePacket]| -> Option<i64> {
        let nanos = |packet| time(packet).and_then(|at| i64::try_from(at.as_nanos()).ok());
        nanos(&pair[1])?.checked_sub(nanos(&pair[0])?)
    };
    packets
        .windows(2)
        .map(|pair| json!(difference(pair)))
        .collect()
}
