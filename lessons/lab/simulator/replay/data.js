"use strict";
// The data of a run: lists are written out, and numbers get the names that the kernel gives them.

const WARP = 32;

/** The plain list behind [..] or {runs: [first, step, count, ...]}. */
function expandList(encoded) {
  if (Array.isArray(encoded)) return encoded;
  const list = [];
  const runs = encoded.runs;
  for (let i = 0; i < runs.length; i += 3) {
    for (let k = 0; k < runs[i + 2]; k++) list.push(runs[i] + k * runs[i + 1]);
  }
  return list;
}

/** Values of elements; null where they are not known. */
function expandValues(encoded) {
  if (encoded === undefined) return null;
  if (Array.isArray(encoded)) return encoded;
  return new Array(encoded.count).fill(encoded.same);
}

/** What the page works with. content: the JSON that is described in data.py. */
function readRun(content) {
  const lists = content.lists.map(expandList);
  const run = { ...content };
  run.threadsPerBlock = volume(content.block);
  run.blocksInGrid = volume(content.grid);
  run.threads = lists[content.threads];
  run.blocks = [...new Set(run.threads.map((thread) => blockOf(run, thread)))];
  run.arrays = content.arrays.map((array, number) => readArray(array, number));
  run.steps = content.steps.map((step, number) => ({
    number,
    kind: step.kind,
    source: step.source,
    line: step.line,
    phase: step.phase,
    array: step.array === undefined ? null : run.arrays[step.array],
    threads: lists[step.threads],
    elements: step.elements === undefined ? null : lists[step.elements],
    values: expandValues(step.values),
    count: step.count || lists[step.threads].length,
    findings: step.findings || [],
    marked: step.marked || [],
    wanted: step.wanted || [],
    before: step.before || 0,
  }));
  // Barriers of several teams come one after another; time is divided where the last has come.
  run.barriers = run.steps
    .filter((step, i) => isBarrier(step) && !(run.steps[i + 1] && isBarrier(run.steps[i + 1])))
    .map((step) => step.number);
  return run;
}

function readArray(array, number) {
  const size = array.shape.reduce((product, length) => product * length, 1);
  return {
    ...array,
    number,
    // A number is shown as a list of one.
    shape: array.shape.length ? array.shape : [1],
    instance: size,
    initial: expandValues(array.initial),
  };
}

function volume(sizes) {
  return sizes[0] * sizes[1] * sizes[2];
}

function isBarrier(step) {
  return step.kind === "barrier" || step.kind === "grid barrier";
}

function isAccess(step) {
  return step.kind === "read" || step.kind === "write" || step.kind === "atomic";
}

// ---------------------------------------------------------------- names

function blockOf(run, thread) {
  return Math.floor(thread / run.threadsPerBlock);
}

function withinBlock(run, thread) {
  return thread % run.threadsPerBlock;
}

/** Number of a thread's warp, counted through the launch. */
function warpOf(run, thread) {
  const warpsPerBlock = Math.ceil(run.threadsPerBlock / WARP);
  return blockOf(run, thread) * warpsPerBlock + Math.floor(withinBlock(run, thread) / WARP);
}

/** "3", or "(3, 1)" where there are more dimensions; x runs fastest. */
function coordinates(number, sizes) {
  const all = [
    number % sizes[0],
    Math.floor(number / sizes[0]) % sizes[1],
    Math.floor(number / (sizes[0] * sizes[1])),
  ];
  const used = sizes[2] > 1 ? 3 : sizes[1] > 1 ? 2 : 1;
  return used === 1 ? String(number) : `(${all.slice(0, used).join(", ")})`;
}

function blockName(run, block) {
  return `block ${coordinates(block, run.grid)}`;
}

function threadName(run, thread) {
  const within = coordinates(withinBlock(run, thread), run.block);
  return `thread ${within} of ${blockName(run, blockOf(run, thread))}`;
}

/** "tile[3, 4]". element: its number, row by row, one instance of the array after another. */
function elementName(array, element) {
  return `${array.name}[${indexOf(array, element).join(", ")}]`;
}

function indexOf(array, element) {
  let rest = element % array.instance;
  const index = [];
  for (let axis = array.shape.length - 1; axis >= 0; axis--) {
    index.unshift(rest % array.shape[axis]);
    rest = Math.floor(rest / array.shape[axis]);
  }
  return index;
}

/** Which of an array's instances an element lies in: a block if it is shared, else 0. */
function instanceOf(run, array, element, thread) {
  if (array.space === "shared") return Math.floor(element / array.instance);
  if (array.space === "local") return blockOf(run, thread);
  return 0;
}

/** What tells one element of an array from every other, in time and for all threads. */
function cellKey(run, array, element, thread) {
  if (array.space !== "local") return element;
  return thread * array.instance + (element % array.instance);
}

function counted(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}
