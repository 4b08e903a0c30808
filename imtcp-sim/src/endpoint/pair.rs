//! Server and client of a flow.

use super::client::{self, Client, Dial};
use super::delivery::Delivery;
use super::host::Host;
use super::server::{self, Account, Listener, Server};
use super::surroundings::{PairError, Side, Surroundings};
use super::{Departures, Moment, Tap, ecn};
use crate::application::{Driver, Progress};
use crate::network::{Datagram, Ecn, FlowId, Owner, Packet, Stamp};
use crate::random::Random;
use crate::scenario::{Application, Flow};
use imtcp_cc::promise::Promise;
use imtcp_cc::quiche::{Controller, Detail, Factory};
use imtcp_cc::units::{Bytes, Timestamp};
use std::io::Write;
use std::sync::Arc;

/// What IPv4 and UDP add to a QUIC datagram.
const HEADERS: Bytes = Bytes::new(28);

/// Server and client of a flow.
pub struct Pair {
    id: FlowId,
    /// Waits for the client, until the server is to close.
    listener: Option<Box<dyn Listener>>,
    server: Option<Box<dyn Server>>,
    server_host: Host,
    /// What connects the client, until it has.
    dial: Option<Dial>,
    client: Option<Box<dyn Client>>,
    client_host: Host,
    /// When the client connected.
    started: Option<Timestamp>,
    application: Driver,
    delivery: Delivery,
    tap: Arc<Tap>,
    /// The departures, if they are wanted.
    departures: Option<Departures>,
    /// Datagrams that are being handed over, and when they came.
    batch: Vec<(Timestamp, Datagram)>,
    /// Datagrams that the server has sent.
    sent: u64,
    /// When the datagram that the client saw last had left the server, and when it came.
    last_seen: Option<(Timestamp, Timestamp)>,
    /// Application bytes that the server knows the client has read.
    acknowledged: u64,
}

impl Pair {
    /// A pair that has not begun, in the run with `seed`. Its server belongs to the process that
    /// has the factory `process`, or is a process of its own.
    ///
    /// # Errors
    /// One of the stacks refuses a part of the configuration.
    pub fn new(
        id: FlowId,
        flow: &Flow,
        seed: u64,
        process: Option<&Factory>,
    ) -> Result<Self, PairError> {
        let tap = Arc::new(Tap::default());
        let random =
            |side: &str| Random::for_component(seed, &format!("host.{}.{side}", flow.name));
        let application = format!("flow.{}.application", flow.name);
        let application = Random::for_component(seed, &application);
        Ok(Self {
            id,
            listener: Some(server::prepare(id, flow, seed, (&tap, process))?),
            server: None,
            server_host: Host::new(flow.host, random("server")),
            dial: Some(client::prepare(id, flow, seed)?),
            client: None,
            client_host: Host::new(flow.receiver.host, random("client")),
            started: None,
            application: Driver::new(flow.application, application),
            delivery: match (flow.imtcp.promise(), flow.application) {
                (Some(_), _) | (_, Application::Periodic { .. } | Application::Pages(_)) => {
                    Delivery::with_course()
                }
                _ => Delivery::default(),
            },
            tap,
            departures: None,
            batch: Vec::new(),
            sent: 0,
            last_seen: None,
            acknowledged: 0,
        })
    }

    /// The server's connection writes its qlog to `writer`, and its controller logs so much. Stacks
    /// other than quiche write none.
    pub fn set_qlog(&mut self, flow: &Flow, writer: Box<dyn Write + Send + Sync>, detail: Detail) {
        if let Some(listener) = &mut self.listener {
            listener.set_qlog(flow, writer, detail);
        }
    }

    /// Records from now on when data leaves the server. The record takes the place of a qlog. Has
    /// to be called before the client connects.
    pub fn watch_departures(&mut self) {
        let departures = self.departures.insert(Departures::default());
        if let Some(listener) = &mut self.listener {
            listener.watch_departures(departures.clone());
        }
    }

    /// The client connects.
    pub fn start(&mut self, around: &mut Surroundings<'_>) {
        self.set_time(around);
        self.started = Some(around.now);
        self.client = self.dial.take().and_then(|dial| dial(around.moment()));
        self.serve(Side::Client, around);
    }

    /// The server closes the connection. It takes none that comes later.
    pub fn stop(&mut self, around: &mut Surroundings<'_>) {
        self.set_time(around);
        match &mut self.server {
            Some(server) => server.close(around.moment()),
            None => self.listener = None,
        }
        self.serve(Side::Server, around);
    }

