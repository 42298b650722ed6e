// Draws where the extents of a space live: a row for each copy, a colour for each home.
import {bytes, element, shape} from "./dom.js";

const COLOURS = 8;
const MOST_PIECES = 400;
const WIDTH = 1000;
const ROW = 12;
const GAP = 3;

/** What a space is, beside the memory of a guest that has room at homes: words. */
export const natureOf = space => [
  ...(space.encryption ? ["encrypted"] : []),
  ...(space.thin && space.base === undefined ? ["thin"] : []),
  ...(space.coherent ? ["coherent"] : []),
  ...(space.loading ? ["being loaded"] : []),
  ...(space.vmmState ? [`state of a VMM, ${bytes(space.vmmState.bytes)}`] : []),
  ...(space.snapshot ? ["snapshot"] : []),
  ...(space.base === undefined ? [] : ["clone"])];

/** The names of homes, while the extents are not known. */
export function homesOf(homes) {
  return homes.length ? homes.join(", ") : element("span", {class: "dim"}, "no home");
}

/** The bar and its legend. `homes` are all homes on the page, so that a home has the same colour everywhere. */
export function lives({extents}, copies, homes) {
  const pages = extents.reduce((sum, extent) => sum + extent.count, 0);
  const svg = shape("svg", {class: "extents", viewBox: `0 0 ${WIDTH} ${copies * (ROW + GAP) - GAP}`, preserveAspectRatio: "none", "aria-hidden": "true"});
  svg.classList.add(`copies-${copies}`);
  for (let copy = 0; copy < copies; copy++) {
    for (const {from, to, node} of pieces(extents, copy, pages)) {
      svg.append(shape("rect", {class: colour(node, homes), x: WIDTH * from / pages, width: WIDTH * (to - from) / pages, y: copy * (ROW + GAP), height: ROW}));
    }
  }
  return element("div", {class: "lives"}, svg, legend(extents, copies, pages, homes));
}

/** Runs of pages whose copy is at one home; of many extents, what is at evenly spaced pages. */
function pieces(extents, copy, pages) {
  const at = extent => (extent.state === "lost" ? "lost" : extent.homes[copy]?.node ?? (copy === extent.homes.length && extent.joining ? "joining" : "missing"));
  const all = extents.map(extent => ({from: extent.firstPage, to: extent.firstPage + extent.count, node: at(extent)}));
  const merged = [];
  for (const piece of all) {
    const last = merged.at(-1);
    if (last && last.node === piece.node) {
      last.to = piece.to;
    } else {
      merged.push({...piece});
    }
  }
  if (merged.length <= MOST_PIECES) {
    return merged;
  }
  const sampled = [];
  let next = 0;
  for (let i = 0; i < MOST_PIECES; i++) {
    const page = pages * (i + 0.5) / MOST_PIECES;
    while (merged[next].to <= page) {
      next++;
    }
    sampled.push({from: pages * i / MOST_PIECES, to: pages * (i + 1) / MOST_PIECES, node: merged[next].node});
  }
  return sampled;
}

const STATES = {lost: "home-lost", missing: "home-missing", joining: "home-joining"};

function colour(node, homes) {
  return STATES[node] ?? `home-${homes.indexOf(node) % COLOURS}`;
}

/** In words what the bar shows, for readers without it. */
function legend(extents, copies, pages, homes) {
  const shares = new Map();
  const add = (name, count) => shares.set(name, (shares.get(name) ?? 0) + count);
  for (const extent of extents) {
    if (extent.state === "lost") {
      add("lost", extent.count);
      continue;
    }
    extent.homes.forEach(home => add(home.node, extent.count));
    const absent = copies - extent.homes.length;
    if (absent > 0) {
      add(extent.joining ? "joining" : "missing", extent.count * absent);
    }
  }
  return element("ul", {class: "legend"}, ...[...shares].map(([name, count]) =>
    element("li", {}, element("i", {class: `swatch ${colour(name, homes)}`, "aria-hidden": "true"}), `${words(name)} ${Math.round(100 * count / pages)} %`)));
}

function words(name) {
  return {lost: "lost", missing: "a copy is missing of", joining: "a copy is being made of"}[name] ?? name;
}
