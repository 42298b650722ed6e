"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const report = document.getElementById("report");
const SVG = "http://www.w3.org/2000/svg";

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function shape(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

const words = {
  fetch: {
    count: "fetches",
    headline: page => `A ${page} page fetched`,
    latency: "Latency is from posting a fetch to its page being there"
  },
  fault: {
    count: "touches",
    headline: page => `A fault of a ${page} page resolved`,
    latency: "Latency is from just before a touch to just after it, as the process that touches sees it",
    phases: run => `In the agent, p50: ${micros(run.fetchP50Ns)} µs from seeing a fault to having its page, `
      + `${micros(run.installP50Ns)} µs to install it; ${grouped(run.faults)} faults, ${grouped(run.evictions)} evictions`
      + (run.prefetchHitRate == null ? "" : `, ${(100 * run.prefetchHitRate).toFixed(1)} % of prefetched pages used`)
  },
  peers: {
    count: "touches",
    headline: () => `${data.runs[0].name} resolves a fault`,
    latency: "Latency is from just before a touch to just after it, as the process that touches sees it"
  },
  clone: {
    count: "touches",
    headline: () => "A clone at its first page",
    latency: "A start is from the request that makes the clone, or from before the file is opened, to the first page "
      + "being there; a touch is from just before it to just after it",
    phases: run => [starts, sharing, fetched].map(say => say(run)).filter(text => text).join(" ")
  },
  coherent: {
    count: "touches",
    headline: () => `${data.runs[0].name}: a fault of a coherent space`,
    latency: "Latency is from just before a touch to just after it, as the thread that touches sees it"
  }
}[data.subject];

function starts(run) {
  return run.attachP50Ns == null ? "" : `p50: ${micros(run.attachP50Ns)} µs to make the clone and attach it, `
    + `${micros(run.touchP50Ns)} µs from the handoff to the first page.`;
}

function sharing(run) {
  const mebibytes = size => (size / (1 << 20)).toFixed(1);
  return run.processes == null ? "" : `Memory of ${run.processes} processes: ${mebibytes(run.memoryBytes)} MiB, `
    + `${run.memoryRatio.toFixed(3)} of base + dirty (${mebibytes(run.baseBytes)} + ${mebibytes(run.dirtyBytes)} MiB)`
    + (run.baselineMemoryBytes == null ? "." : `; with the local file ${mebibytes(run.baselineMemoryBytes)} MiB.`);
}

function fetched(run) {
  return run.fetchedPages == null ? "" : `Fetched by this host: ${grouped(run.fetchedPages)} pages for `
    + `${grouped(run.touchedPages)} touches of ${grouped(run.distinctPages)} pages, ${run.fetchedPerTouch.toFixed(3)} a touch `
    + `and ${run.fetchedPerPage.toFixed(3)} a page.`;
}

const subject = run => ["peers", "coherent"].includes(data.subject) ? run.name : `farpage ${run.transport}`;
const grouped = number => Math.round(number).toLocaleString("en-US");
const bytes = size => size >= 1 << 20 ? size / (1 << 20) + " MiB" : size / 1024 + " KiB";
const times = ratio => ratio.toFixed(2) + "×";
const interval = ratio => ratio.low === null ? "" : `${ratio.low.toFixed(2)} to ${ratio.high.toFixed(2)}`;

function micros(ns) {
  const us = ns / 1000;
  return us < 10 ? us.toFixed(2) : us < 100 ? us.toFixed(1) : grouped(us);
}

/* Head: the headline in a sentence, then its figures. */

function tile(label, figure, unit, ...against) {
  return element("div", {class: "card tile"},
    element("div", {class: "label"}, label),
    element("div", {class: "figure"}, figure, " ", element("small", {}, unit)),
    element("div", {class: "against"}, ...against));
}

function against(run, key) {
  if (!run.baseline) return ["no baseline in this run"];
  const ratio = run[key];
  if (ratio === null) return [`${run.baseline.name} tells its rate alone`];
  return [element("b", {}, `${times(ratio.median)} ${run.baseline.name}`), element("br"),
    ratio.low === null ? `median of ${run.rounds} rounds` : `${interval(ratio)}: 95 % interval, ${run.rounds} rounds`];
}

function head() {
  const run = data.runs[0];
  const where = data.conditions;
  const fastest = data.runs.reduce((a, b) => b.pagesPerSecond > a.pagesPerSecond ? b : a);
  const count = data.runs.reduce((sum, r) => sum + r.count, 0);
  const wrong = data.runs.reduce((sum, r) => sum + r.mismatches, 0);
  const ratio = run.ratioP50 === null ? "" : `, ${times(run.ratioP50.median)} the time of ${run.baseline.name}`;
  report.append(
    element("p", {class: "eyebrow"}, `farpage page ${data.subject}`),
    element("h1", {}, `${words.headline(bytes(run.pageSize))} in ${micros(run.p50Ns)}\u00a0µs${ratio}`),
    element("p", {class: "meta"}, `${run.name}: ${run.transport}, depth ${run.depth}, ${run.pattern}, ${run.placement}. `
      + `${where.cpuModel}, ${where.cpus} CPUs, ${where.startedAt.replace("T", " ").replace("Z", " UTC")}.`),
    element("div", {class: "tiles"},
      tile(`p50, ${run.name}`, micros(run.p50Ns), "µs", ...against(run, "ratioP50")),
      tile(`p99, ${run.name}`, micros(run.p99Ns), "µs", ...against(run, "ratioP99")),
      tile(`Throughput, depth ${fastest.depth}`, grouped(fastest.pagesPerSecond), "pages/s", ...against(fastest, "ratioThroughput")),
      tile("Pages checked", grouped(count), "", wrong === 0
        ? element("span", {class: "good"}, "✓ each held what it should")
        : element("span", {class: "bad"}, `✗ ${grouped(wrong)} did not hold what they should`))));
}

/* The percentile plot: nines to the right, so that the tail has as much room as the body. */

const nines = percentile => -Math.log10(1 - percentile / 100);

function prepare(points, count) {
  const end = Math.log10(count) + 0.15;
  return points.map(([percentile, ns]) => ({x: percentile >= 100 ? end : Math.min(nines(percentile), end), ns, percentile}));
}

function valueAt(points, x) {
  let low = 0;
  let high = points.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle].x < x) low = middle + 1; else high = middle;
  }
  return points[low].ns;
}

