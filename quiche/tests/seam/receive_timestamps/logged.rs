//! An acknowledgement with timestamps in a qlog.

use serde_json::Value;

use super::{config, told};
use crate::qlog::{events, Memory};
use crate::world::{Side, World};

/// The ACK frames in the log of one side, in events of one name, and whether times were told.
fn logged(max: u64, side: Side, name: &str) -> (Vec<Value>, bool) {
    let mut world = World::of_both(config(max, false), config(0, true), 1);
    let memory = Memory::default();
    world
        .side(side)
        .set_qlog(Box::new(memory.clone()), "seam".into(), "test".into());
    world.shake_hands();
    world.transfer(2_000_000);
    let is_told = !told(&mut world, Side::Server).is_empty();
    drop(world);
    let events = events(&memory.text());
    let packets = events.iter().filter(|event| event["name"] == name);
    let frames = packets.filter_map(|packet| packet["data"]["frames"].as_array());
    let acks = frames
        .flatten()
        .filter(|frame| frame["frame_type"] == "ack");
    (acks.cloned().collect(), is_told)
}

#[test]
fn it_is_logged_as_an_acknowledgement_on_either_side() {
    for (side, name) in [
        (Side::Server, "quic:packet_received"),
        (Side::Client, "quic:packet_sent"),
    ] {
        let (plain, without) = logged(0, side, name);
        let (stamped, with) = logged(100, side, name);
        assert!(!without && with);
        assert!(plain.len() > 10, "{} frames", plain.len());
        assert_eq!(stamped, plain, "{side:?}");
    }
}
