// Draws where the pages of a guest are over its address space: a band for each state, darker where more of the pages are in it.
import {bytes, element, fill, shape} from "./dom.js";

const STATES = {
  resident: "Resident", dirty: "Dirty", remote: "Remote", zero: "Zero", lost: "Lost",
};
const MEANINGS = {
  resident: "in the memory of its host", dirty: "resident, and newer than at their homes", remote: "at their homes", zero: "never written, or given up",
  lost: "lost with their homes",
};
const ROWS = 16;

/** All bands, and below them the addresses. `pages` are the counts of the whole guest. */
export function bands({map, heat, pages, pageSize}) {
  const most = Math.max(...heat, 1);
  const parts = map?.resident.length ?? heat.length;
  const drawn = Object.keys(STATES).map(state => band(STATES[state], `${share(pages[state], pages.all)}`, MEANINGS[state],
    map ? strip(map[state].map(percent => percent / 100), state) : waiting()));
  const hottest = Math.max(...heat);
  drawn.push(band("Faults", hottest ? `up to ${hottest.toLocaleString("en")}/min` : "none", "a minute, in each part of the address space",
    strip(heat.map(count => count / most), "heat")));
  return [...drawn, axis(pages.all * pageSize, parts)];
}

/** A band of something else over the same addresses. */
export function band(name, words, meaning, content) {
  return element("div", {class: "band"}, element("span", {class: "name", title: meaning}, name), element("span", {class: "dim"}, words), content);
}

function waiting() {
  return element("span", {class: "dim"}, "the agent is asked where they are");
}

function share(count, all) {
  if (!count || !all) {
    return "none";
  }
  const percent = 100 * count / all;
  return percent < 1 ? "< 1 %" : `${Math.round(percent)} %`;
}

/** Parts of the address space; equal neighbours are one rectangle. */
function strip(shares, kind) {
  const svg = shape("svg", {class: `strip ${kind}`, viewBox: `0 0 ${shares.length} 1`, preserveAspectRatio: "none", "aria-hidden": "true"});
  let from = 0;
  for (let at = 1; at <= shares.length; at++) {
    if (at === shares.length || shares[at] !== shares[from]) {
      if (shares[from] > 0) {
        svg.append(shape("rect", {x: from, width: at - from, height: 1, "fill-opacity": (0.15 + 0.85 * shares[from]).toFixed(2)}));
      }
      from = at;
    }
  }
  return svg;
}

function axis(size) {
  const marks = [0, 1, 2, 3, 4].map(quarter => element("span", {}, quarter ? bytes(Math.round(size * quarter / 4)) : "0"));
  return element("div", {class: "band axis", "aria-hidden": "true"}, element("span", {class: "name"}, "Address"), element("span"), element("div", {class: "marks dim"}, ...marks));
}

/** The same in a table of up to 16 parts, for readers without the bands. */
export function mapTable(table, {map, heat, pages, pageSize}) {
  const parts = map?.resident.length ?? heat.length;
  const rows = Math.min(ROWS, parts);
  const size = pages.all * pageSize;
  const mean = (list, from, to) => list.slice(from, to).reduce((sum, one) => sum + one, 0) / (to - from);
  fill(table, `Where the pages are in ${rows} parts of the address space; a part of one of them that is smaller than 1 % counts as 1 %`,
    ["From address", ...Object.values(STATES), "Faults a minute"],
    Array.from({length: rows}, (_, row) => {
      const from = Math.floor(parts * row / rows);
      const to = Math.floor(parts * (row + 1) / rows);
      return [bytes(Math.floor(size * from / parts)),
        ...Object.keys(STATES).map(state => (map ? `${Math.round(mean(map[state], from, to))} %` : "not known yet")),
        Math.round(mean(heat, from, to) * (to - from)).toLocaleString("en")];
    }), "");
}
