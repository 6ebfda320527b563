"use strict";
// What the memory system does in one step: sectors of global memory, banks of shared memory.

const SECTOR_BYTES = 32;
const BANKS = 32;
const BANK_BYTES = 4;

/** The threads of a step by warp: a Map from the warp to [{thread, element}]. */
function byWarp(run, step) {
  const warps = new Map();
  step.threads.forEach((thread, i) => {
    const warp = warpOf(run, thread);
    if (!warps.has(warp)) warps.set(warp, []);
    warps.get(warp).push({ thread, element: step.elements[i] });
  });
  return warps;
}

/** Byte address of an element; in shared memory, within its block. */
function addressOf(array, element) {
  const within = array.space === "shared" ? element % array.instance : element;
  if (!array.strides) return array.address + within * array.itemsize;
  const index = indexOf(array, within);
  return array.strides.reduce((sum, stride, axis) => sum + index[axis] * stride, array.address);
}

/** The requests of a step, one per warp, the most expensive first; none if it is no access. */
function requestsOf(run, step) {
  if (!isAccess(step) || step.array.space === "local") return [];
  const requests = [];
  for (const [warp, lanes] of byWarp(run, step)) requests.push(requestOf(step, warp, lanes));
  return requests.sort((one, other) => other.cost - one.cost || one.warp - other.warp);
}

function requestOf(step, warp, lanes) {
  const array = step.array;
  const request = { warp, lanes, space: array.space, mostAtOne: mostAtOneElement(lanes) };
  if (array.space === "shared") {
    request.banks = banksOf(array, lanes);
    request.passes = Math.max(...request.banks.map((words) => words.length));
    request.cost = request.passes;
  } else {
    request.sectors = sectorsOf(array, lanes);
    const asked = new Set(lanes.map((lane) => lane.element)).size * array.itemsize;
    request.used = Math.min(1, asked / (request.sectors.length * SECTOR_BYTES));
    request.cost = request.sectors.length;
  }
  if (step.kind === "atomic") request.cost = Math.max(request.cost, request.mostAtOne);
  return request;
}

function mostAtOneElement(lanes) {
  const counts = new Map();
  for (const lane of lanes) counts.set(lane.element, (counts.get(lane.element) || 0) + 1);
  return Math.max(...counts.values());
}

/** [{number, elements}]: the 32-byte sectors that a warp asks for, by address. */
function sectorsOf(array, lanes) {
  const sectors = new Map();
  for (const lane of lanes) {
    const number = Math.floor(addressOf(array, lane.element) / SECTOR_BYTES);
    if (!sectors.has(number)) sectors.set(number, new Set());
    sectors.get(number).add(lane.element);
  }
  return [...sectors]
    .map(([number, elements]) => ({ number, elements: [...elements].sort((a, b) => a - b) }))
    .sort((one, other) => one.number - other.number);
}

/** For each bank, the different words that a warp wants of it: [{word, lanes}]. */
function banksOf(array, lanes) {
  const banks = Array.from({ length: BANKS }, () => []);
  for (const lane of lanes) {
    const word = Math.floor(addressOf(array, lane.element) / BANK_BYTES);
    const words = banks[word % BANKS];
    const known = words.find((other) => other.word === word);
    if (known) known.lanes.push(lane);
    else words.push({ word, lanes: [lane] });
  }
  return banks;
}

/**
 * The worst that the steps of each source line do: a Map from "source:line" to
 * {passes, sectors, fewest}, where `fewest` sectors would hold as many bytes.
 */
function worstByLine(run) {
  const worst = new Map();
  for (const step of run.steps) {
    const [request] = requestsOf(run, step);
    if (!request) continue;
    const key = `${step.source}:${step.line}`;
    const found = worst.get(key) || { passes: 1, sectors: 0, fewest: 0 };
    if (request.passes) found.passes = Math.max(found.passes, request.passes);
    if (request.sectors && request.sectors.length > found.sectors) {
      const bytes = new Set(request.lanes.map((lane) => lane.element)).size * step.array.itemsize;
      found.sectors = request.sectors.length;
      found.fewest = Math.ceil(bytes / SECTOR_BYTES);
    }
    worst.set(key, found);
  }
  return worst;
}
