//! A qlog of ours, checked against the written rules of the drafts and of our own schema.

use super::logged::{self, Logged};
use super::rules::Rules;
use imtcp_cc::qlog::SCHEMA_URI;
use imtcp_cc::quiche::Detail;
use imtcp_qlog::write::{Compression, Level};
use imtcp_sim::run::Qlog;
use serde_json::Value;
use std::collections::BTreeSet;

/// The records of a run of a live source, which sends datagrams.
fn records(level: Level) -> Vec<String> {
    records_of(&logged::run_live("imtcp", style(level)))
}

fn style(level: Level) -> impl FnOnce(Qlog) -> Qlog {
    move |qlog| Qlog {
        level,
        compression: Compression::None,
        detail: Detail::Replay,
        ..qlog
    }
}

fn records_of(logged: &Logged) -> Vec<String> {
    let text = std::fs::read_to_string(&logged.path).expect("it is text");
    // RFC 7464: a separator before each record, a line feed behind it.
    assert!(text.starts_with('\u{1e}') && text.ends_with('\n'));
    let records = text.split('\u{1e}').skip(1);
    records
        .map(|record| record.strip_suffix('\n').expect("a line feed").to_owned())
        .collect()
}

fn rules() -> Rules {
    Rules::parse(&[
        include_str!("../../../imtcp-cc/docs/qlog-imtcp.cddl"),
        include_str!("rules/quic.cddl"),
    ])
}

#[test]
fn every_record_keeps_the_rules_at_every_level() {
    let rules = rules();
    for level in [Level::Events, Level::Packets, Level::All] {
        let records = records(level);
        check_header(&records[0]);
        let seen = check_events(&rules, &records[1..], level);
        for wanted in [
            "quic:recovery_parameters_set",
            "quic:recovery_metrics_updated",
            "quic:packet_lost",
            "imtcp:parameters_set",
            "imtcp:estimate_updated",
            "imtcp:stream_completed",
            "imtcp:promise_changed",
            "imtcp:promise_status_changed",
            "imtcp:slot_ended",
            "imtcp:control_state_updated",
            "imtcp:core_input",
        ] {
            assert!(seen.contains(wanted), "{level:?} lacks {wanted}: {seen:?}");
        }
        assert_eq!(
            seen.contains("quic:packet_sent"),
            level > Level::Events,
            "{level:?}"
        );
    }
}

#[test]
fn the_data_of_streams_is_told_at_the_highest_level_alone() {
    for level in [Level::Events, Level::Packets, Level::All] {
        let traffic = "kind = \"cbr\"\nrate = \"4 Mbit/s\"\nstart = \"3 s\"";
        let main = "controller = \"imtcp\"\napplication = { kind = \"bulk\" }";
        let records = records_of(&logged::run(traffic, main, 5, style(level)));
        check_header(&records[0]);
        // quiche tells of data that it drops, too; the rules of this event are not checked here.
        let is_moved = |record: &String| record.contains("\"quic:stream_data_moved\"");
        assert_eq!(
            records.iter().any(is_moved),
            level == Level::All,
            "{level:?}"
        );
    }
}

/// Checks each record. Returns the names of the events.
fn check_events(rules: &Rules, records: &[String], level: Level) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    let mut wrong = Vec::new();
    let mut last = 0.0;
    for record in records {
        let event: Value = serde_json::from_str(record).expect("each record is JSON");
        let name = event["name"]
            .as_str()
            .expect("an event has a name")
            .to_owned();
        if let Err(problem) = check_event(rules, &event, &name) {
            wrong.push(format!("{name}: {problem}: {record}"));
        }
        let time = event["time"].as_f64().expect("it was checked");
        assert!(time >= last, "{level:?}: after {last}: {record}");
        last = time;
        seen.insert(name);
    }
    assert!(
        wrong.is_empty(),
        "{} wrong; {:#?}",
        wrong.len(),
        &wrong[..wrong.len().min(5)]
    );
    seen
}

