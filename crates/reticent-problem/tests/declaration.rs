//! What a declaration accepts, what it refuses, and what follows from it.
#![allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails
#![allow(clippy::print_stdout)] // says what was skipped

use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use reticent_problem::declaration::{
    BareTarget, Declaration, DeclarationError as E, Encoding, Labels, NumericRange, Role, Task,
    VectorBounds,
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
    assert_eq!(declaration.task(), Task::Binary);
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
    assert!(matches!(refusal("/columns/0/type", json!("date")), E::UnsupportedType { .. }));
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
    assert_eq!((layout.task(), layout.label_bound()), (Task::Multiclass, 2.0));
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
    assert_eq!(other.task(), Task::Regression);
    let layout = other.layout(&Encoding::default()).unwrap();
    assert_eq!(layout.feature_names(), ["job=a", "job=b", "job=c", "(intercept)"]);
    assert_eq!(declaration.with_target("job").unwrap().task(), Task::Multiclass);
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
        "B = 1.732051",
        "rest on convention",
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
                {"name": "age", "role": "feature", "type": "number", "bounds": {"min": 17.0, "max": 90.0}},
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
    assert!(matches!(refusal("/publish", json!("all of it")), E::Json { .. }));
}

#[test]
fn every_shared_schema_is_laid_out() {
    let Some(folder) = shared() else { return };
    let expected = [
        ("adult", 106, 15.0, Task::Binary),
        ("bank_full", 52, 17.0, Task::Binary),
        ("bike_hour", 22, 13.0, Task::Regression),
        ("california_housing", 14, 10.0, Task::Regression),
        ("credit_default", 34, 24.0, Task::Binary),
        ("emnist47", 785, 785.0, Task::Multiclass),
        ("fashion_mnist", 785, 785.0, Task::Multiclass),
        ("mnist", 785, 785.0, Task::Multiclass),
        ("tweeteval_emoji", 385, 1.002 * 1.002 + 1.0, Task::Multiclass),
        ("tweeteval_emotion", 385, 1.002 * 1.002 + 1.0, Task::Multiclass),
        ("wine_quality", 14, 13.0, Task::Regression),
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
    assert_eq!(declaration.task(), Task::Binary);
    let layout = declaration.layout(&Encoding::default()).unwrap();
    assert_eq!(layout.labels(), binary.labels());
    schema["positive_class"] = json!("rich");
    assert!(matches!(read(&schema), Err(E::PositiveClass { .. })));
}
