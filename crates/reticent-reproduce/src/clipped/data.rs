//! The data sets: which files, which encoding, and what must be said about them.

use std::path::Path;

use reticent::data::Rows;
use reticent::data::table::{Inspected, inspect};
use reticent::problem::declaration::{Declaration, Encoding, Precision};
use reticent::{Error, Task, read_rows};

use super::paper::{self, PaperTable};
use crate::read;

/// The public data sets of the paper's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dataset {
    /// Fashion-MNIST: images of clothes in 10 classes.
    FashionMnist,
    /// EMNIST: images of characters in 47 classes.
    Emnist,
    /// TweetEval Emoji: embedded tweets in 20 classes.
    Tweeteval,
}

/// Encoded rows to learn from and to measure on. The data sets are public.
pub(super) struct Data {
    pub(super) task: Task,
    pub(super) train: Rows,
    pub(super) test: Inspected,
}

impl Dataset {
    /// The name on the command line and in file names.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::FashionMnist => "fashion-mnist",
            Self::Emnist => "emnist",
            Self::Tweeteval => "tweeteval",
        }
    }

    /// The paper's table.
    pub(super) fn table(self, hidden: bool) -> &'static PaperTable {
        match self {
            Self::FashionMnist => &paper::FASHION_MNIST,
            Self::Emnist if hidden => &paper::EMNIST_NETWORK,
            Self::Emnist => &paper::EMNIST,
            Self::Tweeteval => &paper::TWEETEVAL,
        }
    }

    /// The differences from the paper's data.
    pub(super) fn remark(self) -> &'static str {
        match self {
            Self::FashionMnist => {
                "The data are the paper's: 60,000 images to learn from, 10,000 to measure on, pixels in [0, 1]."
            }
            Self::Emnist => {
                "The data are not the official balanced split, which could not be had: the images to learn from are the official test partitions of ByMerge and ByClass merged to 47 classes, mildly unbalanced and fewer, and the images to measure on are 9,424 of the official balanced ones. The numbers can be compared in kind, not one by one."
            }
            Self::Tweeteval => {
                "The features are not the paper's: 384 numbers of all-MiniLM-L6-v2 scaled to length one instead of 768 of DistilBERT, and 16,000 tweets to learn from instead of 45,000. All rows have the same length, so all Lipschitz constants are 2, the constant feature included, and the paper's larger clip norms only add noise. The numbers can be compared in kind, not one by one."
            }
        }
    }

    /// Reads and encodes the files under `folder`.
    pub(super) fn load(self, folder: &Path) -> Result<Data, Error> {
        let (schema, train, test) = match self {
            Self::FashionMnist => (
                "fashion_mnist.schema.json",
                [
                    "fashion_mnist/train-images-idx3-ubyte.gz",
                    "fashion_mnist/train-labels-idx1-ubyte.gz",
                ],
                [
                    "fashion_mnist/t10k-images-idx3-ubyte.gz",
                    "fashion_mnist/t10k-labels-idx1-ubyte.gz",
                ],
            ),
            Self::Emnist => (
                "emnist47.schema.json",
                ["emnist47/train-images-idx3-ubyte.gz", "emnist47/train-labels-idx1-ubyte.gz"],
                ["emnist47/test-images-idx3-ubyte.gz", "emnist47/test-labels-idx1-ubyte.gz"],
            ),
            Self::Tweeteval => (
                "tweeteval_emoji.schema.json",
                [
                    "tweeteval_emoji/train16k_embeddings_f16.npy",
                    "tweeteval_emoji/train16k_labels_u8.npy",
                ],
                [
                    "tweeteval_emoji/test4k_embeddings_f16.npy",
                    "tweeteval_emoji/test4k_labels_u8.npy",
                ],
            ),
        };
        let encoding = Encoding { precision: Precision::F32, ..Encoding::default() };
        let task = Task::new(Declaration::from_json(&read(&folder.join(schema))?)?, encoding);
        let [train, test] = [train, test].map(|files| files.map(|file| folder.join(file)));
        let train = read_rows(&task, &train[0], Some(&train[1]))?;
        let test = inspect(&test[0], Some(&test[1]), &task.layout()?, true)?;
        Ok(Data { task, train, test })
    }
}
