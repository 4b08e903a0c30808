//! What a server's qlog says of packets that carried nothing.

use imtcp_qlog::read::Kind;
use imtcp_qlog::{Error, Log};
use serde::Deserialize;
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
struct PacketSent {
    raw: Raw,
    /// Missing where the log was written without frames, which would make every packet idle.
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
pub fn idle_packets(path: &Path) -> Result<Idle, Error> {
    let mut log = Log::open(path)?.strict();
    let mut idle = Idle::default();
    log.for_each(|record| {
        if record.kind == Kind::PacketSent {
            let packet: PacketSent = record.data().map_err(|error| error.to_string())?;
            if packet.carries_nothing() {
                idle.packets += 1;
                idle.bytes += packet.raw.length;
            }
        }
        Ok(())
    })?;
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

    #[test]
    fn a_log_without_frames_says_nothing_of_what_packets_carried() {
        let folder = std::env::temp_dir().join(format!("imtcp-sim-idle-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for the test");
        let file = folder.join("log.sqlog");
        let header = "\u{1e}{\"file_schema\":\"urn:ietf:params:qlog:file:sequential\"}\n";
        let written = |frames: &str| {
            let packet = format!(
                "\u{1e}{{\"time\":1.0,\"name\":\"quic:packet_sent\",\"data\":{{\"raw\":\
                 {{\"length\":99}}{frames}}}}}\n"
            );
            std::fs::write(&file, header.to_owned() + &packet).expect("it can be written");
            idle_packets(&file)
        };
        let with = written(",\"frames\":[{\"frame_type\":\"ping\"}]");
        let expected = Idle {
            packets: 1,
            bytes: 99,
        };
        assert_eq!(with.expect("frames"), expected);
        let without = written("").expect_err("no frames").to_string();
        assert!(without.contains("missing field `frames`"), "{without}");
        std::fs::remove_dir_all(&folder).expect("it was there");
    }
}
