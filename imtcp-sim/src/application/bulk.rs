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
            Some(buffer) => progress.acknowledged.saturating_add(buffer),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes whatever it is given.
    struct Endless(u64);

    impl Outlet for Endless {
        fn write(&mut self, data: &[u8], _: bool) -> Option<usize> {
            self.0 += data.len() as u64;
            Some(data.len())
        }

        fn window(&self) -> u64 {
            10_000
        }

        fn largest_datagram(&mut self) -> Option<usize> {
            None
        }

        fn datagram(&mut self, _: &'static [u8]) -> bool {
            false
        }
    }

    /// With what was acknowledged it was more than there are numbers, and nothing was written.
    #[test]
    fn the_largest_send_buffer_there_is_holds_nothing_back() {
        for (buffer, expected) in [(700_000, 701_000), (u64::MAX, 900_000)] {
            let (size, buffer) = (Bytes::new(900_000), Bytes::new(buffer));
            let mut bulk = Bulk::new(Some(size), Some(buffer));
            let mut outlet = Endless(0);
            let progress = Progress {
                read: 1000,
                acknowledged: 1000,
            };
            bulk.drive(&mut outlet, progress);
            assert_eq!(outlet.0, expected, "{buffer}");
        }
    }
}
