//! The simulator's memory with 100 flows: the most that the process ever held. The kernel tells it,
//! because TLS allocates outside of Rust's allocator.

use imtcp_sim::run::RunOptions;
use imtcp_sim::scenario::Scenario;
use std::fmt::Write;

fn main() {
    let before = peak_kilobytes();
    let mut peaks = Vec::new();
    for flows in [1, 100] {
        let scenario = crowd(flows);
        match scenario.run(1, RunOptions::default()) {
            Ok(result) => assert_eq!(result.flows.len(), flows),
            Err(error) => panic!("{error}"),
        }
        peaks.push((flows, peak_kilobytes()));
    }
    let Some(before) = before else {
        println!("the kernel does not tell: /proc/self/status has no VmHWM");
        return;
    };
    println!("at the start: {before} KB");
    for (flows, peak) in peaks {
        println!(
            "after 10 s with {flows} flows: at most {} KB",
            peak.unwrap_or(before)
        );
    }
}

/// Measuring flows on a shared link of 100 Mbit/s.
fn crowd(flows: usize) -> Scenario {
    let mut text = "name = \"crowd\"\ntitle = \"a crowd\"\nduration = \"10 s\"\n[[link]]\n\
                    name = \"bottleneck\"\nrate = \"100 Mbit/s\"\ndelay = \"20 ms\"\n\
                    queue = \"500 KB\"\n"
        .to_owned();
    for flow in 0..flows {
        // Writing into a string cannot fail.
        let _ = write!(
            text,
            "[[flow]]\nname = \"flow-{flow}\"\ncontroller = \"imtcp\"\n\
             application = {{ kind = \"bulk\" }}\nstart = \"{} ms\"\n",
            flow * 10
        );
    }
    match Scenario::parse("crowd.toml", &text, &[]) {
        Ok(scenario) => scenario,
        Err(error) => panic!("{error}"),
    }
}

/// The peak of resident memory so far, on Linux.
fn peak_kilobytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}
