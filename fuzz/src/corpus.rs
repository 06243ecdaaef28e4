//! Good files, small, one or more for each target. All are made by the program under test, so that
//! they are good.

use reticent::optim::setting::{BATCH, STEPS};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use flate2::{Compression, write::GzEncoder};
use reticent::data::{LocalOracle, Rows, Speed};
use reticent::ledger::{Filter, Ledger};
use reticent::noise::Source;
use reticent::optim::{Choice, Plan, Progress, Quiet, Selection, Settings, plan_named};
use reticent::privacy::{Adjacency, Budget, Delta, Epsilon, Event};
use reticent::problem::Domain;
use reticent::problem::declaration::{Declaration, Encoding};
use reticent::release::{Planned, Purchase};
use reticent::{Error, KeptRun, Model, Task, fit, read_rows, select_on};
use serde_json::json;

/// A cell of the table that no message may quote.
pub(crate) const SECRET: &str = "SECRET7391";

/// Two classes, one number and one category.
pub(crate) const SCHEMA: &str = r#"{"name": "clinic", "target": "back", "positive_class": "yes", "columns": [
    {"name": "age", "type": "real", "bounds": {"min": 0, "max": 100}},
    {"name": "ward", "type": "categorical", "categories": ["surgery", "internal", "other"]},
    {"name": "visit", "type": "integer", "missing": "?", "bounds": {"min": 0, "max": 9}},
    {"name": "back", "type": "categorical", "categories": ["no", "yes"]}]}"#;

const CSV: &str = "age,ward,visit,back\n31,SECRET7391,3,yes\n\"4,4\",internal,?,no\nSECRET7391,other,9,SECRET7391\n";

/// The good files of a target.
pub(crate) fn of(target: &str) -> Vec<Vec<u8>> {
    let text = |s: &str| s.as_bytes().to_vec();
    match target {
        "schema" => vec![
            text(SCHEMA),
            text(
                r#"{"target":"y","task":"regression","columns":[{"name":"x","type":"vector","dimension":3,"bounds":{"l2_norm_max":1}},{"name":"y","type":"real","bounds":{"min":-1,"max":1}}]}"#,
            ),
        ],
        "csv" => vec![text(CSV), text(&CSV.replace('\n', "\r\n"))],
        "tsv" => vec![text(&CSV.replace("\"4,4\"", "4.4").replace(',', "\t"))],
        "gz" => vec![gzip(CSV.as_bytes()), gzip(CSV.repeat(50).as_bytes())],
        "libsvm" => vec![text("+1 1:0.5 2:-0.25 3:1\n-1 2:0.125 # a comment\n")],
        "labels" => vec![text("1\n-1\n"), text("y\n-1\n1\n"), npy("<f8", &[0; 16], "(2,)")],
        "npy" => vec![
            npy("<f8", &0.5f64.to_le_bytes().repeat(6), "(2, 3)"),
            npy("<f4", &[0; 24], "(2, 3)"),
            npy("|u1", &[1, 2, 3, 4, 5, 6], "(2, 3)"),
        ],
        "idx" => vec![
            idx(8, &[2, 3], &[1, 2, 3, 4, 5, 6]),
            idx(13, &[1, 3], &[0; 12]),
            gzip(&idx(8, &[2, 3], &[0; 6])),
        ],
        "parquet" => vec![parquet()],
        "arrow" => vec![arrow(true), arrow(false)],
        "stream" => vec![text(CSV), parquet(), arrow(true)],
        "model" | "report" => made().models.iter().map(|model| text(&model.to_json())).collect(),
        "checkpoint" => vec![made().checkpoint.clone()],
        "beside" => beside(),
        "event" => events(),
        "ledger" => vec![ledger()],
        _ => vec![Vec::new()],
    }
}

/// Models and an interrupted run that the program made for the tests.
pub(crate) struct Made {
    pub(crate) models: Vec<Model>,
    /// A model whose noise is known, so that it does not verify.
    pub(crate) void: Model,
    /// The plan and the task of the checkpoint, and the rows of its run.
    pub(crate) plan: Plan,
    pub(crate) task: Task,
    pub(crate) rows: Rows,
    checkpoint: Vec<u8>,
}

