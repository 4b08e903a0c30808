//! Sweeps, right and wrong.

use super::*;

const SWEEP: &str = r#"name = "small"
title = "two by two"
scenario = "d2"
[[axis]]
name = "rivals"
points = [
  { name = "5", set = ["flow.rival.count=5"] },
  { name = "7", set = ["flow.rival.count=7"] },
]
[[axis]]
name = "carrier"
points = [{ name = "imtcp", set = [] }, { name = "reno", set = ["flow.main.controller=reno"] }]
"#;

fn parse(text: &str) -> Result<Sweep, ScenarioError> {
    Sweep::read(Document::parse("small.toml", text)?.root())
}

#[test]
fn cells_are_all_combinations_in_order() {
    let mut sweep = parse(SWEEP).expect("it is right");
    let cells = sweep.cells(&[]).expect("they load");
    let names: Vec<String> = cells.iter().map(|cell| cell.names.join(" ")).collect();
    assert_eq!(names, ["5 imtcp", "5 reno", "7 imtcp", "7 reno"]);
    let flows: Vec<usize> = cells.iter().map(|cell| cell.scenario.flows.len()).collect();
    assert_eq!(flows, [6, 6, 8, 8]);
    assert_eq!(cells[3].scenario.flows[0].controller.name(), "reno");
    sweep.keep("carrier", &["reno"]).expect("it is there");
    assert_eq!(sweep.cells(&[]).expect("they load").len(), 2);
    let error = sweep.keep("carier", &["reno"]).expect_err("unknown");
    assert_eq!(error, "unknown axis `carier`; did you mean `carrier`?");
    let error = sweep.keep("carrier", &["imtcp"]).expect_err("gone");
    assert_eq!(error, "unknown point `imtcp`; known: reno");
}

#[test]
fn what_is_wrong_is_said() {
    let error = parse(&SWEEP.replace("controller=reno", "controller")).expect_err("no value");
    assert_eq!(
        error.to_string(),
        "small.toml:12:65: axis.carrier.points.reno.set[0]: no `=` in it; write \"key=value\""
    );
    let error = parse(&SWEEP.replace("set = []", "")).expect_err("no set");
    assert!(error.to_string().contains("`set` is missing"), "{error}");
}

/// It was said of the command line, which has no such option.
#[test]
fn a_wrong_setting_is_said_of_the_sweeps_file() {
    let sweep = SWEEP.replace("controller=reno", "controller=remo");
    let sweep = parse(&sweep).expect("its cells are not looked at yet");
    let error = sweep.cells(&[]).expect_err("there is no remo").to_string();
    let expected = "small.toml:12:65: axis.carrier.points.reno.set[0]: flow.main.controller: \
                    unknown value `remo`; did you mean `reno`?";
    assert_eq!(error, expected);
    let mended = [("flow.main.controller".to_owned(), "reno".to_owned())];
    assert!(sweep.cells(&mended).is_ok(), "the command line comes last");
}

#[test]
fn the_built_in_sweeps_load() {
    for listed in library::listed_sweeps() {
        let sweep = Sweep::load(listed.name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(sweep.name, listed.name);
        let cells = sweep.cells(&[]).unwrap_or_else(|error| panic!("{error}"));
        assert!(cells.len() > 1, "{}", listed.name);
    }
}

const COMPARED: &str = r#"name = "small"
title = "two paths"
baseline = "off"
[[axis]]
name = "path"
points = [
  { name = "slow", scenario = "m1-frames-10-rtt20", set = [] },
  { name = "fast", scenario = "m1-frames-50-rtt20", set = [] },
]
[[axis]]
name = "measuring"
points = [{ name = "on", set = [] }, { name = "off", set = ["flow.main.imtcp.measurement=false"] }]
[[column]]
name = "lost"
flow = "main"
value = "lost"
change = true
"#;

#[test]
fn points_may_name_scenarios_and_columns_a_baseline() {
    let sweep = parse(COMPARED).expect("it is right");
    let cells = sweep.cells(&[]).expect("they load");
    let names: Vec<&str> = cells
        .iter()
        .map(|cell| cell.scenario.name.as_str())
        .collect();
    let (slow, fast) = ("m1-frames-10-rtt20", "m1-frames-50-rtt20");
    assert_eq!(names, [slow, slow, fast, fast]);
    let baseline = Baseline {
        axis: 1,
        point: "off".to_owned(),
    };
    assert_eq!(sweep.baseline, Some(baseline));
    assert!(sweep.columns[0].change);
}

#[test]
fn what_is_wrong_with_columns_is_said() {
    for (from, to, expected) in [
        (
            "\"lost\"\nchange",
            "\"last\"\nchange",
            "did you mean `lost`?",
        ),
        ("flow = \"main\"\n", "", "of which flow?"),
        ("value = \"lost\"", "value = \"rise\"", "across which rate?"),
        (
            "value = \"lost\"",
            "value = \"lost\"\nrung = \"4 Mbit/s\"",
            "this is about no rung",
        ),
        (
            "value = \"lost\"",
            "value = \"cross delay\"",
            "this is about no flow",
        ),
        (
            "value = \"lost\"",
            "value = \"goodput ratio\"",
            "a ratio to which flow?",
        ),
        (
            "baseline = \"off\"",
            "baseline = \"of\"",
            "did you mean `off`?",
        ),
        (
            "{ name = \"fast\"",
            "{ name = \"off\"",
            "more than one axis has a point `off`",
        ),
        (
            "flow = \"main\"",
            "flow = \"mian\"",
            "column.lost.flow: unknown flow `mian`; did you mean `main`?",
        ),
        (
            "value = \"lost\"",
            "value = \"goodput ratio\"\nbeside = \"nosuch\"",
            "column.lost.beside: unknown flow `nosuch`; known: main",
        ),
        (
            "{ name = \"fast\"",
            "{ name = \"slow\"",
            "a second point is named `slow`; give each a name of its own",
        ),
        (
            "name = \"measuring\"",
            "name = \"path\"",
            "a second axis is named `path`; give each a name of its own",
        ),
        (
            "{ name = \"fast\", scenario = \"m1-frames-50-rtt20\"",
            "{ name = \"fast\"",
            "a sweep of no scenario",
        ),
    ] {
        assert!(COMPARED.contains(from), "{from}");
        let error = parse(&COMPARED.replacen(from, to, 1)).expect_err(expected);
        assert!(error.to_string().contains(expected), "{error}");
    }
}
