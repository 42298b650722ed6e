// Keeps the page of one guest up to date: its figures every few seconds, where its pages live after each event of its space.
import {minutes, percentiles, plot} from "./charts.js";
import {read, Refusal, signIn} from "./coordinator.js";
import {bytes, changed, clock, element, nanos, perSecond, usage} from "./dom.js";
import {lives, natureOf} from "./extents.js";
import {parkedSince} from "./faults.js";
import {Histories, latest} from "./histories.js";
import {band, bands, mapTable} from "./pagemap.js";

const PAUSE_SECONDS = 5;
const MAP_PAUSE_SECONDS = 1;
const EXTENTS_SECONDS = 15;

const part = id => document.getElementById(id);
const pause = seconds => new Promise(resolve => setTimeout(resolve, 1000 * seconds));
const wanted = new URLSearchParams(location.search).get("space") ?? "";
const resource = `figures/guests/${encodeURIComponent(wanted)}`;
const histories = new Histories(resource, "guests", "space");
let known;
let wake = () => {};

/** The space itself, and where its pages live. */
async function readSpace() {
  if (known && Date.now() - known.at < 1000 * EXTENTS_SECONDS) {
    return;
  }
  const from = `/api/v1/spaces/${encodeURIComponent(wanted)}`;
  const [space, extents] = await Promise.all([read(from), read(`${from}/extents`)]);
  known = {space, extents, at: Date.now()};
}

function show(guest) {
  const {space, extents} = known;
  document.title = `${space.name} – farpage`;
  part("title").textContent = `Guest of space ${space.name}`;
  const words = guest ? "" : "No guest of this space has reported in the last 15 minutes: none runs, or its agent is older than this page.";
  if (part("words").textContent !== words) {
    part("words").textContent = words;
  }
  const {now} = histories;
  showFigures(guest, space, now);
  showCharts(guest?.history, now);
  showMemory(guest, space, extents);
}

function figure(name, value, ...notes) {
  return element("div", {class: "figure"}, element("dt", {}, name), element("dd", {class: "value"}, value),
    element("dd", {class: "notes"}, ...notes.map(note => element("span", {}, note))));
}

function showFigures(guest, space, now) {
  const size = figure("Memory", bytes(space.sizeBytes), `in pages of ${bytes(space.pageSize)}`,
    ...natureOf(space), ...(space.replicas > 1 ? [`${space.replicas} homes each`] : []));
  if (!guest) {
    part("figures").replaceChildren(size);
    return;
  }
  const {pages, history} = guest;
  const last = latest(history, now);
  const inBytes = count => bytes(count * space.pageSize);
  const limit = Math.min(pages.limit, pages.all);
  part("figures").replaceChildren(
    size,
    figure("Runs on", guest.node),
    figure("Resident", inBytes(pages.resident), usage(pages.resident * space.pageSize, limit * space.pageSize, false),
      ...(pages.limit < pages.all ? [] : ["without a limit"]), ...parkedSince(guest)),
    figure("Remote", inBytes(pages.remote), `${pages.remote.toLocaleString("en")} pages at their homes`),
    figure("Dirty", inBytes(pages.dirty), "newer than at their homes", ...(pages.stranded ? [`${inBytes(pages.stranded)} whose home is lost`] : [])),
    figure("Zero", inBytes(pages.zero), "never written, or given up"),
    ...(pages.lost ? [figure("Lost", inBytes(pages.lost), element("span", {class: "bad"}, "with their homes"))] : []),
    figure("Faults", perSecond(last.faultsPerSecond), "in the last 5 s"),
    figure("Fault p99", nanos(last.faultP99Ns), `p50 ${nanos(last.faultP50Ns)}`, `fetch p99 ${nanos(last.fetchP99Ns)}`));
}

function showCharts(history, now) {
  if (!history) {
    ["fault-chart", "fetch-chart", "rate-chart"].forEach(id => part(id).replaceChildren());
    return;
  }
  const fault = percentiles(history, "fault");
  const fetch = percentiles(history, "fetch");
  const rate = {at: history.at, log: false, text: perSecond, lines: [{name: "faults", values: history.faultsPerSecond}]};
  part("fault-chart").replaceChildren(plot(fault, now, "From a fault to its page"));
  part("fetch-chart").replaceChildren(plot(fetch, now, "From a fault until the page had arrived"));
  part("rate-chart").replaceChildren(plot(rate, now, "Faults in a second"));
  minutes(part("minute-table"), [{chart: fault, name: "fault"}, {chart: fetch, name: "fetch"}, {chart: rate, name: ""}], now,
    "The largest value of each minute");
}

function showMemory(guest, space, extents) {
  const copies = space.replicas ?? 1;
  const homes = [...new Set(extents.extents.flatMap(extent => extent.homes.map(home => home.node)))].sort();
  const live = band("Homes", `${homes.length} ${homes.length === 1 ? "node" : "nodes"}`, "where the pages live", lives(extents, copies, homes));
  const shown = guest && {map: guest.map, heat: guest.heat ?? [], pages: guest.pages, pageSize: space.pageSize};
  if (!changed(part("bands"), [shown, extents])) {
    return;
  }
  part("bands").replaceChildren(...(shown ? bands(shown) : []), live);
  if (shown) {
    mapTable(part("map-table"), shown);
  }
}

function answered() {
  document.body.classList.remove("stale");
  part("problem").hidden = true;
  part("sign-in").hidden = true;
  part("state").className = "live";
  part("state").textContent = `Live, at ${clock()}`;
}

function failed(cause) {
  const refusal = cause instanceof Refusal ? cause : new Refusal(0, `The page has a fault: ${cause.message}.`);
  const text = refusal.status === 404 ? `There is no space “${wanted}”: it was deleted, or the address of this page is mistyped.` : refusal.message;
  if (part("problem").hidden || part("problem").textContent !== text) {
    part("problem").textContent = text;
    part("problem").hidden = false;
  }
  const needsToken = refusal.status === 401 || refusal.status === 403;
  part("sign-in").hidden = !needsToken;
  part("state").className = "away";
  part("state").textContent = needsToken ? "Not signed in" : "Not connected";
  document.body.classList.add("stale");
  return Math.max(refusal.retrySeconds, PAUSE_SECONDS);
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

async function run() {
  for (;;) {
    let seconds;
    try {
      await untilVisible();
      await readSpace();
      await histories.refresh({});
      const [guest] = histories.all;
      show(guest);
      answered();
      seconds = guest && !guest.map ? MAP_PAUSE_SECONDS : PAUSE_SECONDS;
    } catch (cause) {
      seconds = failed(cause);
    }
    const next = part("sign-in").hidden ? pause(seconds) : new Promise(() => {});
    await Promise.race([next, new Promise(resolve => { wake = resolve; })]);
  }
}

run();
