"use strict";
// Where the run stands after a step: who touched which element last, and what each thread does.

class State {
  constructor(run) {
    this.run = run;
    this.begin();
  }

  /** Before the first step. */
  begin() {
    this.position = -1;
    this.gaps = 0; // places so far at which steps are left out
    // Per array: the last step that touched it; -1: none.
    this.lastStep = this.run.arrays.map(() => -1);
    // Per array: cell -> {thread, kind, step, others}, its last access.
    this.touched = this.run.arrays.map(() => new Map());
    // Per array: cell -> value, where it is known.
    this.values = this.run.arrays.map((array) => initialValues(array));
    // Thread -> {kind, step}: the last thing it did.
    this.threads = new Map();
  }

  /** Go to the state after step `position`; -1: before the first. */
  goTo(position) {
    if (position < this.position) this.begin();
    while (this.position < position) this.apply(this.run.steps[this.position + 1]);
  }

  apply(step) {
    this.position = step.number;
    // Nobody knows what happened to the values in the steps that are left out.
    if (step.before > 0) {
      this.values.forEach((values) => values.clear());
      this.gaps++;
    }
    if (step.array) this.lastStep[step.array.number] = step.number;
    if (step.kind === "write" || step.kind === "atomic") this.forgetAliases(step.array);
    step.threads.forEach((thread, i) => {
      this.threads.set(thread, { kind: step.kind, step: step.number });
      if (isAccess(step)) this.touch(step, thread, i);
    });
  }

  /** What stands in other arrays at the same bytes is not known any more. */
  forgetAliases(array) {
    for (const number of array.aliases || []) {
      if (this.values[number].size) this.lastStep[number] = this.position;
      this.values[number].clear();
    }
  }

  touch(step, thread, i) {
    const key = cellKey(this.run, step.array, step.elements[i], thread);
    const touched = this.touched[step.array.number];
    const before = touched.get(key);
    const access = { thread, kind: step.kind, step: step.number, others: [] };
    // Several threads may touch an element in one step.
    if (before && before.step === step.number) access.others = [...before.others, before.thread];
    touched.set(key, access);
    if (step.values) this.values[step.array.number].set(key, step.values[i]);
  }

  /** "active", "skips", "waits", "returned", "idle": what a thread does in the present step. */
  statusOf(thread) {
    const last = this.threads.get(thread);
    if (!last) return "idle";
    if (last.kind === "return") return "returned";
    const now = last.step === this.position;
    if (last.kind === "barrier" || last.kind === "grid barrier") {
      return now || this.isLastBarrier(last.step) ? "waits" : "idle";
    }
    if (!now) return "idle";
    if (last.kind !== "branch") return "active";
    const step = this.run.steps[last.step];
    return step.elements[step.threads.indexOf(thread)] ? "active" : "skips";
  }

  /** Whether nobody has gone on since a barrier was reached. */
  isLastBarrier(number) {
    for (let i = number + 1; i <= this.position; i++) {
      const kind = this.run.steps[i].kind;
      if (!isBarrier(this.run.steps[i]) && kind !== "finding") return false;
    }
    return true;
  }
}

function initialValues(array) {
  const values = new Map();
  (array.initial || []).forEach((value, element) => values.set(element, value));
  return values;
}

/**
 * The threads that the findings at a step are about, as a Map from the thread to its letter, ""
 * if it is the only one. Also at the step of the other access of a race.
 */
function letteredThreads(run, position) {
  const letters = new Map();
  for (const finding of findingsAt(run, position)) {
    const two = finding.threads.length > 1;
    finding.threads.slice(0, 2).forEach((thread, i) => {
      if (!letters.has(thread)) letters.set(thread, two ? "AB"[i] : "");
    });
  }
  return letters;
}

/** The findings that a step belongs to: made here, or with the other access of a race here. */
function findingsAt(run, position) {
  return run.findings.filter(
    (finding) => !finding.advice && (finding.step === position || finding.other === position),
  );
}

/** The elements of an array to ring in red at a step: cells as in `cellKey`. */
function markedCells(run, position, array) {
  const marked = new Set();
  for (const finding of findingsAt(run, position)) {
    const step = run.steps[finding.step];
    const whose = finding.array === undefined ? step && step.array : run.arrays[finding.array];
    if (whose !== array) continue;
    for (const element of finding.marked || step.marked) {
      marked.add(cellKey(run, array, element, finding.threads[0] || 0));
    }
  }
  return marked;
}

/** The step before or after at which a new stretch between barriers begins. */
function barrierBeyond(run, position, direction) {
  if (direction > 0) {
    const next = run.barriers.find((number) => number > position);
    return next === undefined ? run.steps.length - 1 : next;
  }
  const former = run.barriers.filter((number) => number < position);
  return former.length ? former[former.length - 1] : 0;
}

/** The next step with a problem after a position, beginning again after the last; -1: none. */
function nextProblem(run, position) {
  const steps = run.findings
    .filter((finding) => !finding.advice && finding.step >= 0)
    .map((finding) => finding.step)
    .sort((one, other) => one - other);
  if (!steps.length) return -1;
  const next = steps.find((step) => step > position);
  return next === undefined ? steps[0] : next;
}

/** The next step at a line after a position, beginning again after the last; -1: none. */
function nextAtLine(run, position, source, line) {
  const steps = run.steps.filter((step) => step.source === source && step.line === line);
  if (!steps.length) return -1;
  const next = steps.find((step) => step.number > position);
  return (next || steps[0]).number;
}
