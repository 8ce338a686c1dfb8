import type { Instant } from './time.ts';

/** Whether a target shows what the clinic shows: `behind` while changes wait for their turn, `unknown` while not all can be told. */
export type InStep = 'in-sync' | 'behind' | 'held' | 'unknown';

/** Whether work for a target goes on, and else on whom it waits. */
export type CanGoOn = 'yes' | 'waits-for-vendor' | 'waits-for-person';

/** The two axes of a state. */
export interface Axes {
  inStep: InStep;
  canGoOn: CanGoOn;
}

/** Where a target, or all of a clinic's together, stand. */
export interface Standing extends Axes {
  /**
   * It showed what the clinic showed at this time, as far as is known; null before the first time. It stands still while changes
   * by hand are known that the policy does not accept.
   */
  inSyncAsOf: Instant | null;
  pending: number;
  failing: number;
  held: number;
}

/** What people are told of the two axes, in one word or few, on every surface. */
export const AXES_WORDS: Readonly<Record<'en' | 'it', Readonly<Record<InStep | CanGoOn, string>>>> = {
  en: {
    'in-sync': 'in sync',
    behind: 'behind',
    held: 'held',
    unknown: 'unknown',
    yes: 'runs',
    'waits-for-vendor': 'waits by itself',
    'waits-for-person': 'waits for you',
  },
  it: {
    'in-sync': 'sincronizzato',
    behind: 'in ritardo',
    held: 'sospeso',
    unknown: 'non noto',
    yes: 'procede',
    'waits-for-vendor': 'attende da sé',
    'waits-for-person': 'attende una persona',
  },
};

/** Worst first. */
const WORST_STEP: readonly InStep[] = ['held', 'unknown', 'behind', 'in-sync'];
const WORST_ABLE: readonly CanGoOn[] = ['waits-for-person', 'waits-for-vendor', 'yes'];

/** Targets taken together: as the worst of them has it. Where there is none nothing is known to be in step, and nothing waits. */
export function worstOf(targets: readonly Standing[]): Standing {
  const sum = (count: 'pending' | 'failing' | 'held') => targets.reduce((total, each) => total + each[count], 0);
  const times = targets.map(({ inSyncAsOf }) => inSyncAsOf);
  return {
    inStep: WORST_STEP.find((each) => targets.some(({ inStep }) => inStep === each)) ?? 'unknown',
    canGoOn: WORST_ABLE.find((each) => targets.some(({ canGoOn }) => canGoOn === each)) ?? 'yes',
    inSyncAsOf: times.length === 0 ? null : times.reduce(earlier),
    ...{ pending: sum('pending'), failing: sum('failing'), held: sum('held') },
  };
}

/** Null where one of them is: it never was. */
function earlier(one: Instant | null, other: Instant | null): Instant | null {
  return one === null || other === null ? null : Math.min(one, other);
}
