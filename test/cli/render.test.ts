import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PLAIN_COLUMNS, withOutputOptions } from '../../src/cli/output.ts';
import { printTerminal } from '../../src/cli/print-terminal.ts';
import { renderAudit } from '../../src/cli/render-audit.ts';
import { renderHolds, renderMatches, renderMatchResult } from '../../src/cli/render-decisions.ts';
import { renderHealth } from '../../src/cli/render-health.ts';
import { renderStatus } from '../../src/cli/render-status.ts';
import { renderSync } from '../../src/cli/render-sync.ts';
import type { AuditView } from '../../src/control/audit.ts';
import type { Explanation } from '../../src/control/explain.ts';
import type { HealthView } from '../../src/control/health.ts';
import type { ConnectionStatus } from '../../src/control/installation.ts';
import { problemsOf } from '../../src/control/problems.ts';
import type { Status, TargetStatus } from '../../src/control/status-view.ts';
import { explanationDocument } from '../../src/documents/explain.ts';
import { planDocument } from '../../src/documents/plan.ts';
import type { MatchResult } from '../../src/features/match/apply.ts';
import type { MatchView } from '../../src/features/match/propose.ts';
import type { FieldValue, PlanLineView, PlanView } from '../../src/model/plan-view.ts';
import { TRIGGER_EVENTS } from '../../src/settings/tenant-schema.ts';
import { NO_CHANGES, type RunReport } from '../../src/state/runs.ts';
import type { ApprovalRequest } from '../../src/state/stored-documents.ts';
import { NOW } from '../sync/arbitraries.ts';

/** Ids of the configuration, and ids and words that come from the clinic: whatever they are. */
const names = fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,40}$/);

const foreign = fc.oneof(fc.uuid(), fc.string({ maxLength: 150, unit: 'binary-ascii' }));
const texts = fc.lorem({ maxCount: 25 });
const counts = fc.nat(9_999_999);
const times = fc.option(fc.integer({ min: 0, max: NOW }));
const errorTexts = fc.record({ message: texts, remedy: fc.option(texts) });

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
    churningFields: fc.constant(['title', 'unknown']),
  }),
);

