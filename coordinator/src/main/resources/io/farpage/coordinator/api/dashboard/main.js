// Keeps the page up to date. It waits for the next event and reads the overview only after one, so that a cluster in which nothing
// happens costs one waiting request. How guests fault and share coherent spaces, which agents report every five seconds, it reads as often.
import {showCoherent} from "./coherent.js";
import {path, read, Refusal, signIn} from "./coordinator.js";
import {clock, counted} from "./dom.js";
import {showFaults} from "./faults.js";
import {Histories} from "./histories.js";
import {showAlerts, showEvents, showFigures, showGuests, showLinks, showLiveGuests, showNodes, showSpaces} from "./views.js";

const NODES = 50;
const SPACES = 25;
const LINKS = 2000;
const EVENTS = 100;
const WAIT_SECONDS = 30;
const PAUSE_MILLIS = 1000;
const REREAD_MILLIS = 60_000;
const LONGEST_RETRY_SECONDS = 10;
const FIGURES_MILLIS = 5000;

const part = id => document.getElementById(id);
const pause = millis => new Promise(resolve => setTimeout(resolve, millis));

/** A filter form, and which page of what it leaves is shown. */
class Pages {
  #form;
  #after = "";
  #last = "";

  constructor(form, size) {
    this.#form = form;
    this.size = size;
    form.addEventListener("submit", event => event.preventDefault());
    form.addEventListener("input", () => this.#turn(""));
    form.elements.first.addEventListener("click", () => this.#turn(""));
    form.elements.next.addEventListener("click", () => {
      if (form.elements.next.getAttribute("aria-disabled") !== "true") {
        this.#turn(this.#last);
      }
    });
  }

  #turn(after) {
    this.#after = after;
    refreshSoon().then(readFigures).catch(failed);
  }

  get isFirst() {
    return this.#after === "";
  }

  value(name) {
    return this.#form.elements[name]?.value.trim() ?? "";
  }

  parameters() {
    return {limit: this.size, after: this.#after, prefix: this.value("prefix"), status: this.value("status")};
  }

  /** Shows those that match alone. */
  show(prefix) {
    this.#form.elements.prefix.value = prefix;
    if (this.#form.elements.status) {
      this.#form.elements.status.value = "";
    }
    this.#turn("");
    this.#form.elements.prefix.focus();
  }

  /** The page has come: its names, in the coordinator's order. Buttons that lead nowhere keep the focus, and so are not `disabled`. */
  came(names) {
    this.#last = names.at(-1) ?? this.#after;
    this.#form.elements.next.setAttribute("aria-disabled", String(names.length < this.size));
    this.#form.elements.first.setAttribute("aria-disabled", String(this.isFirst));
  }
}

let index = 0;
let events = [];
let eventWords = "Newest first";
let lastSeen = "";
const extents = new Map();
const nodeFigures = new Histories("figures/nodes", "nodes", "node");
const guestFigures = new Histories("figures/guests", "guests", "spaceId");
let refreshing = Promise.resolve();
let waiting = false;
let wake = () => {};

const nodePages = new Pages(part("node-filter"), NODES);
const spacePages = new Pages(part("space-filter"), SPACES);

/** Reads and draws everything once more, after what is under way; calls while one waits are one. */
function refreshSoon() {
  if (!waiting) {
    waiting = true;
    refreshing = refreshing.catch(() => {}).then(() => {
      waiting = false;
      return refresh();
    });
  }
  return refreshing;
}

async function refresh() {
  const [overview, spaces] = await Promise.all([
    read(path("overview", {...nodePages.parameters(), spaces: 0, links: LINKS})),
    read(path("overview/spaces", spacePages.parameters())),
  ]);
  const urgent = await urgentNodes(overview);
  index ||= overview.index;
  answered();
  const show = (kind, name) => (kind === "node" ? nodePages : spacePages).show(name);
  showAlerts(overview, show);
  showFigures(overview);
  showNodes([...urgent, ...overview.nodes], `${counted(overview.nodes.length, "node")} in the order of their ids, the most urgent first`
    + (urgent.length ? `, and ${urgent.length} of other pages that need attention` : ""), overview.alerts);
  nodePages.came(overview.nodes.map(use => use.node.id));
  showLinks(overview);
  spacePages.came(spaces.map(use => use.space.name));
  const words = `${counted(spaces.length, "space")} in the order of their names, the most urgent first`;
  showSpaces(spaces, extents, words);
  showGuests(spaces);
  showLiveGuests(guestFigures);
  await readExtents(spaces);
  showSpaces(spaces, extents, words);
  return overview.index;
}

/** Reads and draws how the guests fault. */
async function readFigures() {
  await Promise.all([nodeFigures.refresh(nodePages.parameters()), guestFigures.refresh(spacePages.parameters())]);
  showFaults(nodeFigures);
  showCoherent(guestFigures.answer.coherent);
  showLiveGuests(guestFigures);
}

/** Nodes of other pages that need attention, at most as many as a page has: on the first page, too, they come first. */
async function urgentNodes(overview) {
  const all = Object.values(overview.totals.nodes).reduce((sum, count) => sum + count, 0);
  if (!nodePages.isFirst || nodePages.value("status") || overview.nodes.length === all) {
    return [];
  }
  const shown = new Set(overview.nodes.map(use => use.node.id));
  const urgent = await read(path("overview", {...nodePages.parameters(), attention: true, spaces: 0, links: 0}));
  return urgent.nodes.filter(use => !shown.has(use.node.id));
}

/** Reads the places of the extents of each space for which they are unknown or have changed. */
async function readExtents(spaces) {
  for (const {space} of spaces) {
    if (!extents.has(space.id)) {
      try {
        extents.set(space.id, await read(`/api/v1/spaces/${space.id}/extents`));
      } catch (refusal) {
        if (refusal.status !== 404) {
          throw refusal;
        }
      }
    }
  }
}

function happened(batch) {
  if (batch.resync) {
    events = [];
    extents.clear();
    eventWords = `Newest first; the coordinator has none before number ${batch.index + 1}`;
  }
  const seen = new Date();
  for (const event of batch.events) {
    events.unshift({event, seen});
    if (event.spaceId !== undefined) {
      extents.delete(event.spaceId);
    } else if (event.space !== undefined) {
      extents.clear();
    }
  }
  events.length = Math.min(events.length, EVENTS);
  index = batch.index;
  showEvents(events, eventWords);
}

/** Reads the events before the ones that are to come, as far as the coordinator still has them. */
async function readHistory() {
  for (const count of [EVENTS, 20, 5]) {
    const from = Math.max(0, index - count);
    const batch = await read(path("events", {index: from}));
    if (!batch.resync) {
      events = batch.events.filter(event => event.index <= index).map(event => ({event})).reverse();
      break;
    }
  }
  showEvents(events, eventWords);
}

function answered() {
  lastSeen = clock();
  document.body.classList.remove("stale");
  part("problem").hidden = true;
  part("sign-in").hidden = true;
  part("state").className = "live";
  part("state").textContent = `Live, as of event ${index.toLocaleString("en")} at ${lastSeen}`;
}

let failures = 0;

function failed(cause) {
  const refusal = cause instanceof Refusal ? cause : new Refusal(0, `The page has a fault: ${cause.message}.`);
  failures++;
  const retry = Math.max(refusal.retrySeconds, Math.min(failures, LONGEST_RETRY_SECONDS));
  const text = refusal.message + (lastSeen ? ` What follows is of ${lastSeen}.` : "");
  if (part("problem").hidden || part("problem").textContent !== text) {
    part("problem").textContent = text;
    part("problem").hidden = false;
  }
  part("sign-in").hidden = refusal.status !== 401 && refusal.status !== 403;
  part("state").className = "away";
  part("state").textContent = refusal.status === 401 || refusal.status === 403 ? "Not signed in" : `Not connected; next try in ${retry} s`;
  document.body.classList.add("stale");
  return retry;
}

part("sign-in").addEventListener("submit", event => {
  event.preventDefault();
  signIn(part("token").value.trim());
  part("token").value = "";
  wake();
});

const untilVisible = () => document.hidden
  ? new Promise(resolve => document.addEventListener("visibilitychange", resolve, {once: true}))
  : Promise.resolve();

async function watch() {
  extents.clear();
  index = await refreshSoon();
  failures = 0;
  await readHistory();
  let lastRead = Date.now();
  for (;;) {
    await untilVisible();
    const batch = await read(path("events", {index, wait: `${WAIT_SECONDS}s`}), WAIT_SECONDS + 10);
    happened(batch);
    if (batch.resync || batch.events.length || Date.now() - lastRead > REREAD_MILLIS) {
      await refreshSoon();
      lastRead = Date.now();
      await pause(PAUSE_MILLIS);
    } else {
      answered();
    }
  }
}

/** While the coordinator does not answer, the watch says so, and no figures are asked for. */
async function watchFigures() {
  for (;;) {
    await untilVisible();
    if (part("state").className === "live") {
      try {
        await readFigures();
      } catch (cause) {
        if (!(cause instanceof Refusal)) {
          failed(cause);
        }
      }
      await pause(FIGURES_MILLIS);
    } else {
      await pause(PAUSE_MILLIS / 4);
    }
  }
}

async function run() {
  for (;;) {
    try {
      await watch();
    } catch (cause) {
      const retry = failed(cause);
      const token = part("sign-in").hidden ? pause(1000 * retry) : new Promise(() => {});
      await Promise.race([token, new Promise(resolve => { wake = resolve; })]);
    }
  }
}

run();
watchFigures();
