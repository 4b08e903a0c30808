//! Nothing that the application has written is ever left without a timer: the property of
//! `stall.rs` for event loops, links and applications that nobody chose.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use crate::controller::{factory, Policy, Script};
use crate::world::{payload, server_config, Fate, Sending, World, STREAM};

/// Far beyond every timer that is meant. Data that waits this long has been forgotten.
const IDLE: Duration = Duration::from_secs(600);
const FORGOTTEN: Duration = Duration::from_secs(60);

#[derive(Clone, Debug)]
struct Draw {
    seed: u64,
    script: Script,
    sending: Sending,
    total: usize,
    /// The peer's flow control, for the connection and for the stream.
    credit: (u64, u64),
    /// The client reads this much each time, at this interval.
    reading: (usize, Duration),
    /// The client asks something at this interval.
    asking: Duration,
    /// Datagrams that the server sends besides.
    datagrams: usize,
    lost_percent: u64,
    jitter: Duration,
}

fn micros(range: std::ops::Range<u64>) -> impl Strategy<Value = Duration> {
    range.prop_map(Duration::from_micros)
}

fn policy() -> impl Strategy<Value = Policy> {
    prop_oneof![
        micros(0..200_000).prop_map(Policy::Paced),
        (0u32..30).prop_map(Policy::HoldFirst),
        Just(Policy::StopAndWait),
        Just(Policy::Free),
    ]
}

fn script() -> impl Strategy<Value = Script> {
    let size = prop_oneof![Just(None), (200usize..1_500).prop_map(Some)];
    (policy(), 0usize..80_000, size).prop_map(|(policy, window, packet_size)| Script {
        packet_size,
        ..Script::new(policy).window(window)
    })
}

fn sending() -> impl Strategy<Value = Sending> {
    let largest = prop_oneof![4 => Just(0), 1 => 300usize..1_300];
    (any::<bool>(), micros(0..2_000), largest).prop_map(|(batches, takes, largest)| Sending {
        batches,
        takes,
        largest,
    })
}

fn draw() -> impl Strategy<Value = Draw> {
    let application = (
        1usize..40_000,
        (2_000u64..100_000, 2_000u64..100_000),
        (500usize..50_000, micros(1_000..80_000)),
        micros(5_000..200_000),
        0usize..20,
    );
    let link = (prop_oneof![Just(0), 0u64..15], micros(0..15_000));
    (any::<u64>(), script(), sending(), application, link).prop_map(
        |(seed, script, sending, application, (lost_percent, jitter))| {
            let (total, credit, reading, asking, datagrams) = application;
            Draw {
                seed,
                script,
                sending,
                total,
                credit,
                reading,
                asking,
                datagrams,
                lost_percent,
                jitter,
            }
        },
    )
}

/// A number that depends on nothing but its arguments (splitmix64).
pub fn hash(seed: u64, count: u64) -> u64 {
    let mut bits = seed.wrapping_add(count.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

struct Run {
    draw: Draw,
    world: World,
    written: usize,
    received: usize,
    datagrams_left: usize,
    next_read: Instant,
    next_question: Instant,
}

impl Run {
    fn new(draw: Draw) -> Self {
        let mut client = crate::world::base_config();
        client.set_initial_max_data(draw.credit.0);
        client.set_initial_max_stream_data_uni(draw.credit.1);
        client.set_max_idle_timeout(IDLE.as_millis() as u64);
        let mut server = server_config(factory(draw.script.clone()));
        server.set_max_idle_timeout(IDLE.as_millis() as u64);
        let mut world = World::between(server, client, draw.seed);
        world.sending = draw.sending;
        let (seed, lost, jitter) = (draw.seed, draw.lost_percent, draw.jitter);
        let mut count = 0;
        world.link = Box::new(move |_| {
            count += 1;
            let drawn = hash(seed, count);
            match drawn % 100 < lost {
                true => Fate::Drop,
                false => Fate::Delay(jitter.mul_f64((drawn >> 40) as f64 / (1 << 24) as f64)),
            }
        });
        let now = world.now;
        Self {
            datagrams_left: draw.datagrams,
            draw,
            world,
            written: 0,
            received: 0,
            next_read: now,
            next_question: now,
        }
    }

    fn until_the_end(&mut self) {
        let data = payload(self.draw.total);
        let deadline = self.world.now + IDLE;
        while self.received < data.len() {
            assert!(self.world.now < deadline, "{:?} is not done", self.draw);
            let taken = self.world.write(&data[self.written..]);
            self.written += taken;
            self.world.server_is_woken |= taken > 0;
            if self.datagrams_left > 0 && self.world.server.dgram_send(&[7; 1_000]).is_ok() {
                self.datagrams_left -= 1;
                self.world.server_is_woken = true;
            }
            self.act_as_client();
            self.world.flush_woken();
            self.check_timers();
            let next = self.next_read.min(self.next_question);
            self.world.advance(next.max(self.world.now));
        }
    }

    fn act_as_client(&mut self) {
        let now = self.world.now;
        if self.next_read <= now {
            let mut buffer = vec![0; self.draw.reading.0];
            if let Ok((size, _)) = self.world.client.stream_recv(STREAM, &mut buffer) {
                self.received += size;
            }
            while self.world.client.dgram_recv(&mut buffer).is_ok() {}
            self.next_read = now + self.draw.reading.1;
        }
        if self.next_question <= now {
            // Its stream may be full: then it asks nothing.
            self.world.client.stream_send(0, &[1; 50], false).ok();
            while let Ok((_, _)) = self.world.server.stream_recv(0, &mut [0; 1_000]) {}
            self.next_question = now + self.draw.asking;
        }
    }

    /// Either something is on its way, or the client has to read, or the server has a timer.
    fn check_timers(&mut self) {
        let world = &self.world;
        let is_unread = world.client.stream_readable(STREAM);
        if !world.is_quiet() || is_unread || self.received == self.written {
            return;
        }
        let forgotten = world.now + FORGOTTEN;
        let timer = world.server.timeout_instant();
        assert!(
            timer.is_some_and(|at| at < forgotten),
            "{} bytes wait, and nobody wakes for them: {:?}",
            self.written - self.received,
            self.draw
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases / 2,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_is_written_arrives_and_never_waits_without_a_timer(draw in draw()) {
        Run::new(draw).until_the_end();
    }
}
