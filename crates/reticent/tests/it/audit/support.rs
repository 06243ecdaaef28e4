//! Cases, defects, and an oracle that lies.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use reticent::Error;
use reticent::audit::{Attack, Audited, Claim, Finding, attack};
use reticent::data::walk::{Walk, WalkState};
use reticent::data::{
    Dense, Features, InOrder, LocalOracle, Oracle, OracleError, Question, RandomAccess, RobustRule,
    Rows, Sensitive, Speed,
};
use reticent::noise::Source;
use reticent::optim::{Algorithm, Plan, Quiet, RunError};
use reticent::privacy::{Adjacency, Budget, Delta, Epsilon};
use reticent::problem::{Loss, Problem, RowBounds, Unit};
use serde_json::{Value, json};

/// Each audit may err with odds of 1e-4.
pub(crate) const CONFIDENCE: f64 = 0.9999;

/// A loss that is linear as far as any weights get: a row pulls with full force wherever they are.
pub(crate) fn saturated(rows: usize, features: usize) -> Problem {
    let bounds = RowBounds::new(1.0, 1e6).unwrap();
    Problem::new(Loss::Huber { threshold: 1.0 }, bounds, rows, features)
}

pub(crate) fn budget(epsilon: f64, delta: f64, adjacency: Adjacency) -> Budget {
    let (epsilon, delta) = (Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap());
    Budget { epsilon, delta, adjacency }
}

/// Epsilon 4 at delta 1e-2, one row replaced: there few runs show most of a claim.
pub(crate) fn usual() -> Budget {
    budget(4.0, 1e-2, Adjacency::ReplaceOne)
}

pub(crate) fn zero_out() -> Budget {
    budget(4.0, 1e-2, Adjacency::ZeroOut)
}

pub(crate) fn planned<A: Algorithm>(
    settings: &A,
    problem: &Problem,
    budget: Budget,
    of: fn(A::Plan) -> Plan,
) -> Plan {
    of(settings.plan(problem, budget).unwrap())
}

/// A sound plan and the copies of it that must be caught.
pub(crate) struct Case {
    what: &'static str,
    plan: Plan,
    settings: Attack,
    /// The least share of the claim that the bound must reach: without assumption, and for two
    /// normal laws where the claim is one of Gaussian noise.
    share: (f64, f64),
    look: Look,
    broken: Vec<Defect>,
}

/// An attacker's function of the released weights. The claim covers any such post-processing.
type Look = Box<dyn Fn(Vec<f64>) -> Vec<f64> + Sync>;

struct Defect {
    what: &'static str,
    copy: Box<dyn Audited>,
    claim: Claim,
}

impl Case {
    pub(crate) fn new(what: &'static str, plan: Plan) -> Self {
        let settings = Attack { runs: 10_000, confidence: CONFIDENCE, seed: Some(11), map: None };
        Self {
            what,
            plan,
            settings,
            share: (0.0, 0.0),
            look: Box::new(|weights| weights),
            broken: Vec::new(),
        }
    }

    pub(crate) fn runs(self, runs: usize) -> Self {
        Self { settings: Attack { runs, ..self.settings }, ..self }
    }

    pub(crate) fn through(self, map: reticent::problem::feature_map::MapLaw) -> Self {
        Self { settings: Attack { map: Some(map), ..self.settings }, ..self }
    }

    /// The weights are judged by something that was computed of them.
    pub(crate) fn seen_by(self, look: impl Fn(Vec<f64>) -> Vec<f64> + Sync + 'static) -> Self {
        Self { look: Box::new(look), ..self }
    }

    /// The audit must show at least these shares of epsilon.
    pub(crate) fn shows(self, direct: f64, normal: f64) -> Self {
        Self { share: (direct, normal), ..self }
    }

    fn defect(mut self, what: &'static str, copy: Box<dyn Audited>, claim: Claim) -> Self {
        self.broken.push(Defect { what, copy, claim });
        self
    }

    /// A copy whose plan has another number at a place.
    pub(crate) fn scaled(self, what: &'static str, pointer: &str, factor: f64) -> Self {
        let copy = altered(&self.plan, pointer, |old| (old.as_f64().unwrap() * factor).into());
        self.copy(what, copy)
    }

