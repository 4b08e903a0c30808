//! The available bandwidth of a flow's path, as the flow's server could have learnt it.

use super::BIN;
use imtcp_cc::units::Timestamp;
use std::time::Duration;

/// Available bandwidth in bit/s over time, on the server's clock. What is available on a link while
/// a byte crosses it counts from the time at which that byte's acknowledgement can arrive. With
/// several links it is the least of them at each instant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Available {
    /// From an instant on, so many bit/s; ascending.
    segments: Vec<(Timestamp, f64)>,
}

impl Available {
    /// From each link's available bandwidth per bin, and the propagation delay from the link's
    /// transmitter to the client and back to the server.
    pub fn along(links: &[(Duration, Vec<f64>)]) -> Self {
        let mut edges: Vec<Timestamp> = links
            .iter()
            .flat_map(|(delay, bins)| (0..bins.len()).map(|bin| super::bin_start(bin) + *delay))
            .collect();
        edges.sort_unstable();
        edges.dedup();
        let least = |at: Timestamp| {
            links
                .iter()
                .filter_map(|(delay, bins)| link_value(bins, *delay, at))
                .fold(f64::INFINITY, f64::min)
        };
        Self {
            segments: edges.into_iter().map(|at| (at, least(at))).collect(),
        }
    }

    /// The mean over [from, to); the value at `to` where that span is empty. Before the first bin
    /// and after the last one their values hold. `None` without any bin.
    pub fn mean(&self, from: Timestamp, to: Timestamp) -> Option<f64> {
        let first = self.index_at(from)?;
        if from >= to {
            return self.index_at(to).map(|index| self.segments[index].1);
        }
        let (mut weighted, mut at) = (0.0, from);
        for index in first..self.segments.len() {
            let end = self
                .segments
                .get(index + 1)
                .map_or(to, |next| next.0.min(to));
            let span = end.saturating_since(at).as_secs_f64();
            weighted += self.segments[index].1 * span;
            at = at.max(end);
        }
        Some(weighted / to.saturating_since(from).as_secs_f64())
    }

    /// From an instant on, so many bit/s.
    pub fn segments(&self) -> &[(Timestamp, f64)] {
        &self.segments
    }

    fn index_at(&self, at: Timestamp) -> Option<usize> {
        if self.segments.is_empty() {
            return None;
        }
        let after = self.segments.partition_point(|segment| segment.0 <= at);
        Some(after.saturating_sub(1))
    }
}

fn link_value(bins: &[f64], delay: Duration, at: Timestamp) -> Option<f64> {
    let on_link = at.saturating_since(Timestamp::from_origin(delay));
    let bin = usize::try_from(on_link.as_nanos() / BIN.as_nanos()).unwrap_or(usize::MAX);
    bins.get(bin).or(bins.last()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(ms: u64) -> Timestamp {
        Timestamp::from_origin(Duration::from_millis(ms))
    }

    #[test]
    fn a_window_is_averaged_over_the_bins_it_covers_in_part() {
        let path = Available::along(&[(Duration::ZERO, vec![10.0, 20.0, 40.0])]);
        assert_eq!(path.mean(at_ms(50), at_ms(150)), Some(15.0));
        // A quarter of the first bin, all of the second, a quarter of the third.
        assert_eq!(
            path.mean(at_ms(75), at_ms(225)),
            Some(21.666_666_666_666_668)
        );
        assert_eq!(path.mean(at_ms(250), at_ms(250)), Some(40.0));
        assert_eq!(
            path.mean(at_ms(250), at_ms(900)),
            Some(40.0),
            "the last value holds"
        );
    }

    #[test]
    fn a_link_is_seen_one_propagation_delay_later() {
        let delay = Duration::from_millis(30);
        let path = Available::along(&[(delay, vec![10.0, 20.0])]);
        assert_eq!(path.mean(at_ms(30), at_ms(130)), Some(10.0));
        assert_eq!(path.mean(at_ms(130), at_ms(230)), Some(20.0));
        assert_eq!(
            path.mean(at_ms(0), at_ms(30)),
            Some(10.0),
            "nothing earlier is known"
        );
    }

    #[test]
    fn the_tightest_link_of_each_instant_counts() {
        let near = (Duration::from_millis(50), vec![10.0, 30.0]);
        let far = (Duration::ZERO, vec![20.0, 20.0]);
        let path = Available::along(&[near, far]);
        // Until 150 ms the near link's first bin, then the far link.
        assert_eq!(path.mean(at_ms(0), at_ms(150)), Some(10.0));
        assert_eq!(path.mean(at_ms(150), at_ms(250)), Some(20.0));
    }

    #[test]
    fn without_bins_there_is_no_truth() {
        assert_eq!(Available::default().mean(at_ms(0), at_ms(1)), None);
    }
}
