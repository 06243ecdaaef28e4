//! Signatures: who stands behind a file.
//!
//! A certificate can be recomputed by anyone and written by anyone. A signature says who wrote it.
//! It is OpenSSH's own format (SSHSIG, namespace [`NAMESPACE`]) in a file beside the one that is
//! signed, so `ssh-keygen -Y sign` and `ssh-keygen -Y verify` read and write the same signatures,
//! keys that people already have serve, and a list of allowed signers says which key is whose
//! ([`AllowedSigners`]).
//!
//! The signature covers the file's bytes: a model, a report, or anything else.

mod allowed;
mod time;

use std::fs;
use std::path::{Path, PathBuf};

use ssh_key::{Fingerprint, HashAlg, LineEnding, PrivateKey, PublicKey, SshSig};

use crate::verify::Check;
use crate::{Error, write_atomically};

pub use allowed::AllowedSigners;

/// The purpose of a signature: one for another purpose is not accepted in its place.
pub const NAMESPACE: &str = "reticent";

/// How a file of a signature begins.
const BEGINS: &[u8] = b"-----BEGIN SSH SIGNATURE-----";

/// The name of the check.
pub(crate) const CHECK: &str = "signed by an allowed signer";

/// Where the signature of a file is looked for, unless another place is named.
pub fn beside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".sig");
    name.into()
}

/// Signs a file with an OpenSSH private key and writes the signature [`beside`] it.
///
/// # Errors
///
/// [`Error::Signature`] if the key cannot be read, is protected by a passphrase or of a kind that
/// is not supported; [`Error::File`], also if the place of the signature is taken by another file.
pub fn sign(file: &Path, key: &Path) -> Result<PathBuf, Error> {
    let contents = read(file)?;
    let refuse = |why: String| Error::Signature { file: key.display().to_string(), why };
    let text = read(key)?;
    if text.starts_with(b"ssh-") || text.starts_with(b"ecdsa-") {
        return Err(refuse("it is a public key; name the private one".to_owned()));
    }
    let private = PrivateKey::from_openssh(&text).map_err(|_| {
        refuse(
            "it is not a private key in OpenSSH's format; make one with `ssh-keygen -t ed25519`"
                .to_owned(),
        )
    })?;
    if private.is_encrypted() {
        return Err(refuse(format!(
            "it is protected by a passphrase, which Reticent does not ask for; `ssh-keygen -Y sign -n {NAMESPACE} -f {} {}` does, and writes the same file",
            key.display(),
            file.display()
        )));
    }
    let signature = private.sign(NAMESPACE, HashAlg::Sha512, &contents).map_err(|_| {
        refuse(format!(
            "keys of the kind {} are not supported; use one of ssh-ed25519 or ecdsa-sha2-nistp256, or sign with `ssh-keygen -Y sign -n {NAMESPACE}`",
            private.algorithm()
        ))
    })?;
    let pem = signature
        .to_pem(LineEnding::LF)
        .map_err(|e| refuse(format!("the signature cannot be written ({e})")))?;
    let out = beside(file);
    if fs::read(&out).is_ok_and(|there| !there.starts_with(BEGINS)) {
        return Err(Error::File {
            verb: "write",
            file: out.display().to_string(),
            why: "it is there and is not a signature, so it is not replaced; move it away"
                .to_owned(),
        });
    }
    write_atomically(&out, pem.as_bytes())?;
    Ok(out)
}

/// Who must have signed a file, and where the signature is.
#[derive(Clone, Debug)]
pub struct Signers {
    /// Names and their keys.
    pub allowed: AllowedSigners,
    /// The one that must have signed; any of them if none is named.
    pub signer: Option<String>,
    /// The file with the signature.
    pub signature: PathBuf,
}

impl Signers {
    /// Whether one of them signed `contents`.
    pub fn check(&self, contents: &[u8]) -> Check {
        check(contents, &self.signature, &self.allowed, self.signer.as_deref())
    }
}

/// Whether the signature in a file is one of `contents` by an allowed signer, now.
pub fn check(
    contents: &[u8],
    signature: &Path,
    allowed: &AllowedSigners,
    signer: Option<&str>,
) -> Check {
    match signed_by(contents, signature, allowed, signer, time::now()) {
        Ok(found) => Check::new(CHECK, true, found),
        Err(why) => Check::new(CHECK, false, why),
    }
}

fn signed_by(
    contents: &[u8],
    signature: &Path,
    allowed: &AllowedSigners,
    signer: Option<&str>,
    now: u64,
) -> Result<String, String> {
    let file = signature.display();
    let text = fs::read(signature)
        .map_err(|e| format!("cannot read `{file}`: {e}; make it with `reticent sign`"))?;
    let parsed =
        SshSig::from_pem(&text).map_err(|_| format!("`{file}` is not an SSH signature"))?;
    if parsed.namespace() != NAMESPACE {
        return Err(format!(
            "`{file}` was made for another purpose; sign with the namespace `{NAMESPACE}`"
        ));
    }
    let key = PublicKey::from(parsed.public_key().clone());
    let fingerprint = key.fingerprint(HashAlg::Sha256);
    key.verify(NAMESPACE, contents, &parsed).map_err(|_| mismatch(&key, fingerprint))?;
    let name = allowed.signer_of(key.key_data(), signer, now)?;
    Ok(format!("{name}, {} key {fingerprint}", key.algorithm()))
}

/// Why a signature does not verify: a kind of key that is not supported is no forgery.
fn mismatch(key: &PublicKey, fingerprint: Fingerprint) -> String {
    let algorithm = key.algorithm();
    if matches!(
        algorithm.as_str(),
        "ssh-ed25519" | "sk-ssh-ed25519@openssh.com" | "ecdsa-sha2-nistp256"
    ) {
        format!(
            "the file is not what the key {fingerprint} signed; it was altered, or the signature is another file's"
        )
    } else {
        format!(
            "signatures by keys of the kind {algorithm} are not supported; check it with `ssh-keygen -Y verify -n {NAMESPACE}`, or sign with an ssh-ed25519 key"
        )
    }
}

fn read(file: &Path) -> Result<Vec<u8>, Error> {
    fs::read(file).map_err(|e| Error::File {
        verb: "read",
        file: file.display().to_string(),
        why: e.to_string(),
    })
}
