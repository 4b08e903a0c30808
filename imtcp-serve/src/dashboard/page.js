"use strict";
// Asks the server for what is shown, once a second while anybody looks, and draws it. Whatever
// comes from the server becomes text or a number, never markup.

const STEP_MS = 1000;
const PATIENCE_MS = 5000;
const RULES = {
  trouble: "Broken promises first, then those at risk, then refused rates, then the rest; the " +
    "oldest first in each.",
  fastest: "The highest goodput of the last second first.",
  newest: "The newest first.",
};

const at = (id) => document.getElementById(id);

// ---- Connections

const cells = (row, count, first) => {
  for (let place = first; place < count; place += 1) row.append(make("td", "n"));
};
const fill = (cell, text, below = "") => {
  if (cell.childNodes.length !== 2) cell.replaceChildren(make("span"), make("small"));
  say(cell.firstChild, text);
  say(cell.lastChild, below);
};
const name = (cell, id, below) => {
  if (!cell.firstChild) cell.append(make("code"), make("small"));
  say(cell.firstChild, id.length > 12 ? `${id.slice(0, 12)}…` : id);
  cell.firstChild.title = id;
  say(cell.lastChild, below);
};
const word = (status) => ({ at_risk: "at risk", idle: "no promise" })[status] || status;

class Connection {
  constructor() {
    this.row = make("tr", "row");
    this.row.tabIndex = 0;
    this.row.append(make("td"), make("td"), make("td", "plot"));
    cells(this.row, 10, 3);
    this.plot = new Plot();
    this.row.cells[2].append(this.plot.element);
    this.status = make("span", "status");
    this.cause = make("small");
    this.row.cells[1].append(this.status, this.cause);
    const toggle = () => {
      if (this.more) this.close();
      else this.open();
    };
    this.row.addEventListener("click", () => {
      if (String(getSelection()) === "") toggle();
    });
    this.row.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        toggle();
      }
    });
  }

  open() {
    this.more = make("tr", "more");
    const cell = make("td");
    cell.colSpan = 10;
    const both = make("div");
    this.large = new Plot();
    this.details = make("dl");
    both.append(this.large.element, this.details);
    cell.append(both);
    this.more.append(cell);
    this.row.after(this.more);
    this.showMore();
  }

  close() {
    this.more.remove();
    this.more = null;
  }

  show(data, kept) {
    [this.data, this.kept] = [data, kept];
    const [who, , , goodput, estimate, required, kinds, trip, losses, age] = this.row.cells;
    name(who, data.id, `${data.peer} · ${data.controller}`);
    const refused = data.refused !== null && data.status !== "broken";
    const warned = data.status === "at_risk" || data.status === "broken";
    say(this.status, refused && !warned ? "refused" : word(data.status));
    this.status.className = `status ${refused && !warned ? "refused" : data.status}`;
    const why = [];
    if (data.cause) why.push(data.cause.replace("_", " "));
    if (data.shortfall_bytes) why.push(`${bytes(data.shortfall_bytes)} short`);
    if (refused) why.push(`${mbps(data.refused)} Mbit/s refused`);
    say(this.cause, why.join(", "));
    this.plot.draw(data.history, kept);
    fill(goodput, mbps(data.goodput));
    const { estimate: is } = data;
    const to = is && (is.high === null ? "or more" : `to ${mbps(is.high)}`);
    fill(estimate, is ? mbps(is.available) : "–", is ? `${mbps(is.low)} ${to}` : "");
    fill(required, mbps(data.required));
    fill(kinds, slots(data));
    fill(trip, ms(data.rtt_ms));
    fill(losses, ...[lost(data)].flat());
    fill(age, span(data.age_s));
    if (this.more) this.showMore();
  }

  showMore() {
    const { data } = this;
    this.large.draw(data.history, this.kept);
    const { estimate } = data;
    const facts = [
      ["name", data.id],
      ["client", data.peer],
      ["open requests", whole(data.requests_open)],
      ["content given", bytes(data.content_bytes)],
      ["packets sent", data.sent === null ? "–" : whole(data.sent)],
      ["slots", `${whole(data.slots_kept)} kept, ${whole(data.slots_source_limited)} with less ` +
        `offered, ${whole(data.slots_missed)} missed`],
      ["capacity", data.capacity === null ? "–" : `${mbps(data.capacity)} Mbit/s`],
      ["can be promised", data.reach === null ? "–" : `${mbps(data.reach)} Mbit/s`],
      ["estimate over", estimate ? `${estimate.window_s.toFixed(2)} s` : "–"],
      ["its flags", estimate && estimate.flags.length ? estimate.flags.join(", ")
        .replaceAll("_", " ") : "–"],
      ["changes of path", data.moves === null ? "–" : whole(data.moves)],
    ];
    while (this.details.childNodes.length < 2 * facts.length) {
      this.details.append(make("dt"), make("dd"));
    }
    facts.forEach(([title, value], place) => {
      say(this.details.childNodes[2 * place], title);
      say(this.details.childNodes[2 * place + 1], value);
    });
  }
}

