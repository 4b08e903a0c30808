//! Controllers of other stacks, which quiche does not have.

mod tcp_cubic;

pub use tcp_cubic::{Factory as TcpCubicFactory, TcpCubic};
