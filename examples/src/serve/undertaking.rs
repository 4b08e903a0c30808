//! What is required on a connection, through the handle of its promise.

use crate::output::say;
use crate::slots::SlotLog;
use crate::timing::Timed;
use imtcp_cc::promise::{RejectedRequirement, Requirement};
use quiche::Connection;
use std::sync::Arc;

/// The requirement of one connection.
#[derive(Clone, Debug)]
pub(super) struct Undertaking {
    requirement: Requirement,
    log: Arc<SlotLog>,
    /// How it went when it was last tried.
    tried: Option<Attempt>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attempt {
    Required,
    Rejected,
}

impl Undertaking {
    pub(super) fn new(requirement: Requirement, log: Arc<SlotLog>) -> Self {
        Self {
            requirement,
            log,
            tried: None,
        }
    }

    /// Requires the rate if that has not been done, or was rejected and may be possible by now.
    /// Once is enough for a connection: the promise goes with it from path to path.
    ///
    /// Before the first acknowledgement a path knows nothing that could speak against it.
    pub(super) fn follow(&mut self, connection: &Connection) {
        let Some(timed) = connection.congestion_controller::<Timed>() else {
            return;
        };
        let before = self.tried;
        if before == Some(Attempt::Required) || !timed.is_acknowledged() {
            return;
        }
        let Some(controller) = timed.controller() else {
            return;
        };
        let attempt = match controller.promise().require(self.requirement) {
            Ok(()) => Attempt::Required,
            Err(_) if before.is_some() => Attempt::Rejected,
            Err(why) => {
                self.tell(connection, timed.number(), &why);
                Attempt::Rejected
            }
        };
        if attempt == Attempt::Required && before.is_some() {
            let name = connection.trace_id();
            say(format_args!("{name}: the promise is possible now"));
        }
        self.tried = Some(attempt);
    }

    fn tell(&self, connection: &Connection, path: u64, why: &RejectedRequirement) {
        let name = connection.trace_id();
        say(format_args!("{name}: no promise yet: {why}"));
        self.log.rejected(path, why);
    }
}
