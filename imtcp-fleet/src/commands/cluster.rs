//! `scheduler` and `executor`.

use anyhow::Result;
use clap::Args;
use imtcp_fleet::cluster::{self, Executor};
use std::net::SocketAddr;

#[derive(Debug, Args)]
pub struct SchedulerArguments {
    /// Where to listen. There is no authentication: listen where only friends can reach it.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:50050")]
    listen: SocketAddr,
}

#[derive(Debug, Args)]
pub struct ExecutorArguments {
    /// The scheduler.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:50050")]
    scheduler: SocketAddr,
    /// Where to listen; the port after this one is taken as well. The scheduler and the other
    /// executors have to reach it.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:50051")]
    listen: SocketAddr,
    /// Tasks at a time; the processors of this machine unless given.
    #[arg(long)]
    cores: Option<usize>,
    /// What tasks may hold in memory, in MB.
    #[arg(long, value_name = "MB", default_value_t = 1000)]
    memory: u64,
}

pub async fn scheduler(arguments: SchedulerArguments) -> Result<()> {
    eprintln!("the scheduler listens on {}", arguments.listen);
    cluster::scheduler(arguments.listen).await
}

pub async fn executor(arguments: ExecutorArguments) -> Result<()> {
    eprintln!("the executor listens on {}", arguments.listen);
    cluster::executor(Executor {
        address: arguments.listen,
        scheduler: arguments.scheduler,
        cores: arguments.cores.unwrap_or_else(super::cores),
        memory: arguments.memory.saturating_mul(1_000_000),
    })
    .await
}
