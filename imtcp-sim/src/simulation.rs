//! Runs a scenario: wires links, cross traffic and endpoints to the event list.

mod tools;

use crate::endpoint::{Outbox, Pair, PairError, Pool, Side, Surroundings, VirtualClock};
use crate::engine::Agenda;
use crate::network::{Added, Direction, FlowId, HopId, Network, Onward, Owner, Packet, ToolId};
use crate::random::Random;
use crate::record::Record;
use crate::run::{Qlog, RunError};
use crate::scenario::{Flow, Scenario, Stack};
use crate::tool::{Runner, Wishes};
use crate::traffic::{Emission, Source};
use imtcp_cc::quiche::Factory;
use imtcp_cc::units::Timestamp;
use imtcp_qlog::write::{Outcome, create};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// How often the state of the flows is sampled. It is sampled at the end as well.
pub const SAMPLING: Duration = Duration::from_millis(100);

/// Something that happens on its own at a certain time.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// A hop's transmitter finishes a packet.
    Finish(HopId),
    /// A packet leaves a hop's pipe.
    Arrive(HopId),
    /// A source of cross traffic sends a packet.
    Emit(usize, Emission),
    /// A flow's client connects.
    Start(FlowId),
    /// A flow's server closes.
    Stop(FlowId),
    /// An endpoint's timer fires, or the endpoint gets the datagrams that have come.
    Wake(FlowId, Side),
    /// A packet of a flow has left the machine that sends it.
    Leave(FlowId, Direction),
    /// A tool has something to do.
    Measure(ToolId),
    /// The state of the flows is sampled.
    Sample,
}

/// A run in progress.
pub struct Simulation<'s> {
    scenario: &'s Scenario,
    seed: u64,
    end: Timestamp,
    agenda: Agenda<Event>,
    network: Network,
    sources: Vec<Source>,
    pairs: Vec<Pair>,
    clock: VirtualClock,
    tools: Vec<Runner>,
    /// What tools add to the queues of the forward hops; empty without tools.
    added: Vec<Added>,
    wishes: Wishes,
    pool: Pool,
    outbox: Outbox,
    /// Packets on the lines of the sending machines, by flow, forward and reverse.
    leaving: Vec<[VecDeque<Packet>; 2]>,
    record: Record,
    /// The end was reached, and the state of the flows is recorded there too.
    is_over: bool,
    /// What became of the qlogs, by their files.
    qlogs: Vec<(String, Outcome)>,
}

impl<'s> Simulation<'s> {
    /// Prepares a run. Only one simulation at a time may run on a thread: it owns the clock that
    /// the thread's connections read.
    ///
    /// # Errors
    /// A flow's endpoints cannot be set up.
    pub fn new(scenario: &'s Scenario, seed: u64) -> Result<Self, PairError> {
        let links: Vec<_> = scenario
            .links
            .iter()
            .map(|link| {
                (
                    link.name.as_str(),
                    link.forward.clone(),
                    link.reverse.clone(),
                )
            })
            .collect();
        let routes = scenario.flows.iter().map(|flow| flow.route).collect();
        let tool_routes = scenario.tools.iter().map(|tool| tool.route).collect();
        let tools = scenario.tools.iter().enumerate();
        let watched = scenario.links.iter().filter(|_| !scenario.tools.is_empty());
        let source = |traffic: &crate::scenario::Traffic| {
            let name = format!("traffic.{}", traffic.name);
            Source::new(&traffic.source, Random::for_component(seed, &name))
        };
        let mut processes: BTreeMap<&str, Factory> = BTreeMap::new();
        let pair = |(index, flow): (usize, &'s Flow)| {
            let new = || Factory::new(imtcp_cc::Config::default());
            let process = flow.process.as_deref();
            let process = process.map(|name| &*processes.entry(name).or_insert_with(new));
            Pair::new(FlowId(index), flow, seed, process)
        };
        let mut simulation = Self {
            scenario,
            seed,
            end: scenario.end(),
            agenda: Agenda::default(),
            network: Network::new(&links, routes, tool_routes, seed),
            sources: scenario.traffic.iter().map(source).collect(),
            pairs: scenario
                .flows
                .iter()
                .enumerate()
                .map(pair)
                .collect::<Result<_, _>>()?,
            clock: VirtualClock::start(seed),
            tools: tools
                .map(|(index, tool)| Runner::new(ToolId(index), tool, seed))
                .collect(),
            added: watched.map(|link| Added::new(&link.forward)).collect(),
            wishes: Wishes::default(),
            pool: Pool::default(),
            outbox: Outbox::default(),
            leaving: scenario.flows.iter().map(|_| Default::default()).collect(),
            record: Record::new(scenario.flows.len()),
            is_over: false,
            qlogs: Vec::new(),
        };
        simulation.schedule_beginnings();
        Ok(simulation)
    }

