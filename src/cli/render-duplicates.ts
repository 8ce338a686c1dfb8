import type { Duplicate, DuplicatesView } from '../control/duplicates.ts';
import { renderTime, WIDTH, wrap } from './table.ts';

const INDENT = '  ';

/** The list of duplicates of each target: whose contact lacks what, and the pages of both. */
export function renderDuplicates({ tenant, asOf, targets }: DuplicatesView): string {
  const lists = targets.flatMap(({ target, connector, duplicates }) => [
    '',
    `${target} (${connector}): ${duplicates.length === 0 ? 'none' : duplicates.length}`,
    ...duplicates.flatMap(linesOf),
  ]);
  return [`Duplicates of ${tenant} as of ${renderTime(asOf)}`, ...lists].join('\n');
}

function linesOf({ record, property, page, isHeldByOurs, heldBy, heldOn }: Duplicate): string[] {
  const relative = heldBy === null ? 'another contact of ours' : `the contact of ${heldBy}`;
  const who = isHeldByOurs ? relative : 'a contact that somebody else made, most likely of the same person';
  return [
    wrap(`${record} lacks ${property}, which is with ${who}`, WIDTH, INDENT),
    // Addresses are not broken: they are to be opened.
    ...[page, heldOn].flatMap((one) => (one === null ? [] : [`${INDENT}${INDENT}${one}`])),
  ];
}
