//! Writes down what users can name: declarations as in the source, without bodies, documentation
//! and private parts, sorted by name. Code that only moves changes nothing here.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::Result;
use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use syn::punctuated::Punctuated;
use syn::visit_mut::VisitMut;
use syn::{
    Attribute, Block, Field, Fields, File, FnArg, ImplItem, Item, ItemImpl, Pat, Path,
    ReceiverKind, Token, Type, Visibility, parse_quote,
};

use super::names::{ItemId, Meaning};
use super::reach::{Contents, Reach, is_public};
use super::source::{Source, Switches};

/// Stands for the private fields of a struct until it is text.
const PRIVATE_FIELDS: &str = "__private_fields";

/// The listing of a crate.
pub fn listing(source: &Source, switches: Switches) -> Result<String> {
    let reach = Reach::of(source);
    let impls = impls(source, &reach);
    let mut text = String::new();
    for (shown, contents) in &reach.modules {
        let _ = writeln!(text, "\n# {shown}");
        let section = Section {
            source,
            impls: &impls,
            switches,
        };
        section.write(contents, &mut text)?;
    }
    Ok(text)
}

/// The `impl` blocks of each public item, and of each public trait for foreign types.
fn impls<'s>(source: &'s Source, reach: &Reach) -> BTreeMap<ItemId, Vec<&'s ItemImpl>> {
    let mut impls: BTreeMap<ItemId, Vec<&ItemImpl>> = BTreeMap::new();
    for (module, items) in &source.modules {
        let blocks = items.iter().filter_map(|item| match item {
            Item::Impl(block) => Some(block),
            _ => None,
        });
        for block in blocks {
            let of_type = match &*block.self_ty {
                Type::Path(path) => source.resolve(module, &names(&path.path)),
                _ => Meaning::Foreign,
            };
            let of_trait = block
                .trait_
                .as_ref()
                .map(|(path, _)| source.resolve(module, &names(path)));
            let id = match (of_type, of_trait) {
                // Nobody outside can name the trait, and so not call it.
                (_, Some(Meaning::Item(id))) if !reach.items.contains_key(&id) => continue,
                (Meaning::Item(id), _) if reach.items.contains_key(&id) => id,
                (Meaning::Foreign, Some(Meaning::Item(id))) => id,
                _ => continue,
            };
            impls.entry(id).or_default().push(block);
        }
    }
    impls
}

fn names(path: &Path) -> Vec<String> {
    let segments = path.segments.iter();
    segments.map(|part| part.ident.to_string()).collect()
}

struct Section<'a> {
    source: &'a Source,
    impls: &'a BTreeMap<ItemId, Vec<&'a ItemImpl>>,
    switches: Switches,
}

