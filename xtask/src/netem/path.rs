//! The path: namespaces in a row, and the traffic control between them.
//!
//! ```text
//! server ── before ── behind ── client
//! ```
//!
//! `before` has the tight link towards the client: a token bucket that holds one packet, and its
//! queue. `behind` delays and loses what has crossed it. So a packet waits, is transmitted, may be
//! lost and travels, as in the simulator. The way back is the same from the other side. The
//! sender's own namespace has no queue: the kernel would push back on its socket instead of
//! dropping.

use super::scenario::{Hop, Plan};

/// The namespaces, in a row.
pub const NODES: [&str; 4] = ["server", "before", "behind", "client"];

/// The addresses of both ends, from a block for tests between networks (RFC 2544).
pub const SERVER: &str = "198.18.0.1";
pub const CLIENT: &str = "198.18.0.10";

/// The bucket holds one full Ethernet frame.
const BURST_BYTES: u32 = 1514;

/// The bucket counts Ethernet's header; scenarios count IP packets.
const ETHERNET_BYTES: u32 = 14;

/// netem counts the packets that travel. Nobody may be dropped there.
const TRAVELLERS: u32 = 100_000;

/// With a rate netem keeps packets in order, however their delays vary. This one is too fast to
/// delay any.
const IN_ORDER: &str = "rate 100gbit";

/// The commands that make the path. `$IP` and `$TC` are the tools, `$NS` begins the namespaces'
/// names.
pub fn commands(plan: &Plan) -> Vec<String> {
    let mut lines = Vec::new();
    for node in NODES {
        lines.push(format!("$IP -n $NS-{node} link set lo up"));
    }
    for (index, ends) in NODES.windows(2).enumerate() {
        join(&mut lines, [ends[0], ends[1]], 4 * index);
    }
    for (node, to) in [
        ("server", "default via 198.18.0.2"),
        ("before", "198.18.0.8/30 via 198.18.0.6"),
        ("behind", "198.18.0.0/30 via 198.18.0.5"),
        ("client", "default via 198.18.0.9"),
    ] {
        lines.push(format!("$IP -n $NS-{node} route add {to}"));
    }
    for node in ["before", "behind"] {
        lines.push(format!(
            "$IP netns exec $NS-{node} sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'"
        ));
    }
    direction(&mut lines, &plan.forward, ["before right", "behind right"]);
    direction(&mut lines, &plan.reverse, ["behind left", "before left"]);
    lines
}

/// When the tight link's rate changes, in seconds, and the command that does it.
pub fn steps(plan: &Plan) -> Vec<(f64, String)> {
    let later = plan.forward.rates.iter().skip(1);
    let change = |&(at_s, rate)| {
        let bucket = bucket(&plan.forward, rate);
        let line = format!("$TC -n $NS-before qdisc change dev right root handle 1: {bucket}");
        (at_s, line)
    };
    later.map(change).collect()
}

/// A pair of interfaces. Packets of TCP leave one by one: traffic control would take a bundle for
/// one packet.
pub fn join(lines: &mut Vec<String>, [left, right]: [&str; 2], net: usize) {
    lines.push(format!(
        "$IP link add right netns $NS-{left} type veth peer name left netns $NS-{right}"
    ));
    for (node, interface, host) in [(left, "right", net + 1), (right, "left", net + 2)] {
        lines.push(format!(
            "$IP -n $NS-{node} link set {interface} gso_max_segs 1"
        ));
        lines.push(format!(
            "$IP -n $NS-{node} address add 198.18.0.{host}/30 dev {interface}"
        ));
        lines.push(format!("$IP -n $NS-{node} link set {interface} up"));
    }
}

