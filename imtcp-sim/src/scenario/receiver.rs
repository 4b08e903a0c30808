//! `receiver = { ... }` of a flow: what its client is, and how it acknowledges.

use super::error::{Complaint, ScenarioError};
use super::host::{self, Host};
use super::quantity;
use super::reader::Entry;
use std::time::Duration;

/// What the client is, and how it acknowledges once the handshake is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receiver {
    /// Whose implementation it is.
    pub stack: Stack,
    /// After how many datagrams it acknowledges. For quiche alone: other stacks keep a cadence of
    /// their own.
    pub acknowledge: Acknowledge,
    /// The longest an acknowledgement waits; announced as the client's max_ack_delay. For quiche
    /// alone.
    pub delay: Duration,
    /// Whether it offers the acknowledgement-frequency extension
    /// (draft-ietf-quic-ack-frequency).
    pub ack_frequency: bool,
    /// Whether it tells when packets arrived, which the server then asks for
    /// (draft-ietf-quic-receive-ts). For quiche alone.
    pub receive_timestamps: bool,
    /// The machine that the client runs on.
    pub host: Host,
}

/// An implementation of QUIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stack {
    /// quiche, the servers' own.
    Quiche,
    /// quinn-proto.
    Quinn,
    /// noq-proto, which grew out of quinn-proto.
    Noq,
}

const STACKS: &[(&str, Stack)] = &[
    ("quiche", Stack::Quiche),
    ("quinn", Stack::Quinn),
    ("noq", Stack::Noq),
];

impl Stack {
    /// Its name in scenarios.
    pub fn name(self) -> &'static str {
        STACKS
            .iter()
            .find(|(_, stack)| *stack == self)
            .map_or("", |(name, _)| name)
    }
}

/// What makes a client acknowledge, apart from its timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledge {
    /// This number of datagrams, at least 1.
    Every(u32),
    /// The timer alone.
    Timer,
    /// As a receiver of TCP does in Linux: each of the first ones, then every second one.
    Tcp,
}

/// `receiver = { stack = "quiche", acknowledge = "every" | 2 | "timer", delay = "25 ms" }`, or
/// `receiver = { stack = "quinn" | "noq", ack_frequency = true }`.
pub(super) fn read(
    entry: Option<Entry<'_>>,
    mut receiver: Receiver,
) -> Result<Receiver, ScenarioError> {
    let Some(entry) = entry else {
        return Ok(receiver);
    };
    let mut section = entry.section()?;
    if let Some(entry) = section.optional("stack") {
        receiver.stack = entry.choice(STACKS)?;
        // The default is what the stack offers by itself.
        receiver.ack_frequency = receiver.stack != Stack::Quiche;
    }
    if let Some(entry) = section.optional("acknowledge") {
        for_quiche(&entry, receiver.stack)?;
        receiver.acknowledge = if entry.is_text() {
            entry.choice(&[
                ("every", Acknowledge::Every(1)),
                ("timer", Acknowledge::Timer),
                ("tcp", Acknowledge::Tcp),
            ])?
        } else {
            Acknowledge::Every(entry.count(1..=1000)?)
        };
    }
    if let Some(entry) = section.optional("delay") {
        for_quiche(&entry, receiver.stack)?;
        receiver.delay = entry.quantity(acknowledgement_delay)?;
    }
    if let Some(entry) = section.optional("ack_frequency") {
        receiver.ack_frequency = entry.boolean()?;
    }
    if let Some(entry) = section.optional("receive_timestamps") {
        for_quiche(&entry, receiver.stack)?;
        receiver.receive_timestamps = entry.boolean()?;
    }
    receiver.host = host::read(section.optional("host"))?;
    section.finish()?;
    Ok(receiver)
}

/// Rejects a key that other stacks have no setting for.
fn for_quiche(entry: &Entry<'_>, stack: Stack) -> Result<(), ScenarioError> {
    if stack == Stack::Quiche {
        return Ok(());
    }
    let problem = format!("{} acknowledges in a way of its own", stack.name());
    let remedy = "leave it out, or write stack = \"quiche\"";
    Err(entry.reject(Complaint::new(problem, remedy)))
}

/// The transport parameter counts whole milliseconds below 2^14 (RFC 9000, section 18.2).
fn acknowledgement_delay(text: &str) -> Result<Duration, Complaint> {
    let delay = quantity::span_above_zero(text)?;
    let whole = delay.subsec_nanos().is_multiple_of(1_000_000);
    if !whole || delay >= Duration::from_millis(1 << 14) {
        let problem = format!("{text} is no delay that QUIC can announce");
        return Err(Complaint::new(
            problem,
            "whole milliseconds, 1 ms to 16383 ms",
        ));
    }
    Ok(delay)
}
