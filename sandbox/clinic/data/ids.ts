/** Prefixes tell at a glance what an id names; clients must still treat ids as opaque. */
export type IdPrefix =
  | 'tnt'
  | 'loc'
  | 'agd'
  | 'doc'
  | 'trt'
  | 'pat'
  | 'apt'
  | 'prl'
  | 'epi'
  | 'prc'
  | 'rep'
  | 'inv'
  | 'itm'
  | 'sec'
  | 'iss'
  | 'rmb';

/** Numeric ids begin here, so that all have seven digits and sort as texts like numbers. */
const FIRST_NUMBER = 1_000_001;

/** Gives out ids that no two tenants of one sandbox share, so that another tenant's id is simply unknown. */
export interface Ids {
  next(prefix: IdPrefix): string;
}

/** `numeric` gives ids of digits only, for a clinic system that uses numbers. */
export function createIds(numeric = false): Ids {
  const last = new Map<IdPrefix, number>();
  let lastNumber = FIRST_NUMBER - 1;

  function next(prefix: IdPrefix): string {
    if (numeric) return String(++lastNumber);
    const number = (last.get(prefix) ?? 0) + 1;
    last.set(prefix, number);
    return `${prefix}${number.toString(36).padStart(7, '0')}`;
  }
  return { next };
}
