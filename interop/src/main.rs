//! An endpoint of the QUIC interop runner: client and server on quiche with this project's
//! controller. Everything it is told comes from the environment; see README.md in this folder.

#![expect(clippy::disallowed_methods, reason = "real sockets run by the real clock")]
#![expect(clippy::disallowed_types, reason = "nothing here has to repeat itself")]

mod bursts;
mod case;
mod client;
mod connection;
mod downloads;
mod environment;
mod hq;
mod http;
mod logs;
#[cfg(test)]
mod pair;
mod server;
mod session;
mod socket;
mod stranger;
mod tls;
mod token;
mod transport;

use anyhow::{Context, Result};
use case::Case;
use environment::{Environment, Role};
use std::process::ExitCode;

/// What the runner takes for "this endpoint does not do that".
const UNSUPPORTED: u8 = 127;

fn main() -> ExitCode {
    run().unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

fn run() -> Result<ExitCode> {
    let (role, case_name) = environment::role_and_case()?;
    let Some(case) = Case::named(&case_name, role) else {
        eprintln!("unsupported: the case `{case_name}` as {role}");
        return Ok(ExitCode::from(UNSUPPORTED));
    };
    play(&Environment::read(role, case_name)?, case)?;
    Ok(ExitCode::SUCCESS)
}

fn play(environment: &Environment, case: Case) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the event loop")?;
    runtime.block_on(async {
        let shutdown = imtcp_examples::shutdown::requested()?;
        match environment.role {
            Role::Client => client::run(environment, case, shutdown).await,
            Role::Server => server::run(environment, case, shutdown).await,
        }
    })
}
