"use strict";
// What one warp asks of the memory in this step: its sectors, or its banks.

const MOST_SECTORS = 32;

class RequestFigure {
  constructor(run, parts) {
    this.run = run;
    this.section = parts.section;
    this.words = parts.words;
    this.canvas = parts.canvas;
    this.choice = parts.choice;
    this.choice.addEventListener("change", () => {
      this.chosen = Number(this.choice.value);
      this.redraw();
    });
  }

  draw(view) {
    this.view = view;
    const step = this.run.steps[view.state.position];
    this.step = step;
    this.requests = step ? requestsOf(this.run, step) : [];
    this.section.hidden = !this.requests.length;
    if (!this.requests.length) return;
    const mine = this.requests.findIndex(
      (request) => view.selected >= 0 && request.warp === warpOf(this.run, view.selected),
    );
    this.chosen = Math.max(0, mine);
    this.fillChoice();
    this.redraw();
  }

  /** A menu of the step's warps, the most expensive first. */
  fillChoice() {
    this.choice.hidden = this.requests.length < 2;
    this.choice.replaceChildren();
    this.requests.slice(0, 200).forEach((request, i) => {
      const cost = request.passes ? counted(request.passes, "pass").replace("passs", "passes")
        : counted(request.sectors.length, "sector");
      const option = element("option", "", `${warpName(this.run, request.warp)}: ${cost}`);
      option.value = String(i);
      this.choice.append(option);
    });
    this.choice.value = String(this.chosen);
  }

  redraw() {
    const request = this.requests[this.chosen];
    const text = describeRequest(this.run, this.step, request);
    this.words.textContent = text;
    this.canvas.setAttribute("aria-label", text);
    if (request.banks) this.drawBanks(request);
    else this.drawSectors(request);
  }

  /** Thirty-two columns; each different word of a bank is one box, and one pass. */
  drawBanks(request) {
    const theme = this.view.theme;
    const size = Math.max(8, Math.min(20, Math.floor((this.view.narrow - 44) / BANKS)));
    const height = Math.min(14, size - 1);
    const left = 42, rows = Math.max(2, request.passes);
    const bottom = 6 + rows * height;
    const draw = sharpCanvas(this.canvas, left + BANKS * size + 4, bottom + 30);
    write(draw, "passes", left - 6, 12, 10, theme.muted, "right");
    for (let pass = 1; pass <= rows; pass++) {
      const seldom = rows > 8 && pass % 4 && pass > 1;
      const y = bottom - pass * height + height / 2;
      if (pass !== rows && !seldom) write(draw, String(pass), left - 6, y, 10, theme.muted, "right");
    }
    request.banks.forEach((words, bank) => {
      const x = left + bank * size;
      draw.fillStyle = theme.pale;
      draw.fillRect(x, bottom - height, size - 1.5, height - 1.5);
      words.forEach((word, i) => {
        const box = { x, y: bottom - (i + 1) * height, width: size - 1.5, height: height - 1.5 };
        draw.fillStyle = i === 0 ? PALETTE[0] : theme.wrong;
        rounded(draw, box);
        draw.fill();
      });
      if (bank % 4 === 0 || size > 17) {
        write(draw, String(bank), x + size / 2, bottom + 9, 10, theme.muted);
      }
    });
    write(draw, "bank of shared memory", left, bottom + 22, 10, theme.muted, "left");
  }

  /** Each sector as a box of 32 bytes; what no thread asked for stays pale. */
  drawSectors(request) {
    const theme = this.view.theme;
    const itemsize = this.step.array.itemsize;
    const parts = Math.max(1, Math.floor(SECTOR_BYTES / itemsize));
    const width = Math.max(64, Math.min(132, Math.floor((this.view.narrow - 12) / 4) - 8));
    const each = width / parts;
    const perRow = Math.max(1, Math.floor(this.view.narrow / (width + 8)));
    const shown = request.sectors.slice(0, MOST_SECTORS);
    const rows = Math.ceil(shown.length / perRow);
    const more = request.sectors.length - shown.length;
    const across = Math.min(perRow, shown.length) * (width + 8);
    const draw = sharpCanvas(this.canvas, Math.max(across + 4, 200), rows * 40 + (more ? 20 : 4));
    shown.forEach((sector, i) => {
      const x = (i % perRow) * (width + 8) + 3, y = Math.floor(i / perRow) * 40 + 14;
      const from = sector.number * SECTOR_BYTES;
      write(draw, `bytes ${from.toLocaleString("en")} …`, x, y - 7, 10, theme.muted, "left");
      const asked = new Set(sector.elements.map((e) => addressOf(this.step.array, e) - from));
      for (let part = 0; part < parts; part++) {
        const box = { x: x + part * each, y, width: each - 1, height: 18 };
        const used = asked.has(part * itemsize);
        draw.fillStyle = used ? PALETTE[0] : theme.pale;
        rounded(draw, box);
        draw.fill();
      }
      draw.strokeStyle = theme.muted;
      draw.lineWidth = 1;
      draw.strokeRect(x - 1.5, y - 1.5, width + 2, 21);
    });
    if (more > 0) write(draw, `and ${more} more`, 0, rows * 40 + 8, 11, theme.muted, "left");
  }
}
