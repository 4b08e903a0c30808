//! What the runner's network does to packets besides delay and rate.
//!
//! Written after the runner's scenarios: `drop-rate`, `corrupt-rate`, `droplist`, `blackhole` and
//! `rebind`. Each acts where a packet leaves the link. Times count from the first datagram.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use serde::{Deserialize, Serialize};

use super::packet::{End, Udp};

const SECOND_NS: u64 = 1_000_000_000;

/// Corruption hits one of so many first bytes, so that it often hits a header.
const CORRUPTED_HEAD: usize = 51;

/// What a network does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Fault {
    /// Nothing.
    #[default]
    None,
    /// Drops so many per cent of all datagrams, at most `burst` in a row.
    Drop { percent: u32, burst: u32 },
    /// Changes a byte of so many per cent of all datagrams, at most `burst` in a row.
    Corrupt { percent: u32, burst: u32 },
    /// Drops the datagrams to the server with these numbers, from 1.
    List(Vec<u64>),
    /// Passes for `on_s` and drops everything for `off_s`, in turn.
    Blackhole { on_s: u64, off_s: u64 },
    /// Gives the client another port after `first_s` and then every `every_s`, and another address.
    Rebind {
        first_s: u64,
        every_s: u64,
        address: bool,
    },
}

/// Where a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the client to the server.
    ToServer,
    /// And back.
    ToClient,
}

impl Way {
    fn clients_end(self) -> End {
        match self {
            Self::ToServer => End::Sender,
            Self::ToClient => End::Receiver,
        }
    }
}

/// A network's faults as they happen.
pub struct Faults {
    fault: Fault,
    random: Random,
    /// Dropped or changed in a row, in each direction.
    in_a_row: [u32; 2],
    /// Datagrams to the server so far.
    count: u64,
    client: Ipv4Addr,
    translation: Translation,
}

/// Where the client seems to be.
struct Translation {
    address: Ipv4Addr,
    /// The port outside by the port inside.
    outside: BTreeMap<u16, u16>,
    /// The port inside by the port outside. 0 is a port that the client has no more.
    inside: BTreeMap<u16, u16>,
    /// The port inside by all ports outside that there were.
    history: BTreeMap<u16, u16>,
    /// How often the client has moved.
    moves: u64,
}

impl Faults {
    /// Those of `fault`, drawn from `seed`, for a client at this address.
    pub fn new(fault: Fault, seed: u64, client: Ipv4Addr) -> Self {
        Self {
            fault,
            random: Random(seed),
            in_a_row: [0; 2],
            count: 0,
            client,
            translation: Translation {
                address: client,
                outside: BTreeMap::new(),
                inside: BTreeMap::new(),
                history: BTreeMap::new(),
                moves: 0,
            },
        }
    }

    /// What becomes of a packet, so long after the first datagram. False if it is lost.
    pub fn pass(&mut self, elapsed_ns: u64, way: Way, packet: &mut [u8]) -> bool {
        if let Fault::Blackhole { on_s, off_s } = self.fault {
            return elapsed_ns % ((on_s + off_s) * SECOND_NS) < on_s * SECOND_NS;
        }
        let Some(udp) = Udp::of(packet) else {
            return true;
        };
        match &self.fault {
            Fault::None | Fault::Blackhole { .. } => true,
            Fault::Drop { percent, burst } => {
                let (percent, burst) = (*percent, *burst);
                !self.strikes(way, percent, burst)
            }
            Fault::Corrupt { percent, burst } => {
                let (percent, burst) = (*percent, *burst);
                self.corrupt(way, percent, burst, udp, packet);
                true
            }
            Fault::List(numbers) => {
                self.count += u64::from(way == Way::ToServer);
                way == Way::ToClient || !numbers.contains(&self.count)
            }
            Fault::Rebind {
                first_s,
                every_s,
                address,
            } => {
                let since = elapsed_ns.checked_sub(first_s * SECOND_NS);
                let due = since.map_or(0, |since| 1 + since / (every_s * SECOND_NS));
                let address = *address;
                while self.translation.moves < due {
                    self.rebind(address);
                }
                self.translate(way, udp, packet)
            }
        }
    }

