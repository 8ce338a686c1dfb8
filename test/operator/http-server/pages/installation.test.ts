import { describe, expect, test } from 'vitest';
import { redisUnreachable } from '../../../../src/core/model/errors.ts';
import { DAY_MS, HOUR_MS } from '../../../../src/core/model/time.ts';
import { message } from '../../../../src/messages/message.ts';
import type { Installation } from '../../../../src/operator/control/installation.ts';
import { NOW } from '../../../domain/arbitraries.ts';
import { openInstallation } from '../../control/open-installation.ts';
import { AURORA } from '../open-services.ts';
import { OWNER, openPages } from './open-pages.ts';
import { wordsOf } from './page-context.ts';

const IT = { cookie: 'language=it' };
const WELL = { refusal: null, clockAheadMs: 1_500, daemonSeenAgoMs: 0, answerMs: 0.4 };

/** Opens the page over an installation without tenants. */
async function open(changes: Partial<Installation> = {}, choice: Partial<Parameters<typeof openPages>[0]> = {}) {
  const installation = { ...openInstallation({ tenants: [] }), clock: () => NOW, ...changes };
  return openPages({ installation, ...choice });
}

/** What the page says of one part. */
const lineOf = (body: string, part: string) =>
  wordsOf(new RegExp(`<tr role="row" id="row-part-${part}">.*?</tr>`, 's').exec(body)?.[0] ?? '');

describe('the page of the installation', () => {
  test('shows owners each part with its state and the time of its reading', async () => {
    const { see } = await open({
      redis: async () => ({ ...WELL, memory: { usedBytes: 3 * 2 ** 20, limitBytes: 256 * 2 ** 20 } }),
      queues: async () => [
        {
          queue: 'push',
          counts: { waiting: 2, active: 1, delayed: 3, failed: 0 },
          waiting: [],
          active: [],
          failed: [],
        },
      ],
      forecast: async () => ({
        endings: [{ kind: 'secret', of: 'googleClients main', beganAt: null, endsAt: NOW + 90 * DAY_MS }],
        quotas: [{ client: 'hubspotClients main', hourShare: 0.129, days: [] }],
        unkept: null,
      }),
      upkeep: { read: async () => ({ check: { at: NOW, ended: 0 } }), auditLogMs: () => DAY_MS },
      removed: { parts: async () => new Map(), tenants: async () => new Map([['gone', NOW]]), retentionMs: HOUR_MS },
    });
    const body = await see('/installation');
    expect(lineOf(body, 'process')).toMatch(/^This process ok Version \d+\.\d+\.\d+ runs on /);
    expect(lineOf(body, 'redis')).toMatch(
      /^Redis ok Redis answers in 0.4 ms and accepts a test write. Redis uses 3 MiB of 256 MiB \(maxmemory\). The clocks of this host and of Redis differ by 1.5 s\..* \d\d:\d\d$/,
    );
    expect(lineOf(body, 'directory')).toContain('ok Decisions are also stored outside Redis.');
    expect(lineOf(body, 'queues')).toContain('2 jobs are pending, 1 in progress, 3 scheduled and 0 failed.');
    expect(body).toContain('<a href="/queues">');
    expect(lineOf(body, 'expiry')).toContain('ok The secret of googleClients main expires: in 90 days');
    expect(lineOf(body, 'budgets')).toContain('hubspotClients main, with a use of 12 %');
    expect(lineOf(body, 'retention')).toMatch(/not checked The daemon deletes the data of gone: in 1 hr.*next check/);
    expect(lineOf(body, 'backups')).toContain('contain no backup. To write a backup, run: clinic-mirror backup --all');
    expect(lineOf(body, 'servers')).toContain('ok No clinic waits for an unreachable server.');
    expect(body).not.toContain('action required');
  });

  test('shows the problems of the status in their part, with the next step', async () => {
    const running = (pid: number, hash: string) => ({
      ...{ at: NOW, refused: [], awaitsRestart: [] },
      running: { host: 'one', pid, hash, sinceAt: NOW - 2 * HOUR_MS - pid },
    });
    const { see } = await open({
      reloads: async () => [running(1, 'a'), { ...running(2, 'b'), awaitsRestart: ['http.port'] }],
      redis: async () => ({ ...WELL, clockAheadMs: HOUR_MS, memory: null }),
      alertFailures: async () => [{ channel: 'mail', code: 'mail-refused', sinceAt: NOW }],
      forecast: async () => ({
        endings: [{ kind: 'certificate', of: 'dav.example:443', beganAt: null, endsAt: NOW + DAY_MS }],
        quotas: [{ client: 'googleClients main', hourShare: 0.9, days: [] }],
        unkept: null,
      }),
    });
    const body = await see('/installation');
    expect(lineOf(body, 'daemons')).toMatch(
      /^Daemons action required .*configurations-differ One configuration is used/,
    );
    expect(lineOf(body, 'configuration')).toMatch(/^Configuration action required .*http\.port restart-awaited/);
    expect(lineOf(body, 'redis')).toMatch(/^Redis action required .*clock-differs/);
    expect(lineOf(body, 'alerts')).toMatch(/^Alerts action required .*mail-refused/);
    expect(lineOf(body, 'expiry')).toMatch(/^Expiry action required .*certificate-ending/);
    expect(lineOf(body, 'budgets')).toMatch(/^Request budgets retrying .*quota-short/);
    expect(wordsOf(body)).toContain('5 action required · 1 retrying');
  });

  test('shows a data directory that is not configured, as doctor does', async () => {
    const times = { wentBackAt: null, wentBackTo: null, writesLostAt: null };
    const view = async () => ({ durability: 'durable' as const, directory: 'none' as const, ...times });
    const { see } = await open({ stateCounter: { view } });
    expect(lineOf(await see('/installation'), 'directory')).toMatch(
      /action required .*no-data-directory.*dataDirectory/,
    );
  });

  test('shows the refusal of the present test write before the status knows it', async () => {
    let isFull = false;
    const error = redisUnreachable(new Error('full'));
    const texts = { message: message('redis-full'), remedy: message('redis-full.remedy') };
    const refusal = { code: 'redis-full', actor: error.actor, message: '', remedy: null, texts };
    const { see } = await open({ redis: async () => ({ ...WELL, memory: null, refusal: isFull ? refusal : null }) });
    expect(lineOf(await see('/installation'), 'redis')).toMatch(/^Redis ok/);
    isFull = true;
    expect(lineOf(await see('/installation'), 'redis')).toMatch(
      /^Redis action required .*redis-full .*refuses a test write/,
    );
  });
});

