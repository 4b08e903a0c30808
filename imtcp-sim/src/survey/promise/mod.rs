//! Promises on drawn paths: what is asked for, who carries it, and what came of it.
//!
//! Each seed draws a requirement for the path that it draws ([`wish`]). The flow has always more to
//! send. [`run`] carries it with the controller that steers by the promise and with quiche's CUBIC,
//! BBRv2 and Reno in the same place. [`Tally`] sums up a class.

mod fair;
mod run;
mod tally;
mod wish;

pub use run::{Carried, Carrier, Forecast, Promised, run};
pub use tally::{Bar, Bin, Row, Tally};
pub use wish::{Share, Wish, wish};
