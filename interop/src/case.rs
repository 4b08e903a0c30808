//! The runner's cases, and what each asks of either role.

use crate::environment::Role;

/// A case that this endpoint carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// A connection and a small file; also a long round trip.
    Handshake,
    /// Files over one connection. The runner names many cases so: multiplexing, blackhole, loss,
    /// corruption, IPv6, rebinding, the limit of amplification, goodput.
    Transfer,
    /// The client offers ChaCha20-Poly1305 and nothing else.
    Chacha20,
    /// The client begins an update of the keys.
    KeyUpdate,
    /// The server asks for the address to be confirmed first.
    Retry,
    /// The second connection continues the session of the first.
    Resumption,
    /// The same, and the requests leave before the handshake.
    ZeroRtt,
    /// A connection for each file, one after the other.
    MultiConnect,
    /// HTTP/3 in the place of HTTP/0.9.
    Http3,
    /// Both sides mark their packets, count marks, and report them.
    Ecn,
}

impl Case {
    /// The case of this name, if this endpoint carries it in this role.
    ///
    /// Not among them: `v2`, because quiche speaks version 1 alone; `connectionmigration` as
    /// server, because quiche tells no preferred address; `versionnegotiation`, which the runner no
    /// longer uses.
    pub fn named(name: &str, role: Role) -> Option<Self> {
        Some(match name {
            "handshake" | "longrtt" => Self::Handshake,
            "transfer" | "multiplexing" | "blackhole" | "amplificationlimit" | "transferloss"
            | "transfercorruption" | "ipv6" | "rebind-port" | "rebind-addr" | "goodput"
            | "crosstraffic" => Self::Transfer,
            "chacha20" => Self::Chacha20,
            "keyupdate" => Self::KeyUpdate,
            "retry" => Self::Retry,
            "resumption" => Self::Resumption,
            "zerortt" => Self::ZeroRtt,
            "multiconnect" | "handshakeloss" | "handshakecorruption" => Self::MultiConnect,
            "http3" => Self::Http3,
            "ecn" => Self::Ecn,
            // A server carries this in its own way if it carries any case at all.
            "versionnegotiation" if role == Role::Server => Self::Handshake,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_quiche_cannot_carry_is_no_case_in_either_role() {
        for role in [Role::Client, Role::Server] {
            for name in [
                "v2",
                "connectionmigration",
                "",
                "gracious-lemur",
                "TRANSFER",
            ] {
                assert_eq!(Case::named(name, role), None, "{name} as {role}");
            }
        }
        assert_eq!(Case::named("versionnegotiation", Role::Client), None);
    }
}
