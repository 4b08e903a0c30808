//! Background tasks among a connection's requests.

use imtcp_cc::Mode;

/// The running requests of a connection, and how many of them are background tasks: those of
/// urgency 7, which RFC 9218, section 4.1, reserves for them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Running {
    all: u32,
    background: u32,
}

impl Running {
    /// A request begins. Returns the mode that the connection is in with it.
    pub fn begin(&mut self, is_background: bool) -> Mode {
        self.all += 1;
        self.background += u32::from(is_background);
        self.mode()
    }

    /// A request ends. Returns the mode that the connection is in without it; `None` if nothing
    /// runs any more. The mode stays then: a client that fetches one thing after another in the
    /// background does not begin anew with each.
    pub fn end(&mut self, is_background: bool) -> Option<Mode> {
        self.all = self.all.saturating_sub(1);
        self.background = self.background.saturating_sub(u32::from(is_background));
        (self.all > 0).then(|| self.mode())
    }

    /// One request that somebody waits for is enough to leave the background.
    fn mode(&self) -> Mode {
        if self.background == self.all {
            Mode::BACKGROUND
        } else {
            Mode::Standard
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_connection_is_in_the_background_while_all_requests_are() {
        let mut running = Running::default();
        assert_eq!(running.begin(true), Mode::BACKGROUND);
        assert_eq!(running.begin(true), Mode::BACKGROUND);
        assert_eq!(running.begin(false), Mode::Standard);
        assert_eq!(running.end(true), Some(Mode::Standard));
        assert_eq!(running.end(false), Some(Mode::BACKGROUND));
        assert_eq!(running.end(true), None);
        assert_eq!(running.begin(false), Mode::Standard);
    }
}
