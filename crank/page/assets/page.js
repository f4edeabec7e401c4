// The page: reads its data, then draws section after section.

async function readData() {
  const text = document.getElementById("data").textContent;
  if (!text.startsWith("deflate:")) return JSON.parse(text);
  const bytes = Uint8Array.from(atob(text.slice(8)), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(await new Response(stream).text());
}

function section(title, parts, note) {
  const known = parts.filter(Boolean);
  if (!known.length) return;
  const id = freshId("section");
  document.getElementById("main").append(el("section", { id, "aria-labelledby": `${id}-title` },
    el("h2", { id: `${id}-title` }, title), note ? paragraph(note, "note") : null, known));
  document.getElementById("contents").append(el("a", { href: `#${id}` }, title));
}

// One card a model; with several models each has its name above it.
function cards(models, draw, title) {
  const made = models.map((model, k) => [model, draw(model, k)]).filter(([, part]) => part);
  if (!made.length) return null;
  return sideBySide(made.map(([model, part]) => el("div", { class: "card" },
    models.length > 1 ? el("h3", {}, model.name) : title ? el("h3", {}, title) : null, part)));
}

function summaryCard(model) {
  const parts = model.summary.filter((part) => !/^(Leaves|Variable importance)/.test(part.title));
  return el("div", {}, parts.map((part) => [
    el("h3", {}, part.title), part.lines.map((line) => el("p", { class: "line" }, line)),
    part.table ? sortedTable(part.table, `${part.title}, ${model.name}`) : null,
    part.note ? paragraph(part.note, "note") : null]));
}

function curves(models, about) {
  const judged = models.filter((model) => model.judged);
  if (!judged.length) return;
  const named = (model, more) => (models.length > 1 ? `${model.name}${more}` : more.replace(/^: /, ""));
  const roc = judged.filter((model) => model.judged.iroc).map((model) => ({ ...model.judged.iroc, name: named(model, `: IAUC ${model.judged.iroc.area.toFixed(3)}`) }));
  const auc = judged.filter((model) => model.judged.profile).map((model) => ({ ...model.judged.profile, name: models.length > 1 ? model.name : "" }));
  const y = judged[0].response;
  section("Curves", [el("div", { class: "side" },
    roc.length ? el("div", { class: "card" }, el("h3", {}, "IROC"),
      lineChart(roc, { x: [0, 1], y: [0, 1], height: 400, diagonal: true, xlabel: "false positive rate α", ylabel: "IROC", label: "Integrated ROC curve with its band" }),
      paragraph("The mean ROC curve over all thresholds of y. The diagonal is chance; bands are pointwise 95% intervals.", "note")) : null,
    auc.length ? el("div", { class: "card" }, el("h3", {}, "AUC profile"),
      lineChart(auc, { x: [0, 1], floor: 0.45, ceiling: 1, height: 400, level: 0.5, xlabel: `threshold: quantile of ${y}`, ylabel: `AUC of ${y} above it`, label: "AUC at each threshold of y, with its band" }),
      paragraph(`How well rows above a threshold of ${y} are ranked before those below. A flat curve serves all thresholds alike.`, "note")) : null)],
  `On ${rowsText(about.rows)} of data.`);
}

function dependenceCard(model) {
  if (!model.judged || !model.judged.dependence.length) return null;
  const range = [0, 1];
  return el("div", { class: "grid-of-charts" }, model.judged.dependence.map((part) => {
    const options = { width: 320, height: 210, y: range, xlabel: part.feature, ylabel: "place, 0 to 1", label: `Partial dependence on ${part.feature}` };
    if (typeof part.x[0] !== "string") return lineChart([{ x: part.x, y: part.y, thin: part.single, name: "" }], options);
    return pointChart([{ points: part.y.map((y, k) => ({ x: k, y, low: null, high: null })), name: "" }], { ...options, levels: part.x });
  }));
}

// One scale for all curves, so that they can be compared; of wide bands what is not far outside.
function effectScale(effects) {
  const lines = effects.flatMap((part) => part.lines || []);
  if (!lines.length) return undefined;
  const [low, high] = extent(lines.flatMap((line) => line.y), 0, 0), room = 0.35 * (high - low);
  const [least, most] = extent(lines.flatMap((line) => [...line.low, ...line.high]));
  return [Math.min(low, Math.max(least, low - room)), Math.max(high, Math.min(most, high + room))];
}

function effectsCard(model) {
  if (!model.effects || !model.effects.length) return null;
  const y = effectScale(model.effects);
  return el("div", { class: "grid-of-charts" }, model.effects.map((part) => {
    const options = { width: 320, height: 210, y, xlabel: part.term, ylabel: "part of the score", label: `What ${part.term} adds to the score`, level: 0 };
    if (part.cells) return heatChart(part, { ...options, height: 250 });
    if (typeof part.x[0] !== "string") return lineChart(part.lines.map((line) => ({ ...line, x: part.x })), options);
    return pointChart(part.lines.map((line) => ({ name: line.name, points: line.y.map((y, k) => ({ x: k, y, low: line.low[k], high: line.high[k] })) })), { ...options, levels: part.x });
  }));
}

function importanceCard(model) {
  const { rows } = model.importance;
  const shown = rows.filter((row) => row[1]).slice(0, 25).map(([term, y]) => ({ term, y, low: null, high: null }));
  if (!shown.length) return paragraph("No term earns anything: the model gives all rows one score.");
  return el("div", {}, rowChart(shown, { bars: true, label: `Importance of terms in ${model.name}`, xlabel: "importance" }),
    paragraph(`Parts of ${model.achieved}.`, "note"));
}

function calibration(models) {
  const groups = models.filter((model) => model.judged && model.judged.calibration.length)
    .map((model) => ({ name: models.length > 1 ? model.name : "", points: model.judged.calibration }));
  if (!groups.length) return;
  const tree = models.every((model) => model.kind === "tree"), y = models[0].response;
  section("Calibration", [pointChart(groups, { x: [0, 1], y: [0, 1], width: 460, height: 400, diagonal: true, xlabel: tree ? "mean quantile in the leaf, training" : "place of the score, 0 to 1", ylabel: `mean quantile of ${y}, these data`, label: "Mean position of y in groups of rows, by their score" })],
    tree ? "If the order of the leaves holds on these data, points rise from left to right." : "Rows in ten groups by their score: if the order holds, points rise from left to right.");
}

function comparison(about) {
  if (!about.comparison) return;
  section("Comparison", about.comparison.map((part) => el("div", { class: "card" }, el("h3", {}, part.metric),
    part.words.map((text) => paragraph(text, "verdict")), sortedTable(part.estimates, `${part.metric} of each model`),
    sortedTable(part.tests, `Paired tests of ${part.metric}`))), "Paired tests on the same rows; differences are of the first model minus the second.");
}

function inWords(models) {
  section("In words", [cards(models, (model) => {
    if (!model.judged && !model.diagnosis) return null;
    return el("div", {}, (model.judged ? model.judged.words : []).map((text) => paragraph(text)),
      model.diagnosis ? [el("h3", {}, "Does one order serve all thresholds?"), paragraph(model.diagnosis.verdict, "verdict"),
        model.diagnosis.table ? sortedTable(model.diagnosis.table, `Diagnosis of ${model.name}`) : null] : null,
      model.judged ? [el("h3", {}, "Figures on these data"), sortedTable(model.judged.figures, `Figures of ${model.name}`)] : null);
  })]);
}

function drawPage(about) {
  const { models } = about, views = models.map((model) => (model.tree ? treeView(model.tree) : null));
  fill(document.getElementById("head"), {}, [el("h1", {}, about.title), models.map((model) => el("p", { class: "model" },
    models.length > 1 ? el("strong", {}, `${model.name}: `) : null, el("code", {}, model.formula), ` · ${model.headline}, n = ${shortNumber(model.n)}`))]);
  comparison(about);
  inWords(models);
  models.forEach((model, k) => {
    const own = models.length > 1 ? `: ${model.name}` : "";
    if (views[k]) section(`Tree${own}`, [views[k].view], `Boxes show the split that leads to them, training rows and the median of ${model.response}; the strip is their mean rank. Choose a node for its rule; arrow keys walk, + and − open and close.`);
    if (model.effects) section(`Effects${own}`, [effectsCard(model)], "What each term adds to the score, with pointwise 95% bands; pairs of columns as heat maps, pale where the interval holds zero.");
    if (model.coefficients) section(`Coefficients${own}`, [coefficientsCard(model)]);
    if (model.members) section(`Members${own}`, [el("details", {}, el("summary", {}, `${model.members.rows.length} members`), sortedTable(model.members, `Members of ${model.name}`))]);
    if (model.distilled) section(`As one tree${own}`, [paragraph(model.distilled.note), model.distilled.tree ? treeView(model.distilled.tree).view : null]);
  });
  section("What if?", [whatIf(models, views)], "Enter a row: score, standing and path are computed here by the model itself, as Python computes them.");
  section("Leaves", [cards(models, (model) => (model.leaves ? sortedTable(model.leaves, `Leaves of ${model.name}, best first`) : null))]);
  curves(models, about);
  calibration(models);
  section("Importance", [cards(models, importanceCard)]);
  section("Partial dependence", [cards(models, dependenceCard)], "The mean place of the score while one column moves and the others stay; thin lines are single rows.");
  section("Summary", [cards(models, summaryCard)]);
  const notes = models.flatMap((model) => model.notes.map((note) => `${models.length > 1 ? `${model.name}: ` : ""}${note}`));
  if (about.rows === undefined) notes.push("No data were given: figures on new rows, curves, calibration, partial dependence, diagnosis and a small tree beside an ensemble are left out.");
  section("Notes", notes.map((note) => paragraph(note)));
  fill(document.getElementById("foot"), {}, [`Made by crank ${about.version}`, models.map((model) => (model.created ? ` · ${model.name} fitted ${model.created}` : ""))]);
  const score = (k, row) => scorer(models[k].scores)(row).score;
  window.crankReport = { models: models.map((model) => model.name), score };
  document.documentElement.dataset.ready = "yes";
}

function coefficientsCard(model) {
  if (model.effects) {
    const { table } = model.coefficients;
    return el("details", {}, el("summary", {}, `${table.rows.length} coefficients of the curves' columns`), sortedTable(table, `Table of coefficients, ${model.name}`));
  }
  const { table, plot } = model.coefficients, known = plot.filter((row) => row.y !== null);
  return el("div", {}, known.length ? rowChart(known.slice(0, 60), { label: `Coefficients of ${model.name} with 95% intervals`, xlabel: "coefficient, for one standard deviation of its column" }) : null,
    known.length > 60 ? paragraph(`The first 60 of ${known.length}; the table has all.`, "note") : null, sortedTable(table, `Table of coefficients, ${model.name}`));
}

readData().then(drawPage);
