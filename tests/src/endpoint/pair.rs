//! Server and client of a flow.

use super::cadence::Cadence;
use super::delivery::Delivery;
use super::peer::Peer;
use super::{Pool, Tap, VirtualClock, config};
use crate::application::{Driver, STREAM};
use crate::network::{Datagram, Direction, FlowId, Owner, Packet, Stamp};
use crate::scenario::{Controller, Flow};
use imtcp_cc::units::{Bytes, Timestamp};
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

/// What IPv4 and UDP add to a QUIC datagram.
const HEADERS: Bytes = Bytes::new(28);
/// Addresses for documentation (RFC 5737); every flow has its own pair of connections, so that all
/// may share them.
const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 443);
const CLIENT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(198, 51, 100, 1)), 50_000);

/// One end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Sends the data.
    Server,
    /// Acknowledges it.
    Client,
}

impl Side {
    /// The way that this side's datagrams take.
    pub fn sends(self) -> Direction {
        match self {
            Self::Server => Direction::Forward,
            Self::Client => Direction::Reverse,
        }
    }
}

/// What a pair wants done: datagrams to put on the path, and when to wake which side.
#[derive(Debug, Default)]
pub struct Outbox {
    /// Packets, with the direction in which they leave.
    pub packets: Vec<(Direction, Packet)>,
    /// Wake-ups.
    pub wakes: Vec<(Side, Timestamp)>,
}

/// What a pair needs of its surroundings.
pub struct Surroundings<'a> {
    /// Virtual time.
    pub now: Timestamp,
    /// What the connections read as time.
    pub clock: &'a VirtualClock,
    /// Buffers.
    pub pool: &'a mut Pool,
    /// Where the results go.
    pub outbox: &'a mut Outbox,
}

/// A flow that cannot be set up.
#[derive(Debug, thiserror::Error)]
#[error("flow {flow}: quiche refuses its configuration: {error}")]
pub struct PairError {
    flow: String,
    error: quiche::Error,
}

/// Server and client of a flow.
pub struct Pair {
    id: FlowId,
    server_config: quiche::Config,
    client_config: quiche::Config,
    server: Option<Peer>,
    client: Option<Peer>,
    paced_by_caller: bool,
    application: Driver,
    cadence: Cadence,
    delivery: Delivery,
    tap: Arc<Tap>,
    /// Waits for the server's connection.
    qlog: Option<Box<dyn Write + Send + Sync>>,
    /// Datagrams that the server has sent.
    sent: u64,
    /// When the datagram that the client saw last had left the server, and when it came.
    last_seen: Option<(Timestamp, Timestamp)>,
}

impl Pair {
    /// A pair that has not begun.
    ///
    /// # Errors
    /// quiche refuses a part of the configuration.
    pub fn new(id: FlowId, flow: &Flow) -> Result<Self, PairError> {
        let refused = |error| PairError {
            flow: flow.name.clone(),
            error,
        };
        let tap = Arc::new(Tap::default());
        Ok(Self {
            id,
            server_config: config::server(flow, &tap).map_err(refused)?,
            client_config: config::client(flow).map_err(refused)?,
            server: None,
            client: None,
            paced_by_caller: flow.controller == Controller::Bbr2,
            application: Driver::new(flow.application),
            cadence: Cadence::new(flow.receiver),
            delivery: Delivery::default(),
            tap,
            qlog: None,
            sent: 0,
            last_seen: None,
        })
    }

    /// The server's connection writes its qlog to `writer`.
    pub fn set_qlog(&mut self, writer: Box<dyn Write + Send + Sync>) {
        self.qlog = Some(writer);
    }

    /// The client connects.
    pub fn start(&mut self, around: &mut Surroundings<'_>) {
        self.set_time(around);
        let id = connection_id(self.id, Side::Client);
        let connection = quiche::connect(None, &id, CLIENT, SERVER, &mut self.client_config);
        // Refused only for a configuration that Pair::new has already been refused.
        self.client = connection
            .ok()
            .map(|connection| Peer::new(connection, false));
        self.serve(Side::Client, around);
    }

    /// The server closes the connection.
    pub fn stop(&mut self, around: &mut Surroundings<'_>) {
        self.set_time(around);
        if let Some(server) = &mut self.server {
            // Done means that it is closed already.
            let _ = server.connection.close(true, 0, b"");
        }
        self.serve(Side::Server, around);
    }

    /// A datagram arrives at one side.
    pub fn receive(&mut self, side: Side, datagram: Datagram, around: &mut Surroundings<'_>) {
        self.set_time(around);
        let Datagram { mut payload, stamp } = datagram;
        match side {
            Side::Server => self.server_receives(&mut payload, stamp, around),
            Side::Client => self.client_receives(&mut payload, stamp, around),
        }
        around.pool.give(payload);
    }

    /// An event that was scheduled for one side fires.
    pub fn wake(&mut self, side: Side, around: &mut Surroundings<'_>) {
        let other = self.own_timer(side);
        let Some(peer) = self.peer(side) else {
            return;
        };
        if !peer.woken(around.now, around.clock, other) {
            self.arm(side, around);
            return;
        }
        self.set_time(around);
        if let Some(peer) = self.peer(side) {
            peer.on_time(around.now, around.clock);
        }
        self.serve(side, around);
    }

    /// What reached the client.
    pub fn delivery(&self) -> &Delivery {
        &self.delivery
    }

    /// What the controller said.
    pub fn tap(&self) -> &Tap {
        &self.tap
    }

