//! The page and the figure: ours beside the paper's.

use std::fmt::Write;

use reticent::data::{Features, Rows};
use serde::Serialize;

use super::data::Dataset;
use super::paper::{EPSILONS, PaperLine, PaperTable};
use super::{Run, Settings};
use crate::figure::{Series, lines};

/// A clip norm and an epsilon, with the accuracy at the best step size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    pub(super) epsilon: Option<f64>,
    pub(super) clip: f64,
    pub(super) stride: Option<f64>,
    pub(super) mean: f64,
    pub(super) deviation: f64,
    pub(super) noise_multiplier: f64,
    pub(super) batch: u64,
    pub(super) steps: u64,
    pub(super) seeds: usize,
}

impl Cell {
    pub(super) fn new(epsilon: Option<f64>, clip: f64, stride: Option<f64>, runs: &[Run]) -> Self {
        let n = runs.len() as f64;
        let mean = runs.iter().map(|run| run.accuracy).sum::<f64>() / n;
        let square = runs.iter().map(|run| (run.accuracy - mean).powi(2)).sum::<f64>();
        let deviation = if runs.len() > 1 { (square / (n - 1.0)).sqrt() } else { 0.0 };
        let first = &runs[0];
        Self {
            epsilon,
            clip,
            stride,
            mean,
            deviation,
            noise_multiplier: first.noise_multiplier,
            batch: first.batch,
            steps: first.steps,
            seeds: runs.len(),
        }
    }
}

/// The percentiles 0, 10, 20, 40, 80 and 100 of `√2‖x‖` over the rows, without the constant feature
/// as the paper has it.
pub(super) fn percentiles(rows: &Rows) -> Vec<(u8, f64)> {
    let Features::F32(x) = rows.features() else {
        return Vec::new();
    };
    let mut norms: Vec<f64> = (0..x.rows())
        .map(|i| {
            let square: f64 = x.row(i).iter().map(|v| f64::from(*v).powi(2)).sum();
            (2.0 * (square - 1.0).max(0.0)).sqrt()
        })
        .collect();
    norms.sort_by(f64::total_cmp);
    let last = norms.len() - 1;
    [0_u8, 10, 20, 40, 80, 100]
        .into_iter()
        .map(|p| (p, norms[(last as f64 * f64::from(p) / 100.0).round() as usize]))
        .collect()
}

/// All that goes on the page.
pub(super) struct Results<'a> {
    pub(super) dataset: Dataset,
    pub(super) name: &'a str,
    pub(super) table: &'static PaperTable,
    pub(super) cells: &'a [Cell],
    pub(super) non_private: &'a Cell,
    pub(super) untuned: &'a [Cell],
    pub(super) percentiles: &'a [(u8, f64)],
    pub(super) rows: usize,
    pub(super) test_rows: usize,
    pub(super) settings: &'a Settings,
    pub(super) strides: &'a [f64],
}

