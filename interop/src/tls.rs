//! TLS contexts for both ends.

use crate::case::Case;
use crate::environment::Environment;
use anyhow::{Context, Result, ensure};
use boring::ssl::{SslContextBuilder, SslFiletype, SslMethod};

/// `TLS_CHACHA20_POLY1305_SHA256` (RFC 8446, appendix B.4).
const CHACHA20_POLY1305: u16 = 0x1303;

/// The server's context, with the certificate that the runner gives.
///
/// # Errors
/// A file is missing, or the key does not belong to the certificate.
pub fn server(environment: &Environment, case: Case) -> Result<SslContextBuilder> {
    let mut context = SslContextBuilder::new(SslMethod::tls())?;
    let chain = environment.certificate("cert.pem");
    context
        .set_certificate_chain_file(&chain)
        .with_context(|| format!("{} holds no certificate in PEM", chain.display()))?;
    let key = environment.certificate("priv.key");
    context
        .set_private_key_file(&key, SslFiletype::PEM)
        .with_context(|| format!("{} does not hold its private key", key.display()))?;
    restrict(&mut context, case)?;
    Ok(context)
}

/// The client's. The runner's certificates are of its own making, so none is verified.
///
/// # Errors
/// BoringSSL's.
pub fn client(case: Case) -> Result<SslContextBuilder> {
    let mut context = SslContextBuilder::new(SslMethod::tls())?;
    restrict(&mut context, case)?;
    Ok(context)
}

fn restrict(context: &mut SslContextBuilder, case: Case) -> Result<()> {
    if case == Case::Chacha20 {
        offer_only(context, &[CHACHA20_POLY1305])?;
    }
    Ok(())
}

/// Offers, and takes, these cipher suites of TLS 1.3 alone. The crate `boring` has no function for
/// it, and BoringSSL's list of ciphers by name is that of TLS 1.2.
#[expect(unsafe_code, reason = "a function of BoringSSL that has no safe wrapper")]
fn offer_only(context: &mut SslContextBuilder, suites: &[u16]) -> Result<()> {
    // SAFETY: The context is alive and not shared yet; the list is read during the call alone, and
    // there may be no flags.
    let taken = unsafe {
        boring_sys::SSL_CTX_set1_tls13_ciphers(
            context.as_ptr(),
            suites.as_ptr(),
            std::ptr::null(),
            suites.len(),
        )
    };
    ensure!(
        taken == 1,
        "BoringSSL refuses the cipher suites {suites:04x?}"
    );
    Ok(())
}
