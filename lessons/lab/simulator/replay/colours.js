"use strict";
// Colours that are told apart with every common kind of colour blindness, by Okabe and Ito.

const PALETTE = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00"];
// For an order of many threads: cividis, which only goes from dark blue to yellow.
const RAMP = [
  [0, 34, 78],
  [65, 77, 107],
  [124, 123, 120],
  [187, 173, 108],
  [254, 232, 56],
];

/** The colour of a thread. by: "block", "warp" or "thread". */
function colourOf(run, by, thread) {
  if (by === "block") return PALETTE[blockOf(run, thread) % PALETTE.length];
  if (by === "warp") {
    const warp = Math.floor(withinBlock(run, thread) / WARP);
    return PALETTE[warp % PALETTE.length];
  }
  const within = withinBlock(run, thread);
  if (run.threadsPerBlock <= PALETTE.length) return PALETTE[within % PALETTE.length];
  return rampColour(within / Math.max(1, run.threadsPerBlock - 1));
}

/** A colour of the ramp. part: from 0 to 1. */
function rampColour(part) {
  const place = Math.min(1, Math.max(0, part)) * (RAMP.length - 1);
  const left = Math.min(RAMP.length - 2, Math.floor(place));
  const channels = RAMP[left].map((from, i) => {
    const value = from + (RAMP[left + 1][i] - from) * (place - left);
    return Math.round(value).toString(16).padStart(2, "0");
  });
  return `#${channels.join("")}`;
}

/** Black or white, whichever can be read on a colour. */
function readableOn(colour) {
  const [red, green, blue] = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
  return 0.299 * red + 0.587 * green + 0.114 * blue > 120 ? "#16191d" : "#ffffff";
}

/** By what threads are told apart when the page opens. */
function usualColouring(run) {
  if (run.blocks.length > 1) return "block";
  return run.threadsPerBlock > WARP ? "warp" : "thread";
}

/** The page's colours, as the style sheet has them in the present theme. */
function themeColours() {
  const style = getComputedStyle(document.documentElement);
  const colours = {};
  for (const name of ["paper", "ink", "muted", "pale", "line", "wrong", "accent"]) {
    colours[name] = style.getPropertyValue(`--${name}`).trim();
  }
  return colours;
}
