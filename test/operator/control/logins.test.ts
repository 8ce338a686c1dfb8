import { expect, test } from 'vitest';
import { MirrorError } from '../../../src/core/model/errors.ts';
import { HOUR_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import {
  beginRemoteLogin,
  describeLoginLink,
  type LoginServices,
  listLoginLinks,
  withdrawLoginLink,
} from '../../../src/operator/control/logins.ts';
import { TENANT } from '../../oauth/connection.ts';
import { useRedis } from '../../support/redis.ts';
import { openActsLogins } from './services-world.ts';

const redis = useRedis();

/** Opens a tenant's connection to a scripted provider, with one expected account. */
async function open(
  choice: Partial<LoginServices> = {},
  expected: object | null = { address: 'rossi@aurora.example' },
) {
  const { desk } = await openActsLogins(() => redis.connect());
  const target: LoginServices['target'] = (tenant, connection) => ({ ...desk.target(tenant, connection), expected });
  return { ...desk, target, ...choice };
}

const ticketOf = (url: string) => url.split('/').at(-1) ?? '';

test('a link shows its purpose each time it is opened, and stays valid', async () => {
  const about = () => ({
    ...{ clinic: 'Studio Aurora', language: 'it' as const },
    targets: [{ connector: 'google-calendar', holds: 'events' as const }],
  });
  const desk = await open({ about });
  const { url, endsAt } = await beginRemoteLogin(desk, { tenant: TENANT, connection: 'clinic' }, 'anna', 48);
  for (let at = 0; at < 3; at += 1) {
    expect(await describeLoginLink(desk, ticketOf(url))).toMatchObject({
      ...{ clinic: 'Studio Aurora', language: 'it', vendor: 'clinic', connection: 'clinic', tenant: TENANT },
      ...{ expected: 'rossi@aurora.example', endsAt, targets: [{ connector: 'google-calendar', holds: 'events' }] },
    });
  }
  expect(await desk.links.take(ticketOf(url))).toMatchObject({ connection: 'clinic' });
  await expect(describeLoginLink(desk, ticketOf(url))).rejects.toMatchObject({ code: 'login-unknown' });
});

test.each<[string, object | null, string | null]>([
  ['of a domain', { domain: 'aurora.example' }, '@aurora.example'],
  ['by its id', { subject: '1101' }, '1101'],
  ['of anybody', null, null],
])('a link shows the expected account: %s', async (_, expected, told) => {
  const desk = await open({}, expected);
  const { url } = await beginRemoteLogin(desk, { tenant: TENANT, connection: 'clinic' }, 'anna', null);
  expect((await describeLoginLink(desk, ticketOf(url))).expected).toBe(told);
});

test('a link is valid for ten minutes, or for the requested hours, at most a week', async () => {
  const desk = await open({ clock: () => 0 });
  const lifeOf = async (hours: number | null) =>
    (await beginRemoteLogin(desk, { tenant: TENANT, connection: 'clinic' }, 'anna', hours)).endsAt;
  expect(await Promise.all([lifeOf(null), lifeOf(48), lifeOf(168)])).toEqual([
    ...[10 * MINUTE_MS, 48 * HOUR_MS, 168 * HOUR_MS],
  ]);
  for (const hours of [0, -1, 169, Number.NaN, Number.POSITIVE_INFINITY]) {
    await expect(lifeOf(hours), String(hours)).rejects.toMatchObject({ code: 'link-too-long' });
  }
});

test('links are listed for users who may revoke them, without their secret', async () => {
  const desk = await open();
  const { id, url } = await beginRemoteLogin(desk, { tenant: TENANT, connection: 'clinic' }, 'anna', 48);
  const list = await listLoginLinks(desk, TENANT);
  expect(list).toMatchObject([{ id, connection: 'clinic', by: 'anna' }]);
  expect(JSON.stringify(list)).not.toContain(ticketOf(url));
  await withdrawLoginLink(desk, TENANT, id);
  expect(await listLoginLinks(desk, TENANT)).toEqual([]);
  await expect(withdrawLoginLink(desk, TENANT, id)).rejects.toMatchObject({ code: 'no-such-link' });
  await expect(describeLoginLink(desk, ticketOf(url))).rejects.toMatchObject({ code: 'login-unknown' });
  const about = () => {
    throw new MirrorError('there is no tenant', { actor: 'settings', code: 'no-such-tenant', retry: 'never' });
  };
  await expect(listLoginLinks({ ...desk, about }, 'nobody')).rejects.toMatchObject({ code: 'no-such-tenant' });
});
