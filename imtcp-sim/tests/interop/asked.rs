//! quinn and noq ask, and quiche's client obeys (draft-ietf-quic-ack-frequency).

use crate::servers::{Asks, Server, noq, quinn};
use crate::world::{Seen, World, client_config};
use imtcp_cc::units::Timestamp;
use std::time::Duration;

const BULK: usize = 3_000_000;

fn at(millis: u64) -> Timestamp {
    Timestamp::from_origin(Duration::from_millis(millis))
}

fn servers(asks: Option<Asks>) -> [(&'static str, Box<dyn Server>); 2] {
    [
        ("quinn", Box::new(quinn::Stack::new(asks))),
        ("noq", Box::new(noq::Stack::new(asks))),
    ]
}

/// A transfer of 3 MB, which takes some 1.5 s.
fn bulk(world: &mut World) -> Seen {
    world.write_at(at(0), BULK);
    world.run_until(at(4000));
    assert_eq!(world.seen.bytes, BULK as u64, "every byte arrives");
    std::mem::take(&mut world.seen)
}

const ASKS: Asks = Asks {
    threshold: 9,
    max_ack_delay: Duration::from_millis(40),
};

fn offering() -> quiche::Config {
    let mut config = client_config();
    config.enable_ack_frequency(Duration::from_millis(1));
    config
}

#[test]
fn a_client_that_offers_nothing_acknowledges_each_packet() {
    for (stack, server) in servers(Some(ASKS)) {
        let mut world = World::new(server, client_config());
        let seen = bulk(&mut world);
        let frames = world.frames();
        println!(
            "{stack}, not offered: {} packets, {frames:?}",
            seen.received
        );
        assert_eq!(frames.ack_frequency, 0, "{stack}");
        assert!(
            seen.sent * 100 > seen.received * 95,
            "{stack}: {}",
            seen.sent
        );
    }
}

#[test]
fn quiche_acknowledges_every_tenth_packet_on_request() {
    for (stack, server) in servers(Some(ASKS)) {
        let mut world = World::new(server, offering());
        let seen = bulk(&mut world);
        let frames = world.frames();
        let longest = seen.holds.iter().max().expect("something was held");
        println!(
            "{stack}: {} packets, {} datagrams back, {frames:?}, longest hold {longest:?}",
            seen.received, seen.sent
        );
        assert!(frames.ack_frequency > 0, "{stack}");
        let ratio = seen.sent as f64 / seen.received as f64;
        assert!((0.09..0.13).contains(&ratio), "{stack}: {ratio}");
        assert!(*longest <= ASKS.max_ack_delay, "{stack}: {longest:?}");
        assert_eq!(frames.lost_packets, 0, "{stack}");
    }
}

#[test]
fn quiche_holds_an_acknowledgement_as_long_as_requested() {
    // Packets come in pairs. The first is acknowledged at once, because it comes after a long
    // silence (draft section 6.1). The second is acknowledged when the time is up, or at once
    // without the extension.
    for (config, expected) in [
        (client_config(), Duration::ZERO),
        (offering(), ASKS.max_ack_delay),
    ] {
        let mut world = World::new(Box::new(quinn::Stack::new(Some(ASKS))), config);
        world.run_until(at(1000));
        world.seen = Seen::default();
        for pair in 0..20 {
            world.write_at(at(1000 + 300 * pair), 500);
            world.write_at(at(1010 + 300 * pair), 500);
        }
        world.run_until(at(8000));
        let holds = std::mem::take(&mut world.seen.holds);
        println!("{holds:?}");
        assert_eq!(holds.len(), 40);
        for pair in holds.chunks(2) {
            assert_eq!(pair, [Duration::ZERO, expected]);
        }
    }
}
