//! quinn, and noq, which grew out of it, as clients and as servers. Their types have the same names
//! and almost the same calls, but are different types. So `quinn.rs` and `noq.rs` each include the
//! folder `shared` as a module of their own, call their stack `proto`, and make the calls that
//! differ.

mod foreign;
pub(super) mod noq;
pub(super) mod quinn;
