// Draws each part of the page from what the coordinator answers; a part whose data is the same as before is left alone.
import {bytes, changed, clock, counted, element, fill, status, usage} from "./dom.js";
import {homesOf, lives, natureOf} from "./extents.js";
import {liveCells, showLive} from "./faults.js";

const MATRIX_NODES = 16;
const MOST_LINKS = 100;
const part = id => document.getElementById(id);
const URGENCY = {failed: 0, leaving: 1, active: 4};
const NAMED_BY_AN_ALERT = 3;

/** What an operator has to see to. `show` is called with "node" or "space" and a name. */
export function showAlerts({alerts, totals}, show) {
  if (!changed(part("attention"), alerts) && !changed(part("attention-summary"), totals)) {
    return;
  }
  const all = totals.critical + totals.warnings;
  const words = all === 0 ? "Nothing: no node is missing, and all pages have their copies."
    : `${totals.critical} critical, ${counted(totals.warnings, "warning")}`
      + (alerts.length < all ? `; the first ${alerts.length} are listed, the most urgent first.` : ".");
  part("attention-summary").textContent = words;
  part("attention-summary").className = all === 0 ? "good" : totals.critical ? "bad" : "warn";
  document.title = all === 0 ? "farpage" : `(${all}) farpage`;
  part("attention").replaceChildren(...alerts.map(alert => alertItem(alert, show)));
}

function alertItem({severity, node, space, message}, show) {
  const item = element("li", {class: severity}, status(severity));
  for (const [kind, name] of [["node", node], ["space", space]]) {
    if (name) {
      const button = element("button", {type: "button", class: "link"}, `${kind} ${name}`);
      button.addEventListener("click", () => show(kind, name));
      item.append(button);
    }
  }
  item.append(element("span", {class: "message"}, message));
  return item;
}

/** Counts of the whole cluster. */
export function showFigures({totals, cluster}) {
  part("cluster").textContent = cluster ? `cluster ${cluster.name}` : "no cluster formed";
  if (!changed(part("figures"), totals)) {
    return;
  }
  const nodes = Object.values(totals.nodes).reduce((sum, count) => sum + count, 0);
  const others = Object.entries(totals.nodes).filter(([, count]) => count).map(([word, count]) => status(word, `${count} ${word}`));
  const {all, degraded, lost} = totals.extents;
  const {transports, unanswered} = totals.links;
  const links = Object.entries(transports);
  part("figures").replaceChildren(
    figure("Nodes", nodes.toLocaleString("en"), ...others),
    figure("Pools in use", bytes(totals.usedBytes), usage(totals.usedBytes, totals.poolBytes),
      ...(totals.promisedBytes ? [`${bytes(totals.promisedBytes)} promised`] : [])),
    figure("Spaces", totals.spaces.toLocaleString("en"), counted(all, "extent")),
    figure("Degraded extents", degraded.toLocaleString("en"), degraded ? status("degraded", "fewer homes than asked for") : status("ok", "all have their homes"),
      ...(lost ? [status("lost", counted(lost, "extent") + " lost")] : [])),
    figure("Links", links.reduce((sum, [, count]) => sum + count, 0).toLocaleString("en"), ...links.map(([name, count]) => `${count} ${name.toUpperCase()}`),
      ...(unanswered ? [status("unanswered", `${unanswered} unanswered`)] : [])));
}

function figure(name, value, ...notes) {
  return element("div", {class: "figure"}, element("dt", {}, name), element("dd", {class: "value"}, value),
    element("dd", {class: "notes"}, ...notes.map(note => element("span", {}, note))));
}

/** A page of nodes, the most urgent first: those that are not active, then those that an alert names. */
export function showNodes(nodes, words, alerts) {
  const table = part("node-table");
  const named = new Set(alerts.map(alert => alert.node));
  const urgency = ([id, state]) => state === "active" && named.has(id) ? NAMED_BY_AN_ALERT : URGENCY[state] ?? 2;
  const rows = nodes.map(({node, freeBytes}) => [node.id, node.status, node.domain, node.hostname, node.address, node.transports, node.pool.exportedBytes, freeBytes]);
  if (!changed(table, [rows, words, rows.map(urgency)])) {
    return;
  }
  rows.sort((a, b) => urgency(a) - urgency(b));
  fill(table, words, ["Node", "Status", "Failure domain", "Pool in use", "Transports", "Host", "Address"],
    rows.map(([id, state, domain, host, address, transports, pool, free]) => [
      id, status(state), domain ?? element("span", {class: "dim"}, "itself"), usage(pool - free, pool),
      transports.map(name => name.toUpperCase()).join(", "), host, element("code", {}, address)]),
    "No node of this kind is registered.");
}

/** Links as a matrix if there are few nodes, otherwise as a list, the unanswered first. */
export function showLinks({nodes, links, totals}) {
  const table = part("link-table");
  const ids = nodes.map(use => use.node.id).sort();
  if (!changed(table, [ids, links, totals.links])) {
    return;
  }
  const total = Object.values(totals.nodes).reduce((sum, count) => sum + count, 0);
  if (ids.length > 1 && total <= MATRIX_NODES && total === ids.length) {
    table.className = "matrix";
    showMatrix(table, ids, links);
  } else {
    table.className = "";
    showList(table, links);
  }
}

