//! Who answers: DataFusion in this process, or a cluster of Ballista's.

use crate::functions;
use crate::place::{Place, Stores};
use crate::questions::TABLE;
use crate::row::schema;
use anyhow::{Context, Result};
use arrow::array::RecordBatch;
use arrow::datatypes::DataType;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::session_state::SessionState;
use datafusion::prelude::{SessionConfig, SessionContext};
use std::sync::Arc;

/// A table that answers.
pub struct Engine(SessionContext);

/// How DataFusion is told to run in this process.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Threads.
    pub cores: usize,
    /// What operators may hold, in bytes, before they spill to disk.
    pub memory: usize,
}

impl Engine {
    /// DataFusion in this process.
    ///
    /// # Errors
    /// The table cannot be read.
    pub async fn embedded(table: &Place, limits: Limits) -> Result<Self> {
        let config = SessionConfig::new().with_target_partitions(limits.cores.max(1));
        let runtime = runtime(Some(limits.memory))?;
        let context = SessionContext::new_with_state(state(config, runtime));
        Self::over(context, table).await
    }

    /// Makes the table and the functions known to a context.
    pub(crate) async fn over(context: SessionContext, table: &Place) -> Result<Self> {
        let options = ListingOptions::new(Arc::new(ParquetFormat::default()))
            .with_file_extension(".parquet")
            .with_table_partition_cols(vec![
                ("date".to_owned(), DataType::Date32),
                ("hour".to_owned(), DataType::Int32),
            ]);
        let about = || format!("the table {}", table.url);
        let url = ListingTableUrl::parse(table.url.as_str()).with_context(about)?;
        let config = ListingTableConfig::new(url)
            .with_listing_options(options)
            .with_schema(schema());
        let listed = ListingTable::try_new(config).with_context(about)?;
        context.register_table(TABLE, Arc::new(listed))?;
        // Ballista has put its own functions into the place of all others.
        for function in functions::scalar() {
            context.register_udf(function.as_ref().clone());
        }
        for function in functions::aggregate() {
            context.register_udaf(function.as_ref().clone());
        }
        Ok(Self(context))
    }

    /// The answer to a query: one batch at least, because an answer without rows has columns, too.
    ///
    /// # Errors
    /// The query is wrong, or cannot be run.
    pub async fn ask(&self, sql: &str) -> Result<Vec<RecordBatch>> {
        let planned = self.0.sql(sql).await.context("the query")?;
        let schema = Arc::new(planned.schema().as_arrow().clone());
        let mut answer = planned.collect().await.context("running the query")?;
        if answer.is_empty() {
            answer.push(RecordBatch::new_empty(schema));
        }
        Ok(answer)
    }
}

/// A state that is complete but for the table.
pub(crate) fn state(config: SessionConfig, runtime: Arc<RuntimeEnv>) -> SessionState {
    SessionStateBuilder::new()
        .with_default_features()
        .with_config(config)
        .with_runtime_env(runtime)
        .build()
}

/// A runtime that finds folders and buckets by itself.
///
/// # Errors
/// There is no place for temporary files.
pub fn runtime(memory: Option<usize>) -> Result<Arc<RuntimeEnv>> {
    let mut builder =
        RuntimeEnvBuilder::new().with_object_store_registry(Arc::new(Stores::default()));
    if let Some(bytes) = memory {
        builder = builder.with_memory_pool(Arc::new(FairSpillPool::new(bytes)));
    }
    builder
        .build_arc()
        .context("making a place for temporary files")
}