    /// A packet at the server's end as if the client had never moved, and without padding behind
    /// its last QUIC packet. Where the client's identifiers are empty, tshark 4.0 loses a
    /// connection that moves, and takes such padding for a packet with a number far ahead of all
    /// others.
    pub fn untranslated(&self, way: Way, packet: &[u8]) -> Vec<u8> {
        let mut packet = packet.to_vec();
        let which = way.clients_end();
        if let Some(udp) = Udp::of(&packet)
            && let (IpAddr::V4(_), port) = udp.end(&packet, which)
            && let Some(inside) = self.translation.history.get(&port)
        {
            udp.set_end(&mut packet, which, self.client, *inside);
        }
        match Udp::of(&packet) {
            Some(udp) => udp.without_padding(&packet),
            None => packet,
        }
    }

    fn strikes(&mut self, way: Way, percent: u32, burst: u32) -> bool {
        let drawn = self.random.below(100) < u64::from(percent);
        let in_a_row = &mut self.in_a_row[usize::from(way == Way::ToServer)];
        let strikes = *in_a_row < burst && drawn;
        *in_a_row = if strikes { *in_a_row + 1 } else { 0 };
        strikes
    }

    fn corrupt(&mut self, way: Way, percent: u32, burst: u32, udp: Udp, packet: &mut [u8]) {
        let payload = udp.payload(packet);
        // Version Negotiation answers a version that was corrupted. It passes.
        let is_negotiation = payload.len() > 5 && payload[1..5] == [0; 4];
        let length = payload.len().min(CORRUPTED_HEAD);
        if is_negotiation || length == 0 {
            self.in_a_row[usize::from(way == Way::ToServer)] = 0;
            return;
        }
        if self.strikes(way, percent, burst) {
            let position = usize::try_from(self.random.below(length as u64)).unwrap_or_default();
            let change = 1 + self.random.below(255);
            let value = udp.payload(packet)[position] ^ u8::try_from(change).unwrap_or(1);
            udp.set_byte(packet, position, value);
        }
    }

    fn rebind(&mut self, address: bool) {
        let Self {
            translation,
            random,
            client,
            ..
        } = self;
        translation.moves += 1;
        if address {
            let [a, b, c, _] = client.octets();
            let old = translation.address;
            while translation.address == old || translation.address == *client {
                let host = u8::try_from(1 + random.below(254)).unwrap_or(1);
                translation.address = Ipv4Addr::new(a, b, c, host);
            }
        }
        for (inside, outside) in &mut translation.outside {
            let old = *outside;
            while translation.inside.contains_key(outside) {
                *outside = u16::try_from(1024 + random.below(60_000)).unwrap_or(1024);
            }
            translation.inside.insert(*outside, *inside);
            translation.history.insert(*outside, *inside);
            translation.inside.insert(old, 0);
        }
    }

    /// False for a port that the client has no more.
    fn translate(&mut self, way: Way, udp: Udp, packet: &mut [u8]) -> bool {
        let which = way.clients_end();
        let (IpAddr::V4(_), port) = udp.end(packet, which) else {
            return true;
        };
        let translation = &mut self.translation;
        match way {
            Way::ToServer => {
                let outside = *translation.outside.entry(port).or_insert(port);
                translation.inside.entry(outside).or_insert(port);
                translation.history.entry(outside).or_insert(port);
                udp.set_end(packet, which, translation.address, outside);
                true
            }
            Way::ToClient => match translation.inside.get(&port) {
                Some(0) | None => false,
                Some(inside) => {
                    udp.set_end(packet, which, self.client, *inside);
                    true
                }
            },
        }
    }
}

