//! Categories and words by their hash: a public number of buckets for names that nobody lists.
//!
//! # Rule
//!
//! The bucket of a name is `⌊K h / 2^64⌋`, with `h` the first 64 bits of SHA-256 of the seed and
//! the name. A category is one-hot over the buckets. Of a text, words (runs of letters and digits,
//! in lower case) are counted by bucket, and the counts are divided by their norm.
//!
//! # Fact (norm)
//!
//! Either adds at most 1 to the squared norm of a row, and no feature is negative. Seed and number
//! of buckets are declared without the table, so which bucket a cell falls into is a function of
//! that cell alone.

use sha2::{Digest, Sha256};

use super::spelling::number_spelled;

/// The most buckets of a column.
pub(super) const MOST_BUCKETS: usize = 1 << 20;

/// The seed where none is declared.
pub(super) const SEED: u64 = 0;

fn bucket(seed: u64, kind: u8, name: &[u8], buckets: usize) -> u32 {
    let digest = Sha256::new().chain_update(seed.to_be_bytes()).chain_update([kind]);
    let digest = digest.chain_update(name).finalize();
    let hash = u64::from_be_bytes(std::array::from_fn(|i| digest[i]));
    ((u128::from(hash) * buckets as u128) >> 64) as u32
}

/// The bucket of a category. One that spells a finite number is that number.
pub fn bucket_of_category(seed: u64, name: &[u8], buckets: usize) -> u32 {
    let number = std::str::from_utf8(name).ok().and_then(number_spelled);
    match number.filter(|number| number.is_finite()) {
        Some(number) => bucket_of_number(seed, number, buckets),
        None => bucket(seed, b't', name, buckets),
    }
}

/// The bucket of a category that is a number.
pub fn bucket_of_number(seed: u64, number: f64, buckets: usize) -> u32 {
    // Both zeros are one number.
    bucket(seed, b'n', &(number + 0.0).to_bits().to_be_bytes(), buckets)
}

/// The buckets of a text's words in rising order, each with how many words fall into it.
pub fn count_words(seed: u64, text: &str, buckets: usize) -> Vec<(u32, f64)> {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut places: Vec<u32> =
        words.map(|word| bucket(seed, b'w', word.as_bytes(), buckets)).collect();
    places.sort_unstable();
    places.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as f64)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_category_has_one_bucket_however_it_is_spelled() {
        let of = |name: &str| bucket_of_category(7, name.as_bytes(), 1000);
        for same in ["1", "1.0", "+1", "true", "TRUE", "1e0"] {
            assert_eq!(of(same), bucket_of_number(7, 1.0, 1000), "{same}");
        }
        assert_eq!(of("-0"), bucket_of_number(7, 0.0, 1000));
        assert_ne!(of("inf"), of("nan"));
        assert_ne!(of("a"), bucket_of_category(8, b"a", 1000), "the seed counts");
    }

    #[test]
    fn buckets_are_uniform() {
        // 20,000 names in 50 buckets: the statistic has 49 degrees of freedom, and exceeds 100 with
        // probability below 3e-5.
        let mut counts = [0_u32; 50];
        for i in 0..20_000 {
            counts[bucket_of_category(0, format!("name {i}").as_bytes(), 50) as usize] += 1;
        }
        let statistic: f64 = counts.iter().map(|&n| (f64::from(n) - 400.0).powi(2) / 400.0).sum();
        assert!(statistic < 100.0, "{statistic}");
    }

    #[test]
    fn words_are_counted_whatever_stands_between_them() {
        let counts = count_words(0, "Pain, PAIN -- and no_pain; Überfall 2x", 1 << 20);
        assert_eq!(counts.iter().map(|c| c.1).sum::<f64>(), 7.0);
        assert!(counts.iter().any(|c| c.1 == 3.0), "{counts:?}");
        assert!(counts.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(counts, count_words(0, "pain pain no pain and überfall 2X", 1 << 20));
        assert!(count_words(0, " ,;-- ", 8).is_empty());
    }
}
