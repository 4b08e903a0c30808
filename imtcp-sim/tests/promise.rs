//! Promises on real quiche endpoints: what the controller counts is what arrives.

mod common;

use common::Path;
use imtcp_cc::Config;
use imtcp_cc::event::Event;
use imtcp_cc::promise::{Demand, Outcome, Requirement, SlotReport};
use imtcp_cc::units::Bandwidth;
use imtcp_sim::result::RunResult;
use imtcp_sim::run::RunOptions;
use imtcp_sim::scenario::Scenario;
use std::time::Duration;

const SLOT: Duration = Duration::from_secs(2);

/// A bulk flow over 10 Mbit/s and 40 ms with this promise.
fn promised(rate: Bandwidth, demand: Demand, traffic: Option<&str>) -> RunResult {
    let mut path = Path::default()
        .lasting(31)
        .flow("main", "imtcp", "{ kind = \"bulk\" }", "");
    if let Some(lines) = traffic {
        path = path.traffic(lines);
    }
    let mut scenario = path.scenario();
    let requirement = Requirement::new(rate, SLOT).expect("possible");
    let config = Config::builder().promise(Some(requirement.demand(demand)));
    scenario.flows[0].imtcp = config.build().expect("valid");
    let result = scenario.run(1, RunOptions::default());
    result.unwrap_or_else(|error| panic!("{error}"))
}

fn reports(result: &RunResult) -> Vec<SlotReport> {
    let flow = result.flow("main").expect("the flow is in the result");
    let reports = flow.events.iter().filter_map(|said| match said.event {
        Event::SlotEnded { report } => Some(report),
        _ => None,
    });
    reports.collect()
}

#[test]
fn a_source_that_wants_no_more_gets_the_rate_in_application_data() {
    let rate = Bandwidth::from_mbps(4);
    let result = promised(rate, Demand::Exactly, None);
    let reports = reports(&result);
    assert!(reports.len() >= 14, "{}", reports.len());
    for report in &reports {
        let ratio = report.achieved.as_bps_f64() / rate.as_bps_f64();
        assert!((1.0..1.06).contains(&ratio), "{report:?}");
        assert_eq!(report.outcome, Outcome::Kept);
    }
    // The client counts over the whole run, the handshake included.
    let arrived = result.flow("main").expect("there").goodput_bps as f64;
    let counted = reports
        .iter()
        .map(|report| report.achieved.as_bps_f64())
        .sum::<f64>();
    let counted = counted / reports.len() as f64;
    let ratio = arrived / counted;
    assert!(
        (0.98..1.02).contains(&ratio),
        "{arrived} arrived, {counted} counted"
    );
}

#[test]
fn a_promise_that_the_path_cannot_keep_is_called_off_early() {
    let udp = "name = \"udp\"\nkind = \"poisson\"\nsizes = \"1200 B\"\nrate = \"6 Mbit/s\"";
    let result = promised(Bandwidth::from_kbps(6_500), Demand::AtLeast, Some(udp));
    let reports = reports(&result);
    assert!(reports.len() >= 14, "{}", reports.len());
    let missed: Vec<&SlotReport> = reports
        .iter()
        .filter(|r| r.outcome == Outcome::Missed)
        .collect();
    assert!(
        missed.len() * 10 >= reports.len() * 9,
        "4 of 10 Mbit/s are left: {reports:?}"
    );
    let in_time = missed
        .iter()
        .filter(|r| {
            r.warned
                .is_some_and(|at| at.saturating_since(r.start) <= SLOT / 2)
        })
        .count();
    assert!(
        in_time * 10 >= missed.len() * 8,
        "{in_time} of {} in time",
        missed.len()
    );
}

/// Exactly 8 of 40 Mbit/s beside four flows. The client tells no receive times.
fn kept_with_grouped_acknowledgements(rival: &str, queue: &str) -> f64 {
    let changes = [
        ("flow.main.receiver", "{ acknowledge = 10 }"),
        ("flow.main.imtcp.promise.demand", "exactly"),
        ("flow.rival.controller", rival),
        ("flow.rival.count", "4"),
        ("link.bottleneck.queue", queue),
        ("duration", "25 s"),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()));
    let scenario = Scenario::load("beside", &changes).unwrap_or_else(|error| panic!("{error}"));
    let result = scenario.run(1, RunOptions::default());
    let result = result.unwrap_or_else(|error| panic!("{error}"));
    let reports = reports(&result);
    // The first ones are those of the start.
    let reports = &reports[2..];
    assert!(reports.len() >= 9, "{}", reports.len());
    let kept = reports.iter().filter(|it| it.outcome == Outcome::Kept);
    kept.count() as f64 / reports.len() as f64
}

