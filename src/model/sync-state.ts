import { message, render } from '../messages/message.ts';
import type { Instant } from './time.ts';

/** What the count `links` of a target is, in metrics and answers. */
export const LINKS_COUNT = { description: 'Objects that the target is known to hold' };

/**
 * Whether a target shows what the clinic shows: `behind` while changes are pending, as during the first sync; `on-hold` while changes wait
 * for an approval; `unknown` while the daemon cannot compare everything.
 */
export type SyncStatus = 'in-sync' | 'behind' | 'on-hold' | 'unknown';

/** Who must act: no one, the daemon, which retries, or an administrator. */
export type Health = 'ok' | 'retrying' | 'action-required';

/** The two scales of a state, the same on every surface. */
export interface SyncHealth {
  sync: SyncStatus;
  health: Health;
}

/** How far the first sync is. */
export interface FirstSync {
  /** Objects that stand in the target. */
  written: number;
  /** All that are to stand there; null while the clinic is being read for the first time. */
  of: number | null;
}

/** Where a target, or all of a clinic's together, stand. */
export interface SyncState extends SyncHealth {
  /**
   * It showed what the clinic showed at this time, as far as is known; null before the first time. It stands still while changes
   * by hand are known that the policy does not accept.
   */
  inSyncAsOf: Instant | null;
  /** Progress of the first sync; null if it is complete, or if changes are on hold. */
  firstSync: FirstSync | null;
  pending: number;
  failing: number;
  held: number;
}

const CODES = {
  'in-sync': 'sync-health.in-sync',
  behind: 'sync-health.behind',
  'on-hold': 'sync-health.on-hold',
  unknown: 'sync-health.unknown',
  ok: 'sync-health.ok',
  retrying: 'sync-health.retrying',
  'action-required': 'sync-health.action-required',
} as const satisfies Record<SyncStatus | Health, string>;

function wordsIn(language: 'en' | 'it') {
  return Object.fromEntries(Object.entries(CODES).map(([value, code]) => [value, render(message(code), language)]));
}

/** The words for both scales on every surface. */
export const SYNC_HEALTH_WORDS = { en: wordsIn('en'), it: wordsIn('it') } as Readonly<
  Record<'en' | 'it', Readonly<Record<SyncStatus | Health, string>>>
>;

/** Renders the sync status, with the progress of a first sync. */
export function syncWords({ sync, firstSync }: Pick<SyncState, 'sync' | 'firstSync'>, language: 'en' | 'it'): string {
  if (firstSync?.of == null) return SYNC_HEALTH_WORDS[language][sync];
  return render(message('first-sync.written', { written: firstSync.written, of: firstSync.of }), language);
}

/** Worst first. */
const WORST_STEP: readonly SyncStatus[] = ['on-hold', 'unknown', 'behind', 'in-sync'];
const WORST_ABLE: readonly Health[] = ['action-required', 'retrying', 'ok'];

/** Summarises targets by the worst of them. Without targets the sync status is `unknown`. */
export function worstOf(targets: readonly SyncState[]): SyncState {
  const sum = (count: 'pending' | 'failing' | 'held') => targets.reduce((total, each) => total + each[count], 0);
  const times = targets.map(({ inSyncAsOf }) => inSyncAsOf);
  const sync = WORST_STEP.find((each) => targets.some((target) => target.sync === each)) ?? 'unknown';
  return {
    sync,
    firstSync: sync === 'behind' ? together(targets) : null,
    health: WORST_ABLE.find((each) => targets.some(({ health }) => health === each)) ?? 'ok',
    inSyncAsOf: times.length === 0 ? null : times.reduce(earlier),
    ...{ pending: sum('pending'), failing: sum('failing'), held: sum('held') },
  };
}

/** Sums the progress of first syncs. The total is known when it is known for every target. */
function together(targets: readonly SyncState[]): FirstSync | null {
  const all = targets.flatMap(({ firstSync }) => firstSync ?? []);
  if (all.length === 0) return null;
  const of = all.some((each) => each.of === null) ? null : all.reduce((total, each) => total + (each.of ?? 0), 0);
  return { written: all.reduce((total, { written }) => total + written, 0), of };
}

/** Null where one of them is: it never was. */
function earlier(one: Instant | null, other: Instant | null): Instant | null {
  return one === null || other === null ? null : Math.min(one, other);
}
