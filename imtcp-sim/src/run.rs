//! From a scenario to its result.

use crate::endpoint::PairError;
use crate::result::RunResult;
use crate::scenario::Scenario;
use crate::simulation::Simulation;
use imtcp_cc::quiche::Detail;
use imtcp_cc::units::Timestamp;
use imtcp_qlog::write::{Compression, Level};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often progress is reported, in virtual time.
const PROGRESS: Duration = Duration::from_millis(250);

/// Called with a simulation and how far it has come.
pub type Progress<'o> = &'o mut dyn FnMut(&Simulation<'_>, Timestamp);

/// What a run does besides running.
#[derive(Default)]
pub struct RunOptions<'o> {
    /// The servers' qlogs, if any.
    pub qlog: Option<Qlog>,
    /// Called every 250 ms of virtual time.
    pub progress: Option<Progress<'o>>,
}

/// Qlogs that a run writes.
#[derive(Clone, Debug)]
pub struct Qlog {
    /// Where they go, see [`Qlog::path`].
    pub folder: PathBuf,
    /// How much of them is written.
    pub level: Level,
    /// How they are compressed.
    pub compression: Compression,
    /// How much the controllers log.
    pub detail: Detail,
}

impl Qlog {
    /// Everything that quiche logs, uncompressed.
    pub fn into_folder(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            level: Level::default(),
            compression: Compression::default(),
            detail: Detail::default(),
        }
    }

    /// The file that holds the qlog of a flow's server.
    pub fn path(&self, scenario: &Scenario, seed: u64, flow: &str) -> PathBuf {
        let plain = qlog_path(&self.folder, scenario, seed, flow);
        let name = plain.file_stem().unwrap_or_default().to_string_lossy();
        self.folder
            .join(format!("{name}{}", self.compression.suffix()))
    }
}

/// A run that did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A flow cannot be set up.
    #[error(transparent)]
    Pair(#[from] PairError),
    /// A qlog cannot be written.
    #[error("cannot write {file}: {error}; choose another folder with --out")]
    Qlog {
        /// The file.
        file: String,
        /// What went wrong.
        error: std::io::Error,
    },
}

/// The file in `folder` that holds the qlog of a flow's server, if it is not compressed.
pub fn qlog_path(folder: &Path, scenario: &Scenario, seed: u64, flow: &str) -> PathBuf {
    folder.join(format!("{}-seed{seed}-{flow}.sqlog", scenario.name))
}

impl Scenario {
    /// Simulates the scenario from beginning to end.
    ///
    /// # Errors
    /// A flow cannot be set up, or a qlog cannot be written.
    pub fn run(&self, seed: u64, options: RunOptions<'_>) -> Result<RunResult, RunError> {
        let mut simulation = Simulation::new(self, seed)?;
        if let Some(qlog) = &options.qlog {
            simulation.write_qlogs(qlog)?;
        }
        let mut progress = options.progress;
        let mut until = Timestamp::ZERO;
        let mut goes_on = true;
        while goes_on {
            until = (until + PROGRESS).min(self.end());
            goes_on = simulation.advance(until);
            if let Some(progress) = &mut progress {
                progress(&simulation, until);
            }
        }
        let result = RunResult::of(&simulation);
        simulation.complete()?;
        Ok(result)
    }
}
