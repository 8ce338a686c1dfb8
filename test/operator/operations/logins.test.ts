import { expect, test } from 'vitest';
import { LOGIN_OPERATIONS } from '../../../src/operator/operations/logins.ts';
import { TENANT } from '../../oauth/connection.ts';
import { useRedis } from '../../support/redis.ts';
import { openActing } from '../control/acting.ts';
import { openInstallation } from '../control/open-installation.ts';
import { openActsLogins } from '../control/services-world.ts';
import { contextWith } from './run-operation.ts';

const redis = useRedis();
const CLINIC = { tenant: TENANT, connection: 'clinic' };

async function open() {
  const { desk } = await openActsLogins(() => redis.connect());
  const acting = openActing();
  const installation = openInstallation({ tenants: [] });
  return { desk, acting, context: contextWith({ installation, acting, logins: async () => desk }) };
}

test('a link is recorded by its id when made and withdrawn, and never by its secret', async () => {
  const { context, acting } = await open();
  const { url, link } = await LOGIN_OPERATIONS.makeLoginLink.run({ ...CLINIC, hours: 24 }, context);
  await LOGIN_OPERATIONS.withdrawLoginLink.run({ tenant: TENANT, link }, context);
  expect(acting.recorded.map(({ verb, outcome }) => `${verb} ${outcome}`)).toEqual([
    ...['login-link begun', 'login-link done', 'withdraw-link begun', 'withdraw-link done'],
  ]);
  expect(acting.recorded.at(-1)?.what).toMatchObject({ connection: 'clinic', link });
  expect(JSON.stringify(acting.recorded)).not.toContain(url.split('/').at(-1));
});

test('the withdrawal of a link that is not there is refused as no-such-link, and recorded without an id', async () => {
  const { context, acting } = await open();
  const withdrawn = LOGIN_OPERATIONS.withdrawLoginLink.run({ tenant: TENANT, link: 'of-another' }, context);
  await expect(withdrawn).rejects.toMatchObject({ code: 'no-such-link' });
  expect(acting.recorded.map(({ what }) => what)).toMatchObject([
    { connection: null, link: null },
    { connection: null, link: null },
  ]);
});

test('a link for a connection that is not configured is refused before anything is recorded', async () => {
  const { desk, acting, context } = await open();
  desk.target = () => {
    throw new Error('the connection does not exist');
  };
  await expect(LOGIN_OPERATIONS.makeLoginLink.run({ ...CLINIC, hours: null }, context)).rejects.toThrow(
    'the connection does not exist',
  );
  expect(acting.recorded).toEqual([]);
});
