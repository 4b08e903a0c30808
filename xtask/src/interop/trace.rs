//! A capture, read by tshark with the secrets of a key log.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::link;
use super::play::PORT;

/// The client's address over IPv6.
pub const CLIENT_6: &str = "fd00:cafe:cafe::100";
/// The server's.
pub const SERVER_6: &str = "fd00:cafe:cafe:100::100";

/// A value that is longer is kept as its length in bytes alone: no check reads it.
const LONGEST_VALUE: usize = 2048;

/// Who sent a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    Client,
    Server,
}

impl From {
    fn filter(self) -> String {
        let (four, six) = match self {
            Self::Client => (link::CLIENT, CLIENT_6),
            Self::Server => (link::SERVER, SERVER_6),
        };
        format!("(quic && !icmp && !icmpv6) && (ip.src=={four} || ipv6.src=={six})")
    }
}

/// The type of a packet with a long header (RFC 9000, section 17.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Long {
    Initial,
    ZeroRtt,
    Handshake,
    Retry,
}

impl Long {
    /// What tshark calls it in version 1, and in version 2.
    fn numbers(self) -> (&'static str, &'static str) {
        match self {
            Self::Initial => ("0", "1"),
            Self::ZeroRtt => ("1", "2"),
            Self::Handshake => ("2", "3"),
            Self::Retry => ("3", "0"),
        }
    }
}

/// A capture and its secrets.
#[derive(Clone, Debug)]
pub struct Trace {
    pub capture: PathBuf,
    pub keys: Option<PathBuf>,
}

/// A datagram.
#[derive(Debug)]
pub struct Datagram {
    /// Who sent it.
    pub from: From,
    /// UDP payload in bytes.
    pub length: usize,
    /// Its QUIC packets.
    pub packets: Vec<Fields>,
}

impl Trace {
    /// All datagrams with a long header that `who` sent, and with short ones if wanted.
    pub fn datagrams(&self, who: &[From], only_long: bool) -> Result<Vec<Datagram>> {
        let filters: Vec<String> = who.iter().map(|from| from.filter()).collect();
        let mut filter = format!("({})", filters.join(") || ("));
        if only_long {
            filter = format!("({filter}) && (quic.header_form==1)");
        }
        let arguments = ["-T", "json", "--no-duplicate-keys", "-Y", &filter];
        let mut records: Vec<Record> = Vec::new();
        self.tshark(&arguments, |output| {
            records = serde_json::from_reader(BufReader::new(output))
                .context("tshark printed no JSON")?;
            Ok(())
        })?;
        Ok(records
            .into_iter()
            .map(|record| record.source.layers.datagram())
            .collect())
    }

    /// The packets of a type that `who` sent.
    pub fn long(&self, kind: Long, who: From) -> Result<Vec<Fields>> {
        let (one, two) = kind.numbers();
        let is_meant = |packet: &Fields| {
            packet.get("quic.long.packet_type") == Some(one)
                || packet.get("quic.long.packet_type_v2") == Some(two)
        };
        let datagrams = self.datagrams(&[who], true)?;
        let packets = datagrams.into_iter().flat_map(|datagram| datagram.packets);
        Ok(packets.filter(is_meant).collect())
    }

    /// Some fields of each datagram that `who` sent and that passes `filter`; a field that occurs
    /// several times has its values separated by commas.
    pub fn fields(&self, who: From, filter: &str, names: &[&str]) -> Result<Vec<Vec<String>>> {
        let filter = format!("({}) && ({filter})", who.filter());
        let mut arguments = vec!["-T", "fields", "-Y", &filter];
        for name in names {
            arguments.extend(["-e", name]);
        }
        let mut text = String::new();
        self.tshark(&arguments, |output| {
            output
                .read_to_string(&mut text)
                .context("tshark printed no text")?;
            Ok(())
        })?;
        let row = |line: &str| line.split('\t').map(str::to_owned).collect();
        Ok(text.lines().map(row).collect())
    }

    fn tshark(
        &self,
        arguments: &[&str],
        read: impl FnOnce(&mut dyn Read) -> Result<()>,
    ) -> Result<()> {
        let mut command = Command::new("tshark");
        command
            .arg("-r")
            .arg(&self.capture)
            // Bodies are none of the checks' business.
            .args(["--disable-protocol", "http3"])
            .args(["-d", &format!("udp.port=={PORT},quic")])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        if let Some(keys) = &self.keys {
            command.args(["-o", &format!("tls.keylog_file:{}", keys.display())]);
        }
        let mut child = command
            .spawn()
            .context("tshark is missing; on Debian: apt-get install tshark")?;
        let mut output = child.stdout.take().context("tshark has no output")?;
        let outcome = read(&mut output);
        // Read to its end also where it was not understood, or tshark waits for ever.
        drop(output);
        let status = child.wait().context("cannot wait for tshark")?;
        outcome?;
        ensure!(
            status.success(),
            "tshark failed on {}",
            self.capture.display()
        );
        Ok(())
    }

