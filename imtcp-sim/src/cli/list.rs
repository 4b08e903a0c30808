//! `imtcp-sim list`.

use imtcp_sim::scenario::{Scenario, Sweep, listed, listed_sweeps};

/// Prints the names and titles of the built-in scenarios and sweeps.
pub fn print() -> Result<(), String> {
    let mut table = super::table(["scenario", "title"]);
    for listed in listed() {
        let title = match Scenario::load(listed.name, &[]) {
            Ok(scenario) => scenario.title,
            Err(error) => error.to_string(),
        };
        table.add_row([listed.name.to_owned(), title]);
    }
    say!("{table}")?;
    let mut table = super::table(["sweep", "title"]);
    for listed in listed_sweeps() {
        let title = match Sweep::load(listed.name) {
            Ok(sweep) => sweep.title,
            Err(error) => error.to_string(),
        };
        table.add_row([listed.name.to_owned(), title]);
    }
    say!("{table}")
}
