import type { Duplicate, DuplicatesView } from '../control/duplicates.ts';
import { firstRows } from './paper.ts';
import { renderTime, wrap } from './table.ts';

/** Duplicates of a target that are shown unless told. */
const SHOWN_DUPLICATES = 100;
const INDENT = '  ';

/** The list of duplicates of each target: whose contact lacks what, and the pages of both. */
export function renderDuplicates({ tenant, asOf, targets }: DuplicatesView): string {
  const lists = targets.flatMap(({ target, connector, duplicates }) => [
    '',
    `${target} (${connector}): ${duplicates.length === 0 ? 'none' : duplicates.length}`,
    ...limited(duplicates),
  ]);
  return [`Duplicates of ${tenant} as of ${renderTime(asOf)}`, ...lists].join('\n');
}

function limited(duplicates: readonly Duplicate[]): string[] {
  const { shown, more } = firstRows(duplicates, SHOWN_DUPLICATES);
  return [...shown.flatMap(linesOf), ...more.map((line) => INDENT + line)];
}

function linesOf({ record, property, page, isHeldByOurs, heldBy, heldOn }: Duplicate): string[] {
  const relative = heldBy === null ? 'another contact of ours' : `the contact of ${heldBy}`;
  const who = isHeldByOurs ? relative : 'a contact that somebody else made, most likely of the same person';
  return [
    wrap(`${record} lacks ${property}, which is with ${who}`, INDENT),
    // Addresses are not broken: they are to be opened.
    ...[page, heldOn].flatMap((one) => (one === null ? [] : [`${INDENT}${INDENT}${one}`])),
  ];
}
