//! Cross traffic that does not react to the path: each source is an endless sequence of packets in
//! order of time, a function of its settings and its seed alone.

mod constant;
mod gate;
mod on_off;
mod poisson;
mod sizes;
mod web;

pub use gate::Periods;
pub use on_off::OnOffSettings;
pub use sizes::Sizes;
pub use web::WebSettings;

use crate::profile::Profile;
use crate::random::Random;
use constant::Constant;
use imtcp_cc::units::{Bytes, Timestamp};
use on_off::OnOff;
use poisson::Poisson;
use web::Web;

/// When packets leave a source.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// At a constant bit rate; the phase of the first packet is random.
    Constant,
    /// With independent exponential gaps.
    Poisson,
    /// At a constant bit rate during on-periods, silent in between.
    OnOff(OnOffSettings),
    /// Pages of objects with Pareto-distributed sizes.
    Web(WebSettings),
}

/// A source of cross traffic.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceSettings {
    /// Mean IP-layer rate over time; zero outside the source's life.
    pub rate: Profile,
    /// IP packet sizes.
    pub sizes: Sizes,
    /// When packets leave.
    pub pattern: Pattern,
}

/// A packet that leaves a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emission {
    /// When.
    pub at: Timestamp,
    /// Size of the IP packet.
    pub size: Bytes,
}

/// A running source: an iterator over its packets, in order of time.
#[derive(Debug)]
pub struct Source(Kind);

#[derive(Debug)]
enum Kind {
    Constant(Constant),
    Poisson(Poisson),
    OnOff(OnOff),
    Web(Web),
}

impl Source {
    /// A source that draws from `random` alone.
    pub fn new(settings: &SourceSettings, random: Random) -> Self {
        let (rate, sizes) = (settings.rate.clone(), settings.sizes.clone());
        Self(match &settings.pattern {
            Pattern::Constant => Kind::Constant(Constant::new(rate, sizes, random)),
            Pattern::Poisson => Kind::Poisson(Poisson::new(rate, sizes, random)),
            Pattern::OnOff(on_off) => Kind::OnOff(OnOff::new(rate, sizes, *on_off, random)),
            Pattern::Web(web) => Kind::Web(Web::new(rate, sizes, *web, random)),
        })
    }
}

impl Iterator for Source {
    type Item = Emission;

    fn next(&mut self) -> Option<Emission> {
        match &mut self.0 {
            Kind::Constant(source) => source.next(),
            Kind::Poisson(source) => source.next(),
            Kind::OnOff(source) => source.next(),
            Kind::Web(source) => source.next(),
        }
    }
}

/// A random amount of work as an integer; the truncation is below a bit-nanosecond.
fn random_work(mean: f64, factor: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, reason = "saturates at the top")]
    #[expect(clippy::cast_sign_loss, reason = "a factor is not negative")]
    let work = (mean * factor) as u64;
    work
}

#[cfg(test)]
mod tests;
