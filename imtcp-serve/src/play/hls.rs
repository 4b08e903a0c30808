//! Playlists of HLS (RFC 8216).

use super::presentation::{MOST_SEGMENTS, Quality, Segment};
use anyhow::{Context, Result, anyhow, bail, ensure};
use m3u8_rs::{MediaPlaylist, Playlist};
use std::time::Duration;
use url::Url;

/// A playlist of either kind.
pub enum Read {
    /// Where the playlists of the qualities are, with their bit rates.
    Master(Vec<(u64, Url)>),
    /// One quality. Its playlist does not tell its bit rate.
    Media(Quality),
}

/// Reads a playlist that came from `base`.
///
/// # Errors
/// It is none, or of a kind that is not played here.
pub fn read(text: &[u8], base: &Url) -> Result<Read> {
    let parsed = m3u8_rs::parse_playlist_res(text);
    let playlist = parsed.map_err(|_| anyhow!("{base} is no HLS playlist"))?;
    match playlist {
        Playlist::MasterPlaylist(master) => {
            let variants = master.variants.iter().filter(|variant| !variant.is_i_frame);
            let variants = variants.map(|variant| {
                let rate = variant.average_bandwidth.unwrap_or(variant.bandwidth);
                Ok((rate, join(base, &variant.uri)?))
            });
            let variants = variants.collect::<Result<Vec<_>>>()?;
            ensure!(!variants.is_empty(), "{base} names no variant");
            Ok(Read::Master(variants))
        }
        Playlist::MediaPlaylist(media) => media_playlist(&media, base).map(Read::Media),
    }
}

fn media_playlist(media: &MediaPlaylist, base: &Url) -> Result<Quality> {
    ensure!(
        media.end_list,
        "{base} is live (it has no EXT-X-ENDLIST); only whole titles are played"
    );
    ensure!(
        media.segments.len() <= MOST_SEGMENTS,
        "{base} has too many segments"
    );
    let mut start = None;
    let mut segments = Vec::with_capacity(media.segments.len());
    for segment in &media.segments {
        if segment.byte_range.is_some() {
            bail!("{base} has ranges of one file; write segments as files of their own");
        }
        if let (None, Some(map)) = (&start, &segment.map) {
            start = Some(join(base, &map.uri)?);
        }
        let duration = Duration::try_from_secs_f32(segment.duration);
        let duration = duration.map_err(|_| anyhow!("{base} has a segment of negative length"))?;
        segments.push(Segment {
            url: join(base, &segment.uri)?,
            duration,
        });
    }
    Ok(Quality {
        bitrate_bps: 0,
        start,
        segments,
    })
}

fn join(base: &Url, reference: &str) -> Result<Url> {
    let joined = base.join(reference);
    joined.with_context(|| format!("{base} names `{reference}`, which is no address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base() -> Url {
        Url::parse("https://127.0.0.1:4433/a/master.m3u8").expect("an address")
    }

    #[test]
    fn a_master_playlist_names_its_variants() {
        let text = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=900000,AVERAGE-BANDWIDTH=800000\n\
                    b/1.m3u8\n\
                    #EXT-X-STREAM-INF:BANDWIDTH=300000\n/c/2.m3u8\n";
        let Ok(Read::Master(variants)) = read(text.as_bytes(), &base()) else {
            panic!("no master playlist");
        };
        let variants: Vec<_> = variants
            .iter()
            .map(|(rate, url)| (*rate, url.path()))
            .collect();
        assert_eq!(variants, [(800_000, "/a/b/1.m3u8"), (300_000, "/c/2.m3u8")]);
    }

    #[test]
    fn a_media_playlist_has_segments_and_their_start() {
        let text = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXT-X-MAP:URI=\"i.mp4\"\n\
                    #EXTINF:2.0,\n1.m4s\n\
                    #EXTINF:1.5,\n2.m4s\n#EXT-X-ENDLIST\n";
        let Ok(Read::Media(quality)) = read(text.as_bytes(), &base()) else {
            panic!("no media playlist");
        };
        assert_eq!(quality.start.expect("a start").path(), "/a/i.mp4");
        let durations: Vec<_> = quality
            .segments
            .iter()
            .map(|segment| segment.duration)
            .collect();
        assert_eq!(
            durations,
            [Duration::from_secs(2), Duration::from_millis(1500)]
        );
    }

    #[test]
    fn what_cannot_be_played_is_said() {
        for (text, expected) in [
            ("<html></html>", "is no HLS playlist"),
            ("", "is no HLS playlist"),
            (
                "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2.0,\n1.m4s\n",
                "is live",
            ),
            (
                "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2.0,\n#EXT-X-BYTERANGE:9@0\n1.m4s\n\
                 #EXT-X-ENDLIST\n",
                "files of their own",
            ),
            (
                "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=9\nhttps://:x/\n",
                "no address",
            ),
        ] {
            let error = read(text.as_bytes(), &base())
                .err()
                .expect(expected)
                .to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