    fn schedule_beginnings(&mut self) {
        for source in 0..self.sources.len() {
            self.schedule_emission(source);
        }
        for (index, flow) in self.scenario.flows.iter().enumerate() {
            let name = format!("flow.{}.start", flow.name);
            let share = Random::for_component(self.seed, &name).uniform();
            let start = flow.start + flow.start_within.mul_f64(share);
            self.agenda.schedule(start, Event::Start(FlowId(index)));
            if let Some(stop) = flow.stop {
                self.agenda.schedule(stop, Event::Stop(FlowId(index)));
            }
        }
        for (index, tool) in self.tools.iter().enumerate() {
            let start = Event::Measure(ToolId(index));
            self.agenda.schedule(tool.start(), start);
        }
        self.agenda
            .schedule(Timestamp::ZERO + SAMPLING, Event::Sample);
    }

    /// Lets every flow's server write its qlog, see [`Qlog::path`], if its stack is quiche. Has to
    /// be called before anything happens.
    ///
    /// # Errors
    /// A file cannot be created.
    pub fn write_qlogs(&mut self, qlog: &Qlog) -> Result<(), RunError> {
        for (flow, pair) in self.scenario.flows.iter().zip(&mut self.pairs) {
            if flow.controller.stack() != Stack::Quiche {
                continue;
            }
            let path = qlog.path(self.scenario, self.seed, &flow.name);
            let writer = create(&path, qlog.level, qlog.compression);
            let file = path.display().to_string();
            let writer = match writer {
                Ok(writer) => writer,
                Err(error) => return Err(RunError::Qlog { file, error }),
            };
            self.qlogs.push((file, writer.outcome()));
            let writer = match flow.controller.is_behind_the_seam() {
                true => writer,
                false => writer.of_quiches_controller(),
            };
            pair.set_qlog(flow, Box::new(writer), qlog.detail);
        }
        Ok(())
    }

    /// Completes the qlogs. Nothing can happen afterwards.
    ///
    /// # Errors
    /// A qlog could not be written to its end.
    pub fn complete(self) -> Result<(), RunError> {
        // The connections own the writers, which write the rest when they go.
        drop(self.pairs);
        for (file, outcome) in self.qlogs {
            if let Err(error) = outcome.result() {
                return Err(RunError::Qlog { file, error });
            }
        }
        Ok(())
    }

    /// Records when data leaves a flow's server. Has to be called before anything happens.
    pub fn watch_departures(&mut self, flow: FlowId) {
        self.pairs[flow.0].watch_departures();
    }

    /// Lets everything happen that is due before `until` or the scenario's end. Returns false once
    /// that end is reached.
    pub fn advance(&mut self, until: Timestamp) -> bool {
        let until = until.min(self.end);
        while let Some(event) = self.agenda.next_before(until) {
            self.happen(event);
        }
        let goes_on = until < self.end;
        if !goes_on && !std::mem::replace(&mut self.is_over, true) {
            self.sample(self.end);
        }
        goes_on
    }

    fn happen(&mut self, event: Event) {
        let now = self.agenda.now();
        match event {
            Event::Finish(hop) => self.finish(hop, now),
            Event::Arrive(hop) => self.arrive(hop, now),
            Event::Emit(source, emission) => self.emit(source, emission),
            Event::Start(flow) => self.with_pair(flow, Pair::start),
            Event::Stop(flow) => self.with_pair(flow, Pair::stop),
            Event::Wake(flow, side) => self.with_pair(flow, |pair, around| pair.wake(side, around)),
            Event::Leave(flow, direction) => self.leave(flow, direction),
            Event::Measure(tool) => self.measure(tool),
            Event::Sample => {
                self.sample(now);
                self.agenda.schedule(now + SAMPLING, Event::Sample);
            }
        }
    }

