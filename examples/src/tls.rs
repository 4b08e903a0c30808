//! TLS contexts for both ends.

use anyhow::{Context, Result, bail, ensure};
use boring::pkey::{PKey, Private};
use boring::ssl::{SslContextBuilder, SslMethod, SslRef};
use boring::x509::X509;
use std::fs;
use std::net::IpAddr;
use std::path::Path;

/// What a server shows of itself.
pub(crate) struct Identity {
    chain: Vec<X509>,
    key: PKey<Private>,
}

impl Identity {
    /// From PEM files: the certificate, followed by those of its issuers, and its key.
    pub(crate) fn read(chain: &Path, key: &Path) -> Result<Self> {
        let certificates = X509::stack_from_pem(&read(chain)?)
            .with_context(|| format!("{} holds no certificates in PEM", chain.display()))?;
        ensure!(
            !certificates.is_empty(),
            "{} holds no certificate in PEM",
            chain.display()
        );
        let private = PKey::private_key_from_pem(&read(key)?)
            .with_context(|| format!("{} holds no private key in PEM", key.display()))?;
        Ok(Self {
            chain: certificates,
            key: private,
        })
    }

    /// A new one for `names` that no client has reason to trust.
    pub(crate) fn self_signed(names: Vec<String>) -> Result<Self> {
        let made = rcgen::generate_simple_self_signed(names)
            .context("cannot make a self-signed certificate")?;
        Ok(Self {
            chain: vec![X509::from_der(made.cert.der())?],
            key: PKey::private_key_from_der(&made.signing_key.serialize_der())?,
        })
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

/// A server's context.
pub(crate) fn server(identity: &Identity) -> Result<SslContextBuilder> {
    let mut context = SslContextBuilder::new(SslMethod::tls())?;
    let Some((own, issuers)) = identity.chain.split_first() else {
        bail!("a server needs a certificate");
    };
    context.set_certificate(own)?;
    for issuer in issuers {
        context.add_extra_chain_cert(issuer.clone())?;
    }
    context
        .set_private_key(&identity.key)
        .context("the private key does not belong to the certificate")?;
    Ok(context)
}

/// A client's context that trusts the issuers in `trusted`, or else those that the system trusts.
pub(crate) fn client(trusted: Option<&Path>) -> Result<SslContextBuilder> {
    let mut context = SslContextBuilder::new(SslMethod::tls())?;
    match trusted {
        Some(file) => context
            .set_ca_file(file)
            .with_context(|| format!("{} holds no certificates in PEM", file.display()))?,
        None => context.set_default_verify_paths()?,
    }
    Ok(context)
}

/// Demands a certificate for `address` of the other side. Names are demanded by quiche; without
/// either any valid certificate would do.
pub(crate) fn demand_address(connection: &mut quiche::Connection, address: IpAddr) -> Result<()> {
    let tls: &mut SslRef = connection.as_mut();
    Ok(tls.verify_param_mut().set_ip(address)?)
}
