//! Paths that nobody thought of. Whatever the scenario, a run ends, conserves bytes, and repeats.

use imtcp_sim::random::Random;
use imtcp_sim::result::RunResult;
use imtcp_sim::run::RunOptions;
use imtcp_sim::scenario::Scenario;

/// Paths drawn for each test run; each simulates 4 s.
const PATHS: u64 = 40;

/// Draws scenarios.
struct Draw(Random);

impl Draw {
    /// Between two values, with equal chances for equal ratios.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low * libm::pow(high / low, self.0.uniform())
    }

    fn one_of<'c>(&mut self, choices: &[&'c str]) -> &'c str {
        let index = self.0.uniform() * choices.len() as f64;
        let chosen = choices
            .iter()
            .enumerate()
            .find(|(i, _)| index < (*i + 1) as f64);
        chosen.map_or(choices[0], |(_, choice)| choice)
    }

    fn link(&mut self, name: &str) -> String {
        let rate = self.between(0.3, 80.0);
        let delay = self.between(0.05, 120.0);
        let queue = match self.0.chance(0.5) {
            true => format!("{:.0} B", self.between(3_000.0, 2e6)),
            false => format!("{:.0} packets", self.between(2.0, 1000.0)),
        };
        let loss = self.one_of(&["", "loss = { rate = \"0.5 %\" }", LOSS_BURSTS]);
        let reverse = self.one_of(&["", "reverse = { rate = \"200 kbit/s\" }", THINNED]);
        format!(
            "[[link]]\nname = \"{name}\"\nrate = \"{rate:.3} Mbit/s\"\ndelay = \"{delay:.3} ms\"\n\
             queue = \"{queue}\"\nsteps = [{{ at = \"2 s\", rate = \"{:.3} Mbit/s\" }}]\n\
             {loss}\n{reverse}\n",
            self.between(0.3, 80.0)
        )
    }

    fn traffic(&mut self, index: usize) -> String {
        let kind = self.one_of(&[
            "\"cbr\"",
            "\"poisson\"",
            "\"onoff\"\non = \"30 ms\"\noff = \"70 ms\"\nperiods = \"exponential\"",
            "\"web\"",
        ]);
        format!(
            "[[traffic]]\nname = \"cross-{index}\"\nlink = \"{}\"\ndirection = \"{}\"\n\
             kind = {kind}\nsizes = \"{}\"\nrate = \"{:.3} Mbit/s\"\n",
            self.one_of(&["near", "far"]),
            self.one_of(&["forward", "reverse"]),
            self.one_of(&["mix", "40 B", "1200 B"]),
            self.between(0.05, 10.0)
        )
    }

    fn flow(&mut self, index: usize) -> String {
        let application = self.one_of(&[
            "\"bulk\"",
            "\"bulk\", size = \"200 KB\"",
            "\"frames\", rate = \"1 Mbit/s\", per_second = 25",
            "\"chunks\", rate = \"2 Mbit/s\", period = \"700 ms\"",
            "\"datagrams\", rate = \"3 Mbit/s\"",
            "\"datagrams\", rate = \"500 kbit/s\", size = \"100 B\"",
        ]);
        let receiver = self.one_of(&[
            "",
            "receiver = { acknowledge = 2 }",
            "receiver = { acknowledge = \"timer\", delay = \"40 ms\" }",
            "receiver = { acknowledge = 2, ack_frequency = true }",
            "receiver = { stack = \"quinn\" }",
            "receiver = { stack = \"noq\", ack_frequency = false }",
        ]);
        format!(
            "[[flow]]\nname = \"flow-{index}\"\ncontroller = \"{}\"\n\
             application = {{ kind = {application} }}\n{receiver}\n{}\nstart = \"{:.0} ms\"\n",
            self.one_of(&["imtcp", "imtcp", "imtcp", "reno", "cubic", "bbr2"]),
            self.one_of(&["", "to = \"near\"", "from = \"far\"", "stop = \"3 s\""]),
            self.between(1.0, 1500.0)
        )
    }

    fn scenario(&mut self) -> String {
        let mut text = "name = \"random\"\ntitle = \"drawn\"\nduration = \"4 s\"\n".to_owned();
        text += &self.link("near");
        text += &self.link("far");
        for index in 0..3 {
            text += &self.traffic(index);
        }
        for index in 0..3 {
            text += &self.flow(index);
        }
        text
    }
}

const LOSS_BURSTS: &str = "loss = { rate = \"2 %\", burst_packets = 8 }";
const THINNED: &str = "reverse = { keep_every_acknowledgement = 3, queue = \"10 packets\" }";

fn run(text: &str, seed: u64) -> RunResult {
    let scenario = Scenario::parse("random.toml", text, &[]);
    let scenario = scenario.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
    let result = scenario.run(seed, RunOptions::default());
    result.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"))
}

#[test]
fn every_run_ends_and_conserves_bytes() {
    let mut delivered = 0;
    for seed in 0..PATHS {
        let text = Draw(Random::for_component(seed, "random paths")).scenario();
        let result = run(&text, seed);
        for link in &result.links {
            for (way, counters) in [("forward", link.forward), ("reverse", link.reverse)] {
                let gone = counters.crossed.packets
                    + counters.overflowed.packets
                    + counters.thinned.packets;
                assert!(
                    gone <= counters.offered.packets,
                    "seed {seed}: {} {way}\n{text}",
                    link.name
                );
                assert!(
                    counters.lost.packets <= counters.crossed.packets,
                    "seed {seed}\n{text}"
                );
            }
        }
        for flow in &result.flows {
            assert_eq!(flow.ended, None, "seed {seed}: {}\n{text}", flow.name);
            delivered += usize::from(flow.goodput_bps > 0);
        }
    }
    // Some paths are all but closed to a flow; most are not.
    assert!(
        delivered > 80,
        "only {delivered} of 120 flows delivered anything"
    );
}

#[test]
fn every_run_repeats() {
    for seed in (0..PATHS).step_by(8) {
        let text = Draw(Random::for_component(seed, "random paths")).scenario();
        let [first, second] = [(); 2].map(|()| {
            serde_json::to_string(&run(&text, seed)).expect("a result can be serialised")
        });
        assert!(first == second, "seed {seed} does not repeat\n{text}");
    }
}
