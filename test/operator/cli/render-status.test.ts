import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ApprovalRequest } from '../../../src/core/model/acts.ts';
import { MINUTE_MS } from '../../../src/core/model/time.ts';
import { renderStatus } from '../../../src/operator/cli/render-status.ts';
import { problemsOf } from '../../../src/operator/control/problems.ts';
import type { Status } from '../../../src/operator/control/status-schemas.ts';
import { TRIGGER_EVENTS } from '../../../src/settings/tenant-schema.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { statusOf, targetOf, tenantOf } from '../control/status-of.ts';
import {
  connections,
  counts,
  errorTexts,
  expectTidy,
  firstSyncs,
  flat,
  foreign,
  names,
  runs,
  targets,
  texts,
  times,
} from './arbitraries.ts';

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
  daemons: fc.constant([]),
  unkept: fc.option(fc.record({ code: names, sentence: texts, next: fc.option(texts), texts: errorTexts })),
  redis: fc.constant({ refusal: null, clockAheadMs: 0, daemonSeenAgoMs: 0, answerMs: 1, memory: null }),
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
      sync: fc.constantFrom('in-sync', 'behind', 'on-hold', 'unknown'),
      health: fc.constantFrom('ok', 'retrying', 'action-required'),
      inSyncAsOf: times,
      pending: counts,
      failing: counts,
      held: counts,
      configuration: fc.record({ number: counts, isOurs: fc.boolean(), supersededAt: times }),
      connections: fc.array(connections, { maxLength: 3 }),
      lastRun: fc.option(runs),
      cycleEveryMs: counts,
      storage: fc.record({ bytes: fc.option(counts), addedBytes: counts, countedAt: times, limitBytes: counts }),
      targets: fc.array(targets, { maxLength: 4 }),
      removed: fc.array(removals, { maxLength: 2 }),
      approvals: fc.array(approvals, { maxLength: 2 }),
      uncertainty: fc.option(
        fc.record({ code: fc.constantFrom('state-went-back', 'state-lost'), sinceAt: fc.nat(NOW) }),
      ),
      loss: fc.constant(null),
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
          replies: fc.option(fc.record({ count: counts, sinceAt: fc.nat(NOW) })),
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
  damaged: fc.constant([]),
  alertFailures: fc.array(fc.record({ channel: names, code: names, sinceAt: fc.nat(NOW) }), { maxLength: 2 }),
  removed: fc.array(removals, { maxLength: 2 }),
});

test('has at most 100 columns and no control characters for the terminal', () =>
  fc.assert(
    fc.property(statuses, (view) =>
      expectTidy(renderStatus({ ...view, problems: problemsOf(view, { managed: new Set() }) })),
    ),
  ));

