//! The project's chores: `cargo xtask <chore>`.

#[macro_use]
mod output;

mod abw_ping;
mod browser;
mod cost;
mod demo_real;
mod demo_video;
mod determinism;
mod doctor;
mod downstream;
mod figures;
mod fleet_test;
mod fuzz;
mod harm;
mod interop;
mod neighbours;
mod netem;
mod public_api;
mod quiche_tests;
mod real_path;
mod referee;
mod rivals;
mod seeds;
mod series;
mod soak;
mod testbed;
mod title;
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
    AbwPing(abw_ping::Arguments),
    Cost(cost::Arguments),
    Doctor(doctor::Arguments),
    QuicheTests(quiche_tests::Arguments),
    Series(series::Arguments),
    Downstream(downstream::Arguments),
    DemoReal(demo_real::Arguments),
    DemoVideo(demo_video::Arguments),
    RealPath(real_path::Arguments),
    #[command(hide = true)]
    PathEmulator(real_path::EmulatorArguments),
    Determinism(determinism::Arguments),
    Figures(figures::Arguments),
    FleetTest(fleet_test::Arguments),
    Fuzz(fuzz::Arguments),
    Harm(harm::Arguments),
    Interop(interop::Arguments),
    #[command(hide = true)]
    InteropLink(interop::LinkArguments),
    Netem(netem::Arguments),
    Neighbours(neighbours::Arguments),
    #[command(hide = true)]
    DelayProbe(neighbours::ProbeArguments),
    PublicApi(public_api::Arguments),
    Referee(referee::Arguments),
    Rivals(rivals::Arguments),
    Soak(soak::Arguments),
    Title(title::Arguments),
    Browser(browser::Arguments),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().chore {
        Chore::AbwPing(arguments) => abw_ping::run(&arguments),
        Chore::Cost(arguments) => cost::run(&arguments),
        Chore::Doctor(arguments) => doctor::run(&arguments),
        Chore::QuicheTests(arguments) => quiche_tests::run(&arguments),
        Chore::Series(arguments) => series::run(&arguments),
        Chore::Downstream(arguments) => downstream::run(&arguments),
        Chore::DemoReal(arguments) => demo_real::run(&arguments),
        Chore::DemoVideo(arguments) => demo_video::run(&arguments),
        Chore::RealPath(arguments) => real_path::run(&arguments),
        Chore::PathEmulator(arguments) => real_path::emulate(&arguments),
        Chore::Determinism(arguments) => determinism::run(&arguments),
        Chore::Figures(arguments) => figures::run(&arguments),
        Chore::FleetTest(arguments) => fleet_test::run(&arguments),
        Chore::Fuzz(arguments) => fuzz::run(&arguments),
        Chore::Harm(arguments) => harm::run(&arguments),
        Chore::Interop(arguments) => interop::run(&arguments),
        Chore::InteropLink(arguments) => interop::run_link(&arguments),
        Chore::Netem(arguments) => netem::run(&arguments),
        Chore::Neighbours(arguments) => neighbours::run(&arguments),
        Chore::DelayProbe(arguments) => neighbours::probe(&arguments),
        Chore::PublicApi(arguments) => public_api::run(&arguments),
        Chore::Referee(arguments) => referee::run(&arguments),
        Chore::Rivals(arguments) => rivals::run(&arguments),
        Chore::Soak(arguments) => soak::run(&arguments),
        Chore::Title(arguments) => title::run(&arguments),
        Chore::Browser(arguments) => browser::run(&arguments),
    };
    outcome.unwrap_or_else(|error| {
        if error.is::<output::ReaderGone>() {
            return ExitCode::FAILURE;
        }
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