    /// A datagram arrives at one side's machine.
    pub fn receive(&mut self, side: Side, datagram: Datagram, around: &mut Surroundings<'_>) {
        match self.host(side).receive(around.now, datagram) {
            Some(at) if at <= around.now => self.hand_over(side, around),
            Some(at) => around.outbox.wakes.push((side, at)),
            None => {}
        }
    }

    /// One side takes all that has come, then acts.
    fn hand_over(&mut self, side: Side, around: &mut Surroundings<'_>) {
        let now = around.now;
        let mut batch = std::mem::take(&mut self.batch);
        self.host(side).handed_over(now, &mut batch);
        for (came, datagram) in batch.drain(..) {
            around.now = came;
            self.set_time(around);
            let Datagram {
                mut payload,
                ecn,
                stamp,
            } = datagram;
            quiche::ecn::with(ecn::mark(ecn), || match side {
                Side::Server => self.server_receives(&mut payload, (ecn, stamp), around),
                Side::Client => self.client_receives(&mut payload, (ecn, stamp), around),
            });
            around.pool.give(payload);
        }
        self.batch = batch;
        around.now = now;
        self.set_time(around);
        self.serve(side, around);
    }

    /// An event that was scheduled for one side fires.
    pub fn wake(&mut self, side: Side, around: &mut Surroundings<'_>) {
        let moment = around.moment();
        if let Some(until) = self.host(side).postpones(moment.now) {
            around.outbox.wakes.push((side, until));
            return;
        }
        if self.host(side).hands_over(moment.now) {
            self.hand_over(side, around);
            return;
        }
        let fires = self.host(side).timer_fires(moment.now);
        if fires && self.host(side).has_more_to_send() {
            self.set_time(around);
            self.serve(side, around);
            return;
        }
        if !fires || self.due(side, moment).is_none_or(|due| due > moment.now) {
            self.arm(side, around);
            return;
        }
        self.set_time(around);
        match side {
            Side::Server => {
                if let Some(server) = &mut self.server {
                    server.on_time(moment);
                }
            }
            Side::Client => {
                if let Some(client) = &mut self.client {
                    client.on_time(moment);
                }
            }
        }
        self.serve(side, around);
    }

    /// When the client connected, if it has.
    pub fn started(&self) -> Option<Timestamp> {
        self.started
    }

    /// What reached the client.
    pub fn delivery(&self) -> &Delivery {
        &self.delivery
    }

    /// What the controller said.
    pub fn tap(&self) -> &Tap {
        &self.tap
    }

    /// When data left the server, if that is recorded.
    pub fn departures(&self) -> Option<&Departures> {
        self.departures.as_ref()
    }

    /// The server's connection, once the client's first datagram has arrived, if it is quiche.
    pub fn server(&self) -> Option<&quiche::Connection> {
        self.server.as_ref()?.quiche()
    }

    /// What the server counts and tells, once the client's first datagram has arrived.
    pub fn account(&self) -> Option<Account> {
        self.server.as_ref().map(|server| server.account())
    }

    /// The handle of the server's promise, where this project's controller is in charge.
    pub fn promise(&self) -> Option<Promise> {
        let controller = self.server()?.congestion_controller::<Controller>()?;
        Some(controller.promise())
    }

    /// Why the server's connection ended, if it has.
    pub fn ended(&self) -> Option<String> {
        self.server.as_ref()?.ended()
    }

    fn set_time(&self, around: &Surroundings<'_>) {
        around.clock.set(around.now);
        self.tap.set_now(around.now);
        if let Some(departures) = &self.departures {
            departures.set_now(around.now);
        }
    }

    fn server_receives(
        &mut self,
        payload: &mut [u8],
        (ecn, stamp): (Ecn, Stamp),
        around: &mut Surroundings<'_>,
    ) {
        if self.server.is_none() {
            let listener = self.listener.as_mut();
            self.server = listener.and_then(|listener| listener.accept());
        }
        self.delivery.acknowledgements += 1;
        self.acknowledged = self.acknowledged.max(stamp.read);
        if let Some((sent, received)) = stamp.answers {
            let held = stamp.sent.saturating_since(received);
            let round_trip = around.now.saturating_since(sent);
            self.delivery.round_trip(round_trip.saturating_sub(held));
        }
        if let Some(server) = &mut self.server {
            server.receive(around.moment(), payload, ecn);
        }
    }

