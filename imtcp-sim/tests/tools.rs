//! Tools that measure with packets of their own, on paths whose arithmetic says what they find.

use imtcp_sim::result::{RunResult, ToolResult};
use imtcp_sim::run::RunOptions;
use imtcp_sim::scenario::Scenario;
use imtcp_sim::tool::Kind;

fn run(name: &str, settings: &[(&str, &str)], seed: u64) -> RunResult {
    let settings: Vec<(String, String)> = settings
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    let scenario = Scenario::load(name, &settings).expect("it is right");
    let result = scenario.run(seed, RunOptions::default());
    result.unwrap_or_else(|error| panic!("seed {seed}: {error}"))
}

fn tool(result: &RunResult) -> &ToolResult {
    result.tool("main").expect("there")
}

#[test]
fn each_tool_finds_the_rate_of_an_idle_link() {
    for kind in Kind::ALL.map(Kind::name) {
        let result = run("tools", &[("tool.main.kind", kind)], 1);
        let [measurement] = &tool(&result).measurements[..] else {
            panic!("{kind}: one measurement");
        };
        assert_eq!(measurement.truth_bps, Some(20_000_000), "{kind}");
        // A step of pathChirp's rates is 20 %, and the paper says 10 % for its search.
        let error = measurement.error.expect("an answer");
        let bound = if kind == "pathchirp" { 0.2 } else { 0.1 };
        assert!(error.abs() < bound, "{kind}: {error}");
        assert_eq!(measurement.lost_packets, 0, "{kind}");
        // All that crossed the link forward are probes and questions of 64 bytes.
        let crossed = result.link("bottleneck").expect("there").forward.crossed;
        assert!(crossed.bytes >= measurement.bytes, "{kind}");
        let questions = crossed.packets - measurement.packets;
        assert_eq!(crossed.bytes - measurement.bytes, questions * 64, "{kind}");
    }
}

/// They were left out, and a link that tools fill was told to be idle.
#[test]
fn what_tools_send_fills_the_link() {
    let result = run("tools", &[("tool.main.times", "3")], 1);
    let crossed = result.link("bottleneck").expect("there").forward.crossed;
    let carried = result.usage[0].carried_bps as f64 * result.sim_seconds / 8.0;
    let share = carried / crossed.bytes as f64;
    assert!((share - 1.0).abs() < 0.01, "{carried} of {crossed:?}");
}

#[test]
fn a_seed_replays_and_another_one_is_another_run() {
    let of = |seed| {
        let settings = [
            ("tool.main.kind", "spruce"),
            ("traffic.cross.rate", "10 Mbit/s"),
        ];
        tool(&run("tools", &settings, seed)).clone()
    };
    assert_eq!(of(3), of(3));
    assert_ne!(
        of(3).measurements[0].value_bps,
        of(4).measurements[0].value_bps
    );
}

#[test]
fn probes_are_cross_traffic_to_flows() {
    // 60 packets of 750 bytes in each train of PTR, one measurement after the other.
    let text = "name = \"both\"\ntitle = \"both\"\nduration = \"10 s\"\n[[link]]\nname = \"l\"\n\
        rate = \"10 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"50 KB\"\n[[flow]]\nname = \"main\"\n\
        controller = \"reno\"\napplication = { kind = \"frames\", rate = \"1 Mbit/s\", \
        per_second = 20 }\n[[tool]]\nname = \"main\"\nkind = \"ptr\"\ntimes = \"unbounded\"\n\
        pause = \"20 ms\"\n";
    let scenario = Scenario::parse("both.toml", text, &[]).expect("it is right");
    let result = scenario.run(1, RunOptions::default()).expect("it runs");
    let metered: u64 = result
        .truth
        .iter()
        .map(|row| row.tool_bps["main"] / 80)
        .sum();
    let measurements = &tool(&result).measurements;
    let sent: u64 = measurements.iter().map(|one| one.bytes).sum();
    let questions: u64 = measurements.iter().map(|one| one.other_bytes / 2).sum();
    let apart = metered.abs_diff(sent + questions);
    assert!(
        apart < 1_000,
        "metered {metered}, sent {sent} and {questions}"
    );
    let seconds = result.sim_seconds;
    let own = (sent + questions) as f64 * 8.0 / seconds;
    let main = result.flow("main").expect("there");
    let mean = |from: u64, to: u64| {
        let at = |s| imtcp_cc::units::Timestamp::from_nanos(s * 1_000_000_000);
        main.reference
            .truth
            .mean(at(from), at(to))
            .expect("a truth")
    };
    let left = mean(0, 10);
    assert!(
        (left - (10e6 - own)).abs() < 0.02 * own,
        "{left} left by {own}"
    );
}

