//! Predictable throughput: an application names a rate over a period. The window is steered so
//! that the application gets this rate, and the application is told in time when it will not (PT;
//! docs/ALGORITHM.md lists the paper).
//!
//! ```text
//!  application threads             |  packet path
//!                                  |
//!  Promise::require ---- mailbox --+--> Keeper --- k ---> window law
//!  Promise::can_promise <- bulletin +--- Keeper <-- acknowledged bytes, estimate, capacity
//!  SlotReports::next <---- ring ---+--- Keeper
//!  StatusChanges::next <- bulletin +--- Keeper
//! ```
//!
//! A connection has one promise. Each of its paths has a keeper with a seat, and the seat of the
//! path that data takes is in charge. When the connection changes its path, the promise is carried
//! over: [`Promise`] says what that means for whoever holds the handle.
//!
//! Time is cut into *evaluation slots* of one period each; for each of them a promise is kept or
//! not. Evaluation slots are cut into *control slots* of a few round trips. Each control slot has
//! a target that makes up for the one before. With every acknowledgement the slope k of congestion
//! avoidance is chosen so that the control slot meets its target, within bounds that come from the
//! available bandwidth and the capacity.
//!
//! The promises of a process on one path share their bounds ([`Bounds`]): what they take from
//! others, and the flows that they stand for. Who comes first is served first, and who does not fit
//! is told so, and competes like any other flow.
//!
//! A promise counts *goodput*: bytes of UDP payload that are newly acknowledged, less
//! [`crate::Config::packet_overhead`] for each packet. Data that is sent twice counts once: a lost
//! packet is never acknowledged, and a probe counts only in place of one.

mod answers;
mod bulletin;
mod changes;
mod dropped;
mod exit;
mod forecast;
mod handle;
mod history;
mod keeper;
mod law;
mod ledger;
mod loss_intervals;
mod margin;
mod readers;
mod repeats;
mod requirement;
mod running;
mod seat;
mod share;
mod slot_length;
mod slots;
mod status;
mod steering;
mod threads;
mod weight;

pub use changes::Changes;
pub use forecast::Outlook;
pub use handle::Promise;
pub use history::History;
pub use law::PromiseLaw;
pub use ledger::{Grant, Ledger, PathLimits, Refused};
pub use readers::{SlotReports, StatusChanges};
pub use requirement::{Demand, RejectedRequirement, Requirement};
pub use share::Bounds;
pub use slot_length::SlotLengthRule;
pub use status::{Cause, Outcome, SlotReport, Status};

pub(crate) use keeper::{Keeper, KeeperSettings};
