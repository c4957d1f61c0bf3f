//! A request with the event as JSON, signed as <https://www.standardwebhooks.com> describes: `webhook-id`, `webhook-timestamp`, and
//! `webhook-signature: v1,` with the base64 of the HMAC-SHA256 over `ID.TIMESTAMP.BODY`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use sha2::Sha256;

use crate::config::Target;
use crate::document;
use crate::error::{Error, Result};
use crate::news::call::Call;
use crate::news::means::curl;
use crate::news::message::Message;

pub(super) fn call(url: &str, target: &Target, message: &Message) -> Result<Call> {
    let body = String::from_utf8(document::to_json(message)?).map_err(|e| Error::failed(e.to_string(), "report this as a bug"))?;
    let (id, at) = (message.id.to_string(), message.at.timestamp().to_string());
    let mut headers = vec![("content-type", "application/json".to_owned()), ("webhook-id", id.clone()), ("webhook-timestamp", at.clone())];
    if let Some(secret) = curl::secret("secret_file", &target.secret_file)? {
        headers.push(("webhook-signature", format!("v1,{}", sign(&secret, &format!("{id}.{at}.{body}"))?)));
    }
    Ok(curl::post(url, &headers, &body))
}

/// A secret that begins with `whsec_` is base64, as the standard writes it; any other is used as it is.
fn sign(secret: &str, text: &str) -> Result<String> {
    let key = match secret.strip_prefix("whsec_") {
        Some(encoded) => {
            STANDARD.decode(encoded).map_err(|_| Error::invalid("secret_file", "is no base64 after whsec_", "write it anew"))?
        }
        None => secret.as_bytes().to_vec(),
    };
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).map_err(|e| Error::failed(e.to_string(), "write another secret"))?;
    mac.update(text.as_bytes());
    Ok(STANDARD.encode(mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_is_that_of_the_standards_own_example() {
        // From the specification and the tests of its reference libraries.
        let text = "msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{\"test\": 2432232314}";
        let signature = sign("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", text).unwrap();
        assert_eq!(signature, "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }
}
