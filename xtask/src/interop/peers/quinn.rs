//! A client and a server on quinn, of a crate of their own beside this one.

use anyhow::Result;

use super::{Start, Task, built};
use crate::workspace;

const PROGRAM: &str = "quinn-peer";

pub fn prepare() -> Result<()> {
    let mut cargo = workspace::cargo(&workspace::root().join("xtask/quinn-peer"));
    workspace::run(cargo.args(["build", "--locked"]))
}

pub fn client(task: &Task<'_>) -> Start {
    let mut start = server();
    start.program.extend(task.requests.iter().cloned());
    start
}

pub fn server() -> Start {
    Start {
        program: vec![built(PROGRAM).to_string_lossy().into_owned()],
        variables: Vec::new(),
    }
}
