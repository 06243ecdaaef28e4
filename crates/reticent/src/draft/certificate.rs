//! A draft's privacy statement, and its composed privacy cost with a model.
//!
//! # Fact (composed cost of a draft and a fit)
//!
//! Let `(P, Q)` dominate the draft, and let the fit be (ε, δ)-differentially private for every
//! schema that the draft can give, with ε and δ that do not depend on the schema. Then what both
//! let out is dominated by the product of `(P, Q)` with the pair `(R, R')` of randomised response
//! that fails with probability δ and else loses ε.
//!
//! *Proof.* The profile of `(R, R')` is the largest of all mechanisms that are (ε, δ)-private, for
//! every slack at once: each is a function of it (Kairouz, Oh, Viswanath 2015), in both directions.
//! So one pair dominates the fit for every schema, which is what the theorem on adaptive
//! composition in `crates/reticent-privacy/src/pair/mod.rs` asks for. ∎
//!
//! The fit's own event is no such pair. Algorithm, batches, steps and the number of weights follow
//! from the schema, and with it from the draft's noise, and no one of these events dominates the
//! others. So the fit enters with what was asked for, [`Event::ApproxDp`], and its gain over the
//! sum of both epsilons is the draft's. The sum is a bound as well (basic composition), so the
//! lesser of both is stated, at the sum of both deltas. Who asks for an epsilon only after a look
//! at the draft chooses budgets adaptively: then the sum is what a ledger counts, and the ledger
//! decides. The epsilon of a risk is found for the plan, and so follows from the draft: it is
//! refused, and no cost of both is stated.

use std::collections::BTreeSet;
use std::fmt;

use reticent_noise::Randomness;
use reticent_optim::draft::{DraftPlan, DraftShape};
use reticent_privacy::risk::Risk;
use reticent_privacy::{Adjacency, Budget, Delta, Epsilon, Event, epsilon_upper};
use reticent_problem::declaration::{BoundsBasis, Column, Declaration, Kind, Knots, Role, Shape};
use reticent_problem::number::at_most;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fine::can_be_drawn_again;
use super::{on_grid, public_ends};
use crate::certificate::{RandomnessUsed, is_well_formed, why_void};
use crate::ledger::{Ledger, Payment, State};
use crate::verify::Check;
use crate::{Certificate, Error, Model, unique, units};

/// The format that this version writes and reads.
const FORMAT: &str = "reticent-draft/1";

/// The certificate of a schema that was filled in from a table: it stands in the schema under
/// `draft`, and in the models that are fitted with it. It can be re-checked without the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DraftCertificate {
    /// The format.
    pub format: String,
    /// The guarantee in words.
    pub statement: String,
    /// Why the guarantee does not hold, if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub void: Option<String>,
    /// Every choice, made before a cell was read, with its privacy cost.
    pub plan: DraftPlan,
    /// The public or declared number of rows.
    pub rows: u64,
    /// The columns that were asked; in a model, those of them that the model names anyway.
    pub columns: Vec<String>,
    /// Where the noise came from.
    pub randomness: RandomnessUsed,
    /// The program and its version.
    pub software: String,
    /// Which ledger paid, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payment: Option<Payment>,
}

/// The cost of a draft and of a model fitted with it, composed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Together {
    /// The loss of both at `delta`; none if it is unbounded.
    pub epsilon: Option<f64>,
    /// The sum of both.
    pub delta: f64,
}

/// The privacy cost of everything in a model file: the model, and the draft of its schema if it has
/// one.
#[derive(Clone, Debug, PartialEq)]
pub struct Spent {
    /// The event on the table.
    pub event: Event,
    /// A bound on its loss: one point of the event's profile.
    pub budget: Budget,
}

impl Model {
    /// The draft of the schema, if it has one, and the cost of both together.
    pub fn with_draft(&self) -> Option<(&DraftCertificate, Together)> {
        let draft = self.draft.as_ref()?;
        Some((draft, draft.together(&self.certificate).ok()?))
    }

    /// The cost of everything in this file. Statements about what an attacker learns from the file
    /// are statements about this, and not about the weights alone.
    ///
    /// # Errors
    ///
    /// As [`DraftCertificate::together`].
    pub fn spent(&self) -> Result<Spent, Error> {
        let Certificate { event, budget, .. } = &self.certificate;
        match &self.draft {
            None => Ok(Spent { event: event.clone(), budget: *budget }),
            Some(draft) => draft.spent(&self.certificate),
        }
    }
}

