//! What was found, the misses first.

use std::fmt;
use std::process::ExitCode;

use anyhow::Result;

/// Findings in words.
#[derive(Default)]
pub struct Report {
    misses: Vec<String>,
    met: Vec<String>,
}

impl Report {
    /// Something is not as it should be.
    pub fn miss(&mut self, text: String) -> Result<()> {
        say!("  MISSED: {text}")?;
        self.misses.push(text);
        Ok(())
    }

    /// Something is as it should be, or not.
    pub fn say(&mut self, is_met: bool, text: String) -> Result<()> {
        if !is_met {
            return self.miss(text);
        }
        say!("  {text}")?;
        self.met.push(text);
        Ok(())
    }

    /// Whether all is as it should be.
    pub fn verdict(&self) -> ExitCode {
        if self.misses.is_empty() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (title, texts) in [("MISSED", &self.misses), ("Met", &self.met)] {
            writeln!(f, "{title}: {}", texts.len())?;
            for text in texts {
                writeln!(f, "  {text}")?;
            }
        }
        Ok(())
    }
}
