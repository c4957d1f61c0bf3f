//! `askbox keygen`: makes the key that signs a person's answers, and says which lines to write into which configuration.

use std::path::{Path, PathBuf};

use serde_json::json;

use askbox_cli::args::askbox_args::Keygen;
use askbox_cli::program;
use askbox_config as config;
use askbox_mailbox::{Error, IoContext, PublicKey, Result, SecretKey, disk};

/// Runs `askbox keygen`; returns the exit status.
pub fn run(args: &Keygen) -> Result<u8> {
    let name = args.name.clone().unwrap_or_else(program::user);
    if let Some(file) = &args.public {
        let public = String::from(SecretKey::read(file)?.public(&name));
        return print(args, file, &public, &format!("{public}\n"));
    }
    let file = if let Some(file) = &args.file { file.clone() } else { beside_the_configuration()? };
    let file = std::path::absolute(&file).io("find", &file)?;
    disk::create_folder(file.parent().unwrap_or(Path::new("/")))?;
    let key = SecretKey::generate();
    key.write(&file)?;
    let public = key.public(&name);
    print(args, &file, &String::from(public.clone()), &told(&file, public))
}

fn print(args: &Keygen, file: &Path, public: &str, words: &str) -> Result<u8> {
    program::print_result(args.json, &json!({ "file": file, "public": public }), words).map(|()| 0)
}

fn told(file: &Path, public: PublicKey) -> String {
    let quoted = |text: &str| toml::Value::from(text).to_string();
    format!(
        "The secret key is in {}. Keep it where no agent can read it: whoever reads it can answer in your name.\n\n\
         In the configuration of those who answer:\n\n    [answers]\n    sign_key = {}\n\n\
         In the configuration of the watcher:\n\n    [answers]\n    require_signed = true\n    trusted_keys = [{}]\n",
        file.display(),
        quoted(&file.display().to_string()),
        quoted(&String::from(public)),
    )
}

fn beside_the_configuration() -> Result<PathBuf> {
    let configuration = config::location().ok_or_else(|| Error::usage("the key has no place", "name its file: askbox keygen FILE"))?;
    Ok(configuration.with_file_name("answer.key"))
}
