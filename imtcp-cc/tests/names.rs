//! Controllers that are chosen by name. Any part of the process may register a name, once.
#![cfg(feature = "quiche")]

use imtcp_cc::Config;
use imtcp_cc::event::Recorder;
use imtcp_cc::quiche::{Factory, NAME, NAME_WITHOUT_MEASUREMENT, register, register_as};
use quiche::cc::{RegisterError, registered};
use std::sync::Arc;

fn with_window(packets: u32) -> Config {
    let builder = Config::builder().initial_window_packets(packets);
    builder.build().expect("within its range")
}

fn taken(name: &str) -> Result<(), RegisterError> {
    Err(RegisterError::Taken(name.to_owned()))
}

/// This file has a single test, because names are registered for the whole process.
#[test]
fn the_same_twice_is_no_error_and_another_one_is() {
    register(with_window(20)).expect("free names");
    register(with_window(20)).expect("the same");
    assert_eq!(register(Config::default()), taken(NAME));
    for name in [NAME, NAME_WITHOUT_MEASUREMENT] {
        assert!(registered(name).is_some(), "{name}");
    }

    let recorder = Arc::new(Recorder::default());
    let recorded = || Factory::new(Config::default()).with_subscriber(recorder.clone());
    register_as("recorded", recorded()).expect("a free name");
    register_as("recorded", recorded()).expect("the same, with the same subscriber");
    let other = Factory::new(Config::default()).with_subscriber(Arc::new(Recorder::default()));
    assert_eq!(register_as("recorded", other), taken("recorded"));
    let unrecorded = Factory::new(Config::default());
    assert_eq!(register_as("recorded", unrecorded), taken("recorded"));

    let own = register_as("cubic", Factory::new(Config::default()));
    assert_eq!(own, Err(RegisterError::BuiltIn("cubic".to_owned())));
    let mut config = quiche::Config::new(quiche::PROTOCOL_VERSION).expect("a configuration");
    for name in [NAME, NAME_WITHOUT_MEASUREMENT, "recorded"] {
        config.set_cc_algorithm_name(name).expect("it is known");
    }
}