/// SplitMix64: a seed gives the same faults again.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 100);
    const SERVER: Ipv4Addr = Ipv4Addr::new(192, 0, 3, 100);

    fn packet(from: (Ipv4Addr, u16), to: (Ipv4Addr, u16)) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 128, 0, 1, 0x40, 0, 64, 17, 0, 0];
        packet.extend(from.0.octets());
        packet.extend(to.0.octets());
        packet.extend(from.1.to_be_bytes());
        packet.extend(to.1.to_be_bytes());
        packet.extend([0, 108, 0, 0]);
        packet.extend([0xc0; 100]);
        packet
    }

    fn up() -> Vec<u8> {
        packet((CLIENT, 5000), (SERVER, 443))
    }

    #[test]
    fn drops_come_at_their_rate_and_never_more_in_a_row_than_allowed() {
        let fault = Fault::Drop {
            percent: 30,
            burst: 3,
        };
        let mut faults = Faults::new(fault, 1, CLIENT);
        let passed: Vec<bool> = (0..10_000)
            .map(|_| faults.pass(0, Way::ToServer, &mut up()))
            .collect();
        let lost = passed.iter().filter(|passed| !**passed).count();
        // With bursts cut at 3, a little less than 30 %.
        assert!((2700..=3100).contains(&lost), "{lost}");
        assert!(
            passed
                .windows(4)
                .all(|four| four.iter().any(|passed| *passed))
        );
    }

    #[test]
    fn corruption_changes_one_byte_of_the_head_and_lets_the_packet_pass() {
        let fault = Fault::Corrupt {
            percent: 100,
            burst: 3,
        };
        let mut faults = Faults::new(fault, 1, CLIENT);
        let mut changes = [0; 4];
        for change in &mut changes {
            let mut packet = up();
            assert!(faults.pass(0, Way::ToServer, &mut packet));
            let payload = &packet[28..];
            *change = payload.iter().filter(|byte| **byte != 0xc0).count();
            assert!(payload[CORRUPTED_HEAD..].iter().all(|byte| *byte == 0xc0));
        }
        assert_eq!(changes, [1, 1, 1, 0], "three in a row, and then none");
    }

    #[test]
    fn a_list_drops_the_datagrams_that_it_names_and_none_to_the_client() {
        let mut faults = Faults::new(Fault::List(vec![2, 3]), 1, CLIENT);
        let mut pass = |way| faults.pass(0, way, &mut up());
        let to_server: Vec<bool> = (0..4).map(|_| pass(Way::ToServer)).collect();
        assert_eq!(to_server, [true, false, false, true]);
        assert!(pass(Way::ToClient));
    }

    #[test]
    fn a_blackhole_swallows_everything_while_it_is_on() {
        let mut faults = Faults::new(Fault::Blackhole { on_s: 5, off_s: 2 }, 1, CLIENT);
        let mut pass = |s: u64| faults.pass(s * SECOND_NS, Way::ToClient, &mut [0x60]);
        assert_eq!(
            [0, 4, 5, 6, 7, 12].map(&mut pass),
            [true, true, false, false, true, false]
        );
    }

    #[test]
    fn after_a_rebinding_the_client_is_elsewhere_and_the_old_place_is_dead() {
        let fault = Fault::Rebind {
            first_s: 1,
            every_s: 5,
            address: true,
        };
        let mut faults = Faults::new(fault, 1, CLIENT);
        let mut seen = Vec::new();
        for s in [0, 2, 7] {
            let mut packet = up();
            assert!(faults.pass(s * SECOND_NS, Way::ToServer, &mut packet));
            let (address, port) = Udp::of(&packet).expect("UDP").end(&packet, End::Sender);
            let IpAddr::V4(address) = address else {
                panic!("{address}")
            };
            // Answers find the way back.
            let mut answer = self::packet((SERVER, 443), (address, port));
            assert!(faults.pass(s * SECOND_NS, Way::ToClient, &mut answer));
            let end = Udp::of(&answer).expect("UDP").end(&answer, End::Receiver);
            assert_eq!(end, (IpAddr::V4(CLIENT), 5000));
            seen.push((address, port));
        }
        assert_eq!(seen[0], (CLIENT, 5000));
        assert!(seen[1] != seen[0] && seen[2] != seen[1], "{seen:?}");
        let (address, port) = seen[1];
        let mut late = self::packet((SERVER, 443), (address, port));
        let still = faults.untranslated(Way::ToClient, &late);
        let end = Udp::of(&still).expect("UDP").end(&still, End::Receiver);
        assert_eq!(end, (IpAddr::V4(CLIENT), 5000), "told of the past");
        assert!(!faults.pass(7 * SECOND_NS, Way::ToClient, &mut late));
    }
}
