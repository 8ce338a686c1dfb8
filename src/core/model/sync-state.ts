import { message, render } from '../../messages/message.ts';
import type { FirstSync, Health, SyncState, SyncStatus } from './schemas.ts';
import type { Instant } from './time.ts';

/** Description of `links`, the count of a target, for metrics and answers. */
export const LINKS_COUNT = { description: 'Objects that the target is known to hold' };

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

/** The words for both scales on every interface. */
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

/** Returns the worse of two healths. */
export function worseHealth(one: Health, other: Health): Health {
  return WORST_ABLE.find((each) => each === one || each === other) ?? 'ok';
}

/** Summarises targets by the worst of them. Without targets the sync status is `unknown`. */
export function worstOf(targets: readonly SyncState[]): SyncState {
  const sum = (count: 'pending' | 'failing' | 'held') => targets.reduce((total, each) => total + each[count], 0);
  const times = targets.map(({ inSyncAsOf }) => inSyncAsOf);
  const sync = WORST_STEP.find((each) => targets.some((target) => target.sync === each)) ?? 'unknown';
  return {
    sync,
    firstSync: sync === 'behind' ? together(targets) : null,
    health: targets.map(({ health }) => health).reduce(worseHealth, 'ok'),
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

/** Null if one value is null, because that target never matched. */
function earlier(one: Instant | null, other: Instant | null): Instant | null {
  return one === null || other === null ? null : Math.min(one, other);
}
