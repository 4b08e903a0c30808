//! The frames in a qlog, and what only a qlog shows.

use super::{following, request, send_packet, MS};
use crate::controller::{factory, Policy, Script};
use crate::qlog::{events, Memory};
use crate::world::{server_config, Fate, World, DELAY};

/// A world whose server writes a log.
fn logging(script: Script) -> (World, Memory) {
    let mut world = World::of_both(server_config(factory(script)), following(), 1);
    let memory = Memory::default();
    world
        .server
        .set_qlog(Box::new(memory.clone()), "seam".into(), "test".into());
    world.shake_hands();
    (world, memory)
}

/// The frames with no name in the log, packet by packet: type and bytes.
fn unnamed(memory: &Memory) -> Vec<(u64, String)> {
    let mut found = Vec::new();
    for event in events(&memory.text()) {
        if event["name"] != "quic:packet_sent" {
            continue;
        }
        for frame in event["data"]["frames"].as_array().into_iter().flatten() {
            if let Some(ty) = frame["frame_type_bytes"].as_u64() {
                let bytes = frame["raw"]["data"].as_str().unwrap_or_default();
                found.push((ty, bytes.to_owned()));
            }
        }
    }
    found
}

#[test]
fn requests_are_logged_with_type_and_bytes() {
    let script = Script::new(Policy::Paced(MS))
        .immediate_every(10)
        .frequency(request(9, 100 * MS, 3));
    let (mut world, memory) = logging(script);
    world.transfer(50_000);
    drop(world);
    let frames = unnamed(&memory);
    assert_eq!(frames[0], (0xaf, "40af0009800186a003".to_owned()));
    let (frequency, immediate): (Vec<_>, Vec<_>) = frames.iter().partition(|(ty, _)| *ty == 0xaf);
    assert_eq!(
        frequency.len(),
        1,
        "a request that does not change is sent once"
    );
    assert!(immediate.len() >= 4);
    assert!(immediate
        .iter()
        .all(|(ty, bytes)| *ty == 0x1f && bytes == "1f"));
}

#[test]
fn sequence_numbers_grow_and_a_lost_request_gets_a_new_one() {
    let script = Script::new(Policy::Paced(MS)).frequency(request(9, 100 * MS, 3));
    let (mut world, memory) = logging(script);
    world.link = Box::new(|_| Fate::Drop);
    send_packet(&mut world);
    world.link = Box::new(|_| Fate::Deliver);
    for _ in 0..100 {
        send_packet(&mut world);
        world.run_for(MS);
    }
    drop(world);
    let sent: Vec<_> = unnamed(&memory)
        .into_iter()
        .map(|(_, bytes)| bytes)
        .collect();
    assert_eq!(sent, ["40af0009800186a003", "40af0109800186a003"]);
}

#[test]
fn a_lost_request_that_is_obsolete_is_not_sent_again() {
    let script = Script::new(Policy::Paced(MS)).frequency(request(9, 100 * MS, 3));
    let (mut world, memory) = logging(script);
    world.link = Box::new(|_| Fate::Drop);
    send_packet(&mut world);
    world.link = Box::new(|_| Fate::Deliver);
    super::ask(&mut world, request(5, 100 * MS, 3));
    for _ in 0..100 {
        world.run_for(MS);
        send_packet(&mut world);
    }
    assert_eq!(world.controller().losses.len(), 1);
    drop(world);
    let sent: Vec<_> = unnamed(&memory)
        .into_iter()
        .map(|(_, bytes)| bytes)
        .collect();
    assert_eq!(sent, ["40af0009800186a003", "40af0105800186a003"]);
}

/// The frames without a name that the server sent when the client had gone silent.
fn after_silence(script: Script) -> Vec<(u64, String)> {
    let (mut world, memory) = logging(script);
    world.transfer(5_000);
    world.run_for(10 * DELAY);
    let before = unnamed(&memory).len();
    world.client_is_mute = true;
    send_packet(&mut world);
    world.run_for(20 * DELAY);
    let stats = world.server.path_stats().next().expect("a path");
    assert!(stats.total_pto_count > 0, "the probe timer ran out");
    drop(world);
    unnamed(&memory).split_off(before)
}

#[test]
fn probes_ask_for_an_acknowledgement_if_the_delay_was_raised() {
    let raised = Script::new(Policy::Free).frequency(request(9, 100 * MS, 3));
    let probes = after_silence(raised);
    assert!(
        !probes.is_empty() && probes.iter().all(|(ty, _)| *ty == 0x1f),
        "{probes:?}"
    );

    let not_raised = Script::new(Policy::Free).frequency(request(9, 25 * MS, 3));
    assert_eq!(after_silence(not_raised), []);
}
