//! Transport parameters: min_ack_delay, max_receive_timestamps_per_ack,
//! receive_timestamps_exponent.
//!
//! Input: the peer's encoded list (RFC 9000, section 18).

use crate::input::{Input, Output};
use crate::{Met, Seed};
use quiche::ack_frequency::parse_transport_params;
use quiche::receive_timestamps::wire::decode_parameters;
use std::collections::BTreeMap;
use std::time::Duration;

/// See [`crate::Target::situations`].
pub const SITUATIONS: &[&str] = &[
    "a list that cannot be read",
    "a delay",
    "a delay that is refused",
    "timestamps wanted",
    "timestamps refused",
    "none of ours",
];

const MAX_ACK_DELAY: u64 = 0x0b;
const MIN_ACK_DELAY: u64 = 0xff04_de1b;
const MAX_RECEIVE_TIMESTAMPS: u64 = 0x4ac07;
const EXPONENT: u64 = 0x4ac26;

const LARGEST_EXPONENT: u64 = 20;
const DEFAULT_MAX_ACK_DELAY_MS: u64 = 25;

/// Values by ID.
type List<'a> = BTreeMap<u64, &'a [u8]>;

/// See [`crate::Target::run`].
pub fn run(raw: &[u8]) -> Met {
    let mut met = Met::new();
    // What a server reads; much of the list is not allowed there.
    let _ = parse_transport_params(raw, true);
    let delay = parse_transport_params(raw, false);
    let timestamps = decode_parameters(raw);
    let Some(list) = list(raw).filter(are_others_right) else {
        assert!(delay.is_err() && timestamps.is_err());
        met.insert("a list that cannot be read");
        return met;
    };
    let refused = quiche::Error::InvalidTransportParam;
    match expected_delay(&list) {
        Ok(expected) => {
            assert_eq!(delay, Ok(expected.map(Duration::from_micros)));
            met.insert(expected.map_or("none of ours", |_| "a delay"));
        }
        Err(NotRight) => {
            assert_eq!(delay, Err(refused));
            met.insert("a delay that is refused");
        }
    }
    match expected_timestamps(&list) {
        Ok((max, exponent)) => {
            let read = timestamps.expect("what is right is read");
            let read = (read.max_per_ack(), u64::from(read.exponent()));
            assert_eq!(read, (max, exponent));
            if max > 0 {
                met.insert("timestamps wanted");
            }
        }
        Err(NotRight) => {
            assert_eq!(timestamps, Err(refused));
            met.insert("timestamps refused");
        }
    }
    met
}

/// A plain reader of the list; `None` if it is cut off, or names an ID twice.
fn list(raw: &[u8]) -> Option<List<'_>> {
    let mut list = List::new();
    let mut rest = raw;
    while !rest.is_empty() {
        let (id, after) = integer(rest)?;
        let (length, after) = integer(after)?;
        let (value, after) = after.split_at_checked(usize::try_from(length).ok()?)?;
        if list.insert(id, value).is_some() {
            return None;
        }
        rest = after;
    }
    Some(list)
}

/// Whether quiche takes the list without what is ours.
fn are_others_right(list: &List) -> bool {
    let others = list
        .iter()
        .filter(|(id, _)| ![MIN_ACK_DELAY, MAX_RECEIVE_TIMESTAMPS, EXPONENT].contains(id))
        .fold(Output::new(), |output, (id, value)| {
            output.numbers(&[*id, value.len() as u64]).bytes(value)
        });
    parse_transport_params(&others.done(), false).is_ok()
}

fn integer(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut input = Input::new(bytes);
    Some((input.number()?, input.rest()))
}

/// The peer has to be told that it is wrong.
struct NotRight;

/// The integer that a value is, all of it.
fn whole(value: Option<&&[u8]>) -> Result<Option<u64>, NotRight> {
    match value.map(|value| integer(value)) {
        None => Ok(None),
        Some(Some((number, []))) => Ok(Some(number)),
        Some(_) => Err(NotRight),
    }
}

/// draft-ietf-quic-ack-frequency-14, section 3: in microseconds, no longer than max_ack_delay.
fn expected_delay(list: &List) -> Result<Option<u64>, NotRight> {
    // Of the others quiche reads the first integer, and does not mind what follows.
    let longest_ms = list.get(&MAX_ACK_DELAY).and_then(|value| integer(value));
    let longest_ms = longest_ms.map_or(DEFAULT_MAX_ACK_DELAY_MS, |(number, _)| number);
    match whole(list.get(&MIN_ACK_DELAY))? {
        Some(delay) if delay > 1000 * longest_ms => Err(NotRight),
        delay => Ok(delay),
    }
}

/// draft-ietf-quic-receive-ts-02, section 6: an exponent by itself says nothing.
fn expected_timestamps(list: &List) -> Result<(u64, u64), NotRight> {
    let Some(max) = whole(list.get(&MAX_RECEIVE_TIMESTAMPS))? else {
        return Ok((0, 0));
    };
    match whole(list.get(&EXPONENT))?.unwrap_or(0) {
        exponent if exponent > LARGEST_EXPONENT => Err(NotRight),
        exponent => Ok((max, exponent)),
    }
}

/// See [`crate::Target::seeds`].
pub fn seeds() -> Vec<Seed> {
    let list = |pairs: &[(u64, u64)]| {
        pairs.iter().fold(Output::new(), |list, (id, value)| {
            let value = Output::new().numbers(&[*value]).done();
            list.numbers(&[*id, value.len() as u64]).bytes(&value)
        })
    };
    vec![
        ("none", list(&[(1, 30_000), (4, 1 << 20), (0xe, 7)]).done()),
        ("delay", list(&[(MIN_ACK_DELAY, 1_000)]).done()),
        (
            "delay-at-the-limit",
            list(&[(MAX_ACK_DELAY, 7), (MIN_ACK_DELAY, 7_000)]).done(),
        ),
        (
            "delay-above-the-limit",
            list(&[(MIN_ACK_DELAY, 7_001), (MAX_ACK_DELAY, 7)]).done(),
        ),
        (
            "timestamps",
            list(&[(MAX_RECEIVE_TIMESTAMPS, 100), (EXPONENT, 3)]).done(),
        ),
        (
            "timestamps-and-delay",
            list(&[
                (0xf, 0),
                (EXPONENT, 20),
                (MIN_ACK_DELAY, 25_000),
                (MAX_RECEIVE_TIMESTAMPS, 1 << 61),
            ])
            .done(),
        ),
        (
            "exponent-too-large",
            list(&[(MAX_RECEIVE_TIMESTAMPS, 1), (EXPONENT, 21)]).done(),
        ),
        ("exponent-alone", list(&[(EXPONENT, 99)]).done()),
        (
            "not-an-integer",
            list(&[(MIN_ACK_DELAY, 5)])
                .numbers(&[MAX_RECEIVE_TIMESTAMPS, 2])
                .bytes(&[1, 2])
                .done(),
        ),
        (
            "twice",
            list(&[(MIN_ACK_DELAY, 5), (MIN_ACK_DELAY, 6)]).done(),
        ),
    ]
}
