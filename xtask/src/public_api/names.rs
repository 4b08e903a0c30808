//! What a path in a module stands for.

use syn::{Ident, Item, UseTree};

use super::source::{ModulePath, Source};

/// An item: its module, and its place there.
pub type ItemId = (ModulePath, usize);

/// What a path stands for.
pub enum Meaning {
    Item(ItemId),
    Module(ModulePath),
    /// Something of another crate, or a type parameter.
    Foreign,
}

/// One name that a `use` line brings in.
pub struct Import {
    /// The path that is imported.
    pub path: Vec<String>,
    /// What it is called here. None for all names of a module.
    pub name: Option<String>,
}

/// Paths that import each other in a ring would be followed for ever.
const DEEPEST: usize = 32;

impl Source {
    /// What a path means in a module.
    pub fn resolve(&self, module: &ModulePath, path: &[String]) -> Meaning {
        self.follow(module, path, 0).unwrap_or(Meaning::Foreign)
    }

    fn follow(&self, module: &ModulePath, path: &[String], depth: usize) -> Option<Meaning> {
        let (first, mut rest) = path.split_first()?;
        let mut meaning = match first.as_str() {
            "crate" => Meaning::Module(Vec::new()),
            "self" => Meaning::Module(module.clone()),
            "super" => Meaning::Module(parent(module)),
            name => self.look_up(module, name, rest.is_empty(), depth)?,
        };
        while let Some((next, after)) = rest.split_first() {
            let Meaning::Module(within) = &meaning else {
                return None; // a variant of an enum, or an associated item
            };
            meaning = match next.as_str() {
                "super" => Meaning::Module(parent(within)),
                name => self.look_up(within, name, after.is_empty(), depth)?,
            };
            rest = after;
        }
        Some(meaning)
    }

    /// The last name of a path may be a module and an item at once; then it is the item.
    fn look_up(
        &self,
        module: &ModulePath,
        name: &str,
        is_last: bool,
        depth: usize,
    ) -> Option<Meaning> {
        let items = self.modules.get(module)?;
        let named = |item: &Item| ident(item).is_some_and(|ident| ident == name);
        if let Some(place) = items.iter().position(named).filter(|_| is_last) {
            return Some(Meaning::Item((module.clone(), place)));
        }
        let mut child = module.clone();
        child.push(name.to_owned());
        if self.modules.contains_key(&child) {
            return Some(Meaning::Module(child));
        }
        if depth == DEEPEST {
            return None;
        }
        let imports = || items.iter().flat_map(imports);
        let mut by_name = imports().filter(|import| import.name.as_deref() == Some(name));
        let found = by_name.find_map(|import| self.follow(module, &import.path, depth + 1));
        found.or_else(|| {
            let mut globs = imports().filter(|import| import.name.is_none());
            globs.find_map(|glob| match self.follow(module, &glob.path, depth + 1)? {
                Meaning::Module(from) => self.look_up(&from, name, is_last, depth + 1),
                Meaning::Item(_) | Meaning::Foreign => None,
            })
        })
    }
}

fn parent(module: &ModulePath) -> ModulePath {
    let (_, parent) = module.split_last().unwrap_or((&String::new(), &[]));
    parent.to_vec()
}

/// What an item is called. Modules have files of their own and are not meant.
pub fn ident(item: &Item) -> Option<&Ident> {
    match item {
        Item::Const(item) => Some(&item.ident),
        Item::Enum(item) => Some(&item.ident),
        Item::Fn(item) => Some(&item.sig.ident),
        Item::Macro(item) => item.ident.as_ref(),
        Item::Static(item) => Some(&item.ident),
        Item::Struct(item) => Some(&item.ident),
        Item::Trait(item) => Some(&item.ident),
        Item::Type(item) => Some(&item.ident),
        _ => None,
    }
}

/// The names that an item brings in, if it is a `use` line.
pub fn imports(item: &Item) -> Vec<Import> {
    let mut imports = Vec::new();
    if let Item::Use(line) = item {
        collect(&line.tree, &mut Vec::new(), &mut imports);
    }
    imports
}

fn collect(tree: &UseTree, before: &mut Vec<String>, imports: &mut Vec<Import>) {
    let mut add = |last: Option<String>, name: Option<String>| {
        let path = before.iter().cloned().chain(last).collect();
        imports.push(Import { path, name });
    };
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            collect(&path.tree, before, imports);
            before.pop();
        }
        UseTree::Group(group) => {
            for tree in &group.items {
                collect(tree, before, imports);
            }
        }
        UseTree::Name(name) if name.ident == "self" => add(None, before.last().cloned()),
        UseTree::Name(name) => {
            let name = name.ident.to_string();
            add(Some(name.clone()), Some(name));
        }
        UseTree::Rename(rename) => {
            let original = rename.ident.to_string();
            let last = (original != "self").then_some(original);
            add(last, Some(rename.rename.to_string()));
        }
        UseTree::Glob(_) => add(None, None),
    }
}
