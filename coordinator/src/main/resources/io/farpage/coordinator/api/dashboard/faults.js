// Draws how guests fault: per node, and in the table of guests.
import {percentiles, sparkline} from "./charts.js";
import {bytes, changed, element, fill, nanos, perSecond, usage} from "./dom.js";
import {latest} from "./histories.js";

const part = id => document.getElementById(id);

/** The faults of the guests on each node. */
export function showFaults(histories) {
  const table = part("fault-table");
  const nodes = histories.all;
  if (!changed(table, [nodes, histories.now])) {
    return;
  }
  const {now, since} = histories;
  const kept = now - since < 900 ? `; this coordinator collects them since ${clockOf(since)}` : "";
  fill(table, `Page faults of the guests on each node: the last 5 s, and 15 minutes${kept}`,
    ["Node", "Faults", "Fault p50", "Fault p99", "Fetch p50", "Fetch p99", "Fault p50 and p99, 15 minutes"],
    nodes.map(({node, history}) => {
      const last = latest(history, now);
      return [node, perSecond(last.faultsPerSecond), nanos(last.faultP50Ns), nanos(last.faultP99Ns), nanos(last.fetchP50Ns), nanos(last.fetchP99Ns),
        sparkline(percentiles(history, "fault"), now, `Faults of node ${node}`)];
    }), "No guest of these nodes has run in the last 15 minutes.");
}

/** The time of day of seconds since 1970. */
export const clockOf = seconds => new Date(1000 * seconds).toLocaleTimeString("en-GB");

/** The cells of a guest that change all the time. Those beside them, which may have the focus, are left alone. */
export function liveCells() {
  return {resident: element("div"), rate: element("span"), p50: element("span"), p99: element("span"), spark: element("span")};
}

/** Since when a guest is parked, for one that is. */
export const parkedSince = guest =>
  guest.parkedSince === undefined ? [] : [element("div", {class: "dim"}, `parked since ${clockOf(guest.parkedSince)}`)];

/** Fills the cells of a guest. */
export function showLive(cells, guest, pageSize, now) {
  if (!guest) {
    cells.resident.replaceChildren(element("span", {class: "dim"}, "not reported"));
    [cells.rate, cells.p50, cells.p99].forEach(cell => cell.replaceChildren("–"));
    cells.spark.replaceChildren();
    return;
  }
  const last = latest(guest.history, now);
  cells.resident.replaceChildren(usage(guest.pages.resident * pageSize, Math.min(guest.pages.limit, guest.pages.all) * pageSize, false),
    ...parkedSince(guest));
  cells.rate.replaceChildren(perSecond(last.faultsPerSecond));
  cells.p50.replaceChildren(nanos(last.faultP50Ns));
  cells.p99.replaceChildren(nanos(last.faultP99Ns));
  cells.spark.replaceChildren(sparkline(percentiles(guest.history, "fault"), now, `Faults of the guest of space ${guest.space}`));
}

/** Bytes of pages. */
export const pagesIn = (count, pageSize) => bytes(count * pageSize);
