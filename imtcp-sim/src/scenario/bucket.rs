//! `bucket = { kind = "shaper", rate = "10 Mbit/s", size = "100 KB" }`.

use super::error::{Complaint, ScenarioError};
use super::quantity;
use super::reader::Entry;
use crate::network::{BucketSettings, Without};
use imtcp_cc::units::{Bandwidth, Bytes};

const KINDS: &[(&str, Without)] = &[("shaper", Without::Wait), ("policer", Without::Drop)];
/// A full packet has to fit in.
const LEAST: Bytes = Bytes::new(1500);
/// Beyond this, tokens are too many to be counted.
const MOST: Bytes = Bytes::new(1_000_000_000);

/// The token bucket of a link whose own rate is `fastest` at most.
pub(super) fn read(entry: &Entry<'_>, fastest: Bandwidth) -> Result<BucketSettings, ScenarioError> {
    let mut section = entry.section()?;
    let without = section.required("kind", "\"shaper\"")?.choice(KINDS)?;
    let rate_entry = section.required("rate", "\"10 Mbit/s\"")?;
    let rate = rate_entry.quantity(quantity::rate_above_zero)?;
    let size_entry = section.required("size", "\"100 KB\"")?;
    let size = size_entry.quantity(quantity::size)?;
    section.finish()?;
    if rate >= fastest {
        return Err(rate_entry.reject(Complaint::new(
            format!("the link is never faster than {fastest}, so the bucket is never empty"),
            "let the link's `rate` be that of bursts, and this one lower",
        )));
    }
    if size < LEAST || size > MOST {
        return Err(size_entry.reject(Complaint::new(
            format!("a bucket of {size}"),
            format!("it holds a packet, {LEAST}, at least, and {MOST} at most"),
        )));
    }
    Ok(BucketSettings {
        without,
        rate,
        size,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::FlowId;
    use crate::scenario::{Nominal, Scenario};
    use imtcp_cc::units::Timestamp;

    fn with(bucket: &str) -> Result<Scenario, String> {
        let text = format!(
            "name = \"b\"\ntitle = \"b\"\nduration = \"9 s\"\n[[link]]\nname = \"l\"\n\
             rate = \"50 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"90 KB\"\nbucket = {bucket}\n\
             [[traffic]]\nname = \"cross\"\nlink = \"l\"\nkind = \"cbr\"\nrate = \"3 Mbit/s\"\n\
             [[flow]]\nname = \"main\"\ncontroller = \"imtcp\"\n\
             application = {{ kind = \"bulk\" }}\n"
        );
        Scenario::parse("b.toml", &text, &[]).map_err(|error| error.to_string())
    }

    #[test]
    fn the_nominal_truth_is_that_behind_the_bucket() {
        for kind in ["shaper", "policer"] {
            let bucket = format!("{{ kind = \"{kind}\", rate = \"8 Mbit/s\", size = \"30 KB\" }}");
            let scenario = with(&bucket).expect("it is right");
            let found = scenario.links[0].forward.bucket.expect("a bucket");
            assert_eq!((found.name(), found.size), (kind, Bytes::new(30_000)));
            assert_eq!(scenario.links[0].reverse.bucket, None);
            let nominal = Nominal::new(&scenario, FlowId(0));
            let (_, left) = nominal.available(Timestamp::ZERO);
            assert_eq!(left, Bandwidth::from_mbps(5));
            assert_eq!(nominal.capacity(Timestamp::ZERO), Bandwidth::from_mbps(8));
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (bucket, expected) in [
            (
                "{ kind = \"leaky\", rate = \"8 Mbit/s\", size = \"30 KB\" }",
                "b.toml:9:19: link.l.bucket.kind: unknown value `leaky`; known: shaper, policer",
            ),
            (
                "{ kind = \"shaper\", rate = \"50 Mbit/s\", size = \"30 KB\" }",
                "b.toml:9:36: link.l.bucket.rate: the link is never faster than 50.00 Mbit/s, so \
                 the bucket is never empty; let the link's `rate` be that of bursts, and this one \
                 lower",
            ),
            (
                "{ kind = \"policer\", rate = \"8 Mbit/s\", size = \"1 KB\" }",
                "b.toml:9:56: link.l.bucket.size: a bucket of 1000 B; it holds a packet, 1500 B, \
                 at least, and 1000000000 B at most",
            ),
            (
                "{ kind = \"policer\", rate = \"8 Mbit/s\" }",
                "b.toml:9:10: link.l.bucket: `size` is missing; add size = \"100 KB\"",
            ),
        ] {
            assert_eq!(with(bucket).err().as_deref(), Some(expected), "{bucket}");
        }
    }
}
