//! The public data sets, where they are at hand.
#![allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails
#![allow(clippy::print_stdout)] // says what was skipped

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::common::{dense, norm};
use reticent_data::Rows;
use reticent_problem::declaration::{Declaration, Encoding, Layout, Precision};
use reticent_table::table::{count_rows, read};

fn shared() -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    if path.is_dir() {
        return Some(path);
    }
    println!("skipped: the shared data sets are not here");
    None
}

fn load(name: &str, files: (&str, Option<&str>), precision: Precision) -> Option<(Layout, Rows)> {
    let folder = shared()?;
    let schema = fs::read_to_string(folder.join(format!("{name}.schema.json"))).unwrap();
    let encoding = Encoding { precision, ..Encoding::default() };
    let layout = Declaration::from_json(&schema).unwrap().layout(&encoding).unwrap();
    let labels = files.1.map(|f| folder.join(f));
    let started = Instant::now();
    let rows = read(&folder.join(files.0), labels.as_deref(), &layout, true).unwrap();
    println!("{name}: {rows:?} in {:?}", started.elapsed());
    assert_eq!(count_rows(&folder.join(files.0)).unwrap(), rows.len());
    assert_eq!(rows.features().columns(), layout.dimension());
    for i in 0..rows.len() {
        assert!(norm(&dense(&rows, i)) <= layout.norm_bound());
    }
    Some((layout, rows))
}

#[test]
fn adult_has_the_published_classes_and_loads_well_under_a_second() {
    for precision in [Precision::F64, Precision::F32, Precision::Sparse] {
        let Some((layout, rows)) = load("adult", ("adult_train.csv.gz", None), precision) else {
            return;
        };
        assert_eq!((rows.len(), layout.dimension()), (32_561, 106));
        assert_eq!(rows.labels().iter().filter(|&&y| y == 1.0).count(), 7_841);
        assert_eq!(rows.labels().iter().filter(|&&y| y == -1.0).count(), 32_561 - 7_841);
        // Every category of the file is declared, so only missing cells leave a group empty.
        let ones: f64 = (0..rows.len()).map(|i| dense(&rows, i)[105]).sum();
        assert_eq!(ones, 32_561.0);
    }
    let folder = shared().unwrap();
    let schema = fs::read_to_string(folder.join("adult.schema.json")).unwrap();
    let layout = Declaration::from_json(&schema).unwrap().layout(&Encoding::default()).unwrap();
    let fastest = (0..5)
        .map(|_| {
            let started = Instant::now();
            read(&folder.join("adult_train.csv.gz"), None, &layout, true).unwrap();
            started.elapsed()
        })
        .min()
        .unwrap();
    println!("adult: loaded and encoded in {fastest:?}");
    assert!(fastest < Duration::from_secs(1));
}

#[test]
fn tables_keep_their_rows() {
    let tables = [
        ("bank_full", 45_211),
        ("credit_default", 30_000),
        ("wine_quality", 6_497),
        ("bike_hour", 17_379),
        ("california_housing", 20_640),
    ];
    for (name, count) in tables {
        let file = format!("{name}.csv.gz");
        let Some((_, rows)) = load(name, (&file, None), Precision::F64) else { return };
        assert_eq!(rows.len(), count);
        assert!(rows.labels().iter().all(|y| y.abs() <= 1.0));
    }
}

#[test]
fn images_and_embeddings_keep_their_classes() {
    let files = ("mnist/t10k-images-idx3-ubyte.gz", Some("mnist/t10k-labels-idx1-ubyte.gz"));
    let Some((_, rows)) = load("mnist", files, Precision::F32) else { return };
    let count = |rows: &Rows, class: f64| rows.labels().iter().filter(|&&y| y == class).count();
    assert_eq!((rows.len(), count(&rows, 0.0), count(&rows, 9.0)), (10_000, 980, 1_009));
    let files = (
        "tweeteval_emotion/train_embeddings_f16.npy",
        Some("tweeteval_emotion/train_labels_u8.npy"),
    );
    let (_, rows) = load("tweeteval_emotion", files, Precision::F32).unwrap();
    assert_eq!((rows.len(), count(&rows, 0.0), count(&rows, 3.0)), (3_257, 1_400, 855));
    let text = (
        "tweeteval_emotion/train_embeddings_f16.npy",
        Some("tweeteval_emotion/train_labels.txt.gz"),
    );
    let (_, same) = load("tweeteval_emotion", text, Precision::F32).unwrap();
    assert!(rows == same);
    let first = dense(&rows, 0);
    assert!((norm(&first[..384]) - 1.0).abs() < 2e-3 && first[384] == 1.0);
}
