import { firstTelephone } from '../../model/telephones.ts';

/**
 * The number of a telephone field in E.164 (`+390612345678`): the first mobile one of several, else the first.
 * @param region ISO 3166 country of numbers without an international prefix
 * @returns null where there is none, or one with an extension alone, which E.164 would lose
 */
export function toE164(written: string, region: string): string | null {
  return firstTelephone(written, region)?.number ?? null;
}

/** Numbers that are remembered; those of 50,000 patients, who may have two each, come again with every cycle. Some 15 MB. */
const REMEMBERED = 120_000;

/** {@link toE164} for one region, remembering what it was asked: reading a number takes a fifth of a millisecond. */
export function phoneReader(region: string): (written: string) => string | null {
  const cached = new Map<string, string | null>();
  return (written) => {
    const remembered = cached.get(written);
    if (remembered !== undefined) return remembered;
    const number = toE164(written, region);
    if (cached.size >= REMEMBERED) cached.clear();
    cached.set(written, number);
    return number;
  };
}
