//! The class `shaped`: a link behind a token bucket, which lets bursts pass at another rate than
//! what comes after them.

use super::draw::Draw;
use super::ground::{Client, Ground};
use super::path::{Facts, Path, Tokens};
use super::source::{source, whole};
use crate::scenario::{Scenario, ScenarioError};

/// The most of the rate after the bucket that inelastic traffic takes.
const CROSS_SHARE: f64 = 0.9;
/// The size of the bucket.
const BUCKET_BYTES: [f64; 2] = [15e3, 1e6];
/// The link, as a multiple of the rate after the bucket: a line that is much faster than what was
/// bought of it, or a boost at the beginning of a transfer.
const LINE: [f64; 2] = [2.0, 20.0];
const BOOST: [f64; 2] = [1.2, 3.0];

pub(super) fn draw(seed: u64) -> Result<Path, ScenarioError> {
    let mut draw = Draw::new(seed, "shaped");
    // The rate of the ground is that after the bucket.
    let ground = Ground::draw(&mut draw, CROSS_SHARE);
    let source = source(&mut draw, ground.left_mbps());
    let client = Client::draw(&mut draw);
    let duration_s = ground.duration_s(&source, false);
    let (kind, [slowest, fastest]) =
        draw.one_of(&[("shaper", LINE), ("policer", LINE), ("shaper", BOOST)]);
    let [least, most] = BUCKET_BYTES;
    let tokens = Tokens {
        kind,
        line_mbps: ground.capacity_mbps * draw.between(slowest, fastest),
        bucket_bytes: draw.between(least, most),
    };
    let text = format!(
        "name = \"shaped-{seed}\"\ntitle = \"drawn\"\nduration = \"{duration_s:.3} s\"\n{}{}{}",
        link(&ground, &tokens),
        ground.cross.text(),
        client.main(&source, ""),
    );
    Scenario::parse(&format!("shaped-{seed}.toml"), &text, &[])?;
    Ok(Path {
        text,
        steps: Vec::new(),
        facts: Facts {
            tokens: Some(tokens),
            ..Facts::of(&ground, &source, &client, duration_s)
        },
    })
}

fn link(ground: &Ground, tokens: &Tokens) -> String {
    let queue = format!("\"{} B\"", whole(ground.queue_bytes()));
    format!(
        "{}bucket = {{ kind = \"{}\", rate = \"{} bit/s\", size = \"{} B\" }}\n",
        ground.link_of(tokens.line_mbps, ground.rtt_ms, &queue),
        tokens.kind,
        whole(ground.capacity_mbps * 1e6),
        whole(tokens.bucket_bytes)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{FlowId, Without};
    use crate::scenario::Nominal;
    use imtcp_cc::units::Timestamp;

    #[test]
    fn a_thousand_draws_keep_to_what_the_class_is() {
        let (mut policed, mut boosted) = (0, 0);
        for seed in 1..=1000 {
            let path = draw(seed).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            let scenario = path.scenario(&[]).expect("it was valid");
            let hop = &scenario.links[0].forward;
            let bucket = hop.bucket.expect("a token bucket");
            let size = bucket.size.as_f64();
            assert!((15e3..=1e6).contains(&size), "seed {seed}: {size}");
            let line = hop.rate.rate_at(Timestamp::ZERO).as_bps_f64();
            let faster = line / bucket.rate.as_bps_f64();
            assert!((1.19..=20.01).contains(&faster), "seed {seed}: {faster}");
            let nominal = Nominal::new(&scenario, FlowId(0)).available(Timestamp::ZERO);
            let left = path.facts.left_mbps[0] * 1e6;
            assert!((nominal.1.as_bps_f64() - left).abs() < 2.0, "seed {seed}");
            policed += u32::from(bucket.without == Without::Drop);
            boosted += u32::from(faster < 2.0);
        }
        assert!((280..390).contains(&policed), "{policed} of 1000");
        // A third has a boost of 1.2 to 3; half of these, by their logarithm, is below 1.9.
        assert!((130..240).contains(&boosted), "{boosted} of 1000");
    }
}