function percentileLabel(x) {
  const digits = Math.max(0, Math.ceil(x) - 1);
  return "p" + (100 - 100 * Math.pow(10, -x)).toFixed(Math.min(digits + (x < 1 ? 0 : 1), 7)).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
}

function logTicks(low, high) {
  const ticks = [];
  const steps = high / low > 2000 ? [1] : high / low > 200 ? [1, 3] : [1, 2, 5];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    for (const step of steps) {
      const tick = step * Math.pow(10, power);
      if (tick >= low && tick <= high) ticks.push(tick);
    }
  }
  return ticks;
}

function linearTicks(low, high) {
  const rough = (high - low) / 6;
  const power = Math.pow(10, Math.floor(Math.log10(rough)));
  const step = [1, 2, 5, 10].map(s => s * power).find(s => s >= rough);
  const ticks = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high; tick += step) ticks.push(tick);
  return ticks;
}

function plot(run, curves) {
  const series = [{
    kind: "farpage", label: subject(run), points: prepare(curves.farpage, run.count), p99: run.p99Ns
  }];
  if (curves.baseline) {
    const {name, count, p99Ns} = run.baseline;
    series.push({kind: "baseline", label: name, points: prepare(curves.baseline, count), p99: p99Ns});
  }
  const holder = element("div", {class: "plot"});
  const readout = element("div", {class: "readout", hidden: ""});
  const bar = element("div", {class: "bar"});
  for (const one of series) {
    const swatch = shape("svg", {width: 30, height: 10, "aria-hidden": "true"});
    swatch.append(shape("line", {x1: 1, y1: 5, x2: 29, y2: 5, class: `curve ${one.kind}`}));
    bar.append(element("span", {class: "key"}, swatch, one.label));
  }
  let linear = false;
  const buttons = [["Whole range, log", false], ["Up to p99, linear", true]].map(([text, value]) => {
    const button = element("button", {type: "button", "aria-pressed": String(value === linear)}, text);
    button.addEventListener("click", () => {
      linear = value;
      buttons.forEach(b => b.setAttribute("aria-pressed", String(b === button)));
      draw();
    });
    return button;
  });
  bar.append(element("span", {class: "scale", role: "group", "aria-label": "Latency axis"}, ...buttons));

  const xLast = Math.max(...series.map(s => s.points[s.points.length - 1].x));
  let cursorAt = null;

  function draw() {
    const width = Math.max(300, holder.clientWidth || 960);
    const height = Math.round(Math.max(260, Math.min(400, width * 0.42)));
    const xEnd = linear ? Math.min(xLast, 2.1) : xLast;
    const box = {left: 62, right: width - 18, top: 26, bottom: height - 46};
    const all = series.flatMap(s => s.points.map(p => p.ns / 1000)).filter(v => v > 0);
    const low = linear ? Math.min(...all) * 0.92 : Math.min(...all) * 0.85;
    const high = linear ? Math.max(...series.map(s => s.p99)) / 1000 * 1.08 : Math.max(...all) * 1.2;
    const xOf = x => box.left + (box.right - box.left) * x / xEnd;
    const yOf = us => {
      const part = linear ? (us - low) / (high - low) : Math.log(us / low) / Math.log(high / low);
      return box.bottom - (box.bottom - box.top) * part;
    };
    const svg = shape("svg", {viewBox: `0 0 ${width} ${height}`, height, tabindex: 0, role: "img",
      "aria-label": `Latency by percentile of ${run.name}; the table below has the figures. Arrow keys move the readout.`});
    const clip = `clip-${run.name}`;
    const defs = shape("defs", {});
    const clipPath = shape("clipPath", {id: clip});
    clipPath.append(shape("rect", {x: box.left, y: box.top - 4, width: box.right - box.left + 8, height: box.bottom - box.top + 8}));
    defs.append(clipPath);
    svg.append(defs);

    for (const tick of linear ? linearTicks(low, high) : logTicks(low, high)) {
      svg.append(shape("line", {class: "grid", x1: box.left, x2: box.right, y1: yOf(tick), y2: yOf(tick)}));
      svg.append(shape("text", {x: box.left - 10, y: yOf(tick) + 4, "text-anchor": "end"}, tick >= 1000 ? grouped(tick) : String(+tick.toPrecision(6))));
    }
    const ticks = [0, 50, 90, 99, 99.9, 99.99, 99.999, 99.9999, 99.99999].filter(p => nines(p) <= xEnd && (xEnd < xLast || xOf(xEnd) - xOf(nines(p)) > 64));
    const shown = width < 520 ? ticks.filter(p => p !== 50) : ticks;
    const marks = shown.map(p => [nines(p), String(p)]);
    if (xEnd === xLast) marks.push([xLast, "max"]);
    for (const [x, label] of marks) {
      svg.append(shape("line", {class: "grid", x1: xOf(x), x2: xOf(x), y1: box.top, y2: box.bottom}));
      svg.append(shape("text", {x: xOf(x), y: box.bottom + 20, "text-anchor": label === "max" ? "end" : "middle"}, label));
    }
    svg.append(shape("line", {class: "axis", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom}));
    svg.append(shape("text", {x: box.left - 10, y: 14, "text-anchor": "end"}, "µs"));
    svg.append(shape("text", {x: (box.left + box.right) / 2, y: height - 6, "text-anchor": "middle"}, "percentile"));

    const lines = shape("g", {"clip-path": `url(#${clip})`});
    for (const one of [...series].reverse()) {
      const path = one.points.map((p, i) => `${i ? "L" : "M"}${xOf(p.x).toFixed(1)} ${yOf(Math.max(p.ns / 1000, low)).toFixed(1)}`).join("");
      lines.append(shape("path", {d: path, class: `curve ${one.kind}`}));
    }
    svg.append(lines);

    const cursor = shape("g", {visibility: "hidden"});
    const rule = shape("line", {class: "cursor", y1: box.top, y2: box.bottom});
    const dots = series.map(s => shape("circle", {r: 5, class: `dot ${s.kind}`}));
    cursor.append(rule, ...dots);
    svg.append(cursor);

    function show(x) {
      cursorAt = Math.max(0, Math.min(xEnd, x));
      const values = series.map(s => valueAt(s.points, cursorAt));
      cursor.setAttribute("visibility", "visible");
      rule.setAttribute("x1", xOf(cursorAt));
      rule.setAttribute("x2", xOf(cursorAt));
      dots.forEach((dot, i) => {
        const us = values[i] / 1000;
        dot.setAttribute("cx", xOf(cursorAt));
        dot.setAttribute("cy", yOf(us));
        dot.setAttribute("visibility", us > high ? "hidden" : "inherit");
      });
      const rows = series.map((s, i) => row(s.label, micros(values[i]) + " µs"));
      if (series.length > 1) rows.push(row("ratio", times(values[0] / values[1])));
      readout.replaceChildren(element("div", {class: "at"}, cursorAt >= xLast ? "max" : percentileLabel(cursorAt)), ...rows);
      readout.hidden = false;
      const right = xOf(cursorAt) < width / 2;
      readout.style.left = right ? `${xOf(cursorAt) + 14}px` : "auto";
      readout.style.right = right ? "auto" : `${width - xOf(cursorAt) + 14}px`;
    }
    function hide() {
      cursorAt = null;
      cursor.setAttribute("visibility", "hidden");
      readout.hidden = true;
    }
    const pointed = event => {
      const at = svg.getBoundingClientRect();
      show((event.clientX - at.left - box.left) / (box.right - box.left) * xEnd);
    };
    svg.addEventListener("pointermove", pointed);
    svg.addEventListener("pointerdown", pointed);
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("blur", hide);
    svg.addEventListener("keydown", event => {
      const step = {ArrowLeft: -0.1, ArrowRight: 0.1}[event.key];
      if (step) {
        event.preventDefault();
        show((cursorAt === null ? nines(50) : cursorAt) + step);
      }
    });
    holder.replaceChildren(svg, readout);
    if (cursorAt !== null) show(cursorAt);
  }

  let drawnWidth = 0;
  new ResizeObserver(() => {
    if (holder.clientWidth !== drawnWidth) {
      drawnWidth = holder.clientWidth;
      draw();
    }
  }).observe(holder);
  return [bar, holder];
}

