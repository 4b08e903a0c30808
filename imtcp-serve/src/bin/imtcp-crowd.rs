//! `imtcp-crowd`: many clients at once.

use anyhow::Result;
use clap::Parser;
use imtcp_serve::crowd::Options;

#[tokio::main]
async fn main() -> Result<()> {
    Options::parse().run().await
}
