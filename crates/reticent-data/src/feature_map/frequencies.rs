//! A map written out, for those who compute features elsewhere.

use super::{FeatureMap, Frequencies};

impl FeatureMap {
    /// The coordinates of each frequency, one for each input: their product with a row of inputs is
    /// its angle. Blocks of transforms are multiplied out, unit vector by unit vector.
    pub fn frequencies(&self) -> Vec<Vec<f64>> {
        let mut found = vec![vec![0.0; self.inputs]; self.law.frequencies()];
        match &self.frequencies {
            Frequencies::Matrix(matrix) => {
                for (j, frequency) in found.iter_mut().enumerate() {
                    for (i, coordinate) in frequency.iter_mut().enumerate() {
                        *coordinate = f64::from(matrix.coordinate(j, i));
                    }
                }
            }
            Frequencies::Blocks(blocks) => {
                let mut angles = vec![0.0; self.width];
                let mut spare = vec![0.0; self.width];
                for (block, found) in blocks.iter().zip(found.chunks_mut(self.width)) {
                    for input in 0..self.inputs {
                        let mut unit = vec![0.0; self.width];
                        unit[input] = 1.0;
                        block.angles(&unit, &mut angles, &mut spare);
                        for (frequency, angle) in found.iter_mut().zip(&angles) {
                            frequency[input] = f64::from(*angle);
                        }
                    }
                }
            }
        }
        found
    }

    /// Offsets of the angles before their cosine is taken, in the cosine form; else empty.
    pub fn phases(&self) -> &[f32] {
        &self.head.phases
    }

    /// The factor of each cosine and sine.
    pub fn scale(&self) -> f32 {
        self.head.scale
    }
}
