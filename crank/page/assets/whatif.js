// The what-if form: raw columns in, score, standing and path out, computed by the model itself.

const MISSING = "missing", UNSEEN = "unseen";
const NEW_LEVEL = "\u0000 a level that training did not have";

function numberField(field, changed) {
  const id = freshId("field"), start = Number(field.start === undefined ? 0 : field.start);
  const box = el("input", { type: "number", step: "any", id, value: start });
  const switched = [box]; // what a missing value switches off
  let range = null;
  if (field.low !== undefined && field.high > field.low) {
    const span = field.high - field.low;
    const whole = Number.isInteger(field.low) && Number.isInteger(field.high) && span >= 3 && Number.isInteger(start);
    range = el("input", { type: "range", min: field.low, max: field.high, step: whole ? 1 : span / 200, value: start, "aria-label": `${field.name}, within the range of training` });
    range.addEventListener("input", () => { box.value = Number(Number(range.value).toPrecision(6)); settle(); });
    switched.push(range);
  }
  const absent = field.optional ? el("input", { type: "checkbox", id: `${id}-missing` }) : null;
  const note = el("span", { class: "note" });
  const settle = () => {
    const value = Number(box.value), out = range && (value < field.low || value > field.high);
    note.textContent = out ? `outside the range of training, ${shortNumber(field.low)} to ${shortNumber(field.high)}` : "";
    const off = absent !== null && absent.checked;
    for (const part of switched) part.disabled = off;
    changed();
  };
  box.addEventListener("input", () => { if (range) range.value = box.value; settle(); });
  if (absent) absent.addEventListener("change", settle);
  const read = () => (absent && absent.checked) || box.value === "" ? null : Number(box.value);
  const line = el("div", { class: "field" }, el("label", { for: id }, field.name), box, range,
    absent ? el("label", { class: "inline", for: `${id}-missing` }, absent, "missing") : null, note);
  return { line, read };
}

function menuField(field, changed) {
  const id = freshId("field"), levels = field.levels || [false, true];
  const menu = el("select", { id, onchange: changed }, levels.map((level, k) =>
    el("option", { value: k, selected: level === field.start }, level === "" ? "(empty text)" : String(level))));
  if (field.optional) {
    menu.append(el("option", { value: MISSING }, "(missing)"));
    if (field.levels) menu.append(el("option", { value: UNSEEN }, "(a level not seen in training)"));
  }
  const text = typeof levels[0] === "string";
  const read = () => {
    if (menu.value === MISSING) return null;
    return menu.value === UNSEEN ? (text ? NEW_LEVEL : NaN) : levels[Number(menu.value)];
  };
  return { line: el("div", { class: "field" }, el("label", { for: id }, field.name), menu), read };
}

function textField(field, changed) {
  const id = freshId("field"), date = field.kind === "date";
  const days = field.start === undefined ? null : new Date(field.start * 86400000).toISOString().slice(0, 10);
  const box = el("input", { type: date ? "date" : "text", id, value: days || "", oninput: changed });
  return { line: el("div", { class: "field" }, el("label", { for: id }, field.name), box), read: () => box.value || null };
}

function fieldOf(field, changed) {
  if (field.kind === "boolean" || field.levels) return menuField(field, changed);
  return field.kind === "number" ? numberField(field, changed) : textField(field, changed);
}

function standingText(known, score) {
  if (!known) return "";
  const { low, high } = standing(known, score), whom = `of the ${shortNumber(known.n)} ${known.among}`;
  if (known.exact) return `It ranks above ${percent(low)} ${whom} and beside ${percent(high - low)}.`;
  if (high - low < 0.005) return `It ranks above about ${percent(low)} ${whom}.`;
  return `It ranks above ${percent(low)} to ${percent(high)} ${whom}.`;
}

function whatIf(models, views) {
  const able = models.map((model, k) => ({ model, view: views[k], score: model.scores ? scorer(model.scores) : null }))
    .filter((one) => one.score);
  if (!able.length) return null;
  const fields = new Map();
  for (const { model } of able) for (const field of model.fields) if (!fields.has(field.name)) fields.set(field.name, field);
  const inputs = new Map(), answers = el("div", { class: "answers", "aria-live": "polite" });
  const update = () => {
    const row = Object.fromEntries([...inputs].map(([name, input]) => [name, input.read()]));
    answers.replaceChildren(...able.map((one) => answer(one, row, models.length > 1)));
  };
  for (const [name, field] of fields) inputs.set(name, fieldOf(field, update));
  update();
  const form = el("form", { class: "form", onsubmit: (event) => event.preventDefault() }, [...inputs.values()].map((input) => input.line));
  return el("div", { class: "beside" }, form, answers);
}

function answer({ model, view, score }, row, several) {
  const card = el("div", { class: "answer" }, several ? el("h3", {}, model.name) : null);
  try {
    const found = score(row);
    card.append(el("p", { class: "score" }, el("span", { class: "quiet" }, "score "), el("strong", { "data-score": found.score }, String(found.score))),
      paragraph(standingText(model.standing, found.score)));
    if (found.path && model.tree) {
      const tests = found.path.map((k) => model.tree.nodes[k]);
      card.append(el("p", { class: "quiet" }, "Path:"), el("ol", { class: "path" }, tests.map((node) => el("li", {}, node.test))));
      const end = tests[tests.length - 1];
      card.append(paragraph(`Half of the ${shortNumber(end.n)} training rows of this leaf have ${model.response} from ${shortNumber(end.y[0])} to ${shortNumber(end.y[2])}.`));
    }
    if (view) view.follow(found.path || []);
  } catch (error) {
    if (view) view.follow([]);
    card.append(el("p", { class: "refused" }, `No score: ${error.message}`));
  }
  return card;
}
