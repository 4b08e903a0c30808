//! The survey of estimates in short: three seeds a class, within bounds that are looser than what
//! they come to. Virtual time makes them hold on any machine. `imtcp-sim survey --estimates` has
//! the bars.

mod common;

use imtcp_sim::run::RunOptions;
use imtcp_sim::scenario::Scenario;
use imtcp_sim::survey::Class;
use imtcp_sim::survey::estimate::{Reader, Score, Surveyed, Tally, run, score};

fn survey(class: Class) -> Vec<Surveyed> {
    let one = |seed| {
        let path = class.draw(seed).expect("what is drawn is valid");
        run(&path, seed, false).unwrap_or_else(|error| panic!("{error}"))
    };
    (1..=3).map(one).collect()
}

/// Whether the means over the three paths are within bounds: at least this reach, and at most this
/// interval score, in shares of the capacity.
fn is_within(class: Class, least_reach: f64, most_score: f64) {
    let all = survey(class);
    let tally = Tally::of(&all);
    let own = tally.column(Reader::Statistical).expect("it reads");
    let count = own.scores.len() as f64;
    let reach = own.scores.iter().map(|score| score.reach).sum::<f64>() / count;
    let scores = own.scores.iter().filter_map(|score| score.interval_score);
    let score = scores.sum::<f64>() / count;
    let name = class.name();
    assert!(reach >= least_reach, "{name}: reach {reach}");
    assert!(score <= most_score, "{name}: interval score {score}");
    // Nobody reads the truth of a second ago less often than that.
    let oracle = tally.column(Reader::Oracle).expect("it reads");
    assert!(oracle.medians.reach > 0.9, "{name}");
}

macro_rules! classes {
    ($($test:ident: $class:ident, $reach:literal, $score:literal;)*) => {$(
        #[test]
        fn $test() {
            is_within(Class::$class, $reach, $score);
        }
    )*};
}

classes! {
    fixed_links_are_read: Fixed, 0.95, 0.4;
    steps_are_read: Steps, 0.8, 3.2;
    links_beside_elastic_flows_are_read: Elastic, 0.85, 3.0;
    managed_queues_are_read: Managed, 0.68, 5.5;
    radio_links_are_read: Radio, 0.93, 1.6;
    links_behind_token_buckets_are_read: Shaped, 0.6, 80.0;
    several_links_are_read: Hops, 0.8, 1.1;
    poor_echoes_are_read: Echoes, 0.93, 4.0;
    busy_hosts_are_read: Hosts, 0.8, 1.4;
    paths_with_other_troubles_are_read: Mixed, 0.95, 1.0;
    sources_of_all_kinds_are_read: Sources, 0.7, 1.2;
    whole_clients_are_read: Clients, 0.7, 1.3;
    links_whose_delay_varies_are_read: Jitter, 0.95, 1.2;
}

fn surveyed(class: Class, seed: u64) -> Surveyed {
    let path = class.draw(seed).expect("what is drawn is valid");
    run(&path, seed, false).unwrap_or_else(|error| panic!("{error}"))
}

/// The score of this project's estimator on one path.
fn own_score(class: Class, seed: u64) -> Score {
    let read = surveyed(class, seed);
    let tally = Tally::of(&[read]);
    let own = tally.column(Reader::Statistical).expect("it reads");
    own.scores[0].clone()
}

/// Frames of five packets and a bit, and of nine packets, over a link that falls from 23 to
/// 8 Mbit/s and rises to 36. A stream takes all or most of such a frame, and streams show no
/// capacity. So frames without streams have to leave between them.
#[test]
fn a_slow_source_follows_a_link_that_rises_by_far() {
    let drawn = "885210 bit/s";
    for rate in [drawn, "1200000 bit/s"] {
        let mut path = Class::Steps.draw(38).expect("what is drawn is valid");
        assert!(path.text.contains(drawn), "{}", path.text);
        path.text = path.text.replace(drawn, rate);
        let read = run(&path, 38, false).unwrap_or_else(|error| panic!("{error}"));
        let own = read.read.iter().find(|it| it.reader == Reader::Statistical);
        let of_all = score(&own.expect("it reads").instants, [0.0; 2], &read.changes_s);
        assert!(
            of_all.lag_s.is_some_and(|lag| lag < 1.2),
            "{rate}: {of_all:?}"
        );
        let coverage = of_all.coverage;
        assert!(
            coverage.is_some_and(|share| share > 0.9),
            "{rate}: {of_all:?}"
        );
    }
}

