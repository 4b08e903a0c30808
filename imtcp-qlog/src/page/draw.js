// Draws lines, bands and marks on canvases. Each column of pixels gets the least and the greatest
// value that fall into it, so no peak is lost at any zoom.

const LEFT = 64, RIGHT = 30, TOP = 8, BOTTOM = 20;

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const lineColor = (number) => color(`--c${number % 8}`);

// A round number at or above x: 1, 2 or 5 times a power of ten.
function round(x) {
  const power = 10 ** Math.floor(Math.log10(x));
  return [1, 2, 5, 10].find((factor) => factor * power >= x * 0.999999) * power;
}

function shownTime(ms, span) {
  if (span < 50) return `${ms.toFixed(span < 1 ? 4 : span < 10 ? 3 : 2)} ms`;
  return `${(ms / 1e3).toFixed(span < 500 ? 4 : span < 5e3 ? 3 : span < 5e4 ? 2 : 1)} s`;
}

function shownValue(value) {
  if (value === undefined || !isFinite(value)) return "–";
  const size = Math.abs(value);
  return value.toFixed(size >= 1000 ? 0 : size >= 100 ? 1 : size >= 1 ? 2 : 3);
}

// The label of a tick; ticks are `step` apart.
function tickTime(ms, step, span) {
  const [value, unit, distance] = span < 50 ? [ms, "ms", step] : [ms / 1e3, "s", step / 1e3];
  const digits = Math.max(0, Math.min(6, -Math.floor(Math.log10(distance) + 1e-9)));
  return `${value.toFixed(digits)} ${unit}`;
}

class Canvas {
  constructor(element, height) {
    this.element = element;
    this.height = height;
    this.context = element.getContext("2d");
  }

  // Fits the canvas to the page, and clears it.
  begin(view) {
    const scale = window.devicePixelRatio || 1;
    this.width = this.element.clientWidth;
    this.element.style.height = `${this.height}px`;
    this.element.width = Math.round(this.width * scale);
    this.element.height = Math.round(this.height * scale);
    this.context.setTransform(scale, 0, 0, scale, 0, 0);
    this.context.clearRect(0, 0, this.width, this.height);
    this.context.font = "11px system-ui, sans-serif";
    this.view = view;
    this.plot = Math.max(1, this.width - LEFT - RIGHT);
  }

  x(time) {
    return LEFT + (time - this.view.from) / (this.view.to - this.view.from) * this.plot;
  }

  time(x) {
    return this.view.from + (x - LEFT) / this.plot * (this.view.to - this.view.from);
  }

  // The span of one column of pixels.
  column() {
    return (this.view.to - this.view.from) / this.plot;
  }

  clip(draw) {
    const context = this.context;
    context.save();
    context.beginPath();
    context.rect(LEFT, 0, this.plot, this.height);
    context.clip();
    draw(context);
    context.restore();
  }

  timeAxis(bottom) {
    const context = this.context, span = this.view.to - this.view.from;
    const step = round(span / Math.max(2, this.plot / 110));
    context.fillStyle = color("--faint");
    context.strokeStyle = color("--grid");
    context.textAlign = "center";
    context.lineWidth = 1;
    for (let at = Math.ceil(this.view.from / step) * step; at <= this.view.to; at += step) {
      const x = Math.round(this.x(at)) + 0.5;
      context.beginPath();
      context.moveTo(x, TOP);
      context.lineTo(x, bottom);
      context.stroke();
      context.fillText(tickTime(at, step, span), x, bottom + 14);
    }
  }

  valueAxis(low, high, y) {
    const context = this.context, step = round((high - low) / 5);
    context.textAlign = "right";
    for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-6; at += step) {
      const height = Math.round(y(at)) + 0.5;
      context.strokeStyle = color("--grid");
      context.beginPath();
      context.moveTo(LEFT, height);
      context.lineTo(this.width - RIGHT, height);
      context.stroke();
      context.fillStyle = color("--faint");
      const digits = Math.max(0, Math.min(6, -Math.floor(Math.log10(step))));
      context.fillText(at.toFixed(digits), LEFT - 6, height + 4);
    }
  }
}

