//! What the runner checks of a case, from the files, the captures and the key log.

mod paths;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use super::cases::Case;
use super::trace::{Datagram, Fields, From, Long, Trace};

/// QUIC version 1 and version 2, as tshark prints them.
const VERSION_1: &str = "0x00000001";
const VERSION_2: &str = "0x6b3343cf";

/// `TLS_CHACHA20_POLY1305_SHA256`.
const CHACHA20: &str = "0x1303";

/// The most streams that a server may grant at once.
const MOST_STREAMS: u64 = 1000;

/// The long chain of certificates takes at least so many bytes.
const LEAST_CHAIN: u64 = 7500;

/// What a cell left behind.
pub struct Evidence<'a> {
    pub case: Case,
    /// The names of the files.
    pub files: &'a [String],
    pub www: &'a Path,
    pub downloads: &'a Path,
    /// At the client's end of the link.
    pub client: Trace,
    /// At the server's.
    pub server: Trace,
    /// There, as if the client had never moved.
    pub untranslated: Trace,
}

/// All that the runner checks.
///
/// # Errors
/// What is not as it has to be.
pub fn check(evidence: &Evidence<'_>) -> Result<()> {
    let case = evidence.case;
    let initials = evidence.server.long(Long::Initial, From::Server)?;
    let handshakes: BTreeSet<&str> = values(&initials, "quic.scid").collect();
    let expected = case.handshakes();
    ensure!(
        handshakes.len() == expected,
        "{} handshakes in place of {expected}",
        handshakes.len()
    );
    if case != Case::V2 {
        let versions: BTreeSet<&str> = values(&initials, "quic.version").collect();
        ensure!(versions.iter().eq([&VERSION_1]), "versions {versions:?}");
    }
    same_files(evidence)?;
    match case {
        Case::Handshake | Case::Ecn => no_retry(&evidence.client)?,
        Case::Longrtt => no_retry(&evidence.client).and_then(|()| two_hellos(&evidence.client))?,
        Case::Chacha20 => only_chacha20(&evidence.client)?,
        Case::Multiplexing => stream_limit(&evidence.client)?,
        Case::Retry => retry(&evidence.client)?,
        Case::Resumption => resumption(&evidence.client)?,
        Case::Zerortt => zero_rtt(&evidence.client)?,
        Case::Keyupdate => key_update(evidence)?,
        Case::Amplificationlimit => amplification(&evidence.server)?,
        Case::V2 => version_2(evidence)?,
        Case::RebindPort => paths::rebinding(evidence)?,
        Case::RebindAddr => {
            paths::rebinding(evidence).and_then(|()| paths::addresses(&evidence.server))?
        }
        Case::Connectionmigration => paths::migration(evidence)?,
        Case::Ipv6 => paths::only_ipv6(&evidence.server)?,
        _ => {}
    }
    if case == Case::Ecn {
        ecn(evidence)?;
    }
    Ok(())
}

fn values<'a>(packets: &'a [Fields], name: &'a str) -> impl Iterator<Item = &'a str> {
    packets.iter().filter_map(move |packet| packet.get(name))
}

fn keys_of(trace: &Trace) -> Result<()> {
    ensure!(trace.keys.is_some(), "no key log, which this case needs");
    Ok(())
}

fn same_files(evidence: &Evidence<'_>) -> Result<()> {
    let listed = fs::read_dir(evidence.downloads).context("no downloads")?;
    let found: BTreeSet<String> = listed
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    let wanted: BTreeSet<String> = evidence.files.iter().cloned().collect();
    let missing = wanted.difference(&found).count();
    ensure!(
        missing == 0,
        "{missing} of {} files are missing",
        wanted.len()
    );
    let extra: Vec<&String> = found.difference(&wanted).collect();
    ensure!(extra.is_empty(), "files that nobody asked for: {extra:?}");
    for name in &wanted {
        let was = fs::read(evidence.www.join(name))?;
        let is = fs::read(evidence.downloads.join(name))?;
        ensure!(
            was == is,
            "{name}: {} of {} bytes, or others",
            is.len(),
            was.len()
        );
    }
    Ok(())
}

fn no_retry(client: &Trace) -> Result<()> {
    let retries = client.long(Long::Retry, From::Server)?.len();
    ensure!(retries == 0, "{retries} Retry packets, and none was wanted");
    Ok(())
}