/// Each burst begins with a stream. The train after it once followed at once, so all of the burst
/// left faster than the link serves it and told nothing.
#[test]
fn bursts_that_begin_with_streams_are_read() {
    bursts_are_read("100 Mbit/s", "{}", "{}");
}

/// All packets of such a burst leave faster than the link serves them, ten or more at each tick.
#[test]
fn bursts_of_a_host_whose_timers_are_coarse_are_read() {
    for rate in ["40 Mbit/s", "100 Mbit/s"] {
        bursts_are_read(rate, r#"{ timer_tick = "1 ms" }"#, "{}");
    }
}

/// Echoes then scatter by some per cent around the link's pace, as between real hosts. The least
/// distance that came twice in fifty was taken for it, and a chance of four for a faster link.
#[test]
fn bursts_between_hosts_that_wake_late_are_read() {
    for (rate, late) in [
        ("40 Mbit/s", "5 us to 60 us"),
        ("100 Mbit/s", "5 us to 30 us"),
    ] {
        let host = format!(r#"{{ timer_tick = "1 ms", receive_late = "{late}" }}"#);
        let receiver = format!(r#"{{ host = {{ receive_late = "{late}" }} }}"#);
        bursts_are_read(rate, &host, &receiver);
    }
}

fn bursts_are_read(rate: &str, host: &str, receiver: &str) {
    let keys = [
        ("duration", "20 s"),
        ("link.bottleneck.rate", rate),
        ("flow.main.host", host),
        ("flow.main.receiver", receiver),
        (
            "flow.main.application",
            r#"{ kind = "chunks", rate = "2 Mbit/s", period = "400 ms" }"#,
        ),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()));
    let scenario = Scenario::load("m0-none", &keys).unwrap_or_else(|error| panic!("{error}"));
    let result = scenario.run(1, RunOptions::default());
    let result = result.unwrap_or_else(|error| panic!("{error}"));
    let score = result.flows[0].grid.as_ref().expect("it is read");
    assert!(score.valued > 0.85, "{score:?}");
    assert!(
        score.coverage.is_some_and(|share| share > 0.95),
        "{score:?}"
    );
}

/// Fig. 8 of the paper, up to the first step and 25 s on. Many small packets of others were taken
/// for ticks after some seconds, and the link for one of 76 in place of 100 Mbit/s.
#[test]
fn a_step_of_small_packets_of_others_is_followed() {
    let duration = [("duration".to_owned(), "75 s".to_owned())];
    let scenario = Scenario::load("a1", &duration).unwrap_or_else(|error| panic!("{error}"));
    for seed in [1, 2] {
        let result = scenario.run(seed, RunOptions::default());
        let result = result.unwrap_or_else(|error| panic!("{error}"));
        let score = &result.flows[0].score;
        assert!(score.mare.is_some_and(|it| it < 0.03), "{seed}: {score:?}");
    }
}

/// Chunks of a video beside a bulk transfer, which has the link between them. Gaps within a chunk
/// say that half of the link is free, and did so for the pauses, too (an interval score of 19).
#[test]
fn a_link_that_a_rival_has_between_chunks_is_not_told_to_be_free() {
    let score = own_score(Class::Managed, 28);
    assert!(score.interval_score.is_some_and(|it| it < 8.0), "{score:?}");
    assert!(score.false_confidence < 0.3, "{score:?}");
}

#[test]
fn a_seed_is_read_again_to_the_same_end() {
    let written = || serde_json::to_string(&survey(Class::Hosts)).expect("it is plain data");
    assert_eq!(written(), written());
}

#[test]
fn the_estimators_of_the_literature_read_beside_and_change_no_reading() {
    let path = Class::Fixed.draw(1).expect("what is drawn is valid");
    let read = |observers| run(&path, 1, observers).unwrap_or_else(|error| panic!("{error}"));
    let (watched, alone) = (read(true), read(false));
    assert_eq!(watched.read.len(), alone.read.len() + 8);
    for (one, other) in watched.read.iter().zip(&alone.read) {
        assert_eq!(one.instants, other.instants, "{}", one.reader.name());
    }
    let tally = Tally::of(&[watched]);
    for column in &tally.columns[Reader::ALL.len()..] {
        // This client tells receive times, so TCP-Rab reads as well.
        let name = column.reader.name();
        assert!(column.medians.valued > 0.5, "{name}");
    }
}

/// Aggregates every 4 ms both ways, and a queue of 20 ms: no packet of a bulk transfer waits for
/// many jitters. Only a lower bound was told with this seed.
#[test]
fn a_bulk_transfer_behind_aggregates_with_a_short_queue_is_told_what_is_available() {
    let scenario = Scenario::load("m2", &[]).expect("it is built in");
    let result = scenario.run(1, RunOptions::default());
    let result = result.unwrap_or_else(|error| panic!("{error}"));
    let score = &result.flows[0].score;
    assert!(score.scored > 50, "{score:?}");
    assert!(score.mare.is_some_and(|error| error < 0.05), "{score:?}");
}

/// Others leave 3 of 100 Mbit/s. A burst that is bounded by what this flow alone would serve of the
/// queue is two packets, and too short to be read: there were 52 values.
#[test]
fn a_bulk_transfer_on_a_link_that_others_fill_is_told_what_is_available() {
    let scenario = Scenario::load("a2", &[]).expect("it is built in");
    let result = scenario.run(1, RunOptions::default());
    let result = result.unwrap_or_else(|error| panic!("{error}"));
    let score = &result.flows[0].score;
    assert!(score.scored > 200, "{score:?}");
    assert!(score.mare.is_some_and(|error| error < 0.1), "{score:?}");
}

/// What an application reads of a path in its last four seconds, in shares of the capacity.
fn late_readings(name: &str, overrides: &[(&str, &str)], capacity_bps: f64) -> Vec<f64> {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let overrides: Vec<_> = overrides.iter().map(owned).collect();
    let scenario = Scenario::load(name, &overrides).expect("a built-in one");
    let result = scenario.run(1, RunOptions::default()).expect("it runs");
    let estimates = result.flows[0].estimates.iter();
    let late = estimates.filter(|told| told.t_s > result.sim_seconds - 4.0);
    late.map(|told| told.available_bps as f64 / capacity_bps)
        .collect()
}

/// A fast link delays each packet by chance, ahead of the tight one. Nobody else sends.
const NOISY: &str = "
    name = \"noisy\"
    title = \"a test\"
    duration = \"20 s\"
    [[link]]
    name = \"noisy\"
    rate = \"280 Mbit/s\"
    delay = \"12 ms\"
    jitter = \"300 us\"
    queue = \"1 MB\"
    [[link]]
    name = \"tight\"
    rate = \"110 Mbit/s\"
    delay = \"12 ms\"
    queue = \"1 MB\"
    [[flow]]
    name = \"main\"
    controller = \"imtcp\"
    application = { kind = \"frames\", rate = \"36 Mbit/s\", per_second = 45 }
";

/// Half of the link was told to be free, with confidence.
#[test]
fn delays_by_chance_ahead_of_the_tight_link_are_no_traffic() {
    let result = common::run_text(NOISY);
    let grid = result.flows[0].grid.as_ref().expect("it is scored");
    assert!(grid.false_confidence < 0.1, "{grid:?}");
}

/// Frames of a packet and a bit, over a tight link and a faster one behind it.
const A_PACKET_AND_A_BIT: &str = "
    name = \"a-packet-and-a-bit\"
    title = \"a test\"
    duration = \"20 s\"
    [[link]]
    name = \"tight\"
    rate = \"4 Mbit/s\"
    delay = \"5 ms\"
    queue = \"60 KB\"
    [[link]]
    name = \"behind\"
    rate = \"16 Mbit/s\"
    delay = \"5 ms\"
    queue = \"60 KB\"
    [[flow]]
    name = \"main\"
    controller = \"imtcp\"
    application = { kind = \"frames\", rate = \"170 kbit/s\", per_second = 12 }
    receiver = { acknowledge = \"every\" }
";

/// The bit catches up with the packet behind the tight link. It was told to carry twice what it
/// does.
#[test]
fn a_small_packet_that_catches_up_shows_no_faster_link() {
    let result = common::run_text(A_PACKET_AND_A_BIT);
    let said = result.flows[0].highest_said_bps.expect("a lower bound");
    assert!(said < 4_100_000, "{said}");
}

/// On the longer route all packets once seemed to wait for ten seconds, and the flow's own 4 Mbit/s
/// were told as all that is free.
#[test]
fn packets_on_a_longer_route_do_not_wait() {
    let source = "{ kind = \"frames\", rate = \"4 Mbit/s\", per_second = 30 }";
    let readings = late_readings(
        "m0-none",
        &[
            ("duration", "12 s"),
            ("flow.main.application", source),
            (
                "link.bottleneck.delay_steps",
                "[{ at = \"6 s\", delay = \"60 ms\" }]",
            ),
        ],
        50e6,
    );
    assert!(readings.len() > 10, "{readings:?}");
    assert!(readings.iter().all(|share| *share > 0.9), "{readings:?}");
}
