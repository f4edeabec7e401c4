// Rankers of every kind on one row of the design, as crank.rankers computes them.

const FARTHEST = 1e100;
const tame = (z) => Math.min(Math.max(Number.isNaN(z) ? 0 : z, -FARTHEST), FARTHEST);

// Trees of one-column tests come in preorder: a node's low child follows it at once.
function unpacked(packed) {
  const n = packed.column.length;
  const table = {
    column: Int32Array.from(packed.column), threshold: new Float64Array(n),
    high: new Int32Array(n), missingLow: new Uint8Array(n), value: new Float64Array(n),
    levels: new Map(packed.levels || []), roots: [],
  };
  const open = [];
  let inner = 0, cut = 0, leaf = 0;
  for (let i = 0; i < n; i++) {
    if (!open.length) table.roots.push(i);
    else if (open[open.length - 1].seen) table.high[open.pop().node] = i;
    else open[open.length - 1].seen = true;
    if (table.column[i] >= 0) {
      table.missingLow[i] = packed.missing_low[inner++] === "1" ? 1 : 0;
      if (!table.levels.has(i)) table.threshold[i] = packed.thresholds[packed.cut[cut++]];
      open.push({ node: i, seen: false });
    } else table.value[i] = packed.value[leaf++];
  }
  return table;
}

function descend(table, node, x) {
  while (table.column[node] >= 0) {
    const value = x[table.column[node]], word = table.levels.get(node);
    let low = value <= table.threshold[node];
    if (word !== undefined) {
      const letter = Number.isInteger(value) && value >= 0 ? word[value] || "m" : "m";
      low = letter === "m" ? table.missingLow[node] === 1 : letter === "l";
    } else if (Number.isNaN(value)) low = table.missingLow[node] === 1;
    node = low ? node + 1 : table.high[node];
  }
  return table.value[node];
}

const sumOfTrees = (table, x) => table.roots.reduce((sum, root) => sum + descend(table, root, x), 0);

function treesRule(rule, x) {
  let total = 0;
  for (const root of rule.roots) {
    let node = root;
    while (rule.low[node] !== node) {
      const value = x[rule.feature[node]];
      const low = Number.isNaN(value) ? rule.missing_low[node] : value <= rule.threshold[node];
      node = low ? rule.low[node] : rule.high[node];
    }
    total += rule.value[node];
  }
  return total;
}

function linearRule(rule, x) {
  const z = rule.columns.map((j, k) => (x[j] - rule.centre[k]) / rule.scale[k]);
  let total = 0;
  z.forEach((value, k) => { total += value * rule.coef[k]; });
  if (!Number.isFinite(total)) {
    total = 0;
    z.forEach((value, k) => { total += tame(value) * rule.coef[k]; });
  }
  return total + rule.bias;
}

function kernelRule(rule, x) {
  const z = rule.columns.map((j, k) => tame((x[j] - rule.centre[k]) / rule.scale[k]) - rule.shift[k]);
  let total = 0;
  rule.vectors.forEach((vector, i) => {
    let distance = 0;
    vector.forEach((value, k) => { distance += (z[k] - value) ** 2; });
    total += Math.exp(-rule.gamma * distance) * rule.dual[i];
  });
  return total + rule.bias;
}

function stumpRule(rule, x) {
  const value = x[rule.column], absent = rule.missing_left ? 1 : -1;
  if (rule.levels) {
    if (rule.levels[0].includes(value)) return 1;
    return rule.levels[1].includes(value) ? -1 : absent;
  }
  if (Number.isNaN(value)) return absent;
  if (rule.threshold === null) return rule.above ? 1 : -1;
  return rule.above ? value - rule.threshold : rule.threshold - value;
}

const RULES = { linear: linearRule, rbf: kernelRule, trees: treesRule };

function goesLeft(split, x) {
  const value = (RULES[split.rule.kind] || stumpRule)(split.rule, x);
  return split.sign > 0 ? value > split.cut : value < split.cut;
}

function treePath(nodes, ends, x) {
  const path = [0];
  let node = 0;
  while (nodes[node].split && !(ends && ends.has(node))) {
    node = goesLeft(nodes[node].split, x) ? nodes[node].split.left : nodes[node].split.right;
    path.push(node);
  }
  return path;
}

function leavesInOrder(nodes) {
  const found = [], stack = [0];
  while (stack.length) {
    const node = stack.pop(), split = nodes[node].split;
    if (split) stack.push(split.right, split.left);
    else found.push(node);
  }
  return found;
}

// Makes of a carried model a function from a row to {score, path}; it throws what Python raises.
function scorer(model) {
  const design = (row) => {
    const x = designRow(model.design, row);
    if (!model.takes_missing && x.some(Number.isNaN)) {
      throw new Error(`a value is missing or unknown, and ${model.made_by} takes no such values.`);
    }
    return x;
  };
  if (model.kind === "tree") {
    const score = new Map(model.leaves.map((leaf) => [leaf.node, leaf.score]));
    return (row) => {
      const path = treePath(model.nodes, score, design(row));
      return { score: score.get(path[path.length - 1]), path };
    };
  }
  if (model.kind === "linear") {
    return (row) => {
      let score = 0;
      design(row).forEach((value, k) => {
        if (model.coef[k] !== null) score += model.coef[k] * (value - model.centre[k]);
      });
      return { score };
    };
  }
  if (model.kind === "trees") {
    const table = unpacked(model.nodes);
    return (row) => ({ score: sumOfTrees(table, design(row)) * model.unit });
  }
  if (model.kind === "rule_trees") {
    const order = model.trees.map((tree) => new Map(
      leavesInOrder(tree.nodes).map((node, k) => [node, tree.votes[k]])));
    return (row) => {
      const x = design(row);
      const ends = model.trees.map((tree, k) => order[k].get(treePath(tree.nodes, null, x).pop()));
      return { score: ends.reduce((sum, vote) => sum + vote, 0) };
    };
  }
  const members = model.members.map((member) => [member.coef, scorer(member.model)]);
  return (row) => ({
    score: members.reduce((sum, [coef, score]) => sum + coef * score(row).score, 0),
  });
}

// Where a score stands among those of the training rows: shares below it at least and at most.
function standing(known, score) {
  let below = 0, equal = 0;
  known.upto.forEach((edge, k) => {
    const inside = k ? known.upto[k - 1] < score && score <= edge : score <= edge;
    if (inside) equal = known.share[k];
    else if (edge < score) below += known.share[k];
  });
  return { low: below, high: Math.min(1, below + equal) };
}