const shown = new Map();

const showConnections = (rows, kept) => {
  const body = at("connections").tBodies[0];
  const present = new Set(rows.map((data) => data.id));
  for (const [id, connection] of shown) {
    if (present.has(id)) continue;
    connection.row.remove();
    connection.more?.remove();
    shown.delete(id);
  }
  let place = body.firstChild;
  for (const data of rows) {
    if (!shown.has(data.id)) shown.set(data.id, new Connection());
    const connection = shown.get(data.id);
    connection.show(data, kept);
    for (const row of [connection.row, connection.more]) {
      if (!row) continue;
      // Rows that are in their place stay untouched, and keep the focus.
      if (row === place) place = place.nextSibling;
      else body.insertBefore(row, place);
    }
  }
};

const showEnded = (rows) => {
  const body = at("ended").tBodies[0];
  at("living").hidden = rows.length > 0;
  while (body.rows.length > rows.length) body.lastChild.remove();
  while (body.rows.length < rows.length) {
    const row = make("tr");
    row.append(make("td"), make("td"));
    cells(row, 10, 2);
    body.append(row);
  }
  rows.forEach((data, number) => {
    const row = body.rows[number].cells;
    name(row[0], data.id, data.peer);
    fill(row[1], `${span(data.ago_s)} ago`, `by ${data.by}`);
    fill(row[2], span(data.lasted_ms / 1000));
    fill(row[3], whole(data.requests));
    fill(row[4], bytes(data.bytes));
    fill(row[5], data.goodput_bps === null ? "–" : mbps(data.goodput_bps / 1000));
    fill(row[6], data.available_bps === null ? "–" : mbps(data.available_bps / 1000));
    fill(row[7], slots(data));
    fill(row[8], ms(data.rtt_ms));
    fill(row[9], ...[lost(data)].flat());
  });
};

// ---- The summary

const together = new Plot();
const showSummary = (state) => {
  const { totals } = state;
  const last = (values) => values[values.length - 1] ?? null;
  const figures = [
    ["open", whole(totals.open)],
    ["broken", whole(totals.broken), totals.broken ? "bad" : ""],
    ["at risk", whole(totals.at_risk), totals.at_risk ? "risky" : ""],
    ["refused", whole(totals.refused), totals.refused ? "risky" : ""],
    ["goodput, Mbit/s", mbps(last(totals.goodput))],
    ["required, Mbit/s", mbps(last(totals.required))],
    ["slots kept", whole(totals.slots_kept + totals.slots_source_limited)],
    ["slots missed", whole(totals.slots_missed)],
    ["connections so far", whole(totals.connections)],
    ["content given", bytes(totals.content_bytes)],
  ];
  const box = at("figures");
  while (box.childNodes.length < figures.length) {
    const figure = make("div");
    figure.append(make("b"), make("span"));
    box.append(figure);
  }
  figures.forEach(([title, value, classes = ""], place) => {
    const figure = box.childNodes[place];
    figure.className = classes;
    say(figure.firstChild, value);
    say(figure.lastChild, title);
  });
  together.draw({ goodput: totals.goodput, required: totals.required }, state.kept);
  say(at("server"), `${state.controller} · up ${span(state.up_s)}`);
};