impl fmt::Display for Together {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.epsilon {
            // Rounded up.
            Some(epsilon) => {
                write!(f, "epsilon = {} at delta = {:e}", at_most(epsilon), self.delta)
            }
            None => write!(f, "no bound: one of both promises nothing"),
        }
    }
}

impl DraftCertificate {
    pub(super) fn new(
        plan: DraftPlan,
        rows: u64,
        columns: Vec<String>,
        randomness: Randomness,
        payment: Option<Payment>,
    ) -> Self {
        let randomness = match randomness {
            Randomness::Secure => RandomnessUsed::Secure,
            Randomness::Seeded => RandomnessUsed::Seeded,
        };
        Self {
            format: FORMAT.to_owned(),
            statement: statement(&plan, randomness),
            void: why_void(plan.budget, randomness),
            plan,
            rows,
            columns,
            randomness,
            software: concat!("reticent ", env!("CARGO_PKG_VERSION")).to_owned(),
            payment,
        }
    }

    /// The certificate in a schema; none in one that was written by hand.
    ///
    /// # Errors
    ///
    /// [`Error::Draft`] if it cannot be read, or if bounds, categories or knots are marked as
    /// released and there is none.
    pub fn of(declaration: &Declaration) -> Result<Option<Self>, Error> {
        let Some(value) = declaration.draft() else {
            let marked = |column| Some((column, *released(column).first()?));
            return match declaration.columns().iter().find_map(marked) {
                None => Ok(None),
                Some((column, what)) => Err(Error::Draft {
                    why: format!(
                        "the {what} of `{}` are marked as released, and there is no certificate of it",
                        column.name
                    ),
                }),
            };
        };
        let certificate: Self = serde_json::from_value(value.clone())
            .map_err(|e| Error::Draft { why: e.to_string() })?;
        if certificate.format != FORMAT {
            return Err(Error::Draft { why: format!("its format is not `{FORMAT}`") });
        }
        certificate.check_columns(declaration)?;
        Ok(Some(certificate))
    }

    /// Whether all that is marked as released can have come out of this draft: of at most as many
    /// columns as were paid for, at points that its mechanism can give. Columns that a model does
    /// not name are not listed in it, so there may be fewer.
    fn check_columns(&self, declaration: &Declaration) -> Result<(), Error> {
        let (shape, columns) = (self.plan.shape, &self.columns);
        let paid = shape.unknown + shape.numbers + shape.categories;
        let distinct: BTreeSet<&String> = columns.iter().collect();
        if columns.len() > paid || distinct.len() < columns.len() {
            let why = format!("it names {} columns, and {paid} were paid for", columns.len());
            return Err(Error::Draft { why });
        }
        let (mut numbers, mut categories, mut drawn) = (0, 0, DrawnEnds::default());
        for column in declaration.columns() {
            let refuse = |what: &str, why: &str| {
                let why = format!("the {what} of `{}` are {why}", column.name);
                Err(Error::Draft { why })
            };
            let marked = released(column);
            let Some(what) = marked.first() else { continue };
            if !columns.contains(&column.name) {
                return refuse(what, "marked as released, and the draft did not ask for them");
            }
            if !can_be_drawn(column, &mut drawn) || !drawn.fit(shape) {
                return refuse(
                    what,
                    "marked as released, and no draft gives such numbers; leave the mark out of what was changed by hand",
                );
            }
            let is_number = matches!(column.kind, Kind::Number { .. });
            *(if is_number { &mut numbers } else { &mut categories }) += 1;
        }
        for (what, found, paid) in [
            ("bounds of columns", numbers, shape.unknown + shape.numbers),
            ("lists of categories", categories, shape.unknown + shape.categories),
        ] {
            if found > paid {
                let why =
                    format!("{found} {what} are marked as released, and {paid} were paid for");
                return Err(Error::Draft { why });
            }
        }
        Ok(())
    }

    /// The same without the names of columns that a model does not publish.
    pub(crate) fn published(mut self, published: &Declaration) -> Self {
        let named = |name: &String| published.columns().iter().any(|c| c.name == *name);
        self.columns.retain(named);
        self
    }

    /// The certificate in the text of a schema file, which may still have blanks; none if the text
    /// is something else.
    ///
    /// # Errors
    ///
    /// [`Error::Draft`] if it cannot be read.
    pub fn in_text(text: &str) -> Result<Option<Self>, Error> {
        let whole = unique::parse(text).unwrap_or_default();
        let value = whole.get("draft").filter(|_| whole.get("columns").is_some());
        let read = |value: &Value| serde_json::from_value(value.clone());
        value.map(read).transpose().map_err(|e| Error::Draft { why: e.to_string() })
    }

