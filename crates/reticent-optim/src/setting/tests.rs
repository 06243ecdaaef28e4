#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use reticent_privacy::{Adjacency, Budget, Delta, Epsilon};
use reticent_problem::{Domain, Loss, Problem, RowBounds};

use super::*;
use crate::clipped_sgd::{CLIP_SELECTION, GRADIENT_MOMENT, MOMENT_FAILURE, MOMENT_ORDER, Output};
use crate::least_squares::Order;
use crate::least_squares::parameters::Schedule;
use crate::objective::curvature::INTERVALS;
use crate::plan::TRIED;
use crate::step::perturb::NoiseChoice;
use crate::*;

/// The plan of an algorithm for settings, declared or not.
type Planner = fn(&Problem, Budget, &Settings) -> Result<String, PlanError>;

/// The settings that the algorithm takes over.
type Reader = fn(&Settings) -> Result<String, PlanError>;

fn reading<A: Algorithm + std::fmt::Debug>(settings: &Settings) -> Result<String, PlanError> {
    Ok(format!("{:?}", A::read(Checked::unchecked(settings))?))
}

fn unchecked<A: Algorithm<Plan: std::fmt::Debug>>(
    problem: &Problem,
    budget: Budget,
    settings: &Settings,
) -> Result<String, PlanError> {
    let ridge = settings.number(&RIDGE).unwrap_or(problem.ridge);
    let problem = Problem { ridge, ..problem.clone() };
    let plan = A::read(Checked::unchecked(settings))?.plan(&problem, budget)?;
    // The requested settings are part of a plan; their place separates them from derived values.
    let text = format!("{plan:?}");
    let (start, rest) = text.split_once("settings: ").unwrap();
    let (_, rest) = rest.split_once('}').unwrap();
    Ok(format!("{start}{rest}"))
}

/// An algorithm without its type.
#[derive(Clone, Copy)]
pub(crate) struct Tried {
    info: AlgorithmInfo,
    read: Reader,
    plan: Planner,
}

impl Tried {
    pub(crate) const fn of<A: Algorithm<Plan: std::fmt::Debug> + std::fmt::Debug>() -> Self {
        Self { info: A::INFO, read: reading::<A>, plan: unchecked::<A> }
    }
}

/// Every algorithm, with a problem that it serves.
fn planners() -> Vec<(AlgorithmInfo, Problem, Planner)> {
    let bounds = RowBounds::new(1.0, 1.0).unwrap();
    let logistic = Problem::new(Loss::Logistic, bounds, 400, 3);
    let bounded = Problem { domain: Domain::Ball { radius: 2.0 }, ..logistic.clone() };
    let squared = Problem::new(Loss::Squared, bounds, 400, 3);
    let problems = [logistic, bounded, squared];
    let serves = |tried: &Tried, problem: &&Problem| {
        (tried.plan)(problem, budget(), &Settings::default()).is_ok()
    };
    TRIED
        .iter()
        .map(|tried| {
            let problem = problems.iter().find(|problem| serves(tried, problem));
            (tried.info, problem.expect("a problem that it serves").clone(), tried.plan)
        })
        .collect()
}

fn budget() -> Budget {
    Budget {
        epsilon: Epsilon::new(1.0).unwrap(),
        delta: Delta::new(1e-6).unwrap(),
        adjacency: Adjacency::ReplaceOne,
    }
}

/// The settings without which this one is not read.
fn companions(setting: &Setting) -> Settings {
    let none = Settings::default();
    match setting.name {
        "clip_low" | "clip_high" => none.with(&CLIP_SELECTION, 0.1),
        "moment_order" | "moment_failure" | "growth_radius" => none.with(&GRADIENT_MOMENT, 1.0),
        "curvature_share" | "interval_method" => none.with(&INTERVALS, 95.0),
        _ => none,
    }
}

