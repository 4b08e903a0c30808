//! `imtcp-qlog rewrite`: what the writer does while a connection runs, afterwards.

use clap::Args;
use imtcp_qlog::Log;
use imtcp_qlog::read::{Format, Writer as Origin, decompressed};
use imtcp_qlog::write::{Compression, Level, Writer};
use std::error::Error;
use std::fs::File;
use std::io::{self, BufRead, Cursor, ErrorKind, Read as _, Write};
use std::path::{Path, PathBuf};

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

/// The longest header that is looked at.
const LONGEST_HEADER: u64 = 1 << 20;

pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let (from, to) = (&arguments.file, &arguments.output);
    let unread = |error: io::Error| format!("{}: cannot be read: {error}", from.display());
    let mut input = match from == Path::new(super::STANDARD_INPUT) {
        true => decompressed(io::stdin()),
        false => File::open(from).and_then(decompressed),
    }
    .map_err(unread)?;
    let mut header = Vec::new();
    let mut first = input.by_ref().take(LONGEST_HEADER);
    first.read_until(b'\n', &mut header).map_err(unread)?;
    check(arguments, &header)?;
    let failed = super::failed(to);
    let file = super::create(&[from], to)?;
    let mut writer = Writer::new(file, arguments.level, arguments.compression).map_err(failed)?;
    if arguments.quiches_controller {
        writer = writer.of_quiches_controller();
    }
    let mut input = Cursor::new(header).chain(input);
    let is_cut_off = copy(&mut input, &mut writer, unread, failed)?;
    writer.finish().map_err(failed)?;
    if is_cut_off {
        let from = from.display();
        eprintln!(
            "warning: {from}: the compressed file is cut off; what came before was rewritten"
        );
    }
    eprintln!("wrote {}", to.display());
    Ok(())
}

/// Copies a log to its end, or to where a compressed one is cut off. True if it is.
fn copy(
    input: &mut impl BufRead,
    output: &mut impl Write,
    unread: impl Fn(io::Error) -> String,
    unwritten: impl Fn(io::Error) -> String,
) -> Result<bool, String> {
    loop {
        let chunk = match input.fill_buf() {
            Ok(chunk) => chunk,
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(true),
            Err(error) => return Err(unread(error)),
        };
        if chunk.is_empty() {
            return Ok(false);
        }
        output.write_all(chunk).map_err(&unwritten)?;
        let count = chunk.len();
        input.consume(count);
    }
}

/// Refuses what is not written record by record as quiche writes it: it would come out as rubbish.
fn check(arguments: &Arguments, header: &[u8]) -> Result<(), Box<dyn Error>> {
    let log = Log::new(Cursor::new(header.to_vec()), &arguments.file)?;
    let file = arguments.file.display();
    match (log.format(), log.header().writer) {
        (Format::Sequence, Origin::Own) if arguments.quiches_controller => Err(format!(
            "{file}: this log was rewritten before, and its rates are in bits already; leave out \
             --quiches-controller"
        )
        .into()),
        (Format::Sequence, Origin::Quiche | Origin::Own) => Ok(()),
        _ => Err(format!(
            "{file}: this is not a log as quiche writes it; give quiche's own .sqlog. For logs of \
             others there are `imtcp-qlog qvis` and `imtcp-qlog export`"
        )
        .into()),
    }
}