    /// Whether the ledger has the charge that the certificate names, for the same event.
    ///
    /// # Errors
    ///
    /// [`Error::Ledger`].
    pub fn compare(&self, ledger: &Ledger) -> Result<Check, Error> {
        let line = self.payment.as_ref().map(|payment| ledger.line_of(payment)).transpose()?;
        let holds = line.flatten().is_some_and(|line| {
            line.state != State::Refunded && line.item.event == self.plan.event
        });
        Ok(Check::new(
            "the ledger charged this draft",
            holds,
            if holds { "the same event" } else { "no such charge for this event" },
        ))
    }

    /// Checks that recompute the values that follow from other parts of the certificate.
    pub fn checks(&self) -> Vec<Check> {
        let plan = &self.plan;
        let budget = plan.budget;
        let again = plan.again();
        let same = again.as_ref().is_ok_and(|again| again == plan);
        let spent = epsilon_upper(&plan.event, budget.delta.get());
        let void = why_void(budget, self.randomness);
        vec![
            Check::new(
                "draft's plan reproduces from its columns and budget",
                same,
                match &again {
                    Ok(_) if same => "the same plan and event".to_owned(),
                    Ok(_) => "another plan".to_owned(),
                    Err(error) => error.to_string(),
                },
            ),
            Check::new(
                "draft keeps its budget",
                spent.as_ref().is_ok_and(|spent| *spent <= budget.epsilon.get()),
                match &spent {
                    Ok(spent) => format!(
                        "epsilon <= {} of {} at delta = {:e}",
                        at_most(*spent),
                        budget.epsilon,
                        budget.delta.get()
                    ),
                    Err(error) => error.to_string(),
                },
            ),
            Check::new(
                "draft's statement follows from its budget",
                self.statement == statement(plan, self.randomness) && self.void == void,
                self.void.as_deref().unwrap_or("the sentence that follows"),
            ),
            Check::new(
                "draft is not marked void",
                void.is_none(),
                void.as_deref().unwrap_or("no reason is stated"),
            ),
            Check::new(
                "draft's software and payment are well-formed",
                is_well_formed(&self.software, self.payment.as_ref()),
                "a name, a version, a ledger's name: no other text",
            ),
        ]
    }

    /// Whether the bounds, categories and knots that a declaration marks as released can be this
    /// draft's.
    pub fn compare_bounds(&self, declaration: &Declaration) -> Check {
        let found = self.check_columns(declaration);
        Check::new(
            "what is marked as released is the draft's",
            found.is_ok(),
            found.err().map_or_else(
                || "points of its grid, of columns that it asked".to_owned(),
                |error| error.to_string(),
            ),
        )
    }

    /// The composed cost of the draft and a model, by the fact at the top of this file.
    ///
    /// # Errors
    ///
    /// [`Error::Draft`] if they protect against different changes; [`Error::Privacy`].
    pub fn together(&self, model: &Certificate) -> Result<Together, Error> {
        self.check_adjacency(model.budget.adjacency)?;
        let delta = self.plan.budget.delta.get() + model.budget.delta.get();
        // A risk's epsilon is found for the plan, and the plan follows from the draft: no epsilon
        // was fixed before it.
        let void = self.void.is_some() || model.void.is_some();
        if void || model.risk.is_some() || model.budget.epsilon.is_infinite() {
            return Ok(Together { epsilon: None, delta });
        }
        let Budget { epsilon, delta: slack, adjacency } = model.budget;
        let fit = Event::ApproxDp { epsilon: epsilon.get(), delta: slack.get(), adjacency };
        let both = Event::Composed(vec![self.plan.event.clone(), fit]);
        let sum = self.plan.budget.epsilon.get() + epsilon.get();
        let epsilon = epsilon_upper(&both, delta).map_or(sum, |tight| tight.min(sum));
        Ok(Together { epsilon: epsilon.is_finite().then_some(epsilon), delta })
    }

    /// The same as an event with its budget.
    fn spent(&self, model: &Certificate) -> Result<Spent, Error> {
        let Together { epsilon, delta } = self.together(model)?;
        let adjacency = model.budget.adjacency;
        let epsilon = Epsilon::new(epsilon.unwrap_or(f64::INFINITY))?;
        let budget = Budget { epsilon, delta: Delta::new(delta)?, adjacency };
        // One point of the composed profile, and its consequences. Each point of the whole one
        // would take the accountant seconds: both events are curves.
        let event = if epsilon.is_infinite() {
            Event::NotPrivate
        } else {
            Event::ApproxDp { epsilon: epsilon.get(), delta, adjacency }
        };
        Ok(Spent { event, budget })
    }

