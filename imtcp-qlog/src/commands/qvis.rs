//! `imtcp-qlog qvis`.

use clap::Args;
use imtcp_qlog::qvis::{self, MOST_BYTES};
use std::error::Error;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct Arguments {
    /// A qlog.
    file: PathBuf,
    /// Where the result goes [default: beside the qlog]. qvis wants the ending .sqlog.
    #[arg(long, short, value_name = "SQLOG")]
    output: Option<PathBuf>,
    /// Leave out what was before, in seconds.
    #[arg(long, value_name = "S", default_value_t = 0.0)]
    from: f64,
    /// Leave out what was after, in seconds.
    #[arg(long, value_name = "S", default_value_t = f64::INFINITY, hide_default_value = true)]
    to: f64,
}

pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let mut log = super::open(&arguments.file, false)?;
    let output = match &arguments.output {
        Some(output) => output.clone(),
        None => super::beside(&arguments.file, "-qvis.sqlog"),
    };
    let file = super::create(&[&arguments.file], &output)?;
    let times = arguments.from * 1e3..=arguments.to * 1e3;
    let written = qvis::write(&mut log, times, file)?.map_err(super::failed(&output))?;
    super::warn(&log);
    eprintln!("wrote {}: {} events", output.display(), written.events);
    if written.bytes > MOST_BYTES {
        eprintln!(
            "warning: {}: qvis does not open files beyond {} MB; this one has {} MB. Choose a part \
             with --from and --to",
            output.display(),
            MOST_BYTES / 1_000_000,
            written.bytes / 1_000_000
        );
    }
    Ok(())
}