    /// A copy whose plan has another value at a place.
    pub(crate) fn with(self, what: &'static str, pointer: &str, value: &Value) -> Self {
        let copy = altered(&self.plan, pointer, |_| value.clone());
        self.copy(what, copy)
    }

    /// Another plan in the name of this one.
    pub(crate) fn copy(self, what: &'static str, copy: Plan) -> Self {
        let claim = Claim::of(&self.plan).unwrap();
        self.defect(what, Box::new(copy), claim)
    }

    /// The same plan on an oracle that lies.
    pub(crate) fn lied_to(self, what: &'static str, lie: Lie) -> Self {
        let (claim, plan) = (Claim::of(&self.plan).unwrap(), self.plan.clone());
        self.defect(what, Box::new(LiedTo { plan, lie }), claim)
    }

    /// The same plan under another adjacency than it was made for.
    pub(crate) fn attacked_under(self, what: &'static str, adjacency: Adjacency) -> Self {
        let claim = Claim { adjacency, ..Claim::of(&self.plan).unwrap() };
        let plan = self.plan.clone();
        self.defect(what, Box::new(plan), claim)
    }

    /// Something else that claims what the plan claims.
    pub(crate) fn imitated(self, what: &'static str, copy: Box<dyn Audited>) -> Self {
        let claim = Claim::of(&self.plan).unwrap();
        self.defect(what, copy, claim)
    }
}

/// A mechanism whose weights an attacker looks at in its own way.
struct Seen<'a> {
    audited: &'a dyn Audited,
    look: &'a Look,
}

impl Audited for Seen<'_> {
    fn group(&self, rows: Rows, keys: &[usize], unit: &Unit) -> Result<Rows, Error> {
        self.audited.group(rows, keys, unit)
    }

    fn oracle(&self, rows: Rows) -> Result<Box<dyn Oracle>, Error> {
        self.audited.oracle(rows)
    }

    fn release(&self, oracle: &dyn Oracle, source: &Source) -> Result<Vec<f64>, Error> {
        self.audited.release(oracle, source).map(self.look)
    }
}

/// The plan with another value at a JSON pointer.
pub(crate) fn altered(plan: &Plan, pointer: &str, change: impl Fn(&Value) -> Value) -> Plan {
    let mut value = serde_json::to_value(plan).unwrap();
    let field = value.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer}"));
    *field = change(field);
    serde_json::from_value(value).unwrap()
}

/// The noise of a one-shot release left out.
pub(crate) fn no_noise() -> Value {
    json!({ "law": "none" })
}

pub(crate) fn audit(audited: &dyn Audited, claim: &Claim, settings: Attack) -> Finding {
    attack(audited, claim, settings, &Quiet).unwrap()
}

