"use strict";
// Where the elements of an array are drawn: rows and columns, and which of them.

const MOST_ROWS = 24;
const FEWER_ROWS = 12; // where an index is outside, and of local arrays
const MOST_COLUMNS = 64;
const MOST_CELLS_OF_ALL_BLOCKS = 600;
const MOST_OUTSIDE = 3; // rows or columns beyond an array that are drawn

/** How an array is laid out. wide: elements of one dimension that stand in one row. */
function matrixOf(run, array, wide) {
  const shape = array.shape;
  if (array.space === "local") {
    return { rows: run.threadsPerBlock, columns: array.instance, group: 0, lists: true };
  }
  if (shape.length === 1) {
    const columns = Math.max(1, Math.min(shape[0], wide));
    return { rows: Math.max(1, Math.ceil(shape[0] / columns)), columns, group: 0, lists: true };
  }
  const last = shape[shape.length - 1];
  // The channels of a pixel belong together.
  const merged = shape.length > 2 && last <= 4;
  const columns = merged ? last * shape[shape.length - 2] : last;
  const rows = Math.round(array.instance / Math.max(1, columns));
  return { rows, columns, group: merged ? last : 0, lists: false };
}

/** {row, column} of an element. */
function placeOf(run, array, matrix, element, thread) {
  const within = element % array.instance;
  if (array.space === "local") return { row: withinBlock(run, thread), column: within };
  return { row: Math.floor(within / matrix.columns), column: within % matrix.columns };
}

/** {row, column} of an index outside an array; null where it has no place on paper. */
function placeOutside(array, matrix, wanted) {
  const shape = array.shape;
  if (wanted.length !== shape.length || array.space === "local") return null;
  if (shape.length === 1) {
    if (wanted[0] < 0) return { row: 0, column: wanted[0] };
    return { row: Math.floor(wanted[0] / matrix.columns), column: wanted[0] % matrix.columns };
  }
  if (shape.length === 2) return { row: wanted[0], column: wanted[1] };
  if (shape.length === 3 && matrix.group) {
    return { row: wanted[0], column: wanted[1] * matrix.group + wanted[2] };
  }
  return null;
}

function rowName(run, array, matrix, row) {
  if (row < 0) return String(row);
  if (array.space === "local") return coordinates(row, run.block);
  if (matrix.lists) return String(row * matrix.columns);
  const leading = array.shape.slice(0, matrix.group ? -2 : -1);
  if (leading.length === 1) return String(row);
  const index = [];
  let rest = row;
  for (let axis = leading.length - 1; axis >= 0; axis--) {
    index.unshift(rest % leading[axis]);
    rest = Math.floor(rest / leading[axis]);
  }
  return index.join(",");
}

/** The rows and columns that any step touches, for an array of which only a part is drawn. */
function touchedPart(run, array, matrix) {
  const rows = new Set();
  const columns = new Set();
  for (const step of run.steps) {
    if (step.array !== array || !isAccess(step)) continue;
    step.elements.forEach((element, i) => {
      const place = placeOf(run, array, matrix, element, step.threads[i]);
      rows.add(place.row);
      columns.add(place.column);
    });
  }
  return { rows: sorted(rows), columns: sorted(columns) };
}

function sorted(numbers) {
  return [...numbers].sort((one, other) => one - other);
}

function range(length) {
  return Array.from({ length }, (_, i) => i);
}

/**
 * Which of `total` rows or columns to draw: all, or those that are ever touched; of too many, as
 * many as allowed around the first that matters now.
 */
function shownOf(total, touched, most, now) {
  const all = total <= most ? range(total) : touched.length ? touched : range(most);
  if (all.length <= most) return all;
  const earliest = Math.min(...now);
  const beyond = all.findIndex((number) => number >= earliest);
  const wanted = beyond < 0 ? all.length - 1 : beyond;
  // In steps of half a window, so that the picture does not move with every step.
  const begin = Math.floor(wanted / (most / 2)) * (most / 2);
  const first = Math.max(0, Math.min(begin, all.length - most));
  return all.slice(first, first + most);
}

/** With the rows or columns outside the array that a step asks for. */
function withOutside(shown, total, wanted) {
  const below = sorted(new Set(wanted.filter((number) => number < 0))).slice(-MOST_OUTSIDE);
  const above = sorted(new Set(wanted.filter((number) => number >= total))).slice(0, MOST_OUTSIDE);
  return [...below, ...shown, ...above];
}

/** The blocks whose shared or local arrays are drawn, those that matter first in line. */
function instancesShown(run, array, matrix, focus) {
  if (array.space === "global") return [0];
  if (array.space === "local") return [focus];
  const each = matrix.rows * Math.min(matrix.columns, MOST_COLUMNS);
  const most = Math.max(1, Math.floor(MOST_CELLS_OF_ALL_BLOCKS / Math.max(1, each)));
  if (run.blocks.length <= most) return run.blocks;
  const from = Math.max(0, Math.min(run.blocks.indexOf(focus), run.blocks.length - most));
  return run.blocks.slice(from, from + most);
}
