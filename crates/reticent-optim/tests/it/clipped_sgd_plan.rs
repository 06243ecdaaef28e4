//! Plans of clipped DP-SGD: budgets kept and used up, automatic choices, and refusals.

use reticent_optim::clipped_sgd::auto::Charge;
use reticent_optim::clipped_sgd::tails::Moment;
use reticent_optim::clipped_sgd::{
    ADAPTIVE_STEP, CLIP_LOW, CLIP_QUANTILE_MULTIPLE, CLIP_SELECTION, MOMENT_ORDER,
};
use reticent_optim::clipped_sgd::{Clip, ClippedSgd, ClippedSgdPlan, Output};
use reticent_optim::least_squares::EXACT;
use reticent_optim::setting::CLIP;
use reticent_optim::tuning::EPOCHS;
use reticent_optim::{Algorithm, Assumption, Calibration, Plan, Planned, Settings, candidates};
use reticent_privacy::calibrate::noise_multiplier_for;
use reticent_privacy::{Adjacency, Budget, Delta, Epsilon, Event, delta_upper, epsilon_upper};
use reticent_problem::{Domain, Loss, Problem, RowBounds};

const ALL: [Adjacency; 3] = [Adjacency::AddRemoveOne, Adjacency::ReplaceOne, Adjacency::ZeroOut];

#[test]
fn former_names_of_fields_are_read() {
    let old = r#"{"calibration": "tight", "clip": {"rule": "usual", "part": 0.7, "epsilon": 0.1},
        "adapt_eta": true, "keep_common": 0.3}"#;
    let settings: ClippedSgd = serde_json::from_str(old).unwrap();
    let clip = Clip::Quantile { multiple: 0.7, epsilon: Some(0.1) };
    let expected = ClippedSgd {
        clip,
        adaptive_step: true,
        precondition: Some(0.3),
        calibration: Calibration::Tight,
        ..ClippedSgd::default()
    };
    assert_eq!(settings, expected);
    let new = serde_json::to_string(&settings).unwrap();
    for name in ["usual", "part", "adapt_eta", "keep_common"] {
        assert!(!new.contains(name), "{new}");
    }
    let old = r#"{"statement": "a", "held_by": "owner", "theorem": "b"}"#;
    assert_eq!(serde_json::from_str::<Assumption>(old).unwrap().enforced_by, "owner");
}

fn budget(epsilon: f64, delta: f64, adjacency: Adjacency) -> Budget {
    Budget { epsilon: Epsilon::new(epsilon).unwrap(), delta: Delta::new(delta).unwrap(), adjacency }
}

/// Fashion-MNIST by its shape.
fn fashion() -> Problem {
    let bounds = RowBounds::features(785_f64.sqrt()).unwrap();
    Problem::new(Loss::Softmax { classes: 10 }, bounds, 60_000, 785)
}

fn fixed(epochs: u64, output: Output) -> ClippedSgd {
    ClippedSgd {
        batch: Some(500),
        steps: Some(120 * epochs),
        output: Some(output),
        ..ClippedSgd::default()
    }
}

fn keeps(plan: &ClippedSgdPlan) {
    let budget = plan.outline.budget;
    let (epsilon, delta) = (budget.epsilon.get(), budget.delta.get());
    let spent = epsilon_upper(&plan.outline.event, delta).unwrap();
    assert!(spent <= epsilon, "{spent} of {epsilon}");
    assert!(spent >= 0.999 * epsilon, "the budget is used: {spent} of {epsilon}");
    assert!(delta_upper(&plan.outline.event, epsilon).unwrap() <= delta);
    assert_eq!(plan.again().unwrap(), *plan, "a plan is a function of what was asked for");
    let whole = Plan::ClippedSgd(plan.clone());
    let json = serde_json::to_string(&whole).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), whole, "and survives a file");
}

