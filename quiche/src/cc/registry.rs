//! Controllers by name, for applications that choose an algorithm by a string.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::RwLock;

use super::Factory;
use crate::CongestionControlAlgorithm;

static FACTORIES: RwLock<BTreeMap<String, Arc<dyn Factory>>> = RwLock::new(BTreeMap::new());

/// Why a name could not be registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegisterError {
    /// The name is one of quiche's own algorithms.
    BuiltIn(String),
    /// The name is taken by another factory.
    Taken(String),
    /// The name is empty.
    Empty,
}

impl fmt::Display for RegisterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn(name) => write!(
                f,
                "`{name}` is one of quiche's own algorithms; register \
             the controller under another name"
            ),
            Self::Taken(name) => write!(
                f,
                "a congestion controller named `{name}` is registered \
             already; register each name once, or choose another"
            ),
            Self::Empty => write!(
                f,
                "a congestion controller needs a name; the empty string was \
             given"
            ),
        }
    }
}

impl std::error::Error for RegisterError {}

/// Makes a controller known to the whole process under `name`.
///
/// From then on [`Config::set_cc_algorithm_name()`](crate::Config::set_cc_algorithm_name) and
/// `set_cc_algorithm_name_in_handshake()` of [`Config`](crate::Config)
/// accept the name, and with them everything that is configured by a string. A registration cannot
/// be taken back.
///
/// # Errors
/// The name is empty, is taken, or is one that quiche itself understands.
pub fn register(name: &str, factory: Arc<dyn Factory>) -> Result<(), RegisterError> {
    register_all(&[(name, factory)])
}

/// Makes several controllers known, as [`register`] does, or none of them.
///
/// # Errors
/// One of the names is empty, is taken, is one that quiche itself understands, or stands twice.
pub fn register_all(entries: &[(&str, Arc<dyn Factory>)]) -> Result<(), RegisterError> {
    // A map of names is whole after every operation on it, so a poisoned lock holds no half-made
    // state.
    let mut factories = FACTORIES.write().unwrap_or_else(PoisonError::into_inner);
    for (place, (name, _)) in entries.iter().enumerate() {
        if name.is_empty() {
            return Err(RegisterError::Empty);
        }
        if CongestionControlAlgorithm::from_str(name).is_ok() {
            return Err(RegisterError::BuiltIn((*name).to_owned()));
        }
        let stands_twice = entries[..place].iter().any(|(earlier, _)| earlier == name);
        if stands_twice || factories.contains_key(*name) {
            return Err(RegisterError::Taken((*name).to_owned()));
        }
    }
    for (name, factory) in entries {
        factories.insert((*name).to_owned(), Arc::clone(factory));
    }
    Ok(())
}

/// The factory registered under `name`.
pub fn registered(name: &str) -> Option<Arc<dyn Factory>> {
    let factories = FACTORIES.read().unwrap_or_else(PoisonError::into_inner);
    factories.get(name).cloned()
}