#[test]
fn a_receiver_sees_one_way_and_echoes_take_both() {
    let narrow_back = [
        (
            "link.bottleneck.reverse",
            "{ rate = \"5 Mbit/s\", queue = \"100 KB\" }",
        ),
        ("tool.main.kind", "ptr"),
    ];
    let one_way = run("tools", &narrow_back, 1);
    let error = tool(&one_way).measurements[0].error.expect("an answer");
    assert!(error.abs() < 0.1, "{error}");
    let echo = run(
        "tools",
        &[narrow_back[0], ("tool.main.kind", "abw-ping")],
        1,
    );
    let told = tool(&echo).measurements[0].value_bps.expect("an answer");
    assert!(told.abs_diff(5_000_000) < 500_000, "{told}");
    let forced = [narrow_back[0], narrow_back[1], ("tool.main.echo", "true")];
    let forced = run("tools", &forced, 1);
    let told = tool(&forced).measurements[0].value_bps.expect("an answer");
    assert!(told < 6_000_000, "{told}");
}

#[test]
fn lost_questions_and_answers_are_sent_again() {
    let lossy = [
        ("tool.main.kind", "pathchirp"),
        ("link.bottleneck.loss", "{ rate = \"0 %\" }"),
        ("link.bottleneck.reverse", "{ loss = { rate = \"40 %\" } }"),
    ];
    let result = run("tools", &lossy, 1);
    let [measurement] = &tool(&result).measurements[..] else {
        panic!("one measurement");
    };
    assert!(
        measurement.error.expect("an answer").abs() < 0.2,
        "{measurement:?}"
    );
    // More questions than chirps, and a second for each of those that were asked again.
    assert!(measurement.other_bytes > 2 * 64 * 12, "{measurement:?}");
    assert!(measurement.took_s > Some(8.0), "{measurement:?}");
}

#[test]
fn measurements_follow_each_other_after_a_pause() {
    let settings = [
        ("tool.main.kind", "ptr"),
        ("tool.main.times", "3"),
        ("tool.main.pause", "4 s"),
    ];
    let result = run("tools", &settings, 1);
    let all = &tool(&result).measurements;
    assert_eq!(all.len(), 3);
    assert_eq!(all[0].start_s, 2.0);
    for pair in all.windows(2) {
        let pause = pair[1].start_s - pair[0].end_s.expect("it ended");
        assert!((pause - 4.0).abs() < 1e-6, "{pause}");
    }
    let cut = [
        settings[0],
        settings[1],
        settings[2],
        ("tool.main.stop", "3 s"),
    ];
    assert_eq!(tool(&run("tools", &cut, 1)).measurements.len(), 1);
}

#[test]
fn the_queue_that_a_train_adds_is_its_own_length_at_most() {
    // A train of 50 packets of 1500 bytes leaves at once and needs 30 ms at 20 Mbit/s; the question
    // behind it has 64 bytes.
    let result = run(
        "tools",
        &[
            ("tool.main.kind", "pathload"),
            ("link.bottleneck.queue", "1 MB"),
        ],
        1,
    );
    let most = tool(&result).measurements[0].added_max_ms;
    assert!((30.0..30.1).contains(&most), "{most}");
    let mean = tool(&result).measurements[0]
        .added_mean_ms
        .expect("it ended");
    assert!(mean > 0.0 && mean < 3.0, "{mean}");
}

#[test]
fn a_tool_that_follows_the_path_settles_after_its_steps() {
    let result = run("b2-wide", &[], 1);
    let tool = result.tool("abw-ping").expect("there");
    assert_eq!(tool.steps_s, [50.0, 100.0]);
    for settle in &tool.settle_s {
        assert!(
            settle.is_some_and(|seconds| seconds < 5.0),
            "{:?}",
            tool.settle_s
        );
    }
}

#[test]
fn a_probe_that_comes_after_its_measurement_is_lost_to_that_and_counts_for_no_other() {
    // A train of 34 packets needs 14 ms at 20 Mbit/s and 0.5 s at 0.5: the tool gives most of them
    // up when the link becomes slow, and they come while it measures again.
    let settings = [
        ("tool.main.follow", "true"),
        ("link.bottleneck.queue", "4 MB"),
        (
            "link.bottleneck.steps",
            "[{ at = \"5 s\", rate = \"0.5 Mbit/s\" }]",
        ),
        ("duration", "10 s"),
    ];
    let result = run("tools", &settings, 1);
    let all = &tool(&result).measurements;
    assert!(all.iter().any(|one| one.lost_packets > 0), "{all:?}");
    for one in all {
        assert!(one.lost_packets <= one.packets, "{one:?}");
    }
}
