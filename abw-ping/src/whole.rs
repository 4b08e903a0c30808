//! Packets that leave whole or not at all.
//!
//! A packet in fragments is no probe: its parts leave back to back, each with a header of its own.
//! QUIC forbids them (RFC 9000, section 14).

use nix::errno::Errno;
use nix::libc::{self, c_int};
use nix::sys::socket::setsockopt;
use nix::{getsockopt_impl, setsockopt_impl, sockopt_impl};
use std::net::IpAddr;
use std::os::fd::AsFd;

sockopt_impl!(
    /// Whether IPv4 packets are divided (`ip(7)`).
    OfIpv4,
    Both,
    libc::IPPROTO_IP,
    libc::IP_MTU_DISCOVER,
    c_int
);

sockopt_impl!(
    /// Whether IPv6 packets are divided (`ipv6(7)`).
    OfIpv6,
    Both,
    libc::IPPROTO_IPV6,
    libc::IPV6_MTU_DISCOVER,
    c_int
);

/// Lets neither this machine nor a router divide the packets of a socket. What does not fit the way
/// is refused with [`Errno::EMSGSIZE`].
///
/// # Errors
/// The system's.
pub fn send_whole(socket: &impl AsFd, to: IpAddr) -> Result<(), Errno> {
    match to {
        IpAddr::V4(_) => setsockopt(socket, OfIpv4, &libc::IP_PMTUDISC_DO),
        IpAddr::V6(_) => setsockopt(socket, OfIpv6, &libc::IPV6_PMTUDISC_DO),
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use nix::sys::socket::getsockopt;

    /// Fails if the packets of a socket may be divided.
    pub fn assert_sends_whole(socket: &impl AsFd, to: IpAddr) {
        let (set, expected) = match to {
            IpAddr::V4(_) => (getsockopt(socket, OfIpv4), libc::IP_PMTUDISC_DO),
            IpAddr::V6(_) => (getsockopt(socket, OfIpv6), libc::IPV6_PMTUDISC_DO),
        };
        assert_eq!(set, Ok(expected), "{to}");
    }
}
