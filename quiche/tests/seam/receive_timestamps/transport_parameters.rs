//! The two transport parameters.

use quiche::receive_timestamps::wire::decode_parameters;
use quiche::receive_timestamps::MAX_EXPONENT;
use quiche::Error;

use crate::world::base_config;

const MAX_PER_ACK: [u8; 4] = [0x80, 0x04, 0xac, 0x07];
const EXPONENT: [u8; 4] = [0x80, 0x04, 0xac, 0x26];

fn parameter(id: [u8; 4], value: &[u8]) -> Vec<u8> {
    [&id[..], &[value.len() as u8], value].concat()
}

/// What is read from these parameters: maximum and exponent.
fn read(raw: &[Vec<u8>]) -> Result<(u64, u32), Error> {
    let parameters = decode_parameters(&raw.concat())?;
    Ok((parameters.max_per_ack(), parameters.exponent()))
}

#[test]
fn either_may_come_first() {
    let max = parameter(MAX_PER_ACK, &[0x41, 0x00]);
    let exponent = parameter(EXPONENT, &[20]);
    assert_eq!(read(&[max.clone(), exponent.clone()]), Ok((256, 20)));
    assert_eq!(read(&[exponent.clone(), max.clone()]), Ok((256, 20)));
    assert_eq!(read(std::slice::from_ref(&max)), Ok((256, 0)));
    assert_eq!(read(&[]), Ok((0, 0)));
    assert_eq!(read(&[exponent]), Ok((0, 0)), "ignored without the other");
}

#[test]
fn an_exponent_above_the_limit_is_an_error_where_it_counts() {
    let max = parameter(MAX_PER_ACK, &[1]);
    let exponent = parameter(EXPONENT, &[MAX_EXPONENT as u8 + 1]);
    let invalid = Err(Error::InvalidTransportParam);
    assert_eq!(read(&[max.clone(), exponent.clone()]), invalid);
    assert_eq!(read(&[exponent.clone(), max.clone()]), invalid);
    assert_eq!(
        read(std::slice::from_ref(&exponent)),
        Ok((0, 0)),
        "it has to be ignored"
    );
    let none = parameter(MAX_PER_ACK, &[0]);
    assert_eq!(read(&[none, exponent]), invalid, "a maximum of 0 is there");
}

#[test]
fn a_value_is_one_integer() {
    for value in [&[][..], &[0x41], &[1, 1]] {
        let invalid = Err(Error::InvalidTransportParam);
        assert_eq!(read(&[parameter(MAX_PER_ACK, value)]), invalid, "{value:?}");
        let exponent = parameter(EXPONENT, value);
        assert_eq!(
            read(std::slice::from_ref(&exponent)),
            Ok((0, 0)),
            "it has to be ignored"
        );
        let max = parameter(MAX_PER_ACK, &[1]);
        assert_eq!(read(&[max, exponent]), invalid, "{value:?}");
    }
    let twice = [parameter(MAX_PER_ACK, &[1]), parameter(MAX_PER_ACK, &[1])];
    assert_eq!(read(&twice), Err(Error::InvalidTransportParam));
}

#[test]
fn a_configuration_takes_no_exponent_above_the_limit() {
    let mut config = base_config();
    assert_eq!(config.set_receive_timestamps_exponent(MAX_EXPONENT), Ok(()));
    assert_eq!(
        config.set_receive_timestamps_exponent(MAX_EXPONENT + 1),
        Err(Error::InvalidTransportParam)
    );
}