impl Section<'_> {
    fn write(&self, contents: &Contents, text: &mut String) -> Result<()> {
        for (_, child) in &contents.children {
            text.push_str(&print(self.declaration(child)?));
        }
        for (name, path) in &contents.reexports {
            let _ = match path.rsplit("::").next() == Some(name) {
                true => writeln!(text, "pub use {path};"),
                false => writeln!(text, "pub use {path} as {name};"),
            };
        }
        for (name, id) in &contents.items {
            let mut item = self.declaration(id)?;
            rename(&mut item, name);
            let _ = write!(text, "\n{}", print(item));
            let blocks = self.impls.get(id).map_or(&[][..], Vec::as_slice);
            for block in self.merged(blocks)? {
                text.push_str(&print(block));
            }
        }
        Ok(())
    }

    fn declaration(&self, (module, place): &ItemId) -> Result<Item> {
        let mut item = self.source.modules[module][*place].clone();
        match &mut item {
            Item::Struct(item) => self.hide_private(&mut item.fields)?,
            // Its value can be changed without harm to users, its type cannot.
            Item::Static(item) => item.expr = parse_quote!(_),
            _ => {}
        }
        Skeleton.visit_item_mut(&mut item);
        Ok(item)
    }

    fn hide_private(&self, fields: &mut Fields) -> Result<()> {
        match fields {
            Fields::Named(named) => {
                let mut kept: Punctuated<Field, Token![,]> = Punctuated::new();
                let mut has_private = false;
                for field in &named.named {
                    if !self.switches.allow(&field.attrs)? {
                        continue;
                    }
                    match is_public(&field.vis) {
                        true => kept.push(field.clone()),
                        false => has_private = true,
                    }
                }
                if has_private {
                    let name = Ident::new(PRIVATE_FIELDS, proc_macro2::Span::call_site());
                    kept.push(parse_quote!(#name: ()));
                }
                named.named = kept;
            }
            Fields::Unnamed(unnamed) => {
                for field in &mut unnamed.unnamed {
                    if !is_public(&field.vis) {
                        field.ty = parse_quote!(_);
                        field.vis = Visibility::Inherited;
                    }
                }
            }
            Fields::Unit => {}
        }
        Ok(())
    }

    /// Blocks with the same head become one. Of an inherent block the public items stay, of a
    /// trait's the types and constants: the trait says the rest.
    fn merged(&self, blocks: &[&ItemImpl]) -> Result<Vec<Item>> {
        let mut merged: BTreeMap<(bool, String), (ItemImpl, BTreeMap<String, ImplItem>)> =
            BTreeMap::new();
        for block in blocks {
            let mut head = (*block).clone();
            Skeleton.visit_item_impl_mut(&mut head);
            head.items.clear();
            let key = (head.trait_.is_some(), print(Item::Impl(head.clone())));
            let (_, items) = merged.entry(key).or_insert((head, BTreeMap::new()));
            for item in block.items.iter().flat_map(one_argument_each) {
                if let Some(name) = self.kept(&item, block.trait_.is_some())? {
                    let mut item = item;
                    Skeleton.visit_impl_item_mut(&mut item);
                    items.insert(name, item);
                }
            }
        }
        let blocks = merged.into_values().map(|(mut block, items)| {
            block.items = items.into_values().collect();
            block
        });
        let blocks = blocks.filter(|block| block.trait_.is_some() || !block.items.is_empty());
        Ok(blocks.map(Item::Impl).collect())
    }

    /// By which name an item of a block is sorted, if it is listed.
    fn kept(&self, item: &ImplItem, of_trait: bool) -> Result<Option<String>> {
        let (attributes, is_kept, name) = match item {
            ImplItem::Const(item) => {
                let is_kept = of_trait || is_public(&item.vis);
                (&item.attrs, is_kept, format!("0 {}", item.ident))
            }
            ImplItem::Type(item) => (&item.attrs, true, format!("1 {}", item.ident)),
            ImplItem::Fn(item) => {
                let is_kept = !of_trait && is_public(&item.vis);
                (&item.attrs, is_kept, format!("2 {}", item.sig.ident))
            }
            ImplItem::Macro(item) => {
                let name = format!("3 {} {}", names(&item.mac.path).join("::"), item.mac.tokens);
                (&item.attrs, true, name)
            }
            _ => return Ok(None),
        };
        Ok((is_kept && self.switches.allow(attributes)?).then_some(name))
    }
}

/// Removes documentation, bodies, and the attributes that do not matter to users.
struct Skeleton;

impl VisitMut for Skeleton {
    fn visit_attributes_mut(&mut self, attributes: &mut Vec<Attribute>) {
        attributes.retain(matters);
        for attribute in attributes {
            sort_derives(attribute);
        }
    }

    fn visit_block_mut(&mut self, block: &mut Block) {
        block.stmts.clear();
    }

    /// Whether a function changes an argument of its own is no matter of its callers.
    fn visit_fn_arg_mut(&mut self, argument: &mut FnArg) {
        match argument {
            FnArg::Receiver(receiver) => {
                if matches!(receiver.kind, ReceiverKind::Value) {
                    receiver.mutability = None;
                }
            }
            FnArg::Typed(argument) => {
                if let Pat::Ident(name) = &mut *argument.pat {
                    name.mutability = None;
                }
            }
        }
    }
}

fn matters(attribute: &Attribute) -> bool {
    let names = ["cfg", "deprecated", "derive", "non_exhaustive", "repr"];
    names.iter().any(|name| attribute.path().is_ident(name))
}

fn sort_derives(attribute: &mut Attribute) {
    if !attribute.path().is_ident("derive") {
        return;
    }
    let traits = attribute.parse_args_with(Punctuated::<Path, Token![,]>::parse_terminated);
    if let Ok(traits) = traits {
        let mut traits: Vec<Path> = traits.into_iter().collect();
        traits.sort_by_key(|path| names(path).join("::"));
        *attribute = parse_quote!(#[derive(#(#traits),*)]);
    }
}

/// A macro becomes one for each of its arguments, so that each has a line. What the macro makes of
/// them is not known here, so all that it is given is listed, but for attributes.
fn one_argument_each(item: &ImplItem) -> Vec<ImplItem> {
    let ImplItem::Macro(item) = item else {
        return vec![item.clone()];
    };
    let is_comma =
        |token: &TokenTree| matches!(token, TokenTree::Punct(sign) if sign.as_char() == ',');
    let tokens: Vec<TokenTree> = without_attributes(item.mac.tokens.clone());
    let arguments = tokens
        .split(is_comma)
        .filter(|argument| !argument.is_empty());
    let items = arguments.map(|argument| {
        let mut item = item.clone();
        item.mac.tokens = argument.iter().cloned().collect();
        ImplItem::Macro(item)
    });
    items.collect()
}

/// Documentation in the input of a macro is an attribute.
fn without_attributes(tokens: TokenStream) -> Vec<TokenTree> {
    let mut kept = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let is_sign = matches!(&token, TokenTree::Punct(sign) if sign.as_char() == '#');
        if !is_sign || tokens.next_if(is_in_brackets).is_none() {
            kept.push(token);
        }
    }
    kept
}

fn is_in_brackets(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket)
}

fn rename(item: &mut Item, name: &str) {
    let ident = match item {
        Item::Const(item) => &mut item.ident,
        Item::Enum(item) => &mut item.ident,
        Item::Fn(item) => &mut item.sig.ident,
        Item::Static(item) => &mut item.ident,
        Item::Struct(item) => &mut item.ident,
        Item::Trait(item) => &mut item.ident,
        Item::Type(item) => &mut item.ident,
        _ => return,
    };
    *ident = Ident::new(name, ident.span());
}

fn print(item: Item) -> String {
    let text = prettyplease::unparse(&File {
        shebang: None,
        frontmatter: None,
        attrs: Vec::new(),
        items: vec![item],
    });
    text.replace(&format!("{PRIVATE_FIELDS}: (),"), "// private fields")
}
