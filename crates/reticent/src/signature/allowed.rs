//! The list of allowed signers, in the form that `ssh-keygen` reads: one line for each key,
//!
//! ```text
//! # who          restrictions                                    key
//! ann@clinic.org                                                 ssh-ed25519 AAAA...
//! *@lab.org      namespaces="reticent",valid-before="20270101Z"  ssh-ed25519 AAAA...
//! ```
//!
//! A line that cannot be read in full is refused with its number: a restriction that is not
//! understood must not be passed over.

use std::path::Path;

use ssh_key::PublicKey;
use ssh_key::public::KeyData;

use super::{NAMESPACE, time};
use crate::Error;
use crate::files::read_text;

/// Who may sign, with which key, for what and when.
#[derive(Clone, Debug)]
pub struct AllowedSigners {
    file: String,
    lines: Vec<SignerLine>,
}

#[derive(Clone, Debug)]
struct SignerLine {
    /// Patterns of names, with commas between.
    principals: String,
    key: KeyData,
    restrictions: Restrictions,
}

#[derive(Clone, Debug, Default)]
struct Restrictions {
    /// Patterns of purposes, with commas between.
    namespaces: Option<String>,
    /// Seconds since 1970.
    valid_after: Option<u64>,
    valid_before: Option<u64>,
    /// The key signs keys and no files.
    is_authority: bool,
}

impl AllowedSigners {
    /// Reads a list.
    ///
    /// # Errors
    ///
    /// [`Error::File`]; [`Error::Signature`] names a line that cannot be read.
    pub fn load(path: &Path) -> Result<Self, Error> {
        Self::parse(&read_text(path)?, &path.display().to_string())
    }

    fn parse(text: &str, file: &str) -> Result<Self, Error> {
        let mut lines = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            lines.push(SignerLine::parse(line).map_err(|why| Error::Signature {
                file: file.to_owned(),
                why: format!("line {}: {why}", i + 1),
            })?);
        }
        Ok(Self { file: file.to_owned(), lines })
    }

    /// The names that the list has for a key, or why it may not sign at this time or under the name
    /// of `signer`.
    pub(super) fn signer_of(
        &self,
        key: &KeyData,
        signer: Option<&str>,
        now: u64,
    ) -> Result<String, String> {
        let file = &self.file;
        let mut why = format!("the key that signed it is not in `{file}`");
        for line in self.lines.iter().filter(|line| line.key == *key) {
            let names = &line.principals;
            match line.restrictions.refusal(now) {
                Some(refusal) => why = format!("the key of `{names}` in `{file}` {refusal}"),
                None => match signer {
                    Some(name) if !matches(names, name) => {
                        why = format!("it was signed by `{names}`, and `{name}` was asked for");
                    }
                    Some(name) => return Ok(name.to_owned()),
                    // A line of exclusions names nobody.
                    None if names
                        .split(',')
                        .all(|name| name.is_empty() || name.starts_with('!')) =>
                    {
                        why = format!("the line of its key in `{file}` names nobody");
                    }
                    None => return Ok(names.clone()),
                },
            }
        }
        Err(why)
    }
}

impl SignerLine {
    fn parse(line: &str) -> Result<Self, String> {
        let (principals, rest) = word(line);
        if principals.contains('"') {
            return Err("names must not be quoted; write them without blanks".to_owned());
        }
        let (first, after) = word(rest);
        let kinds = ["ssh-", "ecdsa-", "sk-"];
        let is_key = first.is_empty() || kinds.iter().any(|kind| first.starts_with(kind));
        let (restrictions, key) = if is_key {
            (Restrictions::default(), rest)
        } else {
            (Restrictions::parse(first)?, after)
        };
        let key = PublicKey::from_openssh(key)
            .map_err(|_| "there is no public key; a line is a name, options and a key as in `id_ed25519.pub`")?;
        Ok(Self { principals: principals.to_owned(), key: key.key_data().clone(), restrictions })
    }
}

impl Restrictions {
    fn parse(text: &str) -> Result<Self, String> {
        let mut list = Self::default();
        for option in unquoted(text, |c| c == ',') {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            let value = value.strip_prefix('"').and_then(|v| v.strip_suffix('"'));
            let time = || {
                value.and_then(time::parse).ok_or_else(|| {
                    format!("`{name}` must be a quoted time in UTC such as \"20270101Z\" or \"202701011200Z\"")
                })
            };
            match (name.to_ascii_lowercase().as_str(), value) {
                ("cert-authority", None) => list.is_authority = true,
                ("namespaces", Some(value)) if list.namespaces.is_none() => {
                    list.namespaces = Some(value.to_owned());
                }
                ("valid-after", _) if list.valid_after.is_none() => {
                    list.valid_after = Some(time()?);
                }
                ("valid-before", _) if list.valid_before.is_none() => {
                    list.valid_before = Some(time()?);
                }
                _ => {
                    let name = name.escape_debug();
                    return Err(format!(
                        "the option `{name}` is not understood; use `namespaces`, `valid-after`, `valid-before` or `cert-authority`, each once"
                    ));
                }
            }
        }
        Ok(list)
    }

