//! Real quiche endpoints on simulated paths; what is expected follows from the topology.

mod common;

use common::{Path, run};
use imtcp_sim::output::idle_packets;
use imtcp_sim::result::{FlowResult, RunResult};
use imtcp_sim::run::{Qlog, RunOptions, qlog_path};
use imtcp_sim::scenario::Scenario;

/// Share of the link's capacity that the flow's IP packets took from `from_s` to `to_s` seconds.
fn utilisation(result: &RunResult, flow: &str, from_s: f64, to_s: f64) -> f64 {
    let rows = result
        .truth
        .iter()
        .filter(|row| row.t_s >= from_s && row.t_s < to_s);
    let (used, capacity) = rows.fold((0, 0), |(used, capacity), row| {
        (used + row.flow_bps[flow], capacity + row.capacity_bps)
    });
    used as f64 / capacity as f64
}

fn flow<'r>(result: &'r RunResult, name: &str) -> &'r FlowResult {
    result.flow(name).expect("the flow is in the result")
}

#[test]
fn every_controller_fills_a_link_of_10_mbit() {
    for controller in ["reno", "cubic", "bbr2", "imtcp"] {
        let path = Path::default().flow("main", controller, "{ kind = \"bulk\" }", "");
        let result = run(&path, 1);
        let share = utilisation(&result, "main", 3.0, 15.0);
        assert!(share > 0.9, "{controller} takes {share}");
        let goodput = flow(&result, "main").goodput_bps as f64;
        assert!(
            goodput > 0.8 * 10e6 && goodput < 10e6,
            "{controller}: {goodput} bit/s"
        );
        assert_eq!(flow(&result, "main").ended, None);
    }
}

/// The client's first packet takes 20 ms. A server that had not seen it by then had nothing to
/// close, and served the client to the end of the run: 5 Gbit/s over 5 ms.
#[test]
fn a_server_that_has_stopped_takes_no_client() {
    for controller in ["reno", "imtcp", "quinn-cubic"] {
        let stop = "stop = \"5 ms\"";
        let path = Path::default().lasting(3);
        let path = path.flow("main", controller, "{ kind = \"bulk\" }", stop);
        let result = run(&path, 1);
        let main = flow(&result, "main");
        assert_eq!(
            (main.goodput_bps, main.sent_packets),
            (0, 0),
            "{controller}"
        );
    }
}

#[test]
fn two_flows_of_reno_share_fairly() {
    let path = Path::default()
        .lasting(60)
        .flow("one", "reno", "{ kind = \"bulk\" }", "")
        .flow("two", "reno", "{ kind = \"bulk\" }", "start = \"1 s\"");
    let result = run(&path, 1);
    let [one, two] = ["one", "two"].map(|name| utilisation(&result, name, 10.0, 60.0));
    let jain = (one + two) * (one + two) / (2.0 * (one * one + two * two));
    assert!(jain > 0.95, "{one} and {two}: Jain's index {jain}");
    assert!(one + two > 0.95, "{one} and {two}");
}

#[test]
fn round_trips_are_propagation_and_serialisation() {
    // An empty path: 2 x 20 ms, a packet of at most 1378 bytes at 10 Mbit/s (1.1024 ms), and an
    // acknowledgement of 40 to 100 bytes (0.03 to 0.08 ms).
    let path = Path::default().flow(
        "main",
        "reno",
        "{ kind = \"datagrams\", rate = \"1 Mbit/s\" }",
        "",
    );
    let result = run(&path, 1);
    let rtt = flow(&result, "main").rtt_ms.expect("there are round trips");
    assert!((41.10..41.20).contains(&rtt.p50_ms), "{rtt:?}");
    assert!((41.10..41.20).contains(&rtt.p95_ms), "{rtt:?}");
}

#[test]
fn limited_applications_get_what_they_ask_for() {
    for application in [
        "{ kind = \"frames\", rate = \"2 Mbit/s\", per_second = 30 }",
        "{ kind = \"chunks\", rate = \"2 Mbit/s\", period = \"1 s\" }",
        "{ kind = \"datagrams\", rate = \"2 Mbit/s\" }",
    ] {
        for controller in ["reno", "imtcp"] {
            let path = Path::default().flow("main", controller, application, "");
            let goodput = flow(&run(&path, 1), "main").goodput_bps as f64;
            // The handshake takes the first tenth of a second of 15, and a chunk may be under way.
            let expected = 1.8e6..2.15e6;
            assert!(
                expected.contains(&goodput),
                "{application} with {controller}: {goodput}"
            );
        }
    }
}