    /// The client's log of secrets, or else the server's, if it is one.
    pub fn key_log(logs: [&Path; 2]) -> Option<PathBuf> {
        logs.into_iter()
            .map(|folder| folder.join("keys.log"))
            .find(|path| {
                std::fs::read_to_string(path)
                    .is_ok_and(|text| text.contains("SERVER_HANDSHAKE_TRAFFIC_SECRET"))
            })
    }
}

/// The fields of a packet by tshark's names, wherever they are nested.
#[derive(Debug, Default)]
pub struct Fields(BTreeMap<String, Vec<String>>);

impl Fields {
    /// The first value of a field.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.all(name).first().map(String::as_str)
    }

    /// All its values.
    pub fn all(&self, name: &str) -> &[String] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// A value that is a number.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }

    fn add(&mut self, name: &str, value: &str) {
        let value = if name.ends_with("payload") {
            value.split(':').count().to_string()
        } else if value.len() > LONGEST_VALUE {
            return;
        } else {
            value.to_owned()
        };
        self.0.entry(name.to_owned()).or_default().push(value);
    }
}

/// What tshark prints of a datagram.
#[derive(serde::Deserialize)]
struct Record {
    #[serde(rename = "_source")]
    source: Source,
}

#[derive(serde::Deserialize)]
struct Source {
    layers: Layers,
}

#[derive(serde::Deserialize)]
struct Layers {
    #[serde(default)]
    ip: Option<Fields>,
    #[serde(default)]
    ipv6: Option<Fields>,
    #[serde(default)]
    udp: Fields,
    #[serde(default)]
    quic: OneOrMore,
}

impl Layers {
    fn datagram(self) -> Datagram {
        let four = self.ip.as_ref().and_then(|ip| ip.get("ip.src"));
        let six = self.ipv6.as_ref().and_then(|ip| ip.get("ipv6.src"));
        let is_server = four == Some(&*link::SERVER.to_string()) || six == Some(SERVER_6);
        let length = self.udp.number("udp.length").unwrap_or_default();
        Datagram {
            from: if is_server {
                From::Server
            } else {
                From::Client
            },
            length: usize::try_from(length)
                .unwrap_or_default()
                .saturating_sub(8),
            packets: self.quic.0,
        }
    }
}

/// One layer, or a list of them.
#[derive(Debug, Default)]
struct OneOrMore(Vec<Fields>);

impl<'de> Deserialize<'de> for OneOrMore {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Layer;

        impl<'de> Visitor<'de> for Layer {
            type Value = OneOrMore;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a layer or a list of them")
            }

            /// What tshark could not make sense of is its name alone.
            fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
                Ok(OneOrMore(vec![Fields::default()]))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Fields::default();
                flatten(&mut map, &mut fields)?;
                Ok(OneOrMore(vec![fields]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut all = Vec::new();
                while let Some(fields) = list.next_element()? {
                    all.push(fields);
                }
                Ok(OneOrMore(all))
            }
        }

        deserializer.deserialize_any(Layer)
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let layers = OneOrMore::deserialize(deserializer)?;
        Ok(layers.0.into_iter().next().unwrap_or_default())
    }
}

fn flatten<'de, A: MapAccess<'de>>(map: &mut A, fields: &mut Fields) -> Result<(), A::Error> {
    while let Some(name) = map.next_key::<String>()? {
        let value: serde_json::Value = map.next_value()?;
        collect(&name, &value, fields);
    }
    Ok(())
}

fn collect(name: &str, value: &serde_json::Value, fields: &mut Fields) {
    match value {
        serde_json::Value::String(text) => fields.add(name, text),
        serde_json::Value::Array(values) => {
            values.iter().for_each(|value| collect(name, value, fields));
        }
        serde_json::Value::Object(map) => {
            map.iter()
                .for_each(|(name, value)| collect(name, value, fields));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_wherever_they_are_nested_and_packets_stay_apart() {
        let text = r#"[{"_source": {"layers": {
            "ip": {"ip.src": "193.167.100.100"}, "udp": {"udp.length": "1208"},
            "quic": [
                {"quic.long.packet_type": "0", "quic.payload": "aa:bb:cc",
                 "quic.frame": [{"quic.frame_type": "6", "tls": {"a": {"b": ["1", "2"]}}}]},
                {"quic.long.packet_type": "2"},
                "QUIC IETF"
            ]}}}]"#;
        let records: Vec<Record> = serde_json::from_str(text).expect("as tshark prints it");
        let record = records.into_iter().next().expect("one");
        let datagram = record.source.layers.datagram();
        assert_eq!((datagram.from, datagram.length), (From::Server, 1200));
        let [initial, handshake, _] = &datagram.packets[..] else {
            panic!("{datagram:?}")
        };
        assert_eq!(initial.all("b"), ["1", "2"]);
        assert_eq!(initial.number("quic.payload"), Some(3), "its length");
        assert_eq!(handshake.get("quic.long.packet_type"), Some("2"));
    }
}
