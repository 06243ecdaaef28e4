//! A picture of the expected accuracy over epsilon: one SVG file that needs nothing else.

use std::fmt::Write;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 56.0;

/// The share of the gain retained at each epsilon, on a logarithmic axis. A point is
/// `(epsilon, share)`; a share below zero, worse than a constant answer, is drawn at zero.
pub(super) fn over_epsilon(points: &[(f64, f64)], title: &str) -> String {
    let mut points = points.to_vec();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let logs = points.iter().map(|(epsilon, _)| epsilon.log10());
    let (low, high) =
        logs.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    let x = |epsilon: f64| {
        let share = if high > low { (epsilon.log10() - low) / (high - low) } else { 0.5 };
        LEFT + share * (WIDTH - LEFT - RIGHT)
    };
    let y = |share: f64| HEIGHT - BOTTOM - share.clamp(0.0, 1.0) * (HEIGHT - BOTTOM - TOP);
    let mut inner = String::new();
    for quarter in 0..=4 {
        let share = f64::from(quarter) / 4.0;
        _ = write!(
            inner,
            "<line x1=\"{LEFT}\" y1=\"{0:.1}\" x2=\"{1:.1}\" y2=\"{0:.1}\" stroke=\"#d5d9e2\"/><text x=\"{2:.1}\" y=\"{3:.1}\" text-anchor=\"end\">{4} %</text>",
            y(share),
            WIDTH - RIGHT,
            LEFT - 8.0,
            y(share) + 4.0,
            25 * quarter,
        );
    }
    let mut path = String::new();
    for (i, (epsilon, share)) in points.iter().enumerate() {
        let (at, up) = (x(*epsilon), y(*share));
        _ = write!(path, "{}{at:.1},{up:.1} ", if i == 0 { "M" } else { "L" });
        _ = write!(
            inner,
            "<circle cx=\"{at:.1}\" cy=\"{up:.1}\" r=\"4\" fill=\"#1f5fbf\"/><text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{:.0} %</text><text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{epsilon}</text>",
            up - 10.0,
            100.0 * share,
            HEIGHT - BOTTOM + 20.0,
        );
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" font-family=\"system-ui, sans-serif\" font-size=\"13\">\n\
         <title>{title}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text x=\"{LEFT}\" y=\"22\" font-size=\"15\">{title}</text>\n{inner}\n\
         <path d=\"{path}\" fill=\"none\" stroke=\"#1f5fbf\" stroke-width=\"2.5\"/>\n\
         <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">epsilon (0 %: a constant answer, 100 %: no privacy; simulated)</text>\n</svg>\n",
        0.5 * (LEFT + WIDTH - RIGHT),
        HEIGHT - 14.0,
    )
}

#[cfg(test)]
mod tests {
    use super::over_epsilon;

    #[test]
    fn points_rise_with_their_share_and_stand_in_the_order_of_epsilon() {
        let svg = over_epsilon(&[(1.0, 0.9), (0.1, -0.2), (10.0, 1.0)], "t");
        let circles: Vec<(f64, f64)> = svg
            .split("<circle cx=\"")
            .skip(1)
            .map(|part| {
                let numbers: Vec<f64> =
                    part.split('"').filter_map(|word| word.parse().ok()).collect();
                (numbers[0], numbers[1])
            })
            .collect();
        assert_eq!(circles.len(), 3);
        assert!(circles.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 > w[1].1), "{circles:?}");
        // Decades are as far apart as they should be, and a share below zero is drawn at zero.
        let gaps = (circles[1].0 - circles[0].0, circles[2].0 - circles[1].0);
        assert!((gaps.0 - gaps.1).abs() < 0.2 && (circles[0].1 - 344.0).abs() < 0.1, "{circles:?}");
        assert!(over_epsilon(&[(1.0, 0.5)], "t").contains("<circle"));
    }
}
