//! Which item a name means, and which names others can reach.

use std::collections::{BTreeMap, VecDeque};

use syn::{Ident, Item, UseTree, Visibility};

use super::source::{Module, attributes, is_hidden};

/// Imports that lead in a circle end here.
const DEEPEST: usize = 32;

/// The depth that the import of a whole module counts for: two modules that import all of each
/// other lead in many circles.
const GLOB: usize = 8;

/// An item by the module that defines it and its name there.
pub(super) type Key = (Vec<String>, String);

/// The target of a path.
#[derive(Clone, Copy)]
pub(super) enum Found<'a> {
    Module(&'a Module),
    Item(&'a Module, &'a Item),
}

/// One name that a `use` binds, or all names of a module.
pub(super) struct Import {
    pub(super) path: Vec<String>,
    pub(super) name: Option<String>,
}

/// The names of a crate that others can use.
pub(super) struct Public<'a> {
    /// Where each item is first found, nearest to the root.
    pub(super) items: BTreeMap<Key, (Vec<String>, &'a Item)>,
    /// Modules.
    pub(super) modules: Vec<Vec<String>>,
    /// Second names of items: the name, and the item's first name.
    pub(super) again: Vec<(Vec<String>, Key)>,
    /// Names of other crates: the name, and the path in that crate.
    pub(super) others: Vec<(Vec<String>, Vec<String>)>,
}

/// Walks a crate from its root, the nearest modules first.
pub(super) fn public<'a>(root: &'a Module) -> Public<'a> {
    let mut public = Public {
        items: BTreeMap::new(),
        modules: Vec::new(),
        again: Vec::new(),
        others: Vec::new(),
    };
    let mut left: VecDeque<(Vec<String>, &'a Module)> = VecDeque::from([(Vec::new(), root)]);
    while let Some((path, module)) = left.pop_front() {
        if path.len() > DEEPEST {
            continue;
        }
        for (name, found) in exports(root, module) {
            let path = path.iter().cloned().chain([name]).collect();
            match found {
                Ok(Found::Module(below)) => {
                    public.modules.push(Vec::clone(&path));
                    left.push_back((path, below));
                }
                Ok(Found::Item(home, item)) => public.add(path, home, item),
                Err(other) => public.others.push((path, other)),
            }
        }
    }
    public
}

impl<'a> Public<'a> {
    fn add(&mut self, path: Vec<String>, home: &Module, item: &'a Item) {
        let Some(name) = name(item) else { return };
        let key = (home.path.clone(), name.to_string());
        if self.items.get(&key).is_some_and(|(first, _)| *first != path) {
            self.again.push((path, key));
        } else {
            self.items.insert(key, (path, item));
        }
    }
}

/// The exports of a module: names with their targets, or with the path in another crate.
fn exports<'a>(
    root: &'a Module,
    module: &'a Module,
) -> Vec<(String, Result<Found<'a>, Vec<String>>)> {
    let mut shown = Vec::new();
    let shows = |item: &&Item| is_public(item) && !is_hidden(attributes(item));
    for item in module.items.iter().filter(shows) {
        match item {
            Item::Mod(below) => {
                let name = below.ident.to_string();
                shown.extend(module.children.get(&name).map(|m| (name, Ok(Found::Module(m)))));
            }
            Item::Use(item) => {
                for import in imports(&item.tree) {
                    shown.extend(imported(root, module, &import));
                }
            }
            item => {
                shown.extend(name(item).map(|n| (n.to_string(), Ok(Found::Item(module, item)))));
            }
        }
    }
    shown
}

fn imported<'a>(
    root: &'a Module,
    module: &'a Module,
    import: &Import,
) -> Vec<(String, Result<Found<'a>, Vec<String>>)> {
    let found = resolve(root, module, &import.path, 0);
    match (&import.name, found) {
        (Some(name), found) => vec![(name.clone(), found.ok_or_else(|| import.path.clone()))],
        (None, Some(Found::Module(all))) => exports(root, all),
        (None, _) => vec![("*".to_owned(), Err(import.path.clone()))],
    }
}

/// The target of a path in a module, if it is of this crate.
pub(super) fn resolve<'a>(
    root: &'a Module,
    from: &'a Module,
    path: &[String],
    depth: usize,
) -> Option<Found<'a>> {
    let (first, rest) = path.split_first()?;
    let start = match first.as_str() {
        "crate" => Found::Module(root),
        "self" => Found::Module(from),
        "super" => Found::Module(above(root, from)?),
        name => lookup(root, from, name, rest.is_empty(), depth)?,
    };
    let last = rest.len();
    (1..).zip(rest).try_fold(start, |found, (place, name)| match found {
        Found::Module(module) if name == "super" => above(root, module).map(Found::Module),
        Found::Module(module) => lookup(root, module, name, place == last, depth),
        Found::Item(..) => None,
    })
}

