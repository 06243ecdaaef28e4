//! The public items of every library, as `docs/api/CRATE.txt`: committed and compared.
//!
//! It is made from the sources, without a compiler. Items that a macro repeats are listed as the
//! call that makes them. A line that is gone or different can break a user, so the changelog must
//! tell of it.

mod lines;
mod names;
mod source;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

type Listings = BTreeMap<String, BTreeSet<String>>;

/// Compares the listings with the sources, or writes them again.
pub(crate) fn run(root: &Path, write: bool) -> Result<(), String> {
    let new = made(root)?;
    let old = committed(root)?;
    let (gone, told) = difference(&old, &new);
    let news = unreleased(&read(&root.join("CHANGELOG.md"))?);
    let silent: Vec<_> = gone.iter().filter(|(name, line)| !is_told(name, line, &news)).collect();
    if !silent.is_empty() {
        let lines: Vec<_> = silent.iter().map(|(name, line)| format!("  {name}: {line}")).collect();
        return Err(format!(
            "these public items are gone or changed, and CHANGELOG.md does not tell of them:\n{}\nname them there between backticks, under Unreleased, or begin an entry with \"API of `CRATE`\"; then type `cargo xtask api --write`",
            lines.join("\n")
        ));
    }
    if write {
        return save(root, &old, &new);
    }
    if told.is_empty() {
        return Ok(());
    }
    let told = told.join("\n");
    Err(format!("the public items differ from docs/api:\n{told}\ntype `cargo xtask api --write`"))
}

/// The listing of every library under `crates`.
fn made(root: &Path) -> Result<Listings, String> {
    let folder = root.join("crates");
    let mut listings = Listings::new();
    for entry in fs::read_dir(&folder).map_err(|error| told(&folder, &error))? {
        let path = entry.map_err(|error| told(&folder, &error))?.path();
        let file = path.join("src").join("lib.rs");
        let Some(name) = path.file_name().filter(|_| file.exists()) else { continue };
        let name = name.to_string_lossy().into_owned();
        let lines = lines::lines(&name.replace('-', "_"), &source::library(&file)?);
        // A binding to another language has no public items.
        if !lines.is_empty() {
            listings.insert(name, lines);
        }
    }
    Ok(listings)
}

fn committed(root: &Path) -> Result<Listings, String> {
    let folder = root.join("docs").join("api");
    let mut listings = Listings::new();
    let Ok(entries) = fs::read_dir(&folder) else { return Ok(listings) };
    for entry in entries {
        let path = entry.map_err(|error| told(&folder, &error))?.path();
        if path.extension().is_some_and(|ending| ending == "txt") {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            listings.insert(name, read(&path)?.lines().map(str::to_owned).collect());
        }
    }
    Ok(listings)
}

fn save(root: &Path, old: &Listings, new: &Listings) -> Result<(), String> {
    let place = |name: &str| root.join("docs").join("api").join(format!("{name}.txt"));
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        fs::remove_file(place(name)).map_err(|error| told(&place(name), &error))?;
    }
    for (name, lines) in new {
        let text: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
        let folder = place(name).parent().map(PathBuf::from).unwrap_or_default();
        fs::create_dir_all(&folder).map_err(|error| told(&folder, &error))?;
        fs::write(place(name), text).map_err(|error| told(&place(name), &error))?;
    }
    Ok(())
}

/// Lines that are gone, with their crate, and what to print of the difference.
fn difference(old: &Listings, new: &Listings) -> (Vec<(String, String)>, Vec<String>) {
    let none = BTreeSet::new();
    let names: BTreeSet<_> = old.keys().chain(new.keys()).collect();
    let mut gone = Vec::new();
    let mut told = Vec::new();
    for name in names {
        let (before, after) = (old.get(name).unwrap_or(&none), new.get(name).unwrap_or(&none));
        gone.extend(before.difference(after).map(|line| (name.clone(), line.clone())));
        told.extend(before.difference(after).map(|line| format!("- {line}")));
        told.extend(after.difference(before).map(|line| format!("+ {line}")));
    }
    (gone, told)
}

/// The part of the changelog that is not released.
fn unreleased(changelog: &str) -> String {
    let after = changelog.split("\n## ").find(|part| part.starts_with("Unreleased"));
    after.unwrap_or_default().to_owned()
}

/// Whether the changelog tells of a line: by the item's name, its owner's, or for its whole crate.
fn is_told(krate: &str, line: &str, news: &str) -> bool {
    let entries = news.split("\n- ");
    let whole = entries.filter(|entry| entry.starts_with("API of "));
    if whole.into_iter().any(|entry| entry.contains(&format!("`{krate}`"))) {
        return true;
    }
    let path = line.split([' ', '(', '<', '{']).find(|word| word.contains("::")).unwrap_or(line);
    let mut names = path.trim_end_matches(':').rsplit("::");
    let (last, owner) = (names.next().unwrap_or_default(), names.next().unwrap_or_default());
    let is_type = |name: &str| name.starts_with(char::is_uppercase);
    let is_sign = |c: char| !c.is_alphanumeric() && c != '_';
    let spans: Vec<Vec<&str>> =
        news.split('`').skip(1).step_by(2).map(|span| span.split(is_sign).collect()).collect();
    // A type may stand anywhere between backticks; a word as plain as `run` stands alone or with
    // its owner.
    spans.iter().any(|span| {
        (is_type(last) && span.contains(&last))
            || (is_type(owner) && span[..] == [owner])
            || span.first() == Some(&last)
            || (span.contains(&owner) && span.contains(&last))
    })
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| told(path, &error))
}

