//! A cluster of Ballista's whose processes know the functions of sketches.

use crate::engine::{self, Engine};
use crate::functions;
use crate::place::Place;
use anyhow::{Context, Result};
use ballista::prelude::SessionContextExt;
use ballista_core::config::TaskSchedulingPolicy;
use ballista_core::extension::SessionConfigExt;
use ballista_core::registry::BallistaFunctionRegistry;
use ballista_core::utils::default_session_builder;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::start_server;
use datafusion::common::DataFusionError;
use datafusion::execution::session_state::SessionState;
use datafusion::execution::{FunctionRegistry, SessionStateBuilder};
use datafusion::prelude::{SessionConfig, SessionContext};
use std::net::SocketAddr;
use std::sync::Arc;

/// A table that a cluster answers for. Its executors have to reach the table by the same address.
///
/// # Errors
/// The scheduler's address is none, or the table cannot be read.
pub async fn engine(table: &Place, scheduler: &str, partitions: usize) -> Result<Engine> {
    let config = SessionConfig::new_with_ballista().with_target_partitions(partitions.max(1));
    let state = engine::state(config, engine::runtime(None)?);
    let url = format!("df://{scheduler}");
    let context = SessionContext::remote_with_state(&url, state).await;
    let context = context.with_context(|| {
        format!("the scheduler {scheduler}; give its host and port, such as 127.0.0.1:50050")
    })?;
    Engine::over(context, table).await
}

/// Adds the functions of sketches to a scheduler's session.
fn register(state: &mut SessionState) {
    // Replaced functions come back; there are none.
    for function in functions::scalar() {
        let _ = state.register_udf(function);
    }
    for function in functions::aggregate() {
        let _ = state.register_udaf(function);
    }
}

/// Runs a scheduler until it is ended.
///
/// # Errors
/// The address is taken.
pub async fn scheduler(address: SocketAddr) -> Result<()> {
    let config = SchedulerConfig::default()
        .with_hostname(address.ip().to_string())
        .with_port(address.port())
        .with_scheduler_policy(TaskSchedulingPolicy::PullStaged)
        .with_override_session_builder(Arc::new(|config: SessionConfig| {
            let runtime =
                engine::runtime(None).map_err(|error| DataFusionError::External(error.into()))?;
            let state = default_session_builder(config)?;
            let mut state = SessionStateBuilder::new_from_existing(state)
                .with_runtime_env(runtime)
                .build();
            register(&mut state);
            Ok(state)
        }));
    let cluster = BallistaCluster::new_from_config(&config).await?;
    let served = start_server(cluster, address, Arc::new(config)).await;
    served.with_context(|| format!("the scheduler at {address}"))
}

/// An executor.
#[derive(Clone, Debug)]
pub struct Executor {
    /// Where it listens for those who fetch its results. The next port is its second one.
    pub address: SocketAddr,
    /// The scheduler's address.
    pub scheduler: SocketAddr,
    /// Tasks at a time.
    pub cores: usize,
    /// The memory of its tasks, in bytes.
    pub memory: u64,
}

/// Runs an executor until it is ended.
///
/// # Errors
/// The address is taken, or there is no scheduler.
pub async fn executor(executor: Executor) -> Result<()> {
    let Executor {
        address, scheduler, ..
    } = executor;
    let next_port = address.port().checked_add(1);
    let second =
        next_port.context("the executor takes the next port as well: give one below 65535")?;
    let mut registry = BallistaFunctionRegistry::default();
    for function in functions::scalar() {
        registry
            .scalar_functions
            .insert(function.name().to_owned(), function);
    }
    for function in functions::aggregate() {
        registry
            .aggregate_functions
            .insert(function.name().to_owned(), function);
    }
    let work = tempfile::tempdir().context("making a folder for intermediate results")?;
    let config = ExecutorProcessConfig {
        bind_host: address.ip().to_string(),
        external_host: Some(address.ip().to_string()),
        port: address.port(),
        grpc_port: second,
        scheduler_host: scheduler.ip().to_string(),
        scheduler_port: scheduler.port(),
        scheduler_connect_timeout_seconds: 20,
        vcores: executor.cores,
        task_scheduling_policy: TaskSchedulingPolicy::PullStaged,
        work_dir: Some(work.path().to_string_lossy().into_owned()),
        memory_pool_size: Some(executor.memory),
        override_function_registry: Some(Arc::new(registry)),
        override_runtime_producer: Some(Arc::new(|_: &SessionConfig| {
            engine::runtime(None).map_err(|error| DataFusionError::External(error.into()))
        })),
        ..ExecutorProcessConfig::default()
    };
    let ran = start_executor_process(Arc::new(config)).await;
    ran.with_context(|| format!("the executor at {address}"))
}
