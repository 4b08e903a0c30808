//! A player without a picture: it fetches segments by an algorithm that adapts the bit rate, keeps
//! a buffer that plays in real time, and tells what a viewer would have seen.

mod abr;
mod buffer;
mod client;
mod cmcd;
mod cmsd;
mod dash;
mod hls;
mod options;
mod presentation;
mod qoe;
mod session;
mod slots;

pub use abr::Rule;
pub use options::{Dialect, Options};
pub use qoe::{Qoe, SegmentRow, Server};
pub use session::play;
pub use slots::Slots;
