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
use environment::{Environment, Role};
use std::process::ExitCode;

/// What the runner takes for "this endpoint does not do that".
const UNSUPPORTED: u8 = 127;

fn main() -> ExitCode {
    let environment = match Environment::read() {
        Ok(environment) => environment,
        Err(error) => return fail(&error),
    };
    let Some(case) = environment.case() else {
        let Environment {
            role, case_name, ..
        } = &environment;
        eprintln!("unsupported: the case `{case_name}` as {role}");
        return ExitCode::from(UNSUPPORTED);
    };
    match run(&environment, case) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error),
    }
}

fn run(environment: &Environment, case: case::Case) -> Result<()> {
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

fn fail(error: &anyhow::Error) -> ExitCode {
    eprintln!("error: {error:#}");
    ExitCode::FAILURE
}
