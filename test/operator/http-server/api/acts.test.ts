import { beforeEach, describe, expect, test } from 'vitest';
import { useRedis } from '../../../support/redis.ts';
import { openActsLogins, openApiWorld, problemLike, ROSSI } from '../../control/services-world.ts';
import { AURORA } from '../open-services.ts';

const redis = useRedis();
let world: Awaited<ReturnType<typeof openApiWorld>>;

beforeEach(async () => {
  world = await openApiWorld(redis.connect());
  return () => world.app.close();
});

describe('connections and backups', () => {
  test('the API creates a sign-in link, and accepts the account of a connection', async () => {
    const logins = await openActsLogins(() => redis.connect());
    const open = await openApiWorld(redis.connect(), { loginServices: logins.desk });
    const path = `/tenants/${ROSSI}/connections/clinic`;
    const link = await open.as('operator')('POST', `${path}/login-link`, {});
    expect(link.body.url).toMatch(/^https:\/\/mirror\.example\/oauth\/login\/[\w-]{43}$/);
    const asked = await open.as('operator')('POST', `${path}/account`, { account: 'somebody' });
    expect(asked).toEqual(problemLike(409, 'not-connected'));
    expect(open.entries.map(({ verb, outcome }) => `${verb} ${outcome}`)).toEqual([
      ...['login-link begun', 'login-link done', 'accept-account begun', 'accept-account failed'],
    ]);
    await open.app.close();
  });

  test('a backup is made only for owners', async () => {
    const made = await world.as('owner')('POST', `/tenants/${AURORA}/backup`, {});
    expect(made.body).toEqual({ backup: 'sealed' });
    expect(world.entries).toMatchObject([{ verb: 'backup', tenant: AURORA }, { outcome: 'done' }]);
  });
});
