import { message, render } from '../messages/message.ts';
import type { Instant } from './time.ts';

/** What the count `links` of a target is, in metrics and answers. */
export const LINKS_COUNT = { description: 'Objects that the target is known to hold' };

/**
 * Whether a target shows what the clinic shows: `first-sync` until all was written once, `behind` while changes wait for their turn, `unknown`
 * while not all can be told.
 */
export type InStep = 'in-sync' | 'first-sync' | 'behind' | 'held' | 'unknown';

/** Whether work for a target goes on, and else on whom it waits. */
export type CanGoOn = 'yes' | 'waits-for-vendor' | 'waits-for-person';

/** The two axes of a state. */
export interface Axes {
  inStep: InStep;
  canGoOn: CanGoOn;
}

/** How far the first sync is. */
export interface FirstSync {
  /** Objects that stand in the target. */
  written: number;
  /** All that are to stand there; null while the clinic is being read for the first time. */
  of: number | null;
}

/** Where a target, or all of a clinic's together, stand. */
export interface SyncState extends Axes {
  /**
   * It showed what the clinic showed at this time, as far as is known; null before the first time. It stands still while changes
   * by hand are known that the policy does not accept.
   */
  inSyncAsOf: Instant | null;
  /** With `first-sync` how far it is, else null. */
  firstSync: FirstSync | null;
  pending: number;
  failing: number;
  held: number;
}

/** What people are told of the two axes, in one word or few, on every surface. */
export const AXES_WORDS: Readonly<Record<'en' | 'it', Readonly<Record<InStep | CanGoOn, string>>>> = {
  en: {
    'in-sync': 'in sync',
    'first-sync': 'first sync',
    behind: 'behind',
    held: 'held',
    unknown: 'unknown',
    yes: 'runs',
    'waits-for-vendor': 'waits by itself',
    'waits-for-person': 'waits for you',
  },
  it: {
    'in-sync': 'sincronizzato',
    'first-sync': 'prima sincronizzazione',
    behind: 'in ritardo',
    held: 'sospeso',
    unknown: 'non noto',
    yes: 'procede',
    'waits-for-vendor': 'attende da sé',
    'waits-for-person': 'attende una persona',
  },
};

/** The first axis in words: of a first sync with how far it is. */
export function inStepWords(
  { inStep, firstSync }: Pick<SyncState, 'inStep' | 'firstSync'>,
  language: 'en' | 'it',
): string {
  if (inStep !== 'first-sync' || firstSync?.of == null) return AXES_WORDS[language][inStep];
  return render(message('first-sync.written', { written: firstSync.written, of: firstSync.of }), language);
}

/** Worst first. */
const WORST_STEP: readonly InStep[] = ['held', 'unknown', 'first-sync', 'behind', 'in-sync'];
const WORST_ABLE: readonly CanGoOn[] = ['waits-for-person', 'waits-for-vendor', 'yes'];

/** Targets taken together: as the worst of them has it. Where there is none nothing is known to be in step, and nothing waits. */
export function worstOf(targets: readonly SyncState[]): SyncState {
  const sum = (count: 'pending' | 'failing' | 'held') => targets.reduce((total, each) => total + each[count], 0);
  const times = targets.map(({ inSyncAsOf }) => inSyncAsOf);
  const inStep = WORST_STEP.find((each) => targets.some((target) => target.inStep === each)) ?? 'unknown';
  return {
    inStep,
    firstSync: inStep === 'first-sync' ? together(targets) : null,
    canGoOn: WORST_ABLE.find((each) => targets.some(({ canGoOn }) => canGoOn === each)) ?? 'yes',
    inSyncAsOf: times.length === 0 ? null : times.reduce(earlier),
    ...{ pending: sum('pending'), failing: sum('failing'), held: sum('held') },
  };
}

/** Of how many there are to be is known once it is known of all. */
function together(targets: readonly SyncState[]): FirstSync {
  const all = targets.flatMap(({ firstSync }) => firstSync ?? []);
  const of = all.some((each) => each.of === null) ? null : all.reduce((total, each) => total + (each.of ?? 0), 0);
  return { written: all.reduce((total, { written }) => total + written, 0), of };
}

/** Null where one of them is: it never was. */
function earlier(one: Instant | null, other: Instant | null): Instant | null {
  return one === null || other === null ? null : Math.min(one, other);
}
