//! Files of the right sizes with real manifests. Their content is zeros.

use super::Plan;
use anyhow::{Context, Result};
use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;
use std::time::Duration;

/// Bytes of an initialisation segment, about what ffmpeg writes.
const START_BYTES: u64 = 800;

/// Writes the title.
pub fn make(plan: &Plan) -> Result<()> {
    let durations = durations(plan);
    for (place, rate) in plan.rates.iter().enumerate() {
        zeros(&plan.folder.join(format!("init-{place}.mp4")), START_BYTES)?;
        for (number, duration) in (1..).zip(&durations) {
            let bytes = (duration.as_secs_f64() * *rate as f64 / 8.0).round();
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
            zeros(
                &plan.folder.join(format!("{place}-{number}.m4s")),
                bytes as u64,
            )?;
        }
        let name = format!("media-{place}.m3u8");
        write(&plan.folder.join(name), &playlist(place, &durations)?)?;
    }
    write(&plan.folder.join("master.m3u8"), &master(plan)?)?;
    write(&plan.folder.join("manifest.mpd"), &manifest(plan)?)
}

fn durations(plan: &Plan) -> Vec<Duration> {
    let mut left = plan.length;
    let mut durations = Vec::new();
    while !left.is_zero() {
        durations.push(left.min(plan.segment));
        left = left.saturating_sub(plan.segment);
    }
    durations
}

fn playlist(place: usize, durations: &[Duration]) -> Result<String> {
    let longest = durations
        .iter()
        .max()
        .map_or(0.0, Duration::as_secs_f64)
        .ceil();
    let mut text = format!(
        "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:{longest:.0}\n\
         #EXT-X-PLAYLIST-TYPE:VOD\n#EXT-X-MAP:URI=\"init-{place}.mp4\"\n"
    );
    for (number, duration) in (1..).zip(durations) {
        let number: u32 = number;
        writeln!(
            text,
            "#EXTINF:{:.6},\n{place}-{number}.m4s",
            duration.as_secs_f64()
        )?;
    }
    text.push_str("#EXT-X-ENDLIST\n");
    Ok(text)
}

fn master(plan: &Plan) -> Result<String> {
    let mut text = "#EXTM3U\n#EXT-X-VERSION:7\n".to_owned();
    for (place, rate) in plan.rates.iter().enumerate() {
        writeln!(
            text,
            "#EXT-X-STREAM-INF:BANDWIDTH={rate}\nmedia-{place}.m3u8"
        )?;
    }
    Ok(text)
}

fn manifest(plan: &Plan) -> Result<String> {
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
         <MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" type=\"static\" \
         profiles=\"urn:mpeg:dash:profile:isoff-live:2011\" minBufferTime=\"PT2S\" \
         mediaPresentationDuration=\"PT{:.3}S\">\n <Period id=\"0\">\n  \
         <AdaptationSet contentType=\"video\" segmentAlignment=\"true\" \
         mimeType=\"video/mp4\">\n   \
         <SegmentTemplate timescale=\"1000\" duration=\"{}\" startNumber=\"1\" \
         initialization=\"init-$RepresentationID$.mp4\" \
         media=\"$RepresentationID$-$Number$.m4s\"/>\n",
        plan.length.as_secs_f64(),
        plan.segment.as_millis()
    );
    for (place, rate) in plan.rates.iter().enumerate() {
        let codecs = "avc1.64001f";
        writeln!(
            text,
            "   <Representation id=\"{place}\" bandwidth=\"{rate}\" codecs=\"{codecs}\"/>"
        )?;
    }
    text.push_str("  </AdaptationSet>\n </Period>\n</MPD>\n");
    Ok(text)
}

/// A file with a hole, which takes no space.
fn zeros(path: &Path, bytes: u64) -> Result<()> {
    let made = File::create(path).and_then(|file| file.set_len(bytes));
    made.with_context(|| format!("cannot write {}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
