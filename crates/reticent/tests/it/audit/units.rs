//! Records that are units of several rows: sound plans are never refuted, and copies that treat
//! rows as records are.
//!
//! The canaries have 1, 4, `max_rows` and four times as many equal rows (`audit/neighbours.rs`).

use reticent::Error;
use reticent::audit::Audited;
use reticent::data::{LocalOracle, Oracle, OracleError, Question, Rows, Sensitive, Speed};
use reticent::noise::Source;
use reticent::optim::clipped_sgd::{Clip, Output};
use reticent::optim::output_gd::NoiseChoice;
use reticent::optim::{
    ALGORITHMS, ClippedSgd, CoordinateMean, GradientSgd, Mirror, NoisySgd, ObjectivePerturbation,
    OutputGd, Plan, RandomRound, ShuffledMirror, UnitSupport,
};
use reticent::privacy::{Adjacency, Budget};
use reticent::problem::{Domain, Loss, Problem, RowBounds, Unit, Weighting};

use crate::audit::support::{Case, budget, check, planned, saturated};

const MAX_ROWS: usize = 6;

fn unit(weighting: Weighting) -> Unit {
    Unit { weighting, ..Unit::new("patient", MAX_ROWS).unwrap() }
}

fn of_units(problem: Problem) -> Problem {
    Problem { unit: Some(unit(Weighting::Equal)), ..problem }
}

fn usual() -> Budget {
    budget(4.0, 1e-2, Adjacency::ReplaceOneUnit)
}

/// How rows become records where the code is broken.
#[derive(Clone, Copy)]
enum Break {
    /// All rows of a unit are used, each with the weight of one of `max_rows`.
    CapIgnored,
    /// Each row is a record of its own, clipped by itself.
    EachRowAlone,
    /// Every other row of a unit belongs to another.
    SplitInTwo,
}

struct Broken {
    plan: Plan,
    how: Break,
}

impl Audited for Broken {
    fn group(&self, rows: Rows, keys: &[usize], unit: &Unit) -> Result<Rows, Error> {
        let place = |i: usize| keys[..i].iter().filter(|key| **key == keys[i]).count();
        let key = |i: usize| match self.how {
            Break::CapIgnored => (keys[i], place(i) / unit.max_rows),
            Break::EachRowAlone => (keys[i], place(i)),
            Break::SplitInTwo => (keys[i], place(i) % 2),
        };
        let keys: Vec<_> = (0..keys.len()).map(|i| Some(key(i))).collect();
        Ok(rows.grouped(keys.into_iter(), unit)?)
    }

    fn oracle(&self, rows: Rows) -> Result<Box<dyn Oracle>, Error> {
        let inner = LocalOracle::new(rows, Speed::default())?;
        Ok(Box::new(Uncounted { inner, rows: self.plan.outline().problem.rows }))
    }

    fn release(&self, oracle: &dyn Oracle, source: &Source) -> Result<Vec<f64>, Error> {
        self.plan.release(oracle, source)
    }
}

/// An oracle that says it has as many records as the plan.
struct Uncounted {
    inner: LocalOracle,
    rows: usize,
}

