// Panels, their legends, and what the mouse does.

const HEIGHT = 210, LANE = 16;

// Least and greatest value of a line in view.
function reach(canvas, line) {
  const { from, to } = canvas.view;
  let low = Infinity, high = -Infinity;
  if (line.shape === "slope") {
    const span = slopeSpan(canvas);
    for (let x = LEFT; x <= LEFT + canvas.plot; x += 8) {
      const rate = line.series.slope(canvas.time(x), span);
      if (rate !== undefined) high = Math.max(high, rate * 8);
    }
    return [0, high];
  }
  for (const series of [line.series, ...(line.band || []).slice(1)]) {
    const a = Math.max(0, series.from(from) - 1), b = series.from(to);
    if (b <= a) continue;
    const [least, greatest] = series.extremes(a, b);
    low = Math.min(low, least);
    high = Math.max(high, greatest);
  }
  return [low, high];
}

// The range of a panel. What may leave it widens it to double the rest at most.
function extent(canvas, panel) {
  let low = Infinity, high = -Infinity, loose = -Infinity;
  for (const line of panel.lines.filter((line) => line.shown)) {
    const [least, greatest] = reach(canvas, line);
    low = Math.min(low, least);
    if (line.loose) loose = Math.max(loose, greatest);
    else high = Math.max(high, greatest);
  }
  high = isFinite(high) ? Math.max(high, Math.min(loose, high * 2)) : loose;
  if (!isFinite(high)) return [0, 1];
  // A baseline of zero, unless the values are far from it compared to their range.
  const margin = (high - low) * 0.06 || Math.abs(high) * 0.05 || 1;
  return [low < (high - low) * 4 ? Math.min(0, low) : low - margin, high + margin];
}

function drawPanel(panel) {
  const { canvas } = panel;
  canvas.begin(view);
  const [low, high] = extent(canvas, panel);
  const bottom = canvas.height - BOTTOM;
  const y = (value) => bottom - (value - low) / (high - low) * (bottom - TOP);
  canvas.timeAxis(bottom);
  const scaled = (value) => y(value * panel.scale);
  canvas.valueAxis(low / panel.scale, high / panel.scale, scaled);
  canvas.clip((context) => {
    const shown = panel.lines.filter((line) => line.shown);
    for (const line of shown) if (line.band) drawBand(canvas, context, line, y);
    for (const line of shown.slice().reverse()) drawLine(canvas, context, line, y);
    drawChoice(context, canvas);
  });
}

// The lanes of marks: losses, probe streams, slots, states.
function laneRows(lanes) {
  const rows = [];
  for (const run of lanes) {
    const prefix = directory.several ? `${run.name}: ` : "";
    if (run.losses.length) rows.push({ name: `${prefix}losses`, kind: "losses", run });
    if (run.streams.length) rows.push({ name: `${prefix}streams`, kind: "streams", run });
    if (run.slots.length) rows.push({ name: `${prefix}slots`, kind: "slots", run });
    if (run.statuses.length) rows.push({ name: `${prefix}promise`, kind: "statuses", run });
    if (run.states.length) rows.push({ name: `${prefix}phase`, kind: "states", run });
  }
  return rows;
}

const outcomeColor = { kept: "--good", missed: "--bad", source_limited: "--open" };
const trendColor = (trend) => color(trend > 0 ? "--bad" : trend < 0 ? "--good" : "--open");
const mega = (bps) => `${(bps / 1e6).toFixed(2)} Mbit/s`;

// Passes the marks of a row: start, end, colour, text.
function marks(row, visit) {
  const run = row.run;
  if (row.kind === "losses") for (const at of run.losses) visit(at, at, color("--bad"), "a packet was lost");
  if (row.kind === "streams") {
    for (const [start, end, judged, trend, measurement, stream, low, high, packets, verdict] of run.streams) {
      const text = `measurement ${measurement}, stream ${stream}: ${packets} packets, ` +
        `${mega(low)} to ${mega(high)}\n${verdict.replaceAll("_", " ")}, known ` +
        `${(judged - start).toFixed(2)} ms after its start`;
      visit(start, end, trendColor(trend), text);
    }
  }
  if (row.kind === "slots") {
    for (const [start, end, outcome, required, achieved] of run.slots) {
      const text = `slot: ${outcome.replaceAll("_", " ")}\n${mega(achieved)} of ${mega(required)}`;
      visit(start, end, color(outcomeColor[outcome] || "--open"), text);
    }
  }
  if (row.kind === "states" || row.kind === "statuses") {
    const states = run[row.kind];
    states.forEach(([at, name], i) => {
      const end = i + 1 < states.length ? states[i + 1][0] : directory.end_ms;
      visit(at, end, stateColor(name), name.replaceAll("_", " "));
    });
  }
}

