//! What the server's application does with its connection.

mod bulk;
mod datagrams;
mod pages;
mod periodic;
mod player;

use crate::random::Random;
use crate::scenario::Application;
use bulk::Bulk;
use datagrams::Datagrams;
use imtcp_cc::units::Timestamp;
use pages::Pages;
use periodic::Periodic;
use player::Player;

/// The one stream that servers send on: their first unidirectional one (RFC 9000, section 2.1).
pub(crate) const STREAM: u64 = 3;

/// Where an application puts its data: a server's connection.
pub(crate) trait Outlet {
    /// Writes on the stream, and ends it if all was taken. Says how many bytes were taken. None if
    /// it takes nothing now.
    fn write(&mut self, data: &[u8], end: bool) -> Option<usize>;

    /// The congestion window in bytes.
    fn window(&self) -> u64;

    /// The largest datagram that would be taken.
    fn largest_datagram(&mut self) -> Option<usize>;

    /// Sends a datagram. False if it is not taken.
    fn datagram(&mut self, data: &'static [u8]) -> bool;
}

/// How far the client is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// Bytes that it has read.
    pub(crate) read: u64,
    /// Bytes that it had read when it sent its newest datagram that has come. A socket knows as
    /// much.
    pub(crate) acknowledged: u64,
}

/// A running application. It begins with the first [`Driver::drive`].
#[derive(Debug)]
pub(crate) struct Driver(Kind);

#[derive(Debug)]
enum Kind {
    Bulk(Bulk),
    Periodic(Periodic),
    Player(Player),
    Pages(Pages),
    Datagrams(Datagrams),
}

impl Driver {
    /// What it draws comes from `random`.
    pub(crate) fn new(application: Application, random: Random) -> Self {
        Self(match application {
            Application::Bulk { size, send_buffer } => Kind::Bulk(Bulk::new(size, send_buffer)),
            Application::Periodic {
                rate,
                period,
                keyframes,
                pause,
            } => Kind::Periodic(Periodic::new(rate, period, keyframes, pause)),
            Application::Player {
                rate,
                period,
                buffer,
            } => Kind::Player(Player::new(rate, period, buffer)),
            Application::Pages(settings) => Kind::Pages(Pages::new(settings, random)),
            Application::Datagrams { rate, size, period } => {
                Kind::Datagrams(Datagrams::new(rate, size, period))
            }
        })
    }

    /// Gives the connection the data that is due by now, as much as the connection takes.
    pub(crate) fn drive(
        &mut self,
        now: Timestamp,
        connection: &mut dyn Outlet,
        progress: Progress,
    ) {
        match &mut self.0 {
            Kind::Bulk(bulk) => bulk.drive(connection, progress),
            Kind::Periodic(periodic) => periodic.drive(now, connection),
            Kind::Player(player) => {
                let bytes = player.ask(now, progress.acknowledged);
                player.took(write(connection, bytes, false));
            }
            Kind::Pages(pages) => {
                let bytes = pages.ask(now, progress.acknowledged);
                pages.took(write(connection, bytes, false));
            }
            Kind::Datagrams(datagrams) => datagrams.drive(now, connection),
        }
    }

    /// When the application has something new to give.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        match &self.0 {
            Kind::Bulk(_) => None,
            Kind::Periodic(periodic) => periodic.next(),
            Kind::Player(player) => player.next(),
            Kind::Pages(pages) => pages.next(),
            Kind::Datagrams(datagrams) => datagrams.next(),
        }
    }

    /// How many bytes the application has had to send so far, whether the connection took them or
    /// not.
    pub(crate) fn made(&self) -> u64 {
        match &self.0 {
            Kind::Bulk(bulk) => bulk.made(),
            Kind::Periodic(periodic) => periodic.made(),
            Kind::Player(player) => player.made(),
            Kind::Pages(pages) => pages.made(),
            Kind::Datagrams(datagrams) => datagrams.made(),
        }
    }

    /// The bursts of a source that makes some: when each was made, and the bytes of all up to it.
    pub(crate) fn bursts(&self) -> &[(Timestamp, u64)] {
        match &self.0 {
            Kind::Periodic(periodic) => periodic.bursts(),
            Kind::Pages(pages) => pages.bursts(),
            Kind::Bulk(_) | Kind::Player(_) | Kind::Datagrams(_) => &[],
        }
    }

    /// How many bytes the client will have read when the transfer is complete, if it has an end.
    pub(crate) fn size(&self) -> Option<u64> {
        match &self.0 {
            Kind::Bulk(bulk) => bulk.size(),
            Kind::Periodic(_) | Kind::Player(_) | Kind::Pages(_) | Kind::Datagrams(_) => None,
        }
    }
}

/// Application data; nobody looks at it.
static DATA: [u8; 65_536] = [0; 65_536];

/// Writes up to `bytes` on the stream; returns how many the connection took. An error means that
/// it takes none now.
fn write(connection: &mut dyn Outlet, bytes: u64, end: bool) -> u64 {
    if bytes == 0 && !end {
        return 0;
    }
    let mut written = 0;
    loop {
        let left = bytes - written;
        let length = usize::try_from(left).map_or(DATA.len(), |left| left.min(DATA.len()));
        let last = end && length as u64 == left;
        match connection.write(&DATA[..length], last) {
            Some(taken) => {
                written += taken as u64;
                if taken < length || written == bytes {
                    return written;
                }
            }
            None => return written,
        }
    }
}