#[test]
fn the_noise_is_the_least_that_keeps_the_budget() {
    // The multipliers of the paper's settings, by an independent accountant.
    for (epsilon, epochs, sigma) in
        [(2.0, 20, 1.082), (4.0, 50, 0.9705), (2.0, 50, 1.4771), (6.0, 100, 0.961)]
    {
        let settings = fixed(epochs, Output::Last);
        let plan =
            settings.plan(&fashion(), budget(epsilon, 1e-5, Adjacency::AddRemoveOne)).unwrap();
        assert!((plan.noise_multiplier / sigma - 1.0).abs() < 1e-3, "{}", plan.noise_multiplier);
        assert_eq!(plan.sample_rate, 500.0 / 60_000.0);
        keeps(&plan);
    }
    let plan =
        |adjacency| fixed(50, Output::Last).plan(&fashion(), budget(2.0, 1e-5, adjacency)).unwrap();
    // To replace a row costs more than to add one.
    let replaced = plan(Adjacency::ReplaceOne).noise_multiplier;
    assert!((replaced / 2.5772 - 1.0).abs() < 1e-3, "{replaced}");
    assert_eq!(
        plan(Adjacency::ZeroOut).noise_multiplier,
        plan(Adjacency::AddRemoveOne).noise_multiplier
    );
    let nu = plan(Adjacency::AddRemoveOne).nu_effective.unwrap();
    assert!((nu / 1.8192 - 1.0).abs() < 2e-3, "{nu}");
}

#[test]
fn the_event_counts_the_steps_that_the_output_can_show() {
    for (output, charged) in [
        (Output::Last, 2400),
        (Output::Average, 2399),
        (Output::TailAverage, 2399),
        (Output::Random, 2399),
    ] {
        let plan =
            fixed(20, output).plan(&fashion(), budget(2.0, 1e-5, Adjacency::AddRemoveOne)).unwrap();
        let Event::PoissonGaussian { steps, sample_rate, noise_multiplier, .. } =
            plan.outline.event
        else {
            panic!("{:?}", plan.outline.event)
        };
        assert_eq!(steps, charged);
        assert_eq!((sample_rate, noise_multiplier), (plan.sample_rate, plan.noise_multiplier));
    }
}

#[test]
fn a_private_clip_norm_is_paid_first_and_from_the_same_budget() {
    let settings = ClippedSgd {
        clip: Clip::Selected { epsilon: 0.3, low: None, high: None },
        ..fixed(30, Output::Last)
    };
    for adjacency in ALL {
        let plan = settings.plan(&fashion(), budget(2.0, 1e-5, adjacency)).unwrap();
        let Event::Composed(list) = &plan.outline.event else { panic!("{:?}", plan.outline.event) };
        assert_eq!(list[0], Event::BoundedRange { epsilon: 0.3, adjacency });
        assert!(matches!(list[1], Event::PoissonGaussian { steps: 3600, .. }));
        keeps(&plan);
        if adjacency == Adjacency::AddRemoveOne {
            // 1.2657 for the first event of all, 1.2749 in any order.
            let sigma = plan.noise_multiplier;
            assert!((1.2655..1.2752).contains(&sigma), "{sigma}");
        }
        let selection = plan.selection.unwrap();
        assert_eq!((selection.cells, selection.epsilon), (200, 0.3));
        assert!((selection.low - 2_f64.sqrt()).abs() < 1e-12);
        assert!((selection.high / selection.low - 1e3).abs() < 1e-9);
        assert_eq!((plan.clip, plan.eta), (None, None));
    }
    let few = Problem { rows: 100, ..fashion() };
    let settings = ClippedSgd { batch: Some(50), ..settings };
    let plan = settings.plan(&few, budget(2.0, 1e-5, Adjacency::ReplaceOne)).unwrap();
    assert!(plan.outline.warnings.iter().any(|w| w.contains("too few records")));
}

fn numbers() -> Problem {
    let bounds = RowBounds::new(2.0, 3.0).unwrap();
    Problem::new(Loss::Huber { threshold: 0.5 }, bounds, 5000, 10)
}

