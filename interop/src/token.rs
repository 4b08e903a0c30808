//! Tokens of Retry packets: the client's first choice of an identifier, sealed for its address and
//! for a short time.

use anyhow::Result;
use boring::hash::hmac_sha256;
use quiche::ConnectionId;
use std::net::IpAddr;
use std::time::{Duration, Instant};

const SEAL: usize = 32;

/// Milliseconds.
const TIME: usize = 8;

/// A client comes back within a round trip and what its losses take. quinn's servers wait for as
/// long by default (RFC 9000, section 8.1.3, wants a short time).
const LIFETIME: Duration = Duration::from_secs(15);

/// Whom a token is for.
#[derive(Clone, Copy, Debug)]
pub struct Peer<'a> {
    /// The client's address.
    pub address: IpAddr,
    /// The identifier that it is to use from the Retry on.
    pub ours: &'a [u8],
}

/// Makes tokens and knows them again. The key lasts as long as the process.
#[derive(Debug)]
pub struct Tokens {
    key: [u8; 32],
    /// What the times of tokens count from.
    began: Instant,
}

impl Tokens {
    /// With a key that nobody can guess.
    ///
    /// # Errors
    /// The system has no randomness.
    pub fn new(now: Instant) -> Result<Self> {
        let mut key = [0; 32];
        boring::rand::rand_bytes(&mut key)?;
        Ok(Self { key, began: now })
    }

    /// A token for a client that is to come back to `ours` from the same address, and soon.
    ///
    /// # Errors
    /// BoringSSL's.
    pub fn seal(&self, peer: &Peer<'_>, original: &[u8], now: Instant) -> Result<Vec<u8>> {
        let sent = self.millis(now).to_be_bytes();
        let mut token = self.seal_of(peer, original, sent)?.to_vec();
        token.extend_from_slice(&sent);
        token.extend_from_slice(original);
        Ok(token)
    }

    /// The identifier that the client chose at first, if this token is its own and not too old.
    pub fn open(
        &self,
        peer: &Peer<'_>,
        token: &[u8],
        now: Instant,
    ) -> Option<ConnectionId<'static>> {
        let (seal, rest) = token.split_at_checked(SEAL)?;
        let (sent, original) = rest.split_at_checked(TIME)?;
        let sent: [u8; TIME] = sent.try_into().ok()?;
        let expected = self.seal_of(peer, original, sent).ok()?;
        let age = self.millis(now).saturating_sub(u64::from_be_bytes(sent));
        let is_good =
            boring::memcmp::eq(seal, &expected) && u128::from(age) <= LIFETIME.as_millis();
        is_good.then(|| ConnectionId::from_vec(original.to_vec()))
    }

    fn millis(&self, now: Instant) -> u64 {
        let age = now.saturating_duration_since(self.began);
        u64::try_from(age.as_millis()).unwrap_or(u64::MAX)
    }

    fn seal_of(&self, peer: &Peer<'_>, original: &[u8], sent: [u8; TIME]) -> Result<[u8; SEAL]> {
        let mut sealed = match peer.address.to_canonical() {
            IpAddr::V4(address) => address.octets().to_vec(),
            IpAddr::V6(address) => address.octets().to_vec(),
        };
        // Lengths in front: no two clients share the bytes that are sealed.
        for part in [peer.ours, original, &sent] {
            sealed.extend_from_slice(&(part.len() as u64).to_be_bytes());
            sealed.extend_from_slice(part);
        }
        Ok(hmac_sha256(&self.key, &sealed)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: &str = "192.0.2.1";
    const THERE: &str = "192.0.2.2";

    fn peer<'a>(address: &str, ours: &'a [u8]) -> Peer<'a> {
        Peer {
            address: address.parse().expect("an address"),
            ours,
        }
    }

    #[test]
    fn a_token_is_good_for_its_client_and_for_nobody_else() {
        let now = Instant::now();
        let tokens = Tokens::new(now).expect("randomness");
        let here = peer(HERE, b"ours");
        let token = tokens.seal(&here, b"original", now).expect("sealed");
        let open = |peer: Peer<'_>, token: &[u8]| {
            let id = tokens.open(&peer, token, now);
            id.map(|id| id.to_vec())
        };
        assert_eq!(open(here, &token), Some(b"original".to_vec()));
        assert_eq!(open(peer(THERE, b"ours"), &token), None);
        assert_eq!(open(peer(HERE, b"other"), &token), None);
        assert_eq!(open(here, &token[..token.len() - 1]), None);
        assert_eq!(open(here, b"short"), None);
        let foreign = Tokens::new(now).expect("randomness");
        assert!(foreign.open(&here, &token, now).is_none());
    }

    #[test]
    fn a_token_is_good_for_a_short_time_that_nobody_can_prolong() {
        let began = Instant::now();
        let tokens = Tokens::new(began).expect("randomness");
        let here = peer(HERE, b"ours");
        let sent = began + Duration::from_secs(100);
        let mut token = tokens.seal(&here, b"original", sent).expect("sealed");
        assert!(tokens.open(&here, &token, sent + LIFETIME).is_some());
        let late = sent + LIFETIME + Duration::from_millis(1);
        assert!(tokens.open(&here, &token, late).is_none());
        // Its time is sealed as well.
        token[SEAL + TIME - 1] += 1;
        assert!(tokens.open(&here, &token, late).is_none());
    }
}
