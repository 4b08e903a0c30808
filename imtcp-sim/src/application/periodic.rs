//! A burst of data every period.

use super::Outlet;
use crate::scenario::{Keyframes, Pause};
use imtcp_cc::units::{Bandwidth, Timestamp};
use std::time::Duration;

/// Frames of a live source or chunks of a video: what the connection does not take at once waits.
#[derive(Debug)]
pub(super) struct Periodic {
    burst: u64,
    period: Duration,
    keyframes: Option<Keyframes>,
    pause: Option<Pause>,
    next: Option<Timestamp>,
    backlog: u64,
    /// When each burst was made, and the bytes of all bursts up to it.
    bursts: Vec<(Timestamp, u64)>,
}

impl Periodic {
    /// With keyframes the mean rate is the same, so other frames are smaller.
    pub(super) fn new(
        rate: Bandwidth,
        period: Duration,
        keyframes: Option<Keyframes>,
        pause: Option<Pause>,
    ) -> Self {
        let mean = rate.bytes_in(period).get();
        let burst = keyframes.map_or(mean, |Keyframes { every, times }| {
            let (every, times) = (u64::from(every), u64::from(times));
            mean.saturating_mul(every) / (every - 1 + times)
        });
        Self {
            burst: burst.max(1),
            period,
            keyframes,
            pause,
            next: None,
            backlog: 0,
            bursts: Vec::new(),
        }
    }

    pub(super) fn next(&self) -> Option<Timestamp> {
        self.next
    }

    pub(super) fn made(&self) -> u64 {
        self.bursts.last().map_or(0, |(_, made)| *made)
    }

    pub(super) fn bursts(&self) -> &[(Timestamp, u64)] {
        &self.bursts
    }

    pub(super) fn drive(&mut self, now: Timestamp, connection: &mut dyn Outlet) {
        let mut due = self.after_pause(self.next.unwrap_or(now));
        while due <= now {
            let burst = self.burst * u64::from(self.times());
            self.backlog += burst;
            self.bursts.push((due, self.made() + burst));
            due = self.after_pause(due + self.period);
        }
        self.next = Some(due);
        if self.backlog > 0 {
            self.backlog -= super::write(connection, self.backlog, false);
        }
    }

    /// The size of the next burst in bursts.
    fn times(&self) -> u32 {
        match self.keyframes {
            Some(Keyframes { every, times })
                if self.bursts.len().is_multiple_of(every as usize) =>
            {
                times
            }
            _ => 1,
        }
    }

    /// When a burst is made that is due at `due`.
    fn after_pause(&self, due: Timestamp) -> Timestamp {
        match self.pause {
            Some(Pause { from, to }) if (from..to).contains(&due) => to,
            _ => due,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection() -> quiche::Connection {
        let mut config = quiche::Config::new(quiche::PROTOCOL_VERSION).expect("a configuration");
        let address = std::net::SocketAddr::from(([192, 0, 2, 1], 443));
        let id = quiche::ConnectionId::from_ref(&[1; 16]);
        quiche::connect(None, &id, address, address, &mut config).expect("a connection")
    }

    /// When bursts of 1000 bytes on average were made within a second, and their sizes.
    fn bursts(keyframes: Option<Keyframes>, pause: Option<Pause>) -> Vec<(u64, u64)> {
        let rate = Bandwidth::from_kbps(80);
        let period = Duration::from_millis(100);
        let mut source = Periodic::new(rate, period, keyframes, pause);
        let mut connection = connection();
        let mut now = Timestamp::ZERO;
        while now < Timestamp::from_origin(Duration::from_secs(1)) {
            source.drive(now, &mut connection);
            now = source.next().expect("it goes on");
        }
        let mut before = 0;
        let sizes = source.bursts().iter().map(|(at, made)| {
            let size = made - before;
            before = *made;
            (at.as_nanos() / 1_000_000, size)
        });
        sizes.collect()
    }

    #[test]
    fn keyframes_are_larger_and_the_mean_rate_is_the_same() {
        let plain = bursts(None, None);
        assert_eq!(
            plain,
            (0..10).map(|at| (at * 100, 1000)).collect::<Vec<_>>()
        );
        let keyframes = Keyframes { every: 5, times: 6 };
        let sizes: Vec<u64> = bursts(Some(keyframes), None)
            .iter()
            .map(|(_, size)| *size)
            .collect();
        assert_eq!(sizes, [3000, 500, 500, 500, 500, 3000, 500, 500, 500, 500]);
    }

    #[test]
    fn nothing_is_made_in_a_pause_and_the_first_burst_comes_at_its_end() {
        let at = |ms| Timestamp::from_origin(Duration::from_millis(ms));
        let pause = Pause {
            from: at(250),
            to: at(730),
        };
        let times: Vec<u64> = bursts(None, Some(pause))
            .iter()
            .map(|(at, _)| *at)
            .collect();
        assert_eq!(times, [0, 100, 200, 730, 830, 930]);
    }
}
