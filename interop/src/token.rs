//! Tokens of Retry packets: the client's first choice of an identifier, sealed for its address.

use anyhow::Result;
use boring::hash::hmac_sha256;
use quiche::ConnectionId;
use std::net::IpAddr;

const SEAL: usize = 32;

/// Makes tokens and knows them again. The key lasts as long as the process.
#[derive(Debug)]
pub struct Tokens {
    key: [u8; 32],
}

impl Tokens {
    /// With a key that nobody can guess.
    ///
    /// # Errors
    /// The system has no randomness.
    pub fn new() -> Result<Self> {
        let mut key = [0; 32];
        boring::rand::rand_bytes(&mut key)?;
        Ok(Self { key })
    }

    /// A token for a client that is to come back to `ours` from the same address.
    ///
    /// # Errors
    /// BoringSSL's.
    pub fn seal(&self, client: IpAddr, ours: &[u8], original: &[u8]) -> Result<Vec<u8>> {
        let mut token = self.seal_of(client, ours, original)?.to_vec();
        token.extend_from_slice(original);
        Ok(token)
    }

    /// The identifier that the client chose at first, if this token is its own.
    pub fn open(&self, client: IpAddr, ours: &[u8], token: &[u8]) -> Option<ConnectionId<'static>> {
        let (seal, original) = token.split_at_checked(SEAL)?;
        let expected = self.seal_of(client, ours, original).ok()?;
        boring::memcmp::eq(seal, &expected).then(|| ConnectionId::from_vec(original.to_vec()))
    }

    fn seal_of(&self, client: IpAddr, ours: &[u8], original: &[u8]) -> Result<[u8; SEAL]> {
        let mut sealed = match client.to_canonical() {
            IpAddr::V4(address) => address.octets().to_vec(),
            IpAddr::V6(address) => address.octets().to_vec(),
        };
        // Lengths in front: no two clients share the bytes that are sealed.
        for part in [ours, original] {
            sealed.extend_from_slice(&(part.len() as u64).to_be_bytes());
            sealed.extend_from_slice(part);
        }
        Ok(hmac_sha256(&self.key, &sealed)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_good_for_its_client_and_for_nobody_else() {
        let tokens = Tokens::new().expect("randomness");
        let [here, there] = ["192.0.2.1", "192.0.2.2"].map(|ip| ip.parse().expect("an address"));
        let token = tokens.seal(here, b"ours", b"original").expect("sealed");
        let open = |client, ours: &[u8], token: &[u8]| {
            tokens.open(client, ours, token).map(|id| id.to_vec())
        };
        assert_eq!(open(here, b"ours", &token), Some(b"original".to_vec()));
        assert_eq!(open(there, b"ours", &token), None);
        assert_eq!(open(here, b"other", &token), None);
        assert_eq!(open(here, b"ours", &token[..token.len() - 1]), None);
        assert_eq!(open(here, b"ours", b"short"), None);
        let foreign = Tokens::new().expect("randomness");
        assert!(foreign.open(here, b"ours", &token).is_none());
    }
}
