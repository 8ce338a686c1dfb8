import type { Outcome } from './run.ts';

/** A table of at most 100 columns: a line for each parser, and one for each finding. */
export function renderOutcomes(outcomes: readonly Outcome[]): string {
  const head = ['parser', 'inputs', 'refused', 'crashes', 'hangs', 'too large', 'slowest ms', 'most MB'];
  const lines = outcomes.map(({ parser, inputs, refused, findings, slowestMs, mostBytes }) => [
    parser,
    ...[inputs, refused].map(String),
    ...(['crash', 'hang', 'memory'] as const).map((kind) => String(findings.filter((one) => one.kind === kind).length)),
    slowestMs.toFixed(1),
    (mostBytes / 1e6).toFixed(1),
  ]);
  const widths = head.map((_, column) => Math.max(...[head, ...lines].map((cells) => cells[column]?.length ?? 0)));
  return [head, ...lines]
    .map((cells) =>
      cells
        .map((cell, column) => pad(cell, widths[column] ?? 0, column))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function pad(cell: string, width: number, column: number): string {
  return column === 0 ? cell.padEnd(width) : cell.padStart(width);
}
