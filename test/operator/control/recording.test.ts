import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../../src/core/log/logger.ts';
import { MirrorError } from '../../../src/core/model/errors.ts';
import { HOUR_MS } from '../../../src/core/model/time.ts';
import { createAuditLog } from '../../../src/operator/control/audit-log.ts';
import { type ActAbout, type Acting, recordAct } from '../../../src/operator/control/recording.ts';
import { strictestApprovals } from '../../../src/settings/access-schema.ts';
import { keys } from '../../../src/state/keys.ts';
import { createApprovalStore } from '../../../src/state/stored-documents.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { useRedis } from '../../support/redis.ts';
import { type ActingChoice, ONE_PERSON, openActing, person } from './acting.ts';

const redis = useRedis();
const KEY = Buffer.alloc(32, 7);
const SYNC: ActAbout = { verb: 'sync', tenant: 'studio-rossi', what: { asked: 1 } };

function forgetting(subject: string): ActAbout {
  const second = { subject, isNeeded: ({ forget }: { forget: boolean }) => forget };
  return { verb: 'forget', tenant: 'studio-rossi', what: { patient: subject }, second };
}

/** Opens users with one store of requests, where forgetting a patient requires two users. */
function openDesk(choice: ActingChoice = {}) {
  const clock = { now: NOW };
  const store = createApprovalStore(redis.connect(), 'studio-rossi', KEY, () => clock.now);
  const as = (who: string, claimed: string | null = null) =>
    openActing({
      ...{ who: person(who, claimed), store, clock: () => clock.now },
      ...choice,
      policy: { forget: true, ...choice.policy },
    });
  return { clock, store, as };
}

/** Returns `done`, or the code of the refusal. */
async function outcomeOf(acting: Acting, about: ActAbout): Promise<string> {
  return recordAct(acting, about, async () => 'done').catch(({ code }: MirrorError) => code);
}

describe('with a session whose sign-in is old', () => {
  const stale = (acting: ReturnType<typeof openActing>) => Object.assign(acting, { isStale: true });

  test.each(['forget', 'restore', 'add-tenant', 'replace-tenant', 'remove-tenant', 'access-token'] as const)(
    'the sensitive action %s does not begin, and the refusal is recorded',
    async (verb) => {
      const acting = stale(openActing());
      expect(await outcomeOf(acting, { verb, tenant: 'studio-rossi' })).toBe('sign-in-again');
      expect(acting.recorded).toMatchObject([{ verb, outcome: 'refused', code: 'sign-in-again' }]);
    },
  );

  test('everyday actions continue, but no approval where two people must approve', async () => {
    expect(await outcomeOf(stale(openActing()), SYNC)).toBe('done');
    const { as } = openDesk();
    const approving = { ...forgetting('12'), verb: 'approve' } as const;
    expect(await outcomeOf(as('anna'), approving)).toBe('second-person-needed');
    expect(await outcomeOf(stale(as('bruno')), approving)).toBe('sign-in-again');
    expect(await outcomeOf(as('bruno'), approving)).toBe('done');
  });
});

describe('an action', () => {
  test('is recorded before its begin and after its end, with its result', async () => {
    const acting = openActing({ why: 'INC-7' });
    const seen = await recordAct(
      acting,
      SYNC,
      async () => acting.recorded.length,
      (count) => ({ count }),
    );
    expect(seen).toBe(1);
    const whose = { verb: 'sync', tenant: 'studio-rossi', who: person('anna'), why: 'INC-7' };
    expect(acting.recorded).toEqual([
      { ...whose, outcome: 'begun', code: null, act: null, what: { asked: 1 } },
      { ...whose, outcome: 'done', code: null, act: 1, what: { asked: 1, count: 1 } },
    ]);
  });

  test('that fails records the error code without its text', async () => {
    const acting = openActing();
    const work = () =>
      Promise.reject(new MirrorError('Mario Rossi is not there', { actor: 'settings', code: 'gone', retry: 'never' }));
    await expect(recordAct(acting, SYNC, work)).rejects.toMatchObject({ code: 'gone' });
    expect(acting.recorded.map(({ outcome, code }) => [outcome, code])).toEqual([
      ['begun', null],
      ['failed', 'gone'],
    ]);
    expect(JSON.stringify(acting.recorded)).not.toContain('Mario');
  });

  test('that cannot be recorded does not begin', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'clinic-mirror-acts-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    await writeFile(join(directory, 'audit-log'), '');
    const parts = { redis: redis.connect(), directory, identityKey: KEY, retentionMonths: () => 12 };
    const log = createAuditLog({ ...parts, clock: () => NOW, log: silentLogger });
    let begun = false;
    const work = async () => {
      begun = true;
    };
    await expect(recordAct(openActing({ log }), SYNC, work)).rejects.toMatchObject({ code: 'audit-log-unwritable' });
    expect(begun).toBe(false);
  });

  test('is logged before and after even without an audit log', async () => {
    const acting = openActing({ log: null, why: 'INC-7' });
    expect(await outcomeOf(acting, SYNC)).toBe('done');
    expect(acting.recorded).toMatchObject([
      { verb: 'sync', outcome: 'begun', why: 'INC-7', who: { name: 'anna' } },
      { verb: 'sync', outcome: 'done', why: 'INC-7', act: null },
    ]);
  });
});

