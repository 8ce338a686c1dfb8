import { beforeEach, describe, expect, test } from 'vitest';
import { allPages, openApiWorld, problemLike, ROSSI } from '../../operator/control/services-world.ts';
import { useRedis } from '../../support/redis.ts';
import { cycle } from '../../tenant/cycle.ts';

const redis = useRedis();
let world: Awaited<ReturnType<typeof openApiWorld>>;
let hold: { id: string; recordIds: readonly string[] };
let path: string;
beforeEach(async () => {
  world = await openApiWorld(redis.connect(), { policy: { holdsAbove: 10 } });
  hold = await world.rossi.heldRun();
  path = `/tenants/${ROSSI}/holds/${hold.id}`;
  return () => world.app.close();
});

/** What a visitor would see of the hold now. */
const seenNow = async (): Promise<string> => (await world.as('viewer')('GET', path)).body.hold.seen;

describe('a hold', () => {
  test('is listed, and told with its records page by page', async () => {
    const listed = { id: hold.id, tenant: ROSSI, target: 'doctor', state: 'open', items: 30, partOf: null };
    const { body } = await world.as('viewer')('GET', `/tenants/${ROSSI}/holds`);
    expect(body.items).toMatchObject([listed]);
    expect((await world.as('viewer')('GET', '/holds')).body.items).toMatchObject([listed]);
    expect((await world.as('viewer-of-aurora')('GET', '/holds')).body.items).toEqual([]);
    const records = await allPages(async (query) => {
      const { status, body: page } = await world.as('viewer')('GET', `${path}?${query}`);
      return { status, body: { items: page.records, next: page.next } };
    }, 7);
    expect(records).toEqual([...hold.recordIds].sort());
  });

  test('is decided in part: the chosen changes are applied, the rest waits', async () => {
    const only = hold.recordIds.slice(0, 9);
    const decision = { decision: 'approved', seen: await seenNow(), only, reason: 'INC-7' };
    const { status, body } = await world.as('operator')('POST', `${path}/decision`, decision);
    expect([status, body.hold]).toMatchObject([200, { state: 'approved', items: 9, partOf: hold.id }]);
    expect(world.installation.pulled).toEqual([ROSSI]);
    await cycle(world.rossi.tenant);
    expect((await world.rossi.tenant.links.read('doctor')).size).toBe(21);
    expect((await world.as('viewer')('GET', path)).body.hold).toMatchObject({ state: 'open', items: 21 });
    expect(world.entries[0]).toMatchObject({
      verb: 'approve',
      why: 'INC-7',
      what: { hold: hold.id, items: 9, of: 30 },
    });
  });

  test('that requires two operators is approved by the second', async () => {
    const seen = await seenNow();
    const decide = (who: string) => world.as(who)('POST', `${path}/decision`, { decision: 'approved', seen });
    expect(await decide('operator')).toEqual(problemLike(409, 'second-person-needed'));
    expect(await decide('operator')).toEqual(problemLike(409, 'second-person-same'));
    expect((await decide('bruno')).body.hold).toMatchObject({ id: hold.id, state: 'approved', items: 30 });
  });

  test.each([
    ['differs from the shown hold', { decision: 'rejected', seen: 'aaaaaaaa' }, 409, 'hold-changed'],
    ['does not contain the selected items', { decision: 'rejected', only: ['nothing'] }, 409, 'hold-changed'],
    ['gets an unknown decision', { decision: 'perhaps' }, 400, 'request-invalid'],
  ])('that %s is not decided', async (_, body, status, code) => {
    expect(await world.as('operator')('POST', `${path}/decision`, body)).toEqual(problemLike(status, code));
    expect((await world.as('viewer')('GET', path)).body.hold).toMatchObject({ state: 'open', items: 30 });
  });

  test('that is not there is not found', async () => {
    expect(await world.as('viewer')('GET', `/tenants/${ROSSI}/holds/zzzzz`)).toEqual(problemLike(404, 'no-such-hold'));
  });
});
