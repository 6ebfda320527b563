"use strict";
// The arrays of the run, element by element, in the colour of who touched each last.

const FADED = 0.42;
const LARGEST_CELL = 28;
const SMALLEST_CELL = 9;
const SMALLEST_OF_TWO = 16;
const CELL_WITH_VALUE = 44;
const GAP_OF_ROWS = 9;

/** A canvas of this size on screen, sharp on every display, ready to draw on. */
function sharpCanvas(canvas, width, height) {
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const draw = canvas.getContext("2d");
  draw.scale(scale, scale);
  draw.textBaseline = "middle";
  return draw;
}

const TYPEFACE = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";

function write(draw, text, x, y, size, colour, align = "center", weight = "") {
  draw.font = `${weight} ${size}px ${TYPEFACE}`;
  draw.fillStyle = colour;
  draw.textAlign = align;
  draw.fillText(text, x, y);
}

/** Write as large as fits, or nothing where it could not be read. */
function writeFitting(draw, text, box, size, colour) {
  let fitting = Math.min(size, box.height - 3);
  draw.font = `${fitting}px ${TYPEFACE}`;
  const width = draw.measureText(text).width;
  if (width > box.width - 2) fitting *= (box.width - 2) / width;
  if (fitting >= 6.5) {
    write(draw, text, box.x + box.width / 2, box.y + box.height / 2 + 0.5, fitting, colour);
  }
}

class ArrayFigure {
  constructor(run, array, onPick) {
    this.run = run;
    this.array = array;
    this.figure = element("figure", "array", "");
    this.caption = element("figcaption", "", "");
    this.caption.append(
      element("b", "", array.name),
      element("span", "facts", ` ${factsOf(array)}`),
      element("span", "doing", ""),
    );
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("role", "img");
    this.scroller = element("div", "scroller", "");
    this.scroller.append(this.canvas);
    this.note = element("p", "note", "");
    this.figure.append(this.caption, this.scroller, this.note);
    this.cells = []; // of the last drawing: {x, y, width, height, key, text}
    this.canvas.addEventListener("click", (event) => onPick(this.cellAt(event)));
    this.canvas.addEventListener("mousemove", (event) => {
      const cell = this.cellAt(event);
      this.canvas.title = cell ? cell.text : "";
    });
  }

  /** view: what all drawings share, see `ReplayPage.draw` in main.js. */
  draw(view) {
    const step = this.run.steps[view.state.position];
    const active = step && step.array === this.array ? step : null;
    this.marked = markedCells(this.run, view.state.position, this.array);
    const look = this.lookOf(view, active);
    if (look === this.look) return;
    this.look = look;
    this.figure.classList.toggle("active", Boolean(active));
    this.caption.querySelector(".doing").textContent = active ? doingOf(active) : "";
    const plan = this.plan(view, active);
    this.figure.style.width = `${Math.max(plan.width + 26, 300)}px`;
    const draw = sharpCanvas(this.canvas, plan.width, plan.height);
    this.cells = [];
    for (const panel of plan.panels) this.drawPanel(draw, view, plan, panel);
    if (active && active.wanted.length) this.drawOutside(draw, view, plan, active);
    this.note.textContent = plan.note;
    this.canvas.setAttribute("aria-label", this.summary(view, active));
  }

  /** A text that changes when the drawing has to: most steps touch one array of many. */
  lookOf(view, active) {
    const state = view.state;
    return [
      state.lastStep[this.array.number], Boolean(active), state.gaps, [...this.marked],
      view.by, view.cells, view.focus, view.selected, view.width, view.theme.paper,
      window.devicePixelRatio,
    ].join();
  }

  // ---------------------------------------------------------------- where everything goes

  plan(view, active) {
    const values = view.cells === "value";
    const narrow = this.array.space !== "shared" && view.width < 420;
    const wide = view.width < 420 && values ? 8 : values || narrow ? 16 : WARP;
    const matrix = matrixOf(this.run, this.array, wide);
    if (!this.touched || this.touched.columnsOf !== matrix.columns) {
      this.touched = { ...touchedPart(this.run, this.array, matrix), columnsOf: matrix.columns };
    }
    const touched = this.touched;
    const outside = (active ? active.wanted : [])
      .map((wanted) => placeOutside(this.array, matrix, wanted))
      .filter((place) => place);
    const now = this.placesNow(view, active, matrix, outside);
    const few = outside.length || this.array.space === "local";
    const mostRows = few ? FEWER_ROWS : MOST_ROWS;
    let rows = shownOf(matrix.rows, touched.rows, mostRows, now.rows);
    let columns = shownOf(matrix.columns, touched.columns, MOST_COLUMNS, now.columns);
    const cropped = rows.length < matrix.rows || columns.length < matrix.columns;
    rows = withOutside(rows, matrix.rows, outside.map((place) => place.row));
    columns = withOutside(columns, matrix.columns, outside.map((place) => place.column));
    const plan = { matrix, rows, columns, ...this.sizes(view, matrix, rows, columns) };
    plan.note = cropped ? partNote(matrix, rows, columns) : "";
    this.placePanels(plan, view);
    return plan;
  }

