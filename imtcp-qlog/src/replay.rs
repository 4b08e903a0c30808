//! Runs a measurement again from its log: the core of imtcp-cc is fed what it was fed when it was
//! live. With the parameters of then it does the same again, to the last bit. With others it tells
//! what it would have made of the same packets and acknowledgements. The packets left when they
//! left, though: other probe streams would have sent some of them at other times.

pub use crate::told::Told;

use crate::error::Error;
use crate::promises::{Change, Required};
use crate::read::{Kind, Log, Record};
use crate::told::Withdrawn;
use imtcp_cc::event::{Event, Subscriber};
use imtcp_cc::promise::{Bounds, Demand, Requirement};
use imtcp_cc::qlog::{
    CORE_INPUT, PARAMETERS_SET, Parameters, parse_input, parse_mode, parse_parameters,
};
use imtcp_cc::units::{Bandwidth, Timestamp};
use imtcp_cc::{Estimate, EstimatorKind, ImTcp, Input, Mode, PathInfo, Role};
use serde_json::Value;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// An estimate, and who made it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Made {
    /// When it was told, in the controller's time.
    pub at: Timestamp,
    /// By whom.
    pub estimator: EstimatorKind,
    /// The estimate.
    pub estimate: Estimate,
}

impl Told {
    /// Whether the two say the same.
    pub fn is(&self, made: &Made) -> bool {
        let estimate = &made.estimate;
        self.estimator == made.estimator.to_string()
            && self.available_bps == estimate.available.as_bps()
            && self.low_bps == estimate.low.as_bps()
            && self.high_bps.unwrap_or(u64::MAX) == estimate.high.as_bps()
            && self
                .flags
                .iter()
                .map(String::as_str)
                .eq(estimate.flags.names())
    }
}

/// What a replay gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// The parameters of the live controller.
    pub live: Parameters,
    /// The parameters of the replay.
    pub parameters: Parameters,
    /// How often the core was fed.
    pub inputs: u64,
    /// The estimates of the log.
    pub told: Vec<Told>,
    /// The estimates of the replay.
    pub made: Vec<Made>,
    /// When which estimator's estimate was withdrawn: how many estimates had been told before, and
    /// by whom.
    pub withdrawn: Vec<(usize, String)>,
    /// The same of the replay.
    pub withdrawn_again: Vec<(usize, String)>,
    /// What could not be repeated.
    pub doubts: Vec<String>,
}

impl Replay {
    /// Whether the replay gave the estimates of the log, all of them and in their order, and
    /// withdrew the same ones.
    pub fn is_exact(&self) -> bool {
        self.told.len() == self.made.len()
            && self.differences() == 0
            && self.withdrawn == self.withdrawn_again
    }

    /// How many estimates differ from the one at the same place of the log.
    pub fn differences(&self) -> usize {
        let pairs = self.told.iter().zip(&self.made);
        pairs.filter(|(told, made)| !told.is(made)).count()
    }

    /// Runs the measurement of a log again, with the parameters that `change` makes of the live
    /// ones.
    ///
    /// # Errors
    /// The log cannot be read, or lacks what the core was fed.
    pub fn of(
        log: &mut Log,
        change: impl FnOnce(Parameters) -> Result<Parameters, String>,
    ) -> Result<Self, Error> {
        let mut reading = Reading {
            change: Some(change),
            live: None,
            run: None,
            told: Vec::new(),
            withdrawn: Vec::new(),
            refused: None,
        };
        log.for_each(|record| {
            if record.kind != Kind::Imtcp || reading.refused.is_some() {
                return Ok(());
            }
            reading.take(record)
        })?;
        reading
            .end()
            .map_err(|Lacking { problem, remedy }| Error::Missing {
                path: log.name().to_owned(),
                problem,
                remedy: remedy.to_owned(),
            })
    }
}

/// A log that is being read for a replay.
struct Reading<C> {
    /// What makes the parameters of the replay of the live ones, until these have been read.
    change: Option<C>,
    live: Option<Parameters>,
    run: Option<Run>,
    told: Vec<Told>,
    withdrawn: Vec<(usize, String)>,
    /// Why there is no replay with the parameters that were asked for.
    refused: Option<String>,
}

