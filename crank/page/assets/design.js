// The design of one row: raw values in, columns of numbers out, as crank.design computes them.
// NaN is a missing value; a category's value that training did not have counts as missing.

const ARITHMETIC = {
  abs: Math.abs, negative: (x) => -x, sign: Math.sign, square: (x) => x * x, sqrt: Math.sqrt,
  cbrt: Math.cbrt, reciprocal: (x) => 1 / x, floor: Math.floor, ceil: Math.ceil,
  trunc: Math.trunc, rint: toEven, log: Math.log, log2: Math.log2, log10: Math.log10,
  log1p: Math.log1p, exp: Math.exp, exp2: (x) => 2 ** x, expm1: Math.expm1, sin: Math.sin,
  cos: Math.cos, tan: Math.tan, arcsin: Math.asin, arccos: Math.acos, arctan: Math.atan,
  sinh: Math.sinh, cosh: Math.cosh, tanh: Math.tanh, add: (a, b) => a + b,
  subtract: (a, b) => a - b, multiply: (a, b) => a * b, divide: (a, b) => a / b,
  floor_divide: floorDivide, mod: modulo, power, rounded, maximum: (a, b) => Math.max(a, b),
  minimum: (a, b) => Math.min(a, b), less: (a, b) => a < b, less_equal: (a, b) => a <= b,
  greater: (a, b) => a > b, greater_equal: (a, b) => a >= b, equal: (a, b) => a === b,
  not_equal: (a, b) => a !== b, where: (condition, yes, no) => (condition !== 0 ? yes : no),
};
const LOGIC = { and: (a, b) => a && b, or: (a, b) => a || b, not: (a) => !a };

function toEven(x) {
  const low = Math.floor(x), rest = x - low;
  if (rest !== 0.5) return Math.round(x);
  return low % 2 === 0 ? low : low + 1;
}

function modulo(a, b) {
  if (b === 0) return NaN;
  const rest = a % b;
  return rest !== 0 && rest < 0 !== b < 0 ? rest + b : rest;
}

function floorDivide(a, b) {
  if (b === 0) return a / b;
  const quotient = (a - modulo(a, b)) / b, low = Math.floor(quotient);
  return quotient - low > 0.5 ? low + 1 : low;
}

function power(base, exponent) {
  // NumPy squares and takes roots exactly
  if (exponent === 2) return base * base;
  if (exponent === 0.5) return Math.sqrt(base);
  if (exponent === -1) return 1 / base;
  return base ** exponent;
}

function rounded(x, bits) {
  const spread = x * (2 ** (53 - bits) + 1);
  return Math.abs(x) < 2 ** 1000 ? spread - (spread - x) : x;
}

const isMissing = (value) => value === null || value === undefined || Number.isNaN(value);

function rawNumber(row, name) {
  const value = row[name];
  if (isMissing(value)) return { value: NaN, missing: true };
  if (typeof value === "string") throw new Error(`${name} must be a number.`);
  if (!Number.isFinite(Number(value))) throw new Error(`${name} is infinite.`);
  return { value: Number(value), missing: false };
}

function rawDays(row, name) {
  const value = row[name];
  if (isMissing(value)) return { value: NaN, missing: true };
  const zone = /T.*(Z|[+-]\d\d:?\d\d)$/.test(value) || !value.includes("T") ? "" : "Z";
  const days = Date.parse(value + zone) / 86400000;
  if (Number.isNaN(days)) throw new Error(`${name} must be a date such as 2020-12-31.`);
  return { value: days, missing: false };
}

function evaluate(steps, row) {
  const stack = [];
  for (const [op, ...given] of steps) {
    if (op === "column") stack.push(rawNumber(row, given[0]));
    else if (op === "days") stack.push(rawDays(row, given[0]));
    else if (op === "constant") stack.push({ value: given[0], missing: false });
    else if (op === "among") {
      const value = row[given[0]];
      stack.push({ value: given[1].includes(value), missing: isMissing(value) });
    } else if (op === "cut") stack.push(interval(stack.pop(), ...given));
    else {
      const apply = ARITHMETIC[op] || LOGIC[op];
      const taken = stack.splice(stack.length - apply.length);
      const values = taken.map((part) => (LOGIC[op] ? Boolean(part.value) : Number(part.value)));
      stack.push({ value: apply(...values), missing: taken.some((part) => part.missing) });
    }
  }
  return stack[0];
}

function interval(given, breaks, right, outermost) {
  const x = Number(given.value), last = breaks.length - 2;
  let number = breaks.filter((b) => (right ? b < x : b <= x)).length - 1;
  if (outermost && right && x === breaks[0]) number = 0;
  if (outermost && !right && x === breaks[last + 1]) number = last;
  const outside = number < 0 || number > last || Number.isNaN(x);
  return { value: number, missing: given.missing || outside };
}

function finished(steps, row, term) {
  const found = evaluate(steps, row);
  if (found.missing) return NaN;
  const value = Number(found.value);
  if (!Number.isFinite(value)) throw new Error(`the term ${term} is not a finite number here.`);
  return value;
}

