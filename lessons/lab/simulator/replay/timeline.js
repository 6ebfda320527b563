"use strict";
// Time: a slider over the steps, with the barriers and the problems on it.

const SLOW_MILLISECONDS = 900;
const FAST_MILLISECONDS = 200;

class Timeline {
  /** onGo(step): what to do when another step is chosen. */
  constructor(run, parts, onGo) {
    this.run = run;
    this.parts = parts;
    this.onGo = onGo;
    this.position = 0;
    this.timer = null;
    const last = Math.max(0, run.steps.length - 1);
    parts.slider.max = String(last);
    parts.slider.disabled = run.steps.length < 2;
    parts.slider.addEventListener("input", () => this.choose(Number(parts.slider.value)));
    parts.first.addEventListener("click", () => this.choose(0));
    parts.last.addEventListener("click", () => this.choose(last));
    parts.back.addEventListener("click", () => this.choose(this.position - 1));
    parts.next.addEventListener("click", () => this.choose(this.position + 1));
    parts.barrierBack.addEventListener("click", () => this.overBarrier(-1));
    parts.barrierNext.addEventListener("click", () => this.overBarrier(1));
    parts.play.addEventListener("click", () => this.togglePlay());
    parts.problem.addEventListener("click", () => this.toProblem());
    parts.problem.hidden = nextProblem(run, -1) < 0;
    this.drawTicks();
  }

  /** Someone chose a step: go there, and stop playing. */
  choose(position) {
    this.stop();
    this.go(position);
  }

  go(position) {
    const last = this.run.steps.length - 1;
    this.onGo(Math.max(0, Math.min(last, position)));
  }

  overBarrier(direction) {
    this.choose(barrierBeyond(this.run, this.position, direction));
  }

  toProblem() {
    const step = nextProblem(this.run, this.position);
    if (step >= 0) this.choose(step);
  }

  // ---------------------------------------------------------------- playing

  togglePlay() {
    if (this.timer !== null) {
      this.stop();
      return;
    }
    if (this.position >= this.run.steps.length - 1) this.go(0);
    const wait = this.run.steps.length > 120 ? FAST_MILLISECONDS : SLOW_MILLISECONDS;
    this.timer = setInterval(() => this.playOn(), wait);
    this.showPlaying(true);
  }

  playOn() {
    if (this.position >= this.run.steps.length - 1) this.stop();
    else this.go(this.position + 1);
  }

  stop() {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
    this.showPlaying(false);
  }

  showPlaying(playing) {
    this.parts.play.classList.toggle("playing", playing);
    this.parts.play.setAttribute("aria-label", playing ? "Pause" : "Play");
  }

  // ---------------------------------------------------------------- what it shows

  show(position) {
    this.position = position;
    const { slider } = this.parts;
    slider.value = String(position);
    slider.setAttribute("aria-valuetext", `${this.whichStep()}, ${this.whichStretch()}`);
    this.parts.label.textContent = this.whichStep();
    this.parts.stretch.textContent = this.whichStretch();
    const last = this.run.steps.length - 1;
    for (const part of [this.parts.first, this.parts.back, this.parts.barrierBack]) {
      part.disabled = position <= 0;
    }
    for (const part of [this.parts.last, this.parts.next, this.parts.barrierNext]) {
      part.disabled = position >= last;
    }
  }

  whichStep() {
    const count = this.run.steps.length;
    if (!count) return "No steps";
    return `Step ${(this.position + 1).toLocaleString("en")} of ${count.toLocaleString("en")}`;
  }

  /** Between which barriers the present step lies. */
  whichStretch() {
    const all = this.run.barriers.length;
    if (!all) return "no barriers";
    const passed = this.run.barriers.filter((number) => number < this.position).length;
    if (this.run.barriers.includes(this.position)) return `at barrier ${passed + 1} of ${all}`;
    if (passed === 0) return "before the first barrier";
    if (passed === all) return `after the last of ${counted(all, "barrier")}`;
    return `between barriers ${passed} and ${passed + 1} of ${all}`;
  }

  drawTicks() {
    const last = Math.max(1, this.run.steps.length - 1);
    const ticks = this.parts.ticks;
    const add = (className, step, title) => {
      const tick = element("i", className, "");
      tick.style.left = `${(100 * step) / last}%`;
      tick.title = title;
      ticks.append(tick);
    };
    for (const step of this.run.barriers) add("barrier", step, `barrier, step ${step + 1}`);
    for (const step of this.run.steps) {
      if (step.before) add("gap", step.number, `${counted(step.before, "step")} left out`);
    }
    const wrong = this.run.findings.filter((f) => !f.advice && f.step >= 0);
    for (const finding of wrong) {
      if (finding.other >= 0) add("problem other", finding.other, `${finding.kind}: B`);
      add("problem", finding.step, `${finding.kind}, step ${finding.step + 1}`);
    }
  }

  /** Keys of the whole page. Returns whether the key was one of them. */
  key(event) {
    const keys = {
      ArrowRight: () => (event.shiftKey ? this.overBarrier(1) : this.choose(this.position + 1)),
      ArrowLeft: () => (event.shiftKey ? this.overBarrier(-1) : this.choose(this.position - 1)),
      Home: () => this.choose(0),
      End: () => this.choose(this.run.steps.length - 1),
      " ": () => this.togglePlay(),
      p: () => this.toProblem(),
    };
    const action = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return false;
    action();
    return true;
  }
}
