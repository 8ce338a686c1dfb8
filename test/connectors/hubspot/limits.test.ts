import { describe, expect, test } from 'vitest';
import type { Authorizer } from '../../../src/connectors/connector.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../../src/core/model/time.ts';
import { containerOf } from '../../support/container-of.ts';
import { CONTACT, contact, describeOutcome, failure, meeting, NO_SIGNAL, rejection, startWorld } from './support.ts';

const UPSERT = { method: 'POST', path: '/batch/upsert' };

describe('a limit', () => {
  test.each([
    [false, 10 * SECOND_MS],
    [true, 10 * SECOND_MS],
  ])('per ten seconds delays the retry (Retry-After sent: %s)', async (retryAfterOn429, waitMs) => {
    const world = await startWorld({ retryAfterOn429 });
    const target = await world.target();
    world.sandbox.configure({ tenSecondlyPrivate: 0 });
    const error = await rejection(target.apply(target.create('a', contact())));
    expect(error).toMatchObject({ actor: 'remote', code: 'rate-limited', retry: 'later', retryAfterMs: waitMs });
    world.clock.at += waitMs;
    world.sandbox.configure({ tenSecondlyPrivate: 100 });
    await target.write(target.create('a', contact()));
  });

  test.each([
    ['Europe/Zurich', '2026-11-20T09:15:00Z', 13 * HOUR_MS + 45 * MINUTE_MS],
    ['America/New_York', '2026-11-20T09:15:00Z', 19 * HOUR_MS + 45 * MINUTE_MS],
    // The clocks go back at three: the day has 25 hours.
    ['Europe/Zurich', '2026-10-24T22:00:00Z', 25 * HOUR_MS],
  ])('per day delays the retry until midnight of the account (%s at %s)', async (timeZone, now, waitMs) => {
    const world = await startWorld({ timeZone });
    world.clock.at = Date.parse(now);
    const target = await world.target();
    world.sandbox.configure({ dailyPrivate: 0 });
    const error = await rejection(target.apply(target.create('a', contact())));
    expect(error).toMatchObject({ actor: 'remote', code: 'account-daily-limit', retryAfterMs: waitMs + MINUTE_MS });
  });

  test('a lock by fast upserts delays the retry by two seconds', async () => {
    const world = await startWorld();
    const target = await world.target();
    world.sandbox.lock('contacts', 2 * SECOND_MS);
    const error = await rejection(target.apply(target.create('a', contact())));
    expect(error).toMatchObject({ actor: 'remote', code: 'writes-locked', retryAfterMs: 2 * SECOND_MS });
    world.clock.at += 2 * SECOND_MS;
    await target.write(target.create('a', contact()));
  });

  test('a lock never lets us come back sooner than in two seconds', async () => {
    const world = await startWorld();
    const target = await world.target();
    const fault = { kind: 'status', status: 423, headers: { 'retry-after': '0' } } as const;
    world.sandbox.faults.add({ match: UPSERT, fault });
    const error = await rejection(target.apply(target.create('a', contact())));
    expect(error.retryAfterMs).toBe(2 * SECOND_MS);
  });

  test('a move of the account delays the retry by the time that HubSpot reports', async () => {
    const world = await startWorld();
    const target = await world.target();
    world.sandbox.migrate(20 * HOUR_MS);
    const error = await rejection(target.apply(target.create('a', contact())));
    expect(error).toMatchObject({ actor: 'remote', code: 'account-moving', retryAfterMs: 20 * HOUR_MS });
  });

  test('that follows the writes fails only unfinished operations, and is harmless', async () => {
    const world = await startWorld();
    const contacts = await world.target();
    await contacts.write(contacts.create('anna', contact()));
    const target = await world.target({ stream: 'appointments' });
    const operation = target.create('visit', meeting(contacts.identity.key('anna', 0)));
    world.sandbox.faults.add({
      match: { path: '/associate/default' },
      times: 1,
      fault: { kind: 'status', status: 429, body: { policyName: 'TEN_SECONDLY_ROLLING' } },
    });
    expect(await rejection(target.apply(operation))).toMatchObject({ code: 'rate-limited' });
    expect((await target.write(operation)).map(describeOutcome)).toEqual(['written adopted']);
  });

  test.each([500, 502, 503, 504, 521, 522, 523, 524, 525, 526])('failure (%i) delays the retry', async (status) => {
    const world = await startWorld();
    const target = await world.target();
    world.sandbox.faults.add({ match: UPSERT, times: 1, fault: { kind: 'status', status } });
    const operation = target.create('a', contact());
    expect(await rejection(target.apply(operation))).toMatchObject({
      actor: 'remote',
      retry: 'later',
      ambiguous: true,
    });
    await target.write(operation);
  });
});

