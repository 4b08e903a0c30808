//! Which paths packets took.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};

use super::{Evidence, keys_of};
use crate::interop::trace::{From, Trace};

/// The path of each datagram that `who` sent, by its number in the capture.
fn paths(trace: &Trace, who: From) -> Result<Vec<(String, [String; 3])>> {
    let [four, six, port] = match who {
        From::Server => ["ip.dst", "ipv6.dst", "udp.dstport"],
        From::Client => ["ip.src", "ipv6.src", "udp.srcport"],
    };
    let rows = trace.fields(who, "quic", &["frame.number", four, six, port])?;
    let path = |row: Vec<String>| {
        let [number, four, six, port] = <[String; 4]>::try_from(row).ok()?;
        Some((number, [four, six, port]))
    };
    Ok(rows.into_iter().filter_map(path).collect())
}

/// A field of each datagram that has it, by the datagram's number.
fn by_number(trace: &Trace, who: From, field: &str) -> Result<BTreeMap<String, String>> {
    let rows = trace.fields(who, "quic", &["frame.number", field])?;
    let pair = |row: Vec<String>| <[String; 2]>::try_from(row).ok();
    let pairs = rows
        .into_iter()
        .filter_map(pair)
        .map(|[number, value]| (number, value));
    Ok(pairs.filter(|(_, value)| !value.is_empty()).collect())
}

/// The first packet on a new path carries a challenge, and each challenge is answered.
pub fn rebinding(evidence: &Evidence<'_>) -> Result<()> {
    keys_of(&evidence.server)?;
    let sent = by_number(
        &evidence.untranslated,
        From::Server,
        "quic.path_challenge.data",
    )?;
    let mut seen = BTreeSet::new();
    let mut challenges = BTreeSet::new();
    for (number, path) in paths(&evidence.server, From::Server)? {
        let is_first = seen.is_empty();
        if seen.insert(path.clone()) && !is_first {
            let challenge = sent.get(&number);
            let challenge = challenge.with_context(|| {
                format!("the server's first packet to {path:?} is no challenge")
            })?;
            challenges.extend(challenge.split(',').map(str::to_owned));
        }
    }
    ensure!(seen.len() > 1, "the client was on one path alone");
    let answered = by_number(
        &evidence.untranslated,
        From::Client,
        "quic.path_response.data",
    )?;
    let responses: BTreeSet<&str> = answered
        .values()
        .flat_map(|value| value.split(','))
        .collect();
    let without = challenges
        .iter()
        .filter(|data| !responses.contains(data.as_str()))
        .count();
    ensure!(
        without == 0,
        "{without} of {} challenges without a response",
        challenges.len()
    );
    Ok(())
}

pub fn addresses(server: &Trace) -> Result<()> {
    let sent = paths(server, From::Server)?;
    let addresses: BTreeSet<String> = sent
        .into_iter()
        .map(|(_, path)| path[..2].concat())
        .collect();
    ensure!(addresses.len() > 1, "the client had one address alone");
    Ok(())
}

pub fn migration(evidence: &Evidence<'_>) -> Result<()> {
    rebinding(evidence)?;
    let mut seen = BTreeSet::new();
    let mut last = String::new();
    let ids = by_number(&evidence.client, From::Client, "quic.dcid")?;
    for (number, path) in paths(&evidence.client, From::Client)? {
        let id = ids.get(&number).cloned().unwrap_or_default();
        if seen.insert(path) {
            ensure!(id != last, "a new path with the identifier of the old one");
        }
        last = id;
    }
    Ok(())
}

pub fn only_ipv6(server: &Trace) -> Result<()> {
    let four = server.fields(From::Server, "ip", &["ip.src"])?.len();
    ensure!(four == 0, "{four} packets over IPv4");
    Ok(())
}