impl Oracle for Uncounted {
    fn rows(&self) -> usize {
        self.rows
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
    fn ask(
        &self,
        problem: &Problem,
        question: &Question<'_>,
        into: &mut Sensitive<Vec<f64>>,
    ) -> Result<(), OracleError> {
        self.inner.ask(problem, question, into)
    }
}

fn broken(case: Case, what: &'static str, plan: &Plan, how: Break) -> Case {
    case.imitated(what, Box::new(Broken { plan: plan.clone(), how }))
}

fn output_gd(problem: &Problem) -> Plan {
    let noise = NoiseChoice::Gaussian;
    let settings = OutputGd { noise, steps: Some(5), ..OutputGd::default() };
    planned(&settings, problem, usual(), Plan::OutputGd)
}

#[test]
fn output_gd_of_units() {
    let plan = output_gd(&of_units(saturated(4, 2)));
    let by_rows = Problem { unit: Some(unit(Weighting::Rows)), ..saturated(4, 2) };
    let by_rows = output_gd(&by_rows);
    let share = 1.0 / MAX_ROWS as f64;
    let case = Case::new("output-gd", plan.clone()).shows(0.3, 0.6).scaled(
        "U replaced by n in the noise",
        "/noise/noise_multiplier",
        share,
    );
    let capless = Case::new("output-gd, weighted by rows", by_rows.clone()).shows(0.3, 0.6);
    check(
        "output-gd",
        vec![
            broken(case, "a unit split in two", &plan, Break::SplitInTwo),
            broken(capless, "the cap ignored", &by_rows, Break::CapIgnored),
        ],
    );
}

#[test]
fn clipped_sgd_of_units() {
    let settings = ClippedSgd {
        clip: Clip::Public { norm: 1.0 },
        batch: Some(4),
        steps: Some(3),
        eta: Some(1e-9),
        output: Some(Output::Last),
        ..ClippedSgd::default()
    };
    let long = Problem::new(Loss::Logistic, RowBounds::features(100.0).unwrap(), 4, 1);
    let plan =
        |problem: Problem, budget| planned(&settings, &of_units(problem), budget, Plan::ClippedSgd);
    let replaced = plan(long.clone(), usual());
    let share = 1.0 / MAX_ROWS as f64;
    let case = |what, plan: &Plan| {
        let case = Case::new(what, plan.clone()).shows(0.3, 0.5).scaled(
            "U replaced by n in the noise",
            "/noise_multiplier",
            share,
        );
        let case = broken(case, "the clip per row", plan, Break::EachRowAlone);
        broken(case, "a unit split in two", plan, Break::SplitInTwo)
    };
    let added = plan(long.clone(), budget(4.0, 1e-2, Adjacency::AddRemoveOneUnit));
    let zeroed = plan(long, budget(4.0, 1e-2, Adjacency::ZeroOutUnit));
    check(
        "clipped-sgd",
        vec![
            case("clipped-sgd, a unit replaced", &replaced),
            case("clipped-sgd, a unit added", &added),
            case("clipped-sgd, a unit zeroed", &zeroed),
        ],
    );
}

/// Every algorithm that carries units, each with half its noise as the broken copy.
#[test]
fn every_algorithm_that_carries_units_keeps_its_claim() {
    let ball = Problem { domain: Domain::Ball { radius: 1e6 }, ..saturated(4, 1) };
    let free = |rows: usize| Problem {
        domain: Domain::Ball { radius: 1e9 },
        slope_limit: Some(1.0),
        ..Problem::new(Loss::Squared, RowBounds::unbounded(1e6).unwrap(), rows, 1)
    };
    let round =
        RandomRound { batch: Some(4), steps: Some(8), eta: Some(1.0), ..RandomRound::default() };
    let noisy = NoisySgd { batch: Some(4), steps: Some(4), ..NoisySgd::default() };
    let objective = ObjectivePerturbation {
        extra_ridge: Some(50.0),
        tolerance: Some(1e-6),
        ..ObjectivePerturbation::default()
    };
    let gradient =
        GradientSgd { batch: Some(4), steps: Some(3), eta: Some(1e-3), ..GradientSgd::default() };
    let mean = CoordinateMean {
        clip: Some(1.0),
        steps: Some(1),
        eta: Some(1.0),
        ..CoordinateMean::default()
    };
    let cases = [
        (planned(&objective, &of_units(saturated(4, 3)), usual(), Plan::Objective), "/sigma"),
        (output_gd(&of_units(saturated(4, 1))), "/noise/noise_multiplier"),
        (
            planned(&gradient, &of_units(ball.clone()), usual(), Plan::GradientSgd),
            "/batches/noise_multiplier",
        ),
        (
            planned(&round, &of_units(saturated(4, 1)), usual(), Plan::RandomRound),
            "/batches/noise_multiplier",
        ),
        (planned(&noisy, &of_units(ball), usual(), Plan::NoisySgd), "/batches/noise_multiplier"),
        (
            planned(
                &Mirror { steps: Some(1), ..Mirror::default() },
                &of_units(saturated(4, 1)),
                usual(),
                Plan::Mirror,
            ),
            "/noise/noise_multiplier",
        ),
        (
            planned(&mean, &of_units(free(4)), usual(), Plan::CoordinateMean),
            "/noise/noise_multiplier",
        ),
    ];
    let mut seen = vec!["clipped-sgd"];
    for (plan, sigma) in cases {
        let word = plan.algorithm();
        seen.push(word);
        check(word, vec![Case::new("units", plan).scaled("a fifth of the noise", sigma, 0.2)]);
    }
    let shuffled = ShuffledMirror { batch: Some(1), clip: Some(1.0), ..ShuffledMirror::default() };
    let little = budget(0.2, 0.05, Adjacency::ReplaceOneUnit);
    let shuffled = planned(&shuffled, &of_units(free(60)), little, Plan::ShuffledMirror);
    seen.push(shuffled.algorithm());
    check(
        "shuffled-mirror",
        vec![Case::new("units", shuffled).runs(1_500).scaled(
            "a twentieth of the noise",
            "/noise_multiplier",
            0.05,
        )],
    );
    let mut carried: Vec<_> =
        ALGORITHMS.iter().filter(|a| a.units == UnitSupport::Carried).map(|a| a.name).collect();
    carried.sort_unstable();
    seen.sort_unstable();
    assert_eq!(carried, seen);
}
