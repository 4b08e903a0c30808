//! Frames and the transport parameter on the wire.

use std::time::Duration;

use quiche::ack_frequency::{encode_frame, parse_frame, parse_transport_params, Request};
use quiche::{Error, Type};

const LARGEST: u64 = (1 << 62) - 1;
/// The ID of `min_ack_delay` as a variable-length integer.
const ID: [u8; 8] = [0xc0, 0, 0, 0, 0xff, 0x04, 0xde, 0x1b];

fn frequency(fields: [u64; 4]) -> Request {
    let [sequence, ack_eliciting_threshold, max_ack_delay, reordering_threshold] = fields;
    Request::Frequency {
        sequence,
        ack_eliciting_threshold,
        max_ack_delay,
        reordering_threshold,
    }
}

fn encoded(request: Request) -> Vec<u8> {
    let mut bytes = vec![0; 64];
    let length = encode_frame(request, &mut bytes).expect("64 bytes are enough");
    bytes.truncate(length);
    bytes
}

#[test]
fn the_frames_have_the_drafts_bytes() {
    assert_eq!(encoded(Request::Immediate), [0x1f]);
    assert_eq!(
        encoded(frequency([1, 9, 25_000, 3])),
        [0x40, 0xaf, 1, 9, 0x80, 0, 0x61, 0xa8, 3]
    );
}

#[test]
fn what_is_encoded_is_decoded_again() {
    let values = [
        0,
        1,
        63,
        64,
        16_383,
        16_384,
        (1 << 30) - 1,
        1 << 30,
        LARGEST,
    ];
    for a in values {
        for b in values {
            let request = frequency([a, b, LARGEST - a, b / 2]);
            let mut bytes = encoded(request);
            let length = bytes.len();
            // The rest is another frame, which this one does not read.
            bytes.push(0x1f);
            assert_eq!(
                parse_frame(&bytes, Type::Short),
                Ok((Some(request), length)),
                "{request:?}"
            );
        }
    }
    assert_eq!(
        parse_frame(&[0x1f, 0x01], Type::Short),
        Ok((Some(Request::Immediate), 1))
    );
}

#[test]
fn a_frame_cut_short_is_an_encoding_error() {
    let whole = encoded(frequency([70, 20_000, LARGEST, 5]));
    for length in 2..whole.len() {
        assert_eq!(
            parse_frame(&whole[..length], Type::Short),
            Err(Error::InvalidFrame),
            "the first {length} bytes"
        );
    }
}

#[test]
fn a_buffer_that_is_too_small_is_refused() {
    let request = frequency([70, 20_000, LARGEST, 5]);
    for size in 0..encoded(request).len() {
        let refused = encode_frame(request, &mut vec![0; size]);
        assert_eq!(refused, Err(Error::BufferTooShort), "{size} bytes");
    }
}

/// A list with `max_ack_delay` of 25 ms written out and `min_ack_delay` of these bytes.
fn params(value: &[u8]) -> Vec<u8> {
    let mut raw = vec![0x0b, 1, 25];
    raw.extend(ID);
    raw.push(u8::try_from(value.len()).expect("a short value"));
    raw.extend(value);
    raw
}

#[test]
fn the_parameter_is_in_microseconds() {
    assert_eq!(
        parse_transport_params(&params(&[0x43, 0xe8]), true),
        Ok(Some(Duration::from_millis(1)))
    );
    assert_eq!(
        parse_transport_params(&params(&[0]), false),
        Ok(Some(Duration::ZERO))
    );
    assert_eq!(parse_transport_params(&[0x0b, 1, 25], true), Ok(None));
}

#[test]
fn a_min_ack_delay_above_max_ack_delay_is_an_error_and_its_equal_is_not() {
    let equal = params(&[0x80, 0, 0x61, 0xa8]);
    let above = params(&[0x80, 0, 0x61, 0xa9]);
    assert_eq!(
        parse_transport_params(&equal, true),
        Ok(Some(Duration::from_millis(25)))
    );
    assert_eq!(
        parse_transport_params(&above, true),
        Err(Error::InvalidTransportParam)
    );
    // Without max_ack_delay its default of 25 ms holds, and the order does not matter.
    assert_eq!(
        parse_transport_params(&above[3..], true),
        Err(Error::InvalidTransportParam)
    );
    let mut reordered = above[3..].to_vec();
    reordered.extend([0x0b, 1, 26]);
    assert_eq!(
        parse_transport_params(&reordered, true),
        Ok(Some(Duration::from_micros(25_001)))
    );
}

#[test]
fn a_malformed_parameter_is_an_error() {
    for value in [&[][..], &[0x43], &[0, 0], &[0x80, 0, 0x61]] {
        assert_eq!(
            parse_transport_params(&params(value), true),
            Err(Error::InvalidTransportParam),
            "{value:?}"
        );
    }
    let mut twice = params(&[1]);
    twice.extend(&params(&[1])[3..]);
    assert_eq!(
        parse_transport_params(&twice, true),
        Err(Error::InvalidTransportParam)
    );
}