const row = (label, value) =>
  element("div", {class: "row"}, element("span", {}, label), element("span", {}, value));

/* The same in numbers. */

function figures(label, f) {
  const wrong = f.mismatches === 0 ? element("td", {}, "0") : element("td", {class: "bad"}, grouped(f.mismatches));
  return element("tr", {}, element("th", {scope: "row"}, label),
    ...[f.p50Ns, f.p90Ns, f.p99Ns, f.p999Ns, f.maxNs].map(ns => element("td", {}, ns === null ? "" : micros(ns))),
    element("td", {}, grouped(f.pagesPerSecond)), element("td", {}, grouped(f.count)), wrong);
}

function table(run) {
  const titles = ["µs", "p50", "p90", "p99", "p99.9", "max", "pages/s", words.count, "mismatches"];
  const body = element("tbody", {}, figures(subject(run), run));
  if (run.baseline) {
    const blank = () => element("td", {});
    const cell = ratio => ratio === null ? blank()
      : element("td", {}, times(ratio.median), element("small", {}, interval(ratio)));
    body.append(figures(run.baseline.name, run.baseline),
      element("tr", {class: "ratio"}, element("th", {scope: "row"}, "ratio", element("small", {}, run.ratioThroughput.low === null ? "median" : "median, 95 % interval")),
        cell(run.ratioP50), blank(), cell(run.ratioP99), blank(), blank(), cell(run.ratioThroughput), blank(), blank()));
  }
  return element("div", {class: "scroll"}, element("table", {},
    element("thead", {}, element("tr", {}, ...titles.map(t => element("th", {scope: "col"}, t)))), body));
}

