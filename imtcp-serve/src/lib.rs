#![doc = include_str!("../README.md")]
#![allow(clippy::disallowed_methods, reason = "a server runs by the real clock")]

pub mod answer;
mod background;
mod climb;
pub mod cmsd;
pub mod connect;
pub mod connection;
pub mod crowd;
pub mod csv;
pub mod dashboard;
mod delivery;
mod exchange;
pub mod folder;
mod handover;
pub mod metrics;
pub mod options;
mod plain;
pub mod play;
pub mod release;
pub mod request;
pub mod required;
pub mod server;
pub mod site;
pub mod title;
pub mod tls;
mod undertaking;

pub use options::Options;
pub use server::Server;
