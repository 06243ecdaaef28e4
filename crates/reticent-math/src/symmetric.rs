//! Symmetric matrices of a few hundred rows: eigenvectors, and systems with a positive definite
//! one.
//!
//! Written out here so that a table that `verify` recomputes has the same bits on every machine:
//! additions and products in one order, no parallel part, no choice by processor.

/// A square matrix, row after row.
#[derive(Clone, Debug, PartialEq)]
pub struct Square {
    /// Rows.
    pub size: usize,
    /// Row after row.
    pub entries: Vec<f64>,
}

impl Square {
    /// The matrix of these entries.
    pub fn new(size: usize, entries: Vec<f64>) -> Self {
        debug_assert_eq!(entries.len(), size * size);
        Self { size, entries }
    }

    /// A row.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.entries[i * self.size..(i + 1) * self.size]
    }

    /// The entries on the diagonal.
    pub fn diagonal(&self) -> Vec<f64> {
        (0..self.size).map(|i| self.entries[i * self.size + i]).collect()
    }

    /// `xᵀ M x`.
    pub fn form(&self, x: &[f64]) -> f64 {
        (0..self.size).map(|i| x[i] * dot(self.row(i), x)).sum()
    }

    /// Eigenvalues, and eigenvectors as rows, of a symmetric matrix, by Jacobi's rotations.
    pub fn eigen(mut self) -> (Vec<f64>, Self) {
        const SWEEPS: usize = 60;
        let n = self.size;
        let mut vectors = vec![0.0; n * n];
        (0..n).for_each(|i| vectors[i * n + i] = 1.0);
        let total: f64 = self.entries.iter().map(|x| x * x).sum();
        for _ in 0..SWEEPS {
            let off: f64 = (0..n).flat_map(|i| &self.row(i)[i + 1..]).map(|x| x * x).sum();
            if off <= 1e-30 * total {
                break;
            }
            for p in 0..n {
                for q in p + 1..n {
                    self.rotate(p, q, &mut vectors);
                }
            }
        }
        let values = (0..n).map(|i| self.entries[i * n + i]).collect();
        (values, Self::new(n, vectors))
    }

    /// Makes the entry at `(p, q)` zero.
    fn rotate(&mut self, p: usize, q: usize, vectors: &mut [f64]) {
        let (n, a) = (self.size, &mut self.entries);
        let between = a[p * n + q];
        if between == 0.0 {
            return;
        }
        let slope = (a[q * n + q] - a[p * n + p]) / (2.0 * between);
        let t = slope.signum() / (slope.abs() + (1.0 + slope * slope).sqrt());
        let c = 1.0 / (1.0 + t * t).sqrt();
        let s = t * c;
        for k in 0..n {
            let (x, y) = (a[k * n + p], a[k * n + q]);
            (a[k * n + p], a[k * n + q]) = (c * x - s * y, s * x + c * y);
        }
        for k in 0..n {
            let (x, y) = (a[p * n + k], a[q * n + k]);
            (a[p * n + k], a[q * n + k]) = (c * x - s * y, s * x + c * y);
            let (x, y) = (vectors[p * n + k], vectors[q * n + k]);
            (vectors[p * n + k], vectors[q * n + k]) = (c * x - s * y, s * x + c * y);
        }
    }

    /// The factor `L` of `L Lᵀ`; none if the matrix is not positive definite.
    pub fn cholesky(mut self) -> Option<Self> {
        let (n, a) = (self.size, &mut self.entries);
        for i in 0..n {
            for j in 0..=i {
                let sum = a[i * n + j] - dot(&a[i * n..i * n + j], &a[j * n..j * n + j]);
                if i == j {
                    if sum <= 0.0 || sum.is_nan() {
                        return None;
                    }
                    a[i * n + i] = sum.sqrt();
                } else {
                    a[i * n + j] = sum / a[j * n + j];
                }
            }
        }
        Some(self)
    }

    /// The least eigenvalue of `L Lᵀ`, for a factor `L`, by inverse iteration from a unit vector.
    pub fn least_eigenvalue(&self, start: usize, iterations: usize) -> f64 {
        let mut v = vec![0.0; self.size];
        v[start] = 1.0;
        let mut value = 0.0;
        for _ in 0..iterations {
            self.solve(&mut v);
            let length = dot(&v, &v).sqrt();
            for x in &mut v {
                *x /= length;
            }
            value = 1.0 / length;
        }
        value
    }

    /// Solves `L Lᵀ x = b` in place, for a factor `L`.
    pub fn solve(&self, b: &mut [f64]) {
        let n = self.size;
        for i in 0..n {
            b[i] = (b[i] - dot(&self.row(i)[..i], &b[..i])) / self.row(i)[i];
        }
        for i in (0..n).rev() {
            let sum: f64 = (i + 1..n).map(|k| self.entries[k * n + i] * b[k]).sum();
            b[i] = (b[i] - sum) / self.row(i)[i];
        }
    }
}

/// The scalar product.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn eigenvectors_and_solutions_are_those_of_the_matrix() {
        let n = 7;
        let ridge = |i: usize, j: usize| if i == j { 0.1 * (i + 1) as f64 } else { 0.0 };
        let at = |i: usize, j: usize| 1.0 / (1.0 + (i + j) as f64) + ridge(i, j);
        let entries = (0..n * n).map(|k| at(k / n, k % n)).collect();
        let matrix = Square::new(n, entries);
        let (values, vectors) = matrix.clone().eigen();
        for (i, value) in values.iter().enumerate() {
            let v = vectors.row(i);
            for j in 0..n {
                assert!((dot(matrix.row(j), v) - value * v[j]).abs() < 1e-13);
                let want = f64::from(u8::from(i == j));
                assert!((dot(v, vectors.row(j)) - want).abs() < 1e-13);
            }
        }
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let found = matrix.clone().cholesky().unwrap().least_eigenvalue(n - 1, 200);
        assert!((found - least).abs() < 1e-9, "{found} {least}");
        let b: Vec<f64> = (0..n).map(|i| i as f64 - 2.5).collect();
        let mut x = b.clone();
        matrix.clone().cholesky().unwrap().solve(&mut x);
        for (i, b) in b.iter().enumerate() {
            assert!((dot(matrix.row(i), &x) - b).abs() < 1e-11);
        }
        assert!(Square::new(2, vec![1.0, 2.0, 2.0, 1.0]).cholesky().is_none());
    }
}
