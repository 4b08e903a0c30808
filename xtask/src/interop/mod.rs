//! `cargo xtask interop`: the QUIC interop runner's cases without Docker. This project's endpoint
//! runs against others, in both roles, in network namespaces, over an emulated link with the
//! runner's parameters. Checked is what the runner checks.

mod cases;
mod cell;
mod certificates;
mod checks;
mod link;
mod materials;
mod peers;
mod play;
mod probe;
mod report;
mod trace;

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result};

use crate::testbed::{self, Launcher, Namespace};
use crate::workspace;
use cases::Case;
use cell::{Cell, Lane, Outcome, Stage};
use peers::Peer;
use report::Results;

pub use link::{Arguments as LinkArguments, run as run_link};

/// This project's endpoint of the QUIC interop runner against others, in both roles, without
/// Docker: a table of all cases. Needs root, tshark and openssl, Go, Python, and the network when
/// it fetches the others for the first time.
#[derive(clap::Args)]
pub struct Arguments {
    /// Only against these; all unless given.
    #[arg(long = "peer", value_name = "NAME", value_enum, value_delimiter = ',')]
    peers: Vec<Peer>,

    /// Only these cases; all unless given.
    #[arg(long = "case", value_name = "NAME", value_enum, value_delimiter = ',')]
    cases: Vec<Case>,

    /// How many cells run at a time.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=16))]
    lanes: u8,

    /// Loss and corruption are drawn from it.
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// What each cell leaves (captures, logs, files), and the tables. Cells that are there from an
    /// earlier run with this folder are run again; those of other peers and cases stay in the
    /// tables.
    #[arg(long, value_name = "DIR", default_value = "out/interop")]
    out: PathBuf,

    /// Where the other implementations are fetched to and built. Below the target folder unless
    /// given.
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,

    /// Run what is built already in place of building it.
    #[arg(long)]
    built: bool,

    /// Leave the captures and logs of cells that pass, too. They take some 30 MB each.
    #[arg(long)]
    keep: bool,
}

/// Builds, runs, prints the table; fails when a cell fails.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let cache = arguments.cache.clone();
    let cache = cache.unwrap_or_else(|| workspace::target().join("interop-peers"));
    fs::create_dir_all(&cache).with_context(|| format!("cannot make {}", cache.display()))?;
    let cache = cache.canonicalize()?;
    cell::demand_tools()?;
    let others = match &arguments.peers[..] {
        [] => &peers::ALL[..],
        some => some,
    };
    let there = if arguments.built {
        others.to_vec()
    } else {
        prepare(others, &cache)?
    };
    let place = cache.to_string_lossy();
    testbed::demand_root_to_go_on(&[&["--built"], &["--cache", &place]])?;
    fs::create_dir_all(&arguments.out)?;
    let out = arguments.out.canonicalize()?;
    let launcher = Launcher::new(cache.clone(), false, testbed::interruption()?);
    let stage = Stage {
        launcher: &launcher,
        cache: &cache,
        out: &out,
        seed: arguments.seed,
    };
    let cells = cells(&there, &arguments.cases);
    let results = Mutex::new(Results::open(&out)?);
    let outcome = play(arguments, &stage, cells, &results);
    let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    say!("\n{results}")?;
    results.write_page()?;
    say!("The same as a page: {}", out.join(report::PAGE).display())?;
    outcome?;
    Ok(if results.has_failures() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// Builds this project's endpoint and those of the others that can be built here.
fn prepare(others: &[Peer], cache: &Path) -> Result<Vec<Peer>> {
    Peer::Ours.prepare(cache)?;
    let mut there = Vec::new();
    for peer in others {
        match peer.prepare(cache) {
            Ok(()) => there.push(*peer),
            Err(error) => say!("SKIPPED: {}: {error:#}", peer.name())?,
        }
    }
    Ok(there)
}

/// Every case, with this project's endpoint on either side.
fn cells(others: &[Peer], wanted: &[Case]) -> VecDeque<Cell> {
    let mut cells = VecDeque::new();
    for case in cases::ALL {
        if !wanted.is_empty() && !wanted.contains(&case) {
            continue;
        }
        for peer in others {
            let mut pairs = vec![(Peer::Ours, *peer), (*peer, Peer::Ours)];
            pairs.dedup();
            for (client, server) in pairs {
                cells.push_back(Cell {
                    client,
                    server,
                    case,
                });
            }
        }
    }
    cells
}

/// Runs all cells, some at a time.
fn play(
    arguments: &Arguments,
    stage: &Stage<'_>,
    cells: VecDeque<Cell>,
    results: &Mutex<Results>,
) -> Result<()> {
    let cells = Mutex::new(cells);
    let next = || {
        cells
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop_front()
    };
    thread::scope(|scope| {
        let lanes: Vec<_> = (0..arguments.lanes)
            .map(|number| {
                let next = &next;
                scope.spawn(move || -> Result<()> {
                    let lane = Lane {
                        client: Namespace::create("interop", &format!("client{number}"))?,
                        server: Namespace::create("interop", &format!("server{number}"))?,
                    };
                    while let Some(cell) = next() {
                        let outcome = cell.run(stage, &lane)?;
                        let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
                        say!("{cell}: {outcome}")?;
                        results.note(cell, &outcome)?;
                        if !arguments.keep && !matches!(outcome, Outcome::Failed(_)) {
                            stage.clear(cell)?;
                        }
                    }
                    Ok(())
                })
            })
            .collect();
        let ended = lanes.into_iter().map(|lane| {
            lane.join()
                .unwrap_or_else(|_| Err(anyhow::anyhow!("a lane panicked")))
        });
        ended.collect::<Vec<_>>().into_iter().collect()
    })
}