    fn finish(&mut self, hop: HopId, now: Timestamp) {
        let finished = self.network.finish(hop, now);
        if let Some(at) = finished.next_arrival {
            self.agenda.schedule(at, Event::Arrive(hop));
        }
        if let Some(at) = finished.next_finish {
            self.agenda.schedule(at, Event::Finish(hop));
        }
    }

    fn arrive(&mut self, hop: HopId, now: Timestamp) {
        let (onward, next) = self.network.arrive(hop, now);
        if let Some(at) = next {
            self.agenda.schedule(at, Event::Arrive(hop));
        }
        match onward {
            Some(Onward::Hop(next, packet)) => self.offer(next, packet),
            Some(Onward::Endpoint(flow, direction, packet)) => {
                self.deliver(flow, direction, packet);
            }
            Some(Onward::Tool(tool, direction, packet)) => self.probe(tool, direction, &packet),
            None => {}
        }
    }

    fn offer(&mut self, hop: HopId, packet: Packet) {
        self.watch(hop, &packet);
        if let Some(at) = self.network.offer(hop, self.agenda.now(), packet) {
            self.agenda.schedule(at, Event::Finish(hop));
        }
    }

    fn deliver(&mut self, flow: FlowId, direction: Direction, packet: Packet) {
        let side = match direction {
            Direction::Forward => Side::Client,
            Direction::Reverse => Side::Server,
        };
        if let Some(mut datagram) = packet.datagram {
            datagram.ecn = packet.ecn;
            self.with_pair(flow, |pair, around| pair.receive(side, datagram, around));
        }
    }

    fn emit(&mut self, source: usize, emission: Emission) {
        let packet = Packet {
            size: emission.size,
            owner: Owner::Cross,
            ecn: self.scenario.traffic[source].ecn,
            datagram: None,
            probe: None,
        };
        self.offer(self.scenario.traffic[source].hop, packet);
        self.schedule_emission(source);
    }

    fn schedule_emission(&mut self, source: usize) {
        if let Some(emission) = self.sources[source].next() {
            self.agenda
                .schedule(emission.at, Event::Emit(source, emission));
        }
    }

    /// Lets a pair act, then carries out what it wants done.
    fn with_pair(&mut self, flow: FlowId, act: impl FnOnce(&mut Pair, &mut Surroundings<'_>)) {
        let mut around = Surroundings {
            now: self.agenda.now(),
            clock: &self.clock,
            pool: &mut self.pool,
            outbox: &mut self.outbox,
        };
        act(&mut self.pairs[flow.0], &mut around);
        let route = self.network.route(flow);
        let mut packets = std::mem::take(&mut self.outbox.packets);
        for (direction, at, packet) in packets.drain(..) {
            if at <= self.agenda.now() {
                self.offer(route.entry(direction), packet);
            } else {
                self.leaving[flow.0][line(direction)].push_back(packet);
                self.agenda.schedule(at, Event::Leave(flow, direction));
            }
        }
        self.outbox.packets = packets;
        for (side, at) in self.outbox.wakes.drain(..) {
            self.agenda.schedule(at, Event::Wake(flow, side));
        }
    }

    fn leave(&mut self, flow: FlowId, direction: Direction) {
        let entry = self.network.route(flow).entry(direction);
        if let Some(packet) = self.leaving[flow.0][line(direction)].pop_front() {
            self.offer(entry, packet);
        }
    }

    fn sample(&mut self, at: Timestamp) {
        for (index, pair) in self.pairs.iter().enumerate() {
            self.record.sample(index, at, pair);
        }
    }

    /// The scenario being run.
    pub fn scenario(&self) -> &'s Scenario {
        self.scenario
    }

    /// The seed of the run.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The links.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The endpoints, by flow.
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// The tools.
    pub fn tools(&self) -> &[Runner] {
        &self.tools
    }

    /// What was sampled so far.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// How many events were scheduled so far.
    pub fn events(&self) -> u64 {
        self.agenda.scheduled()
    }
}

/// Which of a flow's two lines.
fn line(direction: Direction) -> usize {
    match direction {
        Direction::Forward => 0,
        Direction::Reverse => 1,
    }
}
