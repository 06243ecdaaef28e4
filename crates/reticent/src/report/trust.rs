//! Trust model, side channels and data exposure, as parts of the page.

use std::fmt::Write;

use super::facts;
use super::page::{begin_part, end_part, escape, table};
use crate::Model;

/// The part of that name.
pub(super) fn part(page: &mut String, id: &str, model: &Model, pass: bool) {
    let (title, caption) = match id {
        "trust" => ("Who is trusted", "Central model: one curator holds all rows"),
        "channels" => ("What else could leak", "Side channels, and what is done about each"),
        _ => ("What is not protected", ""),
    };
    begin_part(page, id, title);
    if !pass {
        page.push_str("<p class=\"void\">Unknown: the file does not verify.</p>\n");
    } else if caption.is_empty() {
        for text in [facts::unprotected(model), facts::preparation(model)] {
            _ = writeln!(page, "<p>{}</p>", escape(&text));
        }
    } else {
        let facts = if id == "trust" { facts::trust(model) } else { facts::channels() };
        let rows: Vec<Vec<String>> =
            facts.map(|(name, what)| vec![name.to_owned(), format!("{what}.")]).into();
        table(page, caption, &[], &rows, &[]);
    }
    end_part(page);
}
