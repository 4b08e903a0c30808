"use strict";
// Draws one path: capacity, truth, estimate with its interval, lower bounds, and silence.
const paths = JSON.parse(document.getElementById("data").textContent);
const [classes, seeds] = ["class", "seed"].map(id => document.getElementById(id));
const [chart, words, readout] =
  ["chart", "words", "readout"].map(id => document.getElementById(id));
const W = 1100, H = 360, LEFT = 60, RIGHT = 10, TOP = 10, BOTTOM = 40, OLD_MS = 1000;

/** Four hexadecimal digits a number; ffff is nothing. */
function series(text, scale) {
  const numbers = [];
  for (let at = 0; at < text.length; at += 4) {
    const number = parseInt(text.slice(at, at + 4), 16);
    numbers.push(number === 0xffff ? null : number * scale);
  }
  return numbers;
}

function element(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const key in attributes) made.setAttribute(key, attributes[key]);
  if (text !== undefined) made.textContent = text;
  return made;
}

/** About so many round numbers up to a limit. */
function ticks(from, to, count) {
  const raw = (to - from) / count, size = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].map(it => it * size).find(it => it >= raw);
  const all = [];
  for (let at = Math.ceil(from / step) * step; at <= to + step / 1e6; at += step) all.push(at);
  return all;
}

/** A line with gaps where there is nothing. */
function line(values, x, y) {
  let path = "", pen = false;
  values.forEach((value, index) => {
    if (value !== null) path += `${pen ? "L" : "M"}${x(index).toFixed(1)} ${y(value).toFixed(1)}`;
    pen = value !== null;
  });
  return path;
}

/** What lies between two lines, run by run. */
function band(low, high, x, y) {
  let path = "", run = [];
  const end = () => {
    if (run.length) {
      const there = run.map(i => `${x(i).toFixed(1)} ${y(high[i]).toFixed(1)}`);
      const back = run.reverse().map(i => `${x(i).toFixed(1)} ${y(low[i]).toFixed(1)}`);
      path += `M${there.join("L")}L${back.join("L")}Z`;
    }
    run = [];
  };
  low.forEach((value, index) => value !== null && high[index] !== null ? run.push(index) : end());
  end();
  return path;
}

function draw(one) {
  const scale = one.top_bps / 65000 / 1e6;
  const [capacity, truth, value, low, high] =
    ["capacity", "truth", "value", "low", "high"].map(name => series(one[name], scale));
  const age = series(one.age, 1), count = truth.length;
  const top = one.top_bps / 1e6, last = one.from_s + one.step_s * Math.max(count - 1, 1);
  const x = index => LEFT + (W - LEFT - RIGHT) * index / Math.max(count - 1, 1);
  const y = mbps => TOP + (H - TOP - BOTTOM) * (1 - Math.min(mbps, top) / top);
  const at = seconds => x((seconds - one.from_s) / one.step_s);
  const svg = element("svg", { viewBox: `0 0 ${W} ${H}`, role: "img" });
  for (const mbps of ticks(0, top, 6)) {
    const level = { class: "grid", x1: LEFT, x2: W - RIGHT, y1: y(mbps), y2: y(mbps) };
    svg.append(element("line", level));
    const text = { x: LEFT - 6, y: y(mbps) + 4, "text-anchor": "end" };
    svg.append(element("text", text, Number(mbps.toPrecision(6))));
  }
  for (const second of ticks(one.from_s, last, 10)) {
    const text = { x: at(second), y: H - BOTTOM + 18, "text-anchor": "middle" };
    svg.append(element("text", text, Number(second.toPrecision(6))));
  }
  svg.append(element("text", { x: LEFT, y: H - 4 }, "Mbit/s over seconds"));
  age.forEach((ms, index) => {
    if (ms !== null && ms <= OLD_MS) return;
    const width = (W - LEFT - RIGHT) / Math.max(count - 1, 1);
    svg.append(element("rect", { class: "old", x: x(index) - width / 2, width, y: TOP,
      height: H - TOP - BOTTOM }));
  });
  for (const change of one.changes_s.filter(it => it >= one.from_s && it <= last)) {
    svg.append(element("line", { class: "change", x1: at(change), x2: at(change), y1: TOP,
      y2: H - BOTTOM }));
  }
  const bound = low.map((it, index) => value[index] === null ? it : null);
  svg.append(element("path", { class: "interval", d: band(low, high, x, y) }));
  for (const [name, values] of [["capacity", capacity], ["truth", truth], ["value", value],
    ["bound", bound]]) {
    svg.append(element("path", { class: name, d: line(values, x, y) }));
  }
  const hidden = { class: "cursor", y1: TOP, y2: H - BOTTOM, visibility: "hidden" };
  const cursor = element("line", hidden);
  svg.append(cursor);
  svg.addEventListener("pointermove", event => {
    const box = svg.getBoundingClientRect();
    const share = ((event.clientX - box.left) / box.width * W - LEFT) / (W - LEFT - RIGHT);
    const index = Math.round(share * (count - 1));
    if (index < 0 || index >= count) return;
    for (const end of ["x1", "x2"]) cursor.setAttribute(end, x(index));
    cursor.setAttribute("visibility", "visible");
    const say = number => number === null ? "-" : number.toPrecision(4);
    const read = value[index] !== null
      ? `estimate ${say(value[index])} [${say(low[index])}, ${say(high[index])}]`
      : low[index] !== null ? `at least ${say(low[index])}` : "nothing is said";
    const old = age[index] === null ? "" : `, ${(age[index] / 1e3).toFixed(2)} s old`;
    readout.textContent = `${(one.from_s + index * one.step_s).toFixed(1)} s: capacity ` +
      `${say(capacity[index])}, truth ${say(truth[index])}, ${read}${old}`;
  });
  chart.replaceChildren(svg);
  words.textContent = `${one.path}; ${one.sends}`;
  readout.textContent = "\u00a0";
}

function fill(select, values, chosen) {
  select.replaceChildren(...values.map(value => new Option(value, value, false, value === chosen)));
}

function show(name, seed) {
  const of_class = paths.filter(path => path.class === name);
  const one = of_class.find(path => path.seed === seed) || of_class[0];
  if (!one) return;
  fill(classes, [...new Set(paths.map(path => path.class))], name);
  fill(seeds, of_class.map(path => path.seed), one.seed);
  draw(one);
}

function follow() {
  const found = /^#([a-z]+)-(\d+)$/.exec(location.hash);
  if (!found) return false;
  show(found[1], Number(found[2]));
  document.getElementById("figure").scrollIntoView();
  return true;
}

classes.addEventListener("change", () => show(classes.value));
seeds.addEventListener("change", () => show(classes.value, Number(seeds.value)));
window.addEventListener("hashchange", follow);
if (!follow() && paths.length) show(paths[0].class, paths[0].seed);
