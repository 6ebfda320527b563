"use strict";
// What happens in a step, in words.

const ACTIONS = {
  read: "read",
  write: "write",
  atomic: "update atomically",
  outside: "miss",
};
const WHERE = {
  global: "global memory",
  shared: "shared memory",
  local: "local memory",
};

/** "16 threads", or the name of the only one. */
function whoIn(run, step) {
  if (step.count === 1 && step.threads.length === 1) return threadName(run, step.threads[0]);
  return counted(step.count, "thread");
}

function capitalised(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** One sentence, without the name of the source line. */
function describeStep(run, step) {
  if (!step) return "Nothing has run yet.";
  const who = capitalised(whoIn(run, step));
  const one = step.count === 1;
  if (step.kind === "finding") return "The run ended; this is what was found.";
  if (step.kind === "return") return `${who} return${one ? "s" : ""}.`;
  if (step.kind === "grid barrier") return `${who} reach${one ? "es" : ""} a barrier of the grid.`;
  if (step.kind === "barrier") return describeBarrier(run, step, who);
  if (step.kind === "branch") return describeBranch(step);
  const verb = one ? inThirdPerson(ACTIONS[step.kind]) : ACTIONS[step.kind];
  if (step.kind === "outside") {
    return `${who} ${verb} ${step.array.name}: the index is outside the array.`;
  }
  const what = one && step.threads.length
    ? elementName(step.array, step.elements[0])
    : step.array.name;
  return `${who} ${verb} ${what} (${WHERE[step.array.space]}).`;
}

/** "update atomically" becomes "updates atomically". */
function inThirdPerson(action) {
  const [verb, ...rest] = action.split(" ");
  return [verb + (verb.endsWith("ss") ? "es" : "s"), ...rest].join(" ");
}

function describeBarrier(run, step, who) {
  const absent = absentAt(run, step);
  const reach = step.count === 1 ? "reaches" : "reach";
  if (absent === 0) {
    return `${who} ${reach} the barrier: everyone of a block is there, and all go on.`;
  }
  return `${who} ${reach} the barrier; ${counted(absent, "thread")} of the same blocks ` +
    `${absent === 1 ? "is" : "are"} not here.`;
}

/** How many threads of the blocks at a barrier are not there, of those that the page shows. */
function absentAt(run, step) {
  const blocks = new Set(step.threads.map((thread) => blockOf(run, thread)));
  const here = new Set(step.threads);
  return run.threads.filter((t) => blocks.has(blockOf(run, t)) && !here.has(t)).length;
}

function describeBranch(step) {
  const taken = step.elements.filter((element) => element === 1).length;
  const others = step.elements.length - taken;
  return `The threads part here: for ${taken.toLocaleString("en")} the condition is true, ` +
    `for ${others.toLocaleString("en")} it is not.`;
}

/** The source line of a step, without its indentation. */
function lineOf(run, step) {
  const source = run.sources[step.source];
  return (source.lines[step.line - source.first] || "").trim();
}

/** What a request of a warp costs, in one or two sentences. */
function describeRequest(run, step, request) {
  const warp = warpName(run, request.warp);
  const lanes = counted(request.lanes.length, "thread");
  if (step.kind === "atomic" && request.mostAtOne > 1) {
    return `${warp}: ${lanes} update at once, and at most ${request.mostAtOne} of them meet at ` +
      `one element. These go one after another.`;
  }
  if (request.space === "shared") {
    if (request.passes === 1) {
      return `${warp}: ${lanes}, one pass. No two want different words of one bank.`;
    }
    return `${warp}: a bank conflict. ${request.passes} different words of one bank are wanted, ` +
      `so this takes ${request.passes} passes instead of 1.`;
  }
  const percent = Math.round(request.used * 100);
  return `${warp}: ${lanes} need ${counted(request.sectors.length, "sector")} of 32 bytes, and ` +
    `use ${percent}\u00a0% of these bytes.`;
}

function warpName(run, warp) {
  const warpsPerBlock = Math.ceil(run.threadsPerBlock / WARP);
  const block = blockName(run, Math.floor(warp / warpsPerBlock));
  return `Warp ${warp % warpsPerBlock} of ${block}`;
}

/** What a thread did last, for the line below the threads. */
function describeThread(run, state, thread) {
  const last = state.threads.get(thread);
  const name = capitalised(threadName(run, thread));
  const warp = `lane ${withinBlock(run, thread) % WARP} of warp ` +
    `${Math.floor(withinBlock(run, thread) / WARP)}`;
  if (!last) return `${name} (${warp}) has not touched anything yet.`;
  const step = run.steps[last.step];
  const when = last.step === state.position ? "now" : "last";
  const did = {
    return: "returned",
    barrier: "came to the barrier",
    "grid barrier": "came to the barrier of the grid",
    branch: "came to the branch",
    outside: `missed ${step.array ? step.array.name : "an array"}`,
  }[step.kind] || `touched ${touchedBy(step, thread)} (${step.kind})`;
  return `${name} (${warp}): ${when}, in line ${step.line}, it ${did}.`;
}

function touchedBy(step, thread) {
  return elementName(step.array, step.elements[step.threads.indexOf(thread)]);
}

/** A value as a cell shows it. */
function valueText(value) {
  if (value === undefined || value === null) return "?";
  return typeof value === "number" ? shortNumber(value) : String(value);
}

function shortNumber(value) {
  if (Number.isInteger(value) && Math.abs(value) < 100000) return String(value);
  const text = String(Number(value.toPrecision(3)));
  return text.length <= 6 ? text.replace(/^(-?)0\./, "$1.") : value.toExponential(0);
}