describe('a reason', () => {
  test('is required if the settings demand it, and its absence is recorded', async () => {
    const acting = openActing({ reasonFor: ['sync'] });
    expect(await outcomeOf(acting, SYNC)).toBe('reason-missing');
    expect(acting.recorded).toMatchObject([{ outcome: 'refused', code: 'reason-missing' }]);
    expect(await outcomeOf(openActing({ reasonFor: ['sync'], why: 'INC-7' }), SYNC)).toBe('done');
    expect(await outcomeOf(openActing({ reasonFor: ['forget'] }), SYNC)).toBe('done');
  });

  test.each([
    ['an e-mail address', 'asked by mario@rossi.example'],
    ['two lines', 'one\ntwo'],
    ['nothing but spaces', '  '],
    ['too many words', 'x'.repeat(201)],
    ['a token', 'Bearer abc.def'],
  ])('of %s is refused and not recorded', async (_, why) => {
    const acting = openActing({ why });
    expect(await outcomeOf(acting, SYNC)).toBe('reason-unusable');
    expect(acting.recorded).toEqual([]);
  });
});

describe('approval by two users', () => {
  test('requires the same action: the first user is noted, a repetition refused, and another user runs it', async () => {
    const { as, store } = openDesk();
    const [anna, bruno] = [as('anna'), as('bruno')];
    expect(await outcomeOf(anna, forgetting('p1'))).toBe('second-person-needed');
    expect(await store.list()).toMatchObject([{ verb: 'forget', by: { name: 'anna' }, what: { patient: 'p1' } }]);
    expect(await outcomeOf(anna, forgetting('p1'))).toBe('second-person-same');
    expect(await outcomeOf(bruno, forgetting('p1'))).toBe('done');
    expect(anna.recorded.map(({ outcome }) => outcome)).toEqual(['requested', 'refused']);
    expect(bruno.recorded).toMatchObject([
      { outcome: 'begun', who: { name: 'bruno' }, what: { requestedBy: 'anna', requestedById: 'login:anna' } },
      { outcome: 'done' },
    ]);
    expect(await store.list()).toEqual([]);
    expect(await outcomeOf(bruno, forgetting('p1'))).toBe('second-person-needed');
  });

  test('needs two different users within the time limit', async () => {
    const step = fc.record({
      who: fc.constantFrom('anna', 'bruno', 'carla'),
      subject: fc.constantFrom('p1', 'p2'),
      waitsHours: fc.constantFrom(0, 0, 0, 13),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        await redis.connect().flushall();
        const { as, clock } = openDesk();
        const asked = new Map<string, { who: string; at: number }>();
        for (const { who, subject, waitsHours } of steps) {
          clock.now += waitsHours * HOUR_MS;
          const first = asked.get(subject);
          const isOpen = first !== undefined && clock.now < first.at + 24 * HOUR_MS;
          const expected = !isOpen ? 'second-person-needed' : first.who === who ? 'second-person-same' : 'done';
          expect(await outcomeOf(as(who), forgetting(subject))).toBe(expected);
          if (expected === 'done') asked.delete(subject);
          if (expected === 'second-person-needed') asked.set(subject, { who, at: clock.now });
        }
      }),
      { numRuns: 40 },
    );
  });

  test('of several simultaneous second users lets one run the requested action', async () => {
    const { as } = openDesk();
    await outcomeOf(as('anna'), forgetting('p1'));
    // A user who comes too late starts a new request, which the next user may approve.
    const others = ['bruno', 'carla', 'dora'].map((who) => as(who));
    await Promise.all(others.map((other) => outcomeOf(other, forgetting('p1'))));
    const begun = others.flatMap(({ recorded }) => recorded.filter(({ outcome }) => outcome === 'begun'));
    expect(begun.filter(({ what }) => what.requestedBy === 'anna')).toHaveLength(1);
    for (const { who, what } of begun) expect(what.requestedBy).not.toBe(who.name);
  });

  test('distinguishes users by the given name if the settings say so, and then requires the name', async () => {
    const { as } = openDesk({ policy: { persons: 'named' } });
    expect(await outcomeOf(as('node'), forgetting('p1'))).toBe('name-missing');
    expect(await outcomeOf(as('node', 'Anna'), forgetting('p1'))).toBe('second-person-needed');
    expect(await outcomeOf(as('node', ' anna'), forgetting('p1'))).toBe('second-person-same');
    expect(await outcomeOf(as('node', 'Bruno'), forgetting('p1'))).toBe('done');
  });

  test('requires the same way of access: one user may have a system user and an account', async () => {
    const { as, store } = openDesk();
    const account = (name: string) =>
      openActing({
        who: { kind: 'account', name, id: `account:id#${name}`, claimed: null },
        store,
        policy: { forget: true },
      });
    expect(await outcomeOf(as('anna'), forgetting('p1'))).toBe('second-person-needed');
    expect(await outcomeOf(account('anna'), forgetting('p1'))).toBe('second-person-other-way');
    expect(await outcomeOf(account('anna'), forgetting('p2'))).toBe('second-person-needed');
    expect(await outcomeOf(account('anna'), forgetting('p2'))).toBe('second-person-same');
    expect(await outcomeOf(as('bruno'), forgetting('p2'))).toBe('second-person-other-way');
    expect(await outcomeOf(account('bruno'), forgetting('p2'))).toBe('done');
    expect(await outcomeOf(as('bruno'), forgetting('p1'))).toBe('done');
  });

  test.each(['owner', 'token:ci'])('is impossible for unknown users: %s', async (id) => {
    const { as, store } = openDesk();
    const holder = openActing({
      who: { kind: 'holder', name: id, id, claimed: 'Anna' },
      store,
      policy: { forget: true },
    });
    expect(await outcomeOf(holder, forgetting('p1'))).toBe('second-person-unknown');
    expect(await store.list()).toEqual([]);
    await outcomeOf(as('anna'), forgetting('p1'));
    expect(await outcomeOf(holder, forgetting('p1'))).toBe('second-person-unknown');
  });

  test('ignores given names if the system distinguishes users', async () => {
    const { as } = openDesk();
    await outcomeOf(as('anna', 'Anna'), forgetting('p1'));
    expect(await outcomeOf(as('anna', 'Bruno'), forgetting('p1'))).toBe('second-person-same');
  });

  test('cannot be forged by write access to Redis alone', async () => {
    const { as, store } = openDesk();
    await outcomeOf(as('anna'), forgetting('p1'));
    const connection = redis.connect();
    const table = keys.approvals('studio-rossi');
    const [[id, stored] = ['', '']] = Object.entries(await connection.hgetall(table));
    await connection.hset(table, id, `${stored.slice(0, -9)}${stored.at(-9) === 'A' ? 'B' : 'A'}${stored.slice(-8)}`);
    expect(await store.list()).toEqual([]);
    expect(await outcomeOf(as('anna'), forgetting('p1'))).toBe('second-person-needed');
  });

  test('is not required without the setting', async () => {
    const { as } = openDesk({ policy: { forget: false } });
    expect(await outcomeOf(as('anna'), forgetting('p1'))).toBe('done');
  });
});

describe('a tenant', () => {
  const all = { ...ONE_PERSON, holdsAbove: 50 };

  test('may require two users if the settings do not, and for fewer changes', () => {
    expect(strictestApprovals(all, { holdsAbove: 10, forget: true })).toMatchObject({ holdsAbove: 10, forget: true });
    expect(strictestApprovals(ONE_PERSON, { holdsAbove: 0 })).toMatchObject({ holdsAbove: 0 });
  });

  test('cannot weaken the settings', () => {
    expect(strictestApprovals({ ...all, restore: true }, { holdsAbove: 900 })).toMatchObject({
      holdsAbove: 50,
      restore: true,
    });
    expect(strictestApprovals(all, undefined)).toEqual(all);
  });
});