#[test]
fn a_transfer_of_known_size_completes() {
    let application = "{ kind = \"bulk\", size = \"5 MB\" }";
    let path = Path::default().flow("main", "reno", application, "start = \"1 s\"");
    let result = run(&path, 1);
    let completed = flow(&result, "main").completed_s.expect("it completes");
    // 5 MB of payload at 10 Mbit/s take 4 s at least; slow start and headers add less than one.
    assert!((5.0..6.0).contains(&completed), "complete at {completed} s");
}

/// Datagrams from the client per datagram from the server, in the long run.
fn acknowledgements_per_packet(receiver: &str) -> f64 {
    let path = Path::default().flow(
        "main",
        "reno",
        "{ kind = \"datagrams\", rate = \"4 Mbit/s\" }",
        receiver,
    );
    let result = run(&path, 1);
    let flow = flow(&result, "main");
    flow.acknowledgement_datagrams as f64 / flow.sent_packets as f64
}

#[test]
fn receivers_keep_their_cadence() {
    for (receiver, expected) in [
        ("receiver = { acknowledge = \"every\" }", 1.0),
        ("receiver = { acknowledge = 2 }", 1.0 / 2.0),
        ("receiver = { acknowledge = 10 }", 1.0 / 10.0),
        // 4 Mbit/s of 1300 bytes are about 380 a second; a timer of 25 ms fires 38 times at most.
        (
            "receiver = { acknowledge = \"timer\", delay = \"25 ms\" }",
            1.0 / 10.4,
        ),
    ] {
        let seen = acknowledgements_per_packet(receiver);
        assert!(
            (seen / expected - 1.0).abs() < 0.06,
            "{receiver}: {seen} for {expected}"
        );
    }
}

#[test]
fn each_packet_of_a_small_window_is_acknowledged_when_acknowledgements_are_asked_for() {
    let overrides = [
        ("duration", "\"15 s\""),
        ("link.bottleneck.rate", "\"2 Mbit/s\""),
        ("link.bottleneck.queue", "\"6 KB\""),
    ];
    let overrides = overrides.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let scenario = Scenario::load("acks-alone", &overrides).expect("it is built in");
    let result = scenario.run(1, RunOptions::default()).expect("it runs");
    let flow = flow(&result, "main");
    let seen = flow.acknowledgement_datagrams as f64 / flow.sent_packets as f64;
    // The receiver acknowledges every second packet by itself.
    assert!(seen > 0.95, "{seen}");
}

#[test]
fn a_hop_thins_acknowledgements() {
    let path = Path::default()
        .link("reverse = { keep_every_acknowledgement = 4 }")
        .flow("main", "reno", "{ kind = \"bulk\" }", "");
    let result = run(&path, 1);
    let reverse = result
        .link("bottleneck")
        .expect("the link is in the result")
        .reverse;
    let kept = reverse.crossed.packets as f64 / reverse.offered.packets as f64;
    assert!((0.24..0.27).contains(&kept), "{kept} kept");
    assert!(utilisation(&result, "main", 3.0, 15.0) > 0.9);
}

#[test]
fn random_loss_shows_in_the_sender_s_count() {
    let path = Path::default().link("loss = { rate = \"1 %\" }").flow(
        "main",
        "reno",
        "{ kind = \"datagrams\", rate = \"4 Mbit/s\" }",
        "",
    );
    let result = run(&path, 1);
    let lost = result
        .link("bottleneck")
        .expect("the link is in the result")
        .forward
        .lost
        .packets;
    let declared = flow(&result, "main").lost_packets;
    assert!(lost > 20, "{lost} lost");
    assert!(
        declared.abs_diff(lost) <= 3,
        "{declared} declared lost of {lost}"
    );
}

#[test]
fn a_flow_lives_from_its_start_to_its_stop() {
    let path = Path::default()
        .flow("always", "reno", "{ kind = \"bulk\" }", "")
        .flow(
            "guest",
            "cubic",
            "{ kind = \"bulk\" }",
            "start = \"5 s\"\nstop = \"10 s\"",
        );
    let result = run(&path, 1);
    assert_eq!(utilisation(&result, "guest", 0.0, 5.0), 0.0);
    assert!(utilisation(&result, "guest", 6.0, 10.0) > 0.1);
    // Data that was queued at the close may cross for a queueing delay longer.
    assert_eq!(utilisation(&result, "guest", 10.2, 15.0), 0.0);
    assert_eq!(flow(&result, "always").steps_s, [5.0, 10.0]);
}

