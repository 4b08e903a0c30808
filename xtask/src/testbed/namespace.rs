//! Network namespaces that go away.

use std::process;

use anyhow::Result;

use super::tool;

/// A network namespace; dropping it removes it, with the interfaces inside.
pub struct Namespace(String);

impl Namespace {
    /// A new one for one end of a path, with an interface of its own for loopback.
    pub fn create(chore: &str, role: &str) -> Result<Self> {
        let name = format!("imtcp-{chore}-{}-{role}", process::id());
        tool(&format!("ip netns add {name}"))?;
        let namespace = Self(name);
        tool(&format!("ip -n {} link set lo up", namespace.0))?;
        Ok(namespace)
    }

    /// What `ip netns` calls it.
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        if let Err(error) = tool(&format!("ip netns delete {}", self.0)) {
            eprintln!("error: {error:#}");
        }
    }
}
