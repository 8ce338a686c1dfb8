import fc from 'fast-check';
import { expect } from 'vitest';
import { NO_CHANGES, type RunReport } from '../../../src/domain/runs.ts';
import { PLAIN_COLUMNS } from '../../../src/operator/cli/output.ts';
import type { ConnectionStatus, TargetStatus } from '../../../src/operator/control/status-schemas.ts';
import { NOW } from '../../domain/arbitraries.ts';

/** Ids of the configuration, and ids and words that come from the clinic: whatever they are. */
export const names = fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,40}$/);

export const foreign = fc.oneof(fc.uuid(), fc.string({ maxLength: 150, unit: 'binary-ascii' }));
export const texts = fc.lorem({ maxCount: 25 });
export const counts = fc.nat(9_999_999);
export const times = fc.option(fc.integer({ min: 0, max: NOW }));
export const errorTexts = fc.record({ message: texts, remedy: fc.option(texts) });

const failures = fc.option(
  fc.record({
    code: names,
    actor: fc.constant('settings' as const),
    message: texts,
    remedy: fc.option(texts),
    texts: errorTexts,
    sinceAt: fc.nat(NOW),
  }),
);

const drifts = fc.option(
  fc.record({
    checkedAt: fc.nat(NOW),
    checked: counts,
    edited: counts,
    removed: counts,
    unlinked: counts,
    fields: fc.constant({ title: 3, unknown: 1 }),
    churning: counts,
    churningFields: fc.constant<string[]>(['title', 'unknown']),
  }),
);

const gaps = fc.array(
  fc.record({
    code: fc.constantFrom(
      'records-unreadable',
      'records-unlisted',
      'values-unused',
      'agenda-unknown',
      'treatment-unknown',
      'agenda-unconfirmed',
      'treatment-unconfirmed',
    ),
    count: counts,
    what: fc.array(names, { maxLength: 5 }),
    soon: fc.array(names, { maxLength: 5 }),
  }),
  { maxLength: 2 },
);

export const firstSyncs = fc.option(fc.record({ written: fc.nat(9999), of: fc.option(fc.nat(9999)) }));

export const targets: fc.Arbitrary<TargetStatus> = fc.record({
  target: names,
  connector: names,
  connection: names,
  firstSync: firstSyncs,
  sync: fc.constantFrom('in-sync', 'behind', 'on-hold', 'unknown'),
  health: fc.constantFrom('ok', 'retrying', 'action-required'),
  reason: fc.option(
    fc.constantFrom(
      'paused',
      'error',
      'backing-off',
      'on-hold',
      'writes-failed',
      'manual-changes',
      'incomplete-data',
      'first-sync',
      'writing',
      'next-cycle',
      'read-failed',
    ),
  ),
  inSyncAsOf: times,
  checkedAt: times,
  lastWrittenAt: times,
  soonAsOf: times,
  gaps,
  exceptGapsAsOf: times,
  links: counts,
  pending: counts,
  pausedErasures: counts,
  failing: counts,
  held: counts,
  heldSinceAt: times,
  heldRestorations: fc.option(
    fc.record({ count: counts, limit: fc.record({ share: fc.constantFrom(0, 0.2, 1), count: counts }) }),
  ),
  oldestPendingAt: times,
  unconfirmed: fc.nat(20),
  failure: failures,
  outage: fc.option(names),
  calendarReplacedAt: times,
  nextTryAt: times,
  policy: fc.constantFrom('repair', 'keep', 'report'),
  drift: drifts,
  isDriftUnrepaired: fc.boolean(),
  notifications: fc.record({ sinceAt: times, untilAt: times, reason: fc.option(names) }),
  created: counts,
  updated: counts,
  deleted: counts,
  adopted: counts,
  ambiguous: counts,
  dropsMarks: fc.boolean(),
});

export const connections: fc.Arbitrary<ConnectionStatus> = fc.record({
  connection: names,
  kind: names,
  state: fc.constantFrom('connected', 'retrying', 'unconfirmed', 'needs-login', 'never', 'static'),
  reason: fc.option(names),
  account: fc.option(fc.emailAddress()),
  sinceAt: times,
  nextTryAt: times,
  pause: fc.option(
    fc.record({
      code: fc.constantFrom('rate-limited', 'client-rate-limited'),
      sinceAt: fc.nat(NOW),
      untilAt: fc.nat(2 * NOW),
    }),
  ),
  accessExpiresAt: times,
  refreshExpiresAt: times,
  isEndFixed: fc.boolean(),
  obtainedAt: times,
  usedAt: times,
  missingScopes: fc.array(fc.webUrl({ size: 'small' }), { maxLength: 5 }),
});

export const runs: fc.Arbitrary<RunReport> = fc.record({
  id: names,
  gaps: fc.dictionary(names, gaps, { maxKeys: 2 }),
  startedAt: fc.nat(NOW),
  finishedAt: fc.nat(NOW),
  snapshot: fc.option(
    fc.record(
      {
        completeness: fc.constantFrom('complete', 'partial'),
        reason: fc.option(names),
        records: counts,
        requests: counts,
        repeated: counts,
      },
      { requiredKeys: ['completeness', 'reason', 'records', 'requests'] },
    ),
  ),
  soon: fc.option(fc.record({ records: counts, requests: counts })),
  hourly: fc.constant(NO_CHANGES),
  pace: fc.record({ soonPerWhole: counts, soonSince: counts, late: counts, inTime: counts, isPlain: fc.boolean() }),
  unusable: fc.dictionary(names, counts, { maxKeys: 8 }),
  unusableExamples: fc.constant([]),
  unknownStatuses: fc.array(foreign, { maxLength: 20 }),
  withheld: fc.array(
    fc.record({
      part: fc.constantFrom('agendas', 'locations', 'treatments', 'patients', 'invoices', 'history'),
      code: names,
      remedy: fc.option(texts),
    }),
    { maxLength: 4 },
  ),
  clinic: fc.option(fc.record({ tenantId: foreign, catalogue: names })),
  read: fc.constant({}),
  crmPlanner: fc.constant(null),
  awaiting: fc.constant([]),
  targets: fc.constant([]),
  error: fc.option(
    fc.record({
      code: names,
      actor: fc.constant('remote' as const),
      message: texts,
      remedy: fc.option(texts),
      texts: errorTexts,
    }),
  ),
});

/** One view, always the same. */
export function oneOf<View>(views: fc.Arbitrary<View>): View {
  return fc.sample(views, { seed: 24, numRuns: 1 })[0]!;
}

/** A text without its line breaks. */
export function flat(text: string): string {
  return text.replaceAll(/\s+/g, ' ');
}

/** An answer is at most a hundred columns wide and commands the terminal nothing. */
export function expectTidy(text: string): void {
  for (const line of text.split('\n')) expect(line.length, line).toBeLessThanOrEqual(PLAIN_COLUMNS);
  // Neither colours nor anything else that a terminal would obey.
  expect(text.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
}
