//! The project's chores: `cargo xtask <chore>`.

mod demo_real;
mod determinism;
mod doctor;
mod downstream;
mod fuzz;
mod quiche_tests;
mod series;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The project's chores.
#[derive(Parser)]
#[command(name = "cargo xtask", version)]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    Doctor(doctor::Arguments),
    QuicheTests(quiche_tests::Arguments),
    Series(series::Arguments),
    Downstream(downstream::Arguments),
    DemoReal(demo_real::Arguments),
    Determinism(determinism::Arguments),
    Fuzz(fuzz::Arguments),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().chore {
        Chore::Doctor(arguments) => doctor::run(&arguments),
        Chore::QuicheTests(arguments) => quiche_tests::run(&arguments),
        Chore::Series(arguments) => series::run(&arguments),
        Chore::Downstream(arguments) => downstream::run(&arguments),
        Chore::DemoReal(arguments) => demo_real::run(&arguments),
        Chore::Determinism(arguments) => determinism::run(&arguments),
        Chore::Fuzz(arguments) => fuzz::run(&arguments),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