/// Both parts of a way, each at a namespace's interface.
fn direction(lines: &mut Vec<String>, hop: &Hop, [link, travel]: [&str; 2]) {
    let (node, interface) = link.split_once(' ').unwrap_or((link, ""));
    let rate = hop.rates.first().map_or(0, |(_, rate)| *rate);
    let bucket = bucket(hop, rate);
    lines.push(format!(
        "$TC -n $NS-{node} qdisc add dev {interface} root handle 1: {bucket}"
    ));
    if let Some(packets) = hop.queue_packets {
        lines.push(format!(
            "$TC -n $NS-{node} qdisc add dev {interface} parent 1:1 pfifo limit {packets}"
        ));
    }
    if let Some(netem) = netem(hop) {
        let (node, interface) = travel.split_once(' ').unwrap_or((travel, ""));
        lines.push(format!(
            "$TC -n $NS-{node} qdisc add dev {interface} root {netem}"
        ));
    }
}

/// The tight link at this rate. A change has to repeat everything: what it leaves out is forgotten.
/// The limit is that of the queue inside, and counts what that queue counts.
fn bucket(hop: &Hop, rate: u64) -> String {
    let limit = hop.queue_bytes.or(hop.queue_packets).unwrap_or(0);
    format!(
        "stab overhead -{ETHERNET_BYTES} linklayer ethernet tbf rate {rate}bit burst {BURST_BYTES} \
         limit {limit}"
    )
}

/// Nothing where packets neither travel nor get lost.
fn netem(hop: &Hop) -> Option<String> {
    if hop.delay_s == 0.0 && hop.loss_share == 0.0 {
        return None;
    }
    let mut words = format!("netem limit {TRAVELLERS} delay {:.0}us", hop.delay_s * 1e6);
    if hop.jitter_s > 0.0 {
        words += &format!(" {:.0}us {IN_ORDER}", hop.jitter_s * 1e6);
    }
    if hop.loss_share > 0.0 {
        words += &format!(" loss random {:.6}%", hop.loss_share * 100.0);
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::super::scenario::tests::described;
    use super::*;

    fn hop(change: impl Fn(&mut Hop)) -> Hop {
        let mut hop = Hop {
            rates: vec![(0.0, 10_000_000)],
            delay_s: 0.02,
            jitter_s: 0.0,
            queue_bytes: Some(50_000),
            queue_packets: None,
            loss_share: 0.0,
        };
        change(&mut hop);
        hop
    }

    #[test]
    fn netem_has_what_the_scenario_says_and_no_more() {
        let plain = netem(&hop(|_| {}));
        assert_eq!(plain.as_deref(), Some("netem limit 100000 delay 20000us"));
        let jitter = netem(&hop(|hop| hop.jitter_s = 0.004));
        let expected = "netem limit 100000 delay 20000us 4000us rate 100gbit";
        assert_eq!(jitter.as_deref(), Some(expected));
        let loss = netem(&hop(|hop| hop.loss_share = 0.01));
        let expected = "netem limit 100000 delay 20000us loss random 1.000000%";
        assert_eq!(loss.as_deref(), Some(expected));
        assert_eq!(netem(&hop(|hop| hop.delay_s = 0.0)), None);
    }

    #[test]
    fn a_queue_of_packets_is_one_in_the_bucket() {
        let mut lines = Vec::new();
        let packets = hop(|hop| (hop.queue_bytes, hop.queue_packets) = (None, Some(25)));
        direction(&mut lines, &packets, ["before right", "behind right"]);
        let [bucket, queue, _] = &lines[..] else {
            panic!("three lines: {lines:?}");
        };
        assert!(
            bucket.ends_with("tbf rate 10000000bit burst 1514 limit 25"),
            "{bucket}"
        );
        assert_eq!(
            queue,
            "$TC -n $NS-before qdisc add dev right parent 1:1 pfifo limit 25"
        );
    }

    #[test]
    fn a_step_repeats_the_whole_link() {
        let plan = Plan::of(described(|_| {})).expect("plain");
        let expected = "$TC -n $NS-before qdisc change dev right root handle 1: stab overhead -14 \
                        linklayer ethernet tbf rate 6000000bit burst 1514 limit 50000";
        assert_eq!(steps(&plan), [(7.0, expected.to_owned())]);
        let made = commands(&plan);
        let first = made
            .iter()
            .find(|line| line.contains("dev right root handle 1:"));
        let first = first.expect("a tight link");
        assert!(first.contains("rate 10000000bit"), "{first}");
    }
}
