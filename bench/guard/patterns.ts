import { HOUR_MS, type Instant, MINUTE_MS } from '../../src/core/model/time.ts';

/** Which of a target's records are absent at a time, as a clinic that loses them would answer. */
export type Loss = (now: Instant) => (recordId: string) => boolean;

/** Starts a loss. Record ids are `0` to `size - 1`; `random` returns 0 to below 1. */
type Pattern = (size: number, startAt: Instant, random: () => number) => Loss;

/** The daemon's default interval between reads of a clinic. */
export const CYCLE_MS = 5 * MINUTE_MS;

/** Losses by name. */
export const PATTERNS: Readonly<Record<string, Pattern>> = {
  'all at once': () => () => () => true,
  '5 % a cycle': shrinking(0.05),
  '15 % a cycle': shrinking(0.15),
  '30 % a cycle': shrinking(0.3),
  'one an hour': (_size, startAt) => (now) => (recordId) =>
    Number(recordId) < Math.floor((now - startAt) / HOUR_MS) + 1,
  // Each cycle others, which are back with the next; a row that is missed twice by chance is removed.
  '5 % by chance': (_size, _startAt, random) => {
    const absent = new Map<string, boolean>();
    let at = 0;
    return (now) => {
      if (now !== at) absent.clear();
      at = now;
      return (recordId) => {
        const known = absent.get(recordId) ?? random() < 0.05;
        absent.set(recordId, known);
        return known;
      };
    };
  },
};

/** Each cycle permanently loses a share of the remaining records. */
function shrinking(share: number): Pattern {
  return (size, startAt) => (now) => {
    const cycles = Math.floor((now - startAt) / CYCLE_MS) + 1;
    const left = Math.floor(size * (1 - share) ** cycles);
    return (recordId) => Number(recordId) >= left;
  };
}