fn above<'a>(root: &'a Module, module: &Module) -> Option<&'a Module> {
    let (_, path) = module.path.split_last()?;
    path.iter().try_fold(root, |module, name| module.children.get(name))
}

/// The target of a name in a module. A module and an item may share it: a path goes on in the
/// module and ends at the item.
fn lookup<'a>(
    root: &'a Module,
    module: &'a Module,
    sought: &str,
    last: bool,
    depth: usize,
) -> Option<Found<'a>> {
    let below = module.children.get(sought).map(Found::Module);
    if below.is_some() && !last || depth > DEEPEST {
        return below;
    }
    let is_it = |item: &&Item| name(item).is_some_and(|name| name == sought);
    let item = module.items.iter().find(is_it).map(|item| Found::Item(module, item));
    item.or_else(|| through_imports(root, module, sought, last, depth)).or(below)
}

/// The target of a name by the imports of a module, those of single names first.
fn through_imports<'a>(
    root: &'a Module,
    module: &'a Module,
    sought: &str,
    last: bool,
    depth: usize,
) -> Option<Found<'a>> {
    let uses = module.items.iter().filter_map(|item| match item {
        Item::Use(item) => Some(imports(&item.tree)),
        _ => None,
    });
    let all: Vec<Import> = uses.flatten().collect();
    // A crate that is imported under its own name is not looked for again.
    let is_named =
        |import: &&Import| import.name.as_deref() == Some(sought) && import.path != [sought];
    let resolved = |import: &Import| resolve(root, module, &import.path, depth + 1);
    let single = all.iter().filter(is_named).find_map(resolved);
    // A whole crate that is imported holds none of this crate's names.
    let is_own = |first: &String| {
        ["crate", "self", "super"].contains(&first.as_str()) || module.children.contains_key(first)
    };
    let globs = all.iter().filter(|i| i.name.is_none() && i.path.first().is_some_and(is_own));
    single.or_else(|| {
        globs.filter_map(resolved).find_map(|found| match found {
            Found::Module(other) if other.path != module.path => {
                lookup(root, other, sought, last, depth + GLOB)
            }
            _ => None,
        })
    })
}

/// Every name that a `use` binds.
pub(super) fn imports(tree: &UseTree) -> Vec<Import> {
    let before = |first: &Ident, imports: Vec<Import>| {
        let longer = imports.into_iter().map(|import| Import {
            path: [vec![first.to_string()], import.path].concat(),
            name: import.name.map(|name| if name == "self" { first.to_string() } else { name }),
        });
        longer.collect()
    };
    match tree {
        UseTree::Path(path) => before(&path.ident, imports(&path.tree)),
        UseTree::Name(name) => {
            let name = name.ident.to_string();
            let path = if name == "self" { Vec::new() } else { vec![name.clone()] };
            vec![Import { path, name: Some(name) }]
        }
        UseTree::Rename(rename) => vec![Import {
            path: vec![rename.ident.to_string()],
            name: Some(rename.rename.to_string()),
        }],
        UseTree::Glob(_) => vec![Import { path: Vec::new(), name: None }],
        UseTree::Group(group) => group.items.iter().flat_map(imports).collect(),
    }
}

/// The name of an item that others can call by it.
pub(super) fn name(item: &Item) -> Option<&Ident> {
    match item {
        Item::Const(item) => Some(&item.ident),
        Item::Enum(item) => Some(&item.ident),
        Item::Fn(item) => Some(&item.sig.ident),
        Item::Static(item) => Some(&item.ident),
        Item::Struct(item) => Some(&item.ident),
        Item::Trait(item) => Some(&item.ident),
        Item::Type(item) => Some(&item.ident),
        Item::Union(item) => Some(&item.ident),
        _ => None,
    }
}

fn is_public(item: &Item) -> bool {
    let visibility = match item {
        Item::Const(item) => &item.vis,
        Item::Enum(item) => &item.vis,
        Item::Fn(item) => &item.vis,
        Item::Mod(item) => &item.vis,
        Item::Static(item) => &item.vis,
        Item::Struct(item) => &item.vis,
        Item::Trait(item) => &item.vis,
        Item::Type(item) => &item.vis,
        Item::Union(item) => &item.vis,
        Item::Use(item) => &item.vis,
        _ => return false,
    };
    matches!(visibility, Visibility::Public(_))
}
