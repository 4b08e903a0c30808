//! A promise on a crowded link, in short; `imtcp-sim sweep d2` does it at length.

mod common;

use common::Path;
use imtcp_sim::result::{PromiseResult, RunResult};
use imtcp_sim::run::RunOptions;
use imtcp_sim::scenario::Scenario;

/// Some seconds of d2 with 25 rivals, which alone fill the link.
fn crowded(controller: &str) -> RunResult {
    let settings = [
        ("duration", "7 s"),
        ("flow.rival.count", "25"),
        ("flow.main.controller", controller),
    ];
    let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let scenario = Scenario::load("d2", &settings).expect("it is built in");
    let result = scenario.run(2, RunOptions::default());
    result.unwrap_or_else(|error| panic!("{error}"))
}

fn promise(result: &RunResult) -> &PromiseResult {
    let main = result.flow("main").expect("there");
    main.promise.as_ref().expect("it requires something")
}

#[test]
fn a_promise_is_kept_where_reno_has_its_fair_share_and_the_rivals_loss_is_told() {
    let result = crowded("imtcp");
    let promise = promise(&result);
    // Periods of 960 ms, from 2 s to 7 s.
    assert!((4..=5).contains(&promise.all.count), "{promise:?}");
    assert!(
        promise.all.kept_share >= 0.75 && promise.all.p5 >= 0.9,
        "{promise:?}"
    );
    let [beside] = promise.by_rivals[..] else {
        panic!("25 rivals all the time: {promise:?}");
    };
    assert_eq!(beside.rivals, 25);
    // 94.5 Mbit/s of goodput among 26.
    assert_eq!(beside.fair_bps.expect("rivals") / 10_000, 363);
    // If one has five times its fair share, each of the others has a sixth less, and less again for
    // what is lost.
    let lost = beside.lost_share.expect("rivals");
    assert!((0.1..0.35).contains(&lost), "{lost}");

    // 94.5 less 20 Mbit/s among 25; a fair share of the promise's own would be less than it has.
    assert_eq!(promise.rivals.len(), 25);
    for rival in &promise.rivals {
        assert_eq!(
            (rival.left_bps / 10_000, rival.due_bps),
            (297, rival.left_bps)
        );
        // They begin within a second and count two seconds later.
        assert!((4.0..=5.0).contains(&rival.seconds), "{rival:?}");
    }
    let had = promise
        .rivals
        .iter()
        .map(|rival| rival.had_bps)
        .sum::<u64>()
        / 25;
    let by_slots = beside.rival_bps.expect("rivals");
    assert!(had.abs_diff(by_slots) < by_slots / 10, "{had} {by_slots}");

    // The client's reading counts: both ways of counting slots agree.
    let reported = promise.reported.expect("the controller counts slots");
    assert!(reported.kept + reported.missed >= promise.all.count);
    let mean = promise
        .slots
        .iter()
        .map(|slot| slot.achieved_bps)
        .sum::<u64>();
    let mean = mean / promise.slots.len() as u64;
    let goodput = result.flow("main").expect("there").goodput_bps;
    assert!(mean.abs_diff(goodput) < goodput / 5, "{mean} {goodput}");
}

#[test]
fn the_same_yardstick_finds_that_reno_does_not_have_it() {
    let result = crowded("reno");
    let promise = promise(&result);
    assert!((4..=5).contains(&promise.all.count), "{promise:?}");
    assert_eq!(promise.all.kept_share, 0.0, "{promise:?}");
    assert_eq!(promise.reported, None);
    // Reno among equals that are capped: about a fair share, not five.
    assert!((0.1..0.7).contains(&promise.all.mean), "{promise:?}");
}

/// A source that requires half of what it sends, with slots of a second, beside another flow.
fn beside(application: &str, life: &str) -> RunResult {
    let requires = "imtcp = { promise = { rate = \"1 Mbit/s\", per = \"1 s\" } }";
    let source = "{ kind = \"datagrams\", rate = \"2 Mbit/s\" }";
    let path = Path::default()
        .lasting(8)
        .flow("main", "reno", source, requires)
        .flow("rival", "reno", application, life);
    common::run(&path, 1)
}

/// Nothing was sampled at the end, and the last tenth of a second counted as nothing.
#[test]
fn what_a_rival_has_counts_until_the_end() {
    let result = beside("{ kind = \"datagrams\", rate = \"3 Mbit/s\" }", "");
    let promise = promise(&result);
    let near = |bps: u64, of: f64| (bps as f64 / 3e6 - 1.0).abs() < of;
    assert_eq!(promise.slots.last().expect("six").t_s, 7.0);
    for slot in &promise.slots {
        assert!(near(slot.rival_bps.expect("a rival"), 0.02), "{slot:?}");
    }
    let [rival] = &promise.rivals[..] else {
        panic!("one rival: {promise:?}");
    };
    assert!(
        rival.seconds > 5.5 && near(rival.had_bps, 0.005),
        "{rival:?}"
    );
}

/// It was left out of what rivals had, and still counted in the slots.
#[test]
fn a_transfer_that_is_complete_is_no_rival_any_more() {
    let result = beside("{ kind = \"bulk\", size = \"4 MB\" }", "");
    let completed_s = result.flow("rival").expect("there").completed_s;
    let completed_s = completed_s.expect("4 MB at 8 Mbit/s");
    assert!((3.5..6.0).contains(&completed_s), "{completed_s}");
    let promise = promise(&result);
    for slot in &promise.slots {
        let is_there = completed_s >= slot.t_s + 1.0;
        assert_eq!(slot.rivals, usize::from(is_there), "{slot:?}");
        assert_eq!(slot.rival_bps.is_some(), is_there, "{slot:?}");
    }
    for beside in &promise.by_rivals {
        assert_eq!(beside.fair_bps.is_some(), beside.rivals > 0, "{beside:?}");
    }
    assert_eq!(promise.by_rivals.len(), 2);
}

/// The slots had it from 2 s on, and what it had counted from 5 s on, two seconds after that.
#[test]
fn a_rival_is_there_from_its_drawn_start() {
    let result = beside(
        "{ kind = \"bulk\" }",
        "start = \"2 s\"\nstart_within = \"3 s\"",
    );
    let begun_s = result.flow("rival").expect("there").reference.life.0;
    let begun_s = begun_s.as_secs_f64();
    let promise = promise(&result);
    for slot in &promise.slots {
        let is_there = begun_s < slot.t_s + 1.0;
        assert_eq!(slot.rivals, usize::from(is_there), "{begun_s}: {slot:?}");
    }
    let counted_s = promise.rivals[0].seconds;
    assert!(
        (counted_s - (6.0 - begun_s)).abs() <= 0.1,
        "{begun_s} {counted_s}"
    );
}
