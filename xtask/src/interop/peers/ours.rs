//! This project's endpoint.

use anyhow::Result;

use super::{Start, Task, built};
use crate::workspace;

const PROGRAM: &str = "imtcp-interop";

pub fn prepare() -> Result<()> {
    let mut cargo = workspace::cargo(&workspace::root());
    workspace::run(cargo.args(["build", "--locked", "--package", PROGRAM]))
}

pub fn client(task: &Task<'_>) -> Start {
    let mut start = server();
    if task.other.has_only_http3() {
        start
            .variables
            .push(("CLIENT_PARAMS".to_owned(), "h3".to_owned()));
    }
    start
}

pub fn server() -> Start {
    Start {
        program: vec![built(PROGRAM).to_string_lossy().into_owned()],
        variables: Vec::new(),
    }
}
