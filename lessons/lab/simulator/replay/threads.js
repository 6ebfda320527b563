"use strict";
// The blocks of the launch, thread by thread: who takes part in this step, who waits, who is gone.

const THREADS_PER_ROW = 32;

class ThreadsFigure {
  /** onPick(thread): what to do when a thread is chosen; -1 for none. */
  constructor(run, parts, onPick) {
    this.run = run;
    this.canvas = parts.canvas;
    this.line = parts.line;
    this.places = [];
    this.canvas.addEventListener("click", (event) => onPick(this.threadAt(event)));
    this.canvas.addEventListener("mousemove", (event) => {
      const thread = this.threadAt(event);
      this.canvas.title = thread < 0 ? "" : threadName(run, thread);
    });
    this.canvas.addEventListener("keydown", (event) => this.move(event, onPick));
    this.selected = -1;
  }

  draw(view) {
    this.selected = view.selected;
    this.plan(view);
    const draw = sharpCanvas(this.canvas, this.width, this.height);
    for (const block of this.blocks) {
      const name = capitalised(blockName(this.run, block.number));
      const weight = block.number === view.focus ? "bold" : "";
      write(draw, name, block.x, block.y - 9, 12, view.theme.ink, "left", weight);
    }
    const letters = letteredThreads(this.run, view.state.position);
    for (const place of this.places) this.drawThread(draw, view, place);
    for (const place of this.places) {
      const wrong = letters.has(place.thread) || this.misses(view, place.thread);
      if (wrong) ring(draw, place, view.theme.wrong, 2.5);
      if (place.thread === view.selected) ring(draw, place, view.theme.accent, 3, 1.5);
    }
    for (const place of this.places) {
      const letter = letters.get(place.thread);
      if (letter) this.drawLetter(draw, view, place, letter);
    }
    this.line.textContent =
      view.selected < 0 ? "" : describeThread(this.run, view.state, view.selected);
    this.canvas.setAttribute("aria-label", this.summary(view));
    this.reveal(view.focus);
  }

  /** Scroll the threads, and never the page, so that a block can be seen. */
  reveal(number) {
    const scroller = this.canvas.parentElement;
    const block = this.blocks.find((other) => other.number === number);
    if (!block || number === this.revealed) return;
    this.revealed = number;
    scroller.scrollTop = Math.max(0, block.y - 24);
  }

  misses(view, thread) {
    const step = this.run.steps[view.state.position];
    return Boolean(step) && step.kind === "outside" && step.threads.includes(thread);
  }

  /** Blocks side by side like words; a block of one dimension has a row per warp. */
  plan(view) {
    const size = this.cellSize(view);
    const [x, y, z] = this.run.block;
    const columns = Math.min(x, THREADS_PER_ROW);
    const rowsPerLine = Math.ceil(x / columns);
    const width = columns * size, height = rowsPerLine * y * z * size;
    const shown = new Set(this.run.threads);
    this.blocks = [];
    this.places = [];
    let left = 1, top = 20;
    this.width = 0;
    for (const number of this.run.blocks) {
      const step = Math.max(width, 62) + 20;
      if (left > 1 && left + width > view.width) {
        left = 1;
        top += height + 30;
      }
      this.blocks.push({ number, x: left, y: top });
      for (let within = 0; within < this.run.threadsPerBlock; within++) {
        const thread = number * this.run.threadsPerBlock + within;
        if (!shown.has(thread)) continue;
        const inLine = within % x;
        const row = Math.floor(within / x) * rowsPerLine + Math.floor(inLine / columns);
        this.places.push({ thread, x: left + (inLine % columns) * size, y: top + row * size,
          width: size - 1.5, height: size - 1.5 });
      }
      this.width = Math.max(this.width, left + width + 4);
      left += step;
    }
    this.height = top + height + 6;
  }

  cellSize(view) {
    const count = this.run.threads.length;
    const wanted = count <= 64 ? 24 : count <= 300 ? 17 : count <= 700 ? 13 : 9;
    const columns = Math.min(this.run.block[0], THREADS_PER_ROW);
    return Math.max(6, Math.min(wanted, Math.floor((view.width - 6) / columns)));
  }

  drawThread(draw, view, place) {
    const theme = view.theme;
    const status = view.state.statusOf(place.thread);
    const colour = colourOf(this.run, view.by, place.thread);
    let text = theme.muted;
    rounded(draw, place);
    draw.fillStyle = theme.pale;
    draw.fill();
    if (status === "active") {
      draw.fillStyle = colour;
      draw.fill();
      text = readableOn(colour);
    } else if (status === "skips") {
      ring(draw, place, colour, 2, -1);
    } else if (status === "waits") {
      this.drawWaiting(draw, place, colour);
      text = theme.ink;
    } else if (status === "returned") {
      draw.fillStyle = theme.paper;
      draw.fill();
      ring(draw, place, theme.line, 1, -0.5);
    }
    const size = sizeOfText(place.width, place.height, String(this.run.threadsPerBlock - 1).length);
    const name = String(withinBlock(this.run, place.thread));
    writeFitting(draw, name, place, Math.min(11, size), text);
  }

  /** Striped, like the bar that keeps a thread waiting. */
  drawWaiting(draw, place, colour) {
    draw.save();
    rounded(draw, place);
    draw.clip();
    draw.globalAlpha = 0.45;
    draw.strokeStyle = colour;
    draw.lineWidth = Math.max(1.5, place.width / 8);
    for (let d = -place.height; d < place.width; d += Math.max(4, place.width / 3)) {
      draw.beginPath();
      draw.moveTo(place.x + d, place.y + place.height);
      draw.lineTo(place.x + d + place.height, place.y);
      draw.stroke();
    }
    draw.restore();
  }

  drawLetter(draw, view, place, letter) {
    const x = place.x + place.width - 1, y = place.y + 1;
    draw.beginPath();
    draw.arc(x, y, 7, 0, 7);
    draw.fillStyle = view.theme.wrong;
    draw.fill();
    write(draw, letter, x, y + 0.5, 10, view.theme.paper, "center", "bold");
  }

  summary(view) {
    const counts = { active: 0, skips: 0, waits: 0, returned: 0, idle: 0 };
    for (const place of this.places) counts[view.state.statusOf(place.thread)]++;
    return `${counted(this.places.length, "thread")} in ${counted(this.blocks.length, "block")}: ` +
      `${counts.active} take part, ${counts.waits} wait at a barrier, ` +
      `${counts.returned} have returned. Arrow keys choose a thread.`;
  }

  threadAt(event) {
    const frame = this.canvas.getBoundingClientRect();
    const x = event.clientX - frame.left, y = event.clientY - frame.top;
    const found = this.places.find((place) => x >= place.x && x <= place.x + place.width + 1.5 &&
      y >= place.y && y <= place.y + place.height + 1.5);
    return found ? found.thread : -1;
  }

  /** Arrow keys, while the threads have the focus, choose a thread. */
  move(event, onPick) {
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (event.key === "Escape") onPick(-1);
    if (!by || event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    const vertical = event.key === "ArrowUp" || event.key === "ArrowDown";
    const jump = vertical ? Math.min(this.run.block[0], THREADS_PER_ROW) : 1;
    const at = this.run.threads.indexOf(this.selected);
    const next = at < 0 ? 0 : Math.max(0, Math.min(this.run.threads.length - 1, at + by * jump));
    onPick(this.run.threads[next]);
  }
}
