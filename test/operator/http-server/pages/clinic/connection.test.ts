import { describe, expect, test } from 'vitest';
import { DAY_MS, MINUTE_MS } from '../../../../../src/core/model/time.ts';
import type { ConnectionStatus } from '../../../../../src/operator/control/status-schemas.ts';
import { accountName } from '../../../../../src/operator/http-server/pages/clinic/connection.ts';
import { useRedis } from '../../../../support/redis.ts';
import { openActsLogins, openActsWorld } from '../../../control/services-world.ts';
import { openPages } from '../open-pages.ts';

const redis = useRedis();
const TENANT = 'studio-rossi';

describe('the page of a connection', () => {
  const LOGIN: ConnectionStatus = {
    ...{ connection: 'google', kind: 'google', state: 'never', reason: null, sinceAt: null, account: null },
    ...{ accessExpiresAt: null, refreshExpiresAt: null, missingScopes: [] },
    ...{ nextTryAt: null, pause: null, isEndFixed: false, obtainedAt: null, usedAt: null },
  };
  const address = `/tenants/${TENANT}/connections/google`;

  async function openLogins(choice: Partial<Parameters<typeof openPages>[0]> = {}) {
    const { desk: loginServices } = await openActsLogins(() => redis.connect());
    const { installation } = await openActsWorld(redis.connect());
    const connected = { ...installation, connections: async () => [LOGIN] };
    const pages = await openPages({ installation: connected, desk: { loginServices: () => loginServices }, ...choice });
    return { ...pages, waiting: () => loginServices.links.list(TENANT) };
  }

  test('makes a link for ten minutes, a day or a week, which waits there until it is withdrawn', async () => {
    const { see, post, recorded, waiting } = await openLogins();
    expect(await see(address)).not.toContain('id="links"');
    const tickets: string[] = [];
    for (const hours of ['', '24', '168']) {
      const { statusCode, body } = await post(`${address}/link`, { hours });
      expect(statusCode).toBe(200);
      tickets.push(/oauth\/login\/([\w-]{43})/.exec(body)?.[1] ?? 'none');
    }
    const links = await waiting();
    const lives = links.map(({ madeAt, endsAt }) => endsAt - madeAt).sort((one, other) => one - other);
    expect(lives).toEqual([10 * MINUTE_MS, DAY_MS, 7 * DAY_MS]);
    const page = await see(address);
    for (const { id } of links) expect(page).toContain(`name="link" value="${id}"`);
    // A later visitor of the page can open none of the links.
    for (const ticket of tickets) expect(page).not.toContain(ticket);
    const [first] = links;
    const withdrawn = await post(`${address}/withdraw-link`, { link: first?.id ?? '' });
    expect([withdrawn.statusCode, withdrawn.headers.location]).toEqual([303, `${address}?did=withdrawn`]);
    const after = await see(`${address}?did=withdrawn`);
    expect(after).toContain('<a href="#links">2 unused links remain.</a>');
    expect(await see(`${address}?did=withdrawn`, { 'accept-language': 'it' })).toContain('2 link non ancora usati');
    expect(await waiting()).toEqual(links.slice(1));
    expect(await see(address)).not.toContain(first?.id);
    expect(recorded.at(-1)).toMatchObject({ verb: 'withdraw-link', outcome: 'done', what: { link: first?.id } });
  });

  test('makes no link for longer than a week, and reports a link that is gone already', async () => {
    const { see, post, waiting } = await openLogins();
    for (const hours of ['169', '-1', 'always']) {
      expect((await post(`${address}/link`, { hours })).body).toContain('link-too-long');
    }
    expect(await waiting()).toEqual([]);
    const none = await post(`${address}/withdraw-link`, { link: 'none' });
    expect(await see(String(none.headers.location))).toContain('nothing has changed');
  });

  test('requires a reason for a link or its withdrawal, if configured', async () => {
    const { see, post } = await openLogins({ acting: { reasonFor: ['login-link', 'withdraw-link'] } });
    await post(`${address}/link`, { hours: '24', why: 'ticket 7' });
    const page = await see(address);
    const hints = [...page.matchAll(/ id="(why-hint[^"]*)"/g)].map(([, id]) => id);
    expect(hints).toEqual(['why-hint-login-link', 'why-hint-withdraw-link']);
  });

  test('tells how many changes a confirmed account releases, or that none was waiting', async () => {
    const { see } = await openLogins();
    const told = await see(`${address}?did=accepted.12`);
    expect(told).toContain('The daemon now writes 12 pending changes.');
    expect(told).toContain(`href="/tenants/${TENANT}"`);
    expect(await see(`${address}?did=accepted.1`, { 'accept-language': 'it' })).toContain('1 modifica in coda');
    expect(await see(`${address}?did=accepted.0`)).toContain('No change was waiting');
    expect(await see(`${address}?did=accepted-again`)).toContain('was already confirmed: nothing has changed');
  });
});

test.each([
  ['rossi@clinic.example (1995080123)', 'rossi@clinic.example'],
  ['1995080123', '1995080123'],
  ['unknown', null],
  [null, null],
])('the account %s is shown as %s in lists', (account, shown) => {
  expect(accountName(account)).toBe(shown);
});