// ---- What is asked for

const choice = { page: 0, rows: 25, order: "trouble", find: "" };

const read = () => {
  choice.order = at("order").value;
  choice.rows = Number(at("rows").value);
  choice.find = at("find").value.trim();
};
const keep = () => {
  const { order, rows, find } = choice;
  history.replaceState(null, "", `#${new URLSearchParams({ order, rows, find })}`);
};
const recall = () => {
  const kept = new URLSearchParams(location.hash.slice(1));
  for (const key of ["order", "rows", "find"]) {
    const control = at(key);
    const before = control.value;
    control.value = kept.get(key) ?? before;
    // A list has no value that is not on it.
    if (control.value === "" && key !== "find") control.value = before;
  }
  read();
};

const showPage = (state) => {
  const { page, totals } = state;
  choice.page = page.number;
  const first = page.number * choice.rows;
  const until = first + state.connections.length;
  say(at("place"), page.found ? `${whole(first + 1)} to ${whole(until)} of ${whole(page.found)}`
    : "none");
  at("before").disabled = page.number === 0;
  at("after").disabled = page.number + 1 >= page.of;
  const left = totals.unwatched ? ` ${whole(totals.unwatched)} of the newest connections are ` +
    "not watched, because there are too many." : "";
  say(at("rule"), RULES[choice.order] + left);
  at("nobody").hidden = page.found > 0;
  say(at("nobody"), totals.open ? "No connection fits." : "No connection is open.");
};

// ---- Once a second

let heardAt = null;
let timer = 0;
let asking = null;

const ask = async () => {
  clearTimeout(timer);
  asking?.abort();
  const mine = new AbortController();
  asking = mine;
  const patience = setTimeout(() => mine.abort(), PATIENCE_MS);
  const { page, rows, order, find } = choice;
  try {
    const query = new URLSearchParams({ page, rows, order, find });
    const answer = await fetch(`state.json?${query}`, { signal: mine.signal, cache: "no-store" });
    if (!answer.ok) throw new Error((await answer.text()).trim() || `status ${answer.status}`);
    const state = await answer.json();
    if (mine !== asking) return;
    heardAt = Date.now();
    document.body.classList.remove("gone");
    document.title = title(state.totals);
    say(at("heard"), "live");
    showSummary(state);
    showPage(state);
    showConnections(state.connections, state.kept);
    showEnded(state.ended);
  } catch (error) {
    if (mine !== asking) return;
    tellGone(error);
  } finally {
    clearTimeout(patience);
    if (mine === asking && !document.hidden) timer = setTimeout(ask, STEP_MS);
  }
};

const title = ({ open, broken, at_risk }) => {
  const trouble = broken + at_risk;
  return `${trouble ? `(${trouble} warned) ` : ""}${open} open · imtcp-serve`;
};

const tellGone = (error) => {
  document.body.classList.add("gone");
  document.title = "(gone) imtcp-serve";
  const refused = error instanceof TypeError || error.name === "AbortError" ? "" :
    ` It says: ${error.message}.`;
  const since = heardAt === null ? "The server does not answer." :
    `The server is gone. It was last heard at ${new Date(heardAt).toLocaleTimeString()}, ` +
    `${span((Date.now() - heardAt) / 1000)} ago; what is below is of then.`;
  say(at("heard"), `${since}${refused} Trying again every second.`);
};

at("whole").append(together.element);
at("choice").addEventListener("submit", (event) => event.preventDefault());
for (const id of ["order", "rows", "find"]) {
  at(id).addEventListener("input", () => {
    read();
    choice.page = 0;
    keep();
    ask();
  });
}
const turn = (by) => () => {
  choice.page = Math.max(0, choice.page + by);
  ask();
};
at("before").addEventListener("click", turn(-1));
at("after").addEventListener("click", turn(1));
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) ask();
});
recall();
ask();
