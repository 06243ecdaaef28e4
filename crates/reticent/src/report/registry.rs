//! The entry of a model in the public registry of deployments of differential privacy, as YAML.
//!
//! The fields are those of the registry's schema. Facts that follow from the model are filled in
//! from its verified certificate; the rest are the [`Owner`]'s statements. Texts are written as
//! quoted scalars with the escapes of JSON, which YAML shares.

use std::fmt::Write;

use super::owner::{Owner, Releases, Source};
use super::{card, facts};
use crate::draft::Spent;
use crate::{Error, Model};
use reticent_problem::number::show;

/// A value of the entry.
enum Node {
    Text(String),
    Number(f64),
    Whole(u32),
    Texts(Vec<String>),
    Fields(Vec<(&'static str, Node)>),
}

fn text(value: impl Into<String>) -> Node {
    Node::Text(value.into())
}

/// The sentences one after the other; absent ones are left out.
fn sentences(parts: &[Option<&str>]) -> Node {
    let said: Vec<&str> = parts.iter().flatten().map(|part| part.trim()).collect();
    text(said.join(" "))
}

/// The entry of a model that verifies.
pub(super) fn entry(model: &Model, owner: &Owner) -> Result<String, Error> {
    let mut deployment = vec![
        ("basic", basic(model, owner)),
        ("dp_variant", variant(model, owner)?),
        ("privacy_loss", loss(model, owner)?),
        ("deployment_model", deployment_model(model, owner)),
        ("accounting", accounting(model)),
        ("implementation", implementation(model, owner)),
    ];
    let mut administrative = vec![("registry_authors", Node::Texts(owner.authors.clone()))];
    for (name, value) in [("sources", &owner.sources), ("notes", &owner.notes)] {
        administrative.extend(value.as_ref().map(|value| (name, text(value))));
    }
    deployment.push(("administrative", Node::Fields(administrative)));
    let slug = owner.slug.clone().unwrap_or_else(|| slug(&owner.name));
    let fields = [
        ("url_slug", text(slug)),
        ("status", text("Draft")),
        ("tier", Node::Whole(3)),
        ("deployment", Node::Fields(deployment)),
    ];
    let mut yaml = String::new();
    write_fields(&mut yaml, &fields, 0);
    Ok(yaml)
}

fn basic(model: &Model, owner: &Owner) -> Node {
    let description = owner.description.clone().unwrap_or_else(|| {
        format!(
            "A model that predicts `{}`: {}",
            facts::plain(&model.task.declaration.target().name),
            card::published(model)
        )
    });
    let mut fields = vec![
        ("name", text(&owner.name)),
        ("data_curators", Node::Texts(owner.curators.clone())),
        ("intended_use", text(&owner.intended_use)),
        ("data_product_type", text("Machine learning model")),
        ("data_product_region", text(&owner.region)),
        ("description", text(description)),
        ("publication_date", text(&owner.publication_date)),
    ];
    fields.extend(owner.sector.as_ref().map(|sector| ("data_product_sector", text(sector))));
    Node::Fields(fields)
}

fn variant(model: &Model, owner: &Owner) -> Result<Node, Error> {
    let name = if facts::is_pure(model)? { "Pure DP" } else { "Approximate DP" };
    let declaration = &model.task.declaration;
    let columns: Vec<String> =
        declaration.columns().iter().map(|c| format!("`{}`", facts::plain(&c.name))).collect();
    let domain = format!(
        "All tables with the declared columns ({}), whose bounds and categories are in the model \
         file; {}. One row is {}.",
        columns.join(", "),
        facts::size(model),
        owner.row
    );
    Ok(Node::Fields(vec![
        ("variant_name", text(name)),
        ("data_domain", text(domain)),
        (
            "unprotected_quantities",
            sentences(&[Some(&facts::unprotected(model)), owner.unprotected.as_deref()]),
        ),
    ]))
}

fn loss(model: &Model, owner: &Owner) -> Result<Node, Error> {
    let Spent { budget, .. } = model.spent()?;
    let mut parameters = vec![("epsilon", Node::Number(budget.epsilon.get()))];
    if !facts::is_pure(model)? {
        parameters.push(("delta", Node::Number(budget.delta.get())));
    }
    let unit = format!("{}; a row is {}", facts::protected(model), owner.row);
    Ok(Node::Fields(vec![
        ("privacy_unit", text(unit)),
        ("privacy_unit_details", text(facts::adjacent(model))),
        ("privacy_parameters", Node::Fields(parameters)),
        ("privacy_parameters_details", text(facts::parameters(model)?)),
    ]))
}

fn deployment_model(model: &Model, owner: &Owner) -> Node {
    let trusted: Vec<String> =
        facts::trust(model).iter().map(|(who, what)| format!("{who}: {what}.")).collect();
    let releases = match owner.releases {
        Releases::One => "One release",
        Releases::Many => "Many releases",
    };
    let source = match owner.source {
        Source::Static => "Static",
        Source::Dynamic => "Dynamic",
    };
    let mut fields = vec![
        ("model_name", text("Central")),
        ("actors", sentences(&[Some(&trusted.join(" ")), owner.actors.as_deref()])),
        ("release_type", text(releases)),
    ];
    fields.extend(owner.release_plan.as_ref().map(|plan| ("release_type_details", text(plan))));
    fields.extend([("data_source_type", text(source)), ("access_type", text("Non-interactive"))]);
    Node::Fields(fields)
}

fn accounting(model: &Model) -> Node {
    Node::Fields(vec![
        ("post_processing", text(facts::post_processing(model))),
        ("composition", text(facts::composition(model))),
    ])
}

fn implementation(model: &Model, owner: &Owner) -> Node {
    let channels: Vec<String> =
        facts::channels().iter().map(|(name, what)| format!("{name}: {what}.")).collect();
    let mechanism = format!("{}. {}", facts::mechanism(model), channels.join(" "));
    let preparation = facts::preparation(model);
    Node::Fields(vec![
        (
            "preprocessing_and_hyperparameter_tuning",
            sentences(&[Some(&preparation), owner.exploration.as_deref()]),
        ),
        ("mechanisms", sentences(&[Some(&mechanism), owner.security.as_deref()])),
        ("justification", text(&owner.justification)),
    ])
}

/// Words of a name joined by dashes.
fn slug(name: &str) -> String {
    let letters = name.to_lowercase();
    let words = letters.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty());
    let slug = words.collect::<Vec<_>>().join("-");
    if slug.is_empty() { "model".to_owned() } else { slug }
}

fn write_fields(yaml: &mut String, fields: &[(&'static str, Node)], indent: usize) {
    for (name, value) in fields {
        _ = write!(yaml, "{:indent$}{name}:", "");
        match value {
            Node::Text(text) => _ = writeln!(yaml, " {}", quoted(text)),
            Node::Number(number) => _ = writeln!(yaml, " {}", float(*number)),
            Node::Whole(number) => _ = writeln!(yaml, " {number}"),
            Node::Texts(texts) => {
                yaml.push('\n');
                for text in texts {
                    _ = writeln!(yaml, "{:indent$}  - {}", "", quoted(text));
                }
            }
            Node::Fields(fields) => {
                yaml.push('\n');
                write_fields(yaml, fields, indent + 2);
            }
        }
    }
}

/// A double-quoted scalar. JSON leaves some characters bare that YAML does not allow so.
fn quoted(text: &str) -> String {
    let mut quoted = "\"".to_owned();
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' => {
                _ = write!(quoted, "\\x{:02x}", u32::from(c));
            }
            '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            _ => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// A number as every version of YAML reads one: with a point, and a sign in the exponent.
fn float(x: f64) -> String {
    let text = show(x);
    match text.split_once('e') {
        None if text.contains('.') => text,
        None => format!("{text}.0"),
        Some((mantissa, exponent)) => {
            let point = if mantissa.contains('.') { "" } else { ".0" };
            let sign = if exponent.starts_with('-') { "" } else { "+" };
            format!("{mantissa}{point}e{sign}{exponent}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_floats_in_every_version_of_yaml() {
        for (number, text) in
            [(1.0, "1.0"), (0.25, "0.25"), (1e-6, "1.0e-6"), (1.5e-9, "1.5e-9"), (1e20, "1.0e+20")]
        {
            assert_eq!(float(number), text);
        }
    }

    #[test]
    fn texts_stay_in_their_quotes() {
        assert_eq!(quoted("a \"b\" \\ c\nd: #e"), r#""a \"b\" \\ c\nd: #e""#);
        assert_eq!(quoted("\u{7}\u{85}\u{2028}é"), r#""\x07\x85\u2028é""#);
    }

    #[test]
    fn slugs_are_words_and_dashes() {
        assert_eq!(slug("Readmissions, 2026 (São Paulo)"), "readmissions-2026-s-o-paulo");
        assert_eq!(slug("年齢"), "model");
    }
}
