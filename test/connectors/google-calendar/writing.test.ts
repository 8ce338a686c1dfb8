import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Fault } from '../../../sandbox/kit/faults.ts';
import { HOUR_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import {
  type ContractKit,
  createKit,
  createOperation,
  deleteOperation,
  describeOutcome,
  failure,
  itemWith,
  keyOf,
  timed,
  updateOperation,
  written,
} from '../../contract/contract-kit.ts';
import { openGoogleTarget } from '../../contract/google-calendar-target.ts';
import { containerOf } from '../../support/container-of.ts';
import { paced } from '../../support/pace.ts';

let target: Awaited<ReturnType<typeof openGoogleTarget>>;
let kit: ContractKit;

beforeEach(async () => {
  target = await openGoogleTarget();
  kit = createKit(target);
});

afterEach(() => target.close());

const CHANGED = itemWith({ title: 'Changed' });

/** Hits the parts of a batch whose inner call matches, not the batch. */
function faultParts(method: string, fault: Fault, options: { times?: number; after?: number; path?: string } = {}) {
  const { path = '/calendar/v3/', ...counts } = options;
  target.sandbox.faults.add({ match: { method, path }, ...counts, fault });
}

function refusal(status: number, reason: string): Fault {
  const errors = [{ domain: 'usageLimits', reason, message: reason }];
  return { kind: 'status', status, body: { error: { code: status, message: reason, errors } } };
}

function creates(n: number) {
  return Array.from({ length: n }, (_, index) => createOperation(`r${index}`));
}

describe('what writing costs', () => {
  test('1,200 first creates cost 24 requests, 1,200 units of quota and no mail', async () => {
    target.sandbox.counts.reset();
    const outcomes = await kit.attempt(creates(1_200));
    expect(outcomes.every((outcome) => describeOutcome(outcome) === 'written created')).toBe(true);
    expect(target.sandbox.counts).toMatchObject({ httpRequests: 24, batchRequests: 24, quotaUnits: 1_200, mails: 0 });
    expect(target.sandbox.counts.maxConcurrency(target.container)).toBe(1);
    expect(target.sandbox.events(target.container)).toHaveLength(1_200);
  });

  test('a lost batch of 50 is settled with one more batch and one batch of gets', async () => {
    const operations = creates(50);
    target.proxy.add({ ...target.dialect.writes, fault: { kind: 'lost-answer' } });
    await kit.attempt(operations);
    target.sandbox.counts.reset();
    const outcomes = await kit.attempt(operations);
    expect(outcomes.every((outcome) => describeOutcome(outcome) === 'written adopted')).toBe(true);
    expect(target.sandbox.counts.httpRequests).toBe(2);
  });

  test('50 deletes of what is not there check the calendar once', async () => {
    target.sandbox.counts.reset();
    const outcomes = await kit.attempt(Array.from({ length: 50 }, (_, index) => deleteOperation(`r${index}`, '"1"')));
    expect(outcomes.every((outcome) => describeOutcome(outcome) === 'deleted already-gone')).toBe(true);
    expect(target.sandbox.counts.innerCalls).toBe(51);
  });

  test('finding 120 keys costs three requests', async () => {
    await kit.attempt(creates(120));
    target.sandbox.counts.reset();
    const keys = creates(120).map((operation) => operation.key);
    expect(await kit.connector.find(target.container, keys, AbortSignal.timeout(paced(MINUTE_MS)))).toHaveLength(120);
    expect(target.sandbox.counts.httpRequests).toBe(3);
  });

  test('the calls are charged to the quota user that the connection names', async () => {
    const asked = kit.worker({ authorizer: { ...target.authorizer, quotaUser: 'tenant-7' } });
    await kit.attempt([createOperation('a')], asked);
    await kit.readAll(asked);
    await containerOf(asked, null, AbortSignal.timeout(paced(MINUTE_MS)));
    expect(target.proxy.requests.every((request) => /quotaUser=tenant-7/.test(request.url + request.body))).toBe(true);
  });
});

describe('limits within a batch', () => {
  test.each([403, 429])(
    'parts refused for their rate with %i fail with a wait, the others are written',
    async (status) => {
      const operations = creates(10);
      faultParts('POST', refusal(status, 'userRateLimitExceeded'), { after: 4 });
      const outcomes = await kit.attempt(operations);
      const failed = outcomes.filter((outcome) => outcome.result === 'failed');
      expect(failed).toHaveLength(6);
      for (const one of failed) {
        expect(failure(one)).toMatchObject({ actor: 'remote', code: 'rate-limited', retry: 'later', ambiguous: false });
      }
      expect(failure(failed[0]).retryAfterMs).toBeGreaterThan(0);
    },
  );

  test('a batch of which every part is refused for its rate throws, once', async () => {
    faultParts('POST', refusal(403, 'rateLimitExceeded'));
    const call = kit.connector.apply(target.container, creates(10), AbortSignal.timeout(paced(MINUTE_MS)));
    await expect(call).rejects.toMatchObject({ code: 'rate-limited', retry: 'later' });
    expect(target.sandbox.counts.httpRequests).toBe(1);
  });

  test("the account's usage limits pause the target for an hour", async () => {
    faultParts('POST', refusal(403, 'quotaExceeded'));
    const error = failure((await kit.attempt([createOperation('a')]))[0]);
    expect(error).toMatchObject({ actor: 'remote', code: 'usage-limit', retryAfterMs: HOUR_MS });
  });

  test('more creates than the quota of a minute end well once the minute has passed', async () => {
    let now = Date.now();
    target.sandbox.configure({ quotaPerUserPerMinute: 60, now: () => now });
    const operations = creates(130);
    let left = operations;
    for (let minutes = 0; left.length > 0 && minutes < 5; minutes += 1) {
      const outcomes = await kit.attempt(left);
      left = left.filter((_, index) => outcomes[index]?.result === 'failed');
      now += MINUTE_MS + 1;
    }
    expect(left).toEqual([]);
    expect(target.sandbox.events(target.container)).toHaveLength(130);
  });
});

describe('parts of a batch with separate answers', () => {
  test('a part that conflicted with the others is repeated separately', async () => {
    faultParts('POST', { kind: 'conflict' }, { times: 2 });
    const outcomes = await kit.attempt(creates(10));
    expect(outcomes.map(describeOutcome)).toEqual(outcomes.map(() => 'written created'));
    const bodies = target.proxy.requests.map((request) => request.body.match(/^POST /gm)?.length);
    expect(bodies).toEqual([10, 1, 1]);
  });

  test('a part that conflicts separately too is retried later', async () => {
    faultParts('POST', { kind: 'conflict' }, { times: 2 });
    const error = failure((await kit.attempt([createOperation('a')]))[0]);
    expect(error).toMatchObject({ actor: 'remote', code: 'batch-conflict', retry: 'later' });
  });

  test.each(['lost-answer', 'missing-part'])(
    'a create whose part ends in %s is ambiguous, and adopted next',
    async (kind) => {
      faultParts('POST', { kind }, { times: 1 });
      const first = await kit.attempt(creates(5));
      const failed = first.filter((outcome) => outcome.result === 'failed');
      expect(failed.map((outcome) => failure(outcome).ambiguous)).toEqual([true]);
      const second = await kit.attempt(creates(5));
      expect(second.map(describeOutcome)).toEqual(second.map(() => 'written adopted'));
      expect(target.sandbox.events(target.container)).toHaveLength(5);
    },
  );

  test('mixed statuses in one batch end as each deserves', async () => {
    const [a, b, c, d] = await kit.create('a', 'b', 'c', 'd');
    target.sandbox.editByHand(target.container, keyOf('b'), { summary: 'By hand' });
    target.sandbox.deleteByHand(target.container, keyOf('c'));
    faultParts('PATCH', { kind: 'status', status: 503 }, { path: keyOf('d') });
    const outcomes = await kit.attempt([
      createOperation('a', CHANGED),
      updateOperation('b', CHANGED, b!.versionTag),
      updateOperation('c', CHANGED, c!.versionTag),
      updateOperation('d', CHANGED, d!.versionTag),
      updateOperation('never', CHANGED, '"1"'),
      deleteOperation('gone', '"1"'),
    ]);
    expect(outcomes.map(describeOutcome)).toEqual([
      'written adopted',
      'written updated',
      'written revived',
      'failed remote/server-error',
      'written recreated',
      'deleted already-gone',
    ]);
    expect(a!.versionTag).not.toBe(written(outcomes[0]).versionTag);
    expect((await kit.object('c')).title).toBe('Changed');
  });

  test('parts that were refused for their token are repeated, the others are not', async () => {
    faultParts('POST', { kind: 'status', status: 401 }, { times: 3 });
    const outcomes = await kit.attempt(creates(10));
    expect(outcomes.map(describeOutcome)).toEqual(outcomes.map(() => 'written created'));
    expect(target.proxy.requests.map((request) => request.body.match(/^POST /gm)?.length)).toEqual([10, 3]);
  });

  test('if the renewed token is refused for one part, only that part requires an administrator', async () => {
    const [a, b] = await kit.create('a', 'b');
    faultParts('PATCH', { kind: 'status', status: 401 }, { path: keyOf('a') });
    const outcomes = await kit.attempt([
      updateOperation('a', CHANGED, a!.versionTag),
      updateOperation('b', CHANGED, b!.versionTag),
    ]);
    expect(outcomes.map(describeOutcome)).toEqual(['failed authorization/login-refused', 'written updated']);
    expect(failure(outcomes[0]).retry).toBe('never');
  });
});

describe('an id that was used before', () => {
  test('is burnt when Google forbids to revive it, by create and by update', async () => {
    const [a, b] = await kit.create('a', 'b');
    target.sandbox.deleteByHand(target.container, keyOf('a'));
    target.sandbox.deleteByHand(target.container, keyOf('b'));
    target.sandbox.faults.add({ fault: { kind: 'revival-forbidden' } });
    const outcomes = await kit.attempt([createOperation('a'), updateOperation('b', CHANGED, b!.versionTag)]);
    expect(outcomes.map(describeOutcome)).toEqual(['key-burnt', 'key-burnt']);
    const [next] = await kit.attempt([createOperation('a', itemWith(), 1)]);
    expect(describeOutcome(next)).toBe('written created');
    expect(a!.versionTag).not.toBeNull();
  });

  test('is left for later when a rate limit forbids to revive it', async () => {
    await kit.create('a');
    target.sandbox.deleteByHand(target.container, keyOf('a'));
    faultParts('PUT', refusal(403, 'rateLimitExceeded'));
    expect(describeOutcome((await kit.attempt([createOperation('a')]))[0])).toBe('failed remote/rate-limited');
  });

  test('waits if it is in use and not yet readable: no second event', async () => {
    await kit.create('a');
    faultParts('GET', { kind: 'status', status: 404 }, { path: keyOf('a'), times: 1 });
    const error = failure((await kit.attempt([createOperation('a')]))[0]);
    expect(error).toMatchObject({ actor: 'remote', code: 'not-yet-readable', retry: 'later' });
    expect(describeOutcome((await kit.attempt([createOperation('a')]))[0])).toBe('written adopted');
  });

  test('is given up in time when it stays taken and can never be read again', async () => {
    await kit.create('a');
    target.sandbox.purge(target.container, keyOf('a'));
    const [outcome] = await kit.attempt([createOperation('a')]);
    expect(outcome).toMatchObject({ result: 'failed', burnsKeyAfterMs: 24 * HOUR_MS });
    const [next] = await kit.attempt([createOperation('a', itemWith(), 1)]);
    expect(describeOutcome(next)).toBe('written created');
  });

  test('is used again if the deleted event lost its marks', async () => {
    const id = await target.server.putForeign('Without marks', keyOf('a'));
    target.sandbox.deleteByHand(target.container, id);
    expect(describeOutcome((await kit.attempt([createOperation('a')]))[0])).toBe('written revived');
    expect(target.sandbox.event(target.container, id)?.status).toBe('confirmed');
  });
});

describe('an event that another client keeps changing', () => {
  test('is a conflict after one more try', async () => {
    const [a] = await kit.create('a');
    faultParts('PATCH', { kind: 'status', status: 412 }, { path: keyOf('a') });
    faultParts('DELETE', { kind: 'status', status: 412 }, { path: keyOf('a') });
    const [update] = await kit.attempt([updateOperation('a', CHANGED, a!.versionTag)]);
    expect(failure(update)).toMatchObject({ actor: 'conflict', code: 'changed-meanwhile', retry: 'now' });
    const [deletion] = await kit.attempt([deleteOperation('a', a!.versionTag)]);
    expect(failure(deletion)).toMatchObject({ actor: 'conflict', code: 'changed-meanwhile', retry: 'now' });
    expect(target.sandbox.counts.innerCalls).toBe(1 + 3 + 3);
  });
});

describe('an event that a user made public', () => {
  test('is read without content and made private again; guests of the user remain', async () => {
    await kit.create('a');
    const attendees = [{ email: 'guest@example.org' }];
    target.sandbox.editByHand(target.container, keyOf('a'), { visibility: 'public', attendees });
    expect((await kit.readAll())[0]?.item).toBeNull();
    await kit.attempt([createOperation('a')]);
    expect(await kit.object('a')).toMatchObject({ isPrivate: true, attendees: 1 });
    expect((await kit.readAll())[0]?.item).toEqual(itemWith());
    expect(target.sandbox.counts.mails).toBe(0);
  });

  test('is also updated by a service account, which cannot invite guests, if the user invited guests', async () => {
    const { sandbox, container } = target;
    const account = 'mirror@project.iam.gserviceaccount.com';
    sandbox.createServiceAccount(account);
    sandbox.setRole(container, account, 'writer');
    await kit.create('a');
    sandbox.editByHand(container, keyOf('a'), { attendees: [{ email: 'guest@example.org' }] });
    const header = async () => `Bearer ${sandbox.issueAccessToken(account, { asService: true })}`;
    const worker = kit.worker({ authorizer: { header, renew: header, quotaUser: null } });
    const [outcome] = await kit.attempt([updateOperation('a', CHANGED, null)], worker);
    expect(describeOutcome(outcome)).toBe('written updated');
    expect(await kit.object('a')).toMatchObject({ title: 'Changed', attendees: 1 });
  });
});

describe('a server that treats a write without a sequence number as 0', () => {
  const moved = (day: number) =>
    itemWith({ time: timed(`2027-03-${day}T09:00:00+01:00`, `2027-03-${day}T09:30:00+01:00`, 'Europe/Rome') });

  test('an event follows each move of its appointment, returns after a deletion, and is erased', async () => {
    const { sandbox, container } = target;
    sandbox.configure({ absentSequence: 'zero' });
    let [last] = await kit.create('a');
    for (const [index, day] of [11, 12, 13, 14].entries()) {
      const update = { ...updateOperation('a', moved(day), last!.versionTag), revision: index + 2 };
      last = written((await kit.attempt([update]))[0]);
    }
    expect(sandbox.event(container, keyOf('a'))).toMatchObject({ sequence: 4 });
    sandbox.deleteByHand(container, keyOf('a'));
    const back = { ...updateOperation('a', moved(15), last!.versionTag), revision: 6 };
    expect(describeOutcome((await kit.attempt([back]))[0])).toBe('written revived');
    const erasure = { ...deleteOperation('a', null), revision: 7, erase: true };
    expect(describeOutcome((await kit.attempt([erasure]))[0])).toBe('deleted deleted');
  });
});