#[test]
fn the_usual_gradient_is_paid_first_and_the_step_does_not_depend_on_it() {
    let settings = ClippedSgd {
        clip: Clip::Quantile { multiple: 0.8, epsilon: None },
        adaptive_step: true,
        batch: Some(250),
        steps: Some(400),
        output: Some(Output::TailAverage),
        ..ClippedSgd::default()
    };
    for adjacency in ALL {
        let plan = settings.plan(&numbers(), budget(0.4, 1e-6, adjacency)).unwrap();
        let Event::Composed(list) = &plan.outline.event else { panic!("{:?}", plan.outline.event) };
        assert_eq!(
            list[0],
            Event::BoundedRange { epsilon: 0.4 * 0.1, adjacency },
            "a tenth of epsilon"
        );
        assert!(matches!(list[1], Event::PoissonGaussian { steps: 399, .. }));
        keeps(&plan);
        let selection = plan.selection.unwrap();
        assert_eq!((plan.clip, selection.rank()), (None, 3500.0));
        // The longest gradient at zero: slope 0.5, norm 2.
        assert!((selection.high - 1.0).abs() < 1e-12);
        assert!((selection.low * 2_f64.powi(20) - 1.0).abs() < 1e-9);
        // Noise over the 70th-percentile gradient norm, and four of them over the squared norm for
        // the typical weights.
        let noise = plan.outline.noise_deviation / selection.low;
        let wanders = plan.eta.unwrap() * noise * 20.0;
        assert!((wanders / (0.36 * 4.0 / 4.0) - 1.0).abs() < 1e-9, "{wanders}");
        // A longer part takes shorter steps: the stride is the same.
        let longer =
            ClippedSgd { clip: Clip::Quantile { multiple: 3.2, epsilon: None }, ..settings };
        let longer = longer.plan(&numbers(), budget(0.4, 1e-6, adjacency)).unwrap();
        assert!((plan.eta.unwrap() / longer.eta.unwrap() - 4.0).abs() < 1e-9);
    }
    let least = budget(2.0, 1e-6, Adjacency::ReplaceOne);
    // At a larger epsilon the rank is sure enough for less than a tenth of it.
    let capped = settings.plan(&numbers(), least).unwrap().selection.unwrap().epsilon;
    assert!(
        (capped * 0.03 * 5000.0 / (2.0 * (41_f64 / 0.05).ln()) - 1.0).abs() < 1e-12,
        "{capped}"
    );
    assert!(capped < 0.5 * (2.0 * 0.1), "{capped}");
    let given =
        ClippedSgd { clip: Clip::Quantile { multiple: 0.8, epsilon: Some(0.5) }, ..settings };
    assert_eq!(given.plan(&numbers(), least).unwrap().selection.unwrap().epsilon, 0.5);
    // With much data and little noise the first step is bounded by the curvature, 2² here.
    let many = Problem { rows: 50_000_000, ..numbers() };
    let plan = ClippedSgd { batch: Some(2_500_000), ..settings }.plan(&many, least).unwrap();
    assert!((plan.eta.unwrap() - 8.0 / 4.0).abs() < 1e-12, "{:?}", plan.eta);
    let few = Problem { rows: 100, ..numbers() };
    let plan = ClippedSgd { batch: Some(50), ..settings }.plan(&few, least).unwrap();
    assert!(plan.outline.warnings.iter().any(|w| w.contains("70th-percentile gradient norm")));
    // Without noise it begins where fixed steps would, with and without a ridge.
    let free = budget(f64::INFINITY, 1e-6, Adjacency::ReplaceOne);
    for ridge in [0.0, 0.1] {
        let problem = Problem { ridge, ..numbers() };
        for clip in [Clip::Public { norm: 0.5 }, settings.clip] {
            let [a, b] = [true, false].map(|adaptive_step| {
                ClippedSgd { clip, adaptive_step, ..settings }.plan(&problem, free).unwrap().eta
            });
            assert_eq!(a, b);
        }
    }
    // The clip norm that is found must be usable, whatever its size.
    let huge = Problem { bounds: RowBounds::new(1e80, 1e30).unwrap(), ..numbers() };
    for (loss, part) in [(Loss::Squared, 1.0), (Loss::Huber { threshold: 0.5 }, 1e6)] {
        let problem = Problem { loss, ..huge.clone() };
        let odd = ClippedSgd { clip: Clip::Quantile { multiple: part, epsilon: None }, ..settings };
        let found = odd.plan(&problem, least);
        assert_eq!(found.is_ok(), loss != Loss::Squared, "{found:?}");
    }
    let far = Clip::Selected { epsilon: 0.3, low: None, high: Some(1e300) };
    let sentence = ClippedSgd { clip: far, ..settings }.plan(&fashion(), least).unwrap_err();
    assert!(sentence.to_string().contains("`clip_high` must be a clip norm between"), "{sentence}");
    // It is for regression with bounded labels and for linear models.
    let network = Problem { hidden: Some(4), ..numbers() };
    for problem in [fashion(), network] {
        let sentence = settings.plan(&problem, least).unwrap_err().to_string();
        assert!(sentence.contains("give `clip` instead of `clip_quantile_multiple`"), "{sentence}");
    }
    for part in [0.0, -1.0, f64::NAN, 1e9] {
        let odd = ClippedSgd { clip: Clip::Quantile { multiple: part, epsilon: None }, ..settings };
        let sentence = odd.plan(&numbers(), least).unwrap_err().to_string();
        assert!(sentence.contains("`clip_quantile_multiple` must be between"), "{sentence}");
    }
}

