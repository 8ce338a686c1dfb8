import { Validator } from '@seriousme/openapi-schema-validator';
import { beforeAll, describe, expect, test } from 'vitest';
import { ROUTES } from '../../../src/http-server/api/routes.ts';
import { LEVELS, openApiWorld, problemLike } from '../../control/services-world.ts';
import { useRedis } from '../../support/redis.ts';

const redis = useRedis();
let world: Awaited<ReturnType<typeof openApiWorld>>;
beforeAll(async () => {
  world = await openApiWorld(redis.connect());
  return () => world.app.close();
});

/** The address of a route in which nothing is there that it names. */
const addressOf = (path: string, tenant: string) =>
  path.replace('{tenant}', tenant).replaceAll(/\{(\w+)\}/g, 'nothing-of-that-name');

describe('the OpenAPI document', () => {
  test('is valid OpenAPI 3.1, and describes every route', async () => {
    const { status, body } = await world.as('viewer')('GET', '/openapi.json');
    expect(status).toBe(200);
    const validator = new Validator();
    const { valid, errors } = await validator.validate(body);
    expect([errors ?? [], valid, validator.version]).toEqual([[], true, '3.1']);
    const operations = Object.entries(body.paths as Record<string, Record<string, { operationId: string }>>).flatMap(
      ([path, methods]) =>
        Object.entries(methods).map(([method, { operationId }]) => `${method} ${path} ${operationId}`),
    );
    expect(operations.length).toBeGreaterThan(30);
    expect(operations.sort()).toEqual(
      ROUTES.map(({ method, path, name }) => `${method.toLowerCase()} /api/v1${path} ${name}`).sort(),
    );
  });

  test('gives every operation a name of its own', () => {
    const names = ROUTES.map(({ name }) => name);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });
});

const QUERIES: Readonly<Record<string, string>> = { listRecords: '?state=in-sync' };

describe.each(ROUTES.map((route) => [route.name, route] as const))('%s', (name, { method, path, level, body }) => {
  const address = addressOf(path, 'studio-rossi') + (QUERIES[name] ?? '');
  const given = body === null ? undefined : {};

  test('lets nobody in without a login, or below its level', async () => {
    expect(await world.as(null)(method, address, given)).toEqual(problemLike(401, 'not-logged-in'));
    const below = LEVELS[LEVELS.indexOf(level) - 1];
    if (below === undefined) return;
    expect(await world.as(below)(method, address, given)).toEqual(problemLike(403, 'not-allowed'));
  });

  test('takes nothing that it does not know', async () => {
    const query = address.includes('?') ? `${address}&unheard-of=1` : `${address}?unheard-of=1`;
    const asked = await world.as('owner')(method, query, given);
    expect(asked).toEqual(problemLike(400, 'request-invalid'));
    if (body === null) return;
    expect(await world.as('owner')(method, address, { 'unheard-of': 1 })).toEqual(problemLike(400, 'request-invalid'));
  });

  test.runIf(path.startsWith('/tenants/{tenant}'))(
    'tells of a tenant that is not there as of one that is not theirs',
    async () => {
      const body = bodyFor(name);
      const unknown = await world.as('owner')(method, addressOf(path, 'nobody') + (QUERIES[name] ?? ''), body);
      expect(unknown).toEqual(problemLike(404, 'no-such-tenant'));
      const notTheirs = await world.as('viewer-of-aurora')(method, address, body);
      expect(notTheirs.status).toBe(404);
      expect(notTheirs.body).toEqual(unknown.body);
      expect(JSON.stringify(unknown.body)).not.toMatch(/rossi|aurora|broken/);
    },
  );
});

/** What each route takes at least. */
function bodyFor(name: string): object | undefined {
  const patient = { patient: 'pat-1' };
  const bodies: Record<string, object> = {
    ...{ previewForgetting: patient, forgetPatient: patient, followAgain: patient },
    ...{ decideHold: { decision: 'rejected' }, undoRun: { dryRun: true } },
    ...{ replaceConfiguration: { yaml: 'name: Nobody' } },
    ...{ acceptAccount: { account: 'unknown' }, restore: { backup: 'sealed' } },
  };
  return bodies[name] ?? (ROUTES.find((route) => route.name === name)?.body === null ? undefined : {});
}

describe('a question', () => {
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

  test('with a reason that tells of a patient is refused in the words of the command line', async () => {
    const asked = await world.as('operator')('POST', '/tenants/studio-rossi/sync', { reason: 'mario@rossi.example' });
    expect(asked).toEqual(problemLike(400, 'reason-unusable'));
  });
});