describe('one clinic', () => {
  const shown = (changes: Parameters<typeof tenantOf>[0]) => flat(renderStatus(statusOf([tenantOf(changes)])));

  test('in a first sync has no time of its last sync', () => {
    const inFirstSync = targetOf('first-sync', { sync: 'behind', inSyncAsOf: null, firstSync: { written: 2, of: 5 } });
    expect(shown({ targets: [inFirstSync] })).not.toMatch(/sync: [^;]*as of/);
    expect(shown({})).toMatch(/sync: in sync as of 20/);
    const behind = targetOf('read-failed', { sync: 'behind', inSyncAsOf: null });
    expect(shown({ targets: [behind] })).toContain('sync: behind, in sync as of never;');
  });

  test('shows the targets that are not in sync, by reason', () => {
    const paused = ['lab', 'room'].map((target) => targetOf('paused', { target }));
    const targets = [targetOf(null, { target: 'doctor' }), ...paused, targetOf('writing', { target: 'contacts' })];
    expect(shown({ targets })).toContain('not in sync: lab, room (paused); contacts (writing)');
    expect(shown({})).not.toContain('not in sync:');
  });

  test('shows the requester of an approval, by the claimed name, and the hold', () => {
    const by = { kind: 'os-user', name: 'root', id: '0', claimed: 'Ada' } as const;
    const approval = { id: 'a', verb: 'approve', what: { hold: 'k7p2m' }, by, at: NOW, expiresAt: NOW } as const;
    expect(shown({ approvals: [approval] })).toContain(
      'approve hold k7p2m WAITS FOR A SECOND ADMINISTRATOR: requested by Ada',
    );
  });

  test('whose state was lost names the command that accepts the loss (state-lost)', () => {
    expect(shown({ uncertainty: { code: 'state-lost', sinceAt: NOW } })).toContain(
      'restore a backup, or "clinic-mirror accept-loss aurora"',
    );
  });

  test('shows the command for a feed without a URL, and the time since the last fetch of a feed', () => {
    const fetched = { madeAt: NOW, fetchedAt: NOW - 5 * MINUTE_MS, fetches: 1 };
    const feedOf = (feed: object | null) => shown({ targets: [targetOf(null, { feed } as object)] });
    expect(feedOf(null)).toContain('create a URL: clinic-mirror feeds rotate aurora room');
    expect(feedOf(fetched)).toContain('room: last fetched 5 min ago');
    expect(feedOf({ ...fetched, fetchedAt: null })).toContain('room: never fetched');
  });

  test('says once that a server drops marks, without the number of events, and what to do about copies', () => {
    const nothing = { checkedAt: NOW, checked: 2, edited: 0, removed: 0, unlinked: 0, fields: {}, churning: 0 };
    const drift = { ...nothing, churningFields: [], unmarked: 2 };
    const dropping = shown({ targets: [targetOf(null, { drift, dropsMarks: true })] });
    expect(dropping).toContain('room: the server drops the marks of clinic-mirror');
    expect(dropping).not.toContain('2 without the marks');
    expect(shown({ targets: [targetOf(null, { drift })] })).toContain('2 without the marks of clinic-mirror');
    expect(shown({ targets: [targetOf(null, { ambiguous: 3 })] })).toMatch(
      /3 objects have the clinic-mirror owner tag.* "clinic-mirror audit aurora" removes copies/,
    );
  });

  test('counts the changes that the policy of a target withholds', () => {
    const writePolicy = { name: 'create-only', notRemoved: 3, notUpdated: 2 } as const;
    const text = shown({ targets: [targetOf(null, { writePolicy })] }).replace(/\s+/g, ' ');
    expect(text).toContain('room: policy create-only: 3 objects remain although their records left the target, and 2 ');
    expect(shown({ targets: [targetOf(null)] })).not.toContain('policy');
  });

  test('shows a configuration that is older than a process, or newer than the last cycle', () => {
    const configuration = { number: 2, isOurs: false, supersededAt: NOW };
    expect(shown({ configuration })).toMatch(/configuration-superseded: .* these files differ from the last cycle/);
    expect(shown({})).not.toMatch(/configuration-superseded|these files differ/);
  });
});

describe('several clinics', () => {
  const both = statusOf([tenantOf(), tenantOf({ tenant: 'belvedere', paused: true })]);

  test('have one line each, without targets', () => {
    expect(renderStatus(both)).toMatch(/^belvedere \(paused\) +in sync/m);
    expect(renderStatus(both)).not.toMatch(/^ +room/m);
  });

  test('are omitted if only problems are requested', () => {
    expect(renderStatus(both, { problemsOnly: true })).toBe(renderStatus(both).split('\n\n')[0]);
  });
});

describe('the installation', () => {
  const shown = (changes: Partial<Status>) => flat(renderStatus({ ...statusOf([tenantOf()]), ...changes }));

  test('shows a refused file change with file, line and field, and counts the further faults', () => {
    const fault = { file: 'tenants/aurora.yaml', line: 7, path: 'targets.room', message: 'is needed' };
    const refused = [{ tenant: null, sinceAt: NOW, faults: [fault, { ...fault, line: null }], more: 3 }];
    const text = shown({ refused });
    expect(text).toContain('every tenant CHANGED FILE REFUSED since');
    expect(text).toContain('tenants/aurora.yaml, line 7, targets.room, is needed tenants/aurora.yaml, targets.room');
    expect(text).toContain('and 3 more faults: see "clinic-mirror config check"');
  });

  test.each([
    [
      'an older state of Redis',
      { wentBackAt: NOW },
      /state-went-back: .*reminders due before the detection are not sent again/,
    ],
    ['lost writes', { writesLostAt: NOW }, /lost record of writes: .*reads targets again/],
    ['no directory', { directory: 'none' }, /no dataDirectory is set; the audit log is off/],
    ['a directory that fails', { directory: 'failed' }, /dataDirectory is not writable$/],
    ['a Redis that does not tell', { durability: 'unsupported' }, / → /],
  ] as const)('shows %s as a fault of the storage for decisions', (_, changes, says) => {
    const { state } = statusOf([]);
    expect(shown({ state: { ...state, ...changes } })).toMatch(says);
    expect(shown({ state })).not.toMatch(says);
  });

  test('shows the expiry of the data of a tenant that is no longer configured', () => {
    expect(shown({ removed: [{ name: 'corallo', missedAt: NOW, releaseAt: NOW }] })).toContain(
      'tenant corallo is no longer configured: its state is deleted after 2026-06-15',
    );
  });
});
