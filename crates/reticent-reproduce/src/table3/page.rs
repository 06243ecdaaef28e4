//! The page and the figure.

use std::fmt::Write;

use super::published::EPSILONS;
use super::sets::SETS;
use super::{Cell, Measured, Settings};

/// The sets whose rows can be compared: BIKE's do not fit its number of rows.
const COMPARABLE: [&str; 4] = ["BANK", "ADULT", "CreditCard", "WINE"];
/// The sets on which the paper's calibration is expected to give the printed numbers, with a ridge.
const REPRODUCED: [&str; 3] = ["BANK", "ADULT", "CreditCard"];

/// One thing that was to be shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// The claim.
    pub what: String,
    /// Whether it holds.
    pub holds: bool,
    /// The cells in which it does not, or what was found.
    pub found: String,
}

fn label(cell: &Cell) -> String {
    let p = cell.printed;
    format!("{} mu = {} eps = {}", p.set, p.ridge, p.epsilon)
}

/// A check over the cells that `wanted` picks; it fails in the cells where `holds` does not.
fn over(
    cells: &[Cell],
    what: &str,
    wanted: impl Fn(&Cell) -> bool,
    holds: impl Fn(&Cell) -> bool,
) -> Check {
    let wanted: Vec<&Cell> = cells.iter().filter(|c| wanted(c)).collect();
    let failing: Vec<String> = wanted.iter().filter(|c| !holds(c)).map(|c| label(c)).collect();
    let found = if failing.is_empty() {
        format!("all {} rows", wanted.len())
    } else {
        format!("not in {} of {}: {}", failing.len(), wanted.len(), failing.join("; "))
    };
    Check { what: what.to_owned(), holds: failing.is_empty(), found }
}

/// The claims to be shown, each with whether it holds.
pub fn checks(cells: &[Cell]) -> Vec<Check> {
    let ridged = |c: &Cell| c.printed.ridge > 0.0;
    let of = |c: &Cell, sets: &[&str]| sets.contains(&c.printed.set);
    let within = |a: f64, b: f64, factor: f64| a <= factor * b && b <= factor * a;
    let mut list = vec![
        over(
            cells,
            "ours, paper: within 25 % of the printed error (BANK, ADULT, CreditCard, with ridge)",
            |c| ridged(c) && of(c, &REPRODUCED),
            |c| {
                // The last printed digit may be all there is: 0.0005 stands for 0.00045 to 0.00055.
                let gap = (c.ours_paper.error - c.printed.ours).abs();
                gap <= 0.25 * c.printed.ours + 5e-5
            },
        ),
        over(
            cells,
            "ours, tight: below the printed error of the paper's method (all but BIKE, with ridge)",
            |c| ridged(c) && of(c, &COMPARABLE),
            |c| c.ours_tight.error < c.printed.ours,
        ),
        over(
            cells,
            "baseline with noise not divided by the batch: within a factor 2 of the printed error (ADULT, CreditCard, with ridge)",
            |c| ridged(c) && of(c, &["ADULT", "CreditCard"]),
            |c| within(c.baseline_printed.error, c.printed.baseline, 2.0),
        ),
        over(
            cells,
            "ours, tight, over that baseline: at most the printed ratio (all but BIKE, with ridge)",
            |c| ridged(c) && of(c, &COMPARABLE),
            |c| {
                c.ours_tight.error / c.baseline_printed.error <= c.printed.ours / c.printed.baseline
            },
        ),
        over(
            cells,
            "ours, tight, below the baseline with its noise divided by the batch (with ridge)",
            ridged,
            |c| c.ours_tight.error < c.baseline_scaled.error,
        ),
        over(
            cells,
            "time ratio at most the printed one, or 1.25 times the ratio of gradients (all but BIKE)",
            |c| of(c, &COMPARABLE),
            |c| {
                let printed = c.printed.ours_seconds / c.printed.baseline_seconds;
                let ratio = c.ours_tight.seconds / c.baseline_scaled.seconds;
                ratio <= printed.max(1.25 * work(c))
            },
        ),
    ];
    let logs: Vec<f64> = cells
        .iter()
        .filter(|c| ridged(c) && of(c, &COMPARABLE))
        .map(|c| (c.ours_tight.error / c.baseline_printed.error).ln())
        .collect();
    if logs.len() == 16 {
        let mean = (logs.iter().sum::<f64>() / 16.0).exp();
        list.push(Check {
            what: "geometric mean of that ratio over the 16 rows: at most 0.0112, the printed one"
                .to_owned(),
            holds: mean <= 0.0112,
            found: format!("{mean:.2e}"),
        });
    }
    list
}

