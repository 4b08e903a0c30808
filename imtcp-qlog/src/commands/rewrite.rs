//! `imtcp-qlog rewrite`: what the writer does while a connection runs, afterwards.

use clap::Args;
use imtcp_qlog::read::decompressed;
use imtcp_qlog::write::{Compression, Level, create};
use std::error::Error;
use std::fs::File;
use std::io;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct Arguments {
    /// A qlog that quiche wrote, such as one of tokio-quiche's.
    file: PathBuf,
    /// The file to write.
    #[arg(long, short)]
    output: PathBuf,
    /// How much to keep.
    #[arg(long, value_enum, default_value_t)]
    level: Level,
    /// How to compress.
    #[arg(long, value_enum, default_value_t = Compression::Zstd)]
    compression: Compression,
    /// The congestion controller was one of quiche's own, which log bytes for bits.
    #[arg(long)]
    quiches_controller: bool,
}

pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    // It says what is wrong with a file that is no qlog.
    drop(super::open(&arguments.file, false)?);
    let failed = |error: io::Error| {
        let (from, to) = (arguments.file.display(), arguments.output.display());
        format!("cannot rewrite {from} to {to}: {error}")
    };
    let mut input = decompressed(File::open(&arguments.file).map_err(failed)?).map_err(failed)?;
    let mut writer =
        create(&arguments.output, arguments.level, arguments.compression).map_err(failed)?;
    if arguments.quiches_controller {
        writer = writer.of_quiches_controller();
    }
    io::copy(&mut input, &mut writer).map_err(failed)?;
    writer.finish().map_err(failed)?;
    eprintln!("wrote {}", arguments.output.display());
    Ok(())
}
