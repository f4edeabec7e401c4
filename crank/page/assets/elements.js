// Elements of the page. Text goes in as text nodes only: no name or level can become markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

function shortNumber(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "NA";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "number") return String(value);
  if (value === 0) return "0";
  if (value > 0 && value < 1e-300) return "<1e-300";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e7) return value.toLocaleString("en-US");
  if (size >= 1000 && size < 1e7) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(4)));
}

const percent = (share) => `${Number((100 * share).toPrecision(3))}%`;
const clipped = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
const rowsText = (n) => `${shortNumber(n)} row${n === 1 ? "" : "s"}`;

let lastId = 0;
const freshId = (stem) => `${stem}-${++lastId}`;

// A table whose columns sort when their headings are pressed.
function sortedTable(table, caption) {
  const body = el("tbody");
  const show = (rows) => body.replaceChildren(...rows.map((row) => el("tr", {},
    row.map((cell, k) => el("td", { class: table.numeric[k] ? "number" : String(cell).length > 24 ? "text long" : "text" },
      table.numeric[k] ? shortNumber(cell) : cell === null ? "NA" : shortNumber(cell))))));
  const heads = table.columns.map((name, k) => el("th",
    { scope: "col", "aria-sort": "none", class: table.numeric[k] ? "number" : "text" },
    el("button", { type: "button", onclick: () => sort(k) }, name)));
  const sort = (k) => {
    const up = heads[k].getAttribute("aria-sort") === "descending";
    heads.forEach((head) => head.setAttribute("aria-sort", "none"));
    heads[k].setAttribute("aria-sort", up ? "ascending" : "descending");
    const order = (a, b) => {
      if (a[k] === null || b[k] === null) return (a[k] === null) - (b[k] === null);
      const sign = typeof a[k] === "string" ? a[k].localeCompare(b[k]) : a[k] - b[k];
      return up ? sign : -sign;
    };
    show([...table.rows].sort(order));
  };
  show(table.rows);
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    el("table", {}, el("caption", { class: "hidden" }, caption),
      el("thead", {}, el("tr", {}, heads)), body));
}

const paragraph = (text, kind) => el("p", { class: kind || null }, text);
const sideBySide = (cards) => el("div", { class: cards.length > 1 ? "side" : "single" }, cards);
