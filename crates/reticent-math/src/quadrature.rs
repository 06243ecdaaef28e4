//! Integrals by composite Gauss–Legendre quadrature, plain or in logarithms.

use std::f64::consts::PI;

use crate::log_sum_exp;

/// Points for each panel.
const POINTS: usize = 14;

thread_local! {
    /// One for each thread: no lock that a forked child could find taken.
    static RULE: [(f64, f64); POINTS] = make_rule();
}

/// Nodes and weights of Gauss and Legendre on `[−1, 1]`.
fn rule() -> [(f64, f64); POINTS] {
    RULE.with(|rule| *rule)
}

fn make_rule() -> [(f64, f64); POINTS] {
    std::array::from_fn(|i| {
        let n = POINTS as f64;
        let mut x = (PI * (i as f64 + 0.75) / (n + 0.5)).cos();
        let mut slope = 1.0;
        for _ in 0..50 {
            let (mut last, mut here) = (1.0, x);
            for k in 2..=POINTS {
                let k = k as f64;
                (last, here) = (here, ((2.0 * k - 1.0) * x * here - (k - 1.0) * last) / k);
            }
            slope = n * (x * here - last) / (x * x - 1.0);
            let step = here / slope;
            x -= step;
            if step.abs() < 1e-16 {
                break;
            }
        }
        (x, 2.0 / ((1.0 - x * x) * slope * slope))
    })
}

/// `∫ f(x) dx` over `panels` equal panels from `from` to `to`.
pub fn integral(from: f64, to: f64, panels: usize, integrand: impl Fn(f64) -> f64) -> f64 {
    let half = 0.5 * (to - from) / panels as f64;
    let mut sum = 0.0;
    for panel in 0..panels {
        let middle = from + (2 * panel + 1) as f64 * half;
        for (node, weight) in rule() {
            sum += weight * half * integrand(middle + half * node);
        }
    }
    sum
}

/// `ln ∫ e^{f(x)} dx` over the panels between consecutive `edges`.
pub fn log_integral(edges: &[f64], log_integrand: impl Fn(f64) -> f64) -> f64 {
    let mut terms = Vec::with_capacity(edges.len() * POINTS);
    for panel in edges.windows(2) {
        let (middle, half) = (0.5 * (panel[0] + panel[1]), 0.5 * (panel[1] - panel[0]));
        if half <= 0.0 {
            continue;
        }
        for (node, weight) in rule() {
            terms.push(log_integrand(middle + half * node) + (weight * half).ln());
        }
    }
    log_sum_exp(&terms)
}

/// Edges of panels of at most `width` from `from` to `to`, finer around `bend`.
pub fn edges(from: f64, to: f64, width: f64, bend: Option<f64>) -> Vec<f64> {
    let count = ((to - from) / width).ceil().max(1.0);
    let mut edges: Vec<f64> =
        (0..=count as usize).map(|i| from + (to - from) * i as f64 / count).collect();
    if let Some(bend) = bend {
        let mut offset = width;
        for _ in 0..12 {
            edges.extend([bend - offset, bend + offset]);
            offset *= 0.5;
        }
        edges.push(bend);
    }
    edges.retain(|e| (from..=to).contains(e));
    edges.sort_by(f64::total_cmp);
    edges.dedup();
    edges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_and_the_normal_law_are_exact() {
        let cubic = log_integral(&[0.0, 1.0, 3.0], |x| 3.0 * x.ln());
        assert!((cubic - (81.0f64 / 4.0).ln()).abs() < 1e-13);
        let plain = integral(0.0, 3.0, 2, |x| x * x * x);
        assert!((plain - 81.0 / 4.0).abs() < 1e-13);
        let log = log_integral(&edges(-12.0, 12.0, 0.5, Some(0.3)), |x| -0.5 * x * x);
        assert!((log - 0.5 * (2.0 * PI).ln()).abs() < 1e-14);
    }
}
