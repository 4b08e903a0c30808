//! A fleet's logs: one row per connection, in Parquet, and questions to it.
//!
//! [`ingest`] makes rows of qlogs, from folders or object storage. A row has sums, and
//! [sketches](sketch) of what was measured; it has no events and no address. [`questions`] are SQL,
//! which an [`engine`] runs: DataFusion in this process, or a [`cluster`] of Ballista's. `DuckDB`
//! reads the same files.

pub mod answer;
pub mod cluster;
pub mod engine;
pub mod functions;
pub mod ingest;
pub mod labels;
pub mod place;
pub mod prefix;
pub mod questions;
pub mod report;
pub mod row;
pub mod sketch;
pub mod synthesize;
pub mod usage;
pub mod write;