#[test]
fn a_client_that_acknowledges_in_groups_is_kept_its_promise_beside_bbr2() {
    let kept = kept_with_grouped_acknowledgements("bbr2", "150 KB");
    assert!(kept >= 0.9, "{kept}");
}

#[test]
fn delayed_acknowledgements_are_not_taken_for_the_pace_of_a_slow_link() {
    // A quarter of the capacity was told, and so nothing was left to climb to.
    let kept = kept_with_grouped_acknowledgements("cubic", "600 KB");
    assert!(kept >= 0.9, "{kept}");
}

/// A client's flow control leaves a window that the path does not hold any more.
const BEYOND_FLOW_CONTROL: &str = "
    name = \"test\"
    title = \"a test\"
    duration = \"25 s\"
    [[link]]
    name = \"bottleneck\"
    rate = \"57 Mbit/s\"
    delay = \"22 ms\"
    queue = { kind = \"pie\", limit = \"42 KB\" }
    steps = [{ at = \"2 s\", rate = \"29 Mbit/s\" }, { at = \"8 s\", rate = \"22 Mbit/s\" }]
    [[flow]]
    name = \"main\"
    controller = \"imtcp\"
    application = { kind = \"bulk\" }
    receiver = { stack = \"noq\" }
    flow_control = \"199 KB\"
    imtcp = { promise = { rate = \"28.7 Mbit/s\", per = \"2 s\" } }
";

#[test]
fn a_promise_that_loses_much_in_vain_rests_though_flow_control_limits_it() {
    let result = common::run_text(BEYOND_FLOW_CONTROL);
    let flow = result.flow("main").expect("there");
    let lost = flow.lost_packets as f64 / flow.sent_packets as f64;
    assert!(lost < 0.03, "{lost}, as if N had stayed at its bound");
}

/// Exactly `rate` of 2.6 Mbit/s over a path that keeps one acknowledgement of `every`: what was
/// counted in its slots, and what the client read, both as shares of the rate.
fn counted_and_read(every: u32, ack_frequency: bool, rate: f64) -> [f64; 2] {
    let result = common::run_text(&format!(
        "
        name = \"test\"
        title = \"a test\"
        duration = \"40 s\"
        [[link]]
        name = \"bottleneck\"
        rate = \"2.6 Mbit/s\"
        delay = \"4.5 ms\"
        queue = \"7 KB\"
        reverse = {{ keep_every_acknowledgement = {every} }}
        [[flow]]
        name = \"main\"
        controller = \"imtcp\"
        application = {{ kind = \"bulk\" }}
        receiver = {{ ack_frequency = {ack_frequency}, acknowledge = 2 }}
        imtcp = {{ promise = {{ rate = \"{rate} bit/s\", per = \"5 s\", demand = \"exactly\" }} }}
        "
    ));
    let reports = reports(&result);
    assert!(reports.len() >= 7, "{}", reports.len());
    let counted = reports.iter().map(|it| it.achieved.as_bps_f64());
    let counted = counted.sum::<f64>() / reports.len() as f64;
    let read = result.flow("main").expect("there").goodput_bps as f64;
    [counted / rate, read / rate]
}

#[test]
fn data_that_probes_repeat_counts_once() {
    let [counted, read] = counted_and_read(3, true, 100e3);
    // Half of the packets would repeat others, and the client read less than half of the rate.
    assert!(
        (0.95..1.05).contains(&(read / counted)),
        "{read}, {counted}"
    );
    assert!(read >= 0.97, "{read}");
}

#[test]
fn the_window_holds_the_packets_that_wait_for_one_acknowledgement() {
    // A window of eight packets waits for timeouts, and a fifth of the rate comes.
    let [_, read] = counted_and_read(8, false, 400e3);
    assert!(read >= 0.9, "{read}");
}
