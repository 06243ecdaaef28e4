//! Declarations that are accepted, declarations that are refused, and the layouts that follow.
#![allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails
#![allow(clippy::print_stdout)] // says what was skipped

use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use reticent_problem::declaration::{
    BareTarget, Declaration, DeclarationError as E, Encoding, Kind, Labels, NumericRange, Role,
    TaskKind, VectorBounds,
};
use reticent_problem::loss::LabelKind;
use serde_json::{Value, json};

/// A small schema that is right, to be spoiled by the tests.
fn schema() -> Value {
    json!({
        "name": "people",
        "task": "binary_classification",
        "target": "income",
        "positive_class": ">50K",
        "notes": "read by nobody",
        "columns": [
            {"name": "age", "role": "feature", "type": "integer",
             "bounds": {"min": 17, "max": 90, "basis": "domain"}},
            {"name": "job", "role": "feature", "type": "categorical",
             "categories": ["a", "b", "c"], "missing": "?"},
            {"name": "id", "role": "id", "type": "date", "bounds": {"min": "x", "max": "y"}},
            {"name": "income", "role": "target", "type": "categorical",
             "categories": ["<=50K", ">50K"]},
        ],
    })
}

fn read(schema: &Value) -> Result<Declaration, E> {
    Declaration::from_json(&schema.to_string())
}

/// The error of the schema after a change at a JSON pointer.
fn refusal(pointer: &str, value: Value) -> E {
    let mut schema = schema();
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    let place = schema.pointer_mut(parent).unwrap();
    match place {
        Value::Array(list) => list[field.parse::<usize>().unwrap()] = value,
        Value::Object(map) if value.is_null() => drop(map.remove(field)),
        Value::Object(map) => drop(map.insert(field.to_owned(), value)),
        _ => unreachable!(),
    }
    let error = read(&schema).unwrap_err();
    assert!(!error.to_string().is_empty());
    error
}

fn shared() -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    if path.is_dir() {
        return Some(path);
    }
    println!("skipped: the shared data sets are not here");
    None
}

#[test]
fn a_right_schema_is_laid_out() {
    let declaration = read(&schema()).unwrap();
    assert_eq!(declaration.task(), TaskKind::Binary);
    assert_eq!(declaration.columns()[2].role, Role::Ignored("id".to_owned()));
    assert_eq!(declaration.unpublished(), ["notes"]);
    let layout = declaration.layout(&Encoding::default()).unwrap();
    assert_eq!(layout.feature_names(), ["age", "job=a", "job=b", "job=c", "(intercept)"]);
    assert_eq!(layout.intercept(), Some(4));
    let bound = layout.norm_bound();
    assert!(bound >= 3_f64.sqrt() && bound <= 3_f64.sqrt() * (1.0 + 3e-12));
    assert_eq!(layout.labels().of_class(1), 1.0);
    assert_eq!(layout.labels().fallback(), -1.0);
    assert_eq!(layout.label_bound(), 1.0);
}

#[test]
fn the_encoding_moves_the_bound() {
    let declaration = read(&schema()).unwrap();
    let bound = |encoding: Encoding| declaration.layout(&encoding).unwrap().norm_bound();
    let default = Encoding::default;
    assert!((bound(Encoding { intercept: false, ..default() }) - 2_f64.sqrt()).abs() < 1e-11);
    assert_eq!(bound(Encoding { feature_norm: Some(1.25), ..default() }), 1.25);
    assert!(
        (bound(Encoding { feature_norm: Some(9.0), ..default() }) - 3_f64.sqrt()).abs() < 1e-11
    );
    assert_eq!(bound(Encoding { normalize_rows: true, ..default() }), 1.0);
    let sphere = Encoding { normalize_rows: true, feature_norm: Some(9.0), ..default() };
    assert_eq!(bound(sphere), 9.0);
    let symmetric = Encoding { numeric_range: NumericRange::Symmetric, ..default() };
    assert!((bound(symmetric) - 3_f64.sqrt()).abs() < 1e-11);
    let dropped = Encoding { drop: vec!["job".to_owned()], ..default() };
    assert_eq!(declaration.layout(&dropped).unwrap().feature_names(), ["age", "(intercept)"]);
}

