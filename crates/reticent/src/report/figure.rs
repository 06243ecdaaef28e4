//! Inline SVG.

use std::fmt::Write;

use reticent_privacy::tradeoff::TradeOff;

const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 380.0;
const MARGIN: f64 = 50.0;

/// True-positive against false-positive rate, both in `[0, 1]`.
pub(super) fn trade_off(points: &[TradeOff]) -> String {
    let x = |a: f64| MARGIN + a * (WIDTH - 2.0 * MARGIN);
    let y = |b: f64| HEIGHT - MARGIN - b * (HEIGHT - 2.0 * MARGIN);
    let mut path = String::new();
    for (i, point) in points.iter().enumerate() {
        let (a, b) = (point.false_positive_rate, point.true_positive_rate);
        _ = write!(path, "{}{:.2},{:.2} ", if i == 0 { "M" } else { "L" }, x(a), y(b));
    }
    let mut ticks = String::new();
    for i in 0..=4 {
        let v = f64::from(i) / 4.0;
        _ = write!(
            ticks,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{v}</text><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{v}</text>",
            x(v),
            y(0.0) + 18.0,
            x(0.0) - 8.0,
            y(v) + 4.0
        );
    }
    format!(
        "<figure><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"Trade-off curve of the best attacker\">\
         <line class=\"axis\" x1=\"{0:.1}\" y1=\"{1:.1}\" x2=\"{2:.1}\" y2=\"{1:.1}\"/><line class=\"axis\" x1=\"{0:.1}\" y1=\"{1:.1}\" x2=\"{0:.1}\" y2=\"{3:.1}\"/>\
         <line class=\"chance\" x1=\"{0:.1}\" y1=\"{1:.1}\" x2=\"{2:.1}\" y2=\"{3:.1}\"/><path class=\"curve\" id=\"trade-off\" d=\"{path}\"/>{ticks}\
         <text x=\"{4:.1}\" y=\"{5:.1}\" text-anchor=\"middle\">accuses wrongly (false-positive rate)</text>\
         <text x=\"14\" y=\"{6:.1}\" text-anchor=\"middle\" transform=\"rotate(-90 14 {6:.1})\">detects (true-positive rate)</text></svg>\
         <figcaption>No attacker lies above the curve. The dashed line is guessing.</figcaption></figure>\n",
        x(0.0),
        y(0.0),
        x(1.0),
        y(1.0),
        x(0.5),
        HEIGHT - 10.0,
        y(0.5)
    )
}