/// Models of several algorithms and an interrupted run, made once.
#[expect(clippy::expect_used, reason = "without good files there is nothing to fuzz")]
pub(crate) fn made() -> &'static Made {
    static MADE: OnceLock<Made> = OnceLock::new();
    MADE.get_or_init(|| make().expect("good files can be made"))
}

fn budget(epsilon: f64) -> Result<Budget, Error> {
    let (epsilon, delta) = (Epsilon::new(epsilon)?, Delta::new(1e-6)?);
    Ok(Budget { epsilon, delta, adjacency: Adjacency::ReplaceOne })
}

fn make() -> Result<Made, Error> {
    let cannot = |why: std::io::Error| Error::File {
        verb: "write",
        file: "a temporary file".to_owned(),
        why: why.to_string(),
    };
    let folder = tempfile::tempdir().map_err(cannot)?;
    let table = folder.path().join("t.csv");
    std::fs::write(&table, CSV.repeat(20)).map_err(cannot)?;
    let task = Task::new(Declaration::from_json(SCHEMA)?, Encoding::default());
    let rows = read_rows(&task, &table, None)?;
    let problem = task.problem(rows.len(), Domain::Unbounded, None)?;
    let planned = |request: &Settings, name: &str| {
        plan_named(&problem, budget(1.0)?, request, name).map_err(Error::from)
    };
    let few = Settings::default().with(&STEPS, 12_u64).with(&BATCH, 20_u64);
    let plan = planned(&few, "clipped-sgd")?;
    let mut models = Vec::new();
    for plan in [
        planned(&Settings::default(), "output-gd")?,
        planned(&Settings::default(), "objective")?,
        planned(&Settings::default(), "mirror")?,
        plan.clone(),
    ] {
        let source = Source::from_os()?;
        models.push(fit(&task, plan, rows.clone(), &source, Speed::default(), &Quiet)?);
    }
    let seeded = Source::seeded_not_private(1);
    let known = planned(&Settings::default(), "output-gd")?;
    let void = fit(&task, known, rows.clone(), &seeded, Speed::default(), &Quiet)?;
    let choices = ["objective", "output-gd"].map(|algorithm| Choice {
        problem: problem.clone(),
        algorithm: algorithm.to_owned(),
        request: Settings::default(),
    });
    let selection = Selection::plan(&choices, budget(2.0)?, 3.0)?;
    let oracle = LocalOracle::new(rows.clone(), Speed::default())?;
    models.push(select_on(&task, selection, &oracle, &Source::from_os()?)?.model);
    let checkpoint = interrupted(folder.path(), &plan, &task, &rows)?;
    Ok(Made { models, void, plan, task, rows, checkpoint })
}

/// Stops a run half-way.
struct Half;