const gaps = fc.array(
  fc.record({
    code: fc.constantFrom(
      'rows-unread',
      'records-unlisted',
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

const firstSyncs = fc.option(fc.record({ written: fc.nat(9999), of: fc.option(fc.nat(9999)) }));

const targets: fc.Arbitrary<TargetStatus> = fc.record({
  target: names,
  connector: names,
  connection: names,
  firstSync: firstSyncs,
  inStep: fc.constantFrom('in-sync', 'first-sync', 'behind', 'held', 'unknown'),
  canGoOn: fc.constantFrom('yes', 'waits-for-vendor', 'waits-for-person'),
  state: fc.constantFrom(
    'paused',
    'stopped',
    'resting',
    'held',
    'failing',
    'drifted',
    'first-sync',
    'working',
    'incomplete',
    'stale',
    'in-sync',
  ),
  inSyncAsOf: times,
  soonAsOf: times,
  gaps,
  exceptGapsAsOf: times,
  links: counts,
  pending: counts,
  pausedErasures: counts,
  failing: counts,
  held: counts,
  heldSinceAt: times,
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
  forged: counts,
});

const connections: fc.Arbitrary<ConnectionStatus> = fc.record({
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

const runs: fc.Arbitrary<RunReport> = fc.record({
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

const triggerEvents = fc.constantFrom(...TRIGGER_EVENTS);

const approvals: fc.Arbitrary<ApprovalRequest> = fc.record({
  id: names,
  verb: fc.constantFrom('approve', 'forget', 'restore'),
  what: fc.dictionary(names, fc.oneof(names, counts)),
  by: fc.record({ kind: fc.constant('os-user'), name: foreign, id: names, claimed: fc.option(foreign) }),
  at: fc.nat(NOW),
  expiresAt: fc.nat(NOW),
});

const removals = fc.record({ name: names, missedAt: fc.nat(NOW), releaseAt: fc.nat(NOW) });

const endings = fc.record({
  kind: fc.constantFrom('certificate', 'secret'),
  of: names,
  beganAt: times,
  endsAt: fc.nat(2 * NOW),
});

const shares = fc.double({ min: 0, max: 2, noNaN: true });

const quotas = fc.record({
  client: names,
  hourShare: shares,
  days: fc.array(fc.record({ tenant: names, share: shares, usedUpAt: times }), { maxLength: 2 }),
});

const statuses: fc.Arbitrary<Omit<Status, 'problems'>> = fc.record({
  at: fc.constant(NOW),
  endings: fc.array(endings, { maxLength: 2 }),
  quotas: fc.array(quotas, { maxLength: 2 }),
  incidents: fc.constant([]),
  unchecked: fc.constant(0),
  unkept: fc.option(fc.record({ code: names, sentence: texts, next: fc.option(texts), texts: errorTexts })),
  state: fc.record({
    durability: fc.constantFrom('durable', 'unsupported', 'late', null),
    directory: fc.constantFrom('none', 'kept', 'failed'),
    wentBackAt: times,
    wentBackTo: times,
    writesLostAt: times,
  }),
  tenants: fc.array(
    fc.record({
      tenant: names,
      name: texts,
      paused: fc.boolean(),
      firstSync: firstSyncs,
      inStep: fc.constantFrom('in-sync', 'first-sync', 'behind', 'held', 'unknown'),
      canGoOn: fc.constantFrom('yes', 'waits-for-vendor', 'waits-for-person'),
      inSyncAsOf: times,
      pending: counts,
      failing: counts,
      held: counts,
      configuration: fc.record({ number: counts, isOurs: fc.boolean(), supersededAt: times }),
      connections: fc.array(connections, { maxLength: 3 }),
      lastRun: fc.option(runs),
      cycleEveryMs: counts,
      targets: fc.array(targets, { maxLength: 4 }),
      removed: fc.array(removals, { maxLength: 2 }),
      approvals: fc.array(approvals, { maxLength: 2 }),
      uncertainty: fc.option(
        fc.record({ code: fc.constantFrom('state-went-back', 'state-lost'), sinceAt: fc.nat(NOW) }),
      ),
      reminders: fc.option(
        fc.record({
          waiting: counts,
          wrong: fc.array(
            fc.record({
              appointmentId: names,
              channel: names,
              sinceAt: fc.nat(NOW),
              correctsAt: fc.option(fc.nat(NOW)),
              reason: fc.constantFrom(null, 'opted-out' as const),
              untilAt: fc.nat(NOW),
            }),
            { maxLength: 2 },
          ),
          closedChannels: fc.array(fc.record({ channel: names, code: names, at: fc.nat(NOW) }), { maxLength: 2 }),
          hold: fc.option(fc.record({ id: names, appointments: counts, sinceAt: fc.nat(NOW) })),
        }),
      ),
      triggers: fc.option(
        fc.record({
          waiting: counts,
          closed: fc.array(fc.record({ endpoint: names, code: names, at: fc.nat(NOW) }), { maxLength: 2 }),
          off: fc.array(
            fc.record({
              endpoint: names,
              event: triggerEvents,
              code: names,
              remedy: fc.option(texts),
              texts: errorTexts,
            }),
            {
              maxLength: 2,
            },
          ),
          refusing: fc.array(
            fc.record({ endpoint: names, code: names, remedy: fc.option(texts), texts: errorTexts, sinceAt: times }),
            {
              maxLength: 2,
            },
          ),
        }),
      ),
    }),
    { maxLength: 3 },
  ),
  unusable: fc.array(fc.record({ tenant: names, faults: counts }), { maxLength: 2 }),
  refused: fc.array(
    fc.record({
      tenant: fc.option(names),
      sinceAt: fc.nat(NOW),
      faults: fc.array(fc.record({ file: texts, line: fc.option(counts), path: names, message: texts })),
      more: counts,
    }),
    { maxLength: 2 },
  ),
  awaitsRestart: fc.array(names, { maxLength: 3 }),
  alertFailures: fc.array(fc.record({ channel: names, code: names, sinceAt: fc.nat(NOW) }), { maxLength: 2 }),
  removed: fc.array(removals, { maxLength: 2 }),
});

const values: fc.Arbitrary<FieldValue> = fc.oneof(
  fc.constantFrom<FieldValue>({ kind: 'none' }, { kind: 'withheld' }, { kind: 'unread' }),
  fc.record({ kind: fc.constant('time' as const), startAt: fc.nat(NOW), endAt: fc.nat(NOW) }),
  fc.constant<FieldValue>({ kind: 'days', startDate: '2026-06-15', endDate: '2026-06-17' }),
  fc.record({ kind: fc.constant('text' as const), text: foreign }),
);

const lines: fc.Arbitrary<PlanLineView> = fc.record({
  record: foreign,
  operation: fc.constantFrom('create', 'update', 'delete'),
  reason: fc.constantFrom('new', 'content-changed', 'cancelled', 'excluded', 'vanished'),
  fields: fc.subarray(['title', 'description', 'location', 'time', 'busy', 'unknown']),
  startAt: times,
  title: fc.option(foreign),
  decision: fc.constantFrom('go', 'held', 'refused'),
  fingerprint: fc.option(names),
  fieldChanges: fc.array(fc.record({ field: names, before: values, after: values }), { maxLength: 4 }),
});

const plans: fc.Arbitrary<PlanView> = fc.record({
  tenant: names,
  asOf: fc.nat(NOW),
  snapshot: fc.record({
    completeness: fc.constantFrom('complete', 'partial'),
    reason: fc.option(names),
    records: counts,
    unusable: counts,
  }),
  unconfirmed: counts,
  skippedTargets: fc.array(fc.record({ target: names, code: names }), { maxLength: 3 }),
  targets: fc.array(
    fc.record({
      target: names,
      calendar: fc.option(foreign),
      links: counts,
      unchanged: counts,
      failing: counts,
      waiting: counts,
      released: counts,
      existing: fc.oneof(
        fc.constant(null),
        fc.record({ unread: names }),
        fc.record({ contacts: counts, alike: counts }),
      ),
      lines: fc.array(lines, { maxLength: 40 }),
    }),
    { maxLength: 3 },
  ),
});

const healths: fc.Arbitrary<HealthView> = fc.record({
  tenant: names,
  asOf: fc.nat(NOW),
  connections: fc.array(connections, { maxLength: 3 }),
  targets: fc.array(
    fc.record({
      target: names,
      connector: names,
      stream: fc.constantFrom('appointments', 'patients', 'invoices'),
      inSync: counts,
      heldOtherwise: fc.dictionary(names, counts, { maxKeys: 4 }),
      unusable: fc.dictionary(names, counts, { maxKeys: 2 }),
      excluded: fc.record({
        counts: fc.dictionary(fc.constantFrom('no-consent', 'agenda', 'another'), counts, { maxKeys: 3 }),
        records: fc.array(fc.record({ record: foreign, why: fc.constantFrom('no-consent', 'another') }), {
          maxLength: 40,
        }),
      }),
      failing: fc.array(
        fc.record({
          record: foreign,
          why: names,
          about: fc.option(names),
          page: fc.constantFrom(null, 'https://app.hubspot.com/contacts/48250713/record/0-1/171591000101'),
          sinceAt: fc.nat(NOW),
          attempts: counts,
          nextTryAt: fc.nat(NOW),
          parked: fc.boolean(),
        }),
        { maxLength: 30 },
      ),
      pending: counts,
      changedByHand: counts,
      copied: fc.array(foreign, { maxLength: 30 }),
      refusedThere: fc.dictionary(names, fc.array(foreign, { maxLength: 30 }), { maxKeys: 2 }),
      held: counts,
      unread: fc.option(names),
    }),
    { maxLength: 3 },
  ),
});

const matches: fc.Arbitrary<MatchView> = fc.record({
  ...{ tenant: names, target: names, connector: names, asOf: fc.nat(NOW) },
  ...{ contacts: counts, patients: counts, alike: counts, pairs: counts, ambiguous: counts, tooCommon: counts },
});

const matchResults: fc.Arbitrary<MatchResult> = fc.record({
  ...{ tenant: names, target: names, approved: counts, done: counts, already: counts },
  refused: fc.array(
    fc.record({
      line: counts,
      record: foreign,
      why: fc.constantFrom('contact-changed', 'patient-left-out', 'another'),
    }),
    { maxLength: 30 },
  ),
});

const holds: fc.Arbitrary<Parameters<typeof renderHolds>[0]['items'][number]> = fc.record({
  id: fc.stringMatching(/^[a-z2-9]{5}$/),
  tenant: names,
  target: names,
  kind: fc.constantFrom('cancelled', 'vanished', 'first-run', 'replaced'),
  state: fc.constantFrom('open', 'approved', 'rejected'),
  partOf: fc.constant(null),
  items: counts,
  linkCount: counts,
  seen: fc.stringMatching(/^[a-z2-9]{8}$/),
  createdAt: fc.nat(NOW),
  decidedAt: times,
  expiresAt: fc.nat(NOW),
});

const explanations: fc.Arbitrary<Explanation> = fc.record({
  ...{ tenant: names, appointment: foreign, askedAt: fc.nat(NOW), lastCycle: fc.constant(null) },
  source: fc.oneof(
    fc.record({
      state: fc.constant('there' as const),
      status: names,
      agenda: foreign,
      startAt: fc.nat(NOW),
      updatedAt: times,
    }),
    fc.constant({ state: 'absent' as const }),
    fc.record({ state: fc.constant('unusable' as const), code: names, field: foreign }),
    fc.record({ state: fc.constant('unknown' as const), code: names, message: texts }),
  ),
  targets: fc.array(
    fc.record({
      target: names,
      connector: names,
      decision: fc.record({ shown: fc.boolean(), code: fc.constant('shown' as const), because: texts }),
      way: fc.record({
        compared: fc.record({ at: times, found: fc.constant('same' as const), fields: fc.constant([]) }),
        written: fc.record({
          at: times,
          version: fc.option(foreign),
          revision: fc.option(counts),
          changes: fc.constant([]),
        }),
        readBack: fc.record({ at: times, covers: fc.option(fc.boolean()) }),
      }),
      link: fc.option(fc.record({ startAt: fc.nat(NOW), idAttempt: fc.nat(8), remoteId: foreign })),
      byHand: fc.option(
        fc.record({
          done: fc.constantFrom('edited', 'removed'),
          fields: fc.subarray(['title', 'description', 'location', 'time', 'busy', 'unknown']),
          policy: fc.constantFrom('repair', 'keep', 'report'),
        }),
      ),
      pending: fc.option(
        fc.record({
          reason: fc.constantFrom('new', 'vanished'),
          want: fc.constantFrom('present', 'absent'),
          attempts: counts,
          lastError: fc.option(names),
          parked: fc.boolean(),
          enqueuedAt: fc.nat(NOW),
          dueAt: fc.nat(NOW),
        }),
      ),
      holds: fc.array(
        fc.record({ id: names, kind: fc.constant('vanished' as const), state: fc.constant('open' as const) }),
        {
          maxLength: 2,
        },
      ),
      failure: fc.option(names),
    }),
    { maxLength: 3 },
  ),
});

const syncs = fc.record({ tenant: names, run: runs, targets: fc.array(targets, { maxLength: 4 }) });

function expectTidy(text: string): void {
  for (const line of text.split('\n')) expect(line.length, line).toBeLessThanOrEqual(PLAIN_COLUMNS);
  // Neither colours nor anything else that a terminal would obey.
  expect(text.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
}

describe('every answer is at most a hundred columns wide and commands the terminal nothing', () => {
  test('status', () =>
    fc.assert(
      fc.property(statuses, (view) =>
        expectTidy(renderStatus({ ...view, problems: problemsOf(view, { managed: new Set() }) })),
      ),
    ));
  test('plan', () => fc.assert(fc.property(plans, (view) => expectTidy(printTerminal(planDocument(view, 'en'))))));
  test('health', () => fc.assert(fc.property(healths, (view) => expectTidy(renderHealth(view)))));
  test('match', () => {
    fc.assert(fc.property(matches, fc.option(names), (view, file) => expectTidy(renderMatches(view, file))));
    const verb = fc.constantFrom('apply' as const, 'undo' as const);
    fc.assert(fc.property(matchResults, verb, (result, given) => expectTidy(renderMatchResult(result, given))));
  });
  test('explain', () =>
    fc.assert(fc.property(explanations, (view) => expectTidy(printTerminal(explanationDocument(view, 'en'))))));
  test('holds', () =>
    fc.assert(
      fc.property(fc.array(holds, { maxLength: 4 }), (items) => expectTidy(renderHolds({ items, next: null }))),
    ));
  test('sync', () => fc.assert(fc.property(syncs, (result) => expectTidy(renderSync(result)))));
});

describe('a field that differs and is not known is said to be so', () => {
  const NOT_KNOWN = 'a field that is not known';
  const one = <View>(views: fc.Arbitrary<View>) => fc.sample(views, { seed: 24, numRuns: 1 })[0]!;

  test('in a plan', () => {
    const line: PlanLineView = { ...one(lines), record: '4711', reason: 'content-changed', fields: ['unknown'] };
    const target = one(plans.map(({ targets }) => targets[0]).filter((each) => each !== undefined));
    const text = withOutputOptions({ tableColumns: null }, () =>
      printTerminal(planDocument({ ...one(plans), targets: [{ ...target, lines: [line] }] }, 'en')),
    );
    expect(text).toContain(`changed: ${NOT_KNOWN}`);
  });

  test('of an entry edited by hand', () => {
    const byHand = { done: 'edited' as const, fields: ['title', 'unknown'], policy: 'keep' as const };
    const target = one(explanations.map(({ targets }) => targets[0]).filter((each) => each !== undefined));
    const text = printTerminal(explanationDocument({ ...one(explanations), targets: [{ ...target, byHand }] }, 'en'));
    expect(text.replace(/\s+/g, ' ')).toContain(`edited by hand (title and ${NOT_KNOWN})`);
  });

  test('among what a target holds otherwise', () => {
    const target = one(healths.map(({ targets }) => targets[0]).filter((each) => each !== undefined));
    const text = renderHealth({ ...one(healths), targets: [{ ...target, heldOtherwise: { unknown: 2 } }] });
    expect(text.replace(/\s+/g, ' ')).toContain(`Held otherwise than it was sent: ${NOT_KNOWN} (2)`);
  });

  test('in an audit', () => {
    const drift = { ...one(drifts.filter((each) => each !== null)), churning: 1 };
    const view: AuditView = { tenant: 'studio', targets: [{ target: 'room', policy: 'repair', drift, failure: null }] };
    const text = renderAudit(view);
    expect(text).toContain(`title 3, ${NOT_KNOWN} 1`);
    expect(text.replace(/\s+/g, ' ')).toContain(`they diverge in title, ${NOT_KNOWN}.`);
  });
});
