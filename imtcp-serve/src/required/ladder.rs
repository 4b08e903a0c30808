//! The bit rates between which a player chooses, as far as the server knows them: from the
//! manifests that went over the connection, and from what was asked for (`br`) and named (`tb`).

use super::{Cmcd, ObjectKind};
use dash_mpd_core::AdaptationSet;
use m3u8_rs::{Playlist, VariantStream};
use std::collections::{BTreeMap, BTreeSet};

/// No title has more bit rates of a kind. What comes beyond is not noted.
const MOST_RUNGS: usize = 64;

/// The longest manifest that is read here. Those of whole titles are some kilobytes.
pub const LONGEST_MANIFEST: u64 = 1 << 20;

/// Two bit rates within this factor are one: players round `br`, and manifests tell the peak.
const SAME: f64 = 1.02;

/// The bit rates of each kind of objects, in kbit/s.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ladder {
    by_kind: BTreeMap<ObjectKind, BTreeSet<u64>>,
}

/// Whether a file of this name may be a manifest that tells bit rates.
pub fn may_be_manifest(path: &str) -> bool {
    let end = path.rsplit('.').next().unwrap_or("");
    ["mpd", "m3u8"]
        .iter()
        .any(|known| end.eq_ignore_ascii_case(known))
}

impl Ladder {
    /// The bit rates of a manifest of DASH, or of a master playlist of HLS. Whatever else it is
    /// tells nothing.
    pub fn of_manifest(content: &[u8]) -> Self {
        let mut ladder = Self::default();
        let text = std::str::from_utf8(content).unwrap_or("");
        if let Ok(manifest) = dash_mpd_core::parse(text) {
            let periods = manifest.periods.iter();
            for set in periods.flat_map(|period| &period.adaptations) {
                ladder.read_set(set);
            }
        } else if let Ok(Playlist::MasterPlaylist(master)) = m3u8_rs::parse_playlist_res(content) {
            let variants = master.variants.iter().filter(|one| !one.is_i_frame);
            let rate = |one: &VariantStream| one.average_bandwidth.unwrap_or(one.bandwidth);
            for bps in variants.map(rate) {
                // A variant is what is played at a time, be it one file for all or a video alone.
                ladder.note(ObjectKind::Video, bps.div_ceil(1000));
                ladder.note(ObjectKind::Both, bps.div_ceil(1000));
            }
        }
        ladder
    }

    /// Notes what another one knows.
    pub fn add(&mut self, other: Self) {
        for (kind, rungs) in other.by_kind {
            rungs.into_iter().for_each(|kbps| self.note(kind, kbps));
        }
    }

    fn read_set(&mut self, set: &AdaptationSet) {
        for one in &set.representations {
            let named = [&set.contentType, &set.mimeType, &one.mimeType];
            let is = |kind| named.into_iter().flatten().any(|it| it.starts_with(kind));
            let kind = match (is("video"), is("audio")) {
                (true, _) => ObjectKind::Video,
                (_, true) => ObjectKind::Audio,
                _ => continue,
            };
            self.note(kind, one.bandwidth.unwrap_or(0).div_ceil(1000));
        }
    }

    /// Notes what a request says of the title.
    pub fn hear(&mut self, cmcd: &Cmcd) {
        for kbps in [cmcd.bitrate_kbps, cmcd.top_kbps].into_iter().flatten() {
            self.note(cmcd.kind, kbps);
        }
    }

    fn note(&mut self, kind: ObjectKind, kbps: u64) {
        let rungs = self.by_kind.entry(kind).or_default();
        if kbps > 0 && rungs.len() < MOST_RUNGS {
            rungs.insert(kbps);
        }
    }

    /// The next bit rate above this one, in kbit/s; but none above the highest that the player
    /// names (`tb`).
    pub fn above(&self, cmcd: &Cmcd) -> Option<u64> {
        let (rungs, here) = (self.by_kind.get(&cmcd.kind)?, cmcd.bitrate_kbps?);
        let is_above = |rung: &&u64| **rung as f64 > here as f64 * SAME;
        let next = rungs.iter().find(is_above).copied()?;
        let is_played = cmcd.top_kbps.is_none_or(|top| next <= top);
        is_played.then_some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(kind: ObjectKind, kbps: u64, top: Option<u64>) -> Cmcd {
        Cmcd {
            bitrate_kbps: Some(kbps),
            top_kbps: top,
            kind,
            ..Cmcd::default()
        }
    }

    #[test]
    fn manifests_tell_the_next_bit_rate_of_each_kind() {
        let ladder = Ladder::of_manifest(
            br#"<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011"><Period>
            <AdaptationSet contentType="video"><Representation id="0" bandwidth="500000"/>
            <Representation id="1" bandwidth="2000000"/><Representation bandwidth="4000000"/>
            </AdaptationSet><AdaptationSet mimeType="audio/mp4">
            <Representation bandwidth="64000"/><Representation bandwidth="128000"/>
            </AdaptationSet></Period></MPD>"#,
        );
        let (video, audio) = (ObjectKind::Video, ObjectKind::Audio);
        assert_eq!(ladder.above(&at(video, 500, None)), Some(2000));
        assert_eq!(ladder.above(&at(video, 1995, None)), Some(4000), "rounded");
        assert_eq!(ladder.above(&at(video, 4000, None)), None, "the top");
        assert_eq!(
            ladder.above(&at(video, 2000, Some(2000))),
            None,
            "the player's own top"
        );
        assert_eq!(ladder.above(&at(audio, 64, None)), Some(128));
        assert_eq!(ladder.above(&at(ObjectKind::Both, 64, None)), None);
    }

    #[test]
    fn a_master_playlist_tells_them_and_a_media_playlist_does_not() {
        let mut ladder = Ladder::default();
        ladder.hear(&at(ObjectKind::Both, 700, None));
        ladder.add(Ladder::of_manifest(
            b"#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=500000\n0.m3u8\n\
              #EXT-X-STREAM-INF:BANDWIDTH=1500000,AVERAGE-BANDWIDTH=1000000\n1.m3u8\n",
        ));
        assert_eq!(ladder.above(&at(ObjectKind::Both, 500, None)), Some(700));
        assert_eq!(ladder.above(&at(ObjectKind::Both, 700, None)), Some(1000));
        let media: &[u8] = b"#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n1.m4s\n";
        for none in [media, b"\xff\xfe no manifest"] {
            assert_eq!(Ladder::of_manifest(none), Ladder::default());
        }
    }

    #[test]
    fn without_a_manifest_what_was_asked_for_is_known() {
        let mut ladder = Ladder::default();
        let video = ObjectKind::Video;
        for kbps in [2000, 500] {
            ladder.hear(&at(video, kbps, Some(8000)));
        }
        assert_eq!(ladder.above(&at(video, 500, None)), Some(2000));
        assert_eq!(ladder.above(&at(video, 2000, None)), Some(8000));
        for kbps in 1..1000 {
            ladder.hear(&at(video, kbps, None));
        }
        assert_eq!(ladder.by_kind[&video].len(), MOST_RUNGS);
    }
}
