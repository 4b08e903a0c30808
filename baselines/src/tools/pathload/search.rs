//! Which rate the next fleet has: Jain and Dovrolis, 2003, section IV-D.

/// What a fleet says about its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is above what is available.
    Above,
    /// It is below.
    Below,
    /// What is available was now above it and now below: it is in the grey region.
    Grey,
}

/// Resolutions as parts of the rate at which a train disperses: those of release 1.3.2. The papers
/// have 1 and 1.5 Mbit/s, which says nothing about links of a few Mbit/s.
const RESOLUTION: f64 = 0.02;
const GREY_RESOLUTION: f64 = 0.05;
/// The grey resolution is at most this many bit/s: that of release 1.3.2.
const COARSEST_GREY_BPS: f64 = 12e6;
/// Where no rate was too high yet, the next one is that many times higher.
const RAISE: f64 = 2.0;
/// The same after a grey one.
const RAISE_FROM_GREY: f64 = 1.5;

/// A bisection with a grey region inside: low <= grey <= high. All rates are in bit/s.
#[derive(Clone, Debug)]
pub(super) struct Search {
    rate: f64,
    low: f64,
    high: Option<f64>,
    grey: Option<(f64, f64)>,
    resolution: f64,
    grey_resolution: f64,
    highest: f64,
}

impl Search {
    /// `dispersed` is the rate at which a train arrived; `highest` is as fast as the sender can.
    pub(super) fn new(dispersed: f64, highest: f64) -> Self {
        Self {
            rate: dispersed.min(highest),
            low: 0.0,
            high: None,
            grey: None,
            resolution: RESOLUTION * dispersed,
            grey_resolution: (GREY_RESOLUTION * dispersed).min(COARSEST_GREY_BPS),
            highest,
        }
    }

    /// The rate of the fleet.
    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    /// The range found so far.
    pub(super) fn range(&self) -> (f64, f64) {
        (self.low, self.high.unwrap_or(self.highest))
    }

    /// Takes a fleet's verdict, and says whether there is another fleet.
    pub(super) fn judge(&mut self, verdict: Verdict) -> bool {
        let rate = self.rate;
        match verdict {
            Verdict::Above => {
                self.high = Some(rate);
                self.grey = self.grey.filter(|(_, most)| *most < rate);
            }
            Verdict::Below => {
                self.low = self.low.max(rate);
                let above = self.grey.filter(|(_, most)| *most > rate);
                self.grey = above.map(|(least, most)| (least.max(rate), most));
            }
            Verdict::Grey => {
                let (least, most) = self.grey.unwrap_or((rate, rate));
                self.grey = Some((least.min(rate), most.max(rate)));
            }
        }
        match self.next(verdict) {
            Some(next) => self.rate = next,
            None => return false,
        }
        true
    }

    fn next(&self, verdict: Verdict) -> Option<f64> {
        let Some(high) = self.high else {
            let raise = match verdict {
                Verdict::Grey => RAISE_FROM_GREY,
                _ => RAISE,
            };
            let next = (self.rate * raise).min(self.highest);
            return (next > self.rate).then_some(next);
        };
        if high - self.low <= self.resolution {
            return None;
        }
        let middle = |low: f64, high: f64| f64::midpoint(low, high);
        let Some((least, most)) = self.grey else {
            return Some(middle(self.low, high));
        };
        let above = (high - most > self.grey_resolution).then(|| middle(most, high));
        let below = (least - self.low > self.grey_resolution).then(|| middle(self.low, least));
        let was_above = verdict == Verdict::Above || self.rate >= most;
        match was_above {
            true => above.or(below),
            false => below.or(above),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rates of the fleets, with verdicts by what is available.
    fn fleets(search: &mut Search, verdict: impl Fn(f64) -> Verdict) -> Vec<f64> {
        let mut rates = vec![search.rate()];
        while search.judge(verdict(search.rate())) {
            rates.push(search.rate());
        }
        rates
    }

    #[test]
    fn an_idle_link_is_found_by_doubling_and_halving() {
        let mut search = Search::new(10.0, 1000.0);
        let rates = fleets(&mut search, |rate| match rate > 10.0 {
            true => Verdict::Above,
            false => Verdict::Below,
        });
        // Until the range is 2 % of 10 wide: 10, 20, and then half the way to 10 again and again.
        let expected = [10.0, 20.0, 15.0, 12.5, 11.25, 10.625, 10.3125, 10.15625];
        assert_eq!(rates, expected);
        assert_eq!(search.range(), (10.0, 10.15625));
    }

    #[test]
    fn a_grey_region_is_closed_in_from_both_sides() {
        let mut search = Search::new(16.0, 1000.0);
        let rates = fleets(&mut search, |rate| match rate {
            rate if rate > 9.0 => Verdict::Above,
            rate if rate < 7.0 => Verdict::Below,
            _ => Verdict::Grey,
        });
        // 8 is grey, the rates above it are tried first. A grey end that is within 0.8 is enough.
        assert_eq!(rates, [16.0, 8.0, 12.0, 10.0, 9.0, 9.5, 4.0, 6.0, 7.0, 6.5]);
        assert_eq!(search.range(), (6.5, 9.5));
    }

    #[test]
    fn a_path_that_is_faster_than_the_sender_ends_at_the_senders_rate() {
        let mut search = Search::new(60.0, 100.0);
        let rates = fleets(&mut search, |_| Verdict::Below);
        assert_eq!(rates, [60.0, 100.0]);
        assert_eq!(search.range(), (100.0, 100.0));
    }
}
