//! Controllers under names of the process, for whoever chooses an algorithm by a string.

use super::Factory;
use crate::config::Config;
use quiche::cc::RegisterError;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The name under which [`register`] makes the controller known.
pub const NAME: &str = "imtcp";

/// The name of the same controller without measuring.
pub const NAME_WITHOUT_MEASUREMENT: &str = "imtcp-off";

/// What was registered here, by name.
static FACTORIES: Mutex<BTreeMap<String, Factory>> = Mutex::new(BTreeMap::new());

/// Makes the controller known to quiche as [`NAME`] with this configuration, and as
/// [`NAME_WITHOUT_MEASUREMENT`] with the same configuration, but without measuring.
///
/// Calling it again with an equal configuration changes nothing and is no error, so every part of a
/// program that needs the names may call it.
///
/// # Errors
/// One of the names is taken: by another controller, or by an earlier call with another
/// configuration. Then neither of them is registered by this call; [`register_as`] has other names.
pub fn register(config: Config) -> Result<(), RegisterError> {
    let off = Factory::new(config.clone().not_measuring());
    let measuring = Factory::new(config);
    let off = off.beside(&measuring);
    register_all(&[(NAME, measuring), (NAME_WITHOUT_MEASUREMENT, off)])
}

/// Makes controllers of this factory known to quiche under a name of one's own. Any number of names
/// may stand side by side, each with its own configuration and subscriber.
///
/// Calling it again with the same name, an equal configuration and the same subscriber changes
/// nothing and is no error.
///
/// # Errors
/// The name is empty or taken: by an algorithm of quiche's, by another controller, or by an earlier
/// call with another configuration or subscriber.
pub fn register_as(name: &str, factory: Factory) -> Result<(), RegisterError> {
    register_all(&[(name, factory)])
}

/// All of them or none.
fn register_all(wanted: &[(&str, Factory)]) -> Result<(), RegisterError> {
    // A map is whole after every operation on it, so a poisoned lock holds no half-made state.
    let mut known = FACTORIES.lock().unwrap_or_else(PoisonError::into_inner);
    let fresh: Vec<_> = wanted
        .iter()
        .filter(|(name, factory)| !known.get(*name).is_some_and(|known| known.is_same(factory)))
        .collect();
    let entries: Vec<(&str, Arc<dyn quiche::cc::Factory>)> = fresh
        .iter()
        .map(|(name, factory)| (*name, Arc::new(factory.clone()) as _))
        .collect();
    quiche::cc::register_all(&entries)?;
    known.extend(
        fresh
            .into_iter()
            .map(|(name, factory)| ((*name).to_owned(), factory.clone())),
    );
    Ok(())
}
