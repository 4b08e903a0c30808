//! A small path to run flows on.

use imtcp_sim::result::RunResult;
use imtcp_sim::run::RunOptions;
use imtcp_sim::scenario::Scenario;

/// One link of 10 Mbit/s and 20 ms each way with a queue of one bandwidth-delay product.
#[derive(Clone, Debug)]
pub struct Path {
    seconds: u32,
    link: String,
    rest: String,
}

impl Default for Path {
    fn default() -> Self {
        Self {
            seconds: 15,
            link: String::new(),
            rest: String::new(),
        }
    }
}

impl Path {
    /// Lasts so many seconds.
    #[allow(dead_code, reason = "each test binary uses a part of this module")]
    pub fn lasting(mut self, seconds: u32) -> Self {
        self.seconds = seconds;
        self
    }

    /// Adds lines to the link.
    #[allow(dead_code, reason = "each test binary uses a part of this module")]
    pub fn link(mut self, lines: &str) -> Self {
        self.link = lines.to_owned();
        self
    }

    /// Adds cross traffic.
    #[allow(dead_code, reason = "each test binary uses a part of this module")]
    pub fn traffic(mut self, lines: &str) -> Self {
        self.rest += &format!("[[traffic]]\nlink = \"bottleneck\"\n{lines}\n");
        self
    }

    /// Adds a flow.
    #[allow(dead_code, reason = "each test binary uses a part of this module")]
    pub fn flow(mut self, name: &str, controller: &str, application: &str, lines: &str) -> Self {
        self.rest += &format!(
            "[[flow]]\nname = \"{name}\"\ncontroller = \"{controller}\"\n\
             application = {application}\n{lines}\n"
        );
        self
    }

    /// The scenario.
    #[allow(dead_code, reason = "each test binary uses a part of this module")]
    pub fn scenario(&self) -> Scenario {
        let text = format!(
            "name = \"test\"\ntitle = \"a test\"\nduration = \"{} s\"\n\
             [[link]]\nname = \"bottleneck\"\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\n\
             queue = \"50 KB\"\n{}\n{}",
            self.seconds, self.link, self.rest
        );
        Scenario::parse("test.toml", &text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }
}

/// Runs a scenario that is written out.
#[allow(dead_code, reason = "each test binary uses a part of this module")]
pub fn run_text(text: &str) -> RunResult {
    let scenario = Scenario::parse("test.toml", text, &[]);
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}\n{text}"));
    let result = scenario.run(1, RunOptions::default());
    result.unwrap_or_else(|error| panic!("{error}"))
}

/// Runs it.
#[allow(dead_code, reason = "each test binary uses a part of this module")]
pub fn run(path: &Path, seed: u64) -> RunResult {
    let result = path.scenario().run(seed, RunOptions::default());
    result.unwrap_or_else(|error| panic!("seed {seed}: {error}"))
}
