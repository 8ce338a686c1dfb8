import { beforeAll, describe, expect, test } from 'vitest';
import { ROUTES } from '../../../../src/operator/http-server/api/routes.ts';
import { useRedis } from '../../../support/redis.ts';
import { LEVELS, openApiWorld, problemLike } from '../../control/services-world.ts';

const redis = useRedis();

let world: Awaited<ReturnType<typeof openApiWorld>>;

beforeAll(async () => {
  world = await openApiWorld(redis.connect());
  return () => world.app.close();
});

/** Returns the path of a route with parameters that name nothing. */
const addressOf = (path: string, tenant: string) =>
  path.replace('{tenant}', tenant).replaceAll(/\{(\w+)\}/g, 'nothing-of-that-name');

const QUERIES: Readonly<Record<string, string>> = { listRecords: '?state=in-sync' };

/** What each route takes at least. */
function bodyFor(name: string): object | undefined {
  const patient = { patient: 'pat-1' };
  const bodies: Record<string, object> = {
    ...{ exportPatient: patient, previewForgetting: patient, forgetPatient: patient, followAgain: patient },
    ...{ decideHold: { decision: 'rejected' }, undoRun: { dryRun: true } },
    ...{ replaceConfiguration: { yaml: 'name: Nobody' } },
    ...{ acceptAccount: { account: 'unknown' }, restore: { backup: 'sealed' } },
  };
  return bodies[name] ?? (ROUTES.find((route) => route.name === name)?.body === null ? undefined : {});
}

describe.each(ROUTES.map((route) => [route.name, route] as const))('%s', (name, { method, path, level, body }) => {
  const address = addressOf(path, 'studio-rossi') + (QUERIES[name] ?? '');
  const given = body === null ? undefined : {};

  test('refuses requests without a sign-in, or below its level', async () => {
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

  if (path.startsWith('/tenants/{tenant}'))
    test('gives the same answer for a missing tenant and for one of another owner', async () => {
      const body = bodyFor(name);
      const unknown = await world.as('owner')(method, addressOf(path, 'nobody') + (QUERIES[name] ?? ''), body);
      expect(unknown).toEqual(problemLike(404, 'no-such-tenant'));
      const notTheirs = await world.as('viewer-of-aurora')(method, address, body);
      expect(notTheirs.status).toBe(404);
      expect(notTheirs.body).toEqual(unknown.body);
      expect(JSON.stringify(unknown.body)).not.toMatch(/rossi|aurora|broken/);
    });
});
