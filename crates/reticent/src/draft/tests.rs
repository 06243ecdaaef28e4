//! Post-processing and the cells that count. The laws are tested beside the mechanisms.

use reticent_noise::Source;
use reticent_privacy::{Adjacency, Budget, Delta, Epsilon};
use reticent_problem::declaration::{Declaration, Skeleton, SkeletonColumn, SkeletonType};

use super::counts::{Said, name, said};
use super::{Draft, above, public_ends, spell_truth, tidy};

#[test]
fn bounds_are_in_order_and_small_ends_are_zero() {
    assert_eq!(tidy(-1e-6, 133.4), (0.0, 133.4));
    assert_eq!(tidy(-133.4, 1e-6), (-133.4, 0.0));
    assert_eq!(tidy(10.0, 133.4), (10.0, 133.4));
    // Noise may draw them in the wrong order, and of a constant column both are the same point.
    assert_eq!(tidy(5.0, 2.0), (2.0, 5.0));
    assert_eq!(tidy(7.5, 7.5), (6.5, 8.5));
    assert_eq!(tidy(0.0, 0.0), (-1.0, 1.0));
}

#[test]
fn a_cell_says_a_number_a_text_or_nothing() {
    let number = |cell: &str, comma| match said(cell.as_bytes(), comma) {
        Said::Number(number, _) => Some(number),
        _ => None,
    };
    assert_eq!((number(" 1.5 ", false), number("1,5", true)), (Some(1.5), Some(1.5)));
    assert_eq!((number("1.5", true), number("1,5", false)), (None, None));
    assert_eq!((number("1e999", false), number("-0", false)), (None, Some(0.0)));
    for cell in ["true", "ward 7", "inf", "2020-01-01"] {
        assert!(matches!(said(cell.as_bytes(), false), Said::Text(_)), "{cell}");
    }
    for cell in ["", " ", "NA", "nan", ".", "NULL"] {
        assert!(matches!(said(cell.as_bytes(), false), Said::Nothing), "{cell}");
    }
    assert!(matches!(said(b"\xff", false), Said::Nothing));
}

/// One key for each value, as a declaration tells them apart: it refuses two for one.
#[test]
fn a_category_has_one_name_for_each_value() {
    for (cell, expected) in [
        ("1", "1"),
        ("1.0", "1"),
        ("True", "1"),
        ("true", "1"),
        ("FALSE", "0"),
        ("-0", "0"),
        ("1.5", "1.5"),
        // Under a decimal comma, too, the encoder compares what is written.
        ("1,5", "1,5"),
        ("ward 7", "ward 7"),
    ] {
        assert_eq!(name(cell).as_deref(), Some(expected), "{cell}");
    }
    let long = "x".repeat(101);
    for cell in ["inf", "1e999", "a\u{1}b", long.as_str()] {
        assert_eq!(name(cell), None, "{cell}");
    }
    let spelled = |names: &[&str]| {
        let mut names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        spell_truth(&mut names);
        names
    };
    assert_eq!(spelled(&["0", "1"]), ["false", "true"]);
    assert_eq!(spelled(&["1"]), ["true"]);
    assert_eq!(spelled(&["0", "1", "2"]), ["0", "1", "2"]);
}

#[test]
fn a_public_end_is_kept_whatever_is_drawn() {
    assert_eq!(above(0.0, 133.4), Some(133.4));
    assert_eq!(above(0.0, -5.0), Some(1e-6));
    assert_eq!(above(17.3, 10.0), Some(17.78));
    assert_eq!(above(-100.0, 0.01), Some(0.0));
    assert_eq!(above(1e13, 133.4), None);
    assert_eq!(public_ends(0.0, 133.4), Some(0));
    assert_eq!(public_ends(17.3, 133.4), Some(1));
    assert_eq!(public_ends(9.0, 11.0), Some(0), "beside 10");
    assert_eq!(public_ends(17.3, 131.0), None);
    // Of whole numbers, the whole ones beside the grid.
    assert_eq!(public_ends(0.0, 24.0), Some(0));
    assert_eq!(public_ends(-3.0, 25.0), Some(1));
}

fn budget(epsilon: f64) -> Budget {
    let (epsilon, delta) = (Epsilon::new(epsilon).unwrap(), Delta::new(1e-6).unwrap());
    Budget { epsilon, delta, adjacency: Adjacency::ReplaceOne }
}

fn skeleton(columns: Vec<SkeletonColumn>) -> Skeleton {
    Skeleton { name: None, target: Some("y".to_owned()), columns, draft: None }
}

