//! The modules of a crate with their items, read from its source files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, ExprLit, Item, ItemMod, Lit, Meta, Token};

/// The names from the root of a crate to a module. The root has none.
pub type ModulePath = Vec<String>;

/// A crate's items by module, without those that are switched off.
pub struct Source {
    /// What the crate is called in `use` lines.
    pub name: String,
    pub modules: BTreeMap<ModulePath, Vec<Item>>,
}

/// Decides what `#[cfg]` switches on.
#[derive(Clone, Copy)]
pub struct Switches {
    pub features: &'static [&'static str],
}

impl Source {
    /// Reads a crate from the folder with its `lib.rs`, as its users get it with these features.
    pub fn read(name: &str, folder: &Path, switches: Switches) -> Result<Self> {
        let mut source = Self {
            name: name.to_owned(),
            modules: BTreeMap::new(),
        };
        let file = folder.join("lib.rs");
        source.read_file(Vec::new(), &file, folder, switches)?;
        Ok(source)
    }

    /// `folder` holds the files of the module's children.
    fn read_file(
        &mut self,
        path: ModulePath,
        file: &Path,
        folder: &Path,
        switches: Switches,
    ) -> Result<()> {
        let text =
            fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
        let parsed =
            syn::parse_file(&text).with_context(|| format!("parsing {}", file.display()))?;
        self.add_module(path, parsed.items, folder, switches)
            .with_context(|| format!("in {}", file.display()))
    }

    fn add_module(
        &mut self,
        path: ModulePath,
        items: Vec<Item>,
        folder: &Path,
        switches: Switches,
    ) -> Result<()> {
        let mut kept = Vec::new();
        for mut item in items {
            if !switches.allow(attributes(&item))? {
                continue;
            }
            if let Item::Mod(module) = &mut item {
                self.add_child(&path, module, folder, switches)?;
            }
            kept.push(item);
        }
        self.modules.insert(path, kept);
        Ok(())
    }

    fn add_child(
        &mut self,
        parent: &ModulePath,
        module: &mut ItemMod,
        folder: &Path,
        switches: Switches,
    ) -> Result<()> {
        let name = module.ident.to_string();
        let mut path = parent.clone();
        path.push(name.clone());
        let below = folder.join(&name);
        if let Some((_, items)) = module.content.take() {
            return self.add_module(path, items, &below, switches);
        }
        if module
            .attrs
            .iter()
            .any(|attribute| attribute.path().is_ident("path"))
        {
            bail!("`mod {name}` has a #[path], which this listing does not follow");
        }
        let files: [PathBuf; 2] = [folder.join(format!("{name}.rs")), below.join("mod.rs")];
        let Some(file) = files.iter().find(|file| file.is_file()) else {
            bail!("`mod {name}` has no file");
        };
        self.read_file(path, file, &below, switches)
    }
}

impl Switches {
    /// Whether all `#[cfg]`s among these attributes hold.
    pub fn allow(&self, attributes: &[Attribute]) -> Result<bool> {
        for attribute in attributes.iter().filter(|a| a.path().is_ident("cfg")) {
            if !self.holds(&attribute.parse_args()?)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn holds(&self, condition: &Meta) -> Result<bool> {
        let name = condition.path().get_ident().map(ToString::to_string);
        match (name.as_deref(), condition) {
            (Some("test" | "doctest" | "loom" | "fuzzing"), Meta::Path(_)) => Ok(false),
            (Some("feature"), Meta::NameValue(feature)) => {
                let named = text(&feature.value);
                Ok(named.is_some_and(|name| self.features.contains(&name.as_str())))
            }
            (Some(combination @ ("all" | "any" | "not")), Meta::List(list)) => {
                let parts =
                    list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)?;
                let mut parts = parts.iter().map(|part| self.holds(part));
                match combination {
                    "all" => parts.try_fold(true, |all, part| Ok(all && part?)),
                    "any" => parts.try_fold(false, |any, part| Ok(any || part?)),
                    _ => parts.try_fold(true, |none, part| Ok(none && !part?)),
                }
            }
            (name, _) => bail!(
                "Switches::holds does not know `cfg({})`",
                name.unwrap_or("...")
            ),
        }
    }
}

fn text(value: &Expr) -> Option<String> {
    match value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) => Some(text.value()),
        _ => None,
    }
}

/// The attributes of an item. Those without attributes of interest have none.
pub fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
