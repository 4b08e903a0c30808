//! A transfer that always has more to send.

use super::{Outlet, Progress};
use imtcp_cc::units::Bytes;

/// This many bytes may always be written and not yet read by the client.
const LEAST_AHEAD: u64 = 256_000;
/// The same bound in congestion windows: one in flight, one to repair a loss at its head, one to
/// send.
const WINDOWS_AHEAD: u64 = 3;

/// Writes whatever the connection takes, a few windows ahead of the reader, like a socket whose
/// send buffer follows the window. Without that bound a paced connection would buffer more and
/// more: quiche limits what it takes at once and not what it holds.
#[derive(Debug)]
pub(super) struct Bulk {
    size: Option<u64>,
    /// The most that may be written and not acknowledged.
    send_buffer: Option<u64>,
    written: u64,
}

impl Bulk {
    pub(super) fn new(size: Option<Bytes>, send_buffer: Option<Bytes>) -> Self {
        Self {
            size: size.map(Bytes::get),
            send_buffer: send_buffer.map(Bytes::get),
            written: 0,
        }
    }

    pub(super) fn size(&self) -> Option<u64> {
        self.size
    }

    /// It has endless data, so its age counts from when it was written.
    pub(super) fn made(&self) -> u64 {
        self.written
    }

    pub(super) fn drive(&mut self, connection: &mut dyn Outlet, progress: Progress) {
        let limit = match self.send_buffer {
            Some(buffer) => progress.acknowledged + buffer,
            None => progress.read + (WINDOWS_AHEAD * connection.window()).max(LEAST_AHEAD),
        };
        let room = limit.saturating_sub(self.written);
        let left = self.size.map_or(u64::MAX, |size| size - self.written);
        let bytes = room.min(left);
        if bytes > 0 {
            self.written += super::write(connection, bytes, bytes == left);
        }
    }
}
