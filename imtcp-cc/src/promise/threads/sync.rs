//! What everything in this room is built of. The models in `tests/models/` put loom's in its place.

pub(super) use arc_swap::ArcSwap;
pub(super) use atomic_waker::AtomicWaker;
pub(super) use std::hint::spin_loop;
pub(super) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
pub(super) use std::sync::{Arc, Mutex};
