//! `imtcp-title`: reads the command line, and makes a title.

use clap::Parser;
use imtcp_serve::title::Plan;
use std::process::ExitCode;

fn main() -> ExitCode {
    let plan = Plan::parse();
    if let Err(error) = plan.make() {
        eprintln!("error: {error:#}");
        return ExitCode::FAILURE;
    }
    println!("{} has manifest.mpd and master.m3u8", plan.folder.display());
    ExitCode::SUCCESS
}
