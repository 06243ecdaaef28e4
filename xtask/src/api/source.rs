//! A crate's modules, read from its files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::{Attribute, Item, ItemMacro, ItemMod};

/// One module: its items, those of its macros among them, and the modules below it.
pub(super) struct Module {
    /// The names from the crate's root to this module.
    pub(super) path: Vec<String>,
    pub(super) items: Vec<Item>,
    pub(super) children: BTreeMap<String, Self>,
}

impl Module {
    /// This module and all below it.
    pub(super) fn all(&self) -> Vec<&Self> {
        let mut found = vec![self];
        found.extend(self.children.values().flat_map(Self::all));
        found
    }

    /// Whether a call is of a macro that stands in this module.
    pub(super) fn makes(&self, call: &ItemMacro) -> bool {
        rules_of(call, &self.items).is_some()
    }
}

/// Reads a library from its root file.
pub(super) fn library(file: &Path) -> Result<Module, String> {
    let folder = file.parent().unwrap_or(file);
    module(Vec::new(), parse(file)?, folder)
}

fn parse(file: &Path) -> Result<Vec<Item>, String> {
    let told = |error: &dyn std::fmt::Display| format!("`{}`: {error}", file.display());
    let text = fs::read_to_string(file).map_err(|error| told(&error))?;
    Ok(syn::parse_file(&text).map_err(|error| told(&error))?.items)
}

fn module(path: Vec<String>, items: Vec<Item>, folder: &Path) -> Result<Module, String> {
    let items: Vec<_> = items.into_iter().filter(|item| !is_test(attributes(item))).collect();
    let mut children = BTreeMap::new();
    for item in &items {
        let Item::Mod(below) = item else { continue };
        let name = below.ident.to_string();
        let inner = [&path[..], std::slice::from_ref(&name)].concat();
        children.insert(name.clone(), module(inner, content(below, folder)?, &folder.join(name))?);
    }
    let made = items.iter().filter_map(|item| made_by(item, &items)).flatten().collect();
    Ok(Module { path, items: [items, made].concat(), children })
}

/// The items of a module, which stand in it or in a file of their own.
fn content(module: &ItemMod, folder: &Path) -> Result<Vec<Item>, String> {
    if let Some((_, items)) = &module.content {
        return Ok(items.clone());
    }
    let name = module.ident.to_string();
    let places: [PathBuf; 2] =
        [folder.join(format!("{name}.rs")), folder.join(&name).join("mod.rs")];
    match places.iter().find(|place| place.exists()) {
        Some(file) => parse(file),
        None => Err(format!("module `{name}` has no file in `{}`", folder.display())),
    }
}

/// The items that a macro of the same module expands to, without its repetitions.
fn made_by(item: &Item, items: &[Item]) -> Option<Vec<Item>> {
    let Item::Macro(call) = item else { return None };
    let body = body(&rules_of(call, items)?.mac.tokens)?;
    syn::parse2::<syn::File>(once(body)).ok().map(|file| file.items)
}

/// The macro that is called.
fn rules_of<'a>(call: &ItemMacro, items: &'a [Item]) -> Option<&'a ItemMacro> {
    let name = call.mac.path.get_ident().filter(|_| call.ident.is_none())?;
    items.iter().find_map(|item| match item {
        Item::Macro(rules) if rules.ident.as_ref() == Some(name) => Some(rules),
        _ => None,
    })
}

/// The expansion of the first rule of a macro.
fn body(rules: &TokenStream) -> Option<TokenStream> {
    rules.clone().into_iter().filter_map(group).nth(1)
}

fn group(tree: TokenTree) -> Option<TokenStream> {
    match tree {
        TokenTree::Group(group) => Some(group.stream()),
        _ => None,
    }
}

/// Tokens without their repetitions `$( ... ) , +`, variables as plain words.
fn once(tokens: TokenStream) -> TokenStream {
    let mut left = Vec::new();
    let mut rest = tokens.into_iter().peekable();
    while let Some(tree) = rest.next() {
        match tree {
            TokenTree::Punct(sign) if sign.as_char() == '$' => {
                if rest.next_if(|next| matches!(next, TokenTree::Group(_))).is_some() {
                    while rest.next().is_some_and(|next| !ends_repetition(&next)) {}
                }
            }
            TokenTree::Group(group) => {
                let inner = proc_macro2::Group::new(group.delimiter(), once(group.stream()));
                left.push(TokenTree::Group(inner));
            }
            other => left.push(other),
        }
    }
    left.into_iter().collect()
}

fn ends_repetition(tree: &TokenTree) -> bool {
    matches!(tree, TokenTree::Punct(sign) if matches!(sign.as_char(), '+' | '*' | '?'))
}

fn is_test(attributes: &[Attribute]) -> bool {
    has(attributes, "cfg", "test")
}

/// Whether an item is public for technical reasons alone: `#[doc(hidden)]`.
pub(super) fn is_hidden(attributes: &[Attribute]) -> bool {
    has(attributes, "doc", "hidden")
}

fn has(attributes: &[Attribute], name: &str, value: &str) -> bool {
    attributes.iter().any(|attribute| {
        let argument = attribute.meta.require_list().map(|list| list.tokens.to_string());
        attribute.path().is_ident(name) && argument.is_ok_and(|argument| argument == value)
    })
}

/// The attributes of an item.
pub(super) fn attributes(item: &Item) -> &[Attribute] {
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
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
