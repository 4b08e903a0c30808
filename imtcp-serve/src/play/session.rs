//! A session: the manifest, and then segment after segment.

use super::abr::Chooser;
use super::buffer::Buffer;
use super::client::{Answer, Client};
use super::cmcd::{Needs, Viewing};
use super::cmsd::Told;
use super::options::Options;
use super::presentation::{Presentation, Quality};
use super::qoe::{Qoe, SegmentRow};
use super::slots::Slots;
use super::{dash, hls};
use anyhow::{Context, Result, anyhow, bail, ensure};
use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};
use url::Url;

/// A session may last so many times as long as its title, and so much longer, for stalls. The
/// manifests have the latter for themselves.
const MOST_STALLS: u32 = 2;
const MOST_WAITING: Duration = Duration::from_secs(60);

/// Plays a title. What is wrong with it, or with the server, stands in the figures.
pub async fn play(options: &Options) -> Qoe {
    let mut session = Session::new(options);
    let mut played = session.run().await;
    if let Some(file) = &options.server_slots {
        match Slots::read(file) {
            Ok(slots) => session.qoe.slots = Some(slots),
            Err(error) => played = played.and(Err(error)),
        }
    }
    if let Err(error) = played {
        session.qoe.error = Some(format!("{error:#}"));
    }
    session.close()
}

struct Session<'o> {
    options: &'o Options,
    began: Instant,
    buffer: Buffer,
    told: Option<Told>,
    viewing: Viewing,
    qoe: Qoe,
}

impl<'o> Session<'o> {
    fn new(options: &'o Options) -> Self {
        let is_hls = options.url.path().ends_with(".m3u8");
        let (format, name) = if is_hls { ("h", "hls") } else { ("d", "dash") };
        let qoe = Qoe {
            url: options.url.to_string(),
            format: name,
            abr: options.abr.name(),
            uses_cmsd: options.use_cmsd,
            ..Qoe::default()
        };
        // The seed of the standard library's hash tables is random.
        let session = format!("{:016x}", RandomState::new().hash_one(options.url.path()));
        let content: String = options.url.path().chars().take(64).collect();
        Self {
            options,
            began: Instant::now(),
            buffer: Buffer::new(options.startup),
            told: None,
            viewing: Viewing {
                session,
                content,
                format,
            },
            qoe,
        }
    }

    async fn run(&mut self) -> Result<()> {
        let url = Url::parse(&self.options.url.to_string()).context("no address to play")?;
        let mut client = Client::connect(&url, self.options.patience).await?;
        let reading = tokio::time::timeout(MOST_WAITING, self.title(&mut client, &url));
        let seconds = MOST_WAITING.as_secs();
        let read = reading.await;
        let title = read.map_err(|_| anyhow!("{url} did not come within {seconds} s"))??;
        let room = title.longest() * 2;
        ensure!(
            self.options.buffer >= room,
            "segments are {:.1} s long; --buffer has to be {:.1} s at least",
            title.longest().as_secs_f64(),
            room.as_secs_f64()
        );
        let all: Duration = title.qualities[0]
            .segments
            .iter()
            .map(|one| one.duration)
            .sum();
        let whole = self.options.play.map_or(all, |play| play.min(all));
        let bound = whole * MOST_STALLS + MOST_WAITING;
        let playing = tokio::time::timeout(bound, self.segments(&mut client, &title, whole));
        playing
            .await
            .map_err(|_| anyhow!("gave up after {:.0} s", bound.as_secs_f64()))?
    }

    async fn title(&mut self, client: &mut Client, url: &Url) -> Result<Presentation> {
        let first = self.text(client, url).await?;
        if self.qoe.format == "dash" {
            let text = String::from_utf8(first.content).context("the manifest is not UTF-8")?;
            return dash::read(&text, url);
        }
        match hls::read(&first.content, url)? {
            hls::Read::Media(quality) => {
                // A playlist of one quality: nothing tells its bit rate, and nothing is chosen.
                Presentation::new(vec![Quality {
                    bitrate_bps: 1,
                    ..quality
                }])
            }
            hls::Read::Master(variants) => {
                let mut qualities = Vec::new();
                // A variant is named again for each group of sound.
                let mut seen = BTreeSet::new();
                for (bitrate_bps, at) in variants {
                    if !seen.insert(at.clone()) {
                        continue;
                    }
                    let text = self.text(client, &at).await?;
                    let hls::Read::Media(quality) = hls::read(&text.content, &at)? else {
                        bail!("{at} is a master playlist inside another");
                    };
                    qualities.push(Quality {
                        bitrate_bps,
                        ..quality
                    });
                }
                Presentation::new(qualities)
            }
        }
    }

