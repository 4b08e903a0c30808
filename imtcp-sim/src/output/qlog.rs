//! What a server's qlog says of packets that carried nothing.

use super::OutputError;
use serde::Deserialize;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Packets that carried nothing but PING and PADDING frames. A measurement with packets of its own
/// would add such packets. A probe timeout with nothing to repeat sends one, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Idle {
    /// How many.
    pub packets: u64,
    /// Their bytes of UDP payload.
    pub bytes: u64,
}

#[derive(Deserialize)]
struct Record {
    data: PacketSent,
}

#[derive(Deserialize)]
struct PacketSent {
    raw: Raw,
    #[serde(default)]
    frames: Vec<Frame>,
}

#[derive(Deserialize)]
struct Raw {
    length: u64,
}

#[derive(Deserialize)]
struct Frame {
    frame_type: String,
}

/// Counts the idle packets that a server sent, from its qlog.
///
/// # Errors
/// The file cannot be read, or a record of a sent packet is not what quiche writes.
pub fn idle_packets(path: &Path) -> Result<Idle, OutputError> {
    let failed = |problem: String| OutputError::reading(path, problem);
    let file = File::open(path).map_err(|error| failed(error.to_string()))?;
    let mut idle = Idle::default();
    for line in BufReader::new(file).lines() {
        let line = line.map_err(|error| failed(error.to_string()))?;
        // JSON text sequences put a separator before each record (RFC 7464).
        let record = line.trim_start_matches('\u{1e}');
        if !record.contains("\"name\":\"quic:packet_sent\"") {
            continue;
        }
        let record: Record =
            serde_json::from_str(record).map_err(|error| failed(error.to_string()))?;
        if record.data.carries_nothing() {
            idle.packets += 1;
            idle.bytes += record.data.raw.length;
        }
    }
    Ok(idle)
}

impl PacketSent {
    fn carries_nothing(&self) -> bool {
        let nothing = |frame: &Frame| matches!(frame.frame_type.as_str(), "ping" | "padding");
        self.frames.iter().all(nothing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(frames: &str) -> bool {
        let text = format!("{{\"raw\":{{\"length\":1350}},\"frames\":[{frames}]}}");
        let packet: PacketSent = serde_json::from_str(&text).expect("it is a packet");
        packet.carries_nothing()
    }

    #[test]
    fn only_ping_and_padding_are_nothing() {
        let frame = |name: &str| format!("{{\"frame_type\":\"{name}\"}}");
        assert!(sent(&frame("ping")));
        assert!(sent(&format!("{},{}", frame("ping"), frame("padding"))));
        for name in ["ack", "stream", "datagram", "crypto", "handshake_done"] {
            assert!(
                !sent(&format!("{},{}", frame(name), frame("padding"))),
                "{name}"
            );
        }
    }
}
