//! Just enough of IP and UDP to do to packets what the runner's network does.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;

const UDP: u8 = 17;
const UDP_HEADER: usize = 8;
const IPV4_HEADER: usize = 20;
const IPV6_HEADER: usize = 40;

/// Where the parts of a UDP packet over IPv4 or IPv6 are. Options and extension headers are not
/// looked for: nothing here sends any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Udp {
    is_ipv4: bool,
    /// Where UDP's header begins.
    start: usize,
}

impl Udp {
    /// `None` for anything else.
    pub fn of(packet: &[u8]) -> Option<Self> {
        let (is_ipv4, protocol, start) = match packet.first()? {
            0x45 => (true, *packet.get(9)?, IPV4_HEADER),
            first if first >> 4 == 6 => (false, *packet.get(6)?, IPV6_HEADER),
            _ => return None,
        };
        let is_whole = protocol == UDP && packet.len() >= start + UDP_HEADER;
        is_whole.then_some(Self { is_ipv4, start })
    }

    /// Sender or receiver, and its port.
    pub fn end(self, packet: &[u8], which: End) -> (IpAddr, u16) {
        let address = &packet[self.address(which)];
        let address = if self.is_ipv4 {
            let octets: [u8; 4] = address.try_into().unwrap_or_default();
            IpAddr::V4(Ipv4Addr::from(octets))
        } else {
            let octets: [u8; 16] = address.try_into().unwrap_or_default();
            IpAddr::V6(Ipv6Addr::from(octets))
        };
        let port = &packet[self.port(which)];
        (address, u16::from_be_bytes([port[0], port[1]]))
    }

