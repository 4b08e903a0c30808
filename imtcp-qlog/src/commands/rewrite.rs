//! `imtcp-qlog rewrite`: what the writer does while a connection runs, afterwards.

use clap::{Args, ValueEnum};
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
    #[arg(long, value_enum, default_value_t = LevelName::All)]
    level: LevelName,
    /// How to compress.
    #[arg(long, value_enum, default_value_t = CompressionName::Zstd)]
    compression: CompressionName,
    /// The congestion controller was one of quiche's own, which log bytes for bits.
    #[arg(long)]
    quiches_controller: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LevelName {
    /// The controller's events, losses, states, and metrics every 10 ms.
    Events,
    /// Also packets without their frames, and all metrics.
    Packets,
    /// Everything.
    All,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum CompressionName {
    None,
    Gzip,
    Zstd,
}

pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    // It says what is wrong with a file that is no qlog.
    drop(super::open(&arguments.file, false)?);
    let level = match arguments.level {
        LevelName::Events => Level::Events,
        LevelName::Packets => Level::Packets,
        LevelName::All => Level::All,
    };
    let compression = match arguments.compression {
        CompressionName::None => Compression::None,
        CompressionName::Gzip => Compression::Gzip,
        CompressionName::Zstd => Compression::Zstd,
    };
    let failed = |error: io::Error| {
        let (from, to) = (arguments.file.display(), arguments.output.display());
        format!("cannot rewrite {from} to {to}: {error}")
    };
    let mut input = decompressed(File::open(&arguments.file).map_err(failed)?).map_err(failed)?;
    let mut writer = create(&arguments.output, level, compression).map_err(failed)?;
    if arguments.quiches_controller {
        writer = writer.of_quiches_controller();
    }
    io::copy(&mut input, &mut writer).map_err(failed)?;
    writer.finish().map_err(failed)?;
    eprintln!("wrote {}", arguments.output.display());
    Ok(())
}
