//! A synthetic picture, encoded by ffmpeg.

use super::Plan;
use anyhow::{Context, Result, bail};
use std::io::ErrorKind;
use std::process::{Command, Stdio};

/// Pictures in a second.
const PICTURES: f64 = 25.0;

/// Encodes the title.
pub fn make(plan: &Plan) -> Result<()> {
    let status = command(plan).stdin(Stdio::null()).status();
    let program = plan.ffmpeg.display();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => bail!("{program} failed ({status}); what it said stands above"),
        Err(error) if error.kind() == ErrorKind::NotFound => bail!(
            "`{program}` is not installed; on Debian: apt-get install ffmpeg. Without it, \
             --synthetic makes a title that imtcp-play can play"
        ),
        Err(error) => Err(error).with_context(|| format!("cannot start {program}")),
    }
}

/// Noise makes the picture as hard to encode as its bit rate allows, and the rate is held: the
/// segments of a quality are about as large as its bit rate says.
fn command(plan: &Plan) -> Command {
    let length = plan.length.as_secs_f64();
    let seconds = plan.segment.as_secs_f64();
    let picture =
        format!("testsrc2=size=640x360:rate={PICTURES}:duration={length},noise=alls=40:allf=t+u");
    let group = (seconds * PICTURES).round().to_string();
    let mut command = Command::new(&plan.ffmpeg);
    command.args([
        "-hide_banner",
        "-loglevel",
        "error",
        "-y",
        "-f",
        "lavfi",
        "-i",
        &picture,
    ]);
    for (place, rate) in plan.rates.iter().enumerate() {
        let rate = rate.to_string();
        command.args(["-map", "0:v"]);
        for name in ["b", "minrate", "maxrate", "bufsize"] {
            command.args([format!("-{name}:v:{place}"), rate.clone()]);
        }
    }
    command.args([
        "-c:v",
        "libx264",
        "-preset",
        "ultrafast",
        "-pix_fmt",
        "yuv420p",
    ]);
    command.args(["-g", &group, "-keyint_min", &group, "-sc_threshold", "0"]);
    command.args(["-x264-params", "nal-hrd=cbr:force-cfr=1"]);
    command.args(["-f", "dash", "-seg_duration", &seconds.to_string()]);
    command.args([
        "-use_template",
        "1",
        "-use_timeline",
        "1",
        "-dash_segment_type",
        "mp4",
    ]);
    command.args(["-hls_playlist", "1", "-adaptation_sets", "id=0,streams=v"]);
    command.arg(plan.folder.join("manifest.mpd"));
    command
}
