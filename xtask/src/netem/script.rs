//! A plan as a shell script. It runs as it is: in namespaces of this machine, or in the guest.
//!
//! Where it runs, `$IP` and `$TC` are the tools, `$BIN` is the folder of our programs, `$NS` begins
//! the namespaces' names, and `$OUT` is the folder for what the programs say. Times are hundredths
//! of a second, as /proc/uptime has them.

use std::fmt::Write;

use super::path::{self, CLIENT, SERVER};
use super::scenario::{Flow, Plan, Promise, Sender};

/// Lines with this in front are for the user.
pub const PROGRESS: &str = "progress: ";

/// The file that tells that all is done.
pub const DONE: &str = "done";

/// The user hears of the time that has passed whenever so many seconds have.
const PROGRESS_EVERY_S: f64 = 2.0;

/// The first port of QUIC servers, and of TCP receivers.
const QUIC_PORT: usize = 4433;
const TCP_PORT: usize = 5201;

/// What every script begins with. `at` sleeps in short pieces, so that the script hears of signals.
pub const FUNCTIONS: &str = r#"now() { read -r up rest < /proc/uptime; echo "${up%.*}${up#*.}"; }
at() {
    while left=$(($1 - $(now) + BEGAN)); [ "$left" -gt 0 ]; do
        if [ "$left" -gt 20 ]; then left=20; fi
        sleep "0.$(printf %02d "$left")"
    done
}
listens() {
    tries=0
    until grep -q 'listening on' "$OUT/$1.err"; do
        tries=$((tries + 1))
        if [ "$tries" -gt 400 ]; then echo "error: $1 does not begin"; cat "$OUT/$1.err"; exit 1; fi
        sleep 0.05
    done
}
ends() {
    wait "$2" || { echo "error: $1 failed"; cat "$OUT/$1.err"; exit 1; }
}
trap 'kill $(jobs -p); exit 1' INT TERM
"#;

/// What a run varies.
#[derive(Clone, Copy, Debug)]
pub struct Variation<'a> {
    /// Which run it is, from 1 on. Flows that begin at random begin at other times in each.
    pub run: u32,
    /// The congestion control of the kernel's flows.
    pub kernel_control: &'a str,
}

/// The whole script.
pub fn of(plan: &Plan, variation: Variation<'_>) -> String {
    let mut text = FUNCTIONS.to_owned();
    for line in path::commands(plan) {
        // A link or a bucket that is not as it should be would spoil everything quietly.
        let _ = writeln!(text, "{line} || exit 1");
    }
    let ends: Vec<Ends> = (0..).zip(&plan.flows).map(Ends::of).collect();
    text += "truncate -s 8G \"$OUT/../root/big\"\n";
    for end in &ends {
        text += &end.listening();
    }
    text += "BEGAN=$(now); echo $BEGAN > \"$OUT/began\"\n";
    text += &format!(
        "$IP netns exec $NS-server ping -i 0.1 {CLIENT} > \"$OUT/ping.out\" 2>&1 &\nPING=$!\n"
    );
    for (at_s, line) in events(plan, &ends, variation) {
        let _ = writeln!(text, "at {}\n{line}", hundredths(at_s));
    }
    let _ = writeln!(text, "at {}", hundredths(plan.duration_s));
    for end in &ends {
        text += &end.stopping();
    }
    text += "kill -INT $PING\nwait $PING\n\
             $TC -n $NS-before -s qdisc show > \"$OUT/before.txt\"\n\
             $TC -n $NS-behind -s qdisc show > \"$OUT/behind.txt\"\n";
    let _ = writeln!(text, "echo yes > \"$OUT/{DONE}\"");
    text
}

