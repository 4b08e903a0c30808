//! A connection that takes up an earlier one's session, and so may send early data.

use quiche::Config;

use super::{base_config, server_config, World, DELAY};
use crate::controller::{factory, Script};

impl World {
    /// Two connections before their handshake. The client has the script as its controller and the
    /// session of another connection.
    pub fn resumed(script: Script) -> Self {
        let mut first = Self::between(resuming(), base_config(), 1);
        first.run_for(DELAY * 2);
        let session = first.client.session().expect("a ticket came").to_vec();
        drop(first);

        let mut client = server_config(factory(script));
        client.enable_early_data();
        let mut world = Self::of_both(resuming(), client, 2);
        world
            .client
            .set_session(&session)
            .expect("it is well-formed");
        world
    }
}

/// A server's configuration that takes early data from sessions of another connection.
fn resuming() -> Config {
    let mut config = base_config();
    config.enable_early_data();
    config.set_ticket_key(&[7; 48]).expect("a key of that size");
    config
}
