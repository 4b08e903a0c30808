//! The program's clock, and how it waits.

use imtcp_cc::units::Timestamp;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::socket::{ControlMessageOwned, RecvMsg};
use nix::sys::time::TimeSpec;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A sleeping process wakes up late by some tens of microseconds. The last part of a wait is spent
/// awake.
const AWAKE: Duration = Duration::from_micros(200);

/// The longest sleep, so that a wish to stop is heard.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// A receive time that lies further back is not believed: the calendar was set.
const OLDEST: Duration = Duration::from_secs(5);

/// Readings of two clocks belong together if they are no further apart. Else the process was
/// interrupted between them, and reads again, so many times.
const TOGETHER: Duration = Duration::from_micros(5);
const READINGS: u32 = 5;

/// Counts time from the start of the program.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Instant,
}

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "the binary owns the clock")]
    pub fn start() -> Self {
        Self {
            origin: Instant::now(),
        }
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        Timestamp::from_origin(self.origin.elapsed())
    }

    /// A time of the system's monotonic clock, as this clock has it.
    pub fn at(&self, instant: Instant) -> Timestamp {
        Timestamp::from_origin(instant.saturating_duration_since(self.origin))
    }

    /// The same the other way round.
    pub fn instant(&self, at: Timestamp) -> Instant {
        self.origin + Duration::from_nanos(at.as_nanos())
    }

    /// A time of the kernel's calendar clock, as this clock has it. A time that cannot be is now.
    #[expect(clippy::disallowed_methods, reason = "the kernel's stamps are of this clock")]
    pub fn of_stamp(&self, stamp: TimeSpec) -> Timestamp {
        let mut before = self.now();
        for _ in 0..READINGS {
            let calendar = SystemTime::now();
            let after = self.now();
            let apart = after.saturating_since(before);
            if apart <= TOGETHER {
                let age = calendar.duration_since(UNIX_EPOCH + Duration::from(stamp));
                return match age {
                    Ok(age) if age <= OLDEST => earlier(before, age),
                    _ => before,
                };
            }
            before = after;
        }
        before
    }

    /// Sleeps until `until`, or until there is something to read. The last moment is spent awake,
    /// and not reading: the kernel keeps the times of what comes.
    pub fn wait(&self, until: Timestamp, socket: BorrowedFd<'_>) -> io::Result<()> {
        let left = until.saturating_since(self.now());
        if left <= AWAKE {
            while self.now() < until {
                std::hint::spin_loop();
            }
            return Ok(());
        }
        let sleep = (left - AWAKE).min(LONGEST_SLEEP);
        let mut readable = [PollFd::new(socket, PollFlags::POLLIN)];
        match ppoll(&mut readable, Some(TimeSpec::from(sleep)), None) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// When the kernel received a message, if it says so.
pub fn stamp<A>(message: &RecvMsg<'_, '_, A>) -> Option<TimeSpec> {
    message.cmsgs().ok()?.find_map(|part| match part {
        ControlMessageOwned::ScmTimestampns(stamp) => Some(stamp),
        _ => None,
    })
}

fn earlier(at: Timestamp, span: Duration) -> Timestamp {
    let nanos = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
    Timestamp::from_nanos(at.as_nanos().saturating_sub(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::os::fd::AsFd;

    #[test]
    fn a_time_that_cannot_be_is_now() {
        let clock = Clock::start();
        for stamp in [Duration::ZERO, Duration::from_secs(9_000_000_000)] {
            let before = clock.now();
            let read = clock.of_stamp(TimeSpec::from(stamp));
            assert!(before <= read && read <= clock.now(), "{stamp:?}: {read:?}");
        }
    }

    #[test]
    fn a_wait_ends_in_time_or_when_there_is_something_to_read() {
        let clock = Clock::start();
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let until = clock.now() + Duration::from_micros(50);
        clock.wait(until, socket.as_fd()).expect("a wait");
        assert!(clock.now() >= until);
        let own = socket.local_addr().expect("an address");
        socket.send_to(b"x", own).expect("loopback");
        let far = clock.now() + Duration::from_secs(3600);
        clock.wait(far, socket.as_fd()).expect("a wait");
        assert!(clock.now() < far);
    }
}