describe('without an answer of Redis, the page', () => {
  test('shows that action is required, and no older state of another part', async () => {
    let isAway = false;
    const redis = async () => {
      if (isAway) throw redisUnreachable(new Error('Connection is closed.'));
      return { ...WELL, memory: null };
    };
    const { app, see } = await open({ redis });
    expect(lineOf(await see('/installation'), 'servers')).toContain('ok');
    isAway = true;
    const { statusCode, body } = await app.inject({ url: '/installation' });
    expect(statusCode).toBe(200);
    expect(lineOf(body, 'redis')).toMatch(/^Redis action required state: Redis does not answer redis-unreachable/);
    expect(lineOf(body, 'servers')).toBe(
      'Servers not checked The daemon cannot read this part while Redis does not answer.',
    );
    expect(lineOf(body, 'process')).toContain('ok');
    expect(lineOf(await see('/installation', IT), 'redis')).toMatch(/^Redis intervento richiesto .*Redis non risponde/);
  });

  test('does not wait longer than three seconds', async () => {
    const { see } = await open({ redis: () => new Promise(() => {}) });
    const begunAt = performance.now();
    expect(lineOf(await see('/installation'), 'redis')).toContain('action required');
    expect(performance.now() - begunAt).toBeLessThan(9_000);
  });
});

describe('access to the page of the installation', () => {
  test('is refused to operators, and to owners of single clinics', async () => {
    const operator = await open({}, { visitor: { ...OWNER, level: 'operator' } });
    expect((await operator.app.inject({ url: '/installation' })).statusCode).toBe(403);
    const ofOne = await open({}, { visitor: { ...OWNER, tenants: new Set([AURORA]) } });
    const { statusCode, body } = await ofOne.app.inject({ url: '/installation' });
    expect(statusCode).toBe(409);
    expect(body).toContain('not-allowed');
    expect(body).not.toContain('pid');
  });

  test('lets an owner read every part in Italian', async () => {
    const { see } = await open();
    const body = await see('/installation', IT);
    expect(wordsOf(body)).toMatch(
      /Installazione.*Questo processo ok.*Cartella dei dati ok Le decisioni vengono conservate/,
    );
    expect(body).not.toMatch(/The daemon|Redis answers|not checked/);
  });
});
