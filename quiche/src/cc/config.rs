//! How a controller is chosen, and how the application reaches it.

use std::any::Any;
use std::sync::Arc;

use super::CongestionController;
use super::Factory;
use crate::BufFactory;
use crate::Config;
use crate::Connection;

/// A factory inside quiche's configuration. quiche compares configurations to see whether a
/// handshake callback has changed one. Two handles are equal when they share one factory.
#[derive(Clone, Debug)]
pub(crate) struct FactoryHandle(pub(crate) Arc<dyn Factory>);

impl PartialEq for FactoryHandle {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Config {
    /// Sets a congestion controller of the application's own; each path gets one of its own.
    ///
    /// It replaces what [`set_cc_algorithm()`](Self::set_cc_algorithm) chose, and the other way
    /// round: the last call counts. HyStart++ and quiche's pacing settings do not apply to it.
    pub fn set_congestion_controller(&mut self, factory: Arc<dyn Factory>) {
        self.congestion_controller = Some(FactoryHandle(factory));
    }
}

impl<F: BufFactory> Connection<F> {
    /// Sets a congestion controller of the application's own for one connection.
    ///
    /// This function can only be called inside one of BoringSSL's handshake callbacks, before any
    /// packet has been sent. Calling this function any other time will have no effect.
    ///
    /// # Errors
    /// [`Error::TlsFail`](crate::Error::TlsFail) when `ssl` belongs to no quiche connection.
    #[cfg(feature = "boringssl-boring-crate")]
    pub fn set_congestion_controller_in_handshake(
        ssl: &mut boring::ssl::SslRef,
        factory: Arc<dyn Factory>,
    ) -> crate::Result<()> {
        let ex_data = crate::tls::ExData::from_ssl_ref(ssl).ok_or(crate::Error::TlsFail)?;
        ex_data.recovery_config.congestion_controller = Some(FactoryHandle(factory));
        Ok(())
    }

    /// The active path's controller, if there is one and it is a `T`.
    pub fn congestion_controller<T: CongestionController>(&self) -> Option<&T> {
        let path = self.paths.get_active().ok()?;
        let controller: &dyn Any = path.recovery.controller()?;
        controller.downcast_ref()
    }

    /// The active path's controller, if there is one and it is a `T`.
    ///
    /// What is changed here takes effect with the next event: a call of
    /// [`send()`](Connection::send), [`recv()`](Connection::recv) or
    /// [`on_timeout()`](Connection::on_timeout).
    pub fn congestion_controller_mut<T: CongestionController>(&mut self) -> Option<&mut T> {
        let path = self.paths.get_active_mut().ok()?;
        let controller: &mut dyn Any = path.recovery.controller_mut()?;
        controller.downcast_mut()
    }
}
