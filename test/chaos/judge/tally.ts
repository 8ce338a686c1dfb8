/** Figures of one run or of many; each counts defects and should be 0. */
export interface Tally {
  duplicates: number;
  missing: number;
  wrong: number;
  unjustifiedDeletes: number;
  doubleReminders: number;
  lostTokens: number;
  leaks: number;
  falseInSync: number;
}

/** One of the figures. */
export type DefectKind = keyof Tally;

/** One defect. */
export interface Defect {
  kind: DefectKind;
  /** Where and what. */
  text: string;
}

/** No defects. */
export function noTally(): Tally {
  return {
    duplicates: 0,
    missing: 0,
    wrong: 0,
    unjustifiedDeletes: 0,
    doubleReminders: 0,
    lostTokens: 0,
    leaks: 0,
    falseInSync: 0,
  };
}

/** Counts defects by kind. */
export function tallyOf(defects: readonly Defect[]): Tally {
  const tally = noTally();
  for (const { kind } of defects) tally[kind] += 1;
  return tally;
}