/// What happens after the beginning, in order.
fn events(plan: &Plan, ends: &[Ends<'_>], variation: Variation<'_>) -> Vec<(f64, String)> {
    let mut events = path::steps(plan);
    for (index, end) in (0..).zip(ends) {
        let start_s = end.flow.start_s + end.flow.start_within_s * share(variation.run, index);
        events.push((start_s, end.starting(start_s, variation.kernel_control)));
    }
    let mut told_s = PROGRESS_EVERY_S;
    while told_s < plan.duration_s {
        let all_s = plan.duration_s;
        events.push((told_s, format!("echo '{PROGRESS}{told_s} of {all_s} s'")));
        told_s += PROGRESS_EVERY_S;
    }
    events.sort_by(|one, other| one.0.total_cmp(&other.0));
    events
}

/// Where in its span a flow begins, 0 to 1. Any number of flows and runs are spread evenly.
fn share(run: u32, index: u32) -> f64 {
    (f64::from(run * 7 + index) * 0.618_034).fract()
}

#[expect(clippy::cast_possible_truncation, reason = "no scenario lasts that long")]
fn hundredths(seconds: f64) -> i64 {
    (seconds * 100.0).round() as i64
}

/// Both ends of a flow.
struct Ends<'a> {
    flow: &'a Flow,
    index: usize,
}

impl<'a> Ends<'a> {
    fn of((index, flow): (usize, &'a Flow)) -> Self {
        Self { flow, index }
    }

    /// Starts the end that listens.
    fn listening(&self) -> String {
        let (name, index) = (&self.flow.name, self.index);
        match &self.flow.sender {
            Sender::Quic { controller, .. } => {
                let promise = self
                    .flow
                    .promise
                    .filter(|_| controller.starts_with("imtcp"));
                let promise = promise.map_or(String::new(), |promise| {
                    format!(
                        " --promise '{}' --slots \"$OUT/{name}-slots.csv\"",
                        words(promise)
                    )
                });
                format!(
                    "now > \"$OUT/{name}-server.began\"\n\
                     $IP netns exec $NS-server \"$BIN/serve\" --root \"$OUT/../root\" \
                     --listen {SERVER}:{} --controller {controller} \
                     --estimates \"$OUT/{name}-estimates.csv\" --stats --json{promise} \
                     > \"$OUT/{name}-server.out\" 2> \"$OUT/{name}-server.err\" &\n\
                     LISTENS_{index}=$!\nlistens {name}-server\n",
                    QUIC_PORT + index
                )
            }
            Sender::Kernel => format!(
                "$IP netns exec $NS-client \"$BIN/crosstraffic\" tcp-receive --listen {CLIENT}:{} \
                 > \"$OUT/{name}-receive.out\" 2> \"$OUT/{name}-receive.err\" &\n\
                 LISTENS_{index}=$!\nlistens {name}-receive\n",
                TCP_PORT + index
            ),
        }
    }

    /// Starts the end that connects.
    fn starting(&self, start_s: f64, kernel_control: &str) -> String {
        let (name, index) = (&self.flow.name, self.index);
        match self.flow.sender {
            Sender::Quic {
                ack_frequency,
                receive_timestamps,
                ..
            } => {
                let mut options = String::new();
                if !ack_frequency {
                    options += " --no-ack-frequency";
                }
                if !receive_timestamps {
                    options += " --no-receive-timestamps";
                }
                // `fetch` counts whole seconds.
                let seconds = (self.flow.stop_s - start_s).floor().max(1.0);
                format!(
                    "$IP netns exec $NS-client \"$BIN/fetch\" https://{SERVER}:{}/big --insecure \
                     --json --seconds {seconds} --arrivals \"$OUT/{name}-arrivals.csv\"{options} \
                     > \"$OUT/{name}-fetch.out\" 2> \"$OUT/{name}-fetch.err\" &\n\
                     CONNECTS_{index}=$!",
                    QUIC_PORT + index
                )
            }
            Sender::Kernel => format!(
                "$IP netns exec $NS-server \"$BIN/crosstraffic\" tcp-send --to {CLIENT}:{} \
                 --congestion-control {kernel_control} > \"$OUT/{name}-send.out\" \
                 2> \"$OUT/{name}-send.err\" &\nCONNECTS_{index}=$!",
                TCP_PORT + index
            ),
        }
    }

    fn stopping(&self) -> String {
        let (name, index) = (&self.flow.name, self.index);
        match self.flow.sender {
            Sender::Quic { .. } => format!(
                "ends {name}-fetch $CONNECTS_{index}\nkill $LISTENS_{index}\n\
                 ends {name}-server $LISTENS_{index}\n"
            ),
            // The sender's connection breaks, so how it ends says nothing.
            Sender::Kernel => format!(
                "kill $LISTENS_{index}\nends {name}-receive $LISTENS_{index}\n\
                 kill $CONNECTS_{index}\nwait $CONNECTS_{index}\n"
            ),
        }
    }
}

/// As `serve --promise` has it.
fn words(promise: Promise) -> String {
    let demand = if promise.exactly {
        "exactly"
    } else {
        "at least"
    };
    let nanoseconds = promise.per_s * 1e9;
    format!(
        "{demand} {} bit/s per {nanoseconds:.0} ns",
        promise.rate_bps
    )
}

#[cfg(test)]
mod tests {
    use super::super::scenario::tests::described;
    use super::*;

