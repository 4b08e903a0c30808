//! Single records, corrected where quiche departs from draft-ietf-quic-qlog-quic-events-14.

use serde_json::{Map, Value};

/// How many bits per second a byte per second is.
const BITS: u64 = 8;

/// The largest integer that every reader of JSON keeps (RFC 7493). quiche logs a threshold beyond
/// it where there is none.
const MOST: u64 = (1 << 53) - 1;

/// The parts of a record of quiche's: `{"time":T,"name":"N","data":{...}}`.
pub(super) struct Parts<'r> {
    pub(super) time: &'r str,
    pub(super) name: &'r str,
    pub(super) data: &'r [u8],
}

/// Takes a record apart, or leaves it as it is.
pub(super) fn parts(record: &[u8]) -> Option<Parts<'_>> {
    let text = record.strip_prefix(b"\x1e")?.trim_ascii_end();
    let rest = text.strip_prefix(b"{\"time\":")?;
    let comma = rest.iter().position(|byte| *byte == b',')?;
    let time = std::str::from_utf8(&rest[..comma]).ok()?;
    let rest = rest[comma..].strip_prefix(b",\"name\":\"")?;
    let quote = rest.iter().position(|byte| *byte == b'"')?;
    let name = std::str::from_utf8(&rest[..quote]).ok()?;
    let data = rest[quote..]
        .strip_prefix(b"\",\"data\":")?
        .strip_suffix(b"}")?;
    Some(Parts { time, name, data })
}

/// A time, if it is one: JSON has no numbers beyond all bounds.
pub(super) fn time(text: &str) -> Option<f64> {
    text.parse().ok().filter(|time: &f64| time.is_finite())
}

/// A record with this data.
pub(super) fn record(time: &str, name: &str, data: &[u8]) -> Vec<u8> {
    let mut record = format!("\x1e{{\"time\":{time},\"name\":\"{name}\",\"data\":").into_bytes();
    record.extend_from_slice(data);
    record.extend_from_slice(b"}\n");
    record
}

/// The metrics in the draft's units; `None` if these are no metrics. The pacing rate may be in
/// bytes.
pub(super) fn metrics(data: &[u8], is_in_bytes: bool) -> Option<Map<String, Value>> {
    let mut metrics: Map<String, Value> = serde_json::from_slice(data).ok()?;
    if let Some(rate) = metrics.get_mut("pacing_rate")
        && let Some(bytes) = rate.as_u64()
    {
        let unit = if is_in_bytes { BITS } else { 1 };
        *rate = Value::from(bytes.saturating_mul(unit).min(MOST));
    }
    metrics.retain(|_, value| value.as_u64().is_none_or(|value| value <= MOST));
    Some(metrics)
}

/// A packet without the members that the draft does not have, and with a version as it has it.
/// Packets are most of a log, so this works on the text.
pub(super) fn packet(data: &[u8]) -> Vec<u8> {
    let data = without_member(data, b",\"send_at_time\":");
    let version = b"\"version\":\"1\"";
    match find(&data, version) {
        Some(at) => [
            &data[..at],
            b"\"version\":\"00000001\"",
            &data[at + version.len()..],
        ]
        .concat(),
        None => data,
    }
}

/// The text without a member that holds a number.
fn without_member(data: &[u8], start: &[u8]) -> Vec<u8> {
    let Some(at) = find(data, start) else {
        return data.to_vec();
    };
    let value = &data[at + start.len()..];
    let end = value.iter().position(|byte| matches!(byte, b',' | b'}'));
    let end = end.unwrap_or(value.len());
    [&data[..at], &value[end..]].concat()
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len())
        .position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).into_owned()
    }

    #[test]
    fn a_record_comes_together_as_it_was_taken_apart() {
        let whole = b"\x1e{\"time\":0.5,\"name\":\"quic:packet_sent\",\"data\":{\"a\":{}}}\n";
        let parts = parts(whole).expect("it is one of quiche's");
        assert_eq!(
            (parts.time, parts.name, text(parts.data)),
            ("0.5", "quic:packet_sent", "{\"a\":{}}".to_owned())
        );
        assert_eq!(record(parts.time, parts.name, parts.data), whole);
    }

    #[test]
    fn a_packet_keeps_what_the_draft_has() {
        let sent =
            br#"{"header":{"version":"1"},"raw":{"length":9},"send_at_time":0.5,"frames":[]}"#;
        let expected = r#"{"header":{"version":"00000001"},"raw":{"length":9},"frames":[]}"#;
        assert_eq!(text(&packet(sent)), expected);
        assert_eq!(
            text(&packet(br#"{"raw":{},"send_at_time":7.25}"#)),
            r#"{"raw":{}}"#
        );
        assert_eq!(text(&packet(b"{}")), "{}");
    }

    #[test]
    fn rates_are_bits_and_a_threshold_that_is_none_is_left_out() {
        let data = br#"{"pacing_rate":1000,"ssthresh":18446744073709551615,"min_rtt":1.5}"#;
        let metrics = Value::Object(metrics(data, true).expect("metrics"));
        assert_eq!(
            metrics,
            serde_json::json!({"pacing_rate": 8000, "min_rtt": 1.5})
        );
        let none = super::metrics(br#"{"ssthresh":18446744073709551615}"#, false);
        assert_eq!(none, Some(Map::new()));
        assert_eq!(super::metrics(br#"{"ssthresh":"#, false), None);
    }
}
