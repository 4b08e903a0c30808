//! `cargo xtask title`: a title to serve and to play.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;

use crate::workspace;

/// Makes a title for imtcp-serve by ffmpeg: `cargo xtask title FOLDER`; `--help` after the folder
/// has all options.
#[derive(clap::Args)]
pub struct Arguments {
    /// Where to.
    folder: OsString,

    /// What `imtcp-title` takes.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    options: Vec<OsString>,
}

/// Runs `imtcp-title`, which is in a workspace of its own, where this was started.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let package = workspace::root().join("imtcp-serve");
    let mut build = workspace::cargo(&package);
    workspace::run(build.args(["build", "--locked", "--release", "--bin", "imtcp-title"]))?;
    let program = workspace::release().join("imtcp-title");
    let mut title = std::process::Command::new(program);
    workspace::run(title.arg(&arguments.folder).args(&arguments.options))?;
    Ok(ExitCode::SUCCESS)
}
