//! What the page, the browser and the server saw of one play.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;

/// What the driver prints.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Seen {
    /// Seconds from the page's beginning to the first picture.
    pub began: Option<f64>,
    /// When the picture stood still.
    pub stalls: Vec<Stall>,
    /// The bit rates that were shown, each with the place in the title where it began.
    pub bitrates: Vec<Shown>,
    /// What went wrong, by the player.
    pub errors: Vec<String>,
    /// What went wrong, by the browser.
    pub complaints: Vec<String>,
    /// Seconds of the title.
    pub played: f64,
    /// The player's own figures.
    pub player: BTreeMap<String, Value>,
    /// What the page asked for, in the browser's timing.
    pub requests: Vec<Request>,
    /// The answers, as the browser's own tools show them.
    pub answers: Vec<Answer>,
    /// The browser's version.
    pub version: Option<String>,
}

/// A time in which the picture stood still.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Stall {
    /// The place in the title.
    pub at: f64,
    /// How long.
    pub seconds: f64,
}

/// A bit rate.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Shown {
    /// As the manifest says.
    pub kbps: f64,
}

/// A request by PerformanceResourceTiming. Times are seconds since the page's beginning.
#[derive(Clone, Debug, Deserialize)]
pub struct Request {
    /// Its path.
    pub path: String,
    /// `nextHopProtocol`.
    pub protocol: String,
    /// When it was sent.
    pub begun: f64,
    /// When the answer was there.
    pub done: f64,
    /// The answer's length.
    pub bytes: u64,
}

/// An answer.
#[derive(Clone, Debug, Deserialize)]
pub struct Answer {
    /// Of which path.
    pub path: String,
    /// The field `cmsd-dynamic`.
    pub cmsd: Option<String>,
}

/// `etp` of an answer to a request that was sent while nothing else was under way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Idle {
    /// In Mbit/s; `None` if the answer has none.
    pub etp_mbps: Option<f64>,
}

/// For so long nothing was under way before a request, in seconds, if the player was idle.
const PAUSE_S: f64 = 0.3;

fn is_segment(path: &str) -> bool {
    path.contains("chunk-")
}

impl Seen {
    /// The requests for segments that were answered in full.
    pub fn segments(&self) -> impl Iterator<Item = &Request> {
        let all = self.requests.iter();
        all.filter(|request| is_segment(&request.path) && request.bytes > 0)
    }

    /// What answers to segments said, where the player was idle before.
    pub fn idle(&self) -> Vec<Idle> {
        let mut busy_until = f64::INFINITY;
        let mut idle = Vec::new();
        for request in &self.requests {
            if is_segment(&request.path) && request.begun > busy_until + PAUSE_S {
                let mut answers = self.answers.iter();
                let answer = answers.find(|answer| answer.path == request.path);
                let cmsd = answer.and_then(|answer| answer.cmsd.as_deref());
                idle.push(Idle {
                    etp_mbps: cmsd.and_then(etp),
                });
            }
            // Before the first answer nothing is known.
            let before = if busy_until.is_finite() {
                busy_until
            } else {
                0.0
            };
            busy_until = before.max(request.done);
        }
        idle
    }

    /// The answers to segments with CMSD, and all.
    pub fn cmsd(&self) -> (usize, usize) {
        let all = self
            .answers
            .iter()
            .filter(|answer| is_segment(&answer.path));
        let with = all.clone().filter(|answer| answer.cmsd.is_some()).count();
        (with, all.count())
    }
}

/// `etp` of a field, in Mbit/s.
fn etp(field: &str) -> Option<f64> {
    let mut parameters = field
        .split(';')
        .filter_map(|part| part.trim().split_once('='));
    let (_, value) = parameters.find(|(key, _)| *key == "etp")?;
    value.parse::<f64>().ok().map(|kbps| kbps / 1000.0)
}

/// What the server's log says of a play.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerLog {
    /// Requests for segments.
    pub segments: usize,
    /// Those whose CMCD told of a rate.
    pub with_rate: usize,
    /// Those whose CMCD told of a buffer.
    pub with_buffer: usize,
    /// What connections were at their ends: goodput, losses and others, in the log's own words.
    pub ended: Vec<String>,
}