function stateColor(name) {
  const known = { on_target: "--good", at_risk: "--c1", broken: "--bad", idle: "--open",
    slow_start: "--c4", congestion_avoidance: "--c0", recovery: "--c1" };
  return color(known[name] || "--open");
}

function drawLanes(lanes) {
  const { canvas, rows } = lanes;
  canvas.begin(view);
  canvas.timeAxis(canvas.height - BOTTOM);
  const context = canvas.context;
  rows.forEach((row, i) => {
    context.fillStyle = color("--faint");
    context.textAlign = "right";
    const text = row.name.length > 11 ? `…${row.name.slice(-10)}` : row.name;
    context.fillText(text, LEFT - 6, TOP + i * LANE + 12);
  });
  canvas.clip((context) => {
    rows.forEach((row, i) => {
      let last = -9;
      marks(row, (start, end, fill) => {
        if (end < view.from || start > view.to) return;
        const a = canvas.x(start), width = Math.max(1.5, canvas.x(end) - a);
        if (a + width < last + 0.5) return;
        last = a + width;
        context.fillStyle = fill;
        const gap = row.kind === "slots" && width > 4 ? 1 : 0;
        context.fillRect(a, TOP + i * LANE + 3, width - gap, LANE - 5);
      });
    });
    drawChoice(context, canvas);
  });
}

// The cursor's line, and the range that is being chosen.
function drawChoice(context, canvas) {
  if (choice) {
    context.fillStyle = color("--c0");
    context.globalAlpha = 0.15;
    const [a, b] = [canvas.x(choice.from), canvas.x(choice.to)];
    context.fillRect(Math.min(a, b), 0, Math.abs(b - a), canvas.height);
    context.globalAlpha = 1;
  } else if (cursor !== null) {
    context.strokeStyle = color("--faint");
    context.lineWidth = 1;
    const x = Math.round(canvas.x(cursor)) + 0.5;
    context.beginPath();
    context.moveTo(x, 0);
    context.lineTo(x, canvas.height);
    context.stroke();
  }
}

let directory, view, choice = null, cursor = null, panels = [], lanes = null, waiting = false;

function draw() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    panels.forEach(drawPanel);
    if (lanes) drawLanes(lanes);
    const span = view.to - view.from;
    document.getElementById("range").textContent =
      `${shownTime(view.from, span)} to ${shownTime(view.to, span)} (${shownTime(span, span)})`;
    for (const panel of panels) for (const line of panel.lines) {
      const at = cursor === null ? undefined : line.shape === "slope"
        ? line.series.slope(cursor, slopeSpan(panel.canvas)) * 8 : line.series.at(cursor);
      line.output.textContent = cursor === null ? "" : shownValue(at / panel.scale);
    }
  });
}

function show(from, to) {
  const whole = directory.end_ms || 1;
  const span = Math.min(Math.max(to - from, 0.02), whole * 1.02);
  const start = Math.min(Math.max(from, -whole * 0.01), whole * 1.01 - span);
  view = { from: start, to: start + span, end: whole };
  draw();
}

const showAll = () => show(-directory.end_ms * 0.005, directory.end_ms * 1.005);
const zoom = (at, factor) =>
  show(at - (at - view.from) * factor, at + (view.to - at) * factor);
const move = (share) =>
  show(view.from + (view.to - view.from) * share, view.to + (view.to - view.from) * share);

function follow(canvas) {
  const element = canvas.element;
  const timeOf = (event) => canvas.time(event.clientX - element.getBoundingClientRect().left);
  let drag = null;
  element.addEventListener("wheel", (event) => {
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) return move(event.deltaX / canvas.plot);
    zoom(timeOf(event), Math.exp(Math.max(-1, Math.min(1, event.deltaY * 0.002))));
  }, { passive: false });
  element.addEventListener("pointerdown", (event) => {
    element.setPointerCapture(event.pointerId);
    drag = { time: timeOf(event), x: event.clientX, moves: event.shiftKey || event.button === 1, view };
  });
  element.addEventListener("pointermove", (event) => {
    cursor = timeOf(event);
    if (drag && drag.moves) {
      const span = drag.view.to - drag.view.from;
      const by = (drag.x - event.clientX) / canvas.plot * span;
      show(drag.view.from + by, drag.view.to + by);
    } else if (drag && Math.abs(event.clientX - drag.x) > 3) {
      choice = { from: drag.time, to: cursor };
    }
    tell(canvas, event);
    draw();
  });
  element.addEventListener("pointerup", () => {
    const chosen = choice;
    [drag, choice] = [null, null];
    if (chosen) show(Math.min(chosen.from, chosen.to), Math.max(chosen.from, chosen.to));
    draw();
  });
  element.addEventListener("pointerleave", () => {
    cursor = null;
    document.getElementById("tip").hidden = true;
    draw();
  });
  element.addEventListener("dblclick", showAll);
}

