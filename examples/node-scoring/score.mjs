// Score rows with a model that crank exported: node score.mjs model.onnx rows.json
//
// rows.json is an array of objects, one a row, with the model's columns by name; null is missing.
// Prints an array of {score, leaf}, one a row, in the same order.

import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import * as ort from "onnxruntime-web";

ort.env.wasm.numThreads = 1;

const absent = (value) => value === null || value === undefined;
const number = (value) => (absent(value) ? NaN : Number(value));

function whole(value) {
  if (absent(value)) throw new Error("an int64 or bool column cannot be missing");
  return value;
}

// A missing text is U+FFFF, which Unicode keeps out of all text; "" is a text like any other.
const MISSING_TEXT = "\uffff";

// How each element type of ONNX is filled from plain values.
const fill = {
  float64: (values) => Float64Array.from(values, number),
  float32: (values) => Float32Array.from(values, number),
  int64: (values) => BigInt64Array.from(values, (v) => BigInt(whole(v))),
  bool: (values) => Uint8Array.from(values, (v) => Number(Boolean(whole(v)))),
  string: (values) => values.map((v) => (absent(v) ? MISSING_TEXT : String(v))),
};

export async function open(path) {
  return ort.InferenceSession.create(await readFile(path));
}

export async function score(session, rows) {
  const feeds = {};
  for (const { name, type } of session.inputMetadata) {
    const lacking = rows.findIndex((row) => !(name in row));
    if (lacking >= 0) throw new Error(`row ${lacking} lacks the column "${name}"`);
    const values = rows.map((row) => row[name]);
    feeds[name] = new ort.Tensor(type, fill[type](values), [rows.length, 1]);
  }
  const found = await session.run(feeds);
  return rows.map((_, i) => ({ score: found.score.data[i], leaf: Number(found.leaf.data[i]) }));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [model, data] = process.argv.slice(2);
  if (!model || !data) {
    console.error("usage: node score.mjs model.onnx rows.json");
    process.exit(2);
  }
  try {
    const session = await open(model);
    const rows = JSON.parse(await readFile(data, "utf8"));
    console.log(JSON.stringify(await score(session, rows)));
  } catch (error) {
    console.error(String(error.message ?? error));
    process.exit(1);
  }
}
