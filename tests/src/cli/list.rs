//! `imtcp-sim list`.

use imtcp_sim::scenario::{Scenario, listed};

/// Prints the names and titles of the built-in scenarios.
pub fn print() {
    let mut table = super::table(["scenario", "title"]);
    for listed in listed() {
        let title = match Scenario::load(listed.name, &[]) {
            Ok(scenario) => scenario.title,
            Err(error) => error.to_string(),
        };
        table.add_row([listed.name.to_owned(), title]);
    }
    println!("{table}");
}
