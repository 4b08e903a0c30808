//! Key updates that this side begins (RFC 9001, section 6). Upstream follows those of the peer.

#![warn(clippy::all, missing_docs)]

use std::time::Duration;
use std::time::Instant;

use crate::clock;
use crate::packet::Epoch;
use crate::packet::KeyUpdate;
use crate::recovery::RecoveryOps;
use crate::BufFactory;
use crate::Connection;
use crate::Error;
use crate::Result;

/// The former keys are kept so long for a peer that sends nothing under the new ones. A peer that
/// receives them answers within a round trip.
const PATIENCE: Duration = Duration::from_secs(3600);

/// So many probe timeouts after the peer's first packet under the new keys, those that it sent
/// under the former ones have come or are lost (section 6.5).
const LATE_PTOS: u32 = 3;

/// Where the update stands that this side began last.
#[derive(Debug, Default)]
pub(crate) struct KeyUpdates {
    /// The first packet under the present keys, if they are of an update of this side's.
    first_sent: Option<u64>,
    /// The peer has not answered yet.
    is_awaited: bool,
}

impl<F: BufFactory> Connection<F> {
    /// Begins a key update: the next packet leaves under new keys, and the peer follows.
    ///
    /// # Errors
    /// [`Error::InvalidState`] before the handshake is confirmed, and as long as the last update is
    /// not done with. It is worth trying again later.
    pub fn update_keys(&mut self) -> Result<()> {
        let context = &self.crypto_ctx[Epoch::Application];
        let (Some(open), Some(seal)) = (&context.crypto_open, &context.crypto_seal) else {
            return Err(Error::InvalidState);
        };
        if !self.handshake_confirmed || context.key_update.is_some() {
            return Err(Error::InvalidState);
        }
        // The peer may not be asked again before it has acknowledged the present keys.
        if let Some(first) = self.key_updates.first_sent {
            let recovery = &self.paths.get_active()?.recovery;
            let acknowledged = recovery.get_largest_acked_on_epoch(Epoch::Application);
            if acknowledged.is_none_or(|largest| largest < first) {
                return Err(Error::InvalidState);
            }
        }
        let (open, seal) = (
            open.derive_next_packet_key()?,
            seal.derive_next_packet_key()?,
        );
        let context = &mut self.crypto_ctx[Epoch::Application];
        context.crypto_seal = Some(seal);
        let former = context
            .crypto_open
            .replace(open)
            .ok_or(Error::InvalidState)?;
        context.key_update = Some(KeyUpdate {
            crypto_open: former,
            // Whatever the peer sends under the former keys, until it answers.
            pn_on_update: u64::MAX,
            update_acked: false,
            timer: clock::now() + PATIENCE,
        });
        self.key_phase = !self.key_phase;
        self.key_updates = KeyUpdates {
            first_sent: Some(self.next_pkt_num),
            is_awaited: true,
        };
        Ok(())
    }

    /// A packet of the present phase was decrypted. The first one answers this side's update: what
    /// was sent before it came under the former keys.
    pub(crate) fn on_key_phase_received(
        &mut self,
        epoch: Epoch,
        key_phase: bool,
        pn: u64,
        now: Instant,
    ) {
        if epoch != Epoch::Application
            || !self.key_updates.is_awaited
            || key_phase != self.key_phase
        {
            return;
        }
        self.key_updates.is_awaited = false;
        let Ok(path) = self.paths.get_active() else {
            return;
        };
        let late = path.recovery.pto() * LATE_PTOS;
        if let Some(update) = &mut self.crypto_ctx[epoch].key_update {
            update.pn_on_update = pn;
            update.timer = now + late;
        }
    }
}
