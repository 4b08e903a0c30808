//! The runner's cases: what each endpoint is told, what is fetched, what the network does.
//!
//! Taken from the runner's `testcases_quic.py` as of April 2026.

use super::link::Fault;

const KB: usize = 1 << 10;
const MB: usize = 1 << 20;

/// A case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Case {
    Handshake,
    Transfer,
    Longrtt,
    Chacha20,
    Multiplexing,
    Retry,
    Resumption,
    Zerortt,
    Http3,
    Blackhole,
    Keyupdate,
    Ecn,
    Amplificationlimit,
    Handshakeloss,
    Transferloss,
    Handshakecorruption,
    Transfercorruption,
    Ipv6,
    V2,
    RebindPort,
    RebindAddr,
    Connectionmigration,
    Goodput,
}

/// All of them, in the runner's order.
pub const ALL: [Case; 23] = [
    Case::Handshake,
    Case::Transfer,
    Case::Longrtt,
    Case::Chacha20,
    Case::Multiplexing,
    Case::Retry,
    Case::Resumption,
    Case::Zerortt,
    Case::Http3,
    Case::Blackhole,
    Case::Keyupdate,
    Case::Ecn,
    Case::Amplificationlimit,
    Case::Handshakeloss,
    Case::Transferloss,
    Case::Handshakecorruption,
    Case::Transfercorruption,
    Case::Ipv6,
    Case::V2,
    Case::RebindPort,
    Case::RebindAddr,
    Case::Connectionmigration,
    Case::Goodput,
];

/// The files of a case: how many, of which size, and how long their names are.
#[derive(Clone, Copy, Debug)]
pub struct Files {
    pub sizes: &'static [usize],
    pub repeated: usize,
    pub name_length: usize,
}

impl Files {
    const fn of(sizes: &'static [usize]) -> Self {
        Self {
            sizes,
            repeated: 1,
            name_length: 12,
        }
    }
}

