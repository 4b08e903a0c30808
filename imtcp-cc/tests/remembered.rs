//! What a connection leaves to later ones, through the events of quiche.
#![cfg(feature = "quiche")]

use imtcp_cc::Config;
use imtcp_cc::quiche::Factory;
use quiche::cc::{
    AckReceived, AckedPacket, CongestionController, Factory as _, PacketSent, PacketSpace,
    PathContext, PathIdentity, Rtt,
};
use std::time::{Duration, Instant};

const ROUND_TRIP: Duration = Duration::from_millis(20);
const SIZE: usize = 1_200;

/// A factory that remembers, and an instant to begin at.
fn remembering() -> (Factory, Instant) {
    let config = Config::builder().remember_paths(true).build();
    #[expect(clippy::disallowed_methods, reason = "only differences to it are used")]
    let now = Instant::now();
    (Factory::new(config.expect("a plain choice")), now)
}

fn begun(factory: &Factory, now: Instant) -> Box<dyn CongestionController> {
    factory.build(&PathContext {
        identity: PathIdentity::default(),
        now,
        max_datagram_size: SIZE,
        initial_window_packets: 10,
        initial_rtt: Duration::from_millis(100),
    })
}

/// A second of a transfer, ten packets each round trip, from this packet on. Returns when it ends.
fn transfer(controller: &mut dyn CongestionController, mut now: Instant, first: u64) -> Instant {
    for round in 0..50 {
        let numbers = first + 10 * round..first + 10 * (round + 1);
        let mut acked = Vec::new();
        for packet_number in numbers.clone() {
            acked.push(AckedPacket {
                packet_number,
                size: SIZE,
                time_sent: now,
                app_limited: false,
            });
            controller.on_packet_sent(&PacketSent {
                now,
                space: PacketSpace::Application,
                packet_number,
                size: SIZE,
                in_flight: true,
                ack_eliciting: true,
                app_data: true,
                released: false,
                bytes_in_flight: acked.len() * SIZE,
            });
        }
        now += ROUND_TRIP;
        controller.on_ack(&AckReceived {
            now,
            space: PacketSpace::Application,
            largest_acked: numbers.end - 1,
            ack_delay: Duration::ZERO,
            acked: &acked,
            rtt: Rtt {
                latest: ROUND_TRIP,
                min: ROUND_TRIP,
                smoothed: ROUND_TRIP,
                variation: ROUND_TRIP / 2,
            },
            bytes_in_flight: 0,
            ecn_ce: None,
            receive_times: &[],
        });
    }
    now
}

#[test]
fn what_another_connection_has_taken_does_not_come_back_when_the_end_is_told_again() {
    let (factory, began) = remembering();
    let mut first = begun(&factory, began);
    let now = transfer(&mut *first, began, 0);
    first.on_closed(now);
    assert_eq!(factory.remembered_paths(now).len(), 1);
    drop(begun(&factory, now));
    assert_eq!(factory.remembered_paths(now), [], "the second has it");
    // Three probe timeouts after its close quiche tells it again.
    first.on_closed(now + 5 * ROUND_TRIP);
    assert_eq!(factory.remembered_paths(now), []);
}

#[test]
fn a_path_that_was_left_an_hour_ago_is_not_as_new_as_the_end_of_its_connection() {
    let (factory, began) = remembering();
    let mut path = begun(&factory, began);
    let left = transfer(&mut *path, began, 0);
    path.on_space_discarded(left, PacketSpace::Application, 0);
    let later = left + Duration::from_secs(1_800);
    path.on_closed(later);
    let ages = |now| -> Vec<_> {
        let all = factory.remembered_paths(now).into_iter();
        all.map(|path| path.age).collect()
    };
    assert_eq!(ages(later), [Duration::from_secs(1_800)]);
    // A connection that comes back to the path learns, and leaves it anew.
    let end = transfer(&mut *path, later, 500);
    path.on_closed(end);
    assert_eq!(ages(end), [Duration::ZERO]);
}
