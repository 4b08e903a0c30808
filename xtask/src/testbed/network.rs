//! Two namespaces, a veth pair between them, and the tight link.

use std::fmt;

use anyhow::Result;

use super::{Namespace, tool};

/// The smallest bucket that sustains 20 Mbit/s. A full frame (1514 bytes) has to fit. The rest
/// lets the kernel's timer be 34 us late without losing capacity. A larger bucket would sustain
/// the rate a little better, and let short bursts pass as if the link were faster.
const LEAST_BURST_BYTES: u32 = 1600;

/// At high rates the bucket holds as much as the link carries in this time, in microseconds. The
/// kernel's timer may be late by it.
const BURST_US: u32 = 250;

/// How long the queue in front of the link is.
const QUEUE_MS: u32 = 100;

/// The interface in either namespace.
const INTERFACE: &str = "veth0";

/// The path under test; dropping it removes it.
pub struct Network {
    server: Namespace,
    client: Namespace,
    rate_mbps: u32,
}

impl Network {
    /// The server's address, from a block for tests between networks (RFC 2544).
    pub const SERVER: &str = "198.18.0.1";
    /// The client's address.
    pub const CLIENT: &str = "198.18.0.2";

    /// Makes both namespaces and what joins them. The bucket's rate counts Ethernet frames without
    /// their checksum: 14 bytes more than the IP packet.
    pub fn create(chore: &str, rate_mbps: u32) -> Result<Self> {
        let server = Namespace::create(chore, "server")?;
        let client = Namespace::create(chore, "client")?;
        let (near, far) = (server.name(), client.name());
        tool(&format!(
            "ip link add {INTERFACE} netns {near} type veth peer name {INTERFACE} netns {far}"
        ))?;
        for (namespace, address) in [(near, Self::SERVER), (far, Self::CLIENT)] {
            tool(&format!(
                "ip -n {namespace} address add {address}/24 dev {INTERFACE}"
            ))?;
            tool(&format!("ip -n {namespace} link set {INTERFACE} up"))?;
        }
        let network = Self {
            server,
            client,
            rate_mbps,
        };
        let burst = network.burst_bytes();
        tool(&format!(
            "tc -n {} qdisc add dev {INTERFACE} root tbf rate {rate_mbps}mbit burst {burst} \
             latency {QUEUE_MS}ms",
            network.server()
        ))?;
        Ok(network)
    }

    fn burst_bytes(&self) -> u32 {
        LEAST_BURST_BYTES.max(self.rate_mbps * BURST_US / 8)
    }

    /// The namespace before the tight link.
    pub fn server(&self) -> &str {
        self.server.name()
    }

    /// The namespace behind it.
    pub fn client(&self) -> &str {
        self.client.name()
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = self.rate_mbps;
        let burst = self.burst_bytes();
        write!(
            f,
            "A veth pair between two namespaces; on the server's side a token bucket (tbf):\n\
             {rate} Mbit/s of Ethernet frames, burst {burst} bytes, queue {QUEUE_MS} ms. No delay \
             besides: the round trip time is\n\
             the queue's own. Rates count frames as the bucket does; goodput counts the file's \
             bytes."
        )
    }
}
