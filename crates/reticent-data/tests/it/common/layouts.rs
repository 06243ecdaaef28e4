//! The same rows in every layout.

use reticent_data::{Csr, Dense, Features};

pub fn dense(x: &[Vec<f64>], d: usize) -> Features {
    Features::F64(Dense::new(x.len(), d, x.concat()))
}

pub fn single(x: &[Vec<f64>], d: usize) -> Features {
    Features::F32(Dense::new(x.len(), d, x.concat().iter().map(|v| *v as f32).collect()))
}

pub fn sparse(x: &[Vec<f64>], d: usize) -> Features {
    let (mut offsets, mut indices, mut values) = (vec![0], vec![], vec![]);
    for row in x {
        for (j, v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            indices.push(j as u32);
            values.push(*v);
        }
        offsets.push(indices.len());
    }
    Features::Sparse(Csr::new(d, offsets, indices, values))
}