#[test]
fn automatic_steps_put_the_noise_where_the_theorem_wants_it() {
    for kappa in [1.0 / 3.0, 1.0] {
        let charge = Charge {
            budget: budget(2.0, 1e-5, Adjacency::AddRemoveOne),
            selection: None,
            preconditioner: None,
            dimension: 7850.0,
            rows: 60_000,
        };
        let steps = charge.steps(500, kappa).unwrap();
        let planned = 500.0 * (kappa / 7850.0_f64).sqrt();
        let least = noise_multiplier_for(2.0, 1e-5, |s| charge.event(500, s, steps)).unwrap();
        assert!((least / planned - 1.0).abs() < 0.002, "{least} and {planned}");
        let energy = 7850.0 * (least / 500.0).powi(2);
        assert!((energy / kappa - 1.0).abs() < 0.005, "{energy}");
    }
    for (problem, epsilon) in [
        (fashion(), 2.0),
        (fashion(), 0.3),
        (Problem { hidden: Some(256), ..fashion() }, 2.0),
        (Problem::new(Loss::Logistic, RowBounds::features(1.0).unwrap(), 2000, 30), 1.0),
        (Problem::new(Loss::Squared, RowBounds::features(1.0).unwrap(), 50, 3), 1.0),
    ] {
        for adjacency in ALL {
            let plan =
                ClippedSgd::default().plan(&problem, budget(epsilon, 1e-6, adjacency)).unwrap();
            keeps(&plan);
            let n = problem.rows as u64;
            assert!(plan.batch <= n && plan.outline.steps >= 1);
            let most = (EPOCHS * n as f64 / plan.batch as f64).ceil() as u64;
            assert!(plan.outline.steps <= most, "{} steps of {most}", plan.outline.steps);
            // The noise energy of a step is what the theorem asks for, or less.
            let kappa = if problem.hidden.is_some() { 1.0 } else { 1.0 / 3.0 };
            let d = problem.dimension() as f64;
            let energy = d * (plan.noise_multiplier / plan.batch as f64).powi(2);
            assert!(energy <= kappa * 1.001, "{energy} at batch {}", plan.batch);
            let wanted = if problem.hidden.is_some() { Output::Last } else { Output::Average };
            assert_eq!(plan.output, wanted);
        }
    }
}

