//! Waking up at a given time, to the microsecond.
//!
//! tokio's own timers tick in milliseconds: they wake 0.5 to 2 ms late, which is several packets
//! at 20 Mbit/s. A timerfd is a high-resolution timer of the kernel without the 50 µs of slack
//! that other sleeps get; what remains is the time until the process runs, 10 to 40 µs. So the
//! timer is set a little early, and the rest is spent looking at the clock. Lateness in 1000 waits
//! of 600 µs on a machine with two busy cores:
//!
//! | | p50 | p90 |
//! |---|---|---|
//! | tokio | 1478 µs | 1490 µs |
//! | timerfd | 27 µs | 34 µs |
//! | timerfd 40 µs early, then looking at the clock | 0.1 µs | 0.1 µs |
//!
//! (p99 is the scheduler's on such a machine, and none of these is better there.)

use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::time::{Duration, Instant};
use tokio::io::unix::AsyncFd;

/// What a wait may spend looking at the clock: a little more than it usually takes a process to run
/// after its timer has fired. At a wait per millisecond this is 5 % of one core.
const LOOKING: Duration = Duration::from_micros(50);

/// Wakes at given times.
#[derive(Debug)]
pub struct Alarm {
    timer: AsyncFd<Timer>,
}

#[derive(Debug)]
struct Timer(TimerFd);

impl AsRawFd for Timer {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

impl Alarm {
    /// A timer that is not set.
    ///
    /// # Errors
    /// The system is out of file descriptors.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    #[expect(unsafe_code, reason = "tokio takes any descriptor, and a promise that it stays open")]
    pub fn new() -> io::Result<Self> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let timer = Timer(TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?);
        // SAFETY: The timer owns its descriptor, which nothing here closes or replaces.
        let timer = unsafe { AsyncFd::register(timer) }?;
        Ok(Self { timer })
    }

    /// Returns at `due`, never before it. At least once other tasks get their turn, however short
    /// the wait. Dropping the future cancels the wait.
    ///
    /// # Errors
    /// The kernel refuses the timer, which it has no reason to.
    pub async fn wait_until(&self, due: Instant) -> io::Result<()> {
        let asleep = due
            .saturating_duration_since(Instant::now())
            .saturating_sub(LOOKING);
        if asleep.is_zero() {
            tokio::task::yield_now().await;
        } else {
            self.sleep(asleep).await?;
        }
        while Instant::now() < due {
            std::hint::spin_loop();
        }
        Ok(())
    }

    /// Returns at `due` or a little after it, without looking at the clock. Dropping the future
    /// cancels the wait.
    ///
    /// # Errors
    /// The kernel refuses the timer, which it has no reason to.
    pub async fn sleep_until(&self, due: Instant) -> io::Result<()> {
        let span = due.saturating_duration_since(Instant::now());
        if span.is_zero() {
            tokio::task::yield_now().await;
            return Ok(());
        }
        self.sleep(span).await
    }

    async fn sleep(&self, span: Duration) -> io::Result<()> {
        let once = Expiration::OneShot(TimeSpec::from_duration(span));
        self.timer
            .get_ref()
            .0
            .set(once, TimerSetTimeFlags::empty())?;
        loop {
            let mut guard = self.timer.readable().await?;
            // Setting the timer forgets earlier expirations, so a read that succeeds is this one's.
            let expired = guard.try_io(|timer| {
                let mut count = [0; 8];
                Ok(nix::unistd::read(&timer.get_ref().0, &mut count)?)
            });
            if let Ok(read) = expired {
                return read.map(drop);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block_on<F: Future>(future: F) -> F::Output {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime")
            .block_on(future)
    }

    #[test]
    fn no_wait_ends_early() {
        block_on(async {
            let alarm = Alarm::new().expect("a timer");
            for micros in [0, 10, 200, 3000] {
                let due = Instant::now() + Duration::from_micros(micros);
                alarm.wait_until(due).await.expect("a wait");
                assert!(Instant::now() >= due, "{micros} µs");
            }
        });
    }

    #[test]
    fn a_cancelled_wait_does_not_end_the_next_one() {
        block_on(async {
            let alarm = Alarm::new().expect("a timer");
            for _ in 0..20 {
                let soon = Instant::now() + Duration::from_micros(300);
                tokio::select! {
                    biased;
                    _ = alarm.wait_until(soon) => {}
                    () = tokio::task::yield_now() => {}
                }
                // The cancelled timer may fire meanwhile.
                std::thread::sleep(Duration::from_micros(400));
                let due = Instant::now() + Duration::from_millis(2);
                alarm.wait_until(due).await.expect("a wait");
                assert!(Instant::now() >= due);
            }
        });
    }
}
