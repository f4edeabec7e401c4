// Charts as inline SVG; colours are the style sheet's, so that light, dark and print follow it.

const LINES = ["one", "two", "three", "four", "five", "six"];

function niceTicks(low, high, about) {
  const raw = (high - low) / Math.max(1, about) || 1, size = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((k) => k * size).find((k) => k >= raw) || 10 * size;
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) {
    ticks.push(Number((k * step).toPrecision(12)));
  }
  return ticks;
}

function extent(values, floor, ceiling) {
  const known = values.filter((v) => v !== null && v !== undefined);
  let low = Math.min(...known), high = Math.max(...known);
  if (floor !== undefined) low = Math.min(low, floor);
  if (ceiling !== undefined) high = Math.max(high, ceiling);
  if (low === high) [low, high] = [low - 0.5, high + 0.5];
  return [low, high];
}

// An empty frame: scales for x and y, axes with ticks, labels.
// With `power` the values of x are logarithms to the base of two.
function frame({ width = 460, height = 320, x, y, xlabel, ylabel, label, levels, power, left = 52 }) {
  const bottom = levels && levels.join("").length > 40 ? 96 : 46, right = 14, top = 12;
  const sx = (v) => left + ((v - x[0]) / (x[1] - x[0])) * (width - left - right);
  const sy = (v) => height - bottom - ((v - y[0]) / (y[1] - y[0])) * (height - bottom - top);
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart", role: "img", "aria-label": label });
  for (const tick of niceTicks(y[0], y[1], 5)) {
    root.append(svg("line", { class: "grid", x1: left, x2: width - right, y1: sy(tick), y2: sy(tick) }),
      svg("text", { x: left - 6, y: sy(tick) + 4, "text-anchor": "end" }, shortNumber(tick)));
  }
  if (levels) {
    levels.forEach((name, k) => {
      const turned = bottom > 50, place = { x: sx(k), y: height - bottom + 16, "text-anchor": "middle" };
      if (turned) Object.assign(place, { transform: `rotate(-35 ${sx(k)} ${height - bottom + 12})`, "text-anchor": "end" });
      root.append(svg("text", place, clipped(name, 14)));
    });
  } else {
    const ticks = power ? niceTicks(x[0], x[1], 7).filter(Number.isInteger) : niceTicks(x[0], x[1], 5);
    for (const tick of ticks) {
      root.append(svg("text", { x: sx(tick), y: height - bottom + 16, "text-anchor": "middle" }, shortNumber(power ? 2 ** tick : tick)));
    }
  }
  root.append(svg("line", { class: "axis", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }),
    svg("text", { class: "label", x: (left + width - right) / 2, y: height - 8, "text-anchor": "middle" }, clipped(xlabel, 64)),
    svg("text", { class: "label", transform: `translate(13 ${(top + height - bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, clipped(ylabel, 48)));
  return { root, sx, sy };
}

const pathOf = (points) => points.filter(([, y]) => y !== null)
  .map(([x, y], k) => `${k ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

function bandPath(line, sx, sy, [least, most]) {
  const inside = (v) => (v === null ? null : sy(Math.min(Math.max(v, least), most)));
  const up = line.x.map((v, k) => [sx(v), inside(line.high[k])]);
  const down = line.x.map((v, k) => [sx(v), inside(line.low[k])]).reverse();
  return `${pathOf([...up, ...down])}Z`;
}

// Lines with bands: {x, y, low?, high?, name, thin?: [[…]]}.
function lineChart(lines, options) {
  const all = lines.flatMap((line) => [...line.y, ...(line.low || []), ...(line.high || []), ...(line.thin || []).flat()]);
  const x = options.x || extent(lines.flatMap((line) => line.x));
  const y = options.y || extent(all, options.floor, options.ceiling);
  const { root, sx, sy } = frame({ ...options, x, y });
  if (options.diagonal) root.append(svg("path", { class: "reference", d: `M${sx(0)} ${sy(0)}L${sx(1)} ${sy(1)}` }));
  if (options.level !== undefined) {
    root.append(svg("line", { class: "reference", x1: sx(x[0]), x2: sx(x[1]), y1: sy(options.level), y2: sy(options.level) }));
  }
  lines.forEach((line, k) => {
    const colour = LINES[k % LINES.length];
    for (const one of line.thin || []) {
      root.append(svg("path", { class: "thin", d: pathOf(one.map((v, i) => [sx(line.x[i]), sy(v)])) }));
    }
    if (line.low) root.append(svg("path", { class: `band ${colour}`, d: bandPath(line, sx, sy, y) }));
    root.append(svg("path", { class: `line ${colour}`, d: pathOf(line.x.map((v, i) => [sx(v), line.y[i] === null ? null : sy(line.y[i])])) }));
  });
  return el("figure", {}, root, legend(lines));
}

function legend(lines) {
  if (lines.length < 2 && !lines[0].name) return null;
  return el("ul", { class: "legend" }, lines.map((line, k) =>
    el("li", {}, el("span", { class: `key ${LINES[k % LINES.length]}`, "aria-hidden": "true" }), line.name)));
}

// Points with intervals: groups of {name, points: [{x, y, low, high, n}]}; levels put x at 0, 1, ….
function pointChart(groups, options) {
  const points = groups.flatMap((group) => group.points);
  const x = options.x || (options.levels ? [-0.5, options.levels.length - 0.5] : extent(points.map((p) => p.x)));
  const y = options.y || extent(points.flatMap((p) => [p.y, p.low, p.high]));
  const { root, sx, sy } = frame({ ...options, x, y });
  if (options.diagonal) root.append(svg("path", { class: "reference", d: `M${sx(0)} ${sy(0)}L${sx(1)} ${sy(1)}` }));
  groups.forEach((group, k) => {
    const colour = LINES[k % LINES.length];
    for (const point of group.points) {
      if (point.y === null) continue;
      const mark = svg("g", {}, svg("title", {}, `${shortNumber(point.y)} (${shortNumber(point.low)} to ${shortNumber(point.high)})${point.n === undefined ? "" : `, ${rowsText(point.n)}`}`));
      if (point.low !== null && point.low !== undefined) {
        mark.append(svg("line", { class: `whisker ${colour}`, x1: sx(point.x), x2: sx(point.x), y1: sy(Math.max(point.low, y[0])), y2: sy(Math.min(point.high, y[1])) }));
      }
      mark.append(svg("circle", { class: `point ${colour}`, cx: sx(point.x), cy: sy(point.y), r: 4 }));
      root.append(mark);
    }
  });
  return el("figure", {}, root, legend(groups));
}

// Rows of a name with a bar, or with a point and its interval.
function rowChart(rows, { label, xlabel, bars }) {
  const height = 22, left = 170, width = 520, right = 60, foot = 40;
  const values = rows.flatMap((row) => [row.y, row.low, row.high]);
  const [low, high] = extent(values, 0, 0), total = rows.length * height + foot;
  const sx = (v) => left + ((v - low) / (high - low)) * (width - left - right);
  const root = svg("svg", { viewBox: `0 0 ${width} ${total}`, class: "chart", role: "img", "aria-label": label });
  for (const tick of niceTicks(low, high, 4)) {
    root.append(svg("line", { class: "grid", x1: sx(tick), x2: sx(tick), y1: 0, y2: total - foot }),
      svg("text", { x: sx(tick), y: total - foot + 15, "text-anchor": "middle" }, shortNumber(tick)));
  }
  root.append(svg("line", { class: "axis", x1: sx(0), x2: sx(0), y1: 0, y2: total - foot }));
  rows.forEach((row, k) => {
    const y = k * height + height / 2;
    root.append(svg("text", { x: left - 8, y: y + 4, "text-anchor": "end" }, clipped(row.term, 24), svg("title", {}, row.term)));
    if (row.y === null) return;
    if (bars) {
      root.append(svg("rect", { class: "bar one", x: Math.min(sx(0), sx(row.y)), y: y - 7, width: Math.abs(sx(row.y) - sx(0)), height: 14 }),
        svg("text", { class: "quiet", x: Math.max(sx(0), sx(row.y)) + 5, y: y + 4 }, shortNumber(Number(row.y.toPrecision(3)))));
      return;
    }
    if (row.low !== null) root.append(svg("line", { class: "whisker one", x1: sx(row.low), x2: sx(row.high), y1: y, y2: y }));
    root.append(svg("circle", { class: "point one", cx: sx(row.y), cy: y, r: 4.5 },
      svg("title", {}, `${row.term}: ${shortNumber(row.y)} (${shortNumber(row.low)} to ${shortNumber(row.high)})`)));
  });
  root.append(svg("text", { class: "label", x: (left + width - right) / 2, y: total - 6, "text-anchor": "middle" }, xlabel));
  return el("figure", {}, root);
}

// Counts side by side, such as the responses of a node.
function countChart(counts, edges, response) {
  const width = 300, height = 120, foot = 30, most = Math.max(1, ...counts), step = (width - 10) / counts.length;
  const total = counts.reduce((sum, k) => sum + k, 0);
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart small", role: "img",
    "aria-label": `Rows by tenths of ${response}, lowest first: ${counts.join(", ")}` });
  counts.forEach((count, k) => {
    const tall = (height - foot - 6) * (count / most);
    root.append(svg("rect", { class: "bar one", x: 5 + k * step + 1, y: height - foot - tall, width: step - 2, height: tall },
      svg("title", {}, `${rowsText(count)} from ${shortNumber(edges[k])} to ${shortNumber(edges[k + 1])}`)));
  });
  root.append(svg("line", { class: "axis", x1: 5, x2: width - 5, y1: height - foot, y2: height - foot }),
    svg("text", { x: 5, y: height - 14 }, shortNumber(edges[0])),
    svg("text", { x: width - 5, y: height - 14, "text-anchor": "end" }, shortNumber(edges[edges.length - 1])),
    svg("text", { class: "label", x: width / 2, y: height - 2, "text-anchor": "middle" }, `tenths of ${clipped(response, 24)}, ${rowsText(total)}`));
  return el("figure", {}, root);
}

// A surface over two columns as a heat map; pale cells cannot be told from zero.
function heatChart({ x, by, cells, apart, names }, options) {
  const all = cells.flat(), top = Math.max(...all.map(Math.abs)) || 1;
  const halves = (places) => [(places[0] * 3 - places[1]) / 2, (places[places.length - 1] * 3 - places[places.length - 2]) / 2];
  const { root, sx, sy } = frame({ ...options, x: halves(x), y: halves(by), xlabel: names[0], ylabel: names[1] });
  const wide = sx(x[1]) - sx(x[0]), tall = sy(by[0]) - sy(by[1]);
  x.forEach((across, i) => by.forEach((up, k) => {
    const value = cells[i][k], part = `${(100 * Math.abs(value)) / top}%`;
    root.append(svg("rect", { class: `cell${value < 0 ? " below" : ""}${apart[i][k] === "1" ? "" : " pale"}`, style: `--part: ${part}`,
      x: sx(across) - wide / 2, y: sy(up) - tall / 2, width: wide, height: tall },
    svg("title", {}, `${names[0]} ${shortNumber(across)}, ${names[1]} ${shortNumber(up)}: ${shortNumber(value)}`)));
  }));
  const key = (kind, text) => el("li", {}, el("span", { class: `key block ${kind}`, "aria-hidden": "true" }), text);
  const low = Math.min(...all), high = Math.max(...all);
  return el("figure", {}, root, el("ul", { class: "legend" }, low < 0 ? key("below", `down to ${shortNumber(low)}`) : null, high > 0 ? key("", `up to ${shortNumber(high)}`) : null));
}
