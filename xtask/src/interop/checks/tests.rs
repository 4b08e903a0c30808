//! What passes, and what does not: a check that lets everything pass would make a table of nothing
//! but "ok".

use super::*;

/// A packet with these fields.
fn packet(fields: &[(&str, &str)]) -> Fields {
    let members: serde_json::Map<String, serde_json::Value> = fields
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).into()))
        .collect();
    serde_json::from_value(members.into()).expect("as tshark prints it")
}

fn failure(outcome: Result<()>) -> String {
    outcome.expect_err("it does not pass").to_string()
}

#[test]
fn a_retry_passes_if_its_token_comes_back_in_a_later_packet() {
    let retries = [packet(&[("quic.retry_token", "aa:bb")])];
    let hello = packet(&[("quic.packet_number", "0")]);
    let with = |number: &str, token: &str| {
        packet(&[("quic.packet_number", number), ("quic.token", token)])
    };
    let check =
        |second| token_comes_back(&retries, &[packet(&[("quic.packet_number", "0")]), second]);
    assert!(check(with("1", "aa:bb")).is_ok());
    assert!(failure(check(with("0", "aa:bb"))).contains("begin again"));
    assert!(failure(check(with("1", "cc"))).contains("no Initial packet"));
    let none = token_comes_back(&[], &[hello]);
    assert!(failure(none).contains("no Retry"));
}

#[test]
fn a_session_is_resumed_if_the_second_connection_alone_has_no_certificate() {
    let with = |id| {
        packet(&[
            ("quic.scid", id),
            ("tls.handshake.certificates_length", "9"),
        ])
    };
    let without = |id| packet(&[("quic.scid", id)]);
    let check = |packets: [Fields; 2]| second_has_no_certificate(&packets);
    assert!(check([with("a"), without("b")]).is_ok());
    assert!(failure(check([with("a"), with("b")])).contains("second"));
    assert!(failure(check([without("a"), without("b")])).contains("first"));
    assert!(failure(check([with("a"), without("a")])).contains("of 1 connections"));
}

#[test]
fn a_server_passes_if_it_sends_no_more_than_it_may_before_the_address_is_confirmed() {
    let datagram = |from, length, kind| Datagram {
        from,
        length,
        packets: vec![packet(&[("quic.long.packet_type", kind)])],
    };
    let hello = || datagram(From::Client, 1200, "0");
    let confirmed = || datagram(From::Client, 100, "2");
    let answer = |length| datagram(From::Server, length, "2");
    let check = at_most_three_times;
    assert!(check(vec![hello(), answer(3600), confirmed(), answer(60_000)]).is_ok());
    assert!(failure(check(vec![hello(), answer(5000), confirmed()])).contains("more than it may"));
    assert!(failure(check(vec![hello(), answer(3600)])).contains("never confirms"));
}

#[test]
fn files_pass_if_all_are_there_unchanged_and_no_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let [www, downloads] = ["www", "downloads"].map(|name| folder.path().join(name));
    let trace = Trace {
        capture: folder.path().join("none"),
        keys: None,
    };
    let check = |served: &[(&str, &str)], fetched: &[(&str, &str)]| {
        for (folder, files) in [(&www, served), (&downloads, fetched)] {
            let _ = fs::remove_dir_all(folder);
            fs::create_dir(folder).expect("a folder");
            for (name, content) in files {
                fs::write(folder.join(name), content).expect("a file");
            }
        }
        let files: Vec<String> = served.iter().map(|(name, _)| (*name).to_owned()).collect();
        same_files(&Evidence {
            case: Case::Transfer,
            files: &files,
            www: &www,
            downloads: &downloads,
            client: trace.clone(),
            server: trace.clone(),
            untranslated: trace.clone(),
        })
    };
    let both = [("a", "1"), ("b", "23")];
    assert!(check(&both, &both).is_ok());
    assert!(failure(check(&both, &both[..1])).contains("1 of 2 files are missing"));
    assert!(failure(check(&both[..1], &both)).contains("nobody asked for"));
    assert!(failure(check(&both, &[("a", "1"), ("b", "2")])).contains("b: 1 of 2 bytes"));
    assert!(failure(check(&both, &[("a", "1"), ("b", "24")])).contains("b: 2 of 2 bytes"));
}