/// Gradients of our method over those of the baseline.
fn work(cell: &Cell) -> f64 {
    let ours = cell.ours_tight.steps as f64 * cell.rows as f64;
    ours / (cell.baseline_tight.steps as f64 * 50.0)
}

fn short(x: f64) -> String {
    if x.abs() >= 0.01 { format!("{x:.4}") } else { format!("{x:.2e}") }
}

fn with_spread(m: &Measured) -> String {
    match m.standard_error {
        Some(spread) => format!("{} ± {spread:.0e}", short(m.error)),
        None => short(m.error),
    }
}

/// The page, in Markdown. `command` is what made it.
pub fn markdown(cells: &[Cell], settings: Settings, command: &str) -> String {
    let mut page = String::new();
    _ = writeln!(
        page,
        "# Table 3 of \"Efficient private ERM for smooth objectives\", reproduced\n\n\
         Zhang, Zheng, Mou and Wang, IJCAI 2017. Minimisation error F(w) − F(ŵ) and CPU time, delta = 0.001. This page is\n\
         written by\n\n    {command}\n\n\
         with {} noise draws for output perturbation (its descent is the same in each) and {} runs of the baseline. The\n\
         files are described in `docs/reproduction/README.md`. Nothing on this page is private: errors are measured on the\n\
         rows, which are public.\n\n![errors](table3.svg)\n",
        settings.rounds, settings.baseline_rounds
    );
    page.push_str("## What was to be shown\n\n| | holds | found |\n| --- | --- | --- |\n");
    for check in checks(cells) {
        let word = if check.holds { "yes" } else { "**no**" };
        _ = writeln!(page, "| {} | {word} | {} |", check.what, check.found);
    }
    honest(&mut page, cells);
    page.push_str(NOTES);
    minima(&mut page, cells);
    errors(&mut page, cells);
    times(&mut page, cells);
    page
}

/// Where the tightly calibrated baseline wins.
fn honest(page: &mut String, cells: &[Cell]) {
    let wins = |ridged: bool| {
        let of: Vec<&Cell> = cells.iter().filter(|c| (c.printed.ridge > 0.0) == ridged).collect();
        let won: Vec<String> = of
            .iter()
            .filter(|c| c.baseline_tight.error < c.ours_tight.error)
            .map(|c| label(c))
            .collect();
        (of.len(), won)
    };
    page.push_str("\n## The baseline, calibrated as well as ours\n\n");
    page.push_str(
        "The printed column compares with a baseline that has far more noise than it needs. Calibrated by the same\n\
         accountant, noisy SGD is a strong competitor:\n\n",
    );
    for (ridged, words) in [(true, "With a ridge"), (false, "Without a ridge")] {
        let (of, won) = wins(ridged);
        _ = writeln!(
            page,
            "- {words} it has the smaller error in {} of {of} rows{}{}.",
            won.len(),
            if won.is_empty() { "" } else { ": " },
            won.join("; ")
        );
    }
    page.push_str("\nHow long each takes is in the last table.\n");
}

