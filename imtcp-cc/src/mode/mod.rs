//! The modes: what the measurement is used for beside a promise (IM 5).
//!
//! [`Mode::Background`] uses what others leave, and [`Mode::FullSpeed`] fills fast and lossy paths.
//! A [`Governor`] turns the mode that is in force into what is asked of window and pacer. A promise
//! goes before any mode: while a rate is required, the mode rests.

mod background;
mod full_speed;
mod governor;

pub(crate) use governor::Governor;

use std::fmt;

/// What the connection wants of its path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Mode {
    /// The window follows its law, as any other flow's. The measurement only informs.
    #[default]
    Standard,
    /// The connection uses what others leave, and nothing else (IM 5.1). It sends at most at
    /// `share` times the available bandwidth, and gives way when a queue builds up.
    ///
    /// The paper's bound is a window, g RTT A. Here it is the same bound as a rate, g A, because a
    /// window of two packets is too much for a short path.
    Background {
        /// g, the share of the available bandwidth that is used; above 0 and at most 1.
        share: f64,
    },
    /// The window grows by `growth` packets per round trip where much of the path is free, and less
    /// the fuller it is (IM 5.2). Where the measurement says that the path is not full, a loss is
    /// taken for chance and hardly reduces the window.
    ///
    /// Beside others it takes bandwidth from them. Use it on paths where that is agreed.
    FullSpeed {
        /// h, the growth of the window on an idle path, in packets per round trip; 1 to 1000. With
        /// 1 the window grows like Reno's.
        growth: f64,
    },
}

impl Mode {
    /// Background mode that leaves 5 % of the available bandwidth unused, so that what is used can
    /// be told from what is not there.
    pub const BACKGROUND: Self = Self::Background { share: 0.95 };

    /// Full-speed mode with the growth of the paper's wireless experiment (IM 6.3).
    pub const FULL_SPEED: Self = Self::FullSpeed { growth: 100.0 };

    /// The mode's name: `standard`, `background` or `full_speed`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Background { .. } => "background",
            Self::FullSpeed { .. } => "full_speed",
        }
    }

    /// The mode's parameter: the share or the growth; `None` for [`Mode::Standard`].
    pub const fn parameter(self) -> Option<f64> {
        match self {
            Self::Standard => None,
            Self::Background { share } => Some(share),
            Self::FullSpeed { growth } => Some(growth),
        }
    }

    /// Checks the parameter.
    ///
    /// # Errors
    /// The parameter is out of its range. The error names it, its value and the range.
    pub fn check(self) -> Result<Self, RejectedMode> {
        let is_within = match self {
            Self::Standard => true,
            Self::Background { share } => share > 0.0 && share <= 1.0,
            Self::FullSpeed { growth } => (1.0..=1000.0).contains(&growth),
        };
        if is_within {
            Ok(self)
        } else {
            Err(RejectedMode(self))
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A mode whose parameter is out of its range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RejectedMode(Mode);

impl RejectedMode {
    /// The range that the parameter must be in.
    pub(crate) const fn allowed(self) -> &'static str {
        match self.0 {
            Mode::FullSpeed { .. } => "1 to 1000",
            _ => "above 0 and at most 1",
        }
    }

    /// The value that was given.
    pub(crate) const fn value(self) -> Option<f64> {
        self.0.parameter()
    }
}

impl fmt::Display for RejectedMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.0 {
            Mode::FullSpeed { .. } => "growth",
            _ => "share",
        };
        let value = self.value().unwrap_or(f64::NAN);
        let (mode, allowed) = (self.0, self.allowed());
        write!(
            f,
            "the {name} of mode {mode} is {value}; it must be {allowed}"
        )
    }
}

impl std::error::Error for RejectedMode {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_out_of_its_range_is_named_with_its_range() {
        for share in [0.0, -0.5, 1.01, f64::NAN, f64::INFINITY] {
            assert!(Mode::Background { share }.check().is_err(), "{share}");
        }
        for growth in [0.99, 1001.0, f64::NAN] {
            assert!(Mode::FullSpeed { growth }.check().is_err(), "{growth}");
        }
        let error = Mode::FullSpeed { growth: 0.5 }
            .check()
            .expect_err("too small");
        let text = "the growth of mode full_speed is 0.5; it must be 1 to 1000";
        assert_eq!(error.to_string(), text);
        for mode in [Mode::Standard, Mode::BACKGROUND, Mode::FULL_SPEED] {
            assert_eq!(mode.check(), Ok(mode));
        }
    }
}
