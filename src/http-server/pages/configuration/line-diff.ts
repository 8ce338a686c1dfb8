/** A line of two texts: of both, of the earlier alone, or of the later alone. */
export interface DiffLine {
  kind: 'same' | 'removed' | 'added';
  text: string;
}

/** Lines that are compared each with each; of more it is told that all of them are others. */
const MOST_COMPARED = 2_000;

/** The lines of two texts in their order, as few of them changed as can be. */
export function diffLines(earlier: string, later: string): DiffLine[] {
  const [before, after] = [linesOf(earlier), linesOf(later)];
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  const most = Math.min(before.length, after.length) - start;
  while (end < most && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  const same = (lines: readonly string[]) => lines.map((text): DiffLine => ({ kind: 'same', text }));
  const [gone, come] = [before.slice(start, before.length - end), after.slice(start, after.length - end)];
  return [...same(before.slice(0, start)), ...between(gone, come), ...same(before.slice(before.length - end))];
}

function linesOf(text: string): string[] {
  return text.replace(/\n$/, '').split('\n');
}

/** By the longest common subsequence: `lengths` holds that of what is left from each pair of lines on. */
function between(gone: readonly string[], come: readonly string[]): DiffLine[] {
  const removed = (text: string): DiffLine => ({ kind: 'removed', text });
  const added = (text: string): DiffLine => ({ kind: 'added', text });
  if (gone.length > MOST_COMPARED || come.length > MOST_COMPARED) return [...gone.map(removed), ...come.map(added)];
  const width = come.length + 1;
  const lengths = new Uint16Array((gone.length + 1) * width);
  const lengthAt = (row: number, column: number) => lengths[row * width + column] ?? 0;
  for (let row = gone.length - 1; row >= 0; row -= 1) {
    for (let column = come.length - 1; column >= 0; column -= 1) {
      lengths[row * width + column] =
        gone[row] === come[column]
          ? lengthAt(row + 1, column + 1) + 1
          : Math.max(lengthAt(row + 1, column), lengthAt(row, column + 1));
    }
  }
  const lines: DiffLine[] = [];
  let [row, column] = [0, 0];
  while (row < gone.length && column < come.length) {
    const [one = '', other = ''] = [gone[row], come[column]];
    if (one === other) {
      lines.push({ kind: 'same', text: one });
      row += 1;
      column += 1;
    } else if (lengthAt(row + 1, column) >= lengthAt(row, column + 1)) {
      lines.push(removed(one));
      row += 1;
    } else {
      lines.push(added(other));
      column += 1;
    }
  }
  return [...lines, ...gone.slice(row).map(removed), ...come.slice(column).map(added)];
}
