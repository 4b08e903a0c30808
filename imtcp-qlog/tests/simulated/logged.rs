//! The logs of simulated connections.

use imtcp_sim::run::{Qlog, RunOptions};
use imtcp_sim::scenario::Scenario;
use std::path::PathBuf;

/// A log, in a folder that goes away with it.
pub struct Logged {
    pub folder: tempfile::TempDir,
    pub path: PathBuf,
}

/// Runs 6 s of the flow `main`, beside `traffic`, on a link of 10 Mbit/s, and writes its log.
/// `traffic` and `main` are the lines of their tables in a scenario file.
pub fn run(traffic: &str, main: &str, seed: u64, style: impl FnOnce(Qlog) -> Qlog) -> Logged {
    let text = format!(
        r#"
name = "logged"
title = "a flow whose log is read"
duration = "6 s"

[[link]]
name = "bottleneck"
rate = "10 Mbit/s"
delay = "20 ms"
queue = "30 KB"

[[traffic]]
name = "udp"
link = "bottleneck"
sizes = "600 B"
{traffic}

[[flow]]
name = "main"
{main}
"#
    );
    let scenario = Scenario::parse("logged.toml", &text, &[]).expect("it can be read");
    let folder = tempfile::tempdir().expect("a folder");
    let qlog = style(Qlog::into_folder(folder.path()));
    let path = qlog.path(&scenario, seed, "main");
    let options = RunOptions {
        qlog: Some(qlog),
        progress: None,
    };
    scenario.run(seed, options).expect("it runs");
    Logged { folder, path }
}

/// The log of a live source with a promise, which breaks when others come: probe streams, losses,
/// and all that is told of a promise.
pub fn run_live(controller: &str, style: impl FnOnce(Qlog) -> Qlog) -> Logged {
    let traffic = r#"kind = "poisson"
rate = "9 Mbit/s"
start = "4 s""#;
    let settings = r#"{ estimator = "classic", promise = { rate = "3 Mbit/s", per = "1 s" } }"#;
    let imtcp = match controller {
        "imtcp" => format!("imtcp = {settings}"),
        _ => String::new(),
    };
    let main = format!(
        r#"controller = "{controller}"
application = {{ kind = "datagrams", rate = "4 Mbit/s", per_second = 60 }}
{imtcp}"#
    );
    run(traffic, &main, 3, style)
}