function screened(run) {
  const {asked, dropped, judgedBy} = run.screening;
  return `${dropped.length} of ${run.rounds + dropped.length} rounds dropped; judged by ${judgedBy}.`
    + dropped.map(reason => ` ${reason}.`).join("")
    + (run.rounds < asked ? ` Too few rounds remain: ${run.rounds} of the ${asked} asked for.` : "");
}

function section(run, curves) {
  const made = element("section", {class: "card run"},
    element("header", {}, element("h2", {}, run.name)),
    element("p", {class: "settings"}, `${run.transport}, ${bytes(run.pageSize)} pages, depth ${run.depth}, ${run.pattern}; `
      + `${run.placement}; idle strategy ${run.idleStrategy}; pages in ${run.hugepages}; `
      + `${run.rounds} rounds, ${grouped(run.warmup)} ${words.count} of warm-up before each`));
  if (words.phases) made.append(element("p", {class: "settings"}, words.phases(run)));
  made.append(element("p", {class: run.rounds < run.screening.asked ? "note" : "settings"}, screened(run)));
  if (!run.baseline) made.append(element("p", {class: "note"}, `No baseline: ${run.baselineAbsent}`));
  made.append(...plot(run, curves), table(run));
  return made;
}

function conditions() {
  const where = data.conditions;
  const list = element("dl", {});
  const add = (name, value) => list.append(element("dt", {}, name), element("dd", {}, value));
  add("CPU", `${where.cpuModel}, ${where.cpus} in use`);
  add("Kernel", where.kernel);
  add("JVM", where.jvm);
  add("JVM flags", where.jvmFlags.join(" ") || "none");
  add("Started", where.startedAt);
  add("Seed", String(where.seed));
  add("Revision", where.gitRevision || "not from a git working tree");
  for (const run of data.runs.filter(r => r.baseline)) {
    add(`Baseline of ${run.name}`, `${run.baseline.name}, ${run.baseline.placement}; pages in ${run.baseline.hugepages}`);
  }
  return element("section", {class: "card run"}, element("h2", {}, "Conditions"), list);
}

head();
data.runs.forEach((run, i) => report.append(section(run, data.curves[i])));
report.append(conditions(), element("p", {class: "reading"},
  words.latency + ", in rounds that alternate with the baseline's on the same CPUs. "
  + "Percentiles are over all rounds that count together; a ratio is the median of the rounds' own ratios, with its 95 % "
  + "interval by order statistics. Each side goes on only when the last page is there, so a stall delays requests instead of being counted "
  + "against those that would have been sent meanwhile (coordinated omission)."));