/// A round trip of 1.5 s is longer than a client waits before it says hello again.
fn two_hellos(client: &Trace) -> Result<()> {
    let initials = client.long(Long::Initial, From::Client)?;
    let hellos = initials
        .iter()
        .filter(|packet| {
            packet
                .all("quic.crypto.offset")
                .iter()
                .any(|offset| offset == "0")
        })
        .count();
    ensure!(hellos >= 2, "{hellos} ClientHello in place of at least 2");
    Ok(())
}

fn only_chacha20(client: &Trace) -> Result<()> {
    let initials = client.long(Long::Initial, From::Client)?;
    let offered: BTreeSet<&String> = initials
        .iter()
        .flat_map(|packet| packet.all("tls.handshake.ciphersuite"))
        .collect();
    ensure!(
        offered.iter().all(|suite| *suite == CHACHA20) && offered.len() == 1,
        "the client offers {offered:?}"
    );
    Ok(())
}

fn stream_limit(client: &Trace) -> Result<()> {
    keys_of(client)?;
    let packets = client.long(Long::Handshake, From::Server)?;
    let name = "tls.quic.parameter.initial_max_streams_bidi";
    let limit = packets.iter().find_map(|packet| packet.number(name));
    let limit = limit.context("the server's limit of streams is not to be seen")?;
    ensure!(limit <= MOST_STREAMS, "{limit} streams granted at once");
    Ok(())
}

fn retry(client: &Trace) -> Result<()> {
    let retries = client.long(Long::Retry, From::Server)?;
    let initials = client.long(Long::Initial, From::Client)?;
    token_comes_back(&retries, &initials)
}

/// The client repeats the token of a Retry, and counts its packets on.
fn token_comes_back(retries: &[Fields], initials: &[Fields]) -> Result<()> {
    let tokens: BTreeSet<&str> = values(retries, "quic.retry_token").collect();
    ensure!(!tokens.is_empty(), "no Retry with a token");
    let mut highest = None;
    for packet in initials {
        let number = packet.number("quic.packet_number");
        match packet.get("quic.token") {
            None => highest = highest.max(number),
            Some(_) if number <= highest => bail!("packet numbers begin again after the Retry"),
            Some(token) if tokens.contains(token) => return Ok(()),
            Some(_) => {}
        }
    }
    bail!("no Initial packet with the token of a Retry")
}

fn resumption(client: &Trace) -> Result<()> {
    keys_of(client)?;
    second_has_no_certificate(&client.long(Long::Handshake, From::Server)?)
}

/// Of two connections in the order of their packets, the first has a certificate alone.
fn second_has_no_certificate(packets: &[Fields]) -> Result<()> {
    let ids: BTreeSet<&str> = values(packets, "quic.scid").collect();
    ensure!(
        ids.len() == 2,
        "Handshake packets of {} connections",
        ids.len()
    );
    let first = packets.first().and_then(|packet| packet.get("quic.scid"));
    let certificate = "tls.handshake.certificates_length";
    let has = |is_first: bool| {
        let mut of = packets
            .iter()
            .filter(|packet| (packet.get("quic.scid") == first) == is_first);
        of.any(|packet| packet.get(certificate).is_some())
    };
    ensure!(has(true), "the first handshake has no certificate");
    ensure!(!has(false), "the second handshake has a certificate");
    Ok(())
}

fn zero_rtt(client: &Trace) -> Result<()> {
    let size = |packet: &Fields| {
        let names = ["quic.payload", "quic.remaining_payload"];
        names
            .iter()
            .find_map(|name| packet.number(name))
            .unwrap_or_default()
    };
    let early: u64 = client
        .long(Long::ZeroRtt, From::Client)?
        .iter()
        .map(size)
        .sum();
    ensure!(early > 0, "no data in 0-RTT");
    let rows = client.fields(
        From::Client,
        "quic.header_form==0",
        &["quic.protected_payload"],
    )?;
    let payloads = rows.iter().flatten().flat_map(|value| value.split(','));
    let late: usize = payloads.map(|hex| hex.replace(':', "").len() / 2).sum();
    let files = Case::Zerortt.files();
    let most = files.repeated * files.name_length / 2;
    ensure!(late <= most, "{late} bytes in 1-RTT, and {early} in 0-RTT");
    Ok(())
}

/// At the server's end, where each side's first packets under the new keys are seen as well.
fn key_update(evidence: &Evidence<'_>) -> Result<()> {
    keys_of(&evidence.client)?;
    for who in [From::Client, From::Server] {
        let trace = &evidence.untranslated;
        let rows = trace.fields(who, "quic.header_form==0", &["quic.key_phase"])?;
        let values = rows.iter().flatten().flat_map(|value| value.split(','));
        let phases: BTreeSet<&str> = values.collect();
        let is_new = |phase: &&str| matches!(*phase, "1" | "True");
        ensure!(
            phases.iter().any(is_new),
            "{who:?} sends nothing in phase 1: {phases:?}"
        );
    }
    Ok(())
}

