//! What of a crate its users can name.

use std::collections::{BTreeMap, BTreeSet};

use syn::{Item, Visibility};

use super::names::{ItemId, Meaning, imports};
use super::source::{ModulePath, Source};

/// What users can name, by the path of the module in which they find it.
pub struct Reach {
    pub modules: BTreeMap<String, Contents>,
    /// The items among it, each with the one path at which it is listed.
    pub items: BTreeMap<ItemId, String>,
}

/// What users find in one module.
#[derive(Default)]
pub struct Contents {
    /// What is listed here, by name.
    pub items: BTreeSet<(String, ItemId)>,
    /// The public modules inside it.
    pub children: BTreeSet<(String, ItemId)>,
    /// What is listed elsewhere or comes from another crate, by name: the path it stands for.
    pub reexports: BTreeMap<String, String>,
    /// Names for items, of which it is not yet known where they are listed.
    undecided: Vec<(String, ItemId)>,
}

impl Reach {
    pub fn of(source: &Source) -> Self {
        let mut reach = Self {
            modules: BTreeMap::new(),
            items: BTreeMap::new(),
        };
        reach.enter(source, &Vec::new(), &source.name);
        reach.decide();
        reach
    }

    fn enter(&mut self, source: &Source, module: &ModulePath, shown: &str) {
        if self.modules.contains_key(shown) {
            return;
        }
        self.modules.insert(shown.to_owned(), Contents::default());
        let Some(items) = source.modules.get(module) else {
            return;
        };
        for (place, item) in items.iter().enumerate() {
            match item {
                Item::Mod(child) if is_public(&child.vis) => {
                    let name = child.ident.to_string();
                    let contents = self.modules.entry(shown.to_owned()).or_default();
                    contents
                        .children
                        .insert((name.clone(), (module.clone(), place)));
                    let mut path = module.clone();
                    path.push(name.clone());
                    self.enter(source, &path, &format!("{shown}::{name}"));
                }
                Item::Use(line) if is_public(&line.vis) => {
                    self.reexport(source, module, item, shown);
                }
                item => {
                    if let Some(name) = public_name(item) {
                        self.list(shown, name, (module.clone(), place));
                    }
                }
            }
        }
    }

    fn list(&mut self, shown: &str, name: String, id: ItemId) {
        self.items.insert(id.clone(), format!("{shown}::{name}"));
        let contents = self.modules.entry(shown.to_owned()).or_default();
        contents.items.insert((name, id));
    }

    fn reexport(&mut self, source: &Source, module: &ModulePath, line: &Item, shown: &str) {
        for import in imports(line) {
            let meaning = source.resolve(module, &import.path);
            let Some(name) = import.name else {
                if let Meaning::Module(from) = meaning {
                    self.all_of(source, &from, shown);
                }
                continue;
            };
            let contents = self.modules.entry(shown.to_owned()).or_default();
            match meaning {
                Meaning::Item(id) => contents.undecided.push((name, id)),
                Meaning::Module(path) => self.enter(source, &path, &format!("{shown}::{name}")),
                Meaning::Foreign => {
                    contents.reexports.insert(name, import.path.join("::"));
                }
            }
        }
    }

    /// `pub use module::*`.
    fn all_of(&mut self, source: &Source, from: &ModulePath, shown: &str) {
        let Some(items) = source.modules.get(from) else {
            return;
        };
        let named = items.iter().enumerate();
        let named = named.filter_map(|(place, item)| Some((public_name(item)?, place)));
        let undecided = named.map(|(name, place)| (name, (from.clone(), place)));
        let contents = self.modules.entry(shown.to_owned()).or_default();
        contents.undecided.extend(undecided);
    }

    /// An item is listed in the public module that has it. If it is in a private module, it is
    /// listed at the first of its public names.
    fn decide(&mut self) {
        for (shown, contents) in &mut self.modules {
            for (name, id) in std::mem::take(&mut contents.undecided) {
                match self.items.get(&id) {
                    Some(path) => {
                        contents.reexports.insert(name, path.clone());
                    }
                    None => {
                        self.items.insert(id.clone(), format!("{shown}::{name}"));
                        contents.items.insert((name, id));
                    }
                }
            }
        }
    }
}

pub fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn public_name(item: &Item) -> Option<String> {
    let (visibility, ident) = match item {
        Item::Const(item) => (&item.vis, &item.ident),
        Item::Enum(item) => (&item.vis, &item.ident),
        Item::Fn(item) => (&item.vis, &item.sig.ident),
        Item::Static(item) => (&item.vis, &item.ident),
        Item::Struct(item) => (&item.vis, &item.ident),
        Item::Trait(item) => (&item.vis, &item.ident),
        Item::Type(item) => (&item.vis, &item.ident),
        _ => return None,
    };
    is_public(visibility).then(|| ident.to_string())
}
