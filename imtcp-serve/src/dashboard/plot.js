"use strict";
// Numbers as text, and rates over time as pictures. page.js uses this.

const SVG = "http://www.w3.org/2000/svg";

const make = (name, classes = "", text = "") => {
  const element = document.createElement(name);
  if (classes) element.className = classes;
  if (text !== "") element.textContent = text;
  return element;
};
const say = (element, text) => {
  // A text that stays the same keeps what a reader has selected.
  if (element.textContent !== text) element.textContent = text;
};

// ---- Numbers as text

const mbps = (kbps) => {
  if (kbps === null || kbps === undefined) return "–";
  const rate = kbps / 1000;
  return rate.toFixed(rate >= 100 ? 0 : rate >= 10 ? 1 : 2);
};
const span = (seconds) => {
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) {
    return `${Math.floor(seconds / 3600)} h ${Math.floor(seconds / 60) % 60} min`;
  }
  return `${Math.floor(seconds / 86400)} d ${Math.floor(seconds / 3600) % 24} h`;
};
const bytes = (count) => {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let place = 0;
  while (count >= 1000 && place < units.length - 1) [count, place] = [count / 1000, place + 1];
  return `${count.toFixed(place && count < 100 ? 1 : 0)} ${units[place]}`;
};
const whole = (count) => count.toLocaleString("en");
const ms = (value) => (value === null ? "–" : value.toFixed(value < 10 ? 1 : 0));
const lost = (row) => {
  if (row.sent === null) return "–";
  const share = row.sent ? (100 * row.lost) / row.sent : 0;
  return [whole(row.lost), share ? `${share.toFixed(share < 1 ? 2 : 1)} %` : ""];
};
const slots = (row) => `${whole(row.slots_kept + row.slots_source_limited)} / ` +
  whole(row.slots_missed);

// ---- Plots

/// A round number that is not below this one.
const ceiling = (value) => {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 100)));
  return [1, 1.5, 2, 3, 4, 5, 7.5, 10].map((step) => step * power).find((step) => step >= value);
};

class Plot {
  constructor() {
    this.element = make("div", "plotted");
    this.svg = document.createElementNS(SVG, "svg");
    this.svg.setAttribute("preserveAspectRatio", "none");
    this.svg.setAttribute("aria-hidden", "true");
    this.paths = {};
    for (const name of ["warned", "interval", "required", "available", "goodput"]) {
      const path = document.createElementNS(SVG, "path");
      path.setAttribute("class", name);
      this.paths[name] = path;
      this.svg.append(path);
    }
    this.scale = make("span", "scale");
    this.element.append(this.svg, this.scale, make("span", "time", "a minute ago"),
      make("span", "time now", "now"));
  }

  draw(history, kept) {
    const nothing = history.goodput.map(() => null);
    const { goodput, required = nothing, available = nothing } = history;
    const { low = nothing, high = nothing, status = "" } = history;
    const top = ceiling(1.05 * Math.max(100, ...goodput, ...required, ...available));
    const from = kept - goodput.length;
    const x = (place) => from + place;
    const y = (value) => (100 * (1 - Math.min(value, 1.2 * top) / top)).toFixed(1);
    this.svg.setAttribute("viewBox", `0 0 ${kept - 1} 100`);
    const draw = (name, way) => this.paths[name].setAttribute("d", way);
    draw("goodput", line(goodput, x, y, false));
    draw("available", line(available, x, y, false));
    draw("required", line(required, x, y, true));
    let band = "";
    low.forEach((bottom, place) => {
      // A column for each second, so that an end without a next one shows too.
      if (bottom === null) return;
      const [left, right] = [x(place) - 0.5, x(place) + 0.5];
      // A lower bound has no upper end.
      band += `M${left} ${y(bottom)}H${right}V${y(high[place] ?? Infinity)}H${left}Z`;
    });
    draw("interval", band);
    let bars = "";
    [...status].forEach((letter, place) => {
      if (letter === "a" || letter === "b") bars += `M${x(place) - 0.5} 0h1v100h-1Z`;
    });
    draw("warned", bars);
    say(this.scale, `${mbps(top).replace(/\.0+$/, "")} Mbit/s`);
  }
}

/// A way through the values, with gaps where there is none.
const line = (values, x, y, steps) => {
  let way = "";
  let before = null;
  values.forEach((value, place) => {
    if (value !== null) {
      if (before === null) way += `M${x(place) - (steps ? 0.5 : 0)} ${y(value)}`;
      else if (steps) way += `H${x(place) - 0.5}V${y(value)}`;
      else way += `L${x(place)} ${y(value)}`;
      // A value without a neighbour is a short line.
      if (steps || before === null) way += "h0.5";
    }
    before = value;
  });
  return way;
};
