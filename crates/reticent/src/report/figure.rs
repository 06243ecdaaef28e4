//! Inline SVG. Each figure says in `data-x` and `data-y` where its axes begin and end, in its own
//! units and in values, so that a curve can be read back.

use std::fmt::Write;

use reticent_privacy::tradeoff::TradeOff;

use super::page::escape;
use reticent_problem::number::{about, at_most};

const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 360.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 52.0;

/// The width of a digit of the labels in the larger letters of a small screen, at most.
const DIGIT: f64 = 10.4;

/// A figure with two axes and the labels of both.
struct Axes {
    x: (f64, f64),
    y: (f64, f64),
    ticks: Ticks,
    /// The space beside the figure: on the left for the axis's name and the longest label, on the
    /// right for half of a label.
    margins: (f64, f64),
}

impl Axes {
    fn new(x: (f64, f64), y: (f64, f64), ticks: Ticks) -> Self {
        let longest = |ticks: &[(f64, String)]| {
            ticks.iter().map(|(_, label)| label.chars().count()).max().unwrap_or(0) as f64
        };
        let margins = (38.0 + DIGIT * longest(&ticks.y), 0.5 * DIGIT * longest(&ticks.x) + 2.0);
        Self { x, y, ticks, margins }
    }

    fn left(&self, x: f64) -> f64 {
        let (left, right) = self.margins;
        left + (x - self.x.0) / (self.x.1 - self.x.0) * (WIDTH - left - right)
    }

    fn top(&self, y: f64) -> f64 {
        HEIGHT - BOTTOM - (y - self.y.0) / (self.y.1 - self.y.0) * (HEIGHT - BOTTOM - TOP)
    }

    fn path(&self, points: impl Iterator<Item = (f64, f64)>) -> String {
        let mut path = String::new();
        for (i, (x, y)) in points.enumerate() {
            let letter = if i == 0 { "M" } else { "L" };
            _ = write!(path, "{letter}{:.2},{:.2} ", self.left(x), self.top(y));
        }
        path
    }

    /// The figure around `inner`.
    fn svg(&self, words: &Words<'_>, inner: &str) -> String {
        let (left, right) = (self.left(self.x.0), self.left(self.x.1));
        let (bottom, top) = (self.top(self.y.0), self.top(self.y.1));
        let mut marks = String::new();
        for (value, text) in &self.ticks.x {
            let x = self.left(*value);
            _ = write!(
                marks,
                "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}</text>",
                bottom + 20.0
            );
        }
        for (value, text) in &self.ticks.y {
            let y = self.top(*value);
            _ = write!(
                marks,
                "<line class=\"grid\" x1=\"{left:.1}\" y1=\"{y:.1}\" x2=\"{right:.1}\" y2=\"{y:.1}\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
                left - 8.0,
                y + 4.0
            );
        }
        let middle = 0.5 * (bottom + top);
        format!(
            "<figure><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-labelledby=\"{id}-title {id}-words\" id=\"{id}-figure\" data-x=\"{left:.2} {right:.2} {} {}\" data-y=\"{bottom:.2} {top:.2} {} {}\">\
             <title id=\"{id}-title\">{title}</title><desc id=\"{id}-words\">{caption}</desc>{marks}\
             <line class=\"axis\" x1=\"{left:.1}\" y1=\"{bottom:.1}\" x2=\"{right:.1}\" y2=\"{bottom:.1}\"/><line class=\"axis\" x1=\"{left:.1}\" y1=\"{bottom:.1}\" x2=\"{left:.1}\" y2=\"{top:.1}\"/>{inner}\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
             <text x=\"18\" y=\"{middle:.1}\" text-anchor=\"middle\" transform=\"rotate(-90 18 {middle:.1})\">{}</text></svg>\
             <figcaption>{caption}</figcaption></figure>\n",
            self.x.0,
            self.x.1,
            self.y.0,
            self.y.1,
            0.5 * (left + right),
            HEIGHT - 10.0,
            words.x,
            words.y,
            id = words.id,
            title = words.title,
            caption = words.caption,
        )
    }
}

struct Words<'a> {
    id: &'a str,
    title: &'a str,
    caption: &'a str,
    x: &'a str,
    y: &'a str,
}

struct Ticks {
    x: Vec<(f64, String)>,
    y: Vec<(f64, String)>,
}

/// True-positive against false-positive rate, both in `[0, 1]`.
pub(super) fn trade_off(points: &[TradeOff]) -> String {
    let axes = Axes::new((0.0, 1.0), (0.0, 1.0), percents());
    let curve = axes.path(points.iter().map(|p| (p.false_positive_rate, p.true_positive_rate)));
    let chance = axes.path([(0.0, 0.0), (1.0, 1.0)].into_iter());
    let inner = format!(
        "<path class=\"chance\" d=\"{chance}\"/><path class=\"curve\" id=\"trade-off\" d=\"{curve}\"/>"
    );
    let words = Words {
        id: "trade-off",
        title: "What the best attacker can do",
        caption: "No attacker lies above the curve at its points, one for each percent. The dashed line is guessing.",
        x: "accuses wrongly (false-positive rate)",
        y: "detects (true-positive rate)",
    };
    axes.svg(&words, &inner)
}

