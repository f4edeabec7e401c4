// The tree: drawn from left to right, pruned by a slider, each node with all that is known of it.

const BOX = { width: 152, height: 36, across: 174, down: 44 };
const OPEN_LEAVES = 40;

function treeView(tree) {
  const state = { step: tree.current, closed: new Set(), chosen: 0, path: new Set() };
  const parents = new Map();
  tree.nodes.forEach((node, k) => {
    if (node.left !== undefined) parents.set(node.left, k).set(node.right, k);
  });
  const ends = () => new Set(tree.steps[state.step].ends);
  const isLeaf = (k, cut) => tree.nodes[k].left === undefined || cut.has(k);
  const canvas = el("div", { class: "scroll tree", role: "region", tabindex: "0", "aria-label": "The tree, root on the left" });
  const detail = el("div", { class: "detail", "aria-live": "polite" });
  const told = el("output", { class: "told" });

  if (leavesBelow(0, ends()).length > OPEN_LEAVES) {
    tree.nodes.forEach((node, k) => { if (node.depth === 4) state.closed.add(k); });
  }

  function leavesBelow(k, cut) {
    if (isLeaf(k, cut)) return [k];
    return [...leavesBelow(tree.nodes[k].left, cut), ...leavesBelow(tree.nodes[k].right, cut)];
  }

  // Scores as `Tree.scores` gives them: places from left to right, dealt out again by rank.
  function scoresOf(cut) {
    const leaves = leavesBelow(0, cut);
    const scores = leaves.map((k) => 2 ** tree.depth * (1 - tree.nodes[k].place / 2 ** tree.nodes[k].depth));
    const order = tree.order === "rank"
      ? [...leaves].sort((a, b) => tree.nodes[b].quantile - tree.nodes[a].quantile) : leaves;
    return new Map(order.map((k, i) => [k, { score: scores[i], rank: i }]));
  }

  function draw(focus) {
    const cut = ends(), scores = scoresOf(cut), places = new Map();
    let line = 0, deepest = 0;
    const place = (k) => {
      const node = tree.nodes[k];
      deepest = Math.max(deepest, node.depth);
      if (isLeaf(k, cut) || state.closed.has(k)) { places.set(k, line++); return; }
      place(node.left);
      place(node.right);
      places.set(k, (places.get(node.left) + places.get(node.right)) / 2);
    };
    place(0);
    const width = deepest * BOX.across + BOX.width + 8, height = line * BOX.down + 6;
    const root = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Nodes of the tree" });
    const at = (k) => [4 + tree.nodes[k].depth * BOX.across, 4 + places.get(k) * BOX.down];
    for (const k of places.keys()) {
      const parent = parents.get(k);
      if (parent === undefined) continue;
      const [x, y] = at(k), [px, py] = at(parent), middle = x - 13;
      root.append(svg("path", { class: state.path.has(k) ? "edge on-path" : "edge",
        d: `M${px + BOX.width} ${py + BOX.height / 2}H${middle}V${y + BOX.height / 2}H${x}` }));
    }
    for (const k of [...places.keys()].sort((a, b) => a - b)) root.append(box(k, at(k), cut, scores));
    canvas.replaceChildren(root);
    if (focus) root.querySelector(`[data-node="${state.chosen}"]`).focus();
    tell();
    explain(cut, scores);
  }

  function box(k, [x, y], cut, scores) {
    const node = tree.nodes[k], closed = state.closed.has(k) && !isLeaf(k, cut), leaf = isLeaf(k, cut);
    const kind = ["node", leaf ? "leaf" : "", k === state.chosen ? "chosen" : "", state.path.has(k) ? "on-path" : ""];
    const below = closed ? `, ${leavesBelow(k, cut).length} leaves hidden` : "";
    const first = clipped(node.test, 24);
    const second = `${leaf ? `leaf ${scores.get(k).rank} · ` : ""}n ${shortNumber(node.n)} · ${shortNumber(node.y[1])}`;
    return svg("g", {
      class: kind.join(" "), role: "button", tabindex: "0", "data-node": k, transform: `translate(${x} ${y})`,
      "aria-pressed": String(k === state.chosen),
      "aria-label": `${first} ${second}${closed ? " +" : ""}, node ${node.number}: ${node.test}${below}`,
      onclick: () => choose(k, true), ondblclick: () => toggle(k), onkeydown: (event) => keys(event, k),
    },
    svg("rect", { class: "back", width: BOX.width, height: BOX.height, rx: 5 }),
    svg("rect", { class: "strip", width: 7, height: BOX.height, rx: 3, style: `--place: ${node.quantile}` }),
    svg("text", { class: "test", x: 14, y: 15 }, `${first} `),
    svg("text", { class: "quiet", x: 14, y: 29 }, `${second} `),
    closed ? svg("text", { class: "more", x: BOX.width - 8, y: 29, "text-anchor": "end" }, "+") : null);
  }

  function choose(k, focus) { state.chosen = k; draw(focus); }

  function toggle(k) {
    if (tree.nodes[k].left === undefined) return;
    if (!state.closed.delete(k)) state.closed.add(k);
    choose(k, true);
  }

  function keys(event, k) {
    const node = tree.nodes[k], open = !isLeaf(k, ends()) && !state.closed.has(k);
    const parent = parents.get(k);
    const sibling = (side) => (parent === undefined ? k : tree.nodes[parent][side]);
    const moves = {
      Enter: () => choose(k, true), " ": () => choose(k, true),
      ArrowRight: () => (open ? choose(node.left, true) : state.closed.has(k) ? toggle(k) : null),
      ArrowLeft: () => (parent === undefined ? null : choose(parent, true)),
      ArrowUp: () => choose(sibling("left"), true), ArrowDown: () => choose(sibling("right"), true),
      "-": () => (open ? toggle(k) : null), "+": () => (state.closed.has(k) ? toggle(k) : null),
    };
    if (!moves[event.key]) return;
    event.preventDefault();
    moves[event.key]();
  }

  function explain(cut, scores) {
    let shown = state.chosen;
    for (let up = shown; up !== undefined; up = parents.get(up)) if (cut.has(up)) shown = up;
    const node = tree.nodes[shown], leaf = scores.get(shown), steps = [];
    for (let up = shown; up !== undefined; up = parents.get(up)) steps.unshift(up);
    const facts = [
      ["Rule", node.rule || "all rows"], ["Rows it was grown on", `${shortNumber(node.n)} (${percent(node.share)})`],
      [`Quartiles of ${tree.response}`, node.y.map(shortNumber).join(" · ")],
      ["Mean quantile", shortNumber(node.quantile)],
    ];
    if (leaf) facts.push(["Leaf", `${leaf.rank} of ${scores.size} (0 ranks best), score ${leaf.score}`]);
    if (node.gain !== undefined && !leaf) facts.push(["The split adds", `${shortNumber(node.gain)} to Kendall's τ`]);
    detail.replaceChildren(
      el("h3", {}, `Node ${node.number}`),
      el("dl", {}, facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
      ...(node.counts ? [countChart(node.counts, tree.edges, tree.counted)] : []),
      el("h4", {}, "Path"),
      el("ol", { class: "path" }, steps.map((k) => el("li", {}, tree.nodes[k].test))),
      ...(node.left !== undefined && !leaf ? [el("button", { type: "button", onclick: () => toggle(shown) },
        state.closed.has(shown) ? "Expand branch" : "Collapse branch")] : []));
  }

  function tell() {
    const step = tree.steps[state.step], parts = [`${step.n_leaves} ${step.n_leaves === 1 ? "leaf" : "leaves"}`];
    if (step.training !== undefined) parts.push(`training ${tree.figure} ${shortNumber(step.training)}`);
    if (step.heldout !== undefined) parts.push(`held out ${shortNumber(step.heldout)} ± ${shortNumber(step.se)}`);
    if (step.chosen) parts.push(step.chosen.split(" ").map((rule) => ({ cv: "best held out", "1se": "smallest within one se" })[rule]).join(", "));
    if (state.step === tree.current) parts.push("this model");
    told.replaceChildren(parts.join(" · "));
    if (marker) marker(step);
  }

  let marker = null;
  function pathChart() {
    const steps = tree.steps.filter((step) => step.training !== undefined).reverse();
    if (steps.length < 2) return null;
    const x = steps.map((step) => Math.log2(step.n_leaves)), lines = [{ x, y: steps.map((s) => s.training), name: "training (optimistic)" }];
    if (steps[0].heldout !== undefined) {
      const held = steps.map((s) => s.heldout);
      lines.unshift({ x, y: held, low: steps.map((s) => s.heldout - s.se), high: steps.map((s) => s.heldout + s.se), name: `held out (${tree.folds} folds) ± one se` });
    }
    const figure = lineChart(lines, { width: 460, height: 220, xlabel: "leaves", power: true, ylabel: tree.figure, label: `${tree.figure} along the pruning path` });
    const box = figure.querySelector("svg"), span = extent(x);
    const line = svg("line", { class: "marker", y1: 12, y2: 174 });
    box.append(line);
    marker = (step) => {
      const at = 52 + ((Math.log2(step.n_leaves) - span[0]) / (span[1] - span[0])) * (460 - 52 - 14);
      line.setAttribute("x1", at);
      line.setAttribute("x2", at);
    };
    return figure;
  }

  const chart = pathChart(), id = freshId("prune"), last = tree.steps.length - 1;
  const slider = el("input", { type: "range", id, min: 0, max: last, step: 1, value: last - state.step,
    oninput: (event) => { state.step = last - Number(event.target.value); draw(false); } });
  draw(false);
  const view = el("div", { class: "treeview" },
    last > 0 ? el("div", { class: "pruning" }, el("label", { for: id }, "Prune: fewer leaves on the left, more on the right"), slider, told) : null,
    el("div", { class: "beside" }, canvas, detail), chart);
  return {
    view,
    follow: (path) => { state.path = new Set(path); draw(false); },
  };
}
