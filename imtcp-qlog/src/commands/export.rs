//! `imtcp-qlog export`.

use clap::{Args, ValueEnum};
use imtcp_qlog::Log;
use imtcp_qlog::export::{CsvRows, export};
use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub struct Arguments {
    /// A qlog.
    file: PathBuf,
    /// The file to write; without it CSV goes to standard output.
    #[arg(long, short)]
    output: Option<PathBuf>,
    /// The format [default: by the ending of the output's name].
    #[arg(long, value_enum)]
    format: Option<Format>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Csv,
    Parquet,
}

pub fn run(arguments: &Arguments, stdout: &mut (impl Write + Send)) -> Result<(), Box<dyn Error>> {
    let ending = arguments.output.as_ref().and_then(|path| path.extension());
    let format = match (arguments.format, ending) {
        (Some(format), _) => format,
        (None, Some(ending)) if ending == "parquet" => Format::Parquet,
        (None, _) => Format::Csv,
    };
    let mut log = super::open(&arguments.file, false)?;
    let Some(path) = &arguments.output else {
        if format == Format::Parquet {
            return Err("Parquet is no text; name a file with --output".into());
        }
        export(&mut log, CsvRows::new(stdout)?)??;
        super::warn(&log);
        return Ok(());
    };
    let failed = super::failed(path);
    let rows = match format {
        Format::Csv => {
            let file = super::create(&[&arguments.file], path)?;
            export(&mut log, CsvRows::new(file).map_err(failed)?)?.map_err(failed)?
        }
        Format::Parquet => parquet(&mut log, &arguments.file, path)?,
    };
    super::warn(&log);
    eprintln!("wrote {}: {rows} rows", path.display());
    Ok(())
}

#[cfg(feature = "parquet")]
fn parquet(log: &mut Log, input: &Path, path: &Path) -> Result<u64, Box<dyn Error>> {
    let failed = super::failed(path);
    let file = super::create(&[input], path)?;
    let rows = imtcp_qlog::export::ParquetRows::new(file).map_err(failed)?;
    Ok(export(log, rows)?.map_err(failed)?)
}

#[cfg(not(feature = "parquet"))]
fn parquet(_: &mut Log, _: &Path, path: &Path) -> Result<u64, Box<dyn Error>> {
    Err(format!(
        "{}: this program was built without Parquet; build it with `--features parquet`",
        path.display()
    )
    .into())
}