/// Each shape that a schema can have: with and without types, ranks and names. The answers are
/// certain but for odds below 1e-6.
#[test]
fn a_draft_of_every_shape_is_released() {
    let of = |name, kind| SkeletonColumn::new(name, kind);
    let real = Some(SkeletonType::Real);
    let text = Some(SkeletonType::Categorical);
    let cases = [
        ("categories alone", vec![of("x", text), of("y", text)]),
        ("numbers alone", vec![of("x", real), of("y", real)]),
        ("types are asked", vec![of("x", None), of("y", None)]),
        ("all of it", vec![of("w", real), of("x", None), of("y", text)]),
    ];
    for (what, columns) in cases {
        for knots in [0, 2] {
            let width = columns.len();
            let draft = Draft::plan(skeleton(columns.clone()), knots, 4000, budget(8.0)).unwrap();
            let mut counting = draft.counting();
            for i in 0..4000 {
                let cell = ["1", "5"][i % 2].as_bytes();
                counting.row(&vec![cell; width], false);
            }
            let source = Source::seeded_not_private(3);
            let (schema, certificate, remarks) =
                draft.release(counting.sealed(), &source, None).unwrap();
            assert!(remarks.is_empty(), "{what}: {remarks:?}");
            assert!(certificate.checks()[..3].iter().all(|check| check.holds), "{what}");
            let declaration = Declaration::from_json(&schema.to_text()).expect(what);
            assert!(certificate.compare_bounds(&declaration).holds, "{what}");
            // An empty table is a table.
            let draft = Draft::plan(skeleton(columns.clone()), knots, 4000, budget(8.0)).unwrap();
            let none = draft.no_rows();
            let (_, _, remarks) = draft.release(none, &source, None).unwrap();
            assert_eq!(remarks.len(), width, "{what}: nothing is found");
        }
    }
}

/// 20,000 rows of which 400 hold a number: no bounds from where there is no number.
#[test]
fn a_column_that_is_mostly_missing_is_left_out_and_one_with_enough_numbers_is_not() {
    let columns = vec![SkeletonColumn::new("x", Some(SkeletonType::Real))];
    for (present, left_out) in [(400, true), (4000, false)] {
        let draft = Draft::plan(skeleton(columns.clone()), 0, 20_000, budget(0.2)).unwrap();
        let mut counting = draft.counting();
        for i in 0..20_000 {
            let cell = if i < present { (20 + i % 60).to_string() } else { String::new() };
            counting.row(&[cell.as_bytes()], false);
        }
        let source = Source::seeded_not_private(4);
        let (schema, _, remarks) = draft.release(counting.sealed(), &source, None).unwrap();
        let column = &schema.columns[0];
        assert_eq!(column.role.as_deref() == Some("ignore"), left_out);
        assert_eq!(remarks.len(), usize::from(left_out), "{remarks:?}");
        if let [Some(low), Some(high)] = column.ends {
            assert!(!left_out && low >= 13.0 && high <= 140.0, "{low} {high}");
        } else {
            assert!(left_out);
        }
    }
}

#[test]
fn the_advised_epsilon_is_the_least_that_is_precise() {
    let columns = vec![SkeletonColumn::new("x", None), SkeletonColumn::new("y", None)];
    let draft =
        |rows, epsilon| Draft::plan(skeleton(columns.clone()), 0, rows, budget(epsilon)).unwrap();
    let advised = draft(20_000, 1.0).advised_epsilon().unwrap().unwrap();
    assert!(draft(20_000, advised).rank_share() <= 0.02);
    assert!(draft(20_000, 0.97 * advised).rank_share() > 0.019);
    assert_eq!(draft(50, 1.0).advised_epsilon().unwrap(), None);
}

/// Years lie between two points of the public grid: as many columns of them as were paid for get
/// bounds close to their own, and no others do.
#[test]
fn numbers_far_from_zero_get_bounds_of_their_own() {
    let real = Some(SkeletonType::Real);
    for columns in [1, 9] {
        let names = (0..columns).map(|i| SkeletonColumn::new(format!("x{i}"), real));
        let mut skeleton = skeleton(names.collect());
        skeleton.columns.push(SkeletonColumn::new("y", real));
        let draft = Draft::plan(skeleton, 0, 10_000, budget(2.0)).unwrap();
        let refined = draft.noise().shape.refined;
        assert_eq!(refined, if columns == 1 { 1 } else { 2 });
        let mut counting = draft.counting();
        for i in 0..10_000 {
            let year = format!("{}", 2016.0 + f64::from(i % 1000) / 500.0);
            let mut cells = vec![year.as_bytes(); columns];
            let target = (i % 100).to_string();
            cells.push(target.as_bytes());
            counting.row(&cells, false);
        }
        let source = Source::seeded_not_private(5);
        let (schema, certificate, remarks) =
            draft.release(counting.sealed(), &source, None).unwrap();
        assert!(remarks.is_empty(), "{remarks:?}");
        let close = |column: &SkeletonColumn| {
            let [Some(low), Some(high)] = column.ends else { return false };
            assert!(low <= 2016.3 && high >= 2017.7, "{low} {high}");
            low >= 2014.0 && high <= 2020.0
        };
        let (years, y) = schema.columns.split_at(columns);
        assert_eq!(years.iter().filter(|column| close(column)).count(), refined);
        let [Some(low), Some(high)] = y[0].ends else { panic!("no bounds") };
        assert!(low <= 10.0 && high >= 89.0, "{low} {high}");
        let declaration = Declaration::from_json(&schema.to_text()).unwrap();
        assert!(certificate.compare_bounds(&declaration).holds);
        // One column more of such bounds was not paid for.
        let mut more = schema.clone();
        for column in &mut more.columns[..(refined + 1).min(columns)] {
            column.ends = [Some(2015.0), Some(2019.0)];
        }
        let declaration = Declaration::from_json(&more.to_text()).unwrap();
        assert_eq!(certificate.compare_bounds(&declaration).holds, columns == 1);
        let mut odd = schema;
        odd.columns[0].ends = [Some(2015.25), Some(2019.0)];
        let declaration = Declaration::from_json(&odd.to_text()).unwrap();
        assert!(!certificate.compare_bounds(&declaration).holds);
    }
}
