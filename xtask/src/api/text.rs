//! Tokens as one line of text, spaced as people write Rust.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use quote::ToTokens;

/// Words after which a bracket is no call or index.
const APART: [&str; 9] = ["mut", "dyn", "in", "as", "where", "for", "impl", "const", "move"];

/// The text of a piece of syntax.
pub(super) fn text(tokens: impl ToTokens) -> String {
    let mut words = Vec::new();
    collect(tokens.to_token_stream(), &mut words);
    let mut line = String::new();
    let mut last = "";
    for word in &words {
        if !last.is_empty() && is_apart(last, word) {
            line.push(' ');
        }
        line.push_str(word);
        last = word;
    }
    line
}

/// The tokens in order, with signs that touch as one.
fn collect(tokens: TokenStream, words: &mut Vec<String>) {
    let mut joint = false;
    for tree in tokens {
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::None => ("", ""),
                };
                words.push(open.to_owned());
                collect(group.stream(), words);
                words.push(close.to_owned());
                joint = false;
            }
            TokenTree::Punct(sign) => {
                match words.last_mut() {
                    Some(last) if joint => last.push(sign.as_char()),
                    _ => words.push(sign.to_string()),
                }
                joint = sign.spacing() == Spacing::Joint;
            }
            other => {
                match words.last_mut() {
                    // The name of a lifetime.
                    Some(last) if joint && last.ends_with('\'') => {
                        last.push_str(&other.to_string());
                    }
                    _ => words.push(other.to_string()),
                }
                joint = false;
            }
        }
    }
}

/// Whether a blank stands between two tokens.
fn is_apart(last: &str, next: &str) -> bool {
    let first = next.chars().next().unwrap_or(' ');
    let end = last.chars().last().unwrap_or(' ');
    if matches!(first, ',' | ';' | ':' | ')' | ']' | '?' | '.' | '>') {
        return false;
    }
    if matches!(end, '(' | '[' | '<' | '&' | '\'' | '!' | '.' | '#' | '*' | '?')
        || last.ends_with("::")
    {
        return false;
    }
    let after_word = end.is_alphanumeric() || end == '_';
    match first {
        '<' => !after_word || last == "where",
        '(' | '[' => {
            let is_called = after_word && !APART.contains(&last) && !last.contains('\'');
            !(is_called || end == '>' && last != "->")
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::text;

    #[track_caller]
    fn stays(line: &str) {
        let tokens: proc_macro2::TokenStream = line.parse().expect("tokens");
        assert_eq!(text(tokens), line);
    }

    #[test]
    fn a_line_is_spaced_as_people_write_it() {
        stays("fn run(&self, oracle: &dyn Oracle, w: &mut [f64]) -> Result<(), RunError>");
        stays("fn all<'a, T: Copy + 'a>(of: &'a [T; 3]) -> impl Iterator<Item = &'a T> + 'a");
        stays("const NAMES: &[(&str, fn(f64) -> Option<Vec<Vec<f64>>>)]");
        stays("impl<T> From<Vec<T>> for Rows<T> where T: Into<f64>");
    }
}
