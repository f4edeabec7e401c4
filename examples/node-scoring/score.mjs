// Score rows with a model that crank exported: node score.mjs model.onnx rows.json
//
// rows.json is an array of objects, one a row, with the model's columns by name; null is missing.
// Prints an array of objects, one a row, in the same order, with what the model gives by name: the
// score, the leaf if it is a tree, and so on. A score that has no value is null.

import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import * as ort from "onnxruntime-web";

ort.env.wasm.numThreads = 1;

// A missing text is U+FFFF, which Unicode keeps out of all text; "" is a text like any other.
const MISSING_TEXT = "\uffff";

// JavaScript would make 0 of "" and NaN of "0,3"; a value of another type is an error here.
function wrong(value, needed) {
  return new Error(`${JSON.stringify(value)} stands where ${needed} is needed`);
}

function number(value) {
  if (value === null || value === undefined) return NaN;
  if (typeof value === "boolean") return Number(value);
  if (typeof value !== "number" || !Number.isFinite(value)) throw wrong(value, "a number or null");
  return value;
}

function whole(value) {
  if (typeof value === "boolean") return BigInt(value);
  if (!Number.isSafeInteger(value)) throw wrong(value, "a whole number");
  return BigInt(value);
}

function truth(value) {
  if (typeof value !== "boolean") throw wrong(value, "true or false");
  return Number(value);
}

function text(value) {
  if (value === null || value === undefined) return MISSING_TEXT;
  if (typeof value !== "string" || value === MISSING_TEXT) throw wrong(value, "a text or null");
  return value;
}

// How each element type of ONNX is filled from plain values.
const fill = {
  float64: (values) => Float64Array.from(values, number),
  float32: (values) => Float32Array.from(values, number),
  int64: (values) => BigInt64Array.from(values, whole),
  bool: (values) => Uint8Array.from(values, truth),
  string: (values) => values.map(text),
};

function filled(name, type, rows) {
  try {
    return fill[type](rows.map((row) => row[name]));
  } catch (error) {
    throw new Error(`column "${name}": ${error.message}`);
  }
}

export async function open(path) {
  return ort.InferenceSession.create(await readFile(path));
}

export async function score(session, rows) {
  const feeds = {};
  for (const { name, type } of session.inputMetadata) {
    const lacking = rows.findIndex((row) => !(name in row));
    if (lacking >= 0) throw new Error(`row ${lacking} lacks the column "${name}"`);
    feeds[name] = new ort.Tensor(type, filled(name, type, rows), [rows.length, 1]);
  }
  const found = await session.run(feeds);
  const outputs = Object.entries(found); // the leaf is int64, a BigInt
  return rows.map((_, i) =>
    Object.fromEntries(outputs.map(([name, { data }]) => [name, Number(data[i])])),
  );
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
