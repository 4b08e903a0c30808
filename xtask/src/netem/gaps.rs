//! How exactly packets leave at their times: by a program's own timer, and by the kernel's `fq`.
//!
//! Server and client are joined without any path between. `crosstraffic send` keeps even gaps by
//! itself, or hands datagrams over early with their times (SO_TXTIME). The client compares the gaps
//! between the kernel's receive times with the plan.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::path::join;
use super::script::{DONE, FUNCTIONS, PROGRESS};
use crate::testbed::parse;

/// The rates in Mbit/s of IP packets.
const RATES_MBPS: [u32; 3] = [10, 100, 500];

/// A datagram with its headers.
const PACKET_BYTES: u32 = 1228;

/// Who keeps the gaps, and the option that says so. A time of 2 ms hides how late programs wake.
const METHODS: [(&str, &str); 2] = [("own timer", ""), ("fq", " --ahead-us 2000")];

/// How long each is looked at.
const SECONDS: u32 = 2;

/// What `crosstraffic receive` prints.
#[derive(Deserialize)]
struct Received {
    datagrams: u64,
    seconds: f64,
    gap_error_us: Quantiles,
}

#[derive(Deserialize)]
struct Quantiles {
    p50: f64,
    p99: f64,
    max: f64,
}

/// The script that measures all of it.
pub fn script() -> String {
    let mut lines = Vec::new();
    for node in ["server", "client"] {
        lines.push(format!("$IP -n $NS-{node} link set lo up"));
    }
    join(&mut lines, ["server", "client"], 0);
    // Its own limits are made for fewer packets ahead.
    let fq = "fq limit 100000 flow_limit 10000";
    lines.push(format!("$TC -n $NS-server qdisc add dev right root {fq}"));
    let mut text = FUNCTIONS.to_owned();
    for line in lines {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{line} || exit 1");
    }
    for rate in RATES_MBPS {
        for (index, (method, option)) in METHODS.iter().enumerate() {
            let name = file(rate, index);
            let gap_ns = u64::from(PACKET_BYTES) * 8000 / u64::from(rate);
            let _ = write!(
                text,
                "echo '{PROGRESS}{rate} Mbit/s, {method}'\n\
                 $IP netns exec $NS-client \"$BIN/crosstraffic\" receive --listen 198.18.0.2:9000 \
                 --planned-gap-ns {gap_ns} > \"$OUT/{name}.out\" 2> \"$OUT/{name}.err\" &\n\
                 RECEIVES=$!\nlistens {name}\n\
                 $IP netns exec $NS-server \"$BIN/crosstraffic\" send --to 198.18.0.2:9000 \
                 --rate {rate}{option} > \"$OUT/{name}-send.out\" 2> \"$OUT/{name}-send.err\" &\n\
                 SENDS=$!\nsleep {SECONDS}\nkill $SENDS\nends {name}-send $SENDS\n\
                 kill $RECEIVES\nends {name} $RECEIVES\n"
            );
        }
    }
    let _ = writeln!(text, "echo yes > \"$OUT/{DONE}\"");
    text
}

fn file(rate_mbps: u32, method: usize) -> String {
    format!("gaps-{rate_mbps}-{method}")
}

/// The table, from the folder that the script wrote into.
pub fn table(folder: &Path) -> Result<String> {
    let mut text = "| rate | who keeps the gaps | off by p50 | p99 | max | came |\n\
                    |---|---|---|---|---|---|\n"
        .to_owned();
    for rate in RATES_MBPS {
        for (index, (method, _)) in METHODS.iter().enumerate() {
            let file = folder.join(format!("{}.out", file(rate, index)));
            let said = fs::read_to_string(&file);
            let said = said.with_context(|| format!("the run has left no {}", file.display()))?;
            let received: Received = parse(&said)?;
            let bits = received.datagrams as f64 * f64::from(PACKET_BYTES) * 8.0;
            let mbps = bits / received.seconds / 1e6;
            let Quantiles { p50, p99, max } = received.gap_error_us;
            let _ = writeln!(
                text,
                "| {rate} Mbit/s | {method} | {p50:.1} µs | {p99:.1} µs | {max:.1} µs | \
                 {mbps:.1} Mbit/s |"
            );
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rate_is_sent_by_each_method() {
        let text = script();
        assert!(text.contains("--rate 100 >"), "{text}");
        assert!(text.contains("--rate 100 --ahead-us 2000 >"), "{text}");
        assert!(
            text.contains("--planned-gap-ns 98240 > \"$OUT/gaps-100-1.out\""),
            "{text}"
        );
        assert_eq!(text.matches("/crosstraffic\" send").count(), 6);
    }

    #[test]
    fn the_table_says_what_came() {
        let folder = tempfile::tempdir().expect("a folder");
        for rate in RATES_MBPS {
            for index in 0..METHODS.len() {
                let said = r#"{"datagrams":1000,"bytes":1,"seconds":0.9824,
                    "gap_error_us":{"count":999,"p50":1.0,"p99":2.0,"max":3.0}}"#;
                let file = folder.path().join(format!("{}.out", file(rate, index)));
                fs::write(file, said).expect("written");
            }
        }
        let text = table(folder.path()).expect("all files are there");
        let expected = "| 10 Mbit/s | fq | 1.0 µs | 2.0 µs | 3.0 µs | 10.0 Mbit/s |";
        assert!(text.contains(expected), "{text}");
    }
}
