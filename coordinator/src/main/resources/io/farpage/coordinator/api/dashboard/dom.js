// Makes elements and the texts of values. All texts reach the page as text nodes, never as markup.

/** An element with attributes and children; a child is a node, a text or a number. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    made.setAttribute(name, value);
  }
  made.append(...children.map(child => (child instanceof Node ? child : String(child))));
  return made;
}

/** An element of SVG with attributes. */
export function shape(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) {
    made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** Bytes in the largest unit that leaves a number of at least one. */
export function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  let value = count;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${Number.isInteger(value) ? value : value.toFixed(1)} ${units[unit]}`;
}

/** Nanoseconds with three digits in the unit that fits; a dash for 0, which no latency is. */
export function nanos(count) {
  if (!count) {
    return "–";
  }
  const units = ["ns", "µs", "ms", "s"];
  let unit = 0;
  let value = count;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 || value >= 99.5 ? Math.round(value) : value.toFixed(value >= 9.95 ? 1 : 2)} ${units[unit]}`;
}

/** A count in a second. */
export function perSecond(count) {
  return `${(count < 10 ? Number(count.toFixed(1)) : Math.round(count)).toLocaleString("en")}/s`;
}

/** A count with its noun. */
export function counted(count, one, many = one + "s") {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** The time of day. */
export function clock(date = new Date()) {
  return date.toLocaleTimeString("en-GB");
}

const STATUS_CLASS = {
  active: "good", ok: "good", complete: "good", joining: "warn", leaving: "warn", deleting: "warn", degraded: "warn", unanswered: "warn",
  failed: "bad", lost: "bad", torn: "bad", critical: "bad", warning: "warn",
};

/** A status as a word, with a colour and a mark that differs in shape. */
export function status(word, text = word) {
  return element("span", {class: `status ${STATUS_CLASS[word] ?? "plain"}`}, text);
}

/** How much of a whole is in use, as a bar and in words. A bar that may be full has no `levels`. */
export function usage(used, whole, levels = true) {
  const percent = whole ? Math.round(100 * used / whole) : 0;
  const level = !levels ? "" : percent >= 90 ? "bad" : percent >= 75 ? "warn" : "";
  const bar = shape("svg", {class: `usage ${level}`, viewBox: "0 0 100 1", preserveAspectRatio: "none", "aria-hidden": "true"},
    shape("rect", {class: "rest", width: 100, height: 1}),
    shape("rect", {class: "used", width: whole ? Math.min(100, 100 * used / whole) : 0, height: 1}));
  const words = whole ? `${bytes(used)} of ${bytes(whole)}, ${percent} %` : "exports none";
  return element("div", {class: "use"}, bar, element("span", {}, words));
}

const drawn = new WeakMap();

/** Whether what a part of the page shows differs from what it was last drawn from; what is drawn again loses the selection. */
export function changed(part, value) {
  const text = JSON.stringify(value);
  if (drawn.get(part) === text) {
    return false;
  }
  drawn.set(part, text);
  return true;
}

/** Fills a table: a caption, the heads of its columns, and rows whose first cell is the head of the row. */
export function fill(table, caption, heads, rows, none) {
  const head = element("tr", {}, ...heads.map(name => element("th", {scope: "col"}, name)));
  const body = element("tbody");
  for (const [first, ...cells] of rows) {
    body.append(element("tr", {}, element("th", {scope: "row"}, first), ...cells.map(cell => element("td", {}, cell))));
  }
  if (!rows.length) {
    body.append(element("tr", {}, element("td", {colspan: heads.length, class: "dim"}, none)));
  }
  table.replaceChildren(element("caption", {}, caption), element("thead", {}, head), body);
}
