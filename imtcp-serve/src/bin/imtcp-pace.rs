//! `imtcp-pace`: what each method of release reaches on this machine.

use anyhow::Result;
use clap::Parser;
use imtcp_serve::release::Pace;

#[tokio::main]
async fn main() -> Result<()> {
    Pace::parse().run().await
}