    /// The server's connection, once the client's first datagram has arrived.
    pub fn server(&self) -> Option<&quiche::Connection> {
        self.server.as_ref().map(|server| &server.connection)
    }

    fn set_time(&self, around: &Surroundings<'_>) {
        around.clock.set(around.now);
        self.tap.set_now(around.now);
    }

    fn peer(&mut self, side: Side) -> Option<&mut Peer> {
        match side {
            Side::Server => self.server.as_mut(),
            Side::Client => self.client.as_mut(),
        }
    }

    fn server_receives(&mut self, payload: &mut [u8], stamp: Stamp, around: &mut Surroundings<'_>) {
        if self.server.is_none() {
            self.server = self.accept();
        }
        self.delivery.acknowledgements += 1;
        if let Some((sent, received)) = stamp.answers {
            let held = stamp.sent.saturating_since(received);
            let round_trip = around.now.saturating_since(sent);
            self.delivery.round_trip(round_trip.saturating_sub(held));
        }
        if let Some(server) = &mut self.server {
            server.receive(payload, arrival(Side::Server));
        }
        self.serve(Side::Server, around);
    }

    fn accept(&mut self) -> Option<Peer> {
        let id = connection_id(self.id, Side::Server);
        let accepted = quiche::accept(&id, None, SERVER, CLIENT, &mut self.server_config);
        let mut connection = accepted.ok()?;
        if let Some(writer) = self.qlog.take() {
            let title = "imtcp-sim".to_owned();
            connection.set_qlog(
                writer,
                title,
                "a simulated server, in virtual time".to_owned(),
            );
        }
        Some(Peer::new(connection, self.paced_by_caller))
    }

    fn client_receives(&mut self, payload: &mut [u8], stamp: Stamp, around: &mut Surroundings<'_>) {
        let Some(client) = &mut self.client else {
            return;
        };
        client.receive(payload, arrival(Side::Client));
        self.last_seen = Some((stamp.sent, around.now));
        read(&mut client.connection, &mut self.delivery);
        if self.delivery.completed.is_none() && self.application.size() == Some(self.delivery.bytes)
        {
            self.delivery.completed = Some(around.now);
        }
        let established = client.connection.is_established();
        if self.cadence.arrived(around.now, stamp.number) || !established {
            self.serve(Side::Client, around);
        } else {
            self.arm(Side::Client, around);
        }
    }

    /// Lets one side send whatever it has, and arms its timer.
    fn serve(&mut self, side: Side, around: &mut Surroundings<'_>) {
        if side == Side::Server {
            self.drive_application(around.now);
        }
        let (now, clock) = (around.now, around.clock);
        while let Some(peer) = self.peer(side)
            && let Some(payload) = peer.next_datagram(now, clock, around.pool)
        {
            let packet = self.packet(side, now, payload);
            around.outbox.packets.push((side.sends(), packet));
        }
        if side == Side::Client {
            self.cadence.acknowledged();
        }
        self.arm(side, around);
    }

    fn drive_application(&mut self, now: Timestamp) {
        if let Some(server) = &mut self.server
            && can_send(&server.connection)
        {
            self.application
                .drive(now, &mut server.connection, self.delivery.bytes);
        }
    }

    fn packet(&mut self, side: Side, now: Timestamp, payload: Vec<u8>) -> Packet {
        let number = self.sent;
        let answers = match side {
            Side::Server => {
                self.sent += 1;
                None
            }
            Side::Client => self.last_seen,
        };
        Packet {
            size: Bytes::from_usize(payload.len()) + HEADERS,
            owner: Owner::Flow(self.id),
            datagram: Some(Datagram {
                payload,
                stamp: Stamp {
                    number,
                    sent: now,
                    answers,
                },
            }),
        }
    }

    /// What one side waits for apart from its connection's timers.
    fn own_timer(&self, side: Side) -> Option<Timestamp> {
        match side {
            Side::Server => {
                let sends = self.server().is_some_and(can_send);
                self.application.next().filter(|_| sends)
            }
            Side::Client => self.cadence.deadline(),
        }
    }

    fn arm(&mut self, side: Side, around: &mut Surroundings<'_>) {
        let other = self.own_timer(side);
        let (now, clock) = (around.now, around.clock);
        if let Some(peer) = self.peer(side)
            && let Some(at) = peer.arm(now, clock, other)
        {
            around.outbox.wakes.push((side, at));
        }
    }
}

/// Whether an application may use the connection.
fn can_send(connection: &quiche::Connection) -> bool {
    let ended = connection.is_closed() || connection.is_draining();
    connection.is_established() && !ended && connection.local_error().is_none()
}

/// Reads everything that has arrived.
fn read(connection: &mut quiche::Connection, delivery: &mut Delivery) {
    while let Ok((length, _)) = connection.stream_discard(STREAM, usize::MAX) {
        delivery.bytes += length as u64;
    }
    while let Ok(datagram) = connection.dgram_recv_buf() {
        delivery.bytes += datagram.len() as u64;
    }
}

fn arrival(side: Side) -> quiche::RecvInfo {
    let (from, to) = match side {
        Side::Server => (CLIENT, SERVER),
        Side::Client => (SERVER, CLIENT),
    };
    quiche::RecvInfo { from, to }
}

/// Eight bytes that name the flow and the side.
fn connection_id(flow: FlowId, side: Side) -> quiche::ConnectionId<'static> {
    let flow = (flow.0 as u64) << 1 | u64::from(side == Side::Server);
    quiche::ConnectionId::from_vec(flow.to_be_bytes().to_vec())
}