/// Percent from zero to one hundred, for both axes.
fn percents() -> Ticks {
    let ticks: Vec<(f64, String)> =
        (0..=4).map(|i| (f64::from(i) / 4.0, format!("{} %", 25 * i))).collect();
    Ticks { x: ticks.clone(), y: ticks }
}

/// How well scores tell positive rows from negative ones.
pub(super) fn roc(points: &[(f64, f64)]) -> String {
    let axes = Axes::new((0.0, 1.0), (0.0, 1.0), percents());
    let curve = axes.path(points.iter().copied());
    let chance = axes.path([(0.0, 0.0), (1.0, 1.0)].into_iter());
    let inner = format!(
        "<path class=\"chance\" d=\"{chance}\"/><path class=\"curve\" id=\"roc\" d=\"{curve}\"/>"
    );
    let words = Words {
        id: "roc",
        title: "The ROC curve of the model",
        caption: "For each threshold, the share of positive rows found against the share of negative rows taken for positive. The dashed line is guessing.",
        x: "false-positive rate",
        y: "true-positive rate",
    };
    axes.svg(&words, &inner)
}

/// Observed against predicted, a dot for each bin: of `probabilities`, or of a regression.
pub(super) fn calibration(bins: &[(f64, f64)], probabilities: bool) -> String {
    let ends = |of: fn(&(f64, f64)) -> f64| {
        let values = bins.iter().map(of);
        (values.clone().fold(f64::INFINITY, f64::min), values.fold(f64::NEG_INFINITY, f64::max))
    };
    let ((x0, x1), (y0, y1)) = (ends(|bin| bin.0), ends(|bin| bin.1));
    let (low, mut high) = if probabilities { (0.0, 1.0) } else { (x0.min(y0), x1.max(y1)) };
    if high <= low {
        high = low + 1.0;
    }
    let ticks = if probabilities {
        percents()
    } else {
        let at = |i: i32| low + 0.25 * f64::from(i) * (high - low);
        let ticks: Vec<(f64, String)> = (0..=4).map(|i| (at(i), about(at(i)))).collect();
        // Long labels need the room of two.
        let step = if ticks.iter().any(|(_, label)| label.len() > 5) { 2 } else { 1 };
        Ticks { x: ticks.iter().step_by(step).cloned().collect(), y: ticks }
    };
    let axes = Axes::new((low, high), (low, high), ticks);
    let right = axes.path([(low, low), (high, high)].into_iter());
    let line = axes.path(bins.iter().copied());
    let mut inner = format!(
        "<path class=\"chance\" d=\"{right}\"/><path class=\"curve\" id=\"calibration\" d=\"{line}\"/>"
    );
    for (predicted, observed) in bins {
        _ = write!(
            inner,
            "<circle class=\"point\" cx=\"{:.2}\" cy=\"{:.2}\" r=\"4\"/>",
            axes.left(*predicted),
            axes.top(*observed)
        );
    }
    let words = Words {
        id: "calibration",
        title: "Whether predictions mean what they say",
        caption: "Mean of what was observed against the mean prediction, in bins of like predictions. On the dashed line they agree.",
        x: "predicted",
        y: "observed",
    };
    axes.svg(&words, &inner)
}

/// Powers of ten shown below and above the stated delta.
const DECADES: f64 = 6.0;

/// Where the axis of delta ends, as powers of ten.
pub(super) fn decades(delta: f64) -> (f64, f64) {
    let middle = if delta > 0.0 { delta.log10().round() } else { -9.0 };
    (middle - DECADES, (middle + DECADES).min(0.0))
}

/// Delta, on a scale of powers of ten, against epsilon; the dot is what is promised.
pub(super) fn profile(points: &[(f64, f64)], promised: (f64, f64)) -> String {
    let (low, high) = decades(promised.1);
    let most = points.last().map_or(1.0, |p| p.0);
    let x = (0..=4).map(|i| 0.25 * f64::from(i) * most).map(|e| (e, about(e))).collect();
    let y = (0..=4)
        .map(|i| (low + 0.25 * f64::from(i) * (high - low)).round())
        .map(|power| (power, format!("1e{power}")))
        .collect();
    let axes = Axes::new((0.0, most), (low, high), Ticks { x, y });
    let visible = points.iter().filter(|(_, delta)| *delta > 0.0 && delta.log10() >= low);
    let curve = axes.path(visible.map(|(e, d)| (*e, d.log10().min(high))));
    let dot = if promised.1 > 0.0 {
        format!(
            "<circle class=\"point\" id=\"promised\" cx=\"{:.2}\" cy=\"{:.2}\" r=\"5\"/>",
            axes.left(promised.0),
            axes.top(promised.1.log10())
        )
    } else {
        String::new()
    };
    let inner = format!("<path class=\"curve\" id=\"profile\" d=\"{curve}\"/>{dot}");
    let words = Words {
        id: "profile",
        title: "The privacy profile",
        caption: "For each epsilon, the least delta for which (epsilon, delta) is proven. The dot is the promise; the curve passes at or below it.",
        x: "epsilon",
        y: "delta",
    };
    axes.svg(&words, &inner)
}

