//! Quantities with their units written out: `"50 Mbit/s"`, `"90 ms"`, `"150 KB"`, `"5 %"`.

use super::error::Complaint;
use crate::network::QueueLimit;
use imtcp_cc::units::{Bandwidth, Bytes};
use quantity::{RATES, SPANS, Units, parse as read};
use std::time::Duration;

const QUEUES: Units<'static> = &[
    ("B", 1),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("packets", 1),
];
/// A queue's units without packets.
const SIZES: Units<'static> = QUEUES.split_at(QUEUES.len() - 1).0;
/// Shares are kept in millionths of a per cent.
const SHARES: Units<'static> = &[("%", 1_000_000)];

/// Beyond this the truth's bins would overflow.
pub(super) const GREATEST_RATE: Bandwidth = Bandwidth::from_mbps(100_000);
/// Beyond this a run would not end.
const LONGEST_SPAN: Duration = Duration::from_secs(86_400);

pub(super) fn rate(text: &str) -> Result<Bandwidth, Complaint> {
    let (bps, _) = parse(text, RATES, "\"50 Mbit/s\"")?;
    let rate = Bandwidth::from_bps(bps);
    if rate > GREATEST_RATE {
        return Err(Complaint::new(
            format!("{text} is more than can be simulated"),
            format!("at most {GREATEST_RATE}"),
        ));
    }
    Ok(rate)
}

pub(super) fn rate_above_zero(text: &str) -> Result<Bandwidth, Complaint> {
    above_zero(rate(text)?, "rate")
}

pub(super) fn span(text: &str) -> Result<Duration, Complaint> {
    let (nanos, _) = parse(text, SPANS, "\"90 ms\"")?;
    let span = Duration::from_nanos(nanos);
    if span > LONGEST_SPAN {
        return Err(Complaint::new(
            format!("{text} is more than a day"),
            "a run lasts a day at most",
        ));
    }
    Ok(span)
}

pub(super) fn span_above_zero(text: &str) -> Result<Duration, Complaint> {
    above_zero(span(text)?, "time")
}

/// A time of at least so much. What happens again and again after less would be simulated for ever.
pub(super) fn span_of_at_least(text: &str, least: Duration) -> Result<Duration, Complaint> {
    let span = span(text)?;
    if span < least {
        let problem = format!("{text} is too short to be simulated");
        return Err(Complaint::new(problem, format!("at least {least:?}")));
    }
    Ok(span)
}

/// A time above zero, or so many round trips of the empty path: `"32 RTT"`.
pub(super) fn span_or_round_trips(text: &str, round_trip: Duration) -> Result<Duration, Complaint> {
    let Some(number) = text.strip_suffix("RTT") else {
        return span_above_zero(text);
    };
    let count: Option<u32> = number.trim().parse().ok().filter(|count| *count > 0);
    let count = count.ok_or_else(|| {
        let problem = format!("{text} is no number of round trips");
        Complaint::new(
            problem,
            "write a whole number above zero, such as \"32 RTT\"",
        )
    })?;
    let span = round_trip.saturating_mul(count);
    if span.is_zero() || span > LONGEST_SPAN {
        let problem = format!("{text} of {round_trip:?} each is no period");
        return Err(Complaint::new(problem, "write a time, such as \"2 s\""));
    }
    Ok(span)
}

pub(super) fn size(text: &str) -> Result<Bytes, Complaint> {
    let (bytes, _) = parse(text, SIZES, "\"150 KB\"")?;
    above_zero(Bytes::new(bytes), "size")
}

/// `what` is the value in words.
fn above_zero<T: Default + PartialEq>(value: T, what: &str) -> Result<T, Complaint> {
    if value == T::default() {
        let problem = format!("a {what} of zero");
        return Err(Complaint::new(problem, "it must be above zero"));
    }
    Ok(value)
}

pub(super) fn queue(text: &str) -> Result<QueueLimit, Complaint> {
    let (amount, unit) = parse(text, QUEUES, "\"150 KB\" or \"200 packets\"")?;
    if amount == 0 {
        return Err(Complaint::new(
            "a queue of zero",
            "room for at least one packet is needed",
        ));
    }
    Ok(match unit {
        "packets" => QueueLimit::Packets(amount),
        _ => QueueLimit::Bytes(Bytes::new(amount)),
    })
}

/// A share as a ratio, 0 to 1.
pub(super) fn share(text: &str) -> Result<f64, Complaint> {
    let (millionths, _) = parse(text, SHARES, "\"5 %\"")?;
    let ratio = millionths as f64 / 100e6;
    if ratio > 1.0 {
        return Err(Complaint::new(
            format!("{text} is more than all"),
            "0 % to 100 %",
        ));
    }
    Ok(ratio)
}

fn parse(text: &str, units: Units<'_>, example: &str) -> Result<(u64, &'static str), Complaint> {
    read(text, units).map_err(|error| {
        let remedy = format!("write a number and its unit, such as {example}");
        Complaint::new(error.to_string(), remedy)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        assert_eq!(rate("0.1 Mbit/s"), Ok(Bandwidth::from_kbps(100)));
        assert_eq!(rate("2.5 Gbit/s"), Ok(Bandwidth::from_mbps(2500)));
        assert_eq!(span("0.3 us"), Ok(Duration::from_nanos(300)));
        assert_eq!(size("1.5KB"), Ok(Bytes::new(1500)));
        assert_eq!(share("0.5 %"), Ok(0.005));
        assert_eq!(queue("200 packets"), Ok(QueueLimit::Packets(200)));
        assert_eq!(queue("125 KB"), Ok(QueueLimit::Bytes(Bytes::new(125_000))));
    }

    #[test]
    fn what_is_wrong_is_said_with_an_example() {
        let problem = |complaint: Complaint| format!("{}; {}", complaint.problem, complaint.remedy);
        for (text, expected) in [
            (
                "50",
                "`50` has no unit; write a number and its unit, such as \"50 Mbit/s\"",
            ),
            (
                "50 Mbps",
                "unknown unit `Mbps`; known here: bit/s, kbit/s, Mbit/s, Gbit/s; write a number \
                 and its unit, such as \"50 Mbit/s\"",
            ),
            (
                "fast",
                "`fast` does not begin with a number; write a number and its unit, such as \"50 \
                 Mbit/s\"",
            ),
            (
                "-5 Mbit/s",
                "`-5 Mbit/s` does not begin with a number; write a number and its unit, such \
                 as \"50 Mbit/s\"",
            ),
            (
                "1.2.3 Mbit/s",
                "`1.2.3` is not a number that fits; write a number and its unit, such as \"50 \
                 Mbit/s\"",
            ),
            ("0 Mbit/s", "a rate of zero; it must be above zero"),
            (
                "200 Gbit/s",
                "200 Gbit/s is more than can be simulated; at most 100.000 Gbit/s",
            ),
        ] {
            assert_eq!(
                rate_above_zero(text).map_err(problem),
                Err(expected.to_owned())
            );
        }
        assert_eq!(
            span_above_zero("0 s").map_err(problem),
            Err("a time of zero; it must be above zero".to_owned())
        );
        assert_eq!(
            size("0 KB").map_err(problem),
            Err("a size of zero; it must be above zero".to_owned())
        );
        assert_eq!(
            size("5 packets").map_err(problem),
            Err(
                "unknown unit `packets`; known here: B, KB, MB, GB, KiB, MiB; write a number and \
                 its unit, such as \"150 KB\""
                    .to_owned()
            )
        );
        assert_eq!(
            share("101 %").map_err(problem),
            Err("101 % is more than all; 0 % to 100 %".to_owned())
        );
    }
}
