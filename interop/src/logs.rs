//! TLS secrets and qlogs, where the runner wants them.

use crate::environment::Environment;
use anyhow::{Context, Result};
use imtcp_qlog::write::{Compression, Level, create};
use std::fs::{self, File, OpenOptions};
use std::path::PathBuf;

/// Where logs go.
#[derive(Debug)]
pub struct Logs {
    /// All connections write to one file. Each secret is one write, so nothing has to be flushed.
    keys: Option<File>,
    qlogs: Option<PathBuf>,
    title: String,
}

impl Logs {
    /// Opens what the environment names.
    ///
    /// # Errors
    /// A file or a folder cannot be made.
    pub fn open(environment: &Environment) -> Result<Self> {
        let keys = environment.key_log.as_ref().map(|path| {
            let file = OpenOptions::new().create(true).append(true).open(path);
            file.with_context(|| format!("cannot open SSLKEYLOGFILE, {}", path.display()))
        });
        if let Some(folder) = &environment.qlog_folder {
            fs::create_dir_all(folder)
                .with_context(|| format!("cannot make QLOGDIR, {}", folder.display()))?;
        }
        Ok(Self {
            keys: keys.transpose()?,
            qlogs: environment.qlog_folder.clone(),
            title: format!(
                "imtcp-interop {} {}",
                environment.role, environment.case_name
            ),
        })
    }

    /// Whether TLS secrets are to be logged.
    pub fn has_keys(&self) -> bool {
        self.keys.is_some()
    }

    /// Lets a new connection log. Its qlog is complete once it is dropped.
    ///
    /// # Errors
    /// The qlog cannot be created.
    pub fn attach(&self, connection: &mut quiche::Connection) -> Result<()> {
        if let Some(keys) = &self.keys {
            connection.set_keylog(Box::new(keys.try_clone()?));
        }
        if let Some(folder) = &self.qlogs {
            let path = folder.join(format!("{}.sqlog", connection.trace_id()));
            let writer = create(&path, Level::All, Compression::None)
                .with_context(|| format!("cannot create the qlog {}", path.display()))?;
            let description = connection.trace_id().to_owned();
            connection.set_qlog(Box::new(writer), self.title.clone(), description);
        }
        Ok(())
    }
}
