/** Prefixes tell at a glance what an id names; clients must still treat ids as opaque. */
export type IdPrefix = 'tnt' | 'loc' | 'agd' | 'doc' | 'trt' | 'pat' | 'apt';

/** Gives out ids that no two tenants of one sandbox share, so that another tenant's id is simply unknown. */
export interface Ids {
  next(prefix: IdPrefix): string;
}

export function createIds(): Ids {
  const last = new Map<IdPrefix, number>();
  function next(prefix: IdPrefix): string {
    const number = (last.get(prefix) ?? 0) + 1;
    last.set(prefix, number);
    return `${prefix}${number.toString(36).padStart(7, '0')}`;
  }
  return { next };
}