    const FIRST: Variation<'_> = Variation {
        run: 1,
        kernel_control: "bbr",
    };

    fn script(change: impl Fn(&mut serde_json::Value)) -> String {
        of(&Plan::of(described(change)).expect("plain"), FIRST)
    }

    #[test]
    fn everything_happens_in_order() {
        let text = script(|_| {});
        let place = |words: &str| {
            text.find(words)
                .unwrap_or_else(|| panic!("{words}: {text}"))
        };
        let order = [
            "dev right root handle 1:",
            "$BIN/serve\"",
            "BEGAN=",
            "$BIN/fetch\" https://198.18.0.1:4433/big",
            "progress: 6 of 20 s",
            "at 700\n",
            "qdisc change",
            "progress: 8 of 20 s",
            "at 2000\n",
            "ends main-fetch",
            "echo yes",
        ];
        let places: Vec<usize> = order.into_iter().map(place).collect();
        assert!(places.is_sorted(), "{places:?}\n{text}");
    }

    #[test]
    fn folders_with_blanks_stay_one_word() {
        let promise = serde_json::json!({"rate_bps": 4_000_000, "per_s": 2.0, "exactly": false});
        let quic = script(|value| value["flows"][0]["promise"] = promise.clone());
        let kernel = script(|value| value["flows"][0]["controller"] = "tcp-cubic".into());
        for text in [quic, kernel, super::super::gaps::script()] {
            for folder in ["$OUT", "$BIN"] {
                let all = text.matches(folder).count();
                let quoted = text.matches(&format!("\"{folder}/")).count();
                assert!(all > 0 && all == quoted, "{folder}: {text}");
            }
        }
    }

    #[test]
    fn a_client_says_what_the_scenario_has_it_say() {
        let text = script(|_| {});
        assert!(text.contains("--no-ack-frequency --no-receive-timestamps"));
        let text = script(|value| value["flows"][0]["ack_frequency"] = true.into());
        assert!(!text.contains("--no-ack-frequency"));
    }

    #[test]
    fn the_kernel_sends_by_the_control_that_was_asked_for() {
        let text = script(|value| value["flows"][0]["controller"] = "tcp-cubic".into());
        assert!(text.contains("tcp-send --to 198.18.0.10:5201 --congestion-control bbr"));
        assert!(!text.contains("$BIN/serve"));
    }

    #[test]
    fn a_promise_is_asked_for_in_words_that_the_server_knows() {
        let promise = serde_json::json!({"rate_bps": 4_000_000, "per_s": 2.0, "exactly": false});
        let text = script(|value| value["flows"][0]["promise"] = promise.clone());
        let expected = "--promise 'at least 4000000 bit/s per 2000000000 ns'";
        assert!(text.contains(expected), "{text}");
    }
}