/// Sound plans are never refuted, and every broken copy is. Prints the table of algorithm and
/// defect.
#[expect(clippy::print_stdout, reason = "the table is what the test shows")]
pub(crate) fn check(word: &str, cases: Vec<Case>) {
    let mut faults = Vec::new();
    for case in cases {
        assert_eq!(case.plan.algorithm(), word);
        let seen = |audited| Seen { audited, look: &case.look };
        let sound = audit(&seen(&case.plan), &Claim::of(&case.plan).unwrap(), case.settings);
        let of = |bound: f64| bound / sound.epsilon_claimed;
        let (direct, normal) = (of(sound.epsilon_lower), sound.epsilon_lower_gdp.map(of));
        println!("{word:17} {:34} shows {direct:.2}, {normal:.2?}", case.what);
        let weak = direct < case.share.0 || normal.is_some_and(|share| share < case.share.1);
        if sound.violated || weak {
            faults.push(format!("{}: {sound:?}", case.what));
        }
        assert!(!case.broken.is_empty(), "nothing broken in {}", case.what);
        for Defect { what, copy, claim } in &case.broken {
            let mut caught = audit(&seen(&**copy), claim, shorter(case.settings));
            if !caught.violated {
                caught = audit(&seen(&**copy), claim, case.settings);
            }
            let of = caught.epsilon_lower / caught.epsilon_claimed;
            println!("{word:17} {:34}       {of:.2}  {what}", "");
            if !caught.violated {
                faults.push(format!("{}, not caught: {what}: {caught:?}", case.what));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Most defects show in an eighth of the runs. Only a copy that survives them gets them all, so
/// that each has two chances to be caught, of which a sound plan would take one with odds of 1e-4.
fn shorter(settings: Attack) -> Attack {
    Attack { runs: settings.runs / 8, ..settings }
}

/// No plan of these cases is released where rows were missing from a sum.
pub(crate) fn check_whole(cases: Vec<Case>) {
    for Case { plan, what, .. } in cases {
        let problem = &plan.outline().problem;
        let (n, d) = (problem.rows, problem.features);
        let rows = Rows::new(
            Features::F64(Dense::new(n, d, vec![0.0; n * d])),
            vec![if problem.loss.outputs() > 1 { 0.0 } else { 1.0 }; n],
            problem.bounds,
        );
        let copy = LiedTo { plan, lie: Lie::LacksRows };
        let oracle = copy.oracle(rows).unwrap();
        let release = copy.plan.run(&*oracle, &Source::seeded_not_private(1), &Quiet);
        let unread = |e: &RunError| matches!(e, RunError::Oracle(OracleError::Unread { .. }));
        assert!(release.as_ref().is_err_and(unread), "{what}: {release:?}");
    }
}

/// How an oracle breaks its word.
#[derive(Clone, Copy)]
pub(crate) enum Lie {
    /// Every row counts twice: the sensitivity is off by two.
    CountsTwice,
    /// Gradients are not clipped, nor left out, and slopes have no limit.
    DoesNotClip,
    /// One sum of every so many drowns its noise: a step without it.
    DrownsTheNoise { every: u64 },
    /// All rows are the first one: nothing is sampled.
    KnowsOneRow,
    /// The sum is divided by the batch's own size, in place of what was expected.
    DividesByItsSize { expected: f64 },
    /// Every row is in every batch.
    HasAllInEveryBatch,
    /// Rows were missing from a sum, as the oracle says itself.
    LacksRows,
}

/// A plan on a lying oracle.
struct LiedTo {
    plan: Plan,
    lie: Lie,
}

impl Audited for LiedTo {
    fn oracle(&self, rows: Rows) -> Result<Box<dyn Oracle>, Error> {
        let rows = match (self.lie, rows.features()) {
            (Lie::KnowsOneRow, Features::F64(x)) => {
                let (n, d) = (x.rows(), x.columns());
                let features = Dense::new(n, d, x.row(0).repeat(n));
                Rows::new(Features::F64(features), vec![rows.labels()[0]; n], rows.bounds())
            }
            _ => rows,
        };
        let inner = LocalOracle::new(rows, Speed::default())?;
        Ok(Box::new(Liar { inner, lie: self.lie, sums: AtomicU64::new(0) }))
    }

    fn release(&self, oracle: &dyn Oracle, source: &Source) -> Result<Vec<f64>, Error> {
        self.plan.release(oracle, source)
    }
}

struct Liar {
    inner: LocalOracle,
    lie: Lie,
    sums: AtomicU64,
}

impl Liar {
    fn clip(&self, clip: f64) -> f64 {
        if matches!(self.lie, Lie::DoesNotClip) { 1e9 * clip } else { clip }
    }

    fn length(&self, eta: f64) -> f64 {
        if matches!(self.lie, Lie::CountsTwice) { 2.0 * eta } else { eta }
    }

    fn distort(&self, batch: usize, sum: &mut Sensitive<Vec<f64>>) {
        let factor = match self.lie {
            Lie::CountsTwice => 2.0,
            Lie::DrownsTheNoise { every } => {
                let first = self.sums.fetch_add(1, Ordering::Relaxed).is_multiple_of(every);
                if first { 1e3 } else { 1.0 }
            }
            Lie::DividesByItsSize { expected } => expected / batch.max(1) as f64,
            Lie::DoesNotClip | Lie::KnowsOneRow | Lie::HasAllInEveryBatch | Lie::LacksRows => 1.0,
        };
        sum.update_inside(|sum| sum.iter_mut().for_each(|s| *s *= factor));
    }
}

impl RandomAccess for Liar {
    fn walk(
        &self,
        problem: &Problem,
        walk: &Walk,
        state: &mut Sensitive<WalkState>,
    ) -> Result<(), OracleError> {
        if matches!(self.lie, Lie::LacksRows) {
            return Err(lacks_rows());
        }
        let walk = Walk { eta: self.length(walk.eta), ..*walk };
        self.inner.walk(problem, &walk, state)
    }
}

impl InOrder for Liar {
    fn one_pass(
        &self,
        problem: &Problem,
        range: Range<usize>,
        eta: f64,
        w: &mut Sensitive<Vec<f64>>,
        sum: &mut Sensitive<Vec<f64>>,
    ) -> Result<(), OracleError> {
        if matches!(self.lie, Lie::LacksRows) {
            return Err(lacks_rows());
        }
        self.inner.one_pass(problem, range, self.length(eta), w, sum)
    }
}

fn lacks_rows() -> OracleError {
    OracleError::Unread { why: "the file changed".to_owned() }
}

impl Oracle for Liar {
    fn rows(&self) -> usize {
        self.inner.rows()
    }
    fn unit(&self) -> Option<&Unit> {
        self.inner.unit()
    }
    fn weighted(&self) -> bool {
        self.inner.weighted()
    }
    fn features(&self) -> usize {
        self.inner.features()
    }
    fn bounds(&self) -> RowBounds {
        self.inner.bounds()
    }
    fn random_access(&self) -> Option<&dyn RandomAccess> {
        Some(self)
    }
    fn in_order(&self) -> Option<&dyn InOrder> {
        Some(self)
    }
    fn ask(
        &self,
        problem: &Problem,
        question: &Question<'_>,
        into: &mut Sensitive<Vec<f64>>,
    ) -> Result<(), OracleError> {
        if matches!(self.lie, Lie::LacksRows) {
            return Err(lacks_rows());
        }
        let slope_limit = problem.slope_limit.filter(|_| !matches!(self.lie, Lie::DoesNotClip));
        let unclipped = Problem { slope_limit, ..problem.clone() };
        match *question {
            Question::Gradient { .. } | Question::Moments | Question::Curvature { .. } => {
                self.inner.ask(problem, question, into)?;
                self.distort(self.rows(), into);
            }
            Question::Batch { batch, clip, at } => {
                let all: Vec<usize> = (0..self.rows()).collect();
                let every = matches!(self.lie, Lie::HasAllInEveryBatch);
                let batch = if every { &all[..] } else { batch };
                let question = Question::Batch { batch, clip: self.clip(clip), at };
                self.inner.ask(&unclipped, &question, into)?;
                self.distort(batch.len(), into);
            }
            Question::Clipped { draw, clip, preconditioner, at } => {
                let question =
                    Question::Clipped { draw, clip: self.clip(clip), preconditioner, at };
                self.inner.ask(problem, &question, into)?;
                let mut rows = Vec::new();
                draw.rows(0..self.rows(), &mut rows);
                self.distort(rows.len(), into);
            }
            Question::Robust { ref chosen, rule, at } => {
                let rule = match rule {
                    RobustRule::Truncate { q, threshold, grid } => {
                        RobustRule::Truncate { q, threshold: self.clip(threshold), grid }
                    }
                    RobustRule::ClipEntries { bound } => {
                        RobustRule::ClipEntries { bound: self.clip(bound) }
                    }
                };
                let question = Question::Robust { chosen: chosen.clone(), rule, at };
                self.inner.ask(problem, &question, into)?;
                self.distort(chosen.len(), into);
            }
            Question::Below { .. } | Question::Score { .. } => {
                self.inner.ask(problem, question, into)?;
            }
        }
        Ok(())
    }
    fn check(&self, problem: &Problem) -> Result<(), OracleError> {
        self.inner.check(problem)
    }
}