/// A value that the declaration takes.
fn inside(setting: &Setting) -> Value {
    match setting.kind {
        Kind::Flag => Value::Flag(true),
        Kind::Whole { least, .. } => Value::Whole(least + 1),
        Kind::Number(range) => {
            let candidates = [0.7, 1.5, 95.0];
            Value::Number(candidates.into_iter().find(|x| range.contains(*x)).unwrap())
        }
        Kind::Choice(words) => Value::Word(words[words.len() - 1].0),
    }
}

/// Values next to the ends, on the wrong side.
fn outside(setting: &Setting) -> Vec<Value> {
    match setting.kind {
        Kind::Flag | Kind::Choice(_) => Vec::new(),
        Kind::Whole { least, most } => [least.checked_sub(1), most.checked_add(1)]
            .into_iter()
            .flatten()
            .map(Value::Whole)
            .collect(),
        Kind::Number(range) => {
            let low = match range.low {
                End::Open(low) => low,
                End::Closed(low) => low.next_down(),
            };
            let high = match range.high {
                End::Open(high) => high,
                End::Closed(high) => high.next_up(),
            };
            let beyond = [low, high, f64::NAN].into_iter().filter(|x| !range.contains(*x));
            beyond.map(Value::Number).collect()
        }
    }
}

#[test]
fn names_are_one_kind_and_declarations_are_whole() {
    for info in ALGORITHMS {
        assert_eq!([info.settings[0].name, info.settings[1].name], ["calibration", "ridge"]);
        for (place, setting) in info.settings.iter().enumerate() {
            let again = info.settings[..place].iter().any(|s| s.name == setting.name);
            assert!(!again, "{}: {} is listed twice", info.name, setting.name);
            let known = find(setting.name).unwrap().setting;
            assert_eq!(known.kind.name(), setting.kind.name(), "{}", setting.name);
            assert_eq!(
                (known.help, known.alias, known.common),
                (setting.help, setting.alias, setting.common)
            );
            assert!(
                !setting.default.is_empty() && !setting.help.ends_with('.'),
                "{}",
                setting.name
            );
        }
    }
    assert_eq!(find("mu").unwrap().setting.name, "ridge");
    assert!(find("no_such_thing").is_none());
}

/// Otherwise a setting would be dropped silently, or refused though it has a use.
#[test]
fn an_algorithm_reads_what_it_declares_and_nothing_else() {
    for Tried { info, read, .. } in TRIED.iter().copied() {
        for declared in declared() {
            let own = info.settings.iter().find(|s| s.name == declared.setting.name);
            let setting = own.unwrap_or(&declared.setting);
            let before = companions(setting);
            let after = before.clone().with(setting, inside(setting));
            if own.is_none() {
                let refused = Settings::default().with(setting, inside(setting)).check(&info).err();
                let (algorithm, name) = (info.name, setting.name);
                assert_eq!(refused, Some(PlanError::NotASetting { algorithm, name }));
            } else {
                after.check(&info).unwrap();
            }
            // The ridge is the problem's, and the only calibration of one algorithm is the default.
            let is_read = own.is_some() && setting.name != "ridge" && after != before;
            assert_eq!(read(&before) != read(&after), is_read, "{} {}", info.name, setting.name);
        }
    }
}

#[test]
fn a_plan_refuses_what_lies_outside_the_declared_range() {
    for (info, problem, plan) in planners() {
        for setting in info.settings {
            for value in outside(setting) {
                let mut given = companions(setting);
                given.give(setting, value);
                let case = format!("{} {} = {value}", info.name, setting.name);
                let listed = given.check(&info).unwrap_err().to_string();
                let start = format!("`{}` must be {}, got", setting.name, setting.range());
                assert!(listed.starts_with(&start), "{case}: {listed}");
                let theirs = plan(&problem, budget(), &given);
                assert!(theirs.is_err(), "{case}: the plan takes it");
            }
        }
    }
}