  /** The row and column that have to be in view: of what is wrong, else of the chosen block. */
  placesNow(view, active, matrix, outside) {
    if (outside.length) return { rows: [outside[0].row], columns: [outside[0].column] };
    if (active && isAccess(active) && active.elements.length) {
      const mine = active.threads.indexOf(view.selected);
      const first = active.threads.findIndex((t) => blockOf(this.run, t) === view.focus);
      const i = Math.max(0, mine >= 0 ? mine : first);
      this.recent = [active.marked.length ? active.marked[0] : active.elements[i], active.threads[i]];
    }
    if (!this.recent) return { rows: [0], columns: [0] };
    const place = placeOf(this.run, this.array, matrix, ...this.recent);
    return { rows: [place.row], columns: [place.column] };
  }

  sizes(view, matrix, rows, columns) {
    const names = rows.map((row) => rowName(this.run, this.array, matrix, row).length);
    const left = rows.length > 1 || matrix.rows > 1 ? 10 + 6.5 * Math.max(...names) : 2;
    const gaps = matrix.group ? Math.ceil(columns.length / matrix.group) * 4 : 0;
    const largest = view.cells === "value" ? CELL_WITH_VALUE : LARGEST_CELL;
    // Two blocks side by side, if that does not make the elements too small.
    const instances = instancesShown(this.run, this.array, matrix, view.focus);
    const two = instances.length > 1 && view.cells !== "value";
    const half = Math.floor((view.width - 30) / 2 - left) / Math.max(1, columns.length);
    const whole = (view.width - left - gaps - 4) / Math.max(1, columns.length);
    const fitting = Math.floor(two && half >= SMALLEST_OF_TWO ? half : whole);
    const cellWidth = Math.max(SMALLEST_CELL, Math.min(largest, fitting));
    const cellHeight = Math.min(cellWidth, view.cells === "value" ? 24 : LARGEST_CELL);
    const xs = positions(columns, left, cellWidth, (i) => this.gapBefore(matrix, columns, i));
    const ys = positions(rows, 18, cellHeight, (i) => (rows[i] > rows[i - 1] + 1 ? GAP_OF_ROWS : 0));
    const [width, height] = [cellWidth - 1.5, cellHeight - 1.5];
    const characters = view.cells === "value" ? 4 : String(this.run.threadsPerBlock - 1).length;
    const size = sizeOfText(width, height, Math.max(2, characters));
    const inner = width - 2 * frameOf({ width });
    const sizeInFrame = sizeOfText(inner + 2, height, Math.max(2, characters));
    const box = { width, height, size, sizeInFrame };
    return { box, cellWidth, cellHeight, left, xs: xs.places, ys: ys.places, w: xs.end, h: ys.end };
  }

  gapBefore(matrix, columns, i) {
    if (columns[i] > columns[i - 1] + 1) return GAP_OF_ROWS;
    return matrix.group && columns[i] % matrix.group === 0 ? 4 : 0;
  }

  /** One panel per block, side by side like words. */
  placePanels(plan, view) {
    const instances = instancesShown(this.run, this.array, plan.matrix, view.focus);
    const title = this.array.space === "global" ? 0 : 16;
    plan.panels = [];
    let x = 0, y = 0;
    plan.width = 0;
    for (const instance of instances) {
      if (x > 0 && x + plan.w > view.width) {
        x = 0;
        y += plan.h + title + 12;
      }
      plan.panels.push({ instance, x, y: y + title, title });
      plan.width = Math.max(plan.width, x + plan.w + 4);
      x += plan.w + 22;
    }
    plan.height = y + title + plan.h + 4;
    if (this.array.space === "shared" && instances.length < this.run.blocks.length) {
      const shown = `${counted(instances.length, "block")} of ${this.run.blocks.length}`;
      plan.note = `${plan.note} Drawn for ${shown}; choose a block above.`.trim();
    }
    if (this.array.space === "local") {
      plan.note = `${plan.note} One row per thread of this block.`.trim();
    }
  }

  // ---------------------------------------------------------------- drawing

