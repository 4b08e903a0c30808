//! Every error names file, line, column, key, problem and remedy; every built-in scenario loads.

use super::*;
use crate::network::FlowId;
use imtcp_cc::units::Bandwidth;

const GOOD: &str = r#"name = "good"
title = "one link"
duration = "10 s"

[[link]]
name = "bottleneck"
rate = "10 Mbit/s"
delay = "5 ms"
queue = "20 packets"

[[traffic]]
name = "cross"
link = "bottleneck"
kind = "poisson"
rate = "4 Mbit/s"
steps = [{ at = "5 s", rate = "6 Mbit/s" }]

[[flow]]
name = "main"
controller = "reno"
application = { kind = "bulk" }
"#;

fn good() -> Scenario {
    Scenario::parse("good.toml", GOOD, &[]).expect("the good scenario loads")
}

fn error_of(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "nothing to replace");
    let text = GOOD.replace(from, to);
    match Scenario::parse("bad.toml", &text, &[]) {
        Ok(_) => "no error".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn errors_say_where_what_and_how_to_mend_it() {
    for (from, to, expected) in [
        (
            "rate = \"10 Mbit/s\"",
            "rate = \"10\"",
            "bad.toml:7:8: link.bottleneck.rate: `10` has no unit; \
             write a number and its unit, such as \"50 Mbit/s\"",
        ),
        (
            "rate = \"10 Mbit/s\"",
            "rate = 10",
            "bad.toml:7:8: link.bottleneck.rate: `10` has no unit; \
             write a number and its unit, such as \"50 Mbit/s\"",
        ),
        (
            "rate = \"10 Mbit/s\"",
            "rate = \"0 Mbit/s\"",
            "bad.toml:7:8: link.bottleneck.rate: a rate of zero; it must be above zero",
        ),
        (
            "rate = \"10 Mbit/s\"",
            "rate = true",
            "bad.toml:7:8: link.bottleneck.rate: this is a boolean; \
             write a number and its unit in quotes",
        ),
        (
            "delay = \"5 ms\"",
            "delai = \"5 ms\"",
            "bad.toml:5:1: link.bottleneck: `delay` is missing; add delay = \"10 ms\"",
        ),
        (
            "queue = \"20 packets\"",
            "queue = \"20 packets\"\nqueues = 3",
            "bad.toml:10:1: link.bottleneck.queues: unknown key `queues`; did you mean `queue`?",
        ),
        (
            "link = \"bottleneck\"",
            "link = \"botleneck\"",
            "bad.toml:13:8: traffic.cross.link: unknown link `botleneck`; \
             did you mean `bottleneck`?",
        ),
        (
            "kind = \"poisson\"",
            "kind = \"fractal\"",
            "bad.toml:14:8: traffic.cross.kind: unknown value `fractal`; \
             known: cbr, poisson, onoff, web",
        ),
        (
            "at = \"5 s\"",
            "at = \"5\"",
            "bad.toml:16:17: traffic.cross.steps[0].at: `5` has no unit; \
             write a number and its unit, such as \"90 ms\"",
        ),
        (
            "{ kind = \"bulk\" }",
            "{ kind = \"chunks\", rate = \"1 Mbit/s\", period = \"1 s\", \
             pause = { from = \"4 s\", to = \"4 s\" } }",
            "bad.toml:21:77: flow.main.application.pause: the pause ends before it begins; \
             let `to` be later than `from`",
        ),
        (
            "controller = \"reno\"",
            "controller = \"imtcp\"\nimtcp = { stream_packets = 2 }",
            "bad.toml:21:9: flow.main.imtcp: stream_packets is 2; it must be 3 to 64; \
             mend `stream_packets`",
        ),
        (
            "controller = \"reno\"",
            "controller = \"reno\"\nreceiver = { stack = \"quin\" }",
            "bad.toml:21:22: flow.main.receiver.stack: unknown value `quin`; did you mean `quinn`?",
        ),
        (
            "controller = \"reno\"",
            "controller = \"reno\"\nreceiver = { stack = \"quinn\", delay = \"30 ms\" }",
            "bad.toml:21:39: flow.main.receiver.delay: quinn acknowledges in a way of its own; \
             leave it out, or write stack = \"quiche\"",
        ),
        (
            "controller = \"reno\"",
            "controller = \"reno\"\nstart = \"5 s\"\nstop = \"4 s\"",
            "bad.toml:22:8: flow.main.stop: it stops before it starts; \
             let `stop` be later than `start`",
        ),
        (
            "name = \"cross\"",
            "name = \"cross traffic\"",
            "bad.toml:12:8: traffic.cross traffic.name: `cross traffic` cannot name files and \
             keys; use letters, digits, `-` and `_` only",
        ),
        (
            "duration = \"10 s\"",
            "duration = \"10 s",
            "bad.toml:3:17: not TOML: invalid basic string, expected `\"`",
        ),
    ] {
        assert_eq!(error_of(from, to), expected);
    }
}

#[test]
fn a_missing_file_points_to_the_list() {
    let error = Scenario::load("no-such-scenario", &[]).expect_err("there is no such file");
    let text = error.to_string();
    assert!(
        text.starts_with("no-such-scenario: cannot be read"),
        "{text}"
    );
    assert!(
        text.ends_with("a name that `imtcp-sim list` shows"),
        "{text}"
    );
}

fn with(path: &str, value: &str) -> Result<Scenario, String> {
    let overrides = [(path.to_owned(), value.to_owned())];
    Scenario::parse("good.toml", GOOD, &overrides).map_err(|error| error.to_string())
}

#[test]
fn overrides_reach_any_key_with_and_without_quotes() {
    let changed = with("link.bottleneck.rate", "20 Mbit/s").expect("a good override");
    let rate = changed.links[0].forward.rate.rate_at(Timestamp::ZERO);
    assert_eq!(rate, Bandwidth::from_mbps(20));
    let changed = with("flow.main.imtcp.stream_packets", "8").expect("a table made on the way");
    assert_eq!(changed.flows[0].imtcp.stream_packets(), 8);
    let changed = with("flow.main.controller", "\"cubic\"").expect("quoted");
    assert_eq!(changed.flows[0].controller, Controller::Cubic);
}

#[test]
fn a_wrong_override_is_named_as_the_culprit() {
    assert_eq!(
        with("link.bottleneck.rate", "20"),
        Err("--set: link.bottleneck.rate: `20` has no unit; \
             write a number and its unit, such as \"50 Mbit/s\""
            .to_owned())
    );
    assert_eq!(
        with("link.bottelneck.rate", "20 Mbit/s"),
        Err(
            "--set: link.bottelneck.rate: no link is named `bottelneck`; known: bottleneck"
                .to_owned()
        )
    );
    assert_eq!(
        with("title.more", "1"),
        Err("--set: title.more: `title` holds no keys; leave out what follows it".to_owned())
    );
}

#[test]
fn a_receiver_offers_what_its_stack_does_unless_told_otherwise() {
    let offers = |receiver: &str| {
        let text = format!("{GOOD}receiver = {{ {receiver} }}\n");
        let scenario = Scenario::parse("good.toml", &text, &[]).expect(receiver);
        scenario.flows[0].receiver.ack_frequency
    };
    assert!(!offers("acknowledge = 2"));
    assert!(offers("acknowledge = 2, ack_frequency = true"));
    for stack in ["quinn", "noq"] {
        assert!(offers(&format!("stack = \"{stack}\"")));
        assert!(!offers(&format!(
            "ack_frequency = false, stack = \"{stack}\""
        )));
    }
}

#[test]
fn nominal_rates_follow_the_settings() {
    let scenario = good();
    let nominal = Nominal::new(&scenario, FlowId(0));
    let at = |seconds| Timestamp::from_origin(Duration::from_secs(seconds));
    assert_eq!(nominal.round_trip(), Duration::from_millis(10));
    assert_eq!(nominal.bandwidth_delay_product(), 12_500);
    assert_eq!(nominal.available(at(0)), (0, Bandwidth::from_mbps(6)));
    assert_eq!(nominal.available(at(5)), (0, Bandwidth::from_mbps(4)));
    assert_eq!(nominal.steps(), vec![at(5)]);
}

#[test]
fn a_step_that_the_tight_link_does_not_feel_is_none() {
    // A second link of 100 Mbit/s, whose cross traffic changes without effect.
    let text = GOOD.replace(
        "[[flow]]",
        "[[link]]\nname = \"wide\"\nrate = \"100 Mbit/s\"\ndelay = \"1 ms\"\nqueue = \"1 MB\"\n\
         [[traffic]]\nname = \"vain\"\nlink = \"wide\"\nkind = \"cbr\"\nrate = \"1 Mbit/s\"\n\
         start = \"2 s\"\n[[flow]]",
    );
    let scenario = Scenario::parse("two.toml", &text, &[]).expect("two links");
    let steps = Nominal::new(&scenario, FlowId(0)).steps();
    assert_eq!(steps, vec![Timestamp::from_origin(Duration::from_secs(5))]);
}

#[test]
fn every_built_in_scenario_loads_under_its_own_name() {
    let all = listed();
    assert!(all.len() >= 20, "only {} scenarios", all.len());
    for listed in all {
        let scenario = Scenario::load(listed.name, &[]).expect(listed.name);
        assert_eq!(scenario.name, listed.name);
        assert!(
            scenario.title.len() <= 100,
            "{}: the title is long",
            listed.name
        );
    }
}

const REQUIRED: &str = "imtcp = { promise = { rate = \"2 Mbit/s\", per = \"32 RTT\" } }";

fn with_flow_keys(keys: &str) -> Result<Scenario, ScenarioError> {
    let text = format!("{GOOD}{keys}\n");
    Scenario::parse("keys.toml", &text, &[])
}

#[test]
fn a_promise_is_a_rate_over_a_time_or_over_round_trips_of_the_empty_path() {
    let scenario = with_flow_keys(REQUIRED).expect("it is right");
    let requirement = scenario.flows[0].imtcp.promise().expect("it is there");
    assert_eq!(requirement.per(), Duration::from_millis(320));
    assert_eq!(requirement.rate(), Bandwidth::from_mbps(2));
    for (from, to, expected) in [
        (
            "32 RTT",
            "x RTT",
            "x RTT is no number of round trips; write a whole number",
        ),
        ("32 RTT", "0 RTT", "0 RTT is no number of round trips"),
        ("32 RTT", "2", "`2` has no unit"),
        (
            "\"32 RTT\"",
            "\"2 s\", demand = \"most\"",
            "unknown value `most`; known: at least, exactly",
        ),
        (
            "2 Mbit/s",
            "2 bit/s",
            "a rate of 2 bit/s cannot be required",
        ),
        (
            "{ promise",
            "{ promise_ceiling = \"150 %\", promise",
            "promise_ceiling",
        ),
        (
            "{ promise",
            "{ slot_length = \"halving\", promise",
            "known: loss intervals, doubling",
        ),
    ] {
        let text = REQUIRED.replace(from, to);
        let error = with_flow_keys(&text).expect_err(&text).to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn several_flows_are_written_once() {
    let scenario = with_flow_keys("count = 3\nstart_within = \"1 s\"").expect("it is right");
    let names: Vec<&str> = scenario
        .flows
        .iter()
        .map(|flow| flow.name.as_str())
        .collect();
    assert_eq!(names, ["main-1", "main-2", "main-3"]);
    assert!(
        scenario
            .flows
            .iter()
            .all(|flow| flow.group.as_deref() == Some("main"))
    );
    assert!(with_flow_keys("count = 0").expect("none").flows.is_empty());
    let twice = "count = 2\n[[flow]]\nname = \"main-2\"\ncontroller = \"reno\"\napplication = { \
     kind = \"bulk\" }";
    let error = with_flow_keys(twice).expect_err("twice").to_string();
    assert!(
        error.contains("`count` makes a second flow named `main-2`"),
        "{error}"
    );
}

#[test]
fn several_flows_may_begin_one_after_the_other() {
    let keys = "count = 3\nstart = \"1 s\"\nevery = \"1900 ms\"";
    let flows = with_flow_keys(keys).expect("it is right").flows;
    let starts: Vec<u64> = flows
        .iter()
        .map(|flow| flow.start.as_nanos() / 1_000_000)
        .collect();
    assert_eq!(starts, [1000, 2900, 4800]);
    let error = with_flow_keys(&format!("{keys}\nstop = \"4 s\"")).expect_err("too soon");
    let text = error.to_string();
    assert!(text.contains("the last of them stops before"), "{text}");
}

#[test]
fn a_player_has_room_for_a_chunk() {
    let player = |buffer: &str| {
        let written = format!(
            "{{ kind = \"player\", rate = \"3300 kbit/s\", period = \"4 s\", buffer = \"{buffer}\" \
             }}"
        );
        GOOD.replace("{ kind = \"bulk\" }", &written)
    };
    let scenario = Scenario::parse("good.toml", &player("1 min"), &[]).expect("it is right");
    let expected = Application::Player {
        rate: Bandwidth::from_kbps(3300),
        period: Duration::from_secs(4),
        buffer: Duration::from_secs(60),
    };
    assert_eq!(scenario.flows[0].application, expected);
    let error = Scenario::parse("bad.toml", &player("3 s"), &[]).expect_err("too small");
    let text = error.to_string();
    assert!(
        text.contains("the buffer has no room for a chunk"),
        "{text}"
    );
}

#[test]
fn fair_shares_are_of_goodput_and_nobody_has_more_than_it_asks_for() {
    // 10 Mbit/s less 6 of cross traffic, 1302 of 1378 bytes: 3.78 Mbit/s. A rival with 1.25 KB in
    // 10 ms asks for 1 Mbit/s, so the rest is for the other one.
    let rival = "[[flow]]\nname = \"rival\"\ncontroller = \"reno\"\napplication = { kind \
     = \"bulk\", send_buffer = \"1250 B\" }";
    let scenario = with_flow_keys(rival).expect("it is right");
    let at = Timestamp::from_origin(Duration::from_secs(6));
    let shares = fair_shares(&scenario, &[FlowId(0), FlowId(1)], at);
    assert_eq!(shares[1], 1e6);
    assert!(
        (shares[0] - (4e6 * 1302.0 / 1378.0 - 1e6)).abs() < 1.0,
        "{shares:?}"
    );
}

#[test]
fn nobody_watches_a_controller_of_another_stack() {
    let watched = |controller: &str| {
        let with = format!("controller = \"{controller}\"\nobservers = true");
        error_of("controller = \"reno\"", &with)
    };
    for controller in ["cubic", "quinn-cubic", "noq-bbr3"] {
        let error = watched(controller);
        let problem = format!("nobody can watch `{controller}`");
        assert!(error.contains(&problem), "{error}");
        assert!(
            error.contains("take a controller behind the seam"),
            "{error}"
        );
    }
    assert_eq!(watched("reno-whole"), "no error");
}