const NOTES: &str = "\n## What can be compared, and what cannot\n\n\
The paper does not state how columns are scaled, whether there is a constant feature, the Huber threshold, D, or the\n\
ball of the baseline. What is assumed here: columns scaled to [0, 1] by public ranges, one feature for each category\n\
and a constant (BANK: one category less in each column and no constant, which gives its printed 42 features), Huber\n\
threshold 1 on the target's own scale; without ridge, and for the ball of the baseline, the D that fits the printed\n\
running times (BANK 7.2 and 1.3, ADULT 13.4 and 9.6, CreditCard 7.4 and 4.9, without and with ridge); for WINE and BIKE\n\
2Y/B without ridge and what the ridge implies with it. The paper's row bound is √d; ours is the structural one. Where\n\
the objective has no ridge, tight output perturbation still uses the one that its plan thinks best (a public choice), and\n\
its error is measured on the objective without.\n\n\
- **BANK, ADULT, CreditCard with ridge** can be matched: the paper's calibration gives the printed numbers.\n\
- **WINE with ridge** comes out about as close, with the D that the ridge implies; since neither D nor the Huber threshold\n\
  is stated, that may be luck.\n\
- **Without ridge** the printed error is measured from a minimum that is not stated and seems not to be one: on\n\
  CreditCard gradient descent with the paper's own number of steps is farther from the minimum, without any noise, than\n\
  the printed error with noise. F(ŵ) is printed below for every objective. These rows are reported and not judged.\n\
- **BIKE** does not fit its number of rows: its printed times are WINE's although (n/m)² is seven times as large, and its\n\
  errors with ridge level off at 0.023. Reported and not judged.\n\
- **The baseline's noise.** The printed errors of the baseline with ridge have the size and the flatness of runs whose\n\
  noise was not divided by the batch of 50. That is the best explanation that was found and not an established fact; BANK\n\
  without ridge does not fit it.\n";

fn minima(page: &mut String, cells: &[Cell]) {
    page.push_str("\n## Minima\n\n| data | n | features (printed) | mu | F(ŵ) | ‖ŵ‖ | ‖∇F(ŵ)‖ |\n| --- | --- | --- | --- | --- | --- | --- |\n");
    for cell in cells.iter().filter(|c| c.printed.epsilon == EPSILONS[0]) {
        let printed = SETS
            .iter()
            .find(|set| set.name == cell.printed.set)
            .map_or(0, |set| set.printed_features);
        let m = &cell.minimum;
        _ = writeln!(
            page,
            "| {} | {} | {} ({printed}) | {} | {:.6} | {:.3} | {:.0e} |",
            cell.printed.set,
            cell.rows,
            cell.features,
            cell.printed.ridge,
            m.value,
            m.norm,
            m.gradient
        );
    }
}

fn errors(page: &mut String, cells: &[Cell]) {
    page.push_str("\n## Errors\n\nMean ± standard error.\n\n| data | mu | eps | printed, theirs | output-gd, paper | **output-gd, tight** | printed, baseline | noisy-sgd, noise not divided | noisy-sgd, paper | noisy-sgd, tight |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for cell in cells {
        let p = cell.printed;
        _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} | **{}** | {} | {} | {} | {} |",
            p.set,
            p.ridge,
            p.epsilon,
            p.ours,
            with_spread(&cell.ours_paper),
            with_spread(&cell.ours_tight),
            p.baseline,
            with_spread(&cell.baseline_printed),
            with_spread(&cell.baseline_scaled),
            with_spread(&cell.baseline_tight),
        );
    }
}

fn times(page: &mut String, cells: &[Cell]) {
    page.push_str("\n## Times\n\nCPU seconds of one run on one thread. The ratio is ours, tight, over the baseline with the paper's noise.\n\n| data | mu | eps | steps, paper | steps, tight | steps, baseline | output-gd, tight | noisy-sgd, paper | noisy-sgd, tight | ratio | ratio of gradients | printed ratio |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for cell in cells {
        let p = cell.printed;
        _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} | {} | {:.3} | {:.3} | {:.3} | {:.3} | {:.3} | {:.3} |",
            p.set,
            p.ridge,
            p.epsilon,
            cell.ours_paper.steps,
            cell.ours_tight.steps,
            cell.baseline_tight.steps,
            cell.ours_tight.seconds,
            cell.baseline_scaled.seconds,
            cell.baseline_tight.seconds,
            cell.ours_tight.seconds / cell.baseline_scaled.seconds,
            work(cell),
            p.ours_seconds / p.baseline_seconds,
        );
    }
}

/// A curve of the figure: its name, its colour, whether it is dashed, and the error that it shows.
type Curve = (&'static str, &'static str, bool, fn(&Cell) -> f64);

