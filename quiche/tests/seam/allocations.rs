//! The seam adds no allocation to the processing of an acknowledgement.

use std::sync::Arc;
use std::time::Duration;

use quiche::cc::{
    AckReceived, CongestionController, Factory, PacketSent, PacketsLost, PathContext, Release,
    SendContext,
};
use quiche::Config;

use crate::world::{base_config, payload, server_config, World};

/// A fixed window, and no memory of anything.
#[derive(Debug)]
struct Fixed;

impl Factory for Fixed {
    fn build(&self, _path: &PathContext) -> Box<dyn CongestionController> {
        Box::new(Fixed)
    }
}

impl CongestionController for Fixed {
    fn cwnd(&self) -> usize {
        100_000
    }

    fn next_release(&mut self, _context: &SendContext) -> Release {
        Release::Now
    }

    fn on_packet_sent(&mut self, _sent: &PacketSent) {}

    fn on_ack(&mut self, _ack: &AckReceived<'_>) {}

    fn on_loss(&mut self, _loss: &PacketsLost<'_>) {}

    fn on_max_datagram_size(&mut self, _size: usize) {}

    fn state(&self) -> &'static str {
        "fixed"
    }
}

/// Allocations per received datagram, when a packet leaves every 10 ms and is acknowledged.
fn allocations(server: Config, client: Config) -> Vec<u64> {
    let mut world = World::between(server, client, 1);
    let data = payload(1_000);
    let mut received = Vec::new();
    let mut send = |world: &mut World, packets| {
        for _ in 0..packets {
            assert_eq!(
                world.write(&data),
                data.len(),
                "the window is never the limit"
            );
            world.run_for(Duration::from_millis(10));
            world.read(&mut received);
        }
    };
    send(&mut world, 500);
    world.allocations.clear();
    send(&mut world, 500);
    assert!(world.allocations.len() > 400, "an acknowledgement a packet");
    std::mem::take(&mut world.allocations)
}

#[test]
fn an_acknowledgement_allocates_no_more_than_with_reno() {
    let mut reno = base_config();
    reno.set_cc_algorithm(quiche::CongestionControlAlgorithm::Reno);
    let with_reno = allocations(reno, base_config());
    let with_plugin = allocations(server_config(Arc::new(Fixed)), base_config());
    assert_eq!(with_plugin, with_reno, "datagram by datagram");
}

#[test]
fn receive_times_allocate_nothing() {
    let measure = |asked| {
        let mut server = server_config(Arc::new(Fixed));
        server.set_max_receive_timestamps_per_ack(asked);
        let mut client = base_config();
        client.enable_receive_timestamps(true);
        allocations(server, client)
    };
    assert_eq!(measure(100), measure(0), "datagram by datagram");
}
