"use strict";
// One element of an array as a cell: a full square is written, a frame read, an octagon atomic.

const MOST_STRIPES = 4;

/** box: {x, y, width, height, size, sizeInFrame}, sizes of text. access: the last one, or undefined. now: whether in this step. */
function drawCell(draw, run, view, box, access, now, value) {
  const theme = view.theme;
  draw.fillStyle = theme.pale;
  rounded(draw, box);
  draw.fill();
  let textColour = theme.muted;
  if (access) {
    const colours = coloursOf(run, view.by, access);
    draw.globalAlpha = now ? 1 : FADED;
    fillMark(draw, box, access.kind, colours, theme);
    draw.globalAlpha = 1;
    const dark = now && access.kind !== "read" && colours.length === 1;
    textColour = dark ? readableOn(colours[0]) : theme.ink;
    if (now) ring(draw, box, theme.ink, 1.5);
  }
  const text = view.cells === "value" ? valueLabel(access, value) : threadLabel(run, access);
  if (!text) return;
  const size = access && access.kind === "read" ? box.sizeInFrame : box.size;
  writeFitting(draw, text, box, size || 12, textColour);
}

function coloursOf(run, by, access) {
  const threads = [access.thread, ...access.others];
  return [...new Set(threads.map((thread) => colourOf(run, by, thread)))].slice(0, MOST_STRIPES);
}

function threadLabel(run, access) {
  if (!access) return "";
  if (access.others.length) return `×${access.others.length + 1}`;
  return String(withinBlock(run, access.thread));
}

function valueLabel(access, value) {
  if (value === undefined && !access) return "";
  return valueText(value);
}

function fillMark(draw, box, kind, colours, theme) {
  draw.save();
  if (kind === "atomic") octagon(draw, box);
  else rounded(draw, box);
  draw.clip();
  colours.forEach((colour, i) => {
    draw.fillStyle = colour;
    const stripe = box.width / colours.length;
    draw.fillRect(box.x + i * stripe, box.y, stripe + 0.5, box.height);
  });
  if (kind === "read") {
    const frame = frameOf(box);
    draw.globalAlpha = 1;
    draw.fillStyle = theme.paper;
    draw.fillRect(box.x + frame, box.y + frame, box.width - 2 * frame, box.height - 2 * frame);
  }
  draw.restore();
}

/** The size of text of which `characters` fit into a cell this wide, all of the same size. */
function sizeOfText(width, height, characters) {
  return Math.min(12.5, height - 3, (width - 2) / (0.6 * characters));
}

/** Thickness of the frame that marks a read. */
function frameOf(box) {
  return Math.max(2, Math.min(4.5, box.width * 0.17));
}

function rounded(draw, box) {
  draw.beginPath();
  draw.roundRect(box.x, box.y, box.width, box.height, Math.min(3, box.width / 5));
}

function octagon(draw, box) {
  const cut = Math.min(box.width, box.height) * 0.29;
  const right = box.x + box.width, bottom = box.y + box.height;
  draw.beginPath();
  draw.moveTo(box.x + cut, box.y);
  for (const [x, y] of [
    [right - cut, box.y], [right, box.y + cut], [right, bottom - cut], [right - cut, bottom],
    [box.x + cut, bottom], [box.x, bottom - cut], [box.x, box.y + cut],
  ]) draw.lineTo(x, y);
  draw.closePath();
}

/** A line around a cell. outwards: how far outside of it. */
function ring(draw, box, colour, width, outwards = 0.5) {
  draw.strokeStyle = colour;
  draw.lineWidth = width;
  const wider = { x: box.x - outwards, y: box.y - outwards, width: box.width + 2 * outwards,
    height: box.height + 2 * outwards };
  rounded(draw, wider);
  draw.stroke();
}