    fn client_receives(
        &mut self,
        payload: &mut [u8],
        (ecn, stamp): (Ecn, Stamp),
        around: &mut Surroundings<'_>,
    ) {
        let Some(client) = &mut self.client else {
            return;
        };
        client.receive(around.moment(), payload, (stamp.number, ecn));
        self.last_seen = Some((stamp.sent, around.now));
        self.delivery.read(around.now, client.read());
        if self.delivery.completed.is_none() && self.application.size() == Some(self.delivery.bytes)
        {
            self.delivery.completed = Some(around.now);
        }
    }

    /// Lets one side send whatever it has, and arms its timer.
    fn serve(&mut self, side: Side, around: &mut Surroundings<'_>) {
        if side == Side::Server {
            self.drive_application(around.now);
        }
        let mut free = Some(self.host(side).begins(around.now));
        while let Some(now) = free {
            if now > around.now {
                around.now = now;
                self.set_time(around);
            }
            let Some(payload) = self.next_datagram(side, around) else {
                break;
            };
            let packet = self.packet(side, now, payload);
            let at = self.host(side).leaves(now, packet.size);
            around.outbox.packets.push((side.sends(), at, packet));
            free = self.host(side).sends();
        }
        around.now = self.host(side).working_until();
        self.arm(side, around);
        if self.host(side).has_more_to_send() {
            let again = around.now;
            let again = self.host(side).arm(again, Some(again));
            around.outbox.wakes.extend(again.map(|at| (side, at)));
        }
    }

    /// The next datagram that may leave now.
    fn next_datagram(&mut self, side: Side, around: &mut Surroundings<'_>) -> Option<Vec<u8>> {
        let moment = around.moment();
        match side {
            Side::Server => {
                let server = self.server.as_deref_mut()?;
                around.pool.filled(|buffer| server.transmit(moment, buffer))
            }
            Side::Client => {
                let client = self.client.as_deref_mut()?;
                around.pool.filled(|buffer| client.transmit(moment, buffer))
            }
        }
    }

    fn drive_application(&mut self, now: Timestamp) {
        if let Some(server) = &mut self.server
            && let Some(outlet) = server.outlet()
        {
            let progress = Progress {
                read: self.delivery.bytes,
                acknowledged: self.acknowledged,
            };
            self.application.drive(now, outlet, progress);
            if let Some(departures) = &self.departures {
                departures.made(self.application.made());
            }
        }
    }

    fn packet(&mut self, side: Side, now: Timestamp, payload: Vec<u8>) -> Packet {
        let number = self.sent;
        // Clients take no marks: what they send is hardly more than acknowledgements.
        let ecn = match side {
            Side::Server => self.server.as_ref().map_or(Ecn::NotCapable, |it| it.mark()),
            Side::Client => Ecn::NotCapable,
        };
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
            ecn,
            datagram: Some(Datagram {
                payload,
                ecn,
                stamp: Stamp {
                    number,
                    sent: now,
                    answers,
                    read: self.delivery.bytes,
                },
            }),
            probe: None,
        }
    }

    /// The seconds from making each burst until the client had read all of it, ascending; bursts
    /// that have not come are left out.
    pub fn burst_delays(&self) -> Vec<f64> {
        self.delivery.delays(self.application.bursts())
    }

    /// The seconds from making each burst that the client has not read whole until `end`.
    pub fn unread_bursts(&self, end: Timestamp) -> Vec<f64> {
        self.delivery.unread(self.application.bursts(), end)
    }

    /// Whether the transfer has a known size, and so an end.
    pub fn has_size(&self) -> bool {
        self.application.size().is_some()
    }

    /// When one side needs service: its connection, or its application.
    fn due(&mut self, side: Side, moment: Moment<'_>) -> Option<Timestamp> {
        match side {
            Side::Server => {
                let server = self.server.as_mut()?;
                let application = self.application.next();
                let application = application.filter(|_| server.outlet().is_some());
                [server.due(moment), application]
                    .into_iter()
                    .flatten()
                    .min()
            }
            Side::Client => self.client.as_mut()?.due(moment),
        }
    }

    fn host(&mut self, side: Side) -> &mut Host {
        match side {
            Side::Server => &mut self.server_host,
            Side::Client => &mut self.client_host,
        }
    }

    fn arm(&mut self, side: Side, around: &mut Surroundings<'_>) {
        let moment = around.moment();
        let due = self.due(side, moment);
        if let Some(at) = self.host(side).arm(moment.now, due) {
            around.outbox.wakes.push((side, at));
        }
    }
}