const CURVES: [Curve; 5] = [
    ("printed, theirs", "#1f77b4", true, |c| c.printed.ours),
    ("output-gd, tight", "#1f77b4", false, |c| c.ours_tight.error),
    ("printed, baseline", "#d62728", true, |c| c.printed.baseline),
    ("noisy-sgd, paper", "#ff9896", false, |c| c.baseline_scaled.error),
    ("noisy-sgd, tight", "#d62728", false, |c| c.baseline_tight.error),
];

/// The errors against epsilon, a panel for each data set and ridge.
pub fn figure(cells: &[Cell]) -> String {
    const WIDTH: f64 = 230.0;
    const HEIGHT: f64 = 190.0;
    let mut panels: Vec<(&str, f64)> = Vec::new();
    for cell in cells {
        let key = (cell.printed.set, cell.printed.ridge);
        if !panels.contains(&key) {
            panels.push(key);
        }
    }
    let columns = panels.len().div_ceil(2).max(1);
    let (wide, high) = (WIDTH * columns as f64, 2.0 * HEIGHT + 30.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {wide} {high}\" font-family=\"sans-serif\" font-size=\"10\" role=\"img\" aria-label=\"Error against epsilon\"><rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (i, (set, ridge)) in panels.iter().enumerate() {
        let (left, top) = ((i / 2) as f64 * WIDTH, (i % 2) as f64 * HEIGHT);
        let of: Vec<&Cell> =
            cells.iter().filter(|c| c.printed.set == *set && c.printed.ridge == *ridge).collect();
        panel(&mut svg, &of, (left, top, WIDTH, HEIGHT));
    }
    for (i, (name, colour, dashed, _)) in CURVES.iter().enumerate() {
        let x = 20.0 + 150.0 * i as f64 * (wide / 1150.0).min(1.0);
        let y = high - 14.0;
        let dash = if *dashed { " stroke-dasharray=\"5 3\"" } else { "" };
        _ = writeln!(
            svg,
            "<line x1=\"{x:.1}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"{colour}\" stroke-width=\"2\"{dash}/><text x=\"{:.1}\" y=\"{:.1}\">{name}</text>",
            x + 22.0,
            x + 27.0,
            y + 4.0
        );
    }
    svg.push_str("</svg>\n");
    svg
}

fn panel(svg: &mut String, cells: &[&Cell], (left, top, width, height): (f64, f64, f64, f64)) {
    let values = cells.iter().flat_map(|c| CURVES.iter().map(move |curve| (curve.3)(c)));
    let logs: Vec<f64> = values.filter(|v| *v > 0.0).map(f64::log10).collect();
    let low = logs.iter().copied().fold(f64::INFINITY, f64::min).floor();
    let high = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max).ceil().max(low + 1.0);
    let x = |epsilon: f64| left + 38.0 + (epsilon.log10() + 1.0) / 1.302 * (width - 54.0);
    let y = |log: f64| top + 22.0 + (high - log) / (high - low) * (height - 48.0);
    let p = cells[0].printed;
    _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" font-weight=\"bold\">{}, mu = {}</text>",
        left + 38.0,
        top + 14.0,
        p.set,
        p.ridge
    );
    let mut decade = low;
    while decade <= high {
        _ = writeln!(
            svg,
            "<line x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{2:.1}\" y2=\"{2:.1}\" stroke=\"#ddd\"/><text x=\"{3:.1}\" y=\"{4:.1}\" text-anchor=\"end\">1e{decade}</text>",
            x(0.1),
            x(2.0),
            y(decade),
            left + 34.0,
            y(decade) + 3.0
        );
        decade += 1.0;
    }
    for epsilon in EPSILONS {
        _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{epsilon}</text>",
            x(epsilon),
            y(low) + 13.0
        );
    }
    for (name, colour, dashed, error) in CURVES {
        let points: Vec<String> = cells
            .iter()
            .filter(|c| error(c) > 0.0)
            .map(|c| format!("{:.1},{:.1}", x(c.printed.epsilon), y(error(c).log10())))
            .collect();
        let dash = if dashed { " stroke-dasharray=\"5 3\"" } else { "" };
        _ = writeln!(
            svg,
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\"{dash} points=\"{}\"><title>{name}</title></polyline>",
            points.join(" ")
        );
    }
}