#[test]
fn encodings_that_cannot_be_are_refused() {
    let declaration = read(&schema()).unwrap();
    let refusal = |encoding: Encoding| declaration.layout(&encoding).unwrap_err();
    for got in [0.0, -1.0, f64::INFINITY, f64::NAN] {
        let encoding = Encoding { feature_norm: Some(got), ..Encoding::default() };
        assert!(matches!(refusal(encoding), E::FeatureNorm { .. }));
    }
    let drop = |names: &[&str]| Encoding {
        drop: names.iter().map(|&n| n.to_owned()).collect(),
        ..Encoding::default()
    };
    assert!(matches!(refusal(drop(&["income"])), E::UnknownDrop { .. }));
    assert!(matches!(refusal(drop(&["nothing"])), E::UnknownDrop { .. }));
    assert_eq!(refusal(drop(&["age", "job"])), E::NoFeatures);
}

#[test]
fn a_missing_bound_says_what_to_add() {
    let error = refusal("/columns/0/bounds", Value::Null);
    assert_eq!(error, E::MissingBounds { column: "age".to_owned() });
    assert_eq!(
        error.to_string(),
        "column `age` has no bounds: declare `bounds: {min, max}`; they cannot be taken from the \
         data without spending privacy"
    );
}

#[test]
fn all_problems_are_named_at_once() {
    let mut bad = schema();
    bad["target"] = json!("wealth");
    bad["columns"][0]["bounds"] = Value::Null;
    bad["columns"][1]["categories"] = json!([]);
    let error = read(&bad).unwrap_err();
    let E::Several { problems } = &error else { panic!("{error}") };
    assert_eq!(problems.len(), 3);
    let text = error.to_string();
    assert!(
        text.starts_with("the schema has 3 problems: (1) column `age` has no bounds"),
        "{text}"
    );
    assert!(text.contains("; (2) column `job` has no categories"), "{text}");
    assert!(text.contains("; (3) target `wealth` is not among"), "{text}");
    let many: Vec<Value> =
        (0..30).map(|i| json!({"name": format!("x{i}"), "type": "real"})).collect();
    let error = read(&json!({"target": "x0", "columns": many})).unwrap_err().to_string();
    assert!(error.contains("has 30 problems") && error.ends_with("; and 10 more"), "{error}");
}

#[test]
fn bounds_in_another_place_or_form_are_told_apart_from_none() {
    let form = refusal("/columns/0/bounds", json!([0, 400]));
    assert_eq!(form, E::BoundsForm { column: "age".to_owned() });
    assert!(form.to_string().contains("write `\"bounds\": {\"min\": 0, \"max\": 1}`"), "{form}");
    for field in ["min", "bound", "range"] {
        let mut bad = schema();
        bad["columns"][0].as_object_mut().unwrap().remove("bounds");
        bad["columns"][0][field] = json!(0);
        let found = field.to_owned();
        let expected = E::MisplacedBounds { column: "age".to_owned(), found };
        assert_eq!(read(&bad).unwrap_err(), expected);
    }
}

#[test]
fn truth_values_need_no_categories_and_other_types_say_what_to_declare() {
    let mut truth = schema();
    truth["columns"][1] = json!({"name": "job", "type": "boolean"});
    let names = read(&truth).unwrap().layout(&Encoding::default()).unwrap();
    assert!(names.feature_names().contains(&"job=false".to_owned()), "{names:?}");
    for (kind, word) in
        [("time", "days since"), ("string", "`categorical` with"), ("blob", "`boolean` or")]
    {
        let error = refusal("/columns/0/type", json!(kind)).to_string();
        assert!(error.contains(word), "{error}");
    }
}

/// The schema with another first column.
fn with_first(column: Value) -> Value {
    let mut other = schema();
    other["columns"][0] = column;
    other
}