    async fn segments(
        &mut self,
        client: &mut Client,
        title: &Presentation,
        whole: Duration,
    ) -> Result<()> {
        let ladder = title.ladder();
        let top = *ladder.last().context("no bit rate")?;
        let mut chooser = Chooser::new(self.options.abr, ladder, self.options.buffer);
        let mut started = vec![false; title.qualities.len()];
        let mut fetched = Duration::ZERO;
        let mut stalls = 0;
        for place in 0..title.length() {
            if fetched >= whole {
                break;
            }
            self.wait_for_room(title.longest()).await;
            let told = self.told.filter(|_| self.options.use_cmsd);
            let usual = title.qualities[0].segments[place].duration;
            let level = self.buffer.level();
            let choice = chooser.choose(level, usual, told);
            let quality = &title.qualities[choice];
            if let (false, Some(start)) = (started[choice], &quality.start) {
                self.small(client, start).await?;
                started[choice] = true;
            }
            let segment = &quality.segments[place];
            let needs = Needs {
                kind: "v",
                bitrate_bps: Some(quality.bitrate_bps),
                top_bps: Some(top),
                duration: Some(segment.duration),
                buffer: Some(self.buffer.level()),
                measured_bps: chooser.throughput_bps(),
                startup: self.buffer.is_waiting(),
                starved: self.buffer.stalls > stalls,
            };
            stalls = self.buffer.stalls;
            let bytes = self
                .segment(client, &segment.url, &needs, segment.duration)
                .await?;
            chooser.saw(bytes);
            fetched += segment.duration;
        }
        self.buffer.complete(self.began.elapsed());
        tokio::time::sleep(self.buffer.level()).await;
        Ok(())
    }

    /// Fetches a segment, and returns its throughput in bit/s.
    async fn segment(
        &mut self,
        client: &mut Client,
        url: &Url,
        needs: &Needs,
        duration: Duration,
    ) -> Result<f64> {
        let asked = self.began.elapsed();
        self.buffer.advance(asked);
        let (before, stalled) = (self.buffer.level(), self.buffer.stalled);
        let (url, fields) = self.request(url, needs);
        let answer = client.file(&url, &fields).await?;
        self.buffer.add(self.began.elapsed(), duration);
        let told = self.hear(&answer);
        let kbps = |bps: f64| bps / 1000.0;
        let took_s = answer.took.as_secs_f64();
        self.qoe.push(SegmentRow {
            began_s: asked.as_secs_f64(),
            took_s,
            duration_s: duration.as_secs_f64(),
            bytes: answer.bytes,
            bitrate_kbps: kbps(needs.bitrate_bps.unwrap_or(0) as f64),
            buffer_before_s: before.as_secs_f64(),
            buffer_after_s: self.buffer.level().as_secs_f64(),
            stalled_s: (self.buffer.stalled - stalled).as_secs_f64(),
            etp_kbps: told.estimated_bps.map(kbps),
            mb_kbps: told.suggested_bps.map(kbps),
        });
        Ok(answer.bytes as f64 * 8.0 / took_s.max(1e-6))
    }

    async fn text(&mut self, client: &mut Client, url: &Url) -> Result<Answer> {
        let (url, fields) = self.request(url, &Needs::small("m"));
        client.text(&url, &fields).await
    }

    async fn small(&mut self, client: &mut Client, url: &Url) -> Result<()> {
        let (url, fields) = self.request(url, &Needs::small("i"));
        let answer = client.file(&url, &fields).await?;
        self.hear(&answer);
        Ok(())
    }

    fn request(&self, url: &Url, needs: &Needs) -> (Url, Vec<(&'static str, String)>) {
        let (fields, argument) = needs.written(&self.viewing, self.options.cmcd);
        let mut url = url.clone();
        if let Some(argument) = argument {
            let query = match url.query() {
                Some(query) => format!("{query}&{argument}"),
                None => argument,
            };
            url.set_query(Some(&query));
        }
        (url, fields)
    }

    fn hear(&mut self, answer: &Answer) -> Told {
        let told = answer.cmsd.as_deref().map(Told::read).unwrap_or_default();
        self.qoe.server.heard(told);
        self.told = Some(told);
        told
    }

    /// Until there is room for one more segment. The buffer plays meanwhile, or has room.
    async fn wait_for_room(&mut self, segment: Duration) {
        self.buffer.advance(self.began.elapsed());
        let full = (self.buffer.level() + segment).saturating_sub(self.options.buffer);
        if !self.buffer.is_waiting() && !full.is_zero() {
            tokio::time::sleep(full).await;
        }
        self.buffer.advance(self.began.elapsed());
    }

    fn close(mut self) -> Qoe {
        self.buffer.advance(self.began.elapsed());
        self.qoe.startup_delay_s = self.buffer.began.map(|began| began.as_secs_f64());
        self.qoe.stalls = self.buffer.stalls;
        self.qoe.stalled_s = self.buffer.stalled.as_secs_f64();
        self.qoe.played_s = self.buffer.played.as_secs_f64();
        self.qoe
    }
}
