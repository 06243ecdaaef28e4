//! The model card: Markdown for a model's page, from the model and what its owner states.

use std::fmt::Write;

use serde_json::Value;

use super::evaluation::{metrics, promise};
use super::owner::Owner;
use super::{Beside, card, facts};
use crate::draft::Spent;
use crate::verify::Verification;
use crate::{Error, Model};
use reticent_problem::number::{at_most, norm_at_most, show};

/// The card of a model that verifies.
pub(super) fn model_card(
    model: &Model,
    verification: &Verification,
    file: &str,
    beside: &Beside,
) -> Result<String, Error> {
    let owner = beside.owner.as_ref();
    let table = model.task.declaration.name().unwrap_or("a table");
    let title = owner.map_or_else(|| format!("Model of {}", code(table)), |o| o.name.clone());
    let mut page =
        "---\nlibrary_name: reticent\ntags:\n  - differential-privacy\n  - tabular\n---\n\n"
            .to_owned();
    _ = writeln!(page, "# {title}\n\n{}\n", facts::statement(model, verification));
    details(&mut page, model, owner);
    intended(&mut page, owner);
    privacy(&mut page, model)?;
    training(&mut page, model)?;
    evaluation(&mut page, beside.evaluation.as_ref());
    limits(&mut page, model, owner);
    trust(&mut page, model);
    _ = writeln!(
        page,
        "## Verify it\n\n{} checks of the file hold, recomputed without the data:\n\n    reticent \
         verify {file}\n\nDigest of the model: `{}`",
        verification.recomputed.len(),
        model.digest()
    );
    Ok(page)
}

/// Text of a file in a span of code.
fn code(text: &str) -> String {
    format!("`{}`", facts::plain(text))
}

/// A line of a list.
fn item(page: &mut String, name: &str, value: &str) {
    _ = writeln!(page, "- **{name}**: {value}");
}

fn details(page: &mut String, model: &Model, owner: Option<&Owner>) {
    page.push_str("## The model\n\n");
    if let Some(owner) = owner {
        item(page, "Curator", &owner.curators.join(", "));
        item(page, "Published", &owner.publication_date);
        if let Some(description) = &owner.description {
            item(page, "Description", description);
        }
    }
    item(page, "What is published", &card::published(model));
    item(page, "Noise mechanism", &facts::mechanism(model));
    item(page, "After the release", &facts::post_processing(model));
    page.push('\n');
}

fn intended(page: &mut String, owner: Option<&Owner>) {
    page.push_str("## Intended use\n\n");
    match owner {
        Some(owner) => {
            _ = writeln!(page, "{}\n", owner.intended_use);
            item(page, "Region", &owner.region);
            if let Some(sector) = &owner.sector {
                item(page, "Sector", sector);
            }
            item(page, "Why these choices", &owner.justification);
        }
        None => page.push_str(
            "Not stated. The curator states it in a file: `reticent report --format card \
             --release release.toml`.\n",
        ),
    }
    page.push('\n');
}

fn privacy(page: &mut String, model: &Model) -> Result<(), Error> {
    let Spent { budget, .. } = model.spent()?;
    page.push_str("## Privacy\n\n");
    item(page, "Protected", &facts::protected(model));
    item(page, "Adjacency", &facts::adjacent(model));
    let promise = format!("epsilon = {}, delta = {}", budget.epsilon, show(budget.delta.get()));
    item(page, "Promise", &promise);
    if let Some(risk) = card::kept_risk(model) {
        item(page, "Risk", &format!("{risk}."));
    }
    item(page, "In other terms", &facts::parameters(model)?);
    item(page, "Not protected", &facts::unprotected(model));
    item(page, "Composition", &facts::composition(model));
    page.push('\n');
    Ok(())
}

fn training(page: &mut String, model: &Model) -> Result<(), Error> {
    let explained = model.task.declaration.explain(&model.task.encoding)?;
    _ = writeln!(
        page,
        "## Training data\n\n{}. {}\n",
        facts::size(model),
        facts::preparation(model)
    );
    page.push_str("| column | role | encoding |\n| --- | --- | --- |\n");
    for column in &explained.columns {
        let [name, encoding] =
            [&column.name, &column.encoding].map(|t| code(t).replace('|', "\\|"));
        _ = writeln!(page, "| {name} | {} | {encoding} |", column.role);
    }
    _ = writeln!(
        page,
        "\nA row's norm is at most {}, a label at most {}.\n",
        norm_at_most(explained.norm_bound),
        at_most(explained.label_bound)
    );
    Ok(())
}

fn evaluation(page: &mut String, evaluation: Option<&Value>) {
    page.push_str("## Evaluation\n\n");
    let Some(evaluation) = evaluation else {
        page.push_str(
            "None was given. `reticent evaluate --json` measures the model on rows that may be \
             public.\n\n",
        );
        return;
    };
    let promise = promise(evaluation);
    page.push_str(
        promise
            .as_deref()
            .unwrap_or("Exact numbers about the test rows, not protected by the guarantee."),
    );
    page.push_str("\n\n| metric | value |\n| --- | --- |\n");
    for [name, value] in metrics(&evaluation["metrics"]) {
        _ = writeln!(page, "| {name} | {value} |");
    }
    page.push('\n');
}

fn limits(page: &mut String, model: &Model, owner: Option<&Owner>) {
    page.push_str("## Limits\n\n");
    if let Some(sentence) = card::without_data(model) {
        _ = writeln!(page, "- {}.", facts::plain(&sentence));
    }
    for line in card::owner(model) {
        _ = writeln!(page, "- Only the curator can confirm: {line}.");
    }
    page.push_str(
        "- Noise and clipping can cost small groups more accuracy than large ones. Measure it \
         for each group before the model decides about people.\n- The guarantee hides who took part. It \
         does not hide what holds for people in general.\n",
    );
    if let Some(exploration) = owner.and_then(|owner| owner.exploration.as_ref()) {
        _ = writeln!(page, "- Before the release: {exploration}");
    }
    page.push('\n');
}

fn trust(page: &mut String, model: &Model) {
    page.push_str("## Trust and side channels\n\n");
    for (name, what) in facts::trust(model).iter().chain(&facts::channels()) {
        item(page, name, &format!("{what}."));
    }
    page.push('\n');
}