describe('a login', () => {
  test('that expires in the middle is renewed once, and the work continues', async () => {
    const world = await startWorld();
    const calls = { renewals: 0 };
    let token = world.sandbox.issueAccessToken();
    const authorizer: Authorizer = {
      header: async () => `Bearer ${token}`,
      renew: async () => {
        calls.renewals += 1;
        token = world.sandbox.issueAccessToken();
        return `Bearer ${token}`;
      },
      quotaUser: null,
    };
    const contacts = await world.target();
    await contacts.write(contacts.create('anna', contact()));
    const target = await world.target({ stream: 'appointments', authorizer });
    // A call in the middle of the work finds the token over.
    const made = { match: { path: '/meetings/batch/create' }, times: 1, fault: { kind: 'status', status: 401 } };
    world.sandbox.faults.add(made);
    await target.write(target.create('visit', meeting(contacts.identity.key('anna', 0))));
    world.sandbox.expireAccessTokens();
    await target.write(target.create('next', meeting(contacts.identity.key('anna', 0))));
    expect(calls.renewals).toBe(2);
  });

  test('that is refused after its renewal requires an administrator', async () => {
    const world = await startWorld();
    const token = world.sandbox.issuePrivateToken();
    const target = await world.target({ token });
    world.sandbox.revokePrivateToken(token);
    const error = await rejection(target.apply(target.create('a', contact())));
    expect(error).toMatchObject({ actor: 'authorization', code: 'login-refused', retry: 'never' });
  });

  test('without a permission is reported with the missing permission', async () => {
    const world = await startWorld();
    const token = world.sandbox.issuePrivateToken();
    const target = await world.target({ token });
    world.sandbox.reduceScopes(token, ['crm.objects.contacts.read']);
    const error = await rejection(target.apply(target.create('a', contact())));
    expect(error).toMatchObject({ actor: 'authorization', code: 'scope-missing' });
    expect(error.message).toContain('crm.objects.contacts.write');
  });

  test('that cannot write a sensitive property is reported by the first write, before any record exists', async () => {
    const world = await startWorld({ sensitiveData: true });
    world.sandbox.createProperty('contacts', {
      name: 'allergy',
      label: 'Allergy',
      type: 'string',
      fieldType: 'text',
      dataSensitivity: 'sensitive',
    });
    const target = await world.target({ properties: [...CONTACT, { name: 'allergy', kind: 'text' }] });
    const error = await rejection(target.apply(target.create('a', contact({ allergy: 'nuts' }))));
    expect(error).toMatchObject({ actor: 'authorization', code: 'scope-missing' });
    expect(error.message).toContain('crm.objects.contacts.sensitive.write');
  });
});