#[test]
fn declared_moments_choose_the_theorem_that_fits() {
    let add = |epsilon| budget(epsilon, 1e-6, Adjacency::AddRemoveOne);
    let moment = Moment { bound: 2.0, order: 2.0, failure: 0.1 };
    let clip = Clip::Moments { moment, growth_radius: None, smoothness: None };
    let rule = |clip: Clip, problem: &Problem, calibration: Calibration| {
        let settings = ClippedSgd { clip, calibration, ..ClippedSgd::default() };
        settings.plan(problem, add(1.0)).unwrap()
    };
    let free = Problem::new(Loss::Logistic, RowBounds::features(1.0).unwrap(), 5000, 40);
    let ball = Problem { domain: Domain::Ball { radius: 3.0 }, ..free.clone() };
    let network = Problem { hidden: Some(8), ..free.clone() };
    let plan = rule(clip, &free, Calibration::Tight);
    assert!(plan.theorem.contains("J.1") && plan.outline.predicted_excess.is_some());
    keeps(&plan);
    assert!(rule(clip, &ball, Calibration::Tight).theorem.contains("I.1, sharp"));
    let paper = rule(clip, &ball, Calibration::Paper);
    assert!(paper.theorem.ends_with("I.1"), "{}", paper.theorem);
    // The sharp form promises more.
    let tight = rule(clip, &ball, Calibration::Tight).outline.predicted_excess.unwrap();
    assert!(tight < paper.outline.predicted_excess.unwrap());
    let growing = Clip::Moments { moment, growth_radius: Some(2.0), smoothness: None };
    // Few rows and many weights: the number of steps is limited by noise, as K.1 asks.
    let noisy = Problem::new(Loss::Logistic, RowBounds::features(1.0).unwrap(), 500, 4000);
    let plan = rule(growing, &noisy, Calibration::Tight);
    assert!(plan.theorem.contains("K.1"), "{} {:?}", plan.theorem, plan.outline.warnings);
    let plan = rule(growing, &free, Calibration::Tight);
    assert!(plan.theorem.contains("J.1") && !plan.outline.warnings.is_empty());
    let smooth = Clip::Moments { moment, growth_radius: None, smoothness: Some(4.0) };
    let plan = rule(smooth, &network, Calibration::Tight);
    assert!(plan.theorem.contains("N.1") && plan.squared_gradient.is_some());
    assert_eq!(plan.outline.predicted_excess, None);
}

#[test]
fn an_excess_is_predicted_only_where_a_theorem_bounds_it() {
    let problem = Problem::new(Loss::Logistic, RowBounds::features(2.0).unwrap(), 5000, 10);
    let with = |clip: f64| {
        let settings = ClippedSgd { clip: Clip::Public { norm: clip }, ..ClippedSgd::default() };
        settings.plan(&problem, budget(1.0, 1e-6, Adjacency::ReplaceOne)).unwrap()
    };
    assert!(with(2.0).outline.predicted_excess.is_some(), "nothing is cut");
    assert!(with(1.9).outline.predicted_excess.is_none(), "the bias is not known without data");
    assert!(with(1.9).excess_if_fitted.is_some());
}