const isComplete = link => link.aPublished && link.bPublished;
const carried = link => (link.transports[0] ?? "none").toUpperCase();
const awaited = link => `${link.aPublished ? link.b : link.a} has yet to answer`;

function showMatrix(table, ids, links) {
  const byPair = new Map(links.flatMap(link => [[`${link.a}/${link.b}`, link], [`${link.b}/${link.a}`, link]]));
  fill(table, "Transport of the link between each two nodes", ["Node", ...ids], ids.map(row => [row, ...ids.map(column => {
    const link = byPair.get(`${row}/${column}`);
    if (row === column) {
      return element("span", {class: "dim"}, "–");
    }
    if (!link) {
      return element("span", {class: "dim"}, "none");
    }
    return isComplete(link) ? status("complete", carried(link)) : status("unanswered", awaited(link));
  })]), "");
}

function showList(table, links) {
  const first = [...links].sort((a, b) => isComplete(a) - isComplete(b)).slice(0, MOST_LINKS);
  fill(table, `Links of the nodes above, the unanswered first${links.length > first.length ? `; ${first.length} of ${links.length.toLocaleString("en")} or more` : ""}`,
    ["Between", "and", "Transport", "State"],
    first.map(link => [link.a, link.b, carried(link), isComplete(link) ? status("complete", "both have published") : status("unanswered", awaited(link))]),
    "No node has published an endpoint yet.");
}

const conditionOf = ({space, extents, degraded, lost}) => lost ? ["lost", `${lost} of ${extents} lost`]
  : space.torn ? ["torn", "torn"]
  : space.deleting ? ["deleting", "being deleted"]
  : degraded ? ["degraded", `${degraded} of ${extents} degraded`] : ["ok", "ok"];
const SPACE_URGENCY = ["lost", "torn", "degraded", "deleting", "ok"];

/** A page of spaces, the most urgent first, each with a bar of where its extents live. */
export function showSpaces(spaces, extents, words) {
  const table = part("space-table");
  const homes = [...new Set(spaces.flatMap(use => use.homes))].sort();
  if (!changed(table, [spaces, words, spaces.map(use => extents.get(use.space.id)?.revision)])) {
    return;
  }
  const sorted = [...spaces].sort((a, b) => SPACE_URGENCY.indexOf(conditionOf(a)[0]) - SPACE_URGENCY.indexOf(conditionOf(b)[0]));
  fill(table, words, ["Space", "State", "Size", "Copies", "Where its pages live"], sorted.map(use => {
    const [word, text] = conditionOf(use);
    const copies = use.space.replicas ?? 1;
    const known = extents.get(use.space.id);
    return [use.space.name, status(word, text),
      [`${bytes(use.space.sizeBytes)} in pages of ${bytes(use.space.pageSize)}`, ...natureOf(use.space)].join(", "),
      copies, known ? lives(known, copies, homes) : homesOf(use.homes)];
  }), "No space of this name exists.");
}

let live = [];

/** The nodes that work with the spaces above, and so the guests. */
export function showGuests(spaces) {
  const table = part("guest-table");
  const guests = spaces.flatMap(use => use.attachments.map(attached => ({use, attached})));
  if (!changed(table, guests.map(({use, attached}) => [use.space, conditionOf(use), attached]))) {
    return;
  }
  live = [];
  fill(table, "Guests of the spaces above: a space that a node works with. A name leads to the guest's page",
    ["Space", "Runs on", "Mode", "Resident of its limit", "Faults", "Fault p50", "Fault p99", "Fault p50 and p99, 15 minutes", "Space's state"],
    guests.map(({use, attached}) => {
      const {id, name, pageSize} = use.space;
      const [word, text] = conditionOf(use);
      const cells = liveCells();
      if (attached.mode === "exclusive") {
        live.push({id, node: attached.node, pageSize, cells});
      }
      const link = element("a", {href: `/dashboard/guest.html?space=${id}`}, name);
      const notes = attached.heir ? " passes to a later start of the agent" : "";
      return [link, element("span", {class: "word"}, attached.node), attached.mode, cells.resident, cells.rate, cells.p50, cells.p99, cells.spark,
        element("span", {}, status(word, text), notes)];
    }), "No node works with one of these spaces.");
}

/** Fills the cells of the guests that change all the time. */
export function showLiveGuests(histories) {
  for (const {id, node, pageSize, cells} of live) {
    const guest = histories.get(id);
    showLive(cells, guest?.node === node ? guest : undefined, pageSize, histories.now);
  }
}

/** Events, newest first. */
export function showEvents(events, words) {
  const table = part("event-table");
  if (!changed(table, [events, words])) {
    return;
  }
  fill(table, words, ["Number", "Seen", "What", "Node", "Peer", "Space"],
    events.map(({event, seen}) => [event.index, seen ? clock(seen) : element("span", {class: "dim"}, "before this page"),
      event.kind.replaceAll("-", " "), event.node ?? "", event.peer ?? "", event.space ?? ""]), "None yet.");
}
