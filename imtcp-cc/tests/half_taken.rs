//! If one of the two controller names is taken, registration fails and the other stays free.
#![cfg(feature = "quiche")]

use imtcp_cc::Config;
use imtcp_cc::quiche::{Factory, NAME, NAME_WITHOUT_MEASUREMENT, register};
use quiche::cc::{RegisterError, registered};
use std::sync::Arc;

/// This test has a process of its own, because names are registered for the whole process.
#[test]
fn registering_never_half_succeeds() {
    let other = Arc::new(Factory::new(Config::default()));
    quiche::cc::register(NAME_WITHOUT_MEASUREMENT, other).expect("a free name");
    let taken = RegisterError::Taken(NAME_WITHOUT_MEASUREMENT.to_owned());
    assert_eq!(register(Config::default()), Err(taken.clone()));
    assert!(registered(NAME).is_none());
    assert_eq!(register(Config::default()), Err(taken), "nor later");
}
