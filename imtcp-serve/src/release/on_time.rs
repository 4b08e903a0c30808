//! An application of tokio-quiche's whose packets leave at their times.

use super::Release;
use imtcp_cc::quiche::Controller;
use imtcp_examples::alarm::Alarm;
use std::time::{Duration, Instant};
use tokio_quiche::metrics::Metrics;
use tokio_quiche::quic::{HandshakeInfo, QuicheConnection};
use tokio_quiche::{ApplicationOverQuic, QuicResult};

/// What lies further ahead can wait for a timer of tokio's: it only asks again.
const SOON: Duration = Duration::from_millis(50);

/// An application, with a better timer.
#[derive(Debug)]
pub struct OnTime<A> {
    application: A,
    release: Release,
    /// Made when it is first needed. A connection that sends nothing needs none.
    alarm: Option<Alarm>,
}

/// What is waited for.
#[derive(Clone, Copy, Debug)]
struct Wait {
    until: Instant,
    /// Its distance from the packet before is measured with.
    is_in_sequence: bool,
}

impl<A> OnTime<A> {
    /// `release` is the choice that has been made, not `Auto`.
    pub fn new(application: A, release: Release) -> Self {
        Self {
            application,
            release,
            alarm: None,
        }
    }

    fn next(&mut self, connection: &mut QuicheConnection) -> Option<Wait> {
        if self.release == Release::Tokio {
            return None;
        }
        let now = Instant::now();
        // What is a little late already counts as well: tokio's timer would make it later still.
        let lately = now.checked_sub(SOON)?;
        let until = connection.get_next_release_time()?.time(lately)?;
        let controller = connection.congestion_controller::<Controller>()?;
        let is_in_sequence = controller.core().due_in_sequence().is_some();
        let is_soon = until.saturating_duration_since(now) < SOON;
        if is_soon && self.alarm.is_none() {
            match Alarm::new() {
                Ok(alarm) => self.alarm = Some(alarm),
                Err(error) => {
                    tracing::warn!(%error, "no timer of the kernel's: tokio's are used");
                    self.release = Release::Tokio;
                }
            }
        }
        is_soon.then_some(Wait {
            until,
            is_in_sequence,
        })
    }
}

async fn wait(alarm: &Alarm, wait: Wait, release: Release) {
    let waited = if wait.is_in_sequence && release == Release::Exact {
        alarm.wait_until(wait.until).await
    } else {
        alarm.sleep_until(wait.until).await
    };
    if waited.is_err() {
        // tokio's timer ends the wait.
        std::future::pending().await
    }
}

impl<A: ApplicationOverQuic> ApplicationOverQuic for OnTime<A> {
    fn on_conn_established(
        &mut self,
        connection: &mut QuicheConnection,
        handshake: &HandshakeInfo,
    ) -> QuicResult<()> {
        self.application.on_conn_established(connection, handshake)
    }

    fn should_act(&self) -> bool {
        self.application.should_act()
    }

    async fn wait_for_data(&mut self, connection: &mut QuicheConnection) -> QuicResult<()> {
        let next = self.next(connection);
        let (Some(next), Some(alarm)) = (next, &self.alarm) else {
            return self.application.wait_for_data(connection).await;
        };
        tokio::select! {
            biased;
            outcome = self.application.wait_for_data(connection) => outcome,
            () = wait(alarm, next, self.release) => {
                // As the worker does when its own timer ends. Then it asks for a packet.
                connection.on_timeout();
                Ok(())
            }
        }
    }

    fn process_reads(&mut self, connection: &mut QuicheConnection) -> QuicResult<()> {
        self.application.process_reads(connection)
    }

    fn process_writes(&mut self, connection: &mut QuicheConnection) -> QuicResult<()> {
        self.application.process_writes(connection)
    }

    fn on_conn_close<M: Metrics>(
        &mut self,
        connection: &mut QuicheConnection,
        metrics: &M,
        outcome: &QuicResult<()>,
    ) {
        self.application.on_conn_close(connection, metrics, outcome);
    }
}