describe('an answer', () => {
  test.each(['html', 'cut-body', 'cut'] as const)('that is no answer (%s) is tried later', async (kind) => {
    const world = await startWorld();
    const target = await world.target();
    world.sandbox.faults.add({ match: UPSERT, times: 1, fault: { kind } });
    expect(await rejection(target.apply(target.create('a', contact())))).toMatchObject({ retry: 'later' });
    await target.write(target.create('a', contact()));
    expect(world.sandbox.records('contacts')).toHaveLength(1);
  });

  test('that is JSON of another kind is tried later', async () => {
    const world = await startWorld();
    const target = await world.target();
    world.sandbox.faults.add({ match: UPSERT, times: 1, fault: { kind: 'garbage', body: '{"results": 5}' } });
    const error = await rejection(target.apply(target.create('a', contact())));
    expect(error).toMatchObject({ actor: 'contract', code: 'unexpected-answer', retry: 'later' });
  });

  test('that is no JSON ends a read, and is not treated as an empty account', async () => {
    const world = await startWorld();
    const target = await world.target();
    await target.write(target.create('a', contact()));
    world.sandbox.faults.add({ match: { method: 'GET' }, times: 2, fault: { kind: 'garbage', body: '{}' } });
    await expect(target.readAll()).rejects.toMatchObject({ code: 'unexpected-answer' });
    const window = { fromAt: 0, toAt: 1 };
    const changes = target.connector.changes(target.container, { cursor: null, window }, NO_SIGNAL);
    await expect(changes).rejects.toMatchObject({ code: 'unexpected-answer' });
  });
});

describe('a refusal of rows', () => {
  test('for a key that another worker created at the same moment is retried immediately, with the e-mail address', async () => {
    const world = await startWorld();
    const target = await world.target();
    const operation = target.create('a', contact({ email: 'ada@example.org' }));
    const where = 'PropertyValueCoordinates{portalId=1, objectTypeId=0-1, propertyName=clinic_mirror_key, value=x}';
    const error = {
      category: 'VALIDATION_ERROR',
      message: `Cannot set ${where} on 1. 2 already has that value.`,
      context: { objectWriteTraceId: [operation.key] },
    };
    const body = { results: [], errors: [error] };
    world.sandbox.faults.add({ match: UPSERT, times: 1, fault: { kind: 'status', status: 207, body } });
    const [outcome] = await target.apply(operation);
    expect(failure(outcome)).toMatchObject({ actor: 'conflict', code: 'changed-meanwhile', retry: 'now' });
    expect((await target.write(operation))[0]?.stored?.properties.email).toBe('ada@example.org');
  });

  test('for a property that is gone stops the target', async () => {
    const world = await startWorld();
    const target = await world.target();
    world.sandbox.removeProperty('contacts', 'phone');
    for (const rowErrors of ['traced', 'never'] as const) {
      world.sandbox.configure({ rowErrors });
      const error = await rejection(target.apply(target.create('a', contact()), target.create('b', contact())));
      expect(error).toMatchObject({ actor: 'settings', code: 'crm-property-missing', retry: 'never' });
      expect(error.message).toContain('phone');
    }
  });

  test('for a missing option omits the option, and does not stop the other rows', async () => {
    const world = await startWorld();
    const target = await world.target({ properties: [...CONTACT, { name: 'lifecyclestage', kind: 'text' }] });
    const [bad, good] = await target.apply(
      target.create('a', contact({ lifecyclestage: 'patient' })),
      target.create('b', contact({ lifecyclestage: 'customer' })),
    );
    expect(bad).toMatchObject({ result: 'written', stored: { properties: { lifecyclestage: null } } });
    expect(describeOutcome(good!)).toBe('written created');
  });

  test('the key property that is gone stops the target, and the next preparation makes it again', async () => {
    const world = await startWorld();
    const target = await world.target();
    world.sandbox.removeProperty('contacts', 'clinic_mirror_key');
    const error = await rejection(target.apply(target.create('a', contact()), target.create('b', contact())));
    expect(error).toMatchObject({ code: 'crm-property-missing' });
    expect(await rejection(target.apply(target.update('a', contact())))).toMatchObject({
      code: 'crm-property-missing',
    });
    await containerOf(target.connector, target.container, NO_SIGNAL);
    await target.write(target.create('a', contact()));
  });
});