    /// Why the key may not sign for Reticent at this time; none if it may.
    fn refusal(&self, now: u64) -> Option<String> {
        if self.is_authority {
            return Some("signs keys and not files (`cert-authority`)".to_owned());
        }
        if self.namespaces.as_ref().is_some_and(|list| !matches(list, NAMESPACE)) {
            return Some(format!("is not for the namespace `{NAMESPACE}`"));
        }
        if self.valid_after.is_some_and(|after| now < after) {
            return Some("is not yet valid (`valid-after`)".to_owned());
        }
        if self.valid_before.is_some_and(|before| now > before) {
            return Some("has expired (`valid-before`)".to_owned());
        }
        None
    }
}

/// The text up to the first blank outside quotes, and the rest.
fn word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let first = unquoted(text, char::is_whitespace).next().unwrap_or_default();
    (first, text[first.len()..].trim_start())
}

/// The pieces of a text between separators that stand outside quotes.
fn unquoted(text: &str, is_separator: impl Fn(char) -> bool) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    text.split(move |c: char| {
        quoted ^= c == '"';
        !quoted && is_separator(c)
    })
}

/// Whether a name matches a list of patterns with commas between: one of them, and none that begins
/// with `!`.
fn matches(list: &str, name: &str) -> bool {
    let mut found = false;
    for pattern in list.split(',') {
        match pattern.strip_prefix('!') {
            Some(pattern) if matches_one(pattern, name) => return false,
            Some(_) => {}
            None => found |= matches_one(pattern, name),
        }
    }
    found
}

/// `*` stands for any characters and `?` for one. In time proportional to the product of the
/// lengths.
fn matches_one(pattern: &str, name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    // Whether the pattern so far matches the first so many characters of the name.
    let mut reach = vec![false; name.len() + 1];
    reach[0] = true;
    for p in pattern.chars() {
        if p == '*' {
            for i in 0..name.len() {
                reach[i + 1] |= reach[i];
            }
        } else {
            for i in (0..name.len()).rev() {
                reach[i + 1] = reach[i] && (p == '?' || p == name[i]);
            }
            reach[0] = false;
        }
    }
    reach[name.len()]
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti user@example.com";

    fn list(line: &str) -> Result<AllowedSigners, String> {
        AllowedSigners::parse(line, "list").map_err(|e| e.to_string())
    }

    fn key() -> KeyData {
        PublicKey::from_openssh(KEY).unwrap().key_data().clone()
    }

    #[test]
    fn patterns_match_as_ssh_matches_them() {
        for (list, name, holds) in [
            ("ann@clinic.org", "ann@clinic.org", true),
            ("ann@clinic.org", "Ann@clinic.org", false),
            ("*@clinic.org", "ann@clinic.org", true),
            ("*@clinic.org,!bob*", "bob@clinic.org", false),
            ("bob,ann", "ann", true),
            ("a?n", "ann", true),
            ("a?n", "an", false),
            ("*", "", true),
            ("", "ann", false),
            ("a*b*c", "axxbxxbc", true),
            ("a*b*c", "axxbxxb", false),
        ] {
            assert_eq!(matches(list, name), holds, "{list} {name}");
        }
    }

    #[test]
    fn a_restriction_is_kept_or_the_line_is_refused() {
        let now = time::parse("20260601Z").unwrap();
        let asked = |line: &str| list(line).unwrap().signer_of(&key(), Some("ann"), now);
        assert_eq!(asked(&format!("# a comment\n\nann,bob {KEY}")), Ok("ann".to_owned()));
        let both = "namespaces=\"git,reticent\",valid-after=\"20260101Z\"";
        assert!(asked(&format!("ann {both} {KEY}")).is_ok());
        for (line, why) in [
            (format!("bob {KEY}"), "`ann` was asked for"),
            (format!("ann namespaces=\"git,file\" {KEY}"), "not for the namespace"),
            (format!("ann namespaces=\"git, reticent\" {KEY}"), "not for the namespace"),
            (format!("ann valid-before=\"20260101Z\" {KEY}"), "has expired"),
            (format!("ann Valid-After=\"20270101Z\" {KEY}"), "not yet valid"),
            (format!("ann cert-authority {KEY}"), "signs keys"),
            (String::new(), "is not in `list`"),
        ] {
            assert!(asked(&line).is_err_and(|found| found.contains(why)), "{line}");
        }
        let nobody = list(&format!("!ann {KEY}")).unwrap().signer_of(&key(), None, now);
        assert!(nobody.is_err_and(|found| found.contains("names nobody")));
        for (line, why) in [
            (format!("ann valid-before=\"20270101\" {KEY}"), "line 1: `valid-before` must be"),
            (format!("\nann touch-required {KEY}"), "line 2: the option `touch-required`"),
            (format!("ann namespaces=reticent {KEY}"), "the option `namespaces`"),
            ("ann".to_owned(), "there is no public key"),
            ("ann ssh-ed25519 AAAA".to_owned(), "there is no public key"),
            (format!("\"ann lee\" {KEY}"), "must not be quoted"),
        ] {
            assert!(
                list(&line).is_err_and(|found| found.contains(why)),
                "{line}: {:?}",
                list(&line).err()
            );
        }
    }
}
