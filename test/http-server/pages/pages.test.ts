import { afterEach, describe, expect, test } from 'vitest';
import type { ConnectionStatus } from '../../../src/control/installation.ts';
import { DAY_MS, MINUTE_MS } from '../../../src/model/time.ts';
import { openInstallation } from '../../control/open-installation.ts';
import { openActsLogins, openActsWorld } from '../../control/services-world.ts';
import { createModelClinic } from '../../jobs/model-clinic.ts';
import { openTenant } from '../../jobs/open-tenant.ts';
import { useRedis } from '../../support/redis.ts';
import { waitFor } from '../../support/wait-for.ts';
import { appointmentOf, NOW } from '../../sync/arbitraries.ts';
import { OWNER, openPages } from './open-pages.ts';

const redis = useRedis();
const NO_CLINIC = openInstallation({ tenants: [] });
const TENANT = 'studio-rossi';

async function openWorld(choice: Partial<Parameters<typeof openPages>[0]> = {}) {
  const world = await openActsWorld(redis.connect());
  return { ...world, ...(await openPages({ installation: world.installation, ...choice })) };
}

describe('what pages load', () => {
  test('is kept by browsers for good where the address names what it holds, and asked for again else', async () => {
    const { app, see } = await openPages({ installation: NO_CLINIC, visitor: null });
    const addresses = (await openPages({ installation: NO_CLINIC }).then(({ see: seen }) => seen('/'))).match(
      /\/assets\/[^"]+/g,
    );
    expect(addresses?.length).toBeGreaterThan(3);
    for (const url of addresses ?? []) {
      const { statusCode, headers } = await app.inject({ url });
      expect([statusCode, headers['cache-control']]).toEqual([200, 'public, max-age=31536000, immutable']);
    }
    const other = await app.inject({ url: '/assets/pages.css?v=other' });
    expect(other.headers['cache-control']).toBe('no-cache');
    expect(JSON.parse(await see('/assets/..%2fpages.ts'))).toEqual({ error: 'not-found' });
  });

  test('is packed for who takes it so', async () => {
    const { app } = await openPages({ installation: NO_CLINIC });
    const plain = await app.inject({ url: '/assets/pages.css' });
    const packed = await app.inject({ url: '/assets/pages.css', headers: { 'accept-encoding': 'br, gzip' } });
    expect(packed.headers['content-encoding']).toBe('gzip');
    expect(packed.rawPayload.length).toBeLessThan(plain.rawPayload.length / 2);
  });

  test('is of this server alone: no page has a script or a style in itself', async () => {
    const { see, app } = await openWorld();
    for (const path of ['/', '/activity', `/tenants/${TENANT}`, `/tenants/${TENANT}/targets/doctor`]) {
      const page = await see(path);
      expect(page).toContain('</html>');
      expect(page).not.toMatch(/<style|\sstyle=|\son\w+=|<script(?! (defer|type="module") src="\/assets\/)/);
      expect(page).not.toMatch(/(?:src|href)="(?!\/|#|\?)/);
    }
    const { headers } = await app.inject({ url: '/' });
    expect(headers['content-security-policy']).toContain("script-src 'self'");
  });
});

describe('language and colours', () => {
  test('are the browser’s until somebody chooses, and stay then', async () => {
    const { see, post } = await openPages({ installation: NO_CLINIC });
    expect(await see('/', { 'accept-language': 'it-IT,it;q=0.9' })).toContain('<html lang="it">');
    const chosen = await post('/preferences', { language: 'en', theme: 'dark', back: '/activity' });
    expect([chosen.statusCode, chosen.headers.location]).toEqual([303, '/activity']);
    const cookie = [chosen.headers['set-cookie'] ?? []]
      .flat()
      .map((each) => each.split(';')[0])
      .join('; ');
    expect(await see('/', { 'accept-language': 'it', cookie })).toContain('<html lang="en" data-theme="dark">');
  });

  test('lead nowhere but back here, and take nothing else', async () => {
    const { post } = await openPages({ installation: NO_CLINIC });
    for (const back of ['https://evil.test', '//evil.test', '/\\evil.test', 'javascript:alert(1)', '']) {
      expect((await post('/preferences', { language: 'it', back })).headers.location).toBe('/');
    }
    expect(
      (await post('/preferences', { language: 'x; Domain=evil', back: '/' })).headers['set-cookie'],
    ).toBeUndefined();
  });
});

describe('what nobody can have', () => {
  const asked = { accept: 'text/html,*/*;q=0.8' };

  test('is told to a person by a page that tells nothing of the installation, to a program by a code', async () => {
    const { app } = await openWorld({ visitor: { ...OWNER, level: 'viewer', tenants: new Set(['another']) } });
    const ask = async (url: string, method: 'GET' | 'POST' = 'GET') => {
      const person = await app.inject({ url, method, headers: { ...asked, 'accept-language': 'it' } });
      const program = await app.inject({ url, method });
      expect(person.headers['content-type'], url).toBe('text/html; charset=utf-8');
      expect(person.body).toContain('<html lang="it">');
      expect(person.body).toContain(`<code>${program.json().error}</code>`);
      expect(person.body).not.toMatch(/studio-rossi|another/);
      expect(person.statusCode).toBe(program.statusCode);
      return `${person.statusCode} ${program.json().error}`;
    };
    expect(await ask('/nowhere')).toBe('404 not-found');
    expect(await ask(`/tenants/${TENANT}`)).toBe('404 no-such-tenant');
    expect(await ask('/queues')).toBe('403 not-allowed');
    expect(await ask('/preferences', 'POST')).toBe('403 not-from-here');
  });

  test('since the session has ended is told with the way to sign in, and nothing was done', async () => {
    const { app } = await openWorld({ visitor: null });
    const { statusCode, body } = await app.inject({ url: `/tenants/${TENANT}/sync`, method: 'POST', headers: asked });
    expect(statusCode).toBe(401);
    expect(body).toMatch(/The session has ended[\s\S]*Nothing was done[\s\S]*href="\/sign-in"/);
  });
});

describe('a clinic’s page', () => {
  test('shows targets, logins, records and runs, and what a run wrote can be undone from there', async () => {
    const { see, changedRun, post, recorded } = await openWorld();
    const run = await changedRun();
    const page = await see(`/tenants/${TENANT}`);
    for (const part of ['targets', 'connections', 'records', 'runs', 'reminders', 'holds'])
      expect(page).toContain(`id="${part}"`);
    const address = `/tenants/${TENANT}/runs/${run}/undo`;
    expect(page).toContain(`href="${address}"`);
    const before = await see(address);
    expect(before).toContain('would be brought to what the clinic has now');
    expect(recorded).toEqual([]);
    expect((await post(address)).statusCode).toBe(200);
    expect(recorded.map(({ verb, outcome }) => `${verb} ${outcome}`)).toEqual(['undo begun', 'undo done']);
  });

  test('begins a cycle, in the name of who pressed the button, and tells how it ended', async () => {
    const { see, post, recorded } = await openWorld();
    const { statusCode, headers } = await post(`/tenants/${TENANT}/sync`);
    expect(statusCode).toBe(303);
    expect(recorded.map(({ verb, who }) => `${verb} by ${who.name}`)).toEqual(['sync by owner', 'sync by owner']);
    expect(await see(String(headers.location))).toMatch(/<strong>Sync now:<\/strong> done\./);
  });

  test('is asked for again by the browser itself while what was begun there goes on, however little that changes', async () => {
    const { app, tenant } = await openWorld();
    const now = tenant.clock();
    const task = { id: 'x', kind: 'sync', beganAt: now, aliveAt: now, step: null, result: null, error: null } as const;
    const refreshOf = async (state: 'running' | 'done') => {
      await tenant.tasks.put('x', { ...task, state });
      return (await app.inject({ url: `/tenants/${TENANT}?task=x` })).headers.refresh;
    };
    expect([await refreshOf('running'), await refreshOf('done')]).toEqual(['2', undefined]);
  });

  test('asks for a reason where one is wanted', async () => {
    const { see, post, recorded } = await openWorld({ acting: { reasonFor: ['sync'] } });
    expect(await see(`/tenants/${TENANT}`)).toContain('name="why" required');
    const without = await post(`/tenants/${TENANT}/sync`);
    expect(await see(String(without.headers.location))).toContain('reason-missing');
    await post(`/tenants/${TENANT}/sync`, { why: 'ticket 7' });
    expect(recorded.at(-1)).toMatchObject({ verb: 'sync', outcome: 'done', why: 'ticket 7' });
  });

  test('tells of what is held, and leads there', async () => {
    const { see, heldRun } = await openWorld();
    await heldRun();
    const page = await see(`/tenants/${TENANT}`);
    expect(page).toContain('1 waits for a decision');
    expect(page).toContain(`href="/tenants/${TENANT}/holds"`);
    expect(await see(`/tenants/${TENANT}/targets/doctor?state=held`)).toContain('/explain?id=');
  });

  test('of one that is not there says so, with what there is', async () => {
    const { app } = await openWorld();
    const { statusCode, body } = await app.inject({ url: '/tenants/nobody', headers: { 'accept-language': 'en' } });
    expect(statusCode).toBe(404);
    expect(body).toContain('no-such-tenant');
    expect(body).toContain('role="alert"');
  });

  test('of one that is not there any more names no other to who may see that one alone', async () => {
    const url = '/tenants/nobody';
    const { see } = await openWorld();
    expect(await see(url)).toContain(TENANT);
    const limited = await openWorld({ visitor: { ...OWNER, tenants: new Set(['nobody']) } });
    const body = await limited.see(url);
    expect(body).toContain('no-such-tenant');
    expect(body).not.toContain(TENANT);
  });

  test('changes nothing without the proof of a form, and for who may only look', async () => {
    const { post, recorded } = await openWorld({ visitor: { ...OWNER, level: 'viewer' } });
    expect((await post(`/tenants/${TENANT}/sync`)).statusCode).toBe(403);
    const owner = await openWorld();
    expect((await owner.post(`/tenants/${TENANT}/sync`, { csrf: 'guessed' })).statusCode).toBe(403);
    expect([...recorded, ...owner.recorded]).toEqual([]);
  });
});

describe('a login’s page', () => {
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
    // Whoever sees the page later can open none of them.
    for (const ticket of tickets) expect(page).not.toContain(ticket);
    const [first] = links;
    const withdrawn = await post(`${address}/withdraw-link`, { link: first?.id ?? '' });
    expect([withdrawn.statusCode, withdrawn.headers.location]).toEqual([303, address]);
    expect(await waiting()).toEqual(links.slice(1));
    expect(await see(address)).not.toContain(first?.id);
    expect(recorded.at(-1)).toMatchObject({ verb: 'withdraw-link', outcome: 'done', what: { link: first?.id } });
  });

  test('makes no link for longer than a week, and says so when one is gone already', async () => {
    const { post, waiting } = await openLogins();
    for (const hours of ['169', '-1', 'always']) {
      expect((await post(`${address}/link`, { hours })).body).toContain('link-too-long');
    }
    expect(await waiting()).toEqual([]);
    expect((await post(`${address}/withdraw-link`, { link: 'none' })).body).toContain('no-such-link');
  });

  test('asks for a reason where one is wanted for a link or its withdrawal', async () => {
    const { see, post } = await openLogins({ acting: { reasonFor: ['login-link', 'withdraw-link'] } });
    await post(`${address}/link`, { hours: '24', why: 'ticket 7' });
    const page = await see(address);
    const hints = [...page.matchAll(/ id="(why-hint[^"]*)"/g)].map(([, id]) => id);
    expect(hints).toEqual(['why-hint-login-link', 'why-hint-withdraw-link']);
  });
});

test('every page says who may come, and what changes something is for operators; files are for everybody', async () => {
  const { routes } = await openPages({ installation: NO_CLINIC });
  expect(routes.filter(({ level }) => level === null).map(({ url }) => url)).toEqual(['/assets/:name']);
  const forms = routes.filter(({ method, url }) => method === 'POST' && url !== '/preferences');
  expect(forms.length).toBeGreaterThan(4);
  expect(forms.filter(({ level }) => level === 'viewer')).toEqual([]);
});

describe('pages that follow what happens', () => {
  const streams: AbortController[] = [];
  afterEach(() => {
    for (const stream of streams.splice(0)) stream.abort();
  });

  /** What a browser reads of the stream until a text comes, or it ends. */
  async function follow(url: string, headers: Record<string, string> = {}) {
    const ending = new AbortController();
    streams.push(ending);
    const response = await fetch(url, { signal: ending.signal, headers });
    const heard = { text: '', isOver: false };
    const reading = (async () => {
      for await (const chunk of response.body ?? []) heard.text += new TextDecoder().decode(chunk);
    })();
    reading
      .catch(() => {})
      .finally(() => {
        heard.isOver = true;
      });
    return { response, heard };
  }

  test('are told that something changed, and nothing of what', async () => {
    const { listen, changedRun } = await openWorld();
    const { response, heard } = await follow(`${await listen()}/events?tenant=${TENANT}`);
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    await waitFor(() => heard.text.includes('id: '), { what: 'the first look' });
    expect(heard.text).not.toContain('changed');
    await changedRun();
    await waitFor(() => heard.text.includes('event: changed\ndata:\n\n'), { what: 'the change' });
    expect(heard.text.replaceAll(/^(id: [\w-]{43}|event: changed|data:|retry: 3000|:|)$/gm, '').trim()).toBe('');
  });

  test('hear of what changed while they were away', async () => {
    const { listen } = await openWorld();
    const url = await listen();
    const again = await follow(`${url}/events?tenant=${TENANT}`, { 'last-event-id': 'of-before' });
    const older = await follow(`${url}/events?seen=of-an-older-page`);
    await waitFor(() => again.heard.text.includes('changed'), { what: 'the change, for who comes back' });
    await waitFor(() => older.heard.text.includes('changed'), { what: 'the change, for who has an older page' });
  });

  test('end with the server', async () => {
    const { app, listen } = await openWorld();
    const { heard } = await follow(`${await listen()}/events`);
    await app.close();
    await waitFor(() => heard.isOver, { what: 'the end' });
  });

  test('are followed by one visitor at eight places at most', async () => {
    const { listen } = await openPages({ installation: NO_CLINIC });
    const url = await listen();
    const statuses: number[] = [];
    for (let count = 0; count < 9; count += 1) statuses.push((await follow(`${url}/events`)).response.status);
    expect(statuses).toEqual([...Array.from({ length: 8 }, () => 200), 429]);
  });

  test('of a clinic that somebody may not see are not there', async () => {
    const { app } = await openWorld({ visitor: { ...OWNER, tenants: new Set(['another']) } });
    for (const url of [`/events?tenant=${TENANT}`, '/events?tenant=nobody', `/tenants/${TENANT}`]) {
      expect((await app.inject({ url })).statusCode).toBe(404);
    }
  });
});

describe('who did what', () => {
  test('says so where no log is kept', async () => {
    const { see } = await openPages({ installation: NO_CLINIC, acting: { log: null } });
    expect(await see('/activity')).toContain('dataDirectory');
  });
});

async function open() {
  const clinic = createModelClinic();
  for (const id of ['first', 'second']) clinic.appointments.set(id, appointmentOf(id, { inHours: 3 }));
  const tenant = openTenant({ redis: redis.connect(), clinic, targets: [], clock: () => NOW });
  const pages = await openPages({ installation: openInstallation({ tenants: [tenant] }) });
  return { pages, tenant: tenant.id };
}

test('an operation with a page is shown by its document, and the navigation leads to it in the language of the visitor', async () => {
  const { pages, tenant } = await open();
  const path = `/tenants/${tenant}/overlaps`;
  const page = await pages.see(path, { 'accept-language': 'it' });
  expect(page).toMatch(/<h1[^>]*>[^<]*Sovrapposizioni/);
  expect(page).toContain(`/tenants/${tenant}/explain?id=first`);
  expect(page).toContain(`/tenants/${tenant}/explain?id=second`);
  expect(await pages.see(`/tenants/${tenant}`, { 'accept-language': 'en' })).toMatch(
    new RegExp(`<a href="${path}"[^>]*>Overlaps</a>`),
  );
});

test('there is none for an unknown clinic', async () => {
  const { pages } = await open();
  expect(await pages.see('/tenants/nobody/overlaps')).toContain('nobody');
});
