//! Content types by the ends of names.

use std::path::Path;

/// What `mime_guess` does not know, or knows otherwise than players expect: the names of CMAF
/// (ISO/IEC 23000-19), MPEG-2 transport streams (RFC 8216, section 3.2), the registered types of
/// video and sound in MP4 (RFC 4337), and text with its encoding.
const OURS: [(&str, &str); 10] = [
    ("m4s", "video/iso.segment"),
    ("cmfv", "video/mp4"),
    ("cmfa", "audio/mp4"),
    ("cmft", "application/mp4"),
    ("ts", "video/mp2t"),
    ("m4v", "video/mp4"),
    ("m4a", "audio/mp4"),
    ("mpd", "application/dash+xml"),
    ("m3u8", "application/vnd.apple.mpegurl"),
    ("vtt", "text/vtt; charset=utf-8"),
];

/// The type of a file with this name.
pub fn content_type(name: &Path) -> String {
    let end = name.extension().and_then(|end| end.to_str()).unwrap_or("");
    let ours = OURS
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(end));
    if let Some((_, kind)) = ours {
        return (*kind).to_owned();
    }
    let guess = mime_guess::from_ext(end).first_or_octet_stream();
    match guess.type_() {
        mime_guess::mime::TEXT => format!("{}; charset=utf-8", guess.essence_str()),
        _ => guess.essence_str().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn players_get_what_they_expect() {
        for (name, kind) in [
            ("manifest.mpd", "application/dash+xml"),
            ("a/master.M3U8", "application/vnd.apple.mpegurl"),
            ("seg-1.m4s", "video/iso.segment"),
            ("seg-1.ts", "video/mp2t"),
            ("init.mp4", "video/mp4"),
            ("seg-1.m4v", "video/mp4"),
            ("seg-1.m4a", "audio/mp4"),
            ("sound.cmfa", "audio/mp4"),
            ("index.html", "text/html; charset=utf-8"),
            ("dash.all.min.js", "text/javascript; charset=utf-8"),
            ("page.wasm", "application/wasm"),
            ("nothing", "application/octet-stream"),
        ] {
            assert_eq!(content_type(Path::new(name)), kind, "{name}");
        }
    }
}
