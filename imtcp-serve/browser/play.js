// Plays a title with dash.js or shaka-player, and remembers what a viewer saw. The query says how:
// player (dash, shaka), manifest, floor (the lowest bit rate in kbit/s that may be chosen), and
// cmsd (1 if the choice goes by what the server says of the path).

const asked = new URLSearchParams(location.search);
const floor = Number(asked.get("floor"));
const wantsCmsd = asked.get("cmsd") === "1";
const video = document.querySelector("video");

/// The seconds of film that a player keeps ahead.
const AHEAD = 12;

const seen = { began: null, stalls: [], errors: [], bitrates: [], ended: false };
const now = () => performance.now() / 1000;
const start = now();

// ---- What the element itself tells, whatever the player thinks

let waiting = null;
video.addEventListener("playing", () => {
  seen.began ??= now() - start;
  if (waiting !== null) seen.stalls.push({ at: waiting.at, seconds: now() - waiting.since });
  waiting = null;
});
video.addEventListener("waiting", () => {
  // Before the first picture it is the start, and at the end of the title there is no more.
  if (seen.began === null || video.currentTime >= video.duration - 0.5) return;
  waiting ??= { at: video.currentTime, since: now() };
});
video.addEventListener("ended", () => { seen.ended = true; });
video.addEventListener("error", () => seen.errors.push(`video: ${video.error?.message}`));

const choose = (kbps) => {
  const last = seen.bitrates.at(-1);
  if (last?.kbps !== kbps) seen.bitrates.push({ at: video.currentTime, kbps });
};

// ---- The players

const load = (name) => new Promise((done, failed) => {
  const script = document.createElement("script");
  script.src = name;
  script.onload = done;
  script.onerror = () => failed(new Error(`${name} cannot be loaded`));
  document.head.append(script);
});

const withDash = async () => {
  await load("dash.js");
  const player = dashjs.MediaPlayer().create();
  player.updateSettings({
    streaming: {
      abr: { initialBitrate: { video: floor }, minBitrate: { video: floor } },
      buffer: { bufferTimeDefault: AHEAD, bufferTimeAtTopQuality: AHEAD },
      cmcd: { enabled: true, mode: "header", version: 1 },
      cmsd: {
        enabled: wantsCmsd,
        abr: { applyMb: wantsCmsd, etpWeightRatio: wantsCmsd ? 0.5 : 0 },
      },
    },
  });
  const { events } = dashjs.MediaPlayer;
  player.on(events.ERROR, ({ error }) => seen.errors.push(`dash.js: ${error?.message ?? error}`));
  player.on(events.QUALITY_CHANGE_RENDERED, ({ newRepresentation }) => {
    choose(newRepresentation.bitrateInKbit);
  });
  player.initialize(video, asked.get("manifest"), true);
  return () => ({
    version: dashjs.Version ?? player.getVersion(),
    throughput_kbps: player.getAverageThroughput("video"),
    latency_ms: player.getAverageLatency("video"),
    buffer_s: player.getDashMetrics().getCurrentBufferLevel("video"),
    dropped_frames: player.getDashMetrics().getCurrentDroppedFrames()?.droppedFrames ?? null,
  });
};

const withShaka = async () => {
  await load("shaka.js");
  shaka.polyfill.installAll();
  const player = new shaka.Player();
  player.configure({
    // What it restricts its choice by gives way if the network seems slow; this does not.
    restrictions: { minBandwidth: floor * 1000 },
    streaming: { bufferingGoal: AHEAD },
    cmcd: { enabled: true, useHeaders: true },
    cmsd: {
      enabled: wantsCmsd,
      // shaka-player 5.2.12 fails where `mb` leaves no bit rate that the floor allows.
      applyMaximumSuggestedBitrate: false,
      estimatedThroughputWeightRatio: wantsCmsd ? 0.5 : 0,
    },
  });
  player.addEventListener("error", ({ detail }) => {
    seen.errors.push(`shaka: ${detail?.code} ${detail?.message ?? ""}`);
  });
  const look = () => {
    // Right after loading none need be chosen yet.
    const active = player.getVariantTracks().find((track) => track.active);
    if (active) choose(Math.round(active.bandwidth / 1000));
  };
  for (const event of ["adaptation", "variantchanged"]) player.addEventListener(event, look);
  await player.attach(video);
  await player.load(asked.get("manifest"));
  await video.play();
  return () => {
    look();
    const stats = player.getStats();
    return {
      version: shaka.Player.version,
      throughput_kbps: Math.round(stats.estimatedBandwidth / 1000),
      buffering_s: stats.bufferingTime,
      load_s: stats.loadLatency,
      stalls_detected: stats.stallsDetected,
      gaps_jumped: stats.gapsJumped,
      dropped_frames: stats.droppedFrames,
    };
  };
};

let own = () => ({});

/// What the driver reads while the title plays, and at the end.
window.report = () => {
  const stalls = [...seen.stalls];
  if (waiting !== null) stalls.push({ at: waiting.at, seconds: now() - waiting.since });
  const ahead = video.buffered.length ? video.buffered.end(video.buffered.length - 1) : 0;
  return {
    ...seen,
    stalls,
    played: video.currentTime,
    ahead: ahead - video.currentTime,
    player: own(),
    requests: performance.getEntriesByType("resource").map((entry) => ({
      path: new URL(entry.name).pathname,
      protocol: entry.nextHopProtocol,
      begun: entry.requestStart / 1000,
      answered: entry.responseStart / 1000,
      done: entry.responseEnd / 1000,
      bytes: entry.encodedBodySize,
    })),
  };
};

performance.setResourceTimingBufferSize(10000);
try {
  own = await (asked.get("player") === "dash" ? withDash() : withShaka());
} catch (error) {
  seen.errors.push(String(error?.message ?? error));
}