/// The server may send three times what it has received, until the address is confirmed.
fn amplification(server: &Trace) -> Result<()> {
    keys_of(server)?;
    let mut longest = 0;
    for packet in server.long(Long::Handshake, From::Server)? {
        let offsets = packet.all("quic.crypto.offset").iter();
        for (offset, length) in offsets.zip(packet.all("quic.crypto.length")) {
            longest = longest.max(offset.parse::<u64>()? + length.parse::<u64>()?);
        }
    }
    ensure!(
        longest >= LEAST_CHAIN,
        "the chain of certificates has {longest} bytes"
    );
    at_most_three_times(server.datagrams(&[From::Client, From::Server], false)?)
}

/// Until the client's first Handshake packet, the server sends three times what it has received.
fn at_most_three_times(datagrams: Vec<Datagram>) -> Result<()> {
    let mut allowed = 0_usize;
    for Datagram {
        from,
        length,
        packets,
    } in datagrams
    {
        let first = packets
            .first()
            .and_then(|packet| packet.get("quic.long.packet_type"));
        match (from, first) {
            (From::Client, Some("2")) => return Ok(()),
            (From::Client, Some("0")) => allowed += 4 * length,
            (From::Client, _) => {}
            (From::Server, _) => {
                // The runner lets a fourth part pass, too.
                ensure!(length < allowed, "the server sends more than it may");
                allowed -= length;
            }
        }
    }
    bail!("the client never confirms its address")
}

fn version_2(evidence: &Evidence<'_>) -> Result<()> {
    let seen = |trace: &Trace, kind, who| -> Result<BTreeSet<String>> {
        let packets = trace.long(kind, who)?;
        Ok(values(&packets, "quic.version")
            .map(str::to_owned)
            .collect())
    };
    let first = seen(&evidence.client, Long::Initial, From::Client)?;
    ensure!(
        first.contains(VERSION_1),
        "the client begins with {first:?}"
    );
    let answer = seen(&evidence.server, Long::Initial, From::Server)?;
    ensure!(
        answer.contains(VERSION_2),
        "the server answers with {answer:?}"
    );
    for (who, trace) in [
        (From::Client, &evidence.client),
        (From::Server, &evidence.server),
    ] {
        let versions = seen(trace, Long::Handshake, who)?;
        ensure!(
            versions.iter().eq([VERSION_2]),
            "{who:?} goes on with {versions:?}"
        );
    }
    Ok(())
}

/// Marks on everything that either side sends, and counts of them.
fn ecn(evidence: &Evidence<'_>) -> Result<()> {
    keys_of(&evidence.client)?;
    let sides = [
        (From::Client, &evidence.client),
        (From::Server, &evidence.server),
    ];
    for (who, trace) in sides {
        let names = [
            "ip.dsfield.ecn",
            "quic.ack.ect0_count",
            "quic.ack.ect1_count",
        ];
        let rows = trace.fields(who, "quic", &names)?;
        let marks: Vec<&str> = rows
            .iter()
            .filter_map(|row| row.first())
            .map(String::as_str)
            .collect();
        let has_any = marks.iter().any(|mark| matches!(*mark, "1" | "2"));
        ensure!(has_any, "{who:?} marks no packet");
        ensure!(!marks.contains(&"3"), "{who:?} sends CE by itself");
        let counts = rows
            .iter()
            .any(|row| row.iter().skip(1).any(|count| !count.is_empty()));
        ensure!(counts, "{who:?} reports no marks");
    }
    Ok(())
}

/// How fast the client received, in Mbit/s: the bytes of the files by the time between the first
/// and the last packet in 1-RTT.
pub fn goodput_mbps(evidence: &Evidence<'_>) -> Result<f64> {
    let times =
        evidence
            .client
            .fields(From::Server, "quic.header_form==0", &["frame.time_epoch"])?;
    let time = |row: Option<&Vec<String>>| -> Option<f64> { row?.first()?.parse().ok() };
    let span = time(times.last())
        .zip(time(times.first()))
        .map(|(last, first)| last - first);
    let span = span
        .filter(|span| *span > 0.0)
        .context("no packets with data")?;
    let bytes: usize = evidence.case.files().sizes.iter().sum();
    Ok(bytes as f64 * 8.0 / span / 1e6)
}
