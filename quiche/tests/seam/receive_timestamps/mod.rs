//! Receive timestamps: the wire format, who may send them, and whether what is told is true.

mod agreement;
mod codec;
mod hostile;
mod link;
#[cfg(feature = "qlog")]
mod logged;
mod room;
mod transport_parameters;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use quiche::cc::ReceiveTime;
use quiche::{Config, Connection, Error};

use crate::controller::{factory, Acked, Policy, Script, Scripted};
use crate::world::{address, server_config, Fate, Side, World, DELAY};

/// A generator for test inputs (xorshift64, Marsaglia 2003), so that a failing run can be repeated.
pub struct Draw(u64);

impl Draw {
    pub fn new(seed: u64) -> Self {
        // Zero would stay zero.
        Self(seed | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 16) % bound
    }
}

/// A side with a scripted controller, which asks for `max` timestamps and answers when asked.
pub fn config(max: u64, answers: bool) -> Config {
    let mut config = server_config(factory(Script::new(Policy::Free)));
    config.verify_peer(false);
    config.set_max_receive_timestamps_per_ack(max);
    config.enable_receive_timestamps(answers);
    config
}

/// The server asks for `max` timestamps in units of 2^`exponent` us, and the client answers.
pub fn asking_server(max: u64, exponent: u64) -> World {
    let mut server = config(max, false);
    server
        .set_receive_timestamps_exponent(exponent)
        .expect("a valid exponent");
    World::between(server, config(0, true), 1)
}

pub fn scripted(connection: &Connection) -> &Scripted {
    connection
        .congestion_controller()
        .expect("both sides are scripted")
}

/// The acknowledgements that one side received after the first `skip`.
pub fn acks(world: &mut World, side: Side, skip: usize) -> Vec<Acked> {
    scripted(world.side(side)).acks[skip..].to_vec()
}

/// All times that one side was told.
pub fn told(world: &mut World, side: Side) -> Vec<ReceiveTime> {
    let acks = acks(world, side, 0);
    acks.into_iter().flat_map(|ack| ack.receive_times).collect()
}

/// Writes as much as the stream takes.
pub fn write(connection: &mut Connection, stream: u64, data: &[u8]) -> usize {
    match connection.stream_send(stream, data, false) {
        Ok(taken) => taken,
        Err(Error::Done) => 0,
        Err(error) => panic!("cannot write: {error}"),
    }
}

pub fn read(connection: &mut Connection, stream: u64) -> usize {
    let mut buffer = [0; 65_536];
    let mut total = 0;
    while let Ok((size, _)) = connection.stream_recv(stream, &mut buffer) {
        total += size;
    }
    total
}

/// The next datagram of one side, handed to the other now and not by the link.
pub fn hand_over(world: &mut World, from: Side) -> quiche::Result<usize> {
    let mut datagram = vec![0; 2_000];
    let (size, _) = world.side(from).send(&mut datagram).expect("a packet");
    receive(world, from, &mut datagram[..size])
}

pub fn receive(world: &mut World, from: Side, datagram: &mut [u8]) -> quiche::Result<usize> {
    let to = match from {
        Side::Client => Side::Server,
        Side::Server => Side::Client,
    };
    let info = quiche::RecvInfo {
        from: address(from),
        to: address(to),
    };
    world.side(to).recv(datagram, info)
}

/// What became of one side's datagrams: when each arrived, since the world began, if it did.
pub type Arrivals = Rc<RefCell<Vec<Option<Duration>>>>;

/// From now on `fate` decides about the datagrams of `from`, of which each has one packet.
pub fn watch(
    world: &mut World,
    from: Side,
    mut fate: impl FnMut(usize) -> Fate + 'static,
) -> Arrivals {
    let arrivals = Arrivals::default();
    let log = Rc::clone(&arrivals);
    world.link = Box::new(move |passage| {
        if passage.from != from {
            return Fate::Deliver;
        }
        let mut log = log.borrow_mut();
        let fate = fate(log.len());
        log.push(match fate {
            Fate::Deliver => Some(passage.at + DELAY),
            Fate::Delay(extra) => Some(passage.at + DELAY + extra),
            Fate::Drop => None,
        });
        fate
    });
    arrivals
}
