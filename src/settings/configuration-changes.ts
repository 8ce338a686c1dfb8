import type { Configuration, TenantOutline } from './configuration.ts';

/** How a configuration differs from the one before, by ids of tenants. */
export interface ConfigurationChanges {
  added: string[];
  /** What is planned for them may be another now. */
  changed: string[];
  /** The same is planned for them, and something else that they are worked on with is another: a secret, a client's budget. */
  reopened: string[];
  removed: string[];
  /** Those of `changed` that lost a target or a connection. */
  reduced: string[];
  unchanged: number;
}

/** Nothing is another. */
export const NO_CHANGES: ConfigurationChanges = {
  ...{ added: [], changed: [], reopened: [], removed: [], reduced: [] },
  unchanged: 0,
};

/** Compares two readings of a configuration. What is the same object in both was not read again. */
export function changesBetween(before: Configuration, after: Configuration): ConfigurationChanges {
  const changes: ConfigurationChanges = {
    ...{ added: [], changed: [], reopened: [], removed: [], reduced: [] },
    unchanged: 0,
  };
  const areSettingsSame = before.settings === after.settings && before.profiles === after.profiles;
  for (const [id, outline] of after.outlines) {
    const earlier = before.outlines.get(id);
    if (earlier === undefined) changes.added.push(id);
    else if (earlier.hash !== outline.hash) {
      changes.changed.push(id);
      if (isReduced(earlier, outline)) changes.reduced.push(id);
    } else if (earlier !== outline || !areSettingsSame) changes.reopened.push(id);
    else changes.unchanged += 1;
  }
  for (const id of before.outlines.keys()) if (!after.outlines.has(id)) changes.removed.push(id);
  return changes;
}

function isReduced(earlier: TenantOutline, later: TenantOutline): boolean {
  const partsOf = ({ targets, connections }: TenantOutline) => [targets.map(({ id }) => id), connections];
  const [targets = [], connections = []] = partsOf(later);
  const [targetsBefore = [], connectionsBefore = []] = partsOf(earlier);
  return targetsBefore.some((id) => !targets.includes(id)) || connectionsBefore.some((id) => !connections.includes(id));
}

/** Whether nothing that is worked with is another. */
export function isNothing({ added, changed, reopened, removed }: ConfigurationChanges): boolean {
  return added.length + changed.length + reopened.length + removed.length === 0;
}

/** The changes of two readings, one after the other. What was added and removed again is in both. */
export function joinChanges(earlier: ConfigurationChanges, later: ConfigurationChanges): ConfigurationChanges {
  const both = (of: keyof Omit<ConfigurationChanges, 'unchanged'>) => [...new Set([...earlier[of], ...later[of]])];
  return {
    added: both('added'),
    changed: both('changed'),
    reopened: both('reopened'),
    removed: both('removed'),
    reduced: both('reduced'),
    unchanged: later.unchanged,
  };
}