  drawPanel(draw, view, plan, panel) {
    const theme = view.theme;
    if (panel.title) {
      const name = capitalised(blockName(this.run, panel.instance));
      write(draw, name, panel.x + plan.left, panel.y - 8, 12, theme.ink, "left");
    }
    const every = Math.max(1, Math.ceil(20 / plan.cellWidth));
    plan.columns.forEach((column, i) => {
      const step = plan.matrix.group || every;
      const number = plan.matrix.group ? column / plan.matrix.group : column;
      if (column >= 0 && column % step === 0 && (!plan.matrix.group || number % every === 0)) {
        const x = panel.x + plan.xs[i] + plan.cellWidth / 2;
        write(draw, String(number), x, panel.y + 10, 10, theme.muted);
      }
    });
    const everyRow = Math.max(1, Math.ceil(11 / plan.cellHeight));
    plan.rows.forEach((row, i) => {
      const y = panel.y + plan.ys[i];
      if (plan.rows.length > 1 && i % everyRow === 0) {
        const name = rowName(this.run, this.array, plan.matrix, row);
        write(draw, name, panel.x + plan.left - 6, y + plan.cellHeight / 2, 10, theme.muted, "right");
      }
      plan.columns.forEach((column, k) => {
        if (row < 0 || column < 0 || row >= plan.matrix.rows) return;
        if (column >= plan.matrix.columns) return;
        const box = { ...plan.box, x: panel.x + plan.xs[k], y };
        this.drawElement(draw, view, plan.matrix, panel.instance, row, column, box);
      });
    });
  }

  drawElement(draw, view, matrix, instance, row, column, box) {
    const within = this.array.space === "local" ? column : row * matrix.columns + column;
    if (within >= this.array.instance) return;
    const thread = instance * this.run.threadsPerBlock + row;
    if (this.array.space === "local" && row >= this.run.threadsPerBlock) return;
    const number = this.array.space === "shared" ? instance * this.array.instance + within : within;
    const key = cellKey(this.run, this.array, number, thread);
    const access = view.state.touched[this.array.number].get(key);
    const value = view.state.values[this.array.number].get(key);
    const now = Boolean(access) && access.step === view.state.position;
    drawCell(draw, this.run, view, box, access, now, value);
    if (this.marked.has(key)) ring(draw, box, view.theme.wrong, 3);
    const mine = access && [access.thread, ...access.others].includes(view.selected);
    if (mine) ring(draw, box, view.theme.accent, 2.5);
    this.cells.push({ ...box, key, thread: access ? access.thread : -1,
      text: this.textOf(number, access, value) });
  }

  drawOutside(draw, view, plan, active) {
    const panel = plan.panels[0];
    active.wanted.forEach((wanted, i) => {
      const place = placeOutside(this.array, plan.matrix, wanted);
      if (!place) return;
      const k = plan.columns.indexOf(place.column), r = plan.rows.indexOf(place.row);
      if (k < 0 || r < 0) return;
      const box = { ...plan.box, x: panel.x + plan.xs[k], y: panel.y + plan.ys[r] };
      draw.setLineDash([3, 2]);
      ring(draw, box, view.theme.wrong, 1.5, -1);
      draw.setLineDash([]);
      const name = String(withinBlock(this.run, active.threads[i]));
      writeFitting(draw, name, box, 12, view.theme.wrong);
    });
  }

  // ---------------------------------------------------------------- words

  textOf(number, access, value) {
    const name = elementName(this.array, number);
    const known = value === undefined ? "" : ` = ${valueText(value)}`;
    if (!access) return `${name}${known}: not touched yet`;
    const step = this.run.steps[access.step];
    const also = access.others.length ? ` and ${access.others.length} more` : "";
    return `${name}${known}: ${access.kind} by ${threadName(this.run, access.thread)}${also}, ` +
      `line ${step.line}`;
  }

  summary(view, active) {
    const count = view.state.touched[this.array.number].size;
    const begin = `${this.array.name}, ${factsOf(this.array)}: ${counted(count, "element")} touched.`;
    return active ? `${begin} ${describeStep(this.run, active)}` : begin;
  }

  cellAt(event) {
    const frame = this.canvas.getBoundingClientRect();
    const x = event.clientX - frame.left, y = event.clientY - frame.top;
    return this.cells.find(
      (cell) => x >= cell.x && x <= cell.x + cell.width && y >= cell.y && y <= cell.y + cell.height,
    );
  }
}

/** Where each of some rows or columns begins, and where the last ends. */
function positions(items, begin, size, gapBefore) {
  let at = begin;
  const places = items.map((_, i) => {
    if (i > 0) at += gapBefore(i);
    at += size;
    return at - size;
  });
  return { places, end: at };
}

function factsOf(array) {
  const each = { shared: ", one per block", local: ", one per thread", global: "" }[array.space];
  return `${array.space}${each} · ${array.shape.join(" × ")} · ${array.type}`;
}

function doingOf(step) {
  return { read: "is read", write: "is written", atomic: "is updated atomically",
    outside: "is missed" }[step.kind] || "";
}

function partNote(matrix, rows, columns) {
  const parts = [];
  if (rows.length < matrix.rows) parts.push(`${rows.length} of ${counted(matrix.rows, "row")}`);
  if (columns.length < matrix.columns) {
    parts.push(`${columns.length} of ${counted(matrix.columns, "column")}`);
  }
  return parts.length ? `Only ${parts.join(" and ")} drawn.` : "";
}