#[test]
fn wrong_dates_buckets_and_thousands_are_refused() {
    // The bounds of a date are dates.
    assert!(matches!(refusal("/columns/0/type", json!("date")), E::BadDates { .. }));
    let date = |field: &str, value: Value| {
        let mut column = json!({"name": "d", "type": "date",
            "bounds": {"min": "2020-01-01", "max": "2024-12-31T12:00"}});
        assert!(read(&with_first(column.clone())).is_ok());
        column[field] = value;
        read(&with_first(column)).unwrap_err()
    };
    for bounds in [
        json!({"min": "2024-01-01", "max": "2020-01-01"}),
        json!({"min": "2024-01-01"}),
        json!({"min": "01.01.2024", "max": "31.12.2024"}),
        json!({"unbounded": true}),
    ] {
        assert!(matches!(date("bounds", bounds), E::BadDates { .. }));
    }
    assert!(matches!(date("format", json!("%H:%M")), E::BadFormat { .. }));
    for parts in [json!(["year"]), json!(["month", "month"]), json!({"month": "tent"})] {
        assert!(matches!(date("parts", parts), E::BadParts { .. }));
    }
    assert!(matches!(date("thousands", json!(",")), E::BadThousands { .. }));
    assert!(matches!(refusal("/columns/3/type", json!("date")), E::UnsupportedType { .. }));
    let mut named =
        with_first(json!({"name": "job.month", "type": "real", "bounds": {"min": 0, "max": 1}}));
    named["columns"][1] = json!({"name": "job", "type": "date", "parts": ["month"],
        "bounds": {"min": "2020-01-01", "max": "2024-12-31"}});
    assert!(matches!(read(&named), Err(E::DuplicateColumn { .. })));
    for hash in [
        json!({"type": "categorical", "hash": {"buckets": 1}}),
        json!({"type": "categorical", "hash": {}}),
        json!({"type": "real", "hash": {"buckets": 8}}),
        json!({"type": "categorical", "categories": ["a"], "hash": {"buckets": 8}}),
    ] {
        let mut column = hash;
        column["name"] = json!("h");
        assert!(matches!(read(&with_first(column)), Err(E::BadHash { .. })));
    }
    assert!(matches!(refusal("/columns/0/thousands", json!(";")), E::BadThousands { .. }));
    assert!(matches!(refusal("/columns/1/thousands", json!(",")), E::BadThousands { .. }));
}

#[test]
fn every_kind_of_wrong_schema_is_refused() {
    let vector =
        |bounds: Value| json!({"name": "v", "type": "real", "shape": [3], "bounds": bounds});
    assert!(matches!(Declaration::from_json("{"), Err(E::Json { .. })));
    assert!(matches!(Declaration::from_json("[1]"), Err(E::Json { .. })));
    assert_eq!(refusal("/columns", json!([])), E::NoColumns);
    assert!(matches!(refusal("/columns/0/name", json!(" ")), E::EmptyName { position: 1 }));
    assert!(matches!(refusal("/columns/0/name", json!("job")), E::DuplicateColumn { .. }));
    assert!(matches!(refusal("/columns/0/role", json!("featuer")), E::UnknownRole { .. }));
    assert!(matches!(refusal("/columns/0/role", json!("target")), E::TwoTargets { .. }));
    assert!(matches!(refusal("/target", json!("age")), E::TwoTargets { .. }));
    assert!(matches!(refusal("/target", json!("wealth")), E::UnknownTarget { .. }));
    for bounds in [
        json!({"min": 5, "max": 5}),
        json!({"min": 6, "max": 5}),
        json!({"min": 6}),
        json!({"min": "1", "max": "2"}),
        json!({"min": -1.7e308, "max": 1.7e308}),
    ] {
        assert!(matches!(refusal("/columns/0/bounds", bounds), E::BadBounds { .. }));
    }
    assert!(matches!(refusal("/columns/1/categories", json!([])), E::MissingCategories { .. }));
    assert!(matches!(refusal("/columns/1/categories", Value::Null), E::MissingCategories { .. }));
    assert!(matches!(refusal("/columns/1/categories", json!([[]])), E::BadCategory { .. }));
    let twice = json!(["a", " a "]);
    assert!(matches!(refusal("/columns/1/categories", twice), E::DuplicateCategory { .. }));
    for same in
        [json!(["01", "1"]), json!(["a", true, 1.0]), json!(["0", "-0"]), json!(["False", "0.0"])]
    {
        assert!(matches!(refusal("/columns/1/categories", same), E::SameNumber { .. }));
    }
    let close = json!([9_007_199_254_740_992_u64, 9_007_199_254_740_993_u64]);
    assert!(matches!(refusal("/columns/1/categories", close), E::SameNumber { .. }));
    for endless in ["inf", "NaN", "1e400"] {
        let listed = json!(["a", endless]);
        assert!(matches!(refusal("/columns/1/categories", listed), E::NotFiniteCategory { .. }));
    }
    assert!(matches!(refusal("/columns/1/missing", json!("a")), E::MissingIsCategory { .. }));
    assert!(matches!(refusal("/columns/1/missing", json!({})), E::BadMissing { .. }));
    assert!(matches!(refusal("/columns/0/type", json!("time")), E::UnsupportedType { .. }));
    assert!(matches!(refusal("/task", json!("ranking")), E::UnknownTask { .. }));
    assert!(matches!(refusal("/task", json!("regression")), E::TaskMismatch { .. }));
    assert!(matches!(
        refusal("/columns/3/categories", json!(["x"])),
        E::TooFewClasses { got: 1, .. }
    ));
    let three = json!([">50K", "2", "3"]);
    assert!(matches!(refusal("/columns/3/categories", three), E::TaskMismatch { .. }));
    assert!(matches!(refusal("/positive_class", json!("rich")), E::PositiveClass { .. }));
    assert!(matches!(refusal("/columns/0", vector(json!({}))), E::MissingVectorBounds { .. }));
    for norm in [json!(0), json!(-1), json!(1e200)] {
        let column = vector(json!({"l2_norm_max": norm}));
        assert!(matches!(refusal("/columns/0", column), E::BadNorm { .. }));
    }
    for shape in [json!([]), json!([0]), json!([1_u64 << 40]), json!([u64::MAX, u64::MAX, 9])] {
        let column =
            json!({"name": "v", "type": "real", "shape": shape, "bounds": {"min": 0, "max": 1}});
        assert!(matches!(refusal("/columns/0", column), E::BadShape { .. }));
    }
    let number = json!({"name": "income", "type": "real", "bounds": {"min": 0, "max": 1}});
    assert!(matches!(refusal("/columns/3", number), E::TaskMismatch { .. }));

    let mut no_target = schema();
    no_target.as_object_mut().unwrap().remove("target");
    no_target["columns"][3]["role"] = json!("ignore");
    assert_eq!(read(&no_target).unwrap_err(), E::NoTarget);
    let mut no_feature = schema();
    no_feature["columns"][0]["role"] = json!("ignore");
    no_feature["columns"][1]["role"] = json!("raw");
    assert_eq!(read(&no_feature).unwrap_err(), E::NoFeatures);
}

