"use strict";
// The page: it holds the state, and draws everything anew when that changes.

const byId = (id) => document.getElementById(id);

class ReplayPage {
  constructor(run) {
    this.run = run;
    this.state = new State(run);
    this.by = usualColouring(run);
    this.cells = "thread";
    this.selected = -1;
    this.focus = this.firstFocus();
    this.fillHeader();
    this.makeParts();
    this.listen();
    this.goTo(this.firstPosition());
  }

  /** The step that the address names ("#step=3"), else the first problem, else the first step. */
  firstPosition() {
    const named = /[#&]step=(\d+)/.exec(location.hash);
    if (named) return Math.min(this.run.steps.length, Math.max(1, Number(named[1]))) - 1;
    return Math.max(nextProblem(this.run, -1), Math.min(0, this.run.steps.length - 1));
  }

  firstFocus() {
    const problem = this.run.findings.find((f) => !f.advice && f.threads.length);
    const block = problem ? blockOf(this.run, problem.threads[0]) : this.run.blocks[0];
    return this.run.blocks.includes(block) ? block : this.run.blocks[0];
  }

  fillHeader() {
    const run = this.run;
    byId("kernel").textContent = run.kernel;
    byId("launch").textContent =
      `${counted(run.blocksInGrid, "block")}${shapeOf(run.grid)} of ` +
      `${counted(run.threadsPerBlock, "thread")}${shapeOf(run.block)}`;
    const problems = run.findings.filter((finding) => !finding.advice).length;
    byId("verdict").textContent = problems ? `${counted(problems, "problem")} found` : "no problem found";
    byId("verdict").classList.toggle("good", !problems);
    for (const note of run.notes) byId("notes").append(element("li", "", note));
    byId("notes").hidden = !run.notes.length;
    const moves = run.steps.some((step) => step.kind !== "finding");
    byId("stage").hidden = !moves;
    document.body.classList.toggle("still", !moves);
    byId("transport").hidden = !moves || run.steps.length < 2;
  }

  makeParts() {
    const run = this.run;
    const go = (step) => this.timeline.choose(step);
    this.source = new SourcePanel(run, { heading: byId("source-name"), list: byId("source") },
      (source, line) => go(nextAtLine(run, this.state.position, source, line)));
    this.timeline = new Timeline(run, {
      slider: byId("slider"), ticks: byId("ticks"), label: byId("step"), stretch: byId("stretch"),
      first: byId("first"), back: byId("back"), play: byId("play"), next: byId("next"),
      last: byId("last"), problem: byId("problem"), barrierBack: byId("barrier-back"),
      barrierNext: byId("barrier-next"),
    }, (step) => this.goTo(step));
    this.findings = new FindingsList(run, {
      problems: byId("problems"), advice: byId("advice"), adviceBox: byId("advice-box"),
      adviceTitle: byId("advice-title"),
    }, go);
    this.threads = new ThreadsFigure(run, { canvas: byId("threads"), line: byId("thread-line") },
      (thread) => this.select(thread));
    this.request = new RequestFigure(run, {
      section: byId("request"), words: byId("request-words"), canvas: byId("request-canvas"),
      choice: byId("request-choice"),
    });
    this.arrays = run.arrays.map(
      (array) => new ArrayFigure(run, array, (cell) => this.select(cell ? cell.thread : -1)),
    );
    byId("arrays").append(...this.arrays.map((array) => array.figure));
    this.makeFocusChoice();
    byId("by").value = this.by;
  }

  makeFocusChoice() {
    byId("focus-label").hidden = this.run.blocks.length < 2;
    for (const block of this.run.blocks) {
      const option = element("option", "", blockName(this.run, block));
      option.value = String(block);
      byId("focus").append(option);
    }
  }

  listen() {
    byId("by").addEventListener("change", () => this.set("by", byId("by").value));
    byId("cells").addEventListener("change", () => this.set("cells", byId("cells").value));
    byId("focus").addEventListener("change", () => this.set("focus", Number(byId("focus").value)));
    byId("theme").addEventListener("click", () => this.changeTheme());
    document.addEventListener("keydown", (event) => this.key(event));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    window.addEventListener("hashchange", () => this.goTo(this.firstPosition()));
    let width = 0;
    new ResizeObserver(() => {
      const now = byId("arrays").clientWidth;
      if (now !== width) this.draw();
      width = now;
    }).observe(byId("arrays"));
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const target = event.target.tagName;
    if (target === "SELECT" || target === "SUMMARY") return;
    if (target === "BUTTON" && event.key === " ") return;
    if (event.key.toLowerCase() === "v") {
      byId("cells").value = this.cells === "value" ? "thread" : "value";
      this.set("cells", byId("cells").value);
    } else if (event.key === "Escape") {
      this.select(-1);
    } else if (!this.timeline.key(event)) {
      return;
    }
    event.preventDefault();
  }

  changeTheme() {
    const root = document.documentElement;
    const dark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    this.draw();
  }

  set(name, value) {
    this[name] = value;
    this.draw();
  }

  select(thread) {
    this.selected = thread === this.selected ? -1 : thread;
    if (this.selected >= 0) this.focus = blockOf(this.run, this.selected);
    this.draw();
  }

  goTo(position) {
    const opening = this.state.position < 0;
    this.state.goTo(position);
    const [finding] = findingsAt(this.run, position);
    if (finding && finding.threads.length) {
      const block = blockOf(this.run, finding.threads[0]);
      if (this.run.blocks.includes(block)) this.focus = block;
    }
    this.timeline.show(position);
    this.source.show(position);
    this.findings.show(position);
    this.say(position);
    this.draw();
    const step = this.run.steps[position];
    if (!opening) this.nameInAddress(position);
    if (!opening && step && step.array) {
      this.arrays[step.array.number].figure.scrollIntoView({ block: "nearest" });
    }
  }

  /** So that a link to this step can be copied. */
  nameInAddress(position) {
    try {
      history.replaceState(null, "", `#step=${position + 1}`);
    } catch {
      // Some browsers allow it only so often, or not in a frame.
    }
  }

  /** The step in words, which a screen reader reads aloud. */
  say(position) {
    const step = this.run.steps[position];
    const line = step ? `Line ${step.line}: ` : "";
    byId("words").textContent = line + describeStep(this.run, step);
    byId("line").textContent = step ? lineOf(this.run, step) : "";
    const skipped = step && step.before ? `${counted(step.before, "step")} before this one ` +
      "are left out. " : "";
    byId("skipped").textContent = skipped;
    const verdict = verdictAt(this.run, position);
    byId("here").textContent = verdict;
    byId("here").hidden = !verdict;
  }

  draw() {
    if (byId("stage").hidden) return;
    byId("focus").value = String(this.focus);
    const view = {
      state: this.state, by: this.by, cells: this.cells, focus: this.focus,
      selected: this.selected, theme: themeColours(), width: byId("arrays").clientWidth - 26,
      narrow: byId("source").clientWidth - 30,
    };
    this.threads.draw(view);
    for (const array of this.arrays) array.draw(view);
    this.request.draw(view);
    this.drawKey(view);
  }

  /** The legend's cells. */
  drawKey(view) {
    const access = (kind) => ({ kind, thread: this.run.threads[0] || 0, others: [] });
    const cells = [["write", true], ["read", true], ["atomic", true], ["write", false]];
    const names = ["written", "read", "updated atomically", "touched in an earlier step"];
    const key = byId("key");
    key.replaceChildren();
    cells.forEach(([kind, now], i) => {
      const item = element("li", "", "");
      const canvas = document.createElement("canvas");
      canvas.setAttribute("aria-hidden", "true");
      const draw = sharpCanvas(canvas, 26, 26);
      const plain = { ...view, cells: "thread" };
      drawCell(draw, this.run, plain, { x: 2, y: 2, width: 22, height: 22 }, access(kind), now);
      item.append(canvas, element("span", "", names[i]));
      key.append(item);
    });
  }
}

/** " (2 × 3)", or "" where there is one dimension. */
function shapeOf(sizes) {
  if (sizes[1] === 1 && sizes[2] === 1) return "";
  return ` (${(sizes[2] > 1 ? sizes : sizes.slice(0, 2)).join(" × ")})`;
}

function startReplay() {
  const content = JSON.parse(byId("run").textContent);
  window.replay = new ReplayPage(readRun(content));
}

startReplay();
