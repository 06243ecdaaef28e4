//! The public items of a crate, a line each.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{
    Attribute, Fields, Generics, ImplItem, Item, ItemImpl, ItemTrait, Path, ReturnType, Signature,
    TraitItem, Type, Visibility,
};

use super::names::{Found, Key, Public, public, resolve};
use super::source::{Module, attributes, is_hidden};
use super::text::text;

/// Every line of a crate's listing.
pub(super) fn lines(krate: &str, root: &Module) -> BTreeSet<String> {
    let public = public(root);
    let full = |path: &[String]| [&[krate.to_owned()], path].concat().join("::");
    let mut lines = BTreeSet::new();
    lines.extend(public.modules.iter().map(|path| format!("pub mod {}", full(path))));
    for (path, item) in public.items.values() {
        lines.extend(of_item(&full(path), item));
    }
    for (path, key) in &public.again {
        let first = public.items.get(key).map(|(first, _)| full(first)).unwrap_or_default();
        lines.insert(format!("pub use {first} as {}", full(path)));
    }
    for (path, other) in &public.others {
        lines.insert(format!("pub use {} as {}", other.join("::"), full(path)));
    }
    for module in root.all() {
        for item in &module.items {
            match item {
                Item::Impl(item) => lines.extend(of_impl(root, module, item, &public, &full)),
                Item::Macro(call) if module.makes(call) => {
                    let tokens = text(undocumented(&call.mac.tokens));
                    lines.insert(format!("made by {}!({tokens})", text(&call.mac.path)));
                }
                _ => {}
            }
        }
    }
    lines
}

fn of_item(path: &str, item: &Item) -> Vec<String> {
    let mut lines = match item {
        Item::Const(item) => vec![format!("pub const {path}: {}", text(&item.ty))],
        Item::Static(item) => vec![format!("pub static {path}: {}", text(&item.ty))],
        Item::Type(item) => {
            vec![format!("pub type {path}{} = {}", generics(&item.generics), text(&item.ty))]
        }
        Item::Fn(item) => vec![format!("pub {}", signature(path, &item.sig))],
        Item::Struct(item) => {
            let mut lines = vec![format!("pub struct {path}{}", generics(&item.generics))];
            lines.extend(fields(path, &item.fields));
            lines
        }
        Item::Enum(item) => {
            let mut lines = vec![format!("pub enum {path}{}", generics(&item.generics))];
            let all = item.variants.iter();
            lines.extend(all.map(|v| format!("{path}::{}{}", v.ident, shape(&v.fields))));
            lines
        }
        Item::Trait(item) => of_trait(path, item),
        _ => Vec::new(),
    };
    if let Some(first) = lines.first_mut()
        && attributes(item).iter().any(|attribute| attribute.path().is_ident("non_exhaustive"))
    {
        first.insert_str(0, "#[non_exhaustive] ");
    }
    lines.extend(derived(attributes(item)).map(|name| format!("impl {name} for {path}")));
    lines
}

fn of_trait(path: &str, item: &ItemTrait) -> Vec<String> {
    let above = if item.supertraits.is_empty() {
        String::new()
    } else {
        format!(": {}", text(&item.supertraits))
    };
    let mut lines = vec![format!("pub trait {path}{}{above}", generics(&item.generics))];
    for inner in &item.items {
        let line = match inner {
            TraitItem::Const(item) => format!("const {path}::{}: {}", item.ident, text(&item.ty)),
            TraitItem::Type(item) => format!("type {path}::{}", item.ident),
            TraitItem::Fn(item) => {
                let line = signature(&format!("{path}::{}", item.sig.ident), &item.sig);
                let provided = if item.default.is_some() { " (provided)" } else { "" };
                format!("{line}{provided}")
            }
            _ => continue,
        };
        lines.push(line);
    }
    lines
}

