//! `cargo xtask rivals`: the simulator's `tcp-cubic` beside the kernel's CUBIC, in the same cells.
//!
//! In each cell some flows of CUBIC have a path for themselves, and then another flow comes: one
//! more of the same kind, quiche's CUBIC, this project's controller, or a promise. The cells are
//! measured over the emulated path of `real-path`, with the kernel's flows, and simulated with
//! `tcp-cubic` in their place. What the newcomer gets should be the same. In both worlds what the
//! rivals get counts while the newcomer is there, and their time alone does not.

mod report;
mod simulated;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::real_path::Grid;
use crate::real_path::cells::{Cell, Extensions, Source, queue};
use crate::real_path::results::Results;
use crate::real_path::transfer::NEWCOMERS;
use crate::testbed::{self, Launcher};
use report::Pair;

/// The path: rate and round trip.
const RATE_MBPS: u32 = 40;
const RTT_MS: u32 = 30;

/// The newcomer comes so long after the rivals, and some time within this span later.
const FIRST_JOIN: Duration = Duration::from_secs(2);
const JOINS_WITHIN: Duration = Duration::from_secs(4);

/// Measures flows beside the kernel's CUBIC on sockets, simulates the same beside `tcp-cubic`, and
/// prints both. The path has 40 Mbit/s and 30 ms. Needs root. Fails when a mean goodput differs by
/// more than 10 %.
#[derive(clap::Args)]
pub struct Arguments {
    /// The queues, in bandwidth-delay products.
    #[arg(long = "queue", value_name = "BDP", value_delimiter = ',',
        default_values_t = [0.5, 1.0, 4.0], value_parser = queue)]
    queues: Vec<f64>,

    /// How many flows of CUBIC there are before the newcomer.
    #[arg(long, value_name = "COUNT", value_delimiter = ',', default_values_t = [1, 4],
        value_parser = clap::value_parser!(u16).range(1..=100))]
    rivals: Vec<u16>,

    /// Who comes late: `kernel` is one more of the rivals, `promise` is imtcp with 8 Mbit/s over
    /// 2 s, and `promise-exactly` with no more than that; the others are controllers of `serve`.
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "kernel,cubic,imtcp-off,promise,promise-exactly",
        value_parser = NEWCOMERS
    )]
    newcomers: Vec<String>,

    /// What the clients of the newcomers speak. Acknowledgements that are asked for change what a
    /// controller gets, and the simulated clients do not delay them in quite the same way.
    #[arg(long, value_enum, value_name = "WHICH", default_value = "none")]
    extensions: Extensions,

    /// How often each cell is measured on sockets.
    #[arg(long, value_name = "COUNT", default_value_t = 5,
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,

    /// How often each cell is simulated.
    #[arg(long, value_name = "COUNT", default_value_t = 20,
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    seeds: u32,

    /// How long the newcomer stays, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 16,
        value_parser = clap::value_parser!(u32).range(4..=600))]
    seconds: u32,

    /// How fast all paths that are measured at a time may be together, in Mbit/s.
    #[arg(long, value_name = "MBPS", default_value_t = 40,
        value_parser = clap::value_parser!(u32).range(1..=10_000))]
    side_by_side: u32,

    /// The folder for all results. Transfers that an earlier run has left in `real.jsonl` there are
    /// not measured again, unless they lasted for another time; the simulation is.
    #[arg(long, value_name = "DIR", default_value = "out/rivals")]
    out: PathBuf,

    /// Run the programs from this folder instead of building them.
    #[arg(long, value_name = "DIR")]
    binaries: Option<PathBuf>,
}

/// Builds, measures, simulates, compares.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let programs = ["imtcp-examples", "imtcp-sim"];
    let binaries = testbed::binaries_of(arguments.binaries.as_deref(), &programs)?;
    testbed::demand_root(&binaries)?;
    let interrupted = testbed::interruption()?;
    let scratch = testbed::scratch("rivals")?;
    let simulator = binaries.join("imtcp-sim");
    let launcher = Launcher::new(binaries, false, interrupted);
    let out = &arguments.out;
    fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    let mut results = Results::open(&out.join("real.jsonl"))?;

    let grid = Grid {
        cells: cells(arguments),
        client: None,
        controllers: &arguments.newcomers,
        is_wanted: |_, _| true,
        runs: arguments.runs,
        seconds: Some(arguments.seconds),
        head_start,
        load_mbps: arguments.side_by_side,
        record: None,
        real_time: false,
    };
    let outcome = grid.measure(&launcher, &scratch, &mut results);
    let mut pairs = Vec::new();
    for cell in &grid.cells {
        for newcomer in &arguments.newcomers {
            launcher.ensure_not_interrupted()?;
            let simulated = simulated::run(&launcher, &simulator, out, cell, newcomer, arguments)?;
            let rows = grid.rows(cell, &results).into_iter();
            let rows = rows.filter(|row| row.controller == *newcomer);
            pairs.push(Pair::of(cell, newcomer, rows, &simulated));
        }
    }
    say!("{}", report::table(&pairs))?;
    say!("What the programs said: {}", scratch.display())?;
    outcome?;
    Ok(match pairs.iter().all(Pair::is_alike) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// The newcomer comes at another time in each run. What it gets of a deep queue depends on whether
/// the rivals have just filled it. The times of any number of runs are spread evenly.
fn head_start(run: u32) -> Duration {
    let turn = u64::from(run) * 618 % 1000;
    FIRST_JOIN + Duration::from_millis(turn * JOINS_WITHIN.as_secs())
}

fn cells(arguments: &Arguments) -> Vec<Cell> {
    let beside = |&rivals: &u16| {
        arguments.queues.iter().map(move |&queue_bdp| Cell {
            rate_mbps: RATE_MBPS,
            rtt_ms: RTT_MS,
            queue_bdp,
            tick_us: 0,
            rivals,
            source: Source::Bulk,
            extensions: arguments.extensions,
        })
    };
    arguments.rivals.iter().flat_map(beside).collect()
}