#[test]
fn what_cannot_be_served_is_refused_with_the_reason() {
    let ok = budget(1.0, 1e-6, Adjacency::AddRemoveOne);
    let refuse = |settings: ClippedSgd, problem: &Problem, budget: Budget| {
        settings.plan(problem, budget).unwrap_err().to_string()
    };
    let d = ClippedSgd::default();
    let public = |norm| ClippedSgd { clip: Clip::Public { norm }, ..d };
    for norm in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let sentence = refuse(public(norm), &fashion(), ok);
        assert!(sentence.contains("`clip` must be positive"), "{sentence}");
    }
    let sentence = refuse(ClippedSgd { batch: Some(60_001), ..d }, &fashion(), ok);
    assert!(sentence.contains("`batch` must be") && sentence.contains("60000"), "{sentence}");
    let sentence = refuse(d, &fashion(), budget(1.0, 0.0, Adjacency::AddRemoveOne));
    assert!(sentence.contains("Gaussian noise cannot give delta = 0"), "{sentence}");
    let small = Problem { rows: 100, ..fashion() };
    let sentence = refuse(d, &small, budget(0.5, 1e-6, Adjacency::AddRemoveOne));
    assert!(
        sentence.contains(
            "batch 100 is too small for 7850 parameters: one step already exceeds epsilon"
        ),
        "{sentence}"
    );
    let moments = |bound, order, failure| ClippedSgd {
        clip: Clip::Moments {
            moment: Moment { bound, order, failure },
            growth_radius: None,
            smoothness: None,
        },
        ..d
    };
    for (settings, name) in [
        (moments(0.0, 2.0, 0.1), "`gradient_moment`"),
        (moments(1.0, 1.0, 0.1), "`moment_order` must be above 1"),
        (moments(1.0, 2.0, 1.0), "`moment_failure` must be between 0 and 1"),
    ] {
        let sentence = refuse(settings, &fashion(), ok);
        assert!(sentence.contains(name), "{sentence}");
    }
    let selected = ClippedSgd { clip: Clip::Selected { epsilon: 0.3, low: None, high: None }, ..d };
    let squared = Problem { loss: Loss::Squared, ..fashion() };
    let sentence = refuse(selected, &squared, ok);
    assert!(
        sentence.contains("per-sample Lipschitz constants are infinite on R^d; give a radius"),
        "{sentence}"
    );
    let paper = ClippedSgd { calibration: Calibration::Paper, batch: Some(500), ..d };
    let sentence = refuse(paper, &fashion(), ok);
    assert!(sentence.contains("full batches only"), "{sentence}");
    let one = ClippedSgd { steps: Some(1), ..d };
    let plan = one.plan(&fashion(), ok).unwrap();
    assert!(plan.outline.warnings.iter().any(|w| w.contains("starting point")));
    let weak = d.plan(&fashion(), budget(20.0, 1e-3, Adjacency::AddRemoveOne)).unwrap();
    assert_eq!(weak.outline.warnings.len(), 2, "{:?}", weak.outline.warnings);
}

#[test]
fn steps_that_follow_the_gradients_cost_nothing_and_promise_no_risk() {
    let problem = Problem {
        domain: Domain::Ball { radius: 2.0 },
        ..Problem::new(Loss::Logistic, RowBounds::features(1.0).unwrap(), 5000, 10)
    };
    let moment = Moment { bound: 2.0, order: 2.0, failure: 0.1 };
    let moments = Clip::Moments { moment, growth_radius: None, smoothness: None };
    for clip in [Clip::Public { norm: 1.5 }, moments] {
        let fixed = ClippedSgd { clip, ..ClippedSgd::default() };
        let asked = budget(1.0, 1e-6, Adjacency::ReplaceOne);
        let (fixed, paced) = (
            fixed.plan(&problem, asked).unwrap(),
            ClippedSgd { adaptive_step: true, ..fixed }.plan(&problem, asked).unwrap(),
        );
        keeps(&paced);
        assert_eq!(paced.outline.event, fixed.outline.event);
        // Where it begins: the noise of all steps moves a weight by 0.36 of the typical norm 7/B.
        let wanders = paced.eta.unwrap() * paced.outline.noise_deviation;
        let wanders = wanders * (paced.outline.steps as f64).sqrt();
        assert!((wanders / (0.36 * 7.0) - 1.0).abs() < 1e-12, "{wanders}");
        let asked_for =
            ClippedSgd { adaptive_step: true, eta: Some(0.01), clip, ..ClippedSgd::default() };
        assert_eq!(asked_for.plan(&problem, asked).unwrap().eta, Some(0.01));
        // With several classes each has weights of norm 6/B.
        let several = Problem { loss: Loss::Softmax { classes: 3 }, ..problem.clone() };
        let two = Problem { loss: Loss::Logistic, ..several.clone() };
        let begun = |problem: &Problem| {
            let paced = ClippedSgd {
                adaptive_step: true,
                steps: Some(100),
                batch: Some(500),
                clip,
                ..ClippedSgd::default()
            };
            let plan = paced.plan(problem, asked).unwrap();
            plan.eta.unwrap() * plan.outline.noise_deviation
        };
        assert!((begun(&two) / begun(&several) - 7.0 / 6.0).abs() < 1e-9);
        let network = Problem { hidden: Some(8), ..problem.clone() };
        let begins = |adaptive_step| ClippedSgd { adaptive_step, ..ClippedSgd::default() };
        let [a, b] = [true, false].map(|follow| begins(follow).plan(&network, asked).unwrap().eta);
        assert_eq!(a, b, "a network begins where fixed steps would");
        assert!(fixed.outline.predicted_excess.is_some() && fixed.excess_if_fitted.is_some());
        assert!(paced.outline.predicted_excess.is_none() && paced.excess_if_fitted.is_none());
        assert!(paced.theorem.contains("the adaptive step size"), "{}", paced.theorem);
        // A plan of before, which says nothing of it, has fixed steps.
        let json = serde_json::to_string(&fixed).unwrap();
        assert!(!json.contains("adaptive_step"), "{json}");
        assert_eq!(serde_json::from_str::<ClippedSgdPlan>(&json).unwrap(), fixed);
    }
}

