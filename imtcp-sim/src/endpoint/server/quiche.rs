//! quiche as a server, with its pacing.

use super::{Account, Listener, Server};
use crate::application::{Outlet, STREAM};
use crate::endpoint::{
    CLIENT, Departures, Moment, SERVER, Side, TIMED_OUT, Tap, config, connection_id, ecn,
};
use crate::network::{Ecn, FlowId};
use crate::scenario::{Controller, Flow};
use imtcp_cc::quiche::{Detail, Factory};
use imtcp_cc::units::Timestamp;
use std::io::Write;
use std::sync::Arc;

struct QuicheServer {
    connection: quiche::Connection,
    /// BBRv2 reports the next packet's release time instead of holding the packet back.
    paced_by_caller: bool,
    /// Until when the pacer holds data back.
    release: Option<Timestamp>,
}

struct QuicheListener {
    id: FlowId,
    config: quiche::Config,
    /// That of the controllers, if they are of this project.
    factory: Option<Factory>,
    paced_by_caller: bool,
    /// The departures, if they are wanted.
    departures: Option<Departures>,
    /// The qlog's writer, until there is a connection.
    qlog: Option<Box<dyn Write + Send + Sync>>,
}

pub(super) fn prepare(
    id: FlowId,
    flow: &Flow,
    (tap, process): (&Arc<Tap>, Option<&Factory>),
) -> Result<Box<dyn Listener>, quiche::Error> {
    let (config, factory) = config::server(flow, tap, process)?;
    Ok(Box::new(QuicheListener {
        id,
        config,
        factory,
        paced_by_caller: flow.controller == Controller::Bbr2,
        departures: None,
        qlog: None,
    }))
}

impl Listener for QuicheListener {
    fn accept(&mut self) -> Option<Box<dyn Server>> {
        let id = connection_id(self.id, Side::Server);
        let accepted = quiche::accept(&id, None, SERVER, CLIENT, &mut self.config);
        let mut connection = accepted.ok()?;
        if let Some(departures) = self.departures.clone() {
            let (title, writer) = (String::new(), Box::new(departures));
            // Packets are of the core.
            let level = quiche::QlogLevel::Core;
            connection.set_qlog_with_level(writer, title, String::new(), level);
        } else if let Some(writer) = self.qlog.take() {
            let title = "imtcp-sim".to_owned();
            connection.set_qlog(
                writer,
                title,
                "a simulated server, in virtual time".to_owned(),
            );
        }
        Some(Box::new(QuicheServer {
            connection,
            paced_by_caller: self.paced_by_caller,
            release: None,
        }))
    }

    fn set_qlog(&mut self, flow: &Flow, writer: Box<dyn Write + Send + Sync>, detail: Detail) {
        self.qlog = Some(writer);
        if let Some(factory) = &self.factory {
            let factory = Arc::new(factory.clone().with_qlog_detail(detail));
            self.config
                .set_congestion_controller(config::observed(factory, flow));
        }
    }

    fn watch_departures(&mut self, departures: Departures) {
        self.departures = Some(departures);
    }
}

impl Server for QuicheServer {
    fn receive(&mut self, _: Moment<'_>, payload: &mut [u8], _: Ecn) {
        let info = quiche::RecvInfo {
            from: CLIENT,
            to: SERVER,
        };
        // An undecryptable or late datagram is no failure of the simulation.
        let _ = self.connection.recv(payload, info);
    }

    fn transmit(&mut self, moment: Moment<'_>, buffer: &mut Vec<u8>) -> bool {
        self.release = self.held_until(moment);
        if self.release.is_some() {
            return false;
        }
        // Done, or a failure that shows in the connection's own error.
        let Ok((length, _)) = self.connection.send(buffer) else {
            return false;
        };
        buffer.truncate(length);
        true
    }

    fn due(&mut self, moment: Moment<'_>) -> Option<Timestamp> {
        let timer = self.connection.timeout_instant();
        let timer = timer.map(|at| moment.clock.timestamp(at));
        [timer, self.release].into_iter().flatten().min()
    }

    fn on_time(&mut self, moment: Moment<'_>) {
        let due = self.connection.timeout_instant();
        if due.is_some_and(|due| moment.clock.timestamp(due) <= moment.now) {
            self.connection.on_timeout();
        }
    }

    fn close(&mut self, _: Moment<'_>) {
        // Done means that it is closed already.
        let _ = self.connection.close(true, 0, b"");
    }

    fn outlet(&mut self) -> Option<&mut dyn Outlet> {
        let connection = &self.connection;
        let ended = connection.is_closed() || connection.is_draining();
        let can_send = connection.is_established() && !ended && connection.local_error().is_none();
        can_send.then_some(&mut self.connection)
    }

    fn mark(&self) -> Ecn {
        ecn::sent(&self.connection)
    }

    fn account(&self) -> Account {
        let stats = self.connection.stats();
        let path = self.connection.path_stats().next();
        Account {
            window: path.as_ref().map_or(0, |path| path.cwnd as u64),
            smoothed_rtt: path.as_ref().map_or(Default::default(), |path| path.rtt),
            sent_packets: stats.sent as u64,
            sent_bytes: stats.sent_bytes,
            lost_packets: stats.lost as u64,
            retransmitted_bytes: stats.stream_retrans_bytes,
            told_bps: path.as_ref().and_then(told),
        }
    }

    fn ended(&self) -> Option<String> {
        let connection = &self.connection;
        if connection.is_timed_out() {
            return Some(TIMED_OUT.to_owned());
        }
        let by = |who: &str, error: &quiche::ConnectionError| {
            let reason = String::from_utf8_lossy(&error.reason);
            let code = error.error_code;
            format!("closed by the {who} with code {code:#x} {reason}")
        };
        let peer = connection.peer_error().map(|error| by("client", error));
        peer.or_else(|| connection.local_error().map(|error| by("server", error)))
    }

    fn quiche(&self) -> Option<&quiche::Connection> {
        Some(&self.connection)
    }
}

impl QuicheServer {
    fn held_until(&self, moment: Moment<'_>) -> Option<Timestamp> {
        if !self.paced_by_caller {
            return None;
        }
        let decision = self.connection.get_next_release_time()?;
        let release = decision.time(moment.instant())?;
        (!decision.can_burst()).then(|| moment.clock.timestamp(release))
    }
}

/// The most of BBRv2's model, or else the latest delivery rate.
fn told(path: &quiche::PathStats) -> Option<u64> {
    let bytes = path.max_bandwidth.unwrap_or(path.delivery_rate);
    // Before there is anything to tell, BBRv2 has a bandwidth without bounds.
    (bytes > 0).then(|| bytes.checked_mul(8)).flatten()
}

impl Outlet for quiche::Connection {
    fn write(&mut self, data: &[u8], end: bool) -> Option<usize> {
        self.stream_send(STREAM, data, end).ok()
    }

    fn window(&self) -> u64 {
        let path = self.path_stats().next();
        path.map_or(0, |path| path.cwnd as u64)
    }

    fn largest_datagram(&mut self) -> Option<usize> {
        self.dgram_max_writable_len()
    }

    fn datagram(&mut self, data: &'static [u8]) -> bool {
        self.dgram_send(data).is_ok()
    }
}