impl Results<'_> {
    fn paper(&self, clip: f64) -> Option<&'static PaperLine> {
        self.table.lines.iter().find(|line| line.clip == clip)
    }

    fn clips(&self) -> Vec<f64> {
        let mut clips: Vec<f64> = self.cells.iter().map(|cell| cell.clip).collect();
        clips.sort_by(f64::total_cmp);
        clips.dedup();
        clips
    }

    fn cell(&self, epsilon: f64, clip: f64) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.epsilon == Some(epsilon) && cell.clip == clip)
    }

    /// The page.
    pub(super) fn markdown(&self) -> String {
        let settings = self.settings;
        let mut page = format!(
            "# {}\n\nDas, Kale, Xu, Zhang, Sanghavi, *Beyond uniform Lipschitz condition in differentially private optimization*, ICML 2023.\n\n\
             **Per-run epsilon; tuning not counted.** As in the paper the step length of each cell is the best of several on the test rows, and some clip norms \
             are percentiles of the rows. The stated epsilon is that of one run. The last table is of runs that could be made on private data.\n\n{}\n\n\
             {} rows to learn from, {} to measure on; clipped DP-SGD, Poisson batches of expected size {}, {} passes, delta = 1e-5, add-remove adjacency, tight noise, \
             mean of the later half of the iterates; {} runs of each cell; step lengths times clip norm tried with one run each: {}.\n\n",
            self.table.title,
            self.dataset.remark(),
            self.rows,
            self.test_rows,
            settings.batch,
            settings.epochs,
            settings.seeds,
            list(self.strides),
        );
        let percentiles: Vec<String> =
            self.percentiles.iter().map(|(p, v)| format!("{v:.1} ({p} %)")).collect();
        _ = writeln!(page, "Percentiles of √2‖x‖ over the rows: {}.\n", percentiles.join(", "));
        _ = writeln!(page, "## Test accuracy, percent\n");
        let mut header = "| clip norm | percentile |".to_owned();
        let mut rule = "| ---: | ---: |".to_owned();
        for epsilon in &settings.epsilons {
            _ = write!(header, " ε = {epsilon}: ours | paper | step × clip |");
            rule.push_str(" ---: | ---: | ---: |");
        }
        _ = writeln!(page, "{header}\n{rule}");
        for clip in self.clips() {
            let line = self.paper(clip);
            let percentile = line.and_then(|line| line.percentile);
            let percentile = percentile.map_or("–".to_owned(), |p| p.to_string());
            let mut row = format!("| {clip} | {percentile} |");
            for epsilon in &settings.epsilons {
                let ours = self.cell(*epsilon, clip);
                let stride = ours.and_then(|cell| cell.stride);
                _ = write!(
                    row,
                    " {} | {} | {} |",
                    ours.map_or("–".to_owned(), accuracy),
                    printed(line, *epsilon),
                    stride.map_or("–".to_owned(), |s| s.to_string())
                );
            }
            _ = writeln!(page, "{row}");
        }
        _ = writeln!(
            page,
            "\nWithout privacy, at the largest of these clip norms: ours {}, paper {:.2}.\n",
            accuracy(self.non_private),
            self.table.non_private
        );
        self.summary(&mut page);
        if !self.untuned.is_empty() {
            _ = writeln!(
                page,
                "## Nothing tuned\n\nClip norm 1; batch, steps, step length and noise chosen by the planner without data. These runs could be made on private data.\n\n\
                 | ε | accuracy | batch | steps | noise multiplier |\n| ---: | ---: | ---: | ---: | ---: |"
            );
            for cell in self.untuned {
                _ = writeln!(
                    page,
                    "| {} | {} | {} | {} | {:.4} |",
                    cell.epsilon.unwrap_or(f64::INFINITY),
                    accuracy(cell),
                    cell.batch,
                    cell.steps,
                    cell.noise_multiplier
                );
            }
            page.push('\n');
        }
        _ = writeln!(page, "![Accuracy by clip norm]({}.svg)", self.name);
        page
    }

    /// The best of each epsilon, and what small clip norms gain.
    fn summary(&self, page: &mut String) {
        let clips = self.clips();
        let at = |p: u8| {
            let line = self.table.lines.iter().find(|line| line.percentile == Some(p));
            let ends = (self.table.lines.first(), self.table.lines.last());
            line.or(if p == 0 { ends.0 } else { ends.1 }).map(|line| line.clip)
        };
        _ = writeln!(
            page,
            "| ε | noise multiplier | best, ours | best, paper | small minus large clip norm, ours | paper |\n| ---: | ---: | ---: | ---: | ---: | ---: |"
        );
        for &epsilon in &self.settings.epsilons {
            let best = clips
                .iter()
                .filter_map(|clip| self.cell(epsilon, *clip))
                .max_by(|a, b| a.mean.total_cmp(&b.mean));
            let column = EPSILONS.iter().position(|e| *e == epsilon);
            let paper_best = column.map(|j| {
                self.table.lines.iter().map(|line| line.accuracy[j].0).fold(0.0, f64::max)
            });
            let (small, large) = (at(0), at(100));
            let ours = |clip: Option<f64>| clip.and_then(|c| self.cell(epsilon, c)).map(|c| c.mean);
            let gain = ours(small).zip(ours(large)).map(|(a, b)| a - b);
            let paper = |clip: Option<f64>| {
                clip.and_then(|c| self.paper(c)).zip(column).map(|(line, j)| line.accuracy[j].0)
            };
            let paper_gain = paper(small).zip(paper(large)).map(|(a, b)| a - b);
            let show = |x: Option<f64>| x.map_or("–".to_owned(), |x| format!("{x:.2}"));
            _ = writeln!(
                page,
                "| {epsilon} | {} | {} | {} | {} | {} |",
                best.map_or("–".to_owned(), |cell| format!("{:.4}", cell.noise_multiplier)),
                best.map_or("–".to_owned(), |c| format!("{} at {}", accuracy(c), c.clip)),
                show(paper_best),
                show(gain),
                show(paper_gain)
            );
        }
        page.push('\n');
    }

    /// The figure.
    pub(super) fn figure(&self) -> String {
        let mut series = Vec::new();
        for (color, &epsilon) in self.settings.epsilons.iter().enumerate() {
            let points = self
                .clips()
                .into_iter()
                .filter_map(|clip| Some((clip, self.cell(epsilon, clip)?.mean)))
                .collect();
            let name = format!("ε = {epsilon}, ours");
            series.push(Series { name, points, color, dashed: false });
            if let Some(j) = EPSILONS.iter().position(|e| *e == epsilon) {
                let points =
                    self.table.lines.iter().map(|line| (line.clip, line.accuracy[j].0)).collect();
                let name = format!("ε = {epsilon}, paper");
                series.push(Series { name, points, color, dashed: true });
            }
        }
        lines(self.table.title, "clip norm", "test accuracy, percent", &series)
    }
}

fn accuracy(cell: &Cell) -> String {
    format!("{:.2} ± {:.2}", cell.mean, cell.deviation)
}

fn printed(line: Option<&PaperLine>, epsilon: f64) -> String {
    let column = EPSILONS.iter().position(|e| *e == epsilon);
    line.zip(column).map_or("–".to_owned(), |(line, j)| {
        format!("{:.2} ± {:.2}", line.accuracy[j].0, line.accuracy[j].1)
    })
}

fn list(numbers: &[f64]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