impl ServerLog {
    /// Reads `imtcp-serve --log json`.
    pub fn read(text: &str) -> Result<Self> {
        let mut log = Self::default();
        for line in text.lines().filter(|line| line.starts_with('{')) {
            let line: Value = serde_json::from_str(line)
                .with_context(|| format!("not a line of the server's log: `{line}`"))?;
            match line["message"].as_str() {
                Some("request") if line["path"].as_str().is_some_and(is_segment) => {
                    log.segments += 1;
                    log.with_rate += usize::from(line["required"].is_string());
                    log.with_buffer += usize::from(line["buffer_ms"].is_number());
                }
                Some("ended") => log.ended.push(end(&line)),
                _ => {}
            }
        }
        Ok(log)
    }
}

fn end(line: &Value) -> String {
    let keys = [
        "requests",
        "goodput",
        "rtt_ms",
        "sent_packets",
        "lost_packets",
        "moves",
        "estimate",
    ];
    let told = keys.iter().filter_map(|key| {
        let value = line.get(*key)?;
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        Some(format!("{key} {text}"))
    });
    told.collect::<Vec<_>>().join(", ")
}

/// The slots that were kept and missed, by the server's file.
pub fn slots(text: &str) -> (usize, usize) {
    let with = |outcome: &str| {
        let mark = format!(",slot,{outcome},");
        text.lines().filter(|line| line.contains(&mark)).count()
    };
    (with("kept") + with("source_limited"), with("missed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(path: &str, begun: f64, done: f64) -> Request {
        Request {
            path: path.to_owned(),
            protocol: "h3".to_owned(),
            begun,
            done,
            bytes: 1,
        }
    }

    #[test]
    fn a_player_is_idle_where_nothing_was_under_way_before() {
        let answer = |path: &str, cmsd: Option<&str>| Answer {
            path: path.to_owned(),
            cmsd: cmsd.map(str::to_owned),
        };
        let seen = Seen {
            requests: vec![
                request("/chunk-1", 1.0, 3.0),
                request("/chunk-2", 3.1, 5.0),
                // A part of it ends before the last one does.
                request("/init-2", 3.2, 3.3),
                request("/chunk-3", 5.1, 6.0),
                request("/chunk-4", 7.0, 8.0),
                request("/chunk-5", 9.0, 9.5),
            ],
            answers: vec![
                answer("/chunk-1", None),
                answer(
                    "/chunk-4",
                    Some("\"imtcp-serve\";etp=18780;mb=17073;rtt=41"),
                ),
                answer("/chunk-5", Some("\"imtcp-serve\";rtt=41")),
            ],
            ..Seen::default()
        };
        let etp = |etp_mbps| Idle { etp_mbps };
        assert_eq!(seen.idle(), [etp(Some(18.78)), etp(None)]);
        assert_eq!(seen.cmsd(), (2, 3));
        assert_eq!(seen.segments().count(), 5);
    }

    #[test]
    fn the_log_tells_whose_cmcd_was_seen() {
        let text = "listening\n\
            {\"message\":\"request\",\"path\":\"/chunk-1\",\"required\":\"8 Mbit/s\"}\n\
            {\"message\":\"request\",\"path\":\"/chunk-2\",\"required\":\"8 Mbit/s\",\
             \"buffer_ms\":9900.0}\n\
            {\"message\":\"request\",\"path\":\"/play.js\"}\n\
            {\"message\":\"ended\",\"goodput\":\"16.8 Mbit/s\",\"lost_packets\":3}\n";
        let expected = ServerLog {
            segments: 2,
            with_rate: 2,
            with_buffer: 1,
            ended: vec!["goodput 16.8 Mbit/s, lost_packets 3".to_owned()],
        };
        assert_eq!(ServerLog::read(text).expect("good"), expected);
        assert!(ServerLog::read("{\"message\"").is_err());
    }

    #[test]
    fn slots_are_counted_by_their_outcome() {
        let text = "connection,event,what\na,slot,kept,0\na,slot,source_limited,1\n\
                    a,slot,missed,2\na,status,kept,\n";
        assert_eq!(slots(text), (2, 1));
    }
}