#[test]
fn a_request_becomes_settings_or_a_reason() {
    let request = Settings::default().with(&CLIP, 2.0).with(&CLIP_SELECTION, 0.3);
    let sentence = ClippedSgd::from_settings(&request).unwrap_err().to_string();
    assert!(sentence.contains("`clip` and `clip_selection`"), "{sentence}");
    let request = Settings::default().with(&CLIP, 2.0).with(&CLIP_QUANTILE_MULTIPLE, 0.3);
    let sentence = ClippedSgd::from_settings(&request).unwrap_err().to_string();
    assert!(sentence.contains("`clip` and `clip_quantile_multiple`"), "{sentence}");
    let request = Settings::default().with(&CLIP_QUANTILE_MULTIPLE, 0.3).with(&CLIP_SELECTION, 0.1);
    let both = ClippedSgd::from_settings(&request).unwrap().clip;
    assert_eq!(both, Clip::Quantile { multiple: 0.3, epsilon: Some(0.1) });
    let request = request.with(&CLIP_LOW, 2.0);
    let sentence = ClippedSgd::from_settings(&request).unwrap_err().to_string();
    assert!(sentence.contains("give `clip_selection`"), "{sentence}");
    let request = Settings::default().with(&MOMENT_ORDER, 2.0);
    let sentence = ClippedSgd::from_settings(&request).unwrap_err().to_string();
    assert!(sentence.contains("give `gradient_moment`"), "{sentence}");
    let request = Settings::default().with(&EXACT, true);
    assert!(ClippedSgd::from_settings(&request).is_err());
    // Only here does the step length follow the gradients; the others say so, and a request of
    // before has none.
    let bounded = Problem::new(Loss::Logistic, RowBounds::features(1.0).unwrap(), 5000, 10);
    let request = Settings::default().with(&ADAPTIVE_STEP, true);
    assert!(ClippedSgd::from_settings(&request).unwrap().adaptive_step);
    for other in candidates(&bounded, budget(1.0, 1e-6, Adjacency::ReplaceOne), &request) {
        match other.plan {
            Ok(plan) => assert!(matches!(plan, Plan::ClippedSgd(_)), "{}", other.algorithm),
            Err(e) => {
                assert!(e.to_string().contains("`adaptive_step`"), "{}: {e}", other.algorithm);
            }
        }
    }
    assert_eq!(serde_json::from_str::<Settings>("{}").unwrap().flag(&ADAPTIVE_STEP), None);
    // Where no other algorithm can serve, this one does: add-remove adjacency, a network, a kink.
    let hinge = Problem::new(Loss::Hinge { q: 1.0 }, RowBounds::features(1.0).unwrap(), 5000, 10);
    let network = Problem { hidden: Some(16), ..hinge.clone() };
    for problem in [hinge, network] {
        let list =
            candidates(&problem, budget(1.0, 1e-6, Adjacency::AddRemoveOne), &Settings::default());
        assert!(list.iter().any(|c| c.algorithm == "clipped-sgd" && c.plan.is_ok()));
    }
}
