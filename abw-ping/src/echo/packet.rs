//! Echo requests and replies as bytes (RFC 792, RFC 4443 section 4).

use std::net::IpAddr;

/// The ICMP header: type, code, checksum, identifier, sequence number.
pub const HEADER: usize = 8;

/// In front of the filling: a token that tells our replies from others', and the packet's number.
const MARK: usize = 16;

/// The IP version decides types and lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    Four,
    Six,
}

impl Version {
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(_) => Self::Four,
            IpAddr::V6(_) => Self::Six,
        }
    }

    /// The length of the IP header, without options.
    pub fn ip_header(self) -> usize {
        match self {
            Self::Four => 20,
            Self::Six => 40,
        }
    }

    fn request(self) -> u8 {
        match self {
            Self::Four => 8,
            Self::Six => 128,
        }
    }

    fn reply(self) -> u8 {
        match self {
            Self::Four => 0,
            Self::Six => 129,
        }
    }
}

/// Writes a request of `size` bytes, IP header included, into `buffer`. Returns its length, without
/// the IP header. A packet that has no room for its mark gets the room.
pub fn write(
    buffer: &mut Vec<u8>,
    version: Version,
    identifier: u16,
    token: u64,
    id: u64,
    size: usize,
) {
    let length = size.saturating_sub(version.ip_header()).max(HEADER + MARK);
    buffer.clear();
    buffer.resize(length, 0);
    // The low bits: the number itself is in the mark.
    let sequence = u16::try_from(id & 0xffff).unwrap_or(0);
    buffer[0] = version.request();
    buffer[4..6].copy_from_slice(&identifier.to_be_bytes());
    buffer[6..8].copy_from_slice(&sequence.to_be_bytes());
    buffer[8..16].copy_from_slice(&token.to_be_bytes());
    buffer[16..24].copy_from_slice(&id.to_be_bytes());
    for (filling, byte) in buffer[HEADER + MARK..]
        .iter_mut()
        .zip((0..=u8::MAX).cycle())
    {
        *filling = byte;
    }
    if version == Version::Four {
        // The kernel does it for IPv6, whose sum covers addresses too.
        let sum = checksum(buffer);
        buffer[2..4].copy_from_slice(&sum.to_be_bytes());
    }
}

/// The number of the packet that `message` is a reply to. `None` for everything that is no reply of
/// ours. With `has_ip_header`, as on raw sockets of IPv4, the IP header is skipped.
pub fn read(message: &[u8], version: Version, token: u64, has_ip_header: bool) -> Option<u64> {
    let message = if has_ip_header {
        let words = usize::from(message.first()? & 0x0f);
        message.get(words * 4..)?
    } else {
        message
    };
    let mark = message.get(HEADER..HEADER + MARK)?;
    let (own, id) = mark.split_at(8);
    let is_ours = message[0] == version.reply() && own == token.to_be_bytes();
    is_ours.then(|| id.try_into().ok().map(u64::from_be_bytes))?
}

/// The Internet checksum (RFC 1071).
fn checksum(message: &[u8]) -> u16 {
    let mut sum = 0u32;
    for pair in message.chunks(2) {
        let low = pair.get(1).copied().unwrap_or(0);
        sum += u32::from(u16::from_be_bytes([pair[0], low]));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TOKEN: u64 = 0x0123_4567_89ab_cdef;

    fn request(version: Version, id: u64, size: usize) -> Vec<u8> {
        let mut buffer = Vec::new();
        write(&mut buffer, version, 7, TOKEN, id, size);
        buffer
    }

    /// What a host makes of a request.
    fn answered(version: Version, id: u64) -> Vec<u8> {
        let mut message = request(version, id, 1000);
        message[0] = version.reply();
        message
    }

    #[test]
    fn a_request_has_the_size_on_the_wire_that_was_asked_for() {
        for version in [Version::Four, Version::Six] {
            let message = request(version, 1, 1000);
            assert_eq!(message.len() + version.ip_header(), 1000);
        }
    }

    #[test]
    fn the_sum_over_a_request_with_its_checksum_is_zero() {
        for size in [64, 65, 999, 1000] {
            assert_eq!(checksum(&request(Version::Four, 70_000, size)), 0, "{size}");
        }
    }

    #[test]
    fn a_reply_names_its_packet_also_above_16_bits() {
        for version in [Version::Four, Version::Six] {
            let reply = answered(version, 70_001);
            assert_eq!(read(&reply, version, TOKEN, false), Some(70_001));
            assert_eq!(read(&reply, version, TOKEN + 1, false), None);
            let own = request(version, 70_001, 1000);
            assert_eq!(
                read(&own, version, TOKEN, false),
                None,
                "loopback shows requests"
            );
        }
    }

    #[test]
    fn the_ip_header_is_skipped_with_its_options() {
        for words in [5usize, 8] {
            let mut message = vec![0; words * 4];
            message[0] = 0x40 + u8::try_from(words).expect("small");
            message.extend(answered(Version::Four, 9));
            assert_eq!(read(&message, Version::Four, TOKEN, true), Some(9));
        }
    }

    proptest! {
        #[test]
        fn no_message_is_too_strange(message: Vec<u8>, header: bool, six: bool) {
            let version = if six { Version::Six } else { Version::Four };
            prop_assert_eq!(read(&message, version, TOKEN, header), None);
        }
    }
}