    fn check_adjacency(&self, adjacency: Adjacency) -> Result<(), Error> {
        let own = self.plan.budget.adjacency;
        if own == adjacency {
            return Ok(());
        }
        Err(Error::Draft {
            why: format!(
                "it protects under {own} adjacency and the model under {adjacency}, so that their costs do not add up"
            ),
        })
    }
}

/// Refuses to look for the epsilon of a risk with a schema that a draft filled in.
///
/// # Errors
///
/// [`Error::RiskAfterDraft`], with both given.
pub fn check_risk(declaration: &Declaration, risk: Option<Risk>) -> Result<(), Error> {
    if declaration.draft().is_none() || risk.is_none() {
        return Ok(());
    }
    Err(Error::RiskAfterDraft)
}

/// The parts of a column in use that are marked as released.
fn released(column: &Column) -> Vec<&'static str> {
    if matches!(column.role, Role::Ignored(_)) {
        return Vec::new();
    }
    let marks = [
        (column.basis, "bounds"),
        (column.categories_basis, "categories"),
        (column.knots_basis, "knots"),
    ];
    let marks = marks.into_iter().filter(|(basis, _)| *basis == Some(BoundsBasis::Released));
    marks.map(|(_, what)| what).collect()
}

/// Columns whose bounds are not both points of the public grid, by what else they can be.
#[derive(Default)]
struct DrawnEnds {
    /// One of them was public before the draft.
    public: usize,
    /// They were drawn a second time.
    refined: usize,
    /// One or the other.
    either: usize,
}

impl DrawnEnds {
    /// Whether a draft of this shape can have given so many of each.
    fn fit(&self, shape: DraftShape) -> bool {
        self.public <= shape.ends
            && self.refined <= shape.refined
            && self.public + self.refined + self.either <= shape.ends + shape.refined
    }

    /// Counts a column; false for bounds that no draft gives.
    fn count(&mut self, low: f64, high: f64) -> bool {
        match (public_ends(low, high), can_be_drawn_again(low, high)) {
            (Some(0), _) => return true,
            (Some(_), false) => self.public += 1,
            (Some(_), true) => self.either += 1,
            (None, true) => self.refined += 1,
            (None, false) => return false,
        }
        true
    }
}

/// Whether the numbers that a column marks as released are such as a draft draws; what is not on
/// the public grid is counted.
fn can_be_drawn(column: &Column, drawn: &mut DrawnEnds) -> bool {
    let Kind::Number { min, max } = column.kind else {
        return matches!(column.kind, Kind::Categorical { .. });
    };
    if column.basis == Some(BoundsBasis::Released) && !drawn.count(min, max) {
        return false;
    }
    match &column.shape {
        Some(Shape::Curve { knots: Some(Knots::At(places)), .. })
            if column.knots_basis == Some(BoundsBasis::Released) =>
        {
            // The outer knots are the bounds.
            places.iter().skip(1).rev().skip(1).all(|place| on_grid(*place))
        }
        _ => true,
    }
}

/// Whether what a model will cost can be composed with the draft of its schema, if it has one, and
/// the ledger that is to pay, if there is one, has paid for the draft too: else its budget would
/// not hold for what the model's file tells. Asked before anything is paid.
pub(crate) fn check_draft(
    declaration: &Declaration,
    adjacency: Adjacency,
    ledger: Option<&Ledger>,
) -> Result<(), Error> {
    let Some(draft) = DraftCertificate::of(declaration)? else { return Ok(()) };
    draft.check_adjacency(adjacency)?;
    match ledger {
        Some(ledger) if !draft.compare(ledger)?.holds => Err(Error::UnpaidDraft {
            epsilon: draft.plan.budget.epsilon.get(),
            ledger: ledger.path().display().to_string(),
        }),
        _ => Ok(()),
    }
}

/// The guarantee in words. Nothing is promised where the certificate is void.
fn statement(plan: &DraftPlan, randomness: RandomnessUsed) -> String {
    match why_void(plan.budget, randomness) {
        Some(void) => format!("No privacy is promised: {void}."),
        None => format!(
            "The released bounds and categories of this schema are (epsilon, delta)-differentially private with epsilon = {} and delta = {:e} under {}.",
            plan.budget.epsilon,
            plan.budget.delta.get(),
            units::change(plan.budget.adjacency, None)
        ),
    }
}