impl Progress for Half {
    fn step(&self, done: u64, total: u64) -> ControlFlow<()> {
        if 2 * done > total { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn interrupted(folder: &Path, plan: &Plan, task: &Task, rows: &Rows) -> Result<Vec<u8>, Error> {
    let path = folder.join("run.ck");
    let mut run = KeptRun::open(&path, 1, false, plan, task, None)?;
    let (oracle, source) = (LocalOracle::new(rows.clone(), Speed::default())?, Source::from_os()?);
    begin(&mut run, plan, task, &source)?;
    _ = run.fit(&oracle, &source, &Half);
    // Without its seal: every mutant gets one of its own.
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let body = text.rsplit_once(",\"seal\":").map_or("", |(body, _)| body);
    Ok(format!("{body}}}").into_bytes())
}

/// Begins a run that no ledger pays for.
pub(crate) fn begin(
    run: &mut KeptRun,
    plan: &Plan,
    task: &Task,
    source: &Source,
) -> Result<(), Error> {
    let (purchase, declaration) = (Purchase::Plan(plan), &task.declaration);
    let charged = Planned { ledger: None, purchase, declaration }.charge(Some(run))?;
    charged.begin(Some(run), source.randomness()).map(drop)
}

/// The documents that `report` shows beside a model: an audit and an evaluation.
fn beside() -> Vec<Vec<u8>> {
    let model = &made().void;
    let audit = json!({
        "audit": {
            "algorithm": model.certificate.plan.algorithm(), "epsilon_claimed": 1.0, "epsilon_lower": 0.2,
            "confidence": 0.95, "runs": 100, "neighbours": "two tables", "violated": false,
        },
        "plan": model.certificate.plan,
    });
    let evaluation = json!({
        "metrics": { "rows": 60, "accuracy": 0.9, "log_loss": 0.4 },
        "model_digest": model.digest(),
    });
    [json!({ "audit": audit }), json!({ "evaluation": evaluation })]
        .map(|value| value.to_string().into_bytes())
        .to_vec()
}

fn events() -> Vec<Vec<u8>> {
    let mut list: Vec<Vec<u8>> = [
        r#"{"kind":"composed","events":[{"kind":"gaussian","noise_multiplier":4,"adjacency":"replace-one"},{"kind":"pure-dp","epsilon":0.5,"adjacency":"replace-one"}]}"#,
        r#"{"kind":"repeated","times":20,"event":{"kind":"poisson-gaussian","sample_rate":0.01,"noise_multiplier":1,"steps":10,"adjacency":"add-remove-one"}}"#,
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec();
    // The events of real models: objective perturbation, a choice among several.
    let own = made().models.iter().map(|model| json!(model.certificate.event).to_string());
    list.extend(own.map(String::into_bytes));
    list
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

fn npy(kind: &str, data: &[u8], shape: &str) -> Vec<u8> {
    let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
    let header = format!("{header:<117}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

fn idx(kind: u8, shape: &[u32], data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 0, kind, shape.len() as u8];
    bytes.extend(shape.iter().flat_map(|n| n.to_be_bytes()));
    bytes.extend(data);
    bytes
}

fn batch() -> Option<RecordBatch> {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("age", Arc::new(Float64Array::from(vec![Some(31.0), None, Some(77.5)]))),
        ("ward", Arc::new(StringArray::from(vec![SECRET, "internal", "other"]))),
        ("visit", Arc::new(Float64Array::from(vec![3.0, 0.0, 9.0]))),
        ("back", Arc::new(StringArray::from(vec!["yes", "no", SECRET]))),
    ];
    RecordBatch::try_from_iter(columns).ok()
}

fn parquet() -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(batch) = batch()
        && let Ok(mut writer) =
            parquet::arrow::ArrowWriter::try_new(&mut bytes, batch.schema(), None)
    {
        _ = writer.write(&batch);
        _ = writer.close();
    }
    bytes
}

fn arrow(file: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    let Some(batch) = batch() else { return bytes };
    if file {
        if let Ok(mut writer) = arrow_ipc::writer::FileWriter::try_new(&mut bytes, &batch.schema())
        {
            _ = writer.write(&batch);
            _ = writer.finish();
        }
    } else if let Ok(mut writer) =
        arrow_ipc::writer::StreamWriter::try_new(&mut bytes, &batch.schema())
    {
        _ = writer.write(&batch);
        _ = writer.finish();
    }
    bytes
}

fn ledger() -> Vec<u8> {
    let made = || -> Option<Vec<u8>> {
        let folder = tempfile::tempdir().ok()?;
        let path = folder.path().join("c.ledger");
        let adjacency = Adjacency::ReplaceOne;
        let (epsilon, delta) = (Epsilon::new(1.0).ok()?, Delta::new(1e-6).ok()?);
        let ledger =
            Ledger::create(&path, Budget { epsilon, delta, adjacency }, Filter::Auto).ok()?;
        let event = Event::Gaussian { noise_multiplier: 50.0, adjacency };
        ledger.charge_event("one", &event, 1e-8).ok()?;
        std::fs::read(&path).ok()
    };
    made().unwrap_or_default()
}