/// Weights as bars around zero, with a band of twice the noise where it is known.
pub(super) fn weights(bars: &[(String, f64)], noise: Option<f64>) -> String {
    const BAR: f64 = 20.0;
    // Names fit in the larger letters of a small screen too.
    const NAMES: f64 = 240.0;
    const LONGEST: usize = 22;
    let height = BAR * bars.len() as f64 + 26.0;
    let twice = 2.0 * noise.unwrap_or(0.0);
    let reach = bars.iter().map(|b| b.1.abs()).fold(twice, f64::max).max(1e-300);
    let x = |w: f64| NAMES + 8.0 + (w / reach + 1.0) * 0.5 * (WIDTH - NAMES - 16.0);
    let foot = height - 22.0;
    let mut inner = String::new();
    if noise.is_some() {
        let (from, to) = (x(-twice), x(twice));
        _ = write!(
            inner,
            "<rect class=\"band\" id=\"noise-band\" x=\"{from:.2}\" y=\"0\" width=\"{:.2}\" height=\"{foot:.1}\"/>",
            to - from
        );
    }
    let zero = x(0.0);
    _ = write!(
        inner,
        "<line class=\"axis\" x1=\"{zero:.2}\" y1=\"0\" x2=\"{zero:.2}\" y2=\"{foot:.1}\"/>"
    );
    for (i, (name, weight)) in bars.iter().enumerate() {
        let y = BAR * i as f64 + 4.0;
        let short = if name.chars().count() > LONGEST {
            name.chars().take(LONGEST - 1).chain(['…']).collect()
        } else {
            name.clone()
        };
        _ = write!(
            inner,
            "<text x=\"{NAMES}\" y=\"{:.1}\" text-anchor=\"end\">{}</text><rect class=\"bar\" x=\"{:.2}\" y=\"{y:.1}\" width=\"{:.2}\" height=\"12\"/>",
            y + 11.0,
            escape(&short),
            x(weight.min(0.0)),
            (x(weight.abs()) - zero).max(0.5),
        );
    }
    for (w, anchor) in [(-reach, "start"), (0.0, "middle"), (reach, "end")] {
        _ = write!(
            inner,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
            x(w),
            height - 4.0,
            about(w)
        );
    }
    let caption = match noise {
        Some(_) => {
            "The largest coefficients. The band is twice the noise: a bar that ends inside it may be noise alone."
        }
        None => "The largest coefficients.",
    };
    format!(
        "<figure><svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-labelledby=\"weights-title\" id=\"weights-figure\" data-x=\"{:.2} {:.2} {:e} {:e}\">\
         <title id=\"weights-title\">The largest coefficients; the table below has the numbers</title>{inner}</svg>\
         <figcaption>{caption}</figcaption></figure>\n",
        x(-reach),
        x(reach),
        -reach,
        reach
    )
}

/// The privacy cost of each stage, as a bar with its number; the last is the total.
pub(super) fn stages(bars: &[(String, f64)]) -> String {
    const STAGE: f64 = 46.0;
    const NUMBER: f64 = 84.0;
    let reach = bars.iter().map(|b| b.1).fold(1e-300, f64::max);
    let height = STAGE * bars.len() as f64;
    let mut inner = String::new();
    for (i, (name, epsilon)) in bars.iter().enumerate() {
        let top = STAGE * i as f64;
        let width = (epsilon / reach * (WIDTH - NUMBER)).max(0.5);
        _ = write!(
            inner,
            "<text x=\"0\" y=\"{:.1}\">{}</text><rect class=\"{}\" x=\"0\" y=\"{:.1}\" width=\"{width:.2}\" height=\"14\"/><text x=\"{:.2}\" y=\"{:.1}\">{}</text>",
            top + 16.0,
            escape(name),
            if i + 1 == bars.len() { "bar" } else { "stage" },
            top + 23.0,
            width + 8.0,
            top + 35.0,
            at_most(*epsilon),
        );
    }
    format!(
        "<figure><svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-labelledby=\"stages-title\" id=\"stages-figure\" data-x=\"0 {:.2} 0 {reach:e}\">\
         <title id=\"stages-title\">Privacy cost by stage</title>{inner}</svg>\
         <figcaption>Epsilon of each stage alone, at the promised delta. Together they compose to the total, which is less than their sum.</figcaption></figure>\n",
        WIDTH - NUMBER
    )
}
