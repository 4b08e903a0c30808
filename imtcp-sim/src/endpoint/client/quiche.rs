//! quiche as a client. It acknowledges whatever has come whenever it is asked for a datagram, so
//! the cadence is kept here.

use super::cadence::Cadence;
use super::{Client, Dial};
use crate::application::STREAM;
use crate::endpoint::{CLIENT, Moment, SERVER, Side, config, connection_id};
use crate::network::{Ecn, FlowId};
use crate::scenario::{Acknowledge, Flow, Receiver};
use imtcp_cc::units::Timestamp;

struct QuicheClient {
    connection: quiche::Connection,
    cadence: Cadence,
    /// The connection may be asked for datagrams, until it has none.
    may_send: bool,
}

pub(super) fn prepare(id: FlowId, flow: &Flow) -> Result<Dial, quiche::Error> {
    let mut config = config::client(flow)?;
    let cadence = Cadence::new(asked_for(flow.receiver));
    Ok(Box::new(move |_| {
        let id = connection_id(id, Side::Client);
        let connection = quiche::connect(None, &id, CLIENT, SERVER, &mut config).ok()?;
        Some(Box::new(QuicheClient {
            connection,
            cadence,
            may_send: true,
        }))
    }))
}

/// When to ask for acknowledgements. With the extension it is quiche that delays them, because an
/// acknowledgement that is asked for may not wait for the cadence.
fn asked_for(receiver: Receiver) -> Receiver {
    let acknowledge = match receiver.ack_frequency {
        true => Acknowledge::Every(1),
        false => receiver.acknowledge,
    };
    Receiver {
        acknowledge,
        ..receiver
    }
}

impl Client for QuicheClient {
    fn receive(&mut self, moment: Moment<'_>, payload: &mut [u8], (number, _): (u64, Ecn)) {
        let info = quiche::RecvInfo {
            from: SERVER,
            to: CLIENT,
        };
        // An undecryptable or late datagram is no failure of the simulation.
        let _ = self.connection.recv(payload, info);
        let enough = self.cadence.arrived(moment.now, number);
        let shakes_hands = !self.connection.is_established();
        if shakes_hands {
            self.cadence.shakes_hands();
        }
        self.may_send |= enough || shakes_hands;
    }

    fn transmit(&mut self, _: Moment<'_>, buffer: &mut Vec<u8>) -> bool {
        if !self.may_send {
            return false;
        }
        if let Ok((length, _)) = self.connection.send(buffer) {
            buffer.truncate(length);
            return true;
        }
        // Done, or a failure that shows in the connection's own error.
        self.may_send = false;
        self.cadence.acknowledged();
        false
    }

    fn due(&mut self, moment: Moment<'_>) -> Option<Timestamp> {
        let timer = self.connection.timeout_instant();
        let timer = timer.map(|at| moment.clock.timestamp(at));
        [timer, self.cadence.deadline()].into_iter().flatten().min()
    }

    fn on_time(&mut self, moment: Moment<'_>) {
        let due = self.connection.timeout_instant();
        if due.is_some_and(|due| moment.clock.timestamp(due) <= moment.now) {
            self.connection.on_timeout();
        }
        self.may_send = true;
    }

    fn read(&mut self) -> u64 {
        let mut bytes = 0;
        while let Ok((length, _)) = self.connection.stream_discard(STREAM, usize::MAX) {
            bytes += length as u64;
        }
        while let Ok(datagram) = self.connection.dgram_recv_buf() {
            bytes += datagram.len() as u64;
        }
        bytes
    }
}