function levelCode(factor, row) {
  const { steps, levels } = factor;
  if (steps[steps.length - 1][0] === "cut") {
    const number = finished(steps, row, factor.name);
    return Number.isNaN(number) ? -1 : number;
  }
  const single = steps.length === 1 && steps[0][0] === "column";
  const value = single ? row[steps[0][1]] : finished(steps, row, factor.name);
  if (isMissing(value)) return -1;
  const same = typeof value === "string"
    ? (level) => level === value
    : (level) => typeof level !== "string" && Number(level) === Number(value);
  return levels.findIndex(same);
}

const FACTORS = {
  number: (factor, row) => [finished(factor.steps, row, factor.name)],
  powers(factor, row) {
    const x = finished(factor.steps, row, factor.name);
    return Array.from({ length: factor.degree }, (_, k) => power(x, k + 1));
  },
  poly(factor, row) {
    const x = finished(factor.steps, row, factor.name), { alpha, norms } = factor, out = [];
    let before = 0, last = 1;
    alpha.forEach((centre, k) => {
      const beta = k ? norms[k] / norms[k - 1] : 0;
      [before, last] = [last, (x - centre) * last - beta * before];
      out.push(last / Math.sqrt(norms[k + 1]));
    });
    return out;
  },
  spline: splineColumns,
  natural: naturalColumns,
  smooth: naturalColumns,
  dummies(factor, row) {
    const code = levelCode(factor, row);
    return factor.levels.map((_, k) => k).filter((k) => k !== factor.base)
      .map((k) => (code < 0 ? NaN : Number(code === k)));
  },
  contrast(factor, row) {
    const code = levelCode(factor, row);
    return factor.fields.map((_, k) => (code < 0 ? NaN : factor.matrix[code][k]));
  },
  codes: codeColumn,
  ordered: codeColumn,
  cross(factor, row) {
    let number = 0;
    for (const part of factor.parts) {
      const code = levelCode(part, row);
      if (code < 0) return [NaN];
      number = number * part.levels.length + code;
    }
    const seen = factor.seen.indexOf(number);
    return [seen < 0 ? NaN : seen];
  },
};

function codeColumn(factor, row) {
  const code = levelCode(factor, row);
  return [code < 0 ? NaN : code];
}

function naturalColumns(factor, row) {
  const x = finished(factor.steps, row, factor.name), { knots, pieces } = factor;
  const at = Number.isNaN(x) ? knots.length : knots.filter((knot) => knot <= x).length;
  const distance = x - (at === 0 ? knots[0] : knots[at - 1]);
  return pieces[at].map((c) => ((c[3] * distance + c[2]) * distance + c[1]) * distance + c[0]);
}

function splineColumns(factor, row) {
  const { knots: t, degree, lower, upper, extrapolation, first } = factor;
  let x = finished(factor.steps, row, factor.name);
  if (x < lower || x > upper) {
    if (extrapolation === "raise") {
      throw new Error(`the term ${factor.name} is defined from ${lower} to ${upper} only.`);
    }
    if (extrapolation === "clip") x = Math.min(Math.max(x, lower), upper);
    if (extrapolation === "na") x = NaN;
  }
  const last = t.length - degree - 2;
  let basis = [];
  for (let i = 0; i < t.length - 1; i++) {
    const extend = extrapolation === "extend";
    const left = extend && i === degree ? -Infinity : t[i];
    const right = extend && i === last ? Infinity : t[i + 1];
    basis.push(Number(x >= left && (i === last ? x <= right : x < right)));
  }
  const rise = (i, d) => (t[i + d] - t[i] ? (x - t[i]) / (t[i + d] - t[i]) : 0);
  for (let d = 1; d <= degree; d++) {
    basis = Array.from({ length: t.length - d - 1 }, (_, i) =>
      rise(i, d) * basis[i] + (1 - rise(i + 1, d)) * basis[i + 1]);
  }
  return basis.slice(first).map((value) => (Number.isNaN(x) ? NaN : value));
}

const UNBOUNDED = new Set(["powers", "poly", "natural", "smooth"]);

function designRow(design, row) {
  const out = [];
  for (const [term, chosen, scale] of design.blocks) {
    const parts = chosen.map((i) => design.factors[i]);
    let columns = FACTORS[parts[0].type](parts[0], row);
    if (parts.length > 1 || scale !== 1 || UNBOUNDED.has(parts[0].type)) {
      for (const part of parts.slice(1)) {
        // the first factor's columns vary fastest
        const next = FACTORS[part.type](part, row);
        columns = next.flatMap((value) => columns.map((column) => column * value));
      }
      columns = columns.map((value) => value * scale);
      if (columns.some((value) => Math.abs(value) === Infinity)) {
        throw new Error(`the term ${term} is too large for a floating point number here.`);
      }
    }
    out.push(...columns);
  }
  return out;
}
