import type { Duplicate, DuplicatesView } from '../features/match/duplicates.ts';
import { firstRows } from './paper.ts';
import { renderTime, wrap } from './table.ts';

/** Duplicates of a target that are shown unless told. */
const SHOWN_DUPLICATES = 100;
const INDENT = '  ';

/** The list of duplicates of each target: whose contact is there twice or lacks what, and the pages of both. */
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

function linesOf(duplicate: Duplicate): string[] {
  const { page, heldOn } = duplicate;
  return [
    wrap(`${duplicate.record} ${whyOf(duplicate)}`, INDENT),
    // Addresses are not broken: they are to be opened.
    ...[page, heldOn].flatMap((one) => (one === null ? [] : [`${INDENT}${INDENT}${one}`])),
  ];
}

function whyOf({ kind, by, isHeldByOurs, heldBy }: Duplicate): string {
  const relative = heldBy === null ? 'another contact of ours' : `the contact of ${heldBy}`;
  switch (kind) {
    case 'lacks': {
      const who = isHeldByOurs ? relative : 'a contact that somebody else made, most likely of the same person';
      return `lacks ${by.join(', ')}, which is with ${who}`;
    }
    case 'copied':
      return 'was copied by a person: the copy carries our stamp, is not kept up to date, and goes with a deletion only if it carries our key';
    case 'alike':
      return `looks like a contact that somebody else made (same ${by.join(', ')})`;
  }
}