/// Why a log cannot be replayed.
struct Lacking {
    problem: String,
    remedy: &'static str,
}

const LOG_FOR_A_REPLAY: &str = "write the log with `--qlog-replay` (imtcp-sim) or with \
                                `Factory::with_qlog_detail(Detail::Replay)`";

impl<C: FnOnce(Parameters) -> Result<Parameters, String>> Reading<C> {
    /// Takes an event of the controller's. The first path alone is replayed.
    fn take(&mut self, record: &Record<'_>) -> Result<(), String> {
        let wrong = |error: serde_json::Error| error.to_string();
        match record.name.as_ref() {
            PARAMETERS_SET => {
                let data: Value = record.data().map_err(wrong)?;
                self.begin(&data)?;
            }
            CORE_INPUT => {
                let data: Value = record.data().map_err(wrong)?;
                if let (Some(run), None) = (&mut self.run, data.get("path")) {
                    let (at, input) = parse_input(&data).map_err(|error| error.to_string())?;
                    run.next(at, input)?;
                }
            }
            "imtcp:mode_changed" => {
                let data: Value = record.data().map_err(wrong)?;
                if let (Some(run), None) = (&self.run, data.get("path")) {
                    run.set_mode(parse_mode(&data).map_err(|error| error.to_string())?)?;
                }
            }
            "imtcp:promise_changed" => {
                let change: Change = record.data().map_err(wrong)?;
                let (path, required) = change.checked().map_err(wrong)?;
                if let (Some(run), 0) = (&mut self.run, path) {
                    run.require(required)?;
                }
            }
            "imtcp:estimate_updated" => {
                let mut one: Told = record.data().map_err(wrong)?;
                one.time_ms = record.time_ms;
                self.told.extend(Some(one).filter(|one| one.path == 0));
            }
            "imtcp:estimate_withdrawn" => {
                let one: Withdrawn = record.data().map_err(wrong)?;
                if one.path == 0 {
                    self.withdrawn.push((self.told.len(), one.estimator));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// A controller says with what it began.
    fn begin(&mut self, data: &Value) -> Result<(), String> {
        if let Some(run) = &mut self.run {
            run.doubt("the connection has another path; what its controller did is left out");
            return Ok(());
        }
        let parameters = parse_parameters(data).map_err(|error| error.to_string())?;
        self.live = Some(parameters.clone());
        match self.change.take().map(|change| change(parameters)) {
            Some(Ok(parameters)) => self.run = Some(Run::new(parameters)),
            Some(Err(problem)) => self.refused = Some(problem),
            None => {}
        }
        Ok(())
    }

    fn end(self) -> Result<Replay, Lacking> {
        if let Some(problem) = self.refused {
            let remedy = "choose another value";
            return Err(Lacking { problem, remedy });
        }
        let lacking = |problem: &str| Lacking {
            problem: problem.to_owned(),
            remedy: LOG_FOR_A_REPLAY,
        };
        let (Some(live), Some(run)) = (self.live, self.run) else {
            return Err(lacking(
                "no controller of imtcp-cc says here with what it began",
            ));
        };
        match run.finish(live, self.told, self.withdrawn) {
            replay if replay.inputs > 0 => Ok(replay),
            _ => Err(lacking("the log does not have what the controller was fed")),
        }
    }
}

/// The longest time between two inputs. No connection is silent for so long: it has timers. The
/// core ends each slot of a promise in between, so time that jumps without a bound would keep it
/// busy without an end.
const LONGEST_SILENCE: Duration = Duration::from_secs(3600);

/// Keeps what a replay is about. Other events may come by the million between two inputs.
#[derive(Debug, Default)]
struct Heard(Mutex<Vec<(Timestamp, Event)>>);

impl Heard {
    fn take(&self) -> Vec<(Timestamp, Event)> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Subscriber for Heard {
    fn on_event(&self, at: Timestamp, event: &Event) {
        let is_wanted = matches!(
            event,
            Event::EstimateUpdated { .. } | Event::EstimateWithdrawn { .. }
        );
        if is_wanted {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.push((at, *event));
        }
    }
}

/// A core that is being fed. An input waits until the next one has been read: what the log says in
/// between happened while the core was taking it.
struct Run {
    core: ImTcp,
    heard: Arc<Heard>,
    parameters: Parameters,
    waiting: Option<(Timestamp, Input)>,
    /// When the last input came.
    last: Option<Timestamp>,
    inputs: u64,
    made: Vec<Made>,
    withdrawn: Vec<(usize, String)>,
    doubts: Vec<String>,
    /// Whether the requirement of the configuration came into force already.
    has_begun: bool,
}

/// The address of nobody (RFC 5737).
const NOBODY: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

impl Run {
    fn new(parameters: Parameters) -> Self {
        let heard = Arc::new(Heard::default());
        let Parameters {
            config,
            max_datagram,
            saved,
        } = parameters.clone();
        let nowhere = SocketAddr::new(NOBODY, 443);
        let path = PathInfo::new("replay".into(), Role::Server, nowhere, nowhere);
        let core = ImTcp::new(config, max_datagram, Some(heard.clone()));
        let core = match saved {
            Some(saved) => core.remembering(saved),
            None => core,
        };
        Self {
            core: core.on_path(path).bounded_by(&Bounds::default(), NOBODY),
            heard,
            has_begun: parameters.config.promise().is_none(),
            parameters,
            waiting: None,
            last: None,
            inputs: 0,
            made: Vec::new(),
            withdrawn: Vec::new(),
            doubts: Vec::new(),
        }
    }

    fn doubt(&mut self, text: &str) {
        if !self.doubts.iter().any(|doubt| doubt == text) {
            self.doubts.push(text.to_owned());
        }
    }

    fn next(&mut self, at: Timestamp, input: Input) -> Result<(), String> {
        let silence = self.last.map(|last| at.saturating_since(last));
        if let Some(silence) = silence.filter(|silence| *silence > LONGEST_SILENCE) {
            return Err(format!(
                "it comes {silence:?} after the input before; {LONGEST_SILENCE:?} are possible"
            ));
        }
        self.feed();
        self.last = Some(at);
        self.waiting = Some((at, input));
        Ok(())
    }

    fn feed(&mut self) {
        let Some((at, input)) = self.waiting.take() else {
            return;
        };
        self.core.apply(at, &input);
        self.inputs += 1;
        for (at, event) in self.heard.take() {
            match event {
                Event::EstimateUpdated {
                    estimator,
                    estimate,
                } => self.made.push(Made {
                    at,
                    estimator,
                    estimate,
                }),
                Event::EstimateWithdrawn { estimator } => {
                    let by = estimator.to_string();
                    self.withdrawn.push((self.made.len(), by));
                }
                _ => {}
            }
        }
    }

    /// The application had asked for this before the waiting input.
    fn set_mode(&self, mode: Mode) -> Result<(), String> {
        let promise = self.core.promise();
        promise.set_mode(mode).map_err(|error| error.to_string())
    }

    fn require(&mut self, required: Option<Required>) -> Result<(), String> {
        let Some(required) = required else {
            if self.has_begun {
                self.core.promise().withdraw();
            }
            return Ok(());
        };
        let demand = if required.demand == "exactly" {
            Demand::Exactly
        } else {
            Demand::AtLeast
        };
        let per = Duration::from_secs_f64((required.per_ms / 1e3).clamp(0.0, 3600.0));
        let requirement = Requirement::new(Bandwidth::from_bps(required.rate_bps), per)
            .map_err(|error| error.to_string())?
            .demand(demand);
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        // The core brings the requirement of its configuration into force by itself.
        if is_first && self.parameters.config.promise() == Some(requirement) {
            return Ok(());
        }
        if self.core.promise().require(requirement).is_err() {
            self.doubt("a requirement was refused that had been accepted");
        }
        Ok(())
    }

    fn finish(
        mut self,
        live: Parameters,
        told: Vec<Told>,
        withdrawn: Vec<(usize, String)>,
    ) -> Replay {
        self.feed();
        Replay {
            live,
            parameters: self.parameters,
            inputs: self.inputs,
            told,
            made: self.made,
            withdrawn,
            withdrawn_again: self.withdrawn,
            doubts: self.doubts,
        }
    }
}
