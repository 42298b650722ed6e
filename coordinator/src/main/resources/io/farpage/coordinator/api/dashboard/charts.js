// Draws what has happened in the last 15 minutes, each chart with the same in words.
import {element, fill, nanos, shape} from "./dom.js";

const SECONDS = 900;
/** Samples that are further apart are not joined: no report has come between them. */
const GAP_SECONDS = 13;

const LATENCY = {log: true, text: nanos};

/** The lines of a chart: 50th and 99th percentile. */
export const percentiles = (history, what) => ({
  at: history.at, ...LATENCY,
  lines: [{name: "p50", values: history[`${what}P50Ns`]}, {name: "p99", values: history[`${what}P99Ns`]}],
});

/** Whether a scale shows a value: 0 is a valid rate and not a valid latency. */
const shown = ({log}, value) => (log ? value > 0 : true);

/** A function from values to heights between 0 (low) and 1, and the values that lines are drawn at. */
function scale(chart) {
  const values = chart.lines.flatMap(line => line.values).filter(value => shown(chart, value));
  if (chart.log) {
    const low = Math.floor(Math.log10(Math.min(...values, Infinity)));
    const from = Number.isFinite(low) ? low : 3;
    const to = Math.max(from + 1, Math.ceil(Math.log10(Math.max(...values, 10 ** from))));
    return {
      of: value => (Math.log10(value) - from) / (to - from),
      marks: Array.from({length: to - from + 1}, (_, i) => 10 ** (from + i)),
    };
  }
  const most = Math.max(...values, 1);
  const digit = 10 ** Math.floor(Math.log10(most));
  const top = Math.ceil(most / digit) * digit;
  return {of: value => value / top, marks: [0, top / 2, top]};
}

/** The path of a line in a box: runs of samples, and a dot where one has no neighbour. */
function drawn(chart, values, now, {of}, box) {
  let text = "";
  let before = -Infinity;
  let count = 0;
  chart.at.forEach((at, i) => {
    if (!shown(chart, values[i])) {
      before = -Infinity;
      return;
    }
    const joined = at - before <= GAP_SECONDS;
    text += count && !joined ? "h.01" : "";
    const x = box.left + box.width * (1 - (now - at) / SECONDS);
    const y = box.top + box.height * (1 - of(values[i]));
    text += `${joined ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
    before = at;
    count++;
  });
  return count ? `${text}h.01` : "";
}

function line(chart, one, now, by, box) {
  return shape("path", {class: `line ${one.name}`, d: drawn(chart, one.values, now, by, box)});
}

/** A line as wide as a cell of a table, whose columns have the values. */
export function sparkline(chart, now, name) {
  const box = {left: 0, top: 2, width: 180, height: 26};
  const by = scale(chart);
  const svg = shape("svg", {class: "spark", viewBox: "0 0 180 30", preserveAspectRatio: "none", role: "img", "aria-label": `${name}: ${inWords(chart)}`});
  svg.append(shape("path", {class: "grid", d: "M0 28.5H180"}), ...chart.lines.map(one => line(chart, one, now, by, box)));
  return svg;
}

/** A chart with axes. */
export function plot(chart, now, name) {
  const box = {left: 56, top: 8, width: 356, height: 130};
  const by = scale(chart);
  const right = box.left + box.width;
  const foot = box.top + box.height;
  const svg = shape("svg", {class: "plot", viewBox: "0 0 420 164", role: "img", "aria-label": `${name}: ${inWords(chart)}`});
  for (const mark of by.marks) {
    const y = box.top + box.height * (1 - by.of(mark));
    svg.append(shape("path", {class: "grid", d: `M${box.left} ${y}H${right}`}), label(box.left - 6, y + 4, "end", chart.text(mark)));
  }
  for (const minutes of [15, 10, 5, 0]) {
    svg.append(label(right - box.width * minutes / 15, foot + 18, minutes === 15 ? "start" : minutes ? "middle" : "end", minutes ? `${minutes} min ago` : "now"));
  }
  svg.append(...chart.lines.map(one => line(chart, one, now, by, box)));
  return svg;
}

function label(x, y, anchor, text) {
  return shape("text", {x, y, "text-anchor": anchor}, text);
}

/** What a chart shows, in words. */
export function inWords(chart) {
  if (!chart.lines.some(one => one.values.some(value => shown(chart, value)))) {
    return "nothing in the last 15 minutes";
  }
  return chart.lines.map(({name, values}) => {
    const known = values.filter(value => shown(chart, value));
    return `${name} from ${chart.text(Math.min(...known))} to ${chart.text(Math.max(...known))} in the last 15 minutes, last ${chart.text(known.at(-1))}`;
  }).join("; ");
}

/** The largest values of each minute, in a table. */
export function minutes(table, charts, now, caption) {
  const heads = charts.flatMap(({chart, name}) => chart.lines.map(one => `${name} ${one.name}`.trim()));
  const rows = [];
  for (let minute = 0; minute < SECONDS / 60; minute++) {
    const within = at => now - at >= 60 * minute && now - at < 60 * (minute + 1);
    const cells = charts.flatMap(({chart}) => chart.lines.map(({values}) => {
      const known = values.filter((value, i) => within(chart.at[i]) && shown(chart, value));
      return known.length ? chart.text(Math.max(...known)) : element("span", {class: "dim"}, "none");
    }));
    rows.push([minute ? `${minute} to ${minute + 1} min ago` : "the last minute", ...cells]);
  }
  fill(table, caption, ["When", ...heads], rows, "");
}
