//! The server, which sends on one stream, and datagrams.

use super::super::{ONE_DATAGRAM, account, controller, endpoint_with_server};
use super::{codepoint, deliver, endpoint_config, exchange_events, proto, transport};
use crate::application::Outlet;
use crate::endpoint::family::foreign::{self, Refusal};
use crate::endpoint::server::{Account, Listener, Server};
use crate::endpoint::{CLIENT, Moment};
use crate::network::Ecn;
use crate::random::Random;
use crate::scenario::{Flow, Foreign};
use imtcp_cc::units::Timestamp;
use proto::crypto::rustls::QuicServerConfig;
use proto::{
    Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint, ServerConfig,
    StreamId, ValidationTokenConfig, VarInt,
};
use std::collections::VecDeque;
use std::sync::Arc;

struct FamilyServer {
    kind: Foreign,
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    stream: Option<StreamId>,
    /// Datagrams that the endpoint answered by itself.
    answers: VecDeque<Vec<u8>>,
    account: Account,
    /// What the last datagram was sent with.
    mark: Ecn,
    ended: Option<String>,
}

/// The endpoint, until its client's first datagram comes.
struct Waiting {
    kind: Foreign,
    endpoint: Option<Endpoint>,
}

/// A server with one of the stack's own controllers.
pub(in crate::endpoint) fn prepare(
    kind: Foreign,
    flow: &Flow,
    mut random: Random,
) -> Result<Box<dyn Listener>, Refusal> {
    let tls = QuicServerConfig::try_from(foreign::server_tls()?).map_err(|_| Refusal::Cipher)?;
    let mut server = ServerConfig::with_crypto(Arc::new(tls));
    let mut transport = transport(flow)?;
    let controller = controller(kind).ok_or(Refusal::Controller)?;
    transport.congestion_controller_factory(controller);
    // Tokens for a later connection carry the time of the machine.
    let mut tokens = ValidationTokenConfig::default();
    tokens.sent(0);
    server
        .transport_config(Arc::new(transport))
        .validation_token_config(tokens);
    let endpoint = Arc::new(endpoint_config(flow, &mut random)?);
    let endpoint = endpoint_with_server(endpoint, Arc::new(server));
    Ok(Box::new(Waiting {
        kind,
        endpoint: Some(endpoint),
    }))
}

impl Listener for Waiting {
    fn accept(&mut self) -> Option<Box<dyn Server>> {
        Some(Box::new(FamilyServer {
            kind: self.kind,
            endpoint: self.endpoint.take()?,
            connection: None,
            stream: None,
            answers: VecDeque::new(),
            account: Account::default(),
            mark: Ecn::NotCapable,
            ended: None,
        }))
    }
}

impl FamilyServer {
    fn take_note(&mut self) {
        if let Some((handle, connection)) = &mut self.connection {
            let ended = exchange_events(&mut self.endpoint, *handle, connection);
            self.ended = self.ended.take().or(ended);
            self.account = account(connection);
            if self.kind.tells_a_window() {
                self.account.told_bps = self.account.window_per_round_trip();
            }
        }
    }
}

impl Server for FamilyServer {
    fn receive(&mut self, moment: Moment<'_>, payload: &mut [u8], ecn: Ecn) {
        let now = moment.instant();
        let mut answer = Vec::new();
        let arrived = (&*payload, codepoint(ecn));
        match deliver(&mut self.endpoint, (now, CLIENT), arrived, &mut answer) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                let accepted = self.endpoint.accept(incoming, now, &mut answer, None);
                self.connection = accepted.ok();
            }
            Some(DatagramEvent::Response(_)) => self.answers.push_back(answer),
            None => {}
        }
        self.take_note();
    }

    fn transmit(&mut self, moment: Moment<'_>, buffer: &mut Vec<u8>) -> bool {
        buffer.clear();
        if let Some(answer) = self.answers.pop_front() {
            buffer.extend_from_slice(&answer);
            return true;
        }
        let Some((_, connection)) = &mut self.connection else {
            return false;
        };
        let transmit = connection.poll_transmit(moment.instant(), ONE_DATAGRAM, buffer);
        self.mark = match transmit.as_ref().and_then(|transmit| transmit.ecn) {
            None => Ecn::NotCapable,
            Some(EcnCodepoint::Ect0) => Ecn::Ect0,
            Some(EcnCodepoint::Ect1) => Ecn::Ect1,
            Some(EcnCodepoint::Ce) => Ecn::Experienced,
        };
        transmit.is_some()
    }

    fn due(&mut self, moment: Moment<'_>) -> Option<Timestamp> {
        let due = self.connection.as_mut()?.1.poll_timeout()?;
        Some(moment.clock.timestamp(due))
    }

    fn on_time(&mut self, moment: Moment<'_>) {
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(moment.instant());
        }
        self.take_note();
    }

    fn close(&mut self, moment: Moment<'_>) {
        if let Some((_, connection)) = &mut self.connection {
            let reason = Vec::new().into();
            connection.close(moment.instant(), VarInt::from_u32(0), reason);
        }
    }

    fn outlet(&mut self) -> Option<&mut dyn Outlet> {
        let (_, connection) = self.connection.as_ref()?;
        let can_send = !connection.is_handshaking() && !connection.is_closed();
        can_send.then_some(self)
    }

    fn mark(&self) -> Ecn {
        self.mark
    }

    fn account(&self) -> Account {
        self.account
    }

    fn ended(&self) -> Option<String> {
        self.ended.clone()
    }
}

impl Outlet for FamilyServer {
    fn write(&mut self, data: &[u8], end: bool) -> Option<usize> {
        let (_, connection) = self.connection.as_mut()?;
        let stream = self.stream.or_else(|| connection.streams().open(Dir::Uni));
        self.stream = stream;
        let mut stream = connection.send_stream(stream?);
        // A stream that is blocked takes no bytes.
        let taken = match data {
            [] => 0,
            data => stream.write(data).ok()?,
        };
        if end && taken == data.len() {
            stream.finish().ok()?;
        }
        Some(taken)
    }

    fn window(&self) -> u64 {
        self.account.window
    }

    fn largest_datagram(&mut self) -> Option<usize> {
        self.connection.as_mut()?.1.datagrams().max_size()
    }

    fn datagram(&mut self, data: &'static [u8]) -> bool {
        let Some((_, connection)) = &mut self.connection else {
            return false;
        };
        connection.datagrams().send(data.into(), false).is_ok()
    }
}