fn told(path: &Path, error: &dyn std::fmt::Display) -> String {
    format!("`{}`: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{is_told, made, run};

    /// A library with what is hard to see: names that are handed on, macros, private modules.
    const LIB: &str = "
        mod inner;
        pub mod rooms;
        pub use paint::{paint, Paint};
        mod paint { pub fn paint() {} pub struct Paint; }
        pub use inner::{Hidden as Shown, Door};
        #[doc(hidden)]
        pub use inner::for_benches;
        pub use other_crate::Lock;
        macro_rules! keys { ($($name:ident($t:ty)),+) => { pub enum Key { $($name($t),)+ } impl Key { pub fn turn(&self) {} } } }
        keys!(Brass(u8), Steel(u16));
        #[cfg(test)]
        pub fn only_in_tests() {}
    ";
    const INNER: &str = "
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub struct Hidden { pub size: f64, secret: u8 }
        impl Hidden { pub const MOST: usize = 3; pub fn open(&self, by: &str) -> Result<(), String> { Ok(()) } fn inside(&self) {} }
        pub enum Door { Shut, Ajar(f64), Open { width: f64 } }
        impl std::fmt::Display for Door {}
        pub(crate) struct Secret;
        impl Secret { pub fn tell(&self) {} }
        pub fn unreachable() {}
        #[doc(hidden)]
        pub fn for_benches() {}
    ";
    const ROOMS: &str = "
        pub use crate::inner::Door;
        pub trait Room: Send { const DOORS: usize; fn enter(&mut self, from: &Door); fn leave(&self) -> bool { true } }
        pub const LEAST: f64 = 1.0;
        impl Room for f64 {}
    ";

    fn project(root: &Path, rooms: &str, changelog: &str) {
        let source = root.join("crates/big-house/src");
        fs::create_dir_all(&source).expect("a folder");
        for (name, text) in [("lib.rs", LIB), ("inner.rs", INNER), ("rooms.rs", rooms)] {
            fs::write(source.join(name), text).expect("a file");
        }
        let text = format!("# Changelog\n\n## Unreleased\n\n{changelog}\n\n## 0.1\n\n- `LEAST`\n");
        fs::write(root.join("CHANGELOG.md"), text).expect("a file");
    }

    #[test]
    fn what_others_can_reach_is_listed_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        project(folder.path(), ROOMS, "");
        let listings = made(folder.path()).expect("a listing");
        let lines: Vec<_> = listings["big-house"].iter().map(String::as_str).collect();
        let expected = [
            "#[non_exhaustive] pub struct big_house::Shown",
            "big_house::Door::Ajar(f64)",
            "big_house::Door::Open { width: f64 }",
            "big_house::Door::Shut",
            "const big_house::rooms::Room::DOORS: usize",
            "fn big_house::rooms::Room::enter(&mut self, from: &Door)",
            "fn big_house::rooms::Room::leave(&self) -> bool (provided)",
            "impl Clone for big_house::Shown",
            "impl Debug for big_house::Shown",
            "impl Room for f64",
            "impl std::fmt::Display for big_house::Door",
            "made by keys!(Brass(u8), Steel(u16))",
            "pub big_house::Shown::size: f64",
            "pub const big_house::Shown::MOST: usize",
            "pub const big_house::rooms::LEAST: f64",
            "pub enum big_house::Door",
            "pub enum big_house::Key",
            "pub fn big_house::Key::turn(&self)",
            "pub fn big_house::Shown::open(&self, by: &str) -> Result<(), String>",
            "pub fn big_house::paint()",
            "pub mod big_house::rooms",
            "pub struct big_house::Paint",
            "pub trait big_house::rooms::Room: Send",
            "pub use big_house::Door as big_house::rooms::Door",
            "pub use other_crate::Lock as big_house::Lock",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_difference_is_told_and_a_loss_must_stand_in_the_changelog() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        project(root, ROOMS, "");
        assert!(run(root, false).is_err_and(|why| why.contains("+ pub mod big_house::rooms")));
        assert_eq!(run(root, true), Ok(()));
        assert_eq!(run(root, false), Ok(()));
        // More is no harm, but the listing must be current.
        project(root, &format!("{ROOMS} pub fn more() {{}}"), "");
        assert!(
            run(root, false).is_err_and(|why| why.contains("+ pub fn big_house::rooms::more()"))
        );
        assert_eq!(run(root, true), Ok(()));
        // Less is harm: it is not written before the changelog tells of it.
        let less = ROOMS.replace("LEAST: f64", "LEAST: f32");
        project(root, &less, "- Nothing to tell.");
        for write in [false, true] {
            let why = run(root, write).expect_err("nobody was told");
            assert!(why.contains("big-house: pub const big_house::rooms::LEAST: f64"), "{why}");
        }
        project(root, &less, "- `LEAST` has single precision; `more` is gone.");
        assert_eq!(run(root, true), Ok(()));
        assert_eq!(run(root, false), Ok(()));
    }

    #[test]
    fn an_entry_is_for_an_item_its_owner_or_its_crate() {
        let line = "pub fn big_house::Shown::open(&self)";
        for told in
            ["- `Shown` is gone", "- `Shown::open`", "- `open()`", "- API of `big-house`: new"]
        {
            assert!(is_told("big-house", line, &format!("\n{told}\n")), "{told}");
        }
        for silent in
            ["- Shown", "- `ledger open`", "- API of `small-house`: new", "- `Shown::shut`"]
        {
            assert!(!is_told("big-house", line, &format!("\n{silent}\n")), "{silent}");
        }
    }
}
