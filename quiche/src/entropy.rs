//! Seeded randomness for quiche's own choices, per thread.
//!
//! quiche draws random numbers for deliberate gaps in packet numbers, path challenges, GREASE and
//! the like. After [`seed_thread`] these come from a generator that repeats, so that a simulation
//! can be replayed. TLS is not touched: keys and nonces stay BoringSSL's, and what they decide
//! (the bytes on the wire, not their number or time) differs from run to run.
//!
//! A seeded thread must never carry real traffic: its path challenges can be guessed.

#![warn(clippy::all, missing_docs)]

use std::cell::Cell;

thread_local! {
    static STATE: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Makes quiche's own randomness on this thread a function of `seed`; `None` returns to the
/// operating system's.
pub fn seed_thread(seed: Option<u64>) {
    STATE.set(seed);
}

/// Fills `buf` from the thread's generator. Returns false, and writes nothing, when the thread has
/// no seed.
pub(crate) fn fill(buf: &mut [u8]) -> bool {
    let Some(mut state) = STATE.get() else {
        return false;
    };
    for chunk in buf.chunks_mut(8) {
        let word = split_mix(&mut state).to_ne_bytes();
        chunk.copy_from_slice(&word[..chunk.len()]);
    }
    STATE.set(Some(state));
    true
}

/// SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA
/// 2014. One addition and a mixing function: enough for choices that only have to be spread.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut word = *state;
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}
