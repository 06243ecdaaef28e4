//! `reticent sign`.

use std::process::ExitCode;

use reticent::Error;
use reticent::signature::sign;
use serde_json::json;

use crate::arguments::SignArgs;
use crate::output;

pub(super) fn run(args: &SignArgs, json: bool) -> Result<ExitCode, Error> {
    let signature = sign(&args.file, &args.key)?;
    if json {
        output::json(&json!({ "file": args.file, "signature": signature }));
    } else {
        output::line(&format!(
            "wrote {}; check it with `reticent verify {} --allowed-signers FILE`",
            signature.display(),
            args.file.display()
        ));
    }
    Ok(ExitCode::SUCCESS)
}
