//! Coverage of private intervals: `cargo bench -p reticent --bench intervals -- TABLES
//! [ROWS COLUMNS EPSILON LOSS METHOD]`, each of the last five a value of the grid or `-` for all.
//!
//! Every finished batch of tables is a line of `bench/intervals/results.jsonl`. A run that was
//! stopped goes on where it was when it is started again, with the same or another number of
//! tables; delete the file after a change of the method. At the end `bench/intervals/RESULTS.md` is
//! written from all lines.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark prints, and may panic")]

#[allow(unreachable_pub, dead_code, reason = "shared by path with the tests")]
mod simulation;

use std::fmt::Write as _;
use std::fs::{OpenOptions, read_to_string, write};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock};

use serde::{Deserialize, Serialize};
use simulation::{Cell, Prepared, Tally};

/// Tables of a batch.
const BATCH: u64 = 10;

/// A batch: `BATCH` tables of a cell, from this seed on.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Line {
    cell: Cell,
    first: u64,
    tally: Tally,
}

fn main() {
    let given: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let tables: u64 = given.first().map_or(100, |text| text.parse().unwrap());
    let known = lines();
    // Small cells first, and what the tables of a cell share once.
    let mut wanted = cells(given.get(1..).unwrap_or_default());
    wanted.sort_by_key(|cell| cell.rows * cell.columns);
    let shared: Vec<OnceLock<Prepared>> = wanted.iter().map(|_| OnceLock::new()).collect();
    let mut batches = Vec::new();
    for first in (1..=tables).step_by(BATCH as usize) {
        for (cell, shared) in wanted.iter().zip(&shared) {
            if !known.iter().any(|line| line.cell == *cell && line.first == first) {
                batches.push((*cell, shared, first));
            }
        }
    }
    println!("{} batches of {BATCH} tables to go", batches.len());
    let mut file =
        OpenOptions::new().create(true).append(true).open(path("results.jsonl")).unwrap();
    let next = Mutex::new(batches.into_iter());
    let done = Mutex::new(&mut file);
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let Some((cell, shared, first)) = next.lock().unwrap().next() else { break };
                    let tally = shared.get_or_init(|| cell.prepare()).run(BATCH, first);
                    let line = Line { cell, first, tally };
                    let text = serde_json::to_string(&line).unwrap();
                    writeln!(done.lock().unwrap(), "{text}").unwrap();
                }
            });
        }
    });
    write(path("RESULTS.md"), page(&lines())).unwrap();
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../bench/intervals").join(name)
}

fn lines() -> Vec<Line> {
    let text = read_to_string(path("results.jsonl")).unwrap_or_default();
    // A run that was stopped may have left half a line.
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn page(lines: &[Line]) -> String {
    let mut text = "# Coverage of private intervals

Tables with known coefficients: correlated numbers within `[0, 1]`, one category with a chance of
5 %, an intercept. Each is fitted with `--intervals 95` at delta 1e-6. A table's coefficients are all
determined or none is; coverage is of those that are, its error that of so many independent tables.
The broken copy is the same table without the noise that reached the weights; of blocks, one of five
blocks each counted twice. The width is that of a column's interval over what the true Hessian and
covariance would give: of the mean over the blocks, where there are such.

Written by `cargo bench -p reticent --bench intervals`, from the lines in
`bench/intervals/results.jsonl`: `-- 2000` fits 2,000 tables of each cell, which takes days of a
core; it can be stopped and started again.

| method | loss | n | columns | epsilon | tables | determined | coverage | broken copy | width / ideal |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
"
    .to_owned();
    for cell in cells(&[]) {
        let mut t = Tally::default();
        lines.iter().filter(|line| line.cell == cell).for_each(|line| t.add(&line.tally));
        let share = |part: u64| match t.determined {
            0 => "-".to_owned(),
            whole => format!("{:.1} %", 100.0 * part as f64 / whole as f64),
        };
        let coverage = match t.determined {
            0 => "-".to_owned(),
            _ => format!("{} ± {:.1}", share(t.covered), 100.0 * t.deviation()),
        };
        let determined = match t.all {
            0 => "-".to_owned(),
            all => format!("{:.0} %", 100.0 * t.determined as f64 / all as f64),
        };
        let width = match t.compared {
            0 => "-".to_owned(),
            count => format!("{:.2}", t.width_over_ideal / count as f64),
        };
        _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {determined} | {coverage} | {} | {width} |",
            method(&cell),
            if cell.linear { "linear" } else { "logistic" },
            cell.rows,
            cell.columns,
            cell.epsilon,
            t.tables,
            share(t.covered_by_broken),
        );
    }
    text
}

fn method(cell: &Cell) -> &'static str {
    if cell.blocks { "blocks" } else { "curvature" }
}

fn cells(given: &[String]) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (blocks, linear) in [(false, false), (false, true), (true, false), (true, true)] {
        for rows in [5_000, 20_000, 100_000] {
            for columns in [5, 20] {
                for epsilon in [0.5, 1.0, 4.0] {
                    cells.push(Cell { rows, columns, epsilon, linear, of_a_unit: 1, blocks });
                }
            }
        }
    }
    let is = |place: usize, value: String| {
        given.get(place).is_none_or(|given| *given == "-" || *given == value)
    };
    cells.retain(|cell| {
        is(0, cell.rows.to_string())
            && is(1, cell.columns.to_string())
            && is(2, cell.epsilon.to_string())
            && is(3, if cell.linear { "linear" } else { "logistic" }.to_owned())
            && is(4, method(cell).to_owned())
    });
    cells
}