// Says what lies under the mouse in a lane.
function tell(canvas, event) {
  const tip = document.getElementById("tip");
  tip.hidden = true;
  if (!lanes || canvas !== lanes.canvas) return;
  const box = canvas.element.getBoundingClientRect();
  const row = lanes.rows[Math.floor((event.clientY - box.top - TOP) / LANE)];
  if (!row) return;
  const time = canvas.time(event.clientX - box.left), slack = canvas.column() * 3;
  marks(row, (start, end, fill, text) => {
    if (start - slack <= time && time <= Math.max(end, start) + slack) {
      tip.hidden = false;
      tip.textContent = `${shownTime(start, view.to - view.from)}: ${text}`;
    }
  });
  tip.style.left = `${Math.min(event.clientX + 14, window.innerWidth - 300)}px`;
  tip.style.top = `${event.clientY + 14}px`;
}

function section(title, height) {
  const root = document.createElement("section");
  const heading = document.createElement("h2");
  heading.textContent = title;
  const legend = document.createElement("div");
  legend.className = "legend";
  const element = document.createElement("canvas");
  element.setAttribute("role", "img");
  element.setAttribute("aria-label", title);
  root.append(heading, legend, element);
  document.getElementById("panels").append(root);
  const canvas = new Canvas(element, height);
  follow(canvas);
  return { canvas, legend };
}

function legendEntry(line) {
  const label = document.createElement("label");
  const box = document.createElement("input");
  box.type = "checkbox";
  box.checked = line.shown;
  box.addEventListener("change", () => {
    line.shown = box.checked;
    draw();
  });
  const swatch = document.createElement("span");
  swatch.className = "swatch";
  swatch.style.background = `var(--c${line.color % 8})`;
  line.output = document.createElement("span");
  line.output.className = "value";
  label.append(box, swatch, line.name, line.output);
  return label;
}

function keys(event) {
  if (event.target.tagName === "INPUT" || event.ctrlKey || event.metaKey) return;
  const at = cursor ?? (view.from + view.to) / 2;
  const does = { "0": showAll, "+": () => zoom(at, 0.5), "=": () => zoom(at, 0.5),
    "-": () => zoom(at, 2), ArrowLeft: () => move(-0.25), ArrowRight: () => move(0.25) }[event.key];
  if (does) {
    event.preventDefault();
    does();
  }
}

async function start() {
  directory = JSON.parse(document.getElementById("directory").textContent);
  const bytes = await unpack();
  panels = directory.panels.map((panel) => {
    const { canvas, legend } = section(`${panel.title}, ${panel.unit}`, HEIGHT);
    for (const line of panel.lines) {
      line.series = new Series(bytes, line.place, line.gaps);
      line.band = line.band && line.band.map((place) => new Series(bytes, place));
      legend.append(legendEntry(line));
    }
    return { ...panel, canvas };
  });
  const rows = laneRows(directory.lanes);
  if (rows.length) {
    const title = "Losses, probe streams (red: the delay increases), slots, states";
    lanes = { rows, ...section(title, rows.length * LANE + TOP + BOTTOM) };
  }
  document.getElementById("all").onclick = showAll;
  document.getElementById("in").onclick = () => zoom((view.from + view.to) / 2, 0.5);
  document.getElementById("out").onclick = () => zoom((view.from + view.to) / 2, 2);
  document.getElementById("left").onclick = () => move(-0.25);
  document.getElementById("right").onclick = () => move(0.25);
  document.addEventListener("keydown", keys);
  window.addEventListener("resize", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  const range = new URLSearchParams(location.hash.slice(1));
  if (range.has("from")) show(+range.get("from"), +range.get("to"));
  else showAll();
  document.documentElement.dataset.ready = "yes";
}

start().catch((error) => {
  const text = document.createElement("p");
  text.textContent = `The figures cannot be drawn: ${error.message}. A browser from 2023 or later can.`;
  document.getElementById("panels").append(text);
});