// Visits the columns of pixels in which a series has points: column, least, greatest, first and
// last value, and the times of these two.
function columns(canvas, series, visit) {
  const { from, to } = canvas.view;
  let a = Math.max(0, series.from(from) - 1);
  const end = Math.min(series.t.length, series.from(to) + 1);
  while (a < end) {
    const x = Math.floor(canvas.x(series.t[a]));
    let b = series.from(canvas.time(x + 1));
    if (b <= a) b = a + 1;
    b = Math.min(b, end);
    const [low, high] = b - a === 1 ? [series.v[a], series.v[a]] : series.extremes(a, b);
    visit(b - a === 1 ? canvas.x(series.t[a]) : x + 0.5, low, high, series.v[a], series.v[b - 1],
      series.t[a], series.t[b - 1]);
    a = b;
  }
}

function drawLine(canvas, context, line, y) {
  context.strokeStyle = context.fillStyle = lineColor(line.color);
  context.lineWidth = 1.3;
  if (line.shape === "slope") return drawSlope(canvas, context, line, y);
  if (line.shape === "dots") {
    columns(canvas, line.series, (x, low, high) => {
      for (const value of low === high ? [low] : [low, high]) {
        context.fillRect(x - 1.5, y(value) - 1.5, 3, 3);
      }
    });
    return;
  }
  let before, since;
  context.beginPath();
  columns(canvas, line.series, (x, low, high, first, last, start, end) => {
    const gap = before === undefined ? undefined : line.series.gapBetween(since, start);
    if (gap) context.lineTo(canvas.x(gap[0]), y(before));
    if (before === undefined || gap) context.moveTo(x, y(first));
    else {
      context.lineTo(x, y(before));
      context.lineTo(x, y(first));
    }
    since = end;
    if (low !== high) {
      context.lineTo(x, y(low));
      context.lineTo(x, y(high));
      context.lineTo(x, y(last));
    }
    before = last;
  });
  if (before !== undefined) {
    const gap = line.series.gapBetween(since, Infinity);
    const end = Math.min(canvas.x(gap ? gap[0] : canvas.view.end), canvas.width);
    context.lineTo(end, y(before));
  }
  context.stroke();
}

// A rate over so much time that it means something: some pixels, and some packets.
function slopeSpan(canvas) {
  return Math.max(canvas.column() * 8, 20);
}

function drawSlope(canvas, context, line, y) {
  const span = slopeSpan(canvas), end = line.series.t[line.series.t.length - 1];
  context.beginPath();
  let open = false;
  for (let x = LEFT; x <= LEFT + canvas.plot; x += 2) {
    const time = canvas.time(x);
    const rate = time < 0 || time > end ? undefined : line.series.slope(time, span);
    if (rate === undefined) open = false;
    else if (open) context.lineTo(x, y(rate * 8));
    else {
      context.moveTo(x, y(rate * 8));
      open = true;
    }
  }
  context.stroke();
}

// Nothing is drawn in gaps from now on.
function leaveOut(canvas, context, series) {
  context.beginPath();
  let x = 0;
  for (let i = series.gapFrom(canvas.view.from); i < series.gaps.length; i++) {
    const [from, to] = series.gaps[i];
    if (from > canvas.view.to) break;
    context.rect(x, 0, Math.max(0, canvas.x(from) - x), canvas.height);
    x = canvas.x(to);
  }
  context.rect(x, 0, Math.max(0, canvas.width - x), canvas.height);
  context.clip();
}

function drawBand(canvas, context, line, y) {
  context.save();
  leaveOut(canvas, context, line.series);
  const [low, high] = line.band;
  const upper = [], lower = [];
  const collect = (series, into, pick) => {
    let before;
    columns(canvas, series, (x, least, greatest, first, last) => {
      if (before !== undefined) into.push([x, before]);
      into.push([x, pick(least, greatest)]);
      before = last;
    });
    if (before !== undefined) into.push([Math.min(canvas.x(canvas.view.end), canvas.width), before]);
  };
  collect(high, upper, Math.max);
  collect(low, lower, Math.min);
  context.beginPath();
  for (const [x, value] of upper) context.lineTo(x, y(value));
  for (const [x, value] of lower.reverse()) context.lineTo(x, y(value));
  context.closePath();
  context.globalAlpha = 0.16;
  context.fillStyle = lineColor(line.color);
  context.fill();
  context.restore();
}