#[test]
fn a_plan_takes_the_ends_that_belong_to_the_range() {
    for (info, problem, plan) in planners() {
        for setting in info.settings {
            // The plan has bounds of its own on what is limited, and on a step size.
            let Kind::Number(range) = setting.kind else { continue };
            if setting.limit.is_some_and(|limit| !limit.starts_with("with")) {
                continue;
            }
            for end in [range.low, range.high] {
                let End::Closed(end) = end else { continue };
                let mut given = companions(setting);
                given.give(setting, end);
                given.check(&info).unwrap();
                let found = plan(&problem, budget(), &given);
                let blamed = matches!(&found, Err(PlanError::OutOfRange { name, .. }) if *name == setting.name);
                assert!(!blamed, "{} {} = {end}: {found:?}", info.name, setting.name);
            }
        }
    }
}

/// A default that is a value, and not a description, is the value that is used.
#[test]
fn declared_defaults_are_what_is_used() {
    let mut seen = 0;
    for (info, problem, plan) in planners() {
        for setting in info.settings {
            let value = match setting.kind {
                Kind::Flag => (setting.default == "off").then_some(Value::Flag(false)),
                Kind::Whole { .. } => setting.default.parse().ok().map(Value::Whole),
                Kind::Number(_) => setting.default.parse().ok().map(Value::Number),
                Kind::Choice(words) => {
                    words.iter().find(|w| w.0 == setting.default).map(|w| Value::Word(w.0))
                }
            };
            let Some(value) = value else { continue };
            seen += 1;
            let before = companions(setting);
            let after = before.clone().exactly(setting, value);
            let [before, after] = [before, after].map(|given| plan(&problem, budget(), &given));
            assert_eq!(before, after, "{} {}", info.name, setting.name);
            assert!(before.is_ok(), "{} {}: {before:?}", info.name, setting.name);
        }
    }
    assert!(seen > 40, "{seen}");
    assert_eq!((MOMENT_ORDER.default, MOMENT_FAILURE.default), ("2", "0.1"));
}

#[test]
fn words_are_those_of_the_files() {
    fn check<
        T: Words + serde::de::DeserializeOwned + serde::Serialize + PartialEq + std::fmt::Debug,
    >() {
        for (word, help) in T::WORDS {
            let value = T::of_name(word).unwrap();
            assert_eq!(serde_json::to_value(value).unwrap(), *word);
            assert_eq!((value.name(), help.is_empty()), (*word, false));
        }
        assert!(T::of_name("no such word").is_none());
    }
    check::<Calibration>();
    check::<NoiseChoice>();
    check::<Output>();
    check::<Order>();
    check::<Schedule>();
}

#[test]
fn json_is_read_by_the_declaration_and_fails_closed() {
    let read = |text: &str| serde_json::from_str::<Settings>(text);
    let given =
        read(r#"{"mu": 1, "steps": 7, "adaptive_step": false, "output": "last", "clip": null}"#);
    let given = given.unwrap();
    assert_eq!((given.number(&RIDGE), given.whole(&STEPS)), (Some(1.0), Some(7)));
    assert_eq!(given.flag(&clipped_sgd::ADAPTIVE_STEP), Some(false));
    assert_eq!(given.choice(&clipped_sgd::OUTPUT), Some(Output::Last));
    assert_eq!(read(&serde_json::to_string(&given).unwrap()).unwrap(), given);
    let neutral = r#"{"calibration": "tight", "noise": "auto", "exact": false}"#;
    assert_eq!(read(neutral).unwrap(), Settings::default());
    for (text, why) in [
        (r#"{"step": 7}"#, "`step` is not a setting of any algorithm"),
        (r#"{"steps": 7.5}"#, "`steps` must be a whole number"),
        (r#"{"steps": -1}"#, "`steps` must be a whole number"),
        (r#"{"exact": 1}"#, "`exact` must be true or false"),
        (r#"{"clip": "1"}"#, "`clip` must be a number"),
        (
            r#"{"noise": "loud"}"#,
            "`noise` must be auto, gaussian, ball, each-step or generalized-gaussian, got loud",
        ),
        (r#"{"mu": 1, "ridge": 1}"#, "`ridge` is given twice"),
    ] {
        let told = read(text).unwrap_err().to_string();
        assert!(told.contains(why), "{text}: {told}");
    }
}