impl Case {
    /// Its name in the runner.
    pub fn name(self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::Transfer => "transfer",
            Self::Longrtt => "longrtt",
            Self::Chacha20 => "chacha20",
            Self::Multiplexing => "multiplexing",
            Self::Retry => "retry",
            Self::Resumption => "resumption",
            Self::Zerortt => "zerortt",
            Self::Http3 => "http3",
            Self::Blackhole => "blackhole",
            Self::Keyupdate => "keyupdate",
            Self::Ecn => "ecn",
            Self::Amplificationlimit => "amplificationlimit",
            Self::Handshakeloss => "handshakeloss",
            Self::Transferloss => "transferloss",
            Self::Handshakecorruption => "handshakecorruption",
            Self::Transfercorruption => "transfercorruption",
            Self::Ipv6 => "ipv6",
            Self::V2 => "v2",
            Self::RebindPort => "rebind-port",
            Self::RebindAddr => "rebind-addr",
            Self::Connectionmigration => "connectionmigration",
            Self::Goodput => "goodput",
        }
    }

    /// What it is about, in a few words.
    pub fn about(self) -> &'static str {
        match self {
            Self::Handshake => "a connection and a small file",
            Self::Transfer => "three files of 2 to 5 MB at once",
            Self::Longrtt => "a round trip of 1.5 s",
            Self::Chacha20 => "ChaCha20-Poly1305 alone is offered",
            Self::Multiplexing => "1999 small files on one connection",
            Self::Retry => "the server asks for the address to be confirmed",
            Self::Resumption => "a second connection without certificates",
            Self::Zerortt => "requests before the second handshake ends",
            Self::Http3 => "HTTP/3 in the place of HTTP/0.9",
            Self::Blackhole => "now and then nothing passes for 2 s",
            Self::Keyupdate => "the client begins an update of the keys",
            Self::Ecn => "both ends mark packets and report marks",
            Self::Amplificationlimit => "a long chain of certificates, and losses",
            Self::Handshakeloss => "50 handshakes, 30 % of packets lost",
            Self::Transferloss => "2 MB, 2 % of packets lost",
            Self::Handshakecorruption => "50 handshakes, 30 % of packets damaged",
            Self::Transfercorruption => "2 MB, 2 % of packets damaged",
            Self::Ipv6 => "over IPv6",
            Self::V2 => "an upgrade to version 2 of QUIC",
            Self::RebindPort => "the client\u{2019}s port changes on the way",
            Self::RebindAddr => "the client\u{2019}s address changes on the way",
            Self::Connectionmigration => "the client moves to a preferred address",
            Self::Goodput => "how fast 10 MB are at 10 Mbit/s",
        }
    }

    /// What the client is told (`TESTCASE`).
    pub fn told_client(self) -> &'static str {
        match self {
            Self::Keyupdate => "keyupdate",
            Self::Connectionmigration => "transfer",
            other => other.told_server(),
        }
    }

    /// What the server is told.
    pub fn told_server(self) -> &'static str {
        match self {
            Self::Longrtt => "handshake",
            Self::Multiplexing
            | Self::Blackhole
            | Self::Keyupdate
            | Self::Amplificationlimit
            | Self::Transferloss
            | Self::Transfercorruption
            | Self::Ipv6
            | Self::RebindPort
            | Self::RebindAddr
            | Self::Goodput => "transfer",
            Self::Handshakeloss | Self::Handshakecorruption => "multiconnect",
            other => other.name(),
        }
    }

    /// The name of the server in URLs: which addresses it has.
    pub fn host(self) -> &'static str {
        match self {
            Self::Ipv6 => "server6",
            Self::Connectionmigration => "server46",
            _ => "server4",
        }
    }

    /// How long it may take, in seconds.
    pub fn timeout_s(self) -> u64 {
        match self {
            Self::Handshakeloss | Self::Handshakecorruption => 300,
            _ => 60,
        }
    }

    /// The delay of either direction of the link.
    pub fn delay_ms(self) -> u64 {
        match self {
            Self::Longrtt => 750,
            _ => 15,
        }
    }

    /// What the network does.
    pub fn fault(self) -> Fault {
        match self {
            Self::Blackhole => Fault::Blackhole { on_s: 5, off_s: 2 },
            Self::Amplificationlimit => Fault::List((2..=7).collect()),
            Self::Handshakeloss => Fault::Drop {
                percent: 30,
                burst: 3,
            },
            Self::Transferloss => Fault::Drop {
                percent: 2,
                burst: 3,
            },
            Self::Handshakecorruption => Fault::Corrupt {
                percent: 30,
                burst: 3,
            },
            Self::Transfercorruption => Fault::Corrupt {
                percent: 2,
                burst: 3,
            },
            Self::RebindPort | Self::RebindAddr => Fault::Rebind {
                first_s: 1,
                every_s: 5,
                address: self == Self::RebindAddr,
            },
            _ => Fault::None,
        }
    }

    /// The certificates between the server's own and the root, both counted.
    pub fn chain_length(self) -> usize {
        match self {
            Self::Amplificationlimit => 9,
            _ => 1,
        }
    }

    /// What is fetched.
    pub fn files(self) -> Files {
        match self {
            Self::Handshake | Self::Longrtt | Self::V2 => Files::of(&[KB]),
            Self::Transfer => Files::of(&[2 * MB, 3 * MB, 5 * MB]),
            Self::Chacha20 | Self::Keyupdate => Files::of(&[3 * MB]),
            Self::Multiplexing => Files {
                repeated: 1999,
                ..Files::of(&[32])
            },
            Self::Retry => Files::of(&[10 * KB]),
            Self::Resumption | Self::Ipv6 => Files::of(&[5 * KB, 10 * KB]),
            Self::Zerortt => Files {
                repeated: 40,
                name_length: 250,
                ..Files::of(&[32])
            },
            Self::Http3 => Files::of(&[5 * KB, 10 * KB, 500 * KB]),
            Self::Blackhole | Self::RebindPort | Self::RebindAddr | Self::Goodput => {
                Files::of(&[10 * MB])
            }
            Self::Ecn => Files::of(&[100 * KB]),
            Self::Amplificationlimit => Files::of(&[5 * KB]),
            Self::Handshakeloss | Self::Handshakecorruption => Files {
                repeated: 50,
                ..Files::of(&[KB])
            },
            Self::Transferloss | Self::Transfercorruption | Self::Connectionmigration => {
                Files::of(&[2 * MB])
            }
        }
    }

    /// How many handshakes there have to be.
    pub fn handshakes(self) -> usize {
        match self {
            Self::Resumption | Self::Zerortt => 2,
            Self::Handshakeloss | Self::Handshakecorruption => 50,
            _ => 1,
        }
    }
}
