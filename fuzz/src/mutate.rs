//! Mutations of bytes, and which mutations a target gets.

use std::fmt::Write;
use std::io::Read;

use flate2::read::GzDecoder;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{corpus, json};

/// A small generator: these bytes protect nobody.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() >> 11) as usize % end.max(1)
    }
}

/// Things that parsers stumble over.
const WORDS: &[&[u8]] = &[
    b"0",
    b"-1",
    b"1e999",
    b"-1e999",
    b"NaN",
    b"inf",
    b"null",
    b"\"\"",
    b"{}",
    b"[]",
    b"[[",
    b"}}",
    b"\"",
    b"\\",
    b",",
    b":",
    b"\n",
    b"\r\n",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"18446744073709551616",
    b"-0.0",
    b"1e-400",
    b"true",
    b"#",
    b" ",
    b"\t",
    b"4294967296:1",
    b"0:1",
    b"\"bounds\"",
    b"\"columns\"",
    b"{\"kind\":\"repeated\",\"times\":9e18,\"event\":",
];

/// A good file with a few things wrong with it, its digest repaired where it has one and is JSON
/// still.
pub(crate) fn mutate(seeds: &[Vec<u8>], kind: Kind, random: &mut Random) -> Vec<u8> {
    // Bytes that are not JSON or not compressed any more end in the parser: they get one input in
    // five.
    if kind == Kind::Bytes || random.below(5) == 0 {
        return mutate_bytes(seeds, random);
    }
    if kind == Kind::Gzip {
        let plain: Vec<Vec<u8>> = seeds.iter().map(|seed| unzip(seed)).collect();
        return corpus::gzip(&mutate_bytes(&plain, random));
    }
    let seed = &seeds[random.below(seeds.len())];
    let Ok(mut value) = serde_json::from_slice::<Value>(seed) else {
        return mutate_bytes(seeds, random);
    };
    json::mutate(&mut value, random);
    if kind == Kind::Model && random.below(10) > 0 {
        repair(&mut value);
    }
    let duplicate = random.below(20) == 0;
    let text = if duplicate { json::with_duplicate(&value, random) } else { value.to_string() };
    text.into_bytes()
}

/// The format of a target's inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any bytes.
    Bytes,
    /// Compressed text.
    Gzip,
    /// JSON.
    Json,
    /// JSON with the digest of a model file.
    Model,
}

/// The input as a target gets it from one who alters files on purpose: a model file with the digest
/// of what it holds.
pub fn repaired(kind: Kind, bytes: &[u8]) -> Vec<u8> {
    match serde_json::from_slice::<Value>(bytes) {
        Ok(mut value) if kind == Kind::Model => {
            repair(&mut value);
            value.to_string().into_bytes()
        }
        _ => bytes.to_vec(),
    }
}

fn unzip(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    _ = GzDecoder::new(bytes).read_to_end(&mut plain);
    plain
}

/// Gives a model file the digest of what it holds, as one who alters it on purpose would.
fn repair(value: &mut Value) {
    let Some(map) = value.as_object_mut() else { return };
    map.remove("digest");
    let sum = Sha256::digest(value.to_string().as_bytes());
    let hex = sum.iter().fold(String::new(), |mut text, byte| {
        _ = write!(text, "{byte:02x}");
        text
    });
    value["digest"] = Value::from(format!("sha256:{hex}"));
}

fn mutate_bytes(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = seeds[random.below(seeds.len())].clone();
    // Mostly one or two: each more makes it likelier that the input ends in the parser.
    for _ in 0..=random.below(3) * random.below(3) {
        let (at, len) = (random.below(bytes.len() + 1), bytes.len());
        match random.below(10) {
            0 if at < len => bytes[at] ^= 1 << random.below(8),
            1 if at < len => bytes[at] = random.next() as u8,
            2 if at < len => {
                let end = (at + 1 + random.below(64)).min(len);
                bytes.drain(at..end);
            }
            3 => bytes.truncate(at),
            4 | 5 => {
                let word = WORDS[random.below(WORDS.len())];
                let end = if random.below(2) == 0 { at } else { (at + word.len()).min(len) };
                bytes.splice(at..end, word.iter().copied());
            }
            6 if len > 0 => {
                // A stretch of this file in another place.
                let from = random.below(len);
                let to = (from + 1 + random.below(200)).min(len);
                let stretch = bytes[from..to].to_vec();
                bytes.splice(at..at, stretch);
            }
            7 => {
                // A stretch of another file.
                let other = &seeds[random.below(seeds.len())];
                let from = random.below(other.len());
                let to = (from + 1 + random.below(200)).min(other.len());
                let stretch = other.get(from..to).unwrap_or_default().to_vec();
                bytes.splice(at..at, stretch);
            }
            8 if at + 4 <= len => {
                // A number at its end, in either order of bytes.
                let ends = [0u32, 1, 0x7fff_ffff, 0x8000_0000, u32::MAX, 0xffff, 0x0001_0000];
                let number = ends[random.below(ends.len())];
                let order =
                    if random.below(2) == 0 { number.to_le_bytes() } else { number.to_be_bytes() };
                bytes[at..at + 4].copy_from_slice(&order);
            }
            _ => bytes.insert(at, random.next() as u8),
        }
        bytes.truncate(1 << 20);
    }
    bytes
}