    /// Writes another sender or receiver into a packet over IPv4.
    pub fn set_end(self, packet: &mut [u8], which: End, address: Ipv4Addr, port: u16) {
        if !self.is_ipv4 {
            return;
        }
        packet[self.address(which)].copy_from_slice(&address.octets());
        packet[self.port(which)].copy_from_slice(&port.to_be_bytes());
        packet[10..12].fill(0);
        let sum = checksum(&[&packet[..IPV4_HEADER]]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        self.seal(packet);
    }

    /// The datagram.
    pub fn payload(self, packet: &[u8]) -> &[u8] {
        &packet[self.start + UDP_HEADER..]
    }

    /// Cuts off zeros behind the last packet of a datagram of long headers, of version 1.
    pub fn without_padding(self, packet: &[u8]) -> Vec<u8> {
        let payload = self.payload(packet);
        let end = end_of_packets(payload).unwrap_or(payload.len());
        let mut packet = packet[..packet.len() - payload.len() + end].to_vec();
        if let Ok(length) = u16::try_from(packet.len() - self.start) {
            packet[self.start + 4..self.start + 6].copy_from_slice(&length.to_be_bytes());
            let (at, total) = match self.is_ipv4 {
                true => (2, packet.len()),
                false => (4, packet.len() - IPV6_HEADER),
            };
            let total = u16::try_from(total).unwrap_or(u16::MAX);
            packet[at..at + 2].copy_from_slice(&total.to_be_bytes());
        }
        packet
    }

    /// Changes a byte of the datagram, so that no checksum tells.
    pub fn set_byte(self, packet: &mut [u8], position: usize, value: u8) {
        packet[self.start + UDP_HEADER + position] = value;
        self.seal(packet);
    }

    /// UDP's checksum, over a part of IP's header as well.
    fn seal(self, packet: &mut [u8]) {
        let at = self.start + 6;
        packet[at..at + 2].fill(0);
        let addresses = self.address(End::Sender).start..self.address(End::Receiver).end;
        let length = u32::try_from(packet.len() - self.start).unwrap_or_default();
        let tail = [length.to_be_bytes(), u32::from(UDP).to_be_bytes()].concat();
        let sum = match checksum(&[&packet[addresses], &tail, &packet[self.start..]]) {
            // 0 would say that there is none.
            0 => u16::MAX,
            sum => sum,
        };
        packet[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    }

    fn address(self, which: End) -> Range<usize> {
        match (self.is_ipv4, which) {
            (true, End::Sender) => 12..16,
            (true, End::Receiver) => 16..20,
            (false, End::Sender) => 8..24,
            (false, End::Receiver) => 24..40,
        }
    }

    fn port(self, which: End) -> Range<usize> {
        let start = match which {
            End::Sender => self.start,
            End::Receiver => self.start + 2,
        };
        start..start + 2
    }
}

/// Where zeros begin behind packets of long headers (RFC 9000, section 17.2); `None` if there are
/// none, or something else is there.
fn end_of_packets(payload: &[u8]) -> Option<usize> {
    let mut at = 0;
    while payload.get(at)? & 0xc0 == 0xc0 {
        let is_initial = payload[at] & 0x30 == 0;
        if payload[at] & 0x30 == 0x30 {
            return None; // Retry has no length.
        }
        at += 5;
        for _ in 0..2 {
            at += 1 + usize::from(*payload.get(at)?);
        }
        if is_initial {
            let token = variable(payload, &mut at)?;
            at += token;
        }
        let length = variable(payload, &mut at)?;
        at += length;
    }
    let rest = payload.get(at..)?;
    rest.iter().all(|byte| *byte == 0).then_some(at)
}

/// An integer of variable length (RFC 9000, section 16).
fn variable(payload: &[u8], at: &mut usize) -> Option<usize> {
    let first = *payload.get(*at)?;
    let bytes = payload.get(*at..*at + (1 << (first >> 6)))?;
    *at += bytes.len();
    let value = bytes
        .iter()
        .skip(1)
        .fold(u64::from(first & 0x3f), |value, byte| {
            value << 8 | u64::from(*byte)
        });
    usize::try_from(value).ok()
}

/// An end of a packet's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Who sent it.
    Sender,
    /// Whom it is for.
    Receiver,
}

/// The Internet's (RFC 1071). Every part but the last has an even length.
fn checksum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0_u64;
    for part in parts {
        for pair in part.chunks(2) {
            sum += u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or_default());
        }
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the kernel made it: 192.0.2.1:1000 to 192.0.2.2:443, "abc".
    fn packet() -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 31, 0, 1, 0x40, 0, 64, UDP, 0, 0];
        packet.extend([192, 0, 2, 1, 192, 0, 2, 2]);
        packet.extend([0x03, 0xe8, 0x01, 0xbb, 0, 11, 0, 0]);
        packet.extend(b"abc");
        packet
    }

    #[test]
    fn a_changed_packet_carries_checksums_that_hold() {
        let mut packet = packet();
        let udp = Udp::of(&packet).expect("UDP");
        udp.set_end(&mut packet, End::Sender, Ipv4Addr::new(192, 0, 2, 77), 4321);
        udp.set_byte(&mut packet, 2, b'd');
        let (address, port) = udp.end(&packet, End::Sender);
        assert_eq!((address.to_string(), port), ("192.0.2.77".to_owned(), 4321));
        assert_eq!(udp.end(&packet, End::Receiver).1, 443);
        assert_eq!(udp.payload(&packet), b"abd");
        // Over what includes its own checksum, the sum is 0.
        assert_eq!(checksum(&[&packet[..20]]), 0);
        let pseudo = [0, 0, 0, 11, 0, 0, 0, UDP];
        assert_eq!(checksum(&[&packet[12..20], &pseudo, &packet[20..]]), 0);
    }

    #[test]
    fn padding_behind_the_last_packet_is_cut_off_and_nothing_else() {
        // An Initial packet with ids of 1 and 2 bytes, a token of 1 and 5 bytes; a Handshake one.
        let initial = [
            0xc0, 0, 0, 0, 1, 1, 9, 2, 9, 9, 1, 7, 0x40, 5, 1, 2, 3, 4, 0,
        ];
        let handshake = [0xe0, 0, 0, 0, 1, 1, 9, 0, 2, 8, 0];
        let whole = [&initial[..], &handshake].concat();
        assert_eq!(
            end_of_packets(&[&whole[..], &[0; 40]].concat()),
            Some(whole.len())
        );
        assert_eq!(end_of_packets(&[&whole[..], &[0, 0, 1]].concat()), None);
        assert_eq!(
            end_of_packets(&[&whole[..], &[0x40; 9]].concat()),
            None,
            "1-RTT"
        );
        assert_eq!(end_of_packets(&whole[..whole.len() - 1]), None, "cut short");
        assert_eq!(end_of_packets(&[0x40; 30]), None);
    }

    #[test]
    fn what_is_not_udp_is_left_alone() {
        let mut tcp = packet();
        tcp[9] = 6;
        for other in [&tcp[..], &packet()[..27], &[], &[0x60; 12]] {
            assert_eq!(Udp::of(other), None);
        }
    }
}