#[test]
fn another_flow_makes_a_step_when_it_is_drawn_to_begin() {
    let bulk = "{ kind = \"bulk\" }";
    let path = Path::default()
        .flow("main", "reno", bulk, "start_within = \"1 s\"")
        .flow("beside", "reno", bulk, "start_within = \"2 s\"")
        .flow(
            "guest",
            "cubic",
            bulk,
            "start = \"5 s\"\nstart_within = \"4 s\"\nstop = \"10 s\"",
        );
    for seed in 1..4 {
        let result = run(&path, seed);
        let begun_s = flow(&result, "guest").reference.life.0.as_secs_f64();
        let [came_s, went_s] = flow(&result, "main").steps_s[..] else {
            panic!("who begins with it makes no step");
        };
        assert!((came_s - begun_s).abs() < 1e-6, "{came_s} {begun_s}");
        assert!(came_s > 5.0 && went_s == 10.0, "{came_s} {went_s}");
    }
}

#[test]
fn goodput_counts_from_the_drawn_start() {
    let source = "{ kind = \"datagrams\", rate = \"2 Mbit/s\" }";
    let path = Path::default().flow("main", "reno", source, "start_within = \"10 s\"");
    for seed in 1..6 {
        let result = run(&path, seed);
        let goodput = flow(&result, "main").goodput_bps as f64;
        // The handshake takes the first tenth of a second of 5 at least.
        assert!((1.9e6..2.05e6).contains(&goodput), "seed {seed}: {goodput}");
    }
}

#[test]
fn measuring_sends_no_packet_without_data() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("idle-packets");
    std::fs::create_dir_all(&folder).expect("the folder for test files can be made");
    // A connection with a full window is only watched, and sends no streams.
    for (application, streams_sent) in [
        ("{ kind = \"bulk\" }", 0..1),
        ("{ kind = \"datagrams\", rate = \"4 Mbit/s\" }", 10..100_000),
        (
            "{ kind = \"frames\", rate = \"2 Mbit/s\", per_second = 30 }",
            10..100_000,
        ),
    ] {
        let path = Path::default()
            .traffic("name = \"cross\"\nkind = \"poisson\"\nrate = \"3 Mbit/s\"")
            .flow("main", "imtcp", application, "");
        let scenario = path.scenario();
        let options = RunOptions {
            qlog: Some(Qlog::into_folder(&folder)),
            progress: None,
        };
        let result = scenario.run(1, options).expect("it runs");
        let streams = flow(&result, "main")
            .measuring
            .map_or(0, |measuring| measuring.streams);
        let expected = streams_sent.contains(&streams);
        assert!(expected, "{application}: {streams} streams");
        let qlog = qlog_path(&folder, &scenario, 1, "main");
        let idle = idle_packets(&qlog).expect("the qlog can be read");
        assert_eq!(idle.packets, 0, "{application}: {} bytes", idle.bytes);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_is_full_at_the_end_of_a_qlog_is_an_error() {
    use imtcp_qlog::write::Compression;
    use imtcp_sim::run::RunError;
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("full-disk");
    std::fs::create_dir_all(&folder).expect("the folder for test files can be made");
    let path = Path::default().flow("main", "imtcp", "{ kind = \"bulk\" }", "");
    let scenario = path.scenario();
    for compression in [Compression::None, Compression::Zstd] {
        let qlog = Qlog {
            compression,
            ..Qlog::into_folder(&folder)
        };
        let file = qlog.path(&scenario, 1, "main");
        let _ = std::fs::remove_file(&file);
        std::os::unix::fs::symlink("/dev/full", &file).expect("a link");
        let options = RunOptions {
            qlog: Some(qlog),
            progress: None,
        };
        let outcome = scenario.run(1, options);
        let name = file.display().to_string();
        assert!(
            matches!(&outcome, Err(RunError::Qlog { file, .. }) if *file == name),
            "{compression:?}: {:?}",
            outcome.err()
        );
    }
}