/// The lines that an `impl` adds to a public type: its public functions and constants, or a trait.
fn of_impl(
    root: &Module,
    module: &Module,
    item: &ItemImpl,
    public: &Public<'_>,
    full: &impl Fn(&[String]) -> String,
) -> Vec<String> {
    let shown = |path: &Path| {
        let key = key(resolve(root, module, &segments(path), 0)?)?;
        public.items.get(&key).map(|(first, _)| full(first))
    };
    let own = match &*item.self_ty {
        Type::Path(path) => shown(&path.path),
        _ => None,
    };
    if let Some((of, _)) = &item.trait_ {
        let target = match &own {
            Some(path) => path.clone(),
            // One of our traits for somebody else's type.
            None if shown(of).is_some() && !is_unnamed(root, module, &item.self_ty) => {
                text(&item.self_ty)
            }
            None => return Vec::new(),
        };
        return vec![format!("impl{} {} for {target}", generics(&item.generics), text(of))];
    }
    let Some(path) = own else { return Vec::new() };
    let lines = item.items.iter().filter_map(|inner| match inner {
        ImplItem::Fn(item) if is_public(&item.vis) && !is_hidden(&item.attrs) => {
            let line = signature(&format!("{path}::{}", item.sig.ident), &item.sig);
            Some(format!("pub {line}"))
        }
        ImplItem::Const(item) if is_public(&item.vis) => {
            Some(format!("pub const {path}::{}: {}", item.ident, text(&item.ty)))
        }
        _ => None,
    });
    lines.collect()
}

/// Whether a type is one of this crate that others cannot name.
fn is_unnamed(root: &Module, module: &Module, kind: &Type) -> bool {
    match kind {
        Type::Path(path) => resolve(root, module, &segments(&path.path), 0).is_some(),
        _ => false,
    }
}

fn key(found: Found<'_>) -> Option<Key> {
    match found {
        Found::Item(home, item) => Some((home.path.clone(), super::names::name(item)?.to_string())),
        Found::Module(_) => None,
    }
}

fn segments(path: &Path) -> Vec<String> {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// A function's signature with its path, one form for any layout in the file.
fn signature(path: &str, signature: &Signature) -> String {
    let before = if signature.constness.is_some() { "const " } else { "" };
    let inputs: Vec<_> = signature.inputs.iter().map(text).collect();
    let output = match &signature.output {
        ReturnType::Default => String::new(),
        ReturnType::Type(_, kind) => format!(" -> {}", text(kind)),
    };
    let parameters = parameters(&signature.generics);
    let conditions = conditions(&signature.generics);
    format!("{before}fn {path}{parameters}({}){output}{conditions}", inputs.join(", "))
}

/// Parameters and conditions.
fn generics(generics: &Generics) -> String {
    format!("{}{}", parameters(generics), conditions(generics))
}

fn parameters(generics: &Generics) -> String {
    let all: Vec<_> = generics.params.iter().map(text).collect();
    if all.is_empty() { String::new() } else { format!("<{}>", all.join(", ")) }
}

fn conditions(generics: &Generics) -> String {
    let Some(conditions) = &generics.where_clause else { return String::new() };
    let all: Vec<_> = conditions.predicates.iter().map(text).collect();
    format!(" where {}", all.join(", "))
}

/// The public fields of a struct.
fn fields(path: &str, fields: &Fields) -> Vec<String> {
    let all = fields.iter().enumerate().filter(|(_, field)| is_public(&field.vis));
    all.map(|(place, field)| {
        let name = field.ident.as_ref().map_or_else(|| place.to_string(), ToString::to_string);
        format!("pub {path}::{name}: {}", text(&field.ty))
    })
    .collect()
}

/// The fields of a variant.
fn shape(fields: &Fields) -> String {
    let all = fields.iter().map(|field| match &field.ident {
        Some(name) => format!("{name}: {}", text(&field.ty)),
        None => text(&field.ty),
    });
    let all = all.collect::<Vec<_>>().join(", ");
    match fields {
        Fields::Named(_) => format!(" {{ {all} }}"),
        Fields::Unnamed(_) => format!("({all})"),
        Fields::Unit => String::new(),
    }
}

/// The traits that are derived.
fn derived(attributes: &[Attribute]) -> impl Iterator<Item = String> {
    let lists = attributes.iter().filter(|attribute| attribute.path().is_ident("derive"));
    let lists = lists.filter_map(|attribute| attribute.meta.require_list().ok());
    let names = lists.map(|list| text(&list.tokens));
    names.flat_map(|names| names.split(',').map(|n| n.trim().to_owned()).collect::<Vec<_>>())
}

/// Tokens without the documentation among them.
fn undocumented(tokens: &TokenStream) -> TokenStream {
    let mut left = Vec::new();
    let mut rest = tokens.clone().into_iter().peekable();
    while let Some(tree) = rest.next() {
        let text = tree.to_token_stream().to_string();
        if text == "#" && rest.peek().is_some_and(|next| next.to_string().starts_with("[doc")) {
            rest.next();
        } else {
            left.push(tree);
        }
    }
    left.into_iter().collect()
}
