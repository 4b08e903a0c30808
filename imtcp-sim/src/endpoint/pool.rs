//! Buffers for datagrams, used again and again.

/// The largest UDP payload that fits into an Ethernet frame.
const CAPACITY: usize = 1472;

/// Spare buffers.
#[derive(Debug, Default)]
pub struct Pool {
    spare: Vec<Vec<u8>>,
}

impl Pool {
    /// A buffer of full length, with whatever was in it before.
    pub fn take(&mut self) -> Vec<u8> {
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.resize(CAPACITY, 0);
        buffer
    }

    /// A buffer that `write` has filled and cut to length. None if it had nothing to write.
    pub(super) fn filled(&mut self, write: impl FnOnce(&mut Vec<u8>) -> bool) -> Option<Vec<u8>> {
        let mut buffer = self.take();
        if write(&mut buffer) {
            return Some(buffer);
        }
        self.give(buffer);
        None
    }

    /// Gives a buffer back.
    pub fn give(&mut self, buffer: Vec<u8>) {
        self.spare.push(buffer);
    }
}
