import type { PlannedChange } from '../model/plan.ts';

/** How a reading stands to what targets hold. */
export interface ReadingFacts {
  /** Records of the targets that the reading should show. */
  known: number;
  /** Those of them that it does not show. */
  unlisted: number;
  /** Records that the targets have nothing of. */
  added: number;
  /** Known records that it shows and that would be written with another time or other essentials, or are no longer the target's. */
  rewritten: number;
}

/** The same by ids of records, so that one that several targets hold counts once. */
export type ReadingRecords = Readonly<Record<keyof ReadingFacts, ReadonlySet<string>>>;

/** Nearly everything. */
const SHARE = 0.75;
/** Below so many records a day's work may replace all of them. */
const IDS_FROM = 5;
const CONTENTS_FROM = 10;

/**
 * Whether the reading is another tenant's, as it seems: by ids or by contents.
 * @param all of one target, or of all targets of a tenant: calendars too small for a verdict of their own have one in common
 */
export function replacesNearlyAll(all: readonly ReadingRecords[]): boolean {
  const count = (name: keyof ReadingFacts) => new Set(all.flatMap((records) => [...records[name]])).size;
  const facts = {
    known: count('known'),
    unlisted: count('unlisted'),
    added: count('added'),
    rewritten: count('rewritten'),
  };
  return replacesIds(facts) || replacesContents(facts);
}

/** Whether known ids are gone while others came in their place, as with the rows of another tenant. */
export function replacesIds({ known, unlisted, added }: ReadingFacts): boolean {
  const shown = known - unlisted;
  const isOther = unlisted >= known * SHARE && added >= (added + shown) * SHARE;
  return unlisted >= IDS_FROM && added >= IDS_FROM && isOther;
}

/** Whether the records that the target knows are other ones, under the same ids. */
export function replacesContents({ known, unlisted, rewritten }: ReadingFacts): boolean {
  return rewritten >= CONTENTS_FROM && rewritten >= (known - unlisted) * SHARE;
}

/**
 * Whether a change makes another thing of a record, beyond its texts: catalogues are renamed, and all texts change at once.
 * @param essentials names of the fields that tell it; null: any does
 */
export function rewrites({ reason, fields }: PlannedChange, essentials: readonly string[] | null): boolean {
  if (reason === 'excluded') return true;
  return reason === 'content-changed' && (essentials === null || essentials.some((name) => fields.includes(name)));
}
