import type { PlannedChange } from '../model/plan.ts';

/** How a reading stands to what targets hold: ids of records. */
export interface ReadingFacts {
  /** Records of the targets that the reading should show. */
  known: ReadonlySet<string>;
  /** Those of them that it does not show. */
  unlisted: ReadonlySet<string>;
  /** Records that the targets have nothing of. */
  added: ReadonlySet<string>;
  /** Known records that it shows and that would be written with another time or other essentials, or are no longer the target's. */
  rewritten: ReadonlySet<string>;
}

/** Nearly everything. */
const SHARE = 0.75;
/** Below so many records a day's work may replace all of them. */
const IDS_FROM = 5;
const CONTENTS_FROM = 10;

/** Whether the reading is another tenant's, as it seems: either of the two below. */
export function replacesNearlyAll(facts: ReadingFacts): boolean {
  return replacesIds(facts) || replacesContents(facts);
}

/** What the targets of a tenant hold together: calendars too small for a verdict of their own have one in common. */
export function together(all: readonly ReadingFacts[]): ReadingFacts {
  const union = (name: keyof ReadingFacts) => new Set(all.flatMap((facts) => [...facts[name]]));
  return { known: union('known'), unlisted: union('unlisted'), added: union('added'), rewritten: union('rewritten') };
}

/** Whether known ids are gone while others came in their place, as with the rows of another tenant. */
function replacesIds(facts: ReadingFacts): boolean {
  const [known, unlisted, added] = [facts.known.size, facts.unlisted.size, facts.added.size];
  const shown = known - unlisted;
  const isOther = unlisted >= known * SHARE && added >= (added + shown) * SHARE;
  return unlisted >= IDS_FROM && added >= IDS_FROM && isOther;
}

/** Whether the records that the target knows are other ones, under the same ids. */
function replacesContents({ known, unlisted, rewritten }: ReadingFacts): boolean {
  return rewritten.size >= CONTENTS_FROM && rewritten.size >= (known.size - unlisted.size) * SHARE;
}

/**
 * Whether a change makes another thing of a record, beyond its texts: catalogues are renamed, and all texts change at once.
 * @param essentials names of the fields that tell it; null: any does
 */
export function rewrites({ reason, fields }: PlannedChange, essentials: readonly string[] | null): boolean {
  if (reason === 'excluded') return true;
  return reason === 'content-changed' && (essentials === null || essentials.some((name) => fields.includes(name)));
}
