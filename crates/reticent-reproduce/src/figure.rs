//! Lines over a logarithmic axis, as an SVG file that needs nothing else.

use std::fmt::Write;

/// One line: its name, its points, and whether it is dashed.
pub(super) struct Series {
    pub(super) name: String,
    pub(super) points: Vec<(f64, f64)>,
    /// Which colour; a dashed line shares the colour of the solid one that it is compared with.
    pub(super) color: usize,
    pub(super) dashed: bool,
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 170.0;
const BOTTOM: f64 = 50.0;
const TOP: f64 = 40.0;
const COLORS: [&str; 4] = ["#1f5fbf", "#c0392b", "#1e8449", "#7d3c98"];

/// The figure. `x` must be positive.
pub(super) fn lines(title: &str, x_name: &str, y_name: &str, series: &[Series]) -> String {
    let all = || series.iter().flat_map(|s| s.points.iter());
    let (mut low_x, mut high_x, mut low_y, mut high_y) =
        (f64::INFINITY, 0.0_f64, f64::INFINITY, f64::NEG_INFINITY);
    for (x, y) in all() {
        (low_x, high_x) = (low_x.min(*x), high_x.max(*x));
        (low_y, high_y) = (low_y.min(*y), high_y.max(*y));
    }
    (low_y, high_y) = (low_y.floor(), high_y.ceil().max(low_y.floor() + 1.0));
    let span = (high_x / low_x).ln().max(1e-9);
    let x = |v: f64| LEFT + (v / low_x).ln() / span * (WIDTH - LEFT - RIGHT);
    let y = |v: f64| HEIGHT - BOTTOM - (v - low_y) / (high_y - low_y) * (HEIGHT - BOTTOM - TOP);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\" font-family=\"system-ui, sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n<text x=\"{LEFT}\" y=\"20\" font-size=\"14\">{title}</text>\n"
    );
    let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    _ = writeln!(
        svg,
        "<path d=\"M{LEFT},{TOP} V{bottom} H{right}\" fill=\"none\" stroke=\"#5b6475\"/>"
    );
    let mut ticks: Vec<f64> = all().map(|(x, _)| *x).collect();
    ticks.sort_by(f64::total_cmp);
    ticks.dedup();
    let mut last = f64::NEG_INFINITY;
    for tick in ticks.into_iter().filter(|t| x(*t).is_finite()) {
        // A label that would run into the one before is left out.
        if x(tick) - last > 26.0 {
            last = x(tick);
            _ = writeln!(
                svg,
                "<text x=\"{last:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{tick}</text>",
                bottom + 18.0
            );
        }
    }
    for i in 0..=4 {
        let v = low_y + (high_y - low_y) * f64::from(i) / 4.0;
        _ = writeln!(
            svg,
            "<path d=\"M{LEFT},{0:.1} H{right}\" stroke=\"#d5d9e2\"/><text x=\"{1:.1}\" y=\"{2:.1}\" text-anchor=\"end\">{v:.1}</text>",
            y(v),
            LEFT - 8.0,
            y(v) + 4.0
        );
    }
    for (i, line) in series.iter().enumerate() {
        let color = COLORS[line.color % COLORS.len()];
        let dash = if line.dashed { " stroke-dasharray=\"5 4\"" } else { "" };
        let path: Vec<String> =
            line.points.iter().map(|(a, b)| format!("{:.1},{:.1}", x(*a), y(*b))).collect();
        _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2\"{dash}/>",
            path.join(" ")
        );
        let at = TOP + 18.0 * i as f64;
        _ = writeln!(
            svg,
            "<path d=\"M{0:.1},{at:.1} h24\" stroke=\"{color}\" stroke-width=\"2\"{dash}/><text x=\"{1:.1}\" y=\"{2:.1}\">{3}</text>",
            right + 12.0,
            right + 42.0,
            at + 4.0,
            line.name
        );
    }
    _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{x_name}</text>\n<text x=\"16\" y=\"{2:.1}\" text-anchor=\"middle\" transform=\"rotate(-90 16 {2:.1})\">{y_name}</text>\n</svg>",
        f64::midpoint(LEFT, right),
        HEIGHT - 12.0,
        f64::midpoint(TOP, bottom)
    );
    svg
}
