//! The least value of the objective, without privacy: Newton's method with damping.

use reticent::data::{Features, Rows, margins};
use reticent::problem::loss::{LinearLoss, LinearVisitor};
use reticent::problem::{Loss, Problem};
use serde::{Deserialize, Serialize};

/// The minimiser and how well it is known.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Minimum {
    /// `F(ŵ)`.
    pub value: f64,
    /// `‖ŵ‖`.
    pub norm: f64,
    /// `‖∇F(ŵ)‖`.
    pub gradient: f64,
}

/// The mean loss of all rows at given margins.
struct Mean<'a> {
    margins: &'a [f64],
    labels: &'a [f64],
}

impl LinearVisitor for Mean<'_> {
    type Output = f64;

    fn visit<L: LinearLoss>(self, loss: L) -> f64 {
        let sum: f64 = self.margins.iter().zip(self.labels).map(|(m, y)| loss.value(*m, *y)).sum();
        sum / self.labels.len() as f64
    }
}

/// Slopes at given margins.
struct Slopes<'a> {
    margins: &'a [f64],
    labels: &'a [f64],
}

impl LinearVisitor for Slopes<'_> {
    type Output = Vec<f64>;

    fn visit<L: LinearLoss>(self, loss: L) -> Vec<f64> {
        self.margins.iter().zip(self.labels).map(|(m, y)| loss.slope(*m, *y)).collect()
    }
}

/// `F(w)`: the average loss and the ridge.
pub fn objective(rows: &Rows, problem: &Problem, w: &[f64]) -> f64 {
    let margins = margins(rows.features(), w, 1);
    let mean = problem.loss.visit_linear(Mean { margins: &margins, labels: rows.labels() });
    mean.unwrap_or(f64::NAN) + 0.5 * problem.ridge * w.iter().map(|w| w * w).sum::<f64>()
}

/// Minimises a logistic or Huber objective over all of `R^d`, to a gradient of norm `1e-10` or
/// until rounding ends it.
pub fn minimise(rows: &Rows, problem: &Problem) -> Minimum {
    const MOST: usize = 10_000;
    let d = problem.dimension();
    let mut w = vec![0.0; d];
    let mut value = objective(rows, problem, &w);
    let (mut gradient, mut hessian) = derivatives(rows, problem, &w);
    let mut damping = 1e-3;
    for _ in 0..MOST {
        if norm(&gradient) <= 1e-10 || damping > 1e12 {
            break;
        }
        let trial: Option<Vec<f64>> = solve(&hessian, damping, &gradient)
            .map(|step| w.iter().zip(&step).map(|(w, s)| w - s).collect());
        let better = trial.and_then(|trial| {
            let reached = objective(rows, problem, &trial);
            // Near the minimum values differ by rounding alone; the gradient still tells.
            let (g, h) =
                (reached <= value * (1.0 + 1e-14)).then(|| derivatives(rows, problem, &trial))?;
            (reached < value || norm(&g) < norm(&gradient)).then_some((trial, reached, g, h))
        });
        match better {
            Some(found) => {
                (w, value, gradient, hessian) = found;
                damping = (damping / 10.0).max(1e-14);
            }
            None => damping *= 10.0,
        }
    }
    Minimum { value, norm: norm(&w), gradient: norm(&gradient) }
}