#[test]
fn wrong_curves_and_interactions_are_refused() {
    let age = |field: &str, value: Value| refusal(&format!("/columns/0/{field}"), value);
    assert!(matches!(age("basis", json!("spline")), E::UnknownBasis { .. }));
    assert!(matches!(
        age("basis", json!({"kind": "linear", "knots": 3})),
        E::LinearWithKnots { .. }
    ));
    for knots in [json!(1), json!(5000), json!([17]), json!([18, 90]), json!([17, 40, 40, 90])] {
        let error = age("basis", json!({ "knots": knots }));
        assert!(matches!(error, E::BadKnots { .. }), "{knots}: {error}");
    }
    assert!(matches!(age("basis", json!({"scale": "cube"})), E::BadScale { .. }));
    assert!(matches!(age("basis", json!({"knots": -3})), E::Json { .. }));
    let close = age("basis", json!({"knots": [17, 89.999_999_999_999_99, 90], "scale": "log"}));
    assert!(matches!(close, E::KnotsCoincide { .. }), "{close}");
    assert!(matches!(refusal("/columns/1/basis", json!("tent")), E::BasisOfNoNumber { .. }));
    assert!(matches!(age("missing", json!({"marks": [1], "flag": true})), E::BadMissing { .. }));
    let pairs = |pairs: Value| refusal("/interactions", pairs);
    assert!(matches!(pairs(json!([["age"]])), E::NotAPair { got: 1 }));
    assert!(matches!(pairs(json!([["age", "id"]])), E::BadPairColumn { .. }));
    assert!(matches!(pairs(json!([["age", "income"]])), E::BadPairColumn { .. }));
    assert!(matches!(pairs(json!([["age", "age"]])), E::PairTwice { .. }));
    assert!(matches!(pairs(json!([["age", "job"], ["job", "age"]])), E::PairTwice { .. }));
    let declaration = read(&schema()).unwrap();
    for knots in [0, 1, 5000] {
        let encoding = Encoding { knots: Some(knots), ..Encoding::default() };
        assert!(matches!(declaration.layout(&encoding), Err(E::KnotCount { .. })), "{knots}");
    }
    let mut zero = schema();
    zero["columns"][0]["bounds"] = json!({"min": 0, "max": 9});
    zero["columns"][0]["basis"] = json!({"scale": "log"});
    assert!(matches!(read(&zero), Err(E::BadScale { .. })), "a logarithm needs positive numbers");
}

