//! How packets leave: one by one, or as an event loop does it that fills GSO buffers.

use std::time::Duration;

use quiche::{Error, RecvInfo};

use super::{address, Fate, Passage, Side, World, DELAY};

/// A batch ends with a shorter packet, or with this many packets, as in tokio-quiche 0.20.1.
const SHORTEST_IN_BATCH: usize = 1_000;
const LONGEST_BATCH: usize = 64;

/// The ways of the server's event loop.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sending {
    /// Packets of one size are gathered, as tokio-quiche does: after the first of a batch, the
    /// buffer that is offered has that packet's size.
    pub batches: bool,
    /// The time that goes by with each packet that is built.
    pub takes: Duration,
    /// The largest buffer that is offered; 0 for any.
    pub largest: usize,
}

impl World {
    /// Sends everything that may leave now.
    pub fn flush(&mut self) {
        self.flush_client();
        self.server_is_woken = false;
        while self.send_batch() {}
    }

    /// The same, but the server's event loop sleeps if it has not been woken.
    pub fn flush_woken(&mut self) {
        match self.server_is_woken {
            true => self.flush(),
            false => self.flush_client(),
        }
    }

    fn flush_client(&mut self) {
        quiche::clock::set(Some(self.now));
        if !self.client_is_mute {
            while let Some((size, info)) = self.send_one(Side::Client, usize::MAX) {
                self.hand_to_link(Side::Client, size, info);
            }
        }
    }

    /// One batch of the server's, or one packet; false when it had nothing more to send.
    fn send_batch(&mut self) -> bool {
        let whole = match self.sending.largest {
            0 => usize::MAX,
            largest => largest,
        };
        let mut segment = None;
        for _ in 0..LONGEST_BATCH {
            let Some((size, info)) = self.send_one(Side::Server, segment.unwrap_or(whole)) else {
                return false;
            };
            self.hand_to_link(Side::Server, size, info);
            self.now += self.sending.takes;
            quiche::clock::set(Some(self.now));
            let is_last = segment.is_some_and(|all| size != all || size < SHORTEST_IN_BATCH);
            if is_last || !self.sending.batches {
                break;
            }
            segment.get_or_insert(size);
        }
        true
    }

    fn send_one(&mut self, side: Side, buffer: usize) -> Option<(usize, RecvInfo)> {
        let connection = match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        };
        let buffer = buffer.min(self.scratch.len());
        match connection.send(&mut self.scratch[..buffer]) {
            Ok((size, sent)) => {
                let info = RecvInfo {
                    from: sent.from,
                    to: sent.to,
                };
                Some((size, info))
            }
            Err(Error::Done) => None,
            // quiche cannot send the very first packet of a connection in the Handshake space,
            // which is what it does on an error in the client's first flight: the AEAD refuses
            // number 0.
            Err(Error::CryptoFail) if self.expects_errors => None,
            Err(error) => panic!("{side:?} cannot send: {error}"),
        }
    }

    fn hand_to_link(&mut self, from: Side, size: usize, mut info: RecvInfo) {
        let mark = self.side(from).sent_mark();
        let passage = Passage {
            from,
            at: self.elapsed(),
            size,
            mark,
        };
        self.trace.push(passage);
        let mark = (self.router)(from, self.trace.len(), mark);
        let extra = match (self.link)(&passage) {
            Fate::Deliver => Duration::ZERO,
            Fate::Delay(extra) => extra,
            Fate::Drop => return,
        };
        let client = address(Side::Client);
        match from {
            Side::Client if info.from == client => info.from = self.seen_as,
            Side::Server if info.to == self.seen_as => info.to = client,
            Side::Server if !self.forgotten.contains(&info.to) => {}
            Side::Server if self.remembers => info.to = client,
            Side::Server => return,
            _ => {}
        }
        self.count += 1;
        let arrival = (self.now + DELAY + extra, self.count);
        self.on_the_way
            .insert(arrival, (info, mark, from, self.scratch[..size].to_vec()));
    }
}