/// Gradient and Hessian; of the Huber loss a generalised one.
fn derivatives(rows: &Rows, problem: &Problem, w: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (d, n) = (w.len(), rows.len() as f64);
    let margins = margins(rows.features(), w, 1);
    let slopes = problem.loss.visit_linear(Slopes { margins: &margins, labels: rows.labels() });
    let mut gradient: Vec<f64> = w.iter().map(|w| problem.ridge * w).collect();
    let mut hessian = vec![0.0; d * d];
    for j in 0..d {
        hessian[j * d + j] = problem.ridge;
    }
    let all: Vec<u32> = (0..d as u32).collect();
    for (i, slope) in slopes.unwrap_or_default().into_iter().enumerate() {
        let wide: Vec<f64>;
        let (indices, values) = match rows.features() {
            Features::Sparse(x) => x.row(i),
            Features::F64(x) => (all.as_slice(), x.row(i)),
            Features::F32(x) => {
                wide = x.row(i).iter().map(|v| f64::from(*v)).collect();
                (all.as_slice(), wide.as_slice())
            }
            Features::Mapped(x) => {
                wide = x.row(i);
                (all.as_slice(), wide.as_slice())
            }
        };
        let curvature = match problem.loss {
            Loss::Huber { threshold } => f64::from(slope.abs() < threshold),
            _ => slope.abs() * (1.0 - slope.abs()),
        } / n;
        for (&j, &v) in indices.iter().zip(values) {
            gradient[j as usize] += slope * v / n;
            let row = &mut hessian[j as usize * d..][..d];
            for (&k, &u) in indices.iter().zip(values) {
                row[k as usize] += curvature * v * u;
            }
        }
    }
    (gradient, hessian)
}

/// `(H + damping·I)⁻¹ g` by Cholesky; none if the matrix is not positive.
fn solve(hessian: &[f64], damping: f64, gradient: &[f64]) -> Option<Vec<f64>> {
    let d = gradient.len();
    let mut l = hessian.to_vec();
    for j in 0..d {
        l[j * d + j] += damping;
    }
    for j in 0..d {
        let pivot = l[j * d + j] - l[j * d..j * d + j].iter().map(|v| v * v).sum::<f64>();
        if pivot <= 0.0 || !pivot.is_finite() {
            return None;
        }
        let root = pivot.sqrt();
        l[j * d + j] = root;
        for i in j + 1..d {
            let dot: f64 = (0..j).map(|k| l[i * d + k] * l[j * d + k]).sum();
            l[i * d + j] = (l[i * d + j] - dot) / root;
        }
    }
    let mut x = gradient.to_vec();
    for i in 0..d {
        let dot: f64 = (0..i).map(|k| l[i * d + k] * x[k]).sum();
        x[i] = (x[i] - dot) / l[i * d + i];
    }
    for i in (0..d).rev() {
        let dot: f64 = (i + 1..d).map(|k| l[k * d + i] * x[k]).sum();
        x[i] = (x[i] - dot) / l[i * d + i];
    }
    Some(x)
}

fn norm(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use reticent::data::Dense;
    use reticent::problem::RowBounds;

    use super::*;

    fn rows(labels: Vec<f64>) -> Rows {
        let n = labels.len();
        let x: Vec<f64> = (0..n).flat_map(|i| [1.0, (i % 7) as f64 / 7.0 - 0.4]).collect();
        Rows::new(Features::F64(Dense::new(n, 2, x)), labels, RowBounds::new(2.0, 9.0).unwrap())
    }

    #[test]
    fn the_minimum_is_one() {
        let signs = (0..70).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
        let numbers = (0..70).map(|i| f64::from(i % 9)).collect();
        for (loss, labels) in [(Loss::Logistic, signs), (Loss::Huber { threshold: 1.0 }, numbers)]
            as [(Loss, Vec<f64>); 2]
        {
            for ridge in [0.0, 0.3] {
                let rows = rows(labels.clone());
                let problem = Problem { ridge, ..Problem::new(loss, rows.bounds(), 70, 2) };
                let best = minimise(&rows, &problem);
                assert!(best.gradient <= 1e-9, "{loss:?} {ridge}: {best:?}");
                // No point of a grid is lower: the objective is convex.
                for a in -20..=20 {
                    for b in -20..=20 {
                        let w = [f64::from(a) / 2.0, f64::from(b) / 2.0];
                        assert!(objective(&rows, &problem, &w) >= best.value - 1e-12);
                    }
                }
            }
        }
    }
}