#[test]
fn curves_are_published_and_lay_out_the_same_rows() {
    let mut schema = schema();
    schema["interactions"] = json!([["age", "job"]]);
    schema["columns"][1]["missing"] = json!({"marks": ["?"], "indicator": true});
    for basis in [
        json!(null),
        json!("linear"),
        json!("tent"),
        json!({"kind": "bins", "knots": 4, "scale": "sqrt", "note": "not published"}),
        json!({"knots": [17, 30, 90]}),
    ] {
        schema["columns"][0]["basis"] = basis.clone();
        let declaration = read(&schema).unwrap();
        for knots in [None, Some(3), Some(12)] {
            let encoding = Encoding { knots, ..Encoding::default() };
            let layout = declaration.layout(&encoding).unwrap();
            let again = declaration.published().layout(&encoding).unwrap();
            assert_eq!(layout, again, "{basis}");
            let text = serde_json::to_string(&declaration).unwrap();
            assert!(!text.contains("not published"), "{text}");
        }
    }
    let dropped = Encoding { drop: vec!["age".to_owned()], ..Encoding::default() };
    assert!(read(&schema).unwrap().layout(&dropped).unwrap().pairs().is_empty());
}

#[test]
fn a_declaration_survives_being_written_and_checks_itself_on_reading() {
    let declaration = read(&schema()).unwrap();
    let text = serde_json::to_string(&declaration).unwrap();
    assert_eq!(serde_json::from_str::<Declaration>(&text).unwrap(), declaration.published());
    let spoiled = text.replace("\"min\":17.0,", "");
    assert_ne!(spoiled, text);
    assert!(serde_json::from_str::<Declaration>(&spoiled).is_err());
}

#[test]
fn bare_declarations_name_their_entries() {
    let classes = BareTarget::Classes(vec!["0".to_owned(), "1".to_owned(), "2".to_owned()]);
    let declaration = Declaration::bare(3, VectorBounds::Norm(2.0), &classes).unwrap();
    let layout = declaration.layout(&Encoding::default()).unwrap();
    assert_eq!(
        layout.feature_names(),
        ["features[0]", "features[1]", "features[2]", "(intercept)"]
    );
    assert!((layout.norm_bound() - 5_f64.sqrt()).abs() < 1e-11);
    assert_eq!((layout.task(), layout.label_bound()), (TaskKind::Multiclass, 2.0));
    let range = BareTarget::Range { min: -3.0, max: 5.0 };
    let each = VectorBounds::Each { min: 0.0, max: 255.0 };
    let layout =
        Declaration::bare(784, each, &range).unwrap().layout(&Encoding::default()).unwrap();
    assert!((layout.norm_bound() - 785_f64.sqrt()).abs() < 1e-9);
    assert!(Declaration::bare(0, each, &range).is_err());
    assert!(Declaration::bare(2, VectorBounds::Norm(f64::NAN), &range).is_err());
    let nowhere = BareTarget::Range { min: 1.0, max: f64::INFINITY };
    assert!(Declaration::bare(2, each, &nowhere).is_err());
}

#[test]
fn another_target_leaves_the_former_one_out() {
    let declaration = read(&schema()).unwrap();
    let other = declaration.with_target("age").unwrap();
    assert_eq!(other.task(), TaskKind::Regression);
    let layout = other.layout(&Encoding::default()).unwrap();
    assert_eq!(layout.feature_names(), ["job=a", "job=b", "job=c", "(intercept)"]);
    assert_eq!(declaration.with_target("job").unwrap().task(), TaskKind::Multiclass);
    assert_eq!(declaration.with_target("income").unwrap(), declaration);
    assert!(matches!(declaration.with_target("x"), Err(E::UnknownTarget { .. })));
}

