//! The wish of whoever started the program that it end.

use std::io;
use tokio::signal::unix::{SignalKind, signal};

/// A future that is done at the first SIGTERM or SIGINT (Ctrl-C). From this call on these signals
/// no longer end the program by themselves.
///
/// # Errors
/// The signals cannot be received.
///
/// # Panics
/// Outside a tokio runtime.
pub fn requested() -> io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
