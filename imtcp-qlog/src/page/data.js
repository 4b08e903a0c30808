"use strict";
// Unpacks the series: differences of integers, seven bits a byte, behind base64 and gzip.

async function unpack() {
  const text = document.getElementById("data").textContent.trim();
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

class Series {
  // Between the two times of a gap there is no value.
  constructor(bytes, place, gaps = []) {
    this.gaps = gaps;
    const end = { at: place.at };
    this.t = Series.column(bytes, end, place.count, 1e-3);
    this.v = Series.column(bytes, end, place.count, place.unit);
    this.levels = null;
  }

  static column(bytes, end, count, unit) {
    const values = new Float64Array(count);
    let at = end.at, last = 0;
    for (let i = 0; i < count; i++) {
      let number = 0, factor = 1, byte;
      do {
        byte = bytes[at++];
        number += (byte & 127) * factor;
        factor *= 128;
      } while (byte & 128);
      last += number % 2 ? -(number + 1) / 2 : number / 2;
      values[i] = last * unit;
    }
    end.at = at;
    return values;
  }

  // The index of the first point at or after a time.
  from(time) {
    let low = 0, high = this.t.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.t[middle] < time) low = middle + 1; else high = middle;
    }
    return low;
  }

  // The index of the first gap that ends after a time.
  gapFrom(time) {
    let low = 0, high = this.gaps.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.gaps[middle][1] <= time) low = middle + 1; else high = middle;
    }
    return low;
  }

  // The gap between two times; undefined where the value of the first holds until the second.
  gapBetween(from, to) {
    const gap = this.gaps[this.gapFrom(from)];
    return gap && gap[0] < to ? gap : undefined;
  }

  // The value that holds at a time; undefined before the first, and in gaps.
  at(time) {
    const i = this.from(time + 1e-9) - 1;
    const gap = this.gaps[this.gapFrom(time)];
    return i < 0 || gap && gap[0] <= time ? undefined : this.v[i];
  }

  // Least and greatest value of blocks of 64 points, of blocks of 64 blocks, and so on.
  pyramid() {
    if (this.levels) return this.levels;
    this.levels = [];
    let low = this.v, high = this.v;
    while (low.length > 64) {
      const count = Math.ceil(low.length / 64);
      const lows = new Float64Array(count), highs = new Float64Array(count);
      for (let i = 0; i < count; i++) {
        let a = Infinity, b = -Infinity;
        for (let j = i * 64; j < Math.min(low.length, i * 64 + 64); j++) {
          if (low[j] < a) a = low[j];
          if (high[j] > b) b = high[j];
        }
        lows[i] = a;
        highs[i] = b;
      }
      this.levels.push([lows, highs]);
      [low, high] = [lows, highs];
    }
    return this.levels;
  }

  // Least and greatest value of the points from index a to before b.
  extremes(a, b) {
    let low = Infinity, high = -Infinity;
    const levels = this.pyramid();
    const take = (lows, highs, from, to) => {
      for (let i = from; i < to; i++) {
        if (lows[i] < low) low = lows[i];
        if (highs[i] > high) high = highs[i];
      }
    };
    const walk = (level, from, to) => {
      const [lows, highs] = level < 0 ? [this.v, this.v] : levels[level];
      const first = Math.ceil(from / 64), last = Math.floor(to / 64);
      if (level + 1 >= levels.length || first >= last) return take(lows, highs, from, to);
      take(lows, highs, from, first * 64);
      take(lows, highs, last * 64, to);
      walk(level + 1, first, last);
    };
    walk(-1, a, b);
    return [low, high];
  }

  // The slope of the values around a time over a span, per second.
  slope(time, span) {
    const from = this.at(time - span / 2) ?? 0, to = this.at(time + span / 2);
    return to === undefined ? undefined : (to - from) / span * 1e3;
  }
}