#[test]
fn the_explanation_names_columns_bounds_and_doubts() {
    let mut schema = schema();
    schema["columns"][0]["bounds"]["basis"] = json!("convention");
    schema["columns"][0]["leaks_target"] = json!(true);
    schema["columns"][1]["missin"] = json!("?");
    let explanation = read(&schema).unwrap().explain(&Encoding::default()).unwrap();
    let text = explanation.to_string();
    for part in [
        "clamped to [17, 90]",
        "one-hot, 3 categories",
        "`?`",
        "its role is `id`",
        "`>50K` is +1",
        "B = 1.733",
        "are a convention",
        "leaking",
        "bounds by convention",
        "have no effect and are not published: `notes`, `columns[1].missin`",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let squared: f64 = explanation.columns.iter().map(|c| c.squared_bound).sum();
    assert!((squared.sqrt() - explanation.norm_bound).abs() < 1e-11);
    assert_eq!(
        explanation.columns.iter().map(|c| c.features).sum::<usize>(),
        explanation.dimension
    );
    assert!(serde_json::to_string(&explanation).unwrap().contains("norm_bound"));
}

/// A text that stands for whatever an owner may have written where it means nothing.
const MARKER: &str = "row 300 is Ann";

#[test]
fn what_is_written_is_a_closed_list() {
    let marker = || json!({"deep": [MARKER, {MARKER: 1}]});
    let mut schema = schema();
    schema["class_counts"] = marker();
    schema["publish"] = json!({"description": "A survey of 1994.", "note": marker()});
    schema["columns"][0]["note"] = marker();
    schema["columns"][0]["bounds"]["note"] = json!(MARKER);
    schema["columns"][0]["bounds"]["basis"] = json!(MARKER);
    schema["columns"][0]["categories"] = json!([MARKER]);
    schema["columns"][1]["bounds"] = json!({"min": MARKER, "basis": MARKER});
    schema["columns"][2]["name"] = json!(MARKER);
    schema["columns"][2]["type"] = json!(MARKER);
    schema["columns"][2]["missing"] = json!(MARKER);
    schema["columns"][2]["comment"] = json!(MARKER);
    let declaration = read(&schema).unwrap();
    let unpublished = [
        "class_counts",
        "notes",
        "publish.note",
        "columns[0].note",
        "columns[0].bounds.note",
        "columns[0].categories",
        "columns[0].bounds.basis",
        "columns[1].bounds",
        "columns[2].comment",
    ];
    assert_eq!(declaration.unpublished(), unpublished);
    let written = serde_json::to_value(&declaration).unwrap();
    assert_eq!(
        written,
        json!({
            "name": "people", "task": "binary_classification", "target": "income", "positive_class": ">50K",
            "publish": {"description": "A survey of 1994."},
            "columns": [
                {"name": "age", "role": "feature", "type": "integer", "bounds": {"min": 17.0, "max": 90.0}},
                {"name": "job", "role": "feature", "type": "categorical", "categories": ["a", "b", "c"],
                 "missing": ["?"]},
                {"name": "income", "role": "target", "type": "categorical", "categories": ["<=50K", ">50K"]},
            ],
        })
    );
    // The published form is a schema that lays out the same rows, and nothing of it is lost again.
    let published = declaration.published();
    assert_eq!(serde_json::from_value::<Declaration>(written.clone()).unwrap(), published);
    assert_eq!(serde_json::to_value(&published).unwrap(), written);
    assert!(published.unpublished().is_empty());
    let layout = |d: &Declaration| d.layout(&Encoding::default()).unwrap();
    assert_eq!(layout(&published), layout(&declaration));
}

#[test]
fn categories_keep_their_kinds_and_vectors_their_length() {
    let schema = json!({"target": "y", "columns": [
        {"name": "v", "type": "image", "shape": [2, 3], "bounds": {"l2_norm_max": 1, "min": 0, "max": 9}},
        {"name": "u", "type": "real", "dimension": 2, "bounds": {"unbounded": true}},
        {"name": "b", "categories": [true, false], "missing": [-1, "?"]},
        {"name": "y", "role": "target", "type": "integer", "categories": [0, 1, 2.5]}]});
    let written = serde_json::to_value(read(&schema).unwrap()).unwrap();
    let column = |i: usize| &written["columns"][i];
    assert_eq!(column(0)["dimension"], 6);
    assert_eq!(column(0)["bounds"], json!({"l2_norm_max": 1.0}));
    assert_eq!(column(1)["bounds"], json!({"unbounded": true}));
    assert_eq!(column(2)["categories"], json!([true, false]));
    assert_eq!(column(2)["missing"], json!(["-1", "?"]));
    assert_eq!(column(3)["categories"], json!([0, 1, 2.5]));
    assert_eq!(written["task"], "multiclass_classification");
    assert_eq!(
        read(&schema).unwrap().unpublished(),
        ["columns[0].bounds.min", "columns[0].bounds.max"]
    );
}

#[test]
fn a_published_text_is_short_and_shown() {
    for text in [json!("x".repeat(2001)), json!("two\nlines"), json!("\u{1b}[31m")] {
        let error = refusal("/publish", json!({"description": text}));
        assert!(matches!(error, E::BadText { field: "publish.description", .. }), "{error}");
    }
    assert!(matches!(refusal("/name", json!("x".repeat(201))), E::BadText { field: "name", .. }));
    assert!(matches!(refusal("/publish", json!("all of it")), E::WrongKind { .. }));
}

#[test]
fn every_shared_schema_is_laid_out() {
    let Some(folder) = shared() else { return };
    let expected = [
        ("adult", 106, 15.0, TaskKind::Binary),
        ("bank_full", 52, 17.0, TaskKind::Binary),
        ("bike_hour", 22, 13.0, TaskKind::Regression),
        ("california_housing", 14, 10.0, TaskKind::Regression),
        ("credit_default", 34, 24.0, TaskKind::Binary),
        ("emnist47", 785, 785.0, TaskKind::Multiclass),
        ("fashion_mnist", 785, 785.0, TaskKind::Multiclass),
        ("mnist", 785, 785.0, TaskKind::Multiclass),
        ("tweeteval_emoji", 385, 1.002 * 1.002 + 1.0, TaskKind::Multiclass),
        ("tweeteval_emotion", 385, 1.002 * 1.002 + 1.0, TaskKind::Multiclass),
        ("wine_quality", 14, 13.0, TaskKind::Regression),
    ];
    for (name, dimension, squared, task) in expected {
        let text = fs::read_to_string(folder.join(format!("{name}.schema.json"))).unwrap();
        let declaration = Declaration::from_json(&text).unwrap();
        let layout = declaration.layout(&Encoding::default()).unwrap();
        assert_eq!((layout.dimension(), layout.task()), (dimension, task), "{name}");
        let exact = f64::sqrt(squared);
        assert!(layout.norm_bound() >= exact && layout.norm_bound() < exact * 1.00001, "{name}");
        let explanation = declaration.explain(&Encoding::default()).unwrap();
        assert!(explanation.to_string().lines().count() > 3, "{name}");
    }
    let schemas = fs::read_dir(&folder).unwrap().filter_map(Result::ok);
    let schemas = schemas.filter(|f| f.file_name().to_string_lossy().ends_with(".schema.json"));
    let mut counted = 0;
    for file in schemas {
        let text = fs::read_to_string(file.path()).unwrap();
        counted += usize::from(text.contains("class_counts"));
        // A unit without the most rows that are used of it is refused, so that it is declared.
        let text =
            text.replace(r#""unit": "idcode""#, r#""unit": {"column": "idcode", "max_rows": 15}"#);
        let declaration = Declaration::from_json(&text).unwrap();
        let written = serde_json::to_string(&declaration).unwrap();
        for word in ["class_counts", "\"rows\"", "sha256", "note"] {
            assert!(!written.contains(word), "{word} of {:?}", file.file_name());
        }
    }
    assert!(counted > 0, "a schema with counts of the private table is among them");
}

#[test]
fn labels_count_from_zero_only_for_a_loss_that_asks_and_a_target_that_can() {
    let layout = |min: f64, kind| {
        let schema = json!({"name": "t", "target": "y", "task": "regression", "columns": [
            {"name": "x", "type": "real", "bounds": {"min": 0, "max": 1}},
            {"name": "y", "type": "real", "bounds": {"min": min, "max": 8}}]});
        let layout = read(&schema).unwrap().layout(&Encoding::default()).unwrap();
        layout.for_labels(kind).labels().of_number(4.0)
    };
    assert_eq!(layout(0.0, LabelKind::Numbers), 0.0, "the middle of the interval");
    assert_eq!(layout(0.0, LabelKind::NonNegative), 0.5, "half of the largest");
    assert_eq!(layout(-8.0, LabelKind::NonNegative), 0.5, "as without the loss, which is refused");
}

proptest! {
    #[test]
    fn regression_labels_stay_in_their_interval_and_come_back(
        min in -1e6..1e6_f64, width in 1e-3..1e6_f64, at in -0.5..1.5_f64,
    ) {
        let labels = Labels::Regression { min, max: min + width, from_zero: false };
        let target = min + at * width;
        let label = labels.of_number(target);
        prop_assert!((-1.0..=1.0).contains(&label));
        let back = labels.to_target(label);
        prop_assert!((back - target.clamp(min, min + width)).abs() <= 1e-9 * (min.abs() + width));
    }

    #[test]
    fn non_negative_labels_are_shares_of_the_largest_target(
        min in 0.0..50.0_f64, width in 1e-3..1e6_f64, at in -0.5..1.5_f64,
    ) {
        let labels = Labels::Regression { min, max: min + width, from_zero: true };
        let (target, (low, high)) = (min + at * width, labels.range());
        let label = labels.of_number(target);
        prop_assert!(low >= 0.0 && high == 1.0 && (low..=high).contains(&label));
        let back = labels.to_target(label);
        prop_assert!((back - target.clamp(min, min + width)).abs() <= 1e-9 * (min + width));
        prop_assert_eq!(labels.of_number(f64::NAN), 0.0);
    }

    #[test]
    fn any_number_gives_a_label_within_its_bound(bits in any::<u64>()) {
        for from_zero in [false, true] {
            let min = if from_zero { 0.0 } else { -1e-300 };
            let labels = Labels::Regression { min, max: 1e300, from_zero };
            prop_assert!(labels.of_number(f64::from_bits(bits)).abs() <= 1.0);
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in ".{0,200}") {
        let _ = Declaration::from_json(&text);
    }
}

#[test]
fn the_documented_schemas_are_right_and_the_documented_explanation_is_current() {
    let docs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let page = fs::read_to_string(docs.join("declaration.md")).unwrap();
    let block = |language: &str| {
        let (_, after) = page.split_once(&format!("```{language}\n")).unwrap();
        after.split_once("```").unwrap().0.to_owned()
    };
    let read =
        |name: &str| fs::read_to_string(docs.join(format!("schemas/{name}.schema.json"))).unwrap();
    assert_eq!(block("json"), read("clinic"));
    let clinic = Declaration::from_json(&read("clinic")).unwrap();
    assert_eq!(block("text"), clinic.explain(&Encoding::default()).unwrap().to_string());
    for (name, dimension) in [("clinic", 7), ("rents", 6), ("digits", 785), ("letters", 385)] {
        let declaration = Declaration::from_json(&read(name)).unwrap();
        assert_eq!(declaration.layout(&Encoding::default()).unwrap().dimension(), dimension);
    }
}

#[test]
fn two_classes_are_binary_whatever_the_task_is_called() {
    let mut schema = schema();
    let binary = read(&schema).unwrap().layout(&Encoding::default()).unwrap();
    schema["task"] = json!("multiclass");
    let declaration = read(&schema).unwrap();
    assert_eq!(declaration.task(), TaskKind::Binary);
    let layout = declaration.layout(&Encoding::default()).unwrap();
    assert_eq!(layout.labels(), binary.labels());
    schema["positive_class"] = json!("rich");
    assert!(matches!(read(&schema), Err(E::PositiveClass { .. })));
}

#[test]
fn fills_and_catch_alls_are_checked_and_published() {
    let with = |column: usize, field: &str, value: serde_json::Value| {
        let mut schema = schema();
        schema["columns"][column][field] = value;
        read(&schema)
    };
    // The first column is an age from 17 to 90, the second a job.
    for bad in [json!(16), json!(91), json!("median"), json!([20])] {
        let read = with(0, "missing", json!({"fill": bad}));
        assert!(matches!(read, Err(E::BadFill { .. })), "{bad}");
    }
    assert!(matches!(with(1, "missing", json!({"fill": 20})), Err(E::BadFill { .. })));
    let both = json!({"fill": 20, "indicator": true});
    assert!(matches!(with(0, "missing", both), Err(E::FillAndIndicator { .. })));
    assert!(matches!(with(1, "other", json!("none of them")), Err(E::BadOther { .. })));
    assert!(matches!(with(0, "other", json!(20)), Err(E::BadOther { .. })));
    let filled = with(0, "missing", json!({"marks": ["?"], "fill": "middle"})).unwrap();
    let age = &filled.columns()[0];
    let Kind::Number { min, max } = age.kind else { unreachable!("a number") };
    assert_eq!((age.fill, &age.missing[..]), (Some(0.5 * (min + max)), &["?".to_owned()][..]));
    let said = |declaration: &Declaration| {
        declaration.explain(&Encoding::default()).unwrap().columns[0].encoding.clone()
    };
    assert!(said(&filled).ends_with("an empty cell or `?` counts as 53.5"), "{}", said(&filled));
    let open = said(&read(&schema()).unwrap());
    assert!(open.ends_with("counts as 53.5, the middle, and on a curve as nothing"), "{open}");
    let line = with(0, "basis", json!("linear")).unwrap();
    assert!(said(&line).ends_with("counts as 53.5, the middle"), "{}", said(&line));
    let own = with(0, "missing", json!("indicator")).unwrap();
    assert!(said(&own).ends_with("has a feature of its own"), "{}", said(&own));
    let tent = with(0, "basis", json!("tent")).unwrap();
    assert!(said(&tent).ends_with("an empty cell adds nothing"), "{}", said(&tent));
    let job = schema()["columns"][1]["categories"][0].clone();
    let caught = with(1, "other", job).unwrap();
    assert_eq!(caught.columns()[1].other, Some(0));
    for declaration in [filled, caught] {
        let encoding = Encoding::default();
        assert_eq!(
            declaration.layout(&encoding).unwrap(),
            declaration.published().layout(&encoding).unwrap()
        );
    }
}
