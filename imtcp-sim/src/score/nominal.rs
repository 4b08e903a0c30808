//! What estimates are measured against where a scenario ran outside the simulator.

use super::Reference;
use crate::network::FlowId;
use crate::scenario::{Nominal, Scenario};
use crate::truth::{Available, BIN, bin_start};

/// Truths below this share of the capacity are not compared.
pub(crate) const LEAST_SHARE: f64 = 0.01;

impl Reference {
    /// The truth as the scenario's settings have it. `None` if another flow is on the flow's path:
    /// what it takes is up to it.
    pub fn nominal(scenario: &Scenario, flow: FlowId) -> Option<Self> {
        let nominal = Nominal::new(scenario, flow);
        if !nominal.rivals().is_empty() {
            return None;
        }
        let life = nominal.life();
        let (tight, _) = nominal.available(life.0);
        let route = scenario.flows[flow.0].route;
        let behind = (tight..=route.last).map(|link| scenario.links[link].forward.pipe.delay);
        let back = route
            .links()
            .map(|link| scenario.links[link].reverse.pipe.delay);
        let seen_after = behind.chain(back).sum();
        let bins = scenario.duration.as_nanos().div_ceil(BIN.as_nanos());
        let bins = usize::try_from(bins).unwrap_or(usize::MAX);
        let available = |bin| nominal.available(bin_start(bin)).1.as_bps_f64();
        let truth = Available::along(&[(seen_after, (0..bins).map(available).collect())]);
        Some(Self {
            truth,
            life,
            steps: nominal.steps(),
            seen_after,
            least_truth_bps: nominal.capacity(life.0).as_bps_f64() * LEAST_SHARE,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use imtcp_cc::units::Timestamp;
    use std::time::Duration;

    #[test]
    fn the_nominal_truth_is_the_simulated_one_where_nothing_is_random() {
        let scenario = Scenario::load("netem-step", &[]).expect("built in");
        let run = scenario
            .run(1, crate::run::RunOptions::default())
            .expect("it runs");
        let nominal = Reference::nominal(&scenario, FlowId(0)).expect("alone");
        let measured = &run.flows[0].reference;
        assert_eq!(nominal.life, measured.life);
        assert_eq!(nominal.steps, measured.steps);
        assert_eq!(nominal.seen_after, measured.seen_after);
        let at = |seconds| Timestamp::from_origin(Duration::from_secs(seconds));
        for from in 2..18 {
            let [one, other] = [&nominal.truth, &measured.truth]
                .map(|truth| truth.mean(at(from), at(from + 1)).expect("a truth"));
            assert!((one / other - 1.0).abs() < 0.02, "{from} s: {one} {other}");
        }
    }

    #[test]
    fn beside_a_rival_nobody_knows_it_beforehand() {
        let scenario = Scenario::load("rivals", &[]).expect("built in");
        assert!(Reference::nominal(&scenario, FlowId(0)).is_none());
    }
}
