//! Folders and object storage, by path or address.

use anyhow::{Context, Result};
use datafusion::common::DataFusionError;
use datafusion::execution::object_store::{DefaultObjectStoreRegistry, ObjectStoreRegistry};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::{ObjectStore, parse_url_opts};
use std::path::PathBuf;
use std::sync::Arc;
use std::{env, fs};
use url::Url;

/// A folder, or what begins alike in a bucket. Paths in its store count from it.
#[derive(Clone, Debug)]
pub struct Place {
    /// The address, which ends in a slash.
    pub url: Url,
    /// What is there.
    pub store: Arc<dyn ObjectStore>,
    /// The folder, if it is one of this machine.
    pub folder: Option<PathBuf>,
}

impl Place {
    /// A place to read from.
    ///
    /// # Errors
    /// The folder is missing, or the address is of no known kind.
    pub fn existing(text: &str) -> Result<Self> {
        match text.contains("://") {
            true => Self::remote(text),
            false => Self::local(PathBuf::from(text)),
        }
    }

    /// A place to write to; a folder is made if it is missing.
    ///
    /// # Errors
    /// The folder cannot be made, or the address is of no known kind.
    pub fn made(text: &str) -> Result<Self> {
        if !text.contains("://") {
            fs::create_dir_all(text).with_context(|| format!("making the folder {text}"))?;
        }
        Self::existing(text)
    }

    fn local(folder: PathBuf) -> Result<Self> {
        let shown = folder.display().to_string();
        let folder = fs::canonicalize(folder).with_context(|| {
            format!("the folder {shown}; give a folder, or an address such as s3://bucket/logs")
        })?;
        let store = LocalFileSystem::new_with_prefix(&folder)
            .with_context(|| format!("{shown}: give a folder"))?;
        let url = Url::from_directory_path(&folder);
        Ok(Self {
            url: url.map_err(|()| anyhow::anyhow!("{shown} has no address"))?,
            store: Arc::new(store),
            folder: Some(folder),
        })
    }

    fn remote(text: &str) -> Result<Self> {
        let slash = if text.ends_with('/') { "" } else { "/" };
        let url: Url = format!("{text}{slash}")
            .parse()
            .with_context(|| format!("`{text}` is no address; write s3://bucket/folder"))?;
        if let Ok(folder) = url.to_file_path() {
            return Self::local(folder);
        }
        let (store, path) = open(&url)?;
        let store: Arc<dyn ObjectStore> = match path.as_ref() {
            "" => Arc::from(store),
            _ => Arc::new(PrefixStore::new(store, path)),
        };
        Ok(Self {
            url,
            store,
            folder: None,
        })
    }

    /// The address as other programs take it: a folder as its path, whose letters are not encoded.
    /// It ends in a slash.
    pub fn shown(&self) -> String {
        match &self.folder {
            Some(folder) => folder.join("").display().to_string(),
            None => self.url.to_string(),
        }
    }

    /// The address of an object.
    pub fn address(&self, path: &Path) -> String {
        format!("{}{path}", self.url)
    }
}

/// The store of an address. Keys, regions and endpoints come from the environment, by the names
/// that are usual for the store (`AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT`, ...).
fn open(url: &Url) -> Result<(Box<dyn ObjectStore>, Path)> {
    let settings = env::vars()
        .filter(|(name, _)| {
            ["AWS_", "AZURE_", "GOOGLE_"]
                .iter()
                .any(|own| name.starts_with(own))
        })
        .map(|(name, value)| (name.to_ascii_lowercase(), value));
    parse_url_opts(url, settings).with_context(|| {
        format!("the address {url}; known are s3://, gs://, az://, http:// and folders")
    })
}

/// Opens stores as they are asked for, so that clusters need no list of buckets.
#[derive(Debug, Default)]
pub struct Stores(DefaultObjectStoreRegistry);

impl ObjectStoreRegistry for Stores {
    fn register_store(
        &self,
        url: &Url,
        store: Arc<dyn ObjectStore>,
    ) -> Option<Arc<dyn ObjectStore>> {
        self.0.register_store(url, store)
    }

    fn deregister_store(&self, url: &Url) -> datafusion::common::Result<Arc<dyn ObjectStore>> {
        self.0.deregister_store(url)
    }

    fn get_store(&self, url: &Url) -> datafusion::common::Result<Arc<dyn ObjectStore>> {
        if let Ok(store) = self.0.get_store(url) {
            return Ok(store);
        }
        // DataFusion counts paths from the bucket.
        let mut bucket = url.clone();
        bucket.set_path("/");
        let (store, _) = open(&bucket).map_err(|error| DataFusionError::External(error.into()))?;
        let store: Arc<dyn ObjectStore> = Arc::from(store);
        self.0.register_store(&bucket, Arc::clone(&store));
        Ok(store)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_folder_and_an_unknown_address_are_named_with_the_remedy() {
        let error = format!(
            "{:#}",
            Place::existing("/no/such/folder").expect_err("missing")
        );
        assert!(
            error.contains("/no/such/folder") && error.contains("s3://bucket/logs"),
            "{error}"
        );
        let error = format!(
            "{:#}",
            Place::existing("gopher://a/b").expect_err("unknown")
        );
        assert!(
            error.contains("gopher://a/b/") && error.contains("s3://"),
            "{error}"
        );
    }

    #[test]
    fn other_programs_are_told_a_folder_by_its_path() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = parent
            .path()
            .canonicalize()
            .expect("it is there")
            .join("a b%20c");
        let place = Place::made(folder.to_str().expect("text")).expect("it is made");
        assert_eq!(place.shown(), format!("{}/", folder.display()));
        assert!(
            place.url.as_str().ends_with("/a%20b%2520c/"),
            "{}",
            place.url
        );
    }
}