/// Sections 3, 5, 6 and 8.1 of draft-ietf-quic-qlog-main-schema-15.
fn check_header(record: &str) {
    let header: Value = serde_json::from_str(record).expect("the header is JSON");
    assert_eq!(
        header["file_schema"],
        "urn:ietf:params:qlog:file:sequential"
    );
    assert_eq!(header["serialization_format"], "application/qlog+json-seq");
    for early in ["\"file_schema\"", "\"serialization_format\""] {
        assert!(
            record.find(early).is_some_and(|at| at < 200),
            "{early} comes late"
        );
    }
    assert_eq!(header["trace"]["vantage_point"]["type"], "server");
    let clock = &header["trace"]["common_fields"]["reference_time"];
    assert_eq!(
        (&clock["clock_type"], &clock["epoch"]),
        (&"monotonic".into(), &"unknown".into())
    );
    let schemas = header["trace"]["event_schemas"]
        .as_array()
        .expect("schemas");
    let schemas: Vec<&str> = schemas.iter().filter_map(Value::as_str).collect();
    // The number of the draft has to be part of it until there is an RFC.
    assert!(
        schemas.contains(&"urn:ietf:params:qlog:events:quic-14"),
        "{schemas:?}"
    );
    assert!(schemas.contains(&SCHEMA_URI), "{schemas:?}");
    check_names(&header);
}

/// A private schema has an absolute URI that is none of the IETF's, with its namespace and a date.
#[test]
fn the_address_of_the_schema_is_as_the_draft_asks() {
    assert!(SCHEMA_URI.starts_with("https://") && SCHEMA_URI.ends_with("/imtcp"));
    let date = SCHEMA_URI
        .split('/')
        .rev()
        .nth(1)
        .expect("a part for the date");
    assert!(
        date.len() == 6 && date.bytes().all(|byte| byte.is_ascii_digit()),
        "{date}"
    );
    let documented = include_str!("../../../imtcp-cc/docs/qlog-imtcp.cddl");
    assert!(documented.contains(&format!("Schema: {SCHEMA_URI}\n")));
}

fn check_event(rules: &Rules, event: &Value, name: &str) -> Result<(), String> {
    let known = ["time", "name", "data"];
    let members = event.as_object().ok_or("it is no object")?;
    if members.len() != known.len() || !known.iter().all(|member| members.contains_key(*member)) {
        return Err("its members are not time, name and data".to_owned());
    }
    if event["time"].as_f64().is_none_or(|time| time < 0.0) {
        return Err("its time is no number".to_owned());
    }
    check_names(event);
    rules.check(name, &event["data"])
}

/// All names are in lower case, and no number is larger than I-JSON allows.
fn check_names(value: &Value) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                assert_eq!(*name, name.to_lowercase());
                check_names(value);
            }
        }
        Value::Array(values) => values.iter().for_each(check_names),
        Value::Number(number) => {
            assert!(
                number.as_u64().is_none_or(|number| number < 1 << 53),
                "{number}"
            );
        }
        _ => {}
    }
}

#[test]
fn the_rules_find_what_is_wrong() {
    let rules = rules();
    let wrong = |name: &str, data: &str| {
        let data: Value = serde_json::from_str(data).expect("it is JSON");
        rules.check(name, &data).expect_err("it is wrong")
    };
    let lost = "quic:packet_lost";
    assert_eq!(wrong("imtcp:nothing", "{}"), "there is no such event");
    assert_eq!(
        wrong(lost, r#"{"packet":1}"#),
        "`packet` is not in the rules"
    );
    assert_eq!(
        wrong(lost, r#"{"header":{}}"#),
        "`header`: `packet_type` is missing"
    );
    let number = r#"{"header":{"packet_type":"1RTT","packet_number":-1}}"#;
    assert_eq!(
        wrong(lost, number),
        "`header`: `packet_number`: -1 is no uint"
    );
    let frames = r#"{"frames":[{"frame_type":"ack"},{"frame_type":"ackk"}]}"#;
    assert!(
        wrong(lost, frames).starts_with("`frames`: [1]: "),
        "{}",
        wrong(lost, frames)
    );
    let version = r#"{"header":{"packet_type":"initial","version":"1"}}"#;
    assert_eq!(
        wrong(lost, version),
        "`header`: `version`: \"1\" is no hexstring"
    );
}
