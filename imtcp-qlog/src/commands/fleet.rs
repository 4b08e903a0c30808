//! A fleet's logs. The program that reads them is one of its own, because its engine is a hundred
//! times the size of this one.

use clap::Args;
use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::{self, Command};

const PROGRAM: &str = "imtcp-fleet";

#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub struct Arguments {
    /// What `imtcp-fleet` is asked to do; `help` lists it.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Hands over, and ends with the status of the other program.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let program = beside().unwrap_or_else(|| PathBuf::from(PROGRAM));
    let mut command = Command::new(&program);
    match command.args(&arguments.arguments).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => process::exit(status.code().unwrap_or(1)),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(format!(
            "the program `{PROGRAM}` is neither beside this one nor on the PATH; from a checkout, \
             install it with `cargo install --locked --path {PROGRAM}`"
        )
        .into()),
        Err(error) => Err(format!("{}: cannot be started: {error}", program.display()).into()),
    }
}

/// The program in the folder of this one.
fn beside() -> Option<PathBuf> {
    let here = env::current_exe().ok()?;
    let program = here.with_file_name(format!("{PROGRAM}{}", env::consts::EXE_SUFFIX));
    program.is_file().then_some(program)
}
