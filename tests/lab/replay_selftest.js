// What the replay's own functions do, tested in the browser; test_replay_page.py runs it.
"use strict";
{

const results = [];

function check(name, found, expected) {
  const same = JSON.stringify(found) === JSON.stringify(expected);
  results.push(same ? `ok: ${name}` : `FAILED: ${name}: ${JSON.stringify(found)}`);
}

/** Two blocks of 40 threads; one array of 80 elements, one shared of 40 per block. */
function smallRun(steps, findings = [], more = {}) {
  const lists = [];
  const place = (list) => lists.push(list) - 1;
  return readRun({
    kernel: "k", grid: [2, 1, 1], block: [40, 1, 1], summary: "", notes: [], findings,
    threads: place({ runs: [0, 1, 80] }),
    arrays: [
      { name: "values", space: "global", shape: [80], type: "float32", itemsize: 4, address: 0,
        initial: { same: 1.5, count: 80 } },
      { name: "tile", space: "shared", shape: [4, 10], type: "float32", itemsize: 4, address: 0 },
      { name: "mine", space: "local", shape: [3], type: "int32", itemsize: 4, address: 0 },
    ],
    sources: [{ name: "k", file: "k.py", first: 1, lines: ["def k(values):", "    pass"] }],
    steps: steps.map((step) => ({ source: 0, line: 2, phase: 0, ...step,
      threads: place(step.threads),
      ...(step.elements ? { elements: place(step.elements) } : {}) })),
    lists, ...more,
  });
}

check("a list of runs", expandList({ runs: [5, 2, 3, 0, 0, 2] }), [5, 7, 9, 0, 0]);
check("a plain list", expandList([3, 1]), [3, 1]);
check("equal values", expandValues({ same: "nan", count: 2 }), ["nan", "nan"]);

const write = { kind: "write", array: 1, threads: [0, 41], elements: [39, 41], values: [7, 8] };
const read = { kind: "read", array: 1, threads: [1, 2], elements: [39, 39] };
const race = { kind: "race", line: 2, source: 0, message: "m", advice: false, step: 1, other: 0,
  threads: [1, 0] };

// Names.
{
  const run = smallRun([write]);
  check("thread", threadName(run, 41), "thread 1 of block 1");
  check("element", elementName(run.arrays[1], 40 + 13), "tile[1, 3]");
  check("coordinates", coordinates(17, [4, 3, 2]), "(1, 1, 1)");
  check("warps are of a block", [39, 40, 72].map((t) => warpOf(run, t)), [1, 2, 3]);
  check("blocks", run.blocks, [0, 1]);
}

// Stepping forwards and back.
{
  const run = smallRun([write, read, { kind: "atomic", array: 1, threads: [5], elements: [39],
    values: [9] }], [race]);
  const state = new State(run);
  const last = () => {
    const access = state.touched[1].get(39);
    return access && [access.thread, access.kind, access.others, state.values[1].get(39)];
  };
  state.goTo(0);
  check("who touched it: the writer", last(), [0, "write", [], 7]);
  state.goTo(1);
  check("who touched it: two readers", last(), [2, "read", [1], 7]);
  state.goTo(2);
  check("who touched it: an atomic", last(), [5, "atomic", [], 9]);
  state.goTo(0);
  check("back again", last(), [0, "write", [], 7]);
  check("another block's element", state.touched[1].get(41).thread, 41);
  check("who takes part", [0, 41, 1].map((t) => state.statusOf(t)), ["active", "active", "idle"]);
  state.goTo(-1);
  check("before the first step", [last(), state.statusOf(0)], [undefined, "idle"]);
  check("values before", state.values[0].get(79), 1.5);
  check("garbage in shared memory", state.values[1].get(39), undefined);
  check("letters at both steps", [0, 1, 2].map((i) => [...letteredThreads(run, i)].length),
    [2, 2, 0]);
  check("A is who makes the race", letteredThreads(run, 1).get(1), "A");
  run.steps[1].marked = [39];
  check("the element of the race", [...markedCells(run, 1, run.arrays[1])], [39]);
  check("and in no other array", [...markedCells(run, 1, run.arrays[0])], []);
  check("the problem", [-1, 0, 1, 2].map((i) => nextProblem(run, i)), [1, 1, 1, 1]);
}

// Threads that wait, part and return; barriers.
{
  const run = smallRun([
    { kind: "branch", threads: [0, 1, 2], elements: [1, 0, 1] },
    { kind: "return", threads: [1] },
    { kind: "barrier", threads: [0] },
    { kind: "barrier", threads: [2] },
    { kind: "read", array: 0, threads: [0], elements: [3] },
    { kind: "barrier", threads: [0, 2] },
  ]);
  const state = new State(run);
  const status = (position) => {
    state.goTo(position);
    return [0, 1, 2].map((thread) => state.statusOf(thread));
  };
  check("a branch", status(0), ["active", "skips", "active"]);
  check("a return", status(1), ["idle", "returned", "idle"]);
  check("waiting for another team", status(3), ["waits", "returned", "waits"]);
  check("going on", status(4), ["active", "returned", "idle"]);
  check("barriers in a row are one", run.barriers, [3, 5]);
  check("on to a barrier", [0, 3, 5].map((i) => barrierBeyond(run, i, 1)), [3, 5, 5]);
  check("back to a barrier", [5, 3, 4].map((i) => barrierBeyond(run, i, -1)), [3, 0, 3]);
  check("a line again", [nextAtLine(run, 0, 0, 2), nextAtLine(run, 5, 0, 2)], [1, 0]);
  check("a line that never runs", nextAtLine(run, 0, 0, 1), -1);
}

// Steps that were left out.
{
  const run = smallRun([write, { ...read, before: 12 }]);
  const state = new State(run);
  state.goTo(1);
  check("values are forgotten over a gap", state.values[1].get(41), undefined);
}

// Two names for the same memory.
{
  const run = smallRun([{ kind: "write", array: 1, threads: [0], elements: [3], values: [7] }]);
  run.arrays[1].aliases = [0];
  const state = new State(run);
  state.goTo(0);
  check("values under another name are forgotten", state.values[0].get(3), undefined);
  check("and known under its own", state.values[1].get(3), 7);
}

// Sectors and banks.
{
  const lanes = (elements) => ({ threads: elements.map((_, i) => i), elements });
  const first = (kind, array, elements) =>
    requestsOf(smallRun([{ kind, array, ...lanes(elements) }]),
      smallRun([{ kind, array, ...lanes(elements) }]).steps[0])[0];
  const ordered = Array.from({ length: 32 }, (_, i) => i);
  check("neighbours: 4 sectors", first("read", 0, ordered).sectors.length, 4);
  check("all of them used", first("read", 0, ordered).used, 1);
  check("every second: 5 sectors", first("read", 0, [0, 8, 16, 24, 32]).sectors.length, 5);
  check("an eighth used", first("read", 0, [0, 8]).used, 0.125);
  check("the same element: 1 sector", first("read", 0, [9, 9, 9]).sectors.length, 1);
  check("one bank, two words", first("read", 1, [0, 32]).passes, 2);
  check("one word for all", first("read", 1, [7, 7, 7]).passes, 1);
  check("an atomic to one element", first("atomic", 0, [3, 3, 3, 4]).mostAtOne, 3);
  check("local memory asks for nothing", requestsOf(smallRun([]), smallRun([
    { kind: "read", array: 2, threads: [0], elements: [0] }]).steps[0]), []);
  const two = smallRun([{ kind: "read", array: 1, threads: [0, 1, 40], elements: [0, 32, 40] }]);
  check("one request per warp", requestsOf(two, two.steps[0]).map((r) => [r.warp, r.passes]),
    [[0, 2], [2, 1]]);
  check("the worst of a line", worstByLine(two).get("0:2").passes, 2);
}

// Colours.
{
  const run = smallRun([write]);
  check("by block", colourOf(run, "block", 41), PALETTE[1]);
  check("by warp", [0, 31, 32, 40].map((t) => PALETTE.indexOf(colourOf(run, "warp", t))),
    [0, 0, 1, 0]);
  check("the ramp's ends", [rampColour(0), rampColour(1)], ["#00224e", "#fee838"]);
  check("text on colours", PALETTE.map(readableOn).filter((c) => c === "#ffffff").length, 3);
  check("several blocks", usualColouring(run), "block");
}

// Where elements are drawn.
{
  const run = smallRun([write]);
  const tile = matrixOf(run, run.arrays[1], 32);
  check("a matrix", [tile.rows, tile.columns], [4, 10]);
  check("a place", placeOf(run, run.arrays[1], tile, 40 + 13), { row: 1, column: 3 });
  const list = matrixOf(run, run.arrays[0], 32);
  check("a list", [list.rows, list.columns], [3, 32]);
  check("behind its end", placeOutside(run.arrays[0], list, [80]), { row: 2, column: 16 });
  check("outside a matrix", placeOutside(run.arrays[1], tile, [4, -1]), { row: 4, column: -1 });
  const image = { ...run.arrays[0], shape: [5, 7, 3], instance: 105 };
  const channels = matrixOf(run, image, 32);
  check("a picture", [channels.rows, channels.columns, channels.group], [5, 21, 3]);
  check("all rows", shownOf(5, [1], 24, [0]), [0, 1, 2, 3, 4]);
  check("only rows that are touched", shownOf(500, [3, 400], 24, [0]), [3, 400]);
  const many = Array.from({ length: 90 }, (_, i) => i * 2);
  check("a window", shownOf(500, many, 24, [100]), many.slice(48, 72));
  check("the window's end", shownOf(500, many, 24, [400]), many.slice(66));
  check("rows outside", withOutside([0, 1], 2, [5, 2, -1, 2]), [-1, 0, 1, 2, 5]);
}

// Words.
{
  const run = smallRun([write, read, { kind: "outside", array: 0, threads: [3], elements: [-1] },
    { kind: "barrier", threads: [0, 1] }, { kind: "read", array: 0, threads: [4], elements: [9] }]);
  check("many threads", describeStep(run, run.steps[0]), "2 threads write tile (shared memory).");
  check("one thread", describeStep(run, run.steps[4]),
    "Thread 4 of block 0 reads values[9] (global memory).");
  check("outside", describeStep(run, run.steps[2]),
    "Thread 3 of block 0 misses values: the index is outside the array.");
  check("who is missing", describeStep(run, run.steps[3]),
    "2 threads reach the barrier; 38 threads of the same blocks are not here.");
  check("values", [0.25, 3, -0.5, 123456789, "nan", undefined].map(valueText),
    [".25", "3", "-.5", "1e+8", "nan", "?"]);
  check("tokens", tokensOf("if x: # if").map((t) => t.kind), ["keyword", "", "", "", "", "comment"]);
}

// The page of the run itself: keys, buttons, slider.
if (!byId("transport").hidden) {
  const at = () => replay.state.position;
  const press = (key, shiftKey = false) =>
    document.dispatchEvent(new KeyboardEvent("keydown", { key, shiftKey, bubbles: true }));
  press("Home");
  check("Home", at(), 0);
  press("ArrowRight");
  check("arrow right", at(), 1);
  check("the current line", document.querySelectorAll("#source .now").length, 1);
  press("ArrowLeft");
  press("ArrowLeft");
  check("not before the first", at(), 0);
  press("End");
  check("End", at(), replay.run.steps.length - 1);
  check("no step after the last", byId("next").disabled, true);
  press("Home");
  const problem = nextProblem(replay.run, at());
  press("p");
  check("to the problem", at(), Math.max(0, problem));
  byId("first").click();
  byId("next").click();
  check("buttons", at(), 1);
  byId("slider").value = "0";
  byId("slider").dispatchEvent(new Event("input"));
  check("the slider", at(), 0);
  press("v");
  check("values", replay.cells, "value");
  byId("theme").click();
  check("dark", ["dark", "light"].includes(document.documentElement.dataset.theme), true);
  replay.select(replay.run.threads[0]);
  check("a thread", byId("thread-line").textContent.includes("lane 0 of warp 0"), true);
  press("Escape");
  check("no thread", replay.selected, -1);
  const unnamed = [...document.querySelectorAll("button, select, input, canvas[role=img]")].filter(
    (part) => !part.getAttribute("aria-label") && !part.textContent.trim() && !part.labels?.length,
  );
  check("everything has a name", unnamed.map((part) => part.id), []);
}

const output = document.createElement("pre");
output.id = "results";
output.textContent = results.join("\n");
document.body.append(output);
}
