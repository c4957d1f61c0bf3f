//! Encryption without C: rustls with the cryptography of graviola, and the certificates that the system trusts.

use askbox_mailbox::Result;
use ureq::tls::TlsConfig;

/// The configuration for `https`.
pub(super) fn config() -> Result<TlsConfig> {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    {
        use ureq::tls::{Certificate, RootCerts, TlsProvider};
        // A certificate that cannot be read is left out. If no certificate is left, the connection fails.
        let found = rustls_native_certs::load_native_certs().certs;
        let certificates: Vec<_> = found.iter().map(|der| Certificate::from_der(der.as_ref()).to_owned()).collect();
        Ok(TlsConfig::builder()
            .provider(TlsProvider::Rustls)
            .root_certs(RootCerts::new_with_certs(&certificates))
            .unversioned_rustls_crypto_provider(std::sync::Arc::new(rustls_graviola::default_provider()))
            .build())
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    Err(askbox_mailbox::error::Error::failed(
        "this ask-agent has no encryption for this processor",
        "let a proxy on this machine encrypt, and set ANTHROPIC_BASE_URL to its http:// address",
    ))
}
