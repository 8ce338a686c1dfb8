import { beforeAll, describe, expect, test } from 'vitest';
import { useRedis } from '../../../support/redis.ts';
import { openApiWorld, problemLike } from '../../control/services-world.ts';

const redis = useRedis();

let world: Awaited<ReturnType<typeof openApiWorld>>;

beforeAll(async () => {
  world = await openApiWorld(redis.connect());
  return () => world.app.close();
});

describe('a request', () => {
  test('that is no JSON, or comes as a form does, is not taken', async () => {
    const ask = (payload: string, type: string) =>
      world.app.inject({
        method: 'POST',
        url: '/api/v1/tenants/studio-rossi/sync',
        headers: { authorization: 'Bearer operator', 'content-type': type },
        payload,
      });
    for (const answer of [
      await ask('{"reason":', 'application/json'),
      await ask('reason=x', 'application/x-www-form-urlencoded'),
      await ask('{"__proto__":{"reason":"x"}}', 'application/json'),
    ]) {
      expect([answer.statusCode, answer.json().code]).toEqual([400, 'request-invalid']);
    }
  });

  test('that is larger than the route takes is refused', async () => {
    const asked = await world.as('operator')('POST', '/tenants/studio-rossi/sync', { reason: 'x'.repeat(70_000) });
    expect(asked).toEqual(problemLike(413, 'request-too-large'));
  });

  test('for nothing that there is gets a problem too', async () => {
    expect(await world.as('owner')('GET', '/nothing')).toEqual(problemLike(404, 'not-found'));
  });

  test('with a reason that names a patient is refused with the text of the command line', async () => {
    const asked = await world.as('operator')('POST', '/tenants/studio-rossi/sync', { reason: 'mario@rossi.example' });
    expect(asked).toEqual(problemLike(400, 'reason-unusable'));
  });
});
