//! Commands about what a file shows, and who stands behind it.

use std::path::PathBuf;

use clap::Args;

#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    /// The model file; with --allowed-signers any signed file
    pub(crate) file: PathBuf,
    /// The ledger that paid for the model: compare payment, charge and digest with its record
    #[arg(long, value_name = "FILE")]
    pub(crate) ledger: Option<PathBuf>,
    /// Check the file's signature against this list of names and public keys, in OpenSSH's format
    #[arg(long, value_name = "FILE")]
    pub(crate) allowed_signers: Option<PathBuf>,
    /// The name in the list that must have signed; any of them if not given
    #[arg(long, value_name = "NAME", requires = "allowed_signers")]
    pub(crate) signer: Option<String>,
    /// The signature; the file's name with .sig if not given
    #[arg(long, value_name = "FILE", requires = "allowed_signers")]
    pub(crate) signature: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct SignArgs {
    /// The file to sign: a model, a report, any other
    pub(crate) file: PathBuf,
    /// An OpenSSH private key without a passphrase: ssh-ed25519 or ecdsa-sha2-nistp256
    #[arg(long, value_name = "FILE")]
    pub(crate) key: PathBuf,
}
