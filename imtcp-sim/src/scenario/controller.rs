//! `controller = "..."` of a flow: who decides how much its server sends.

use super::error::ScenarioError;
use super::host::Host;
use super::reader::Entry;
use super::receiver::{Acknowledge, Receiver, Stack};
use baselines::controllers::Kind as Baseline;
use imtcp_cc::units::Bytes;
use std::time::Duration;

/// A congestion controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controller {
    /// This project's controller.
    Imtcp,
    /// quiche's Reno.
    Reno,
    /// quiche's CUBIC.
    Cubic,
    /// quiche's BBRv2.
    Bbr2,
    /// One of those that this project is compared with. With TCP CUBIC, packet size and
    /// acknowledgements are TCP's, too, unless the scenario says otherwise.
    Baseline(Baseline),
    /// One of another QUIC stack's own, with that stack as the server.
    Foreign(Foreign),
    /// A controller of the caller's own, by the name under which it is registered with
    /// [`quiche::cc::register`]. Scenario files cannot name it.
    Registered(&'static str),
}

/// A controller that comes with its stack.
///
/// The two BBRs draw when they probe from the operating system, and nothing can seed that. So runs
/// with them may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// quinn's CUBIC.
    QuinnCubic,
    /// quinn's BBR.
    QuinnBbr,
    /// noq's CUBIC.
    NoqCubic,
    /// noq's BBRv3.
    NoqBbr3,
}

impl Foreign {
    /// Whether the stack is quinn. It is noq otherwise.
    pub fn is_of_quinn(self) -> bool {
        matches!(self, Self::QuinnCubic | Self::QuinnBbr)
    }

    /// Whether all that it tells of its path is a window.
    pub fn tells_a_window(self) -> bool {
        matches!(self, Self::QuinnCubic | Self::NoqCubic)
    }
}

const CONTROLLERS: &[(&str, Controller)] = &[
    ("imtcp", Controller::Imtcp),
    ("reno", Controller::Reno),
    ("cubic", Controller::Cubic),
    ("bbr2", Controller::Bbr2),
    baseline(Baseline::TcpCubic),
    baseline(Baseline::Reno),
    baseline(Baseline::HighSpeed),
    baseline(Baseline::Westwood),
    baseline(Baseline::WestwoodDft),
    baseline(Baseline::WestwoodDftAcks),
    baseline(Baseline::LedbatPlusPlus),
    ("quinn-cubic", Controller::Foreign(Foreign::QuinnCubic)),
    ("quinn-bbr", Controller::Foreign(Foreign::QuinnBbr)),
    ("noq-cubic", Controller::Foreign(Foreign::NoqCubic)),
    ("noq-bbr3", Controller::Foreign(Foreign::NoqBbr3)),
];

const fn baseline(kind: Baseline) -> (&'static str, Controller) {
    (kind.name(), Controller::Baseline(kind))
}

impl Controller {
    /// Its name in scenarios and results.
    pub fn name(self) -> &'static str {
        if let Self::Registered(name) = self {
            return name;
        }
        CONTROLLERS
            .iter()
            .find(|(_, controller)| *controller == self)
            .map_or("", |(name, _)| name)
    }

    /// Whether it is behind the seam of the workspace's quiche, and not an algorithm of quiche's
    /// own or of another stack. Only then can observers watch it.
    pub fn is_behind_the_seam(self) -> bool {
        self.stack() == Stack::Quiche && !matches!(self, Self::Reno | Self::Cubic | Self::Bbr2)
    }

    /// The stack of its server.
    pub fn stack(self) -> Stack {
        match self {
            Self::Foreign(kind) if kind.is_of_quinn() => Stack::Quinn,
            Self::Foreign(_) => Stack::Noq,
            _ => Stack::Quiche,
        }
    }

    fn is_tcp(self) -> bool {
        self == Self::Baseline(Baseline::TcpCubic)
    }

    /// The UDP payload that flows have by default. Of TCP it makes IP packets of 1500 bytes.
    pub(super) fn packet(self) -> Bytes {
        Bytes::new(if self.is_tcp() { 1472 } else { 1350 })
    }

    /// How its clients acknowledge by default. Linux does so after 40 ms at the latest.
    pub(super) fn receiver(self) -> Receiver {
        let (acknowledge, delay_ms) = match self.is_tcp() {
            true => (Acknowledge::Tcp, 40),
            false => (Acknowledge::Every(1), 25),
        };
        Receiver {
            stack: Stack::Quiche,
            acknowledge,
            delay: Duration::from_millis(delay_ms),
            ack_frequency: false,
            receive_timestamps: false,
            host: Host::default(),
        }
    }
}

pub(super) fn read(entry: &Entry<'_>) -> Result<Controller, ScenarioError> {
    entry.choice(CONTROLLERS)
}
