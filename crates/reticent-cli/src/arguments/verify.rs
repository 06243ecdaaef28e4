//! Commands about what a file shows, and who stands behind it.

use std::path::{Path, PathBuf};

use clap::Args;
use reticent::Error;
use reticent::signature::{self, AllowedSigners, Signers};

#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    /// The model file; with --allowed-signers any signed file
    pub(crate) file: PathBuf,
    /// The ledger that paid for the model: compare payment, charge and digest with its record
    #[arg(long, value_name = "FILE")]
    pub(crate) ledger: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) signers: SignersArgs,
}

/// Who must have signed the file.
#[derive(Args, Debug)]
pub(crate) struct SignersArgs {
    /// Check the file's signature against this list of names and public keys, in OpenSSH's format
    #[arg(long, value_name = "FILE")]
    allowed_signers: Option<PathBuf>,
    /// The name in the list that must have signed; any of them if not given
    #[arg(long, value_name = "NAME", requires = "allowed_signers")]
    signer: Option<String>,
    /// The signature; the file's name with .sig if not given
    #[arg(long, value_name = "FILE", requires = "allowed_signers")]
    signature: Option<PathBuf>,
}

impl SignersArgs {
    /// The signers of `file`, if a list was named.
    pub(crate) fn of(&self, file: &Path) -> Result<Option<Signers>, Error> {
        let Some(list) = &self.allowed_signers else { return Ok(None) };
        Ok(Some(Signers {
            allowed: AllowedSigners::load(list)?,
            signer: self.signer.clone(),
            signature: self.signature.clone().unwrap_or_else(|| signature::beside(file)),
        }))
    }

    /// The files that are read.
    pub(crate) fn files(&self) -> [(&'static str, Option<&Path>); 2] {
        [
            ("--allowed-signers", self.allowed_signers.as_deref()),
            ("--signature", self.signature.as_deref()),
        ]
    }
}

#[derive(Args, Debug)]
pub(crate) struct SignArgs {
    /// The file to sign: a model, a report, any other
    pub(crate) file: PathBuf,
    /// An OpenSSH private key without a passphrase: ssh-ed25519 or ecdsa-sha2-nistp256
    #[arg(long, value_name = "FILE")]
    pub(crate) key: PathBuf,
}
