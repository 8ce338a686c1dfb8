import { describe, expect, test } from 'vitest';
import { useRedis } from '../../../../support/redis.ts';
import { waitFor } from '../../../../support/wait-for.ts';
import { OWNER, openActsPages } from '../open-pages.ts';

const redis = useRedis();
const TENANT = 'studio-rossi';

describe('a clinic’s page', () => {
  test('shows targets, connections, records and runs, and links to the undo of a run', async () => {
    const { see, changedRun } = await openActsPages(redis.connect());
    const run = await changedRun();
    const page = await see(`/tenants/${TENANT}`);
    for (const part of ['targets', 'connections', 'records', 'runs', 'reminders', 'holds'])
      expect(page).toContain(`id="${part}"`);
    expect(page).toContain(`href="/tenants/${TENANT}/runs/${run}/undo"`);
  });

  test('begins a cycle in the name of the user, and shows how it ended', async () => {
    const { see, post, recorded } = await openActsPages(redis.connect());
    const { statusCode, headers } = await post(`/tenants/${TENANT}/sync`);
    expect(statusCode).toBe(303);
    // A slow host shows the page before the cycle has ended.
    const isDone = async () =>
      /<strong>Sync now:<\/strong> Read 30 appointments, wrote /.test(await see(String(headers.location)));
    await waitFor(isDone, { what: 'the end of the cycle' });
    expect(recorded.map(({ verb, who }) => `${verb} by ${who.name}`)).toEqual(['sync by owner', 'sync by owner']);
  });

  test('is reloaded by the browser while a started action runs, however little that changes', async () => {
    const { app, tenant } = await openActsPages(redis.connect());
    const now = tenant.clock();
    const task = { id: 'x', kind: 'sync', beganAt: now, aliveAt: now, step: null, result: null, error: null } as const;
    const refreshOf = async (state: 'running' | 'done') => {
      await tenant.tasks.put('x', { ...task, state });
      return (await app.inject({ url: `/tenants/${TENANT}?task=x` })).headers.refresh;
    };
    expect([await refreshOf('running'), await refreshOf('done')]).toEqual(['2', undefined]);
  });

  test('requires a reason if configured', async () => {
    const { see, post, recorded } = await openActsPages(redis.connect(), { acting: { reasonFor: ['sync'] } });
    expect(await see(`/tenants/${TENANT}`)).toContain('name="why" required');
    const without = await post(`/tenants/${TENANT}/sync`);
    expect(await see(String(without.headers.location))).toContain('reason-missing');
    await post(`/tenants/${TENANT}/sync`, { why: 'ticket 7' });
    await waitFor(() => recorded.at(-1)?.outcome === 'done', { what: 'the end of the cycle' });
    expect(recorded.at(-1)).toMatchObject({ verb: 'sync', outcome: 'done', why: 'ticket 7' });
  });

  test('shows held changes, and links to them', async () => {
    const { see, heldRun } = await openActsPages(redis.connect());
    await heldRun();
    const page = await see(`/tenants/${TENANT}`);
    expect(page).toContain('1 waiting for approval');
    expect(page).toContain(`href="/tenants/${TENANT}/holds"`);
    expect(await see(`/tenants/${TENANT}/targets/doctor?state=on-hold`)).toContain('/explain?id=');
  });

  test('of a missing clinic shows an error, with the existing ones', async () => {
    const { app } = await openActsPages(redis.connect());
    const { statusCode, body } = await app.inject({ url: '/tenants/nobody', headers: { 'accept-language': 'en' } });
    expect(statusCode).toBe(404);
    expect(body).toContain('no-such-tenant');
    expect(body).toContain('role="alert"');
  });

  test('of a missing clinic names no other to a user who may see only the missing one', async () => {
    const url = '/tenants/nobody';
    const { see } = await openActsPages(redis.connect());
    expect(await see(url)).toContain(TENANT);
    const limited = await openActsPages(redis.connect(), { visitor: { ...OWNER, tenants: new Set(['nobody']) } });
    const body = await limited.see(url);
    expect(body).toContain('no-such-tenant');
    expect(body).not.toContain(TENANT);
  });

  test('changes nothing without the CSRF proof of a form, and for viewers', async () => {
    const { post, recorded } = await openActsPages(redis.connect(), { visitor: { ...OWNER, level: 'viewer' } });
    expect((await post(`/tenants/${TENANT}/sync`)).statusCode).toBe(403);
    const owner = await openActsPages(redis.connect());
    expect((await owner.post(`/tenants/${TENANT}/sync`, { csrf: 'guessed' })).statusCode).toBe(403);
    expect([...recorded, ...owner.recorded]).toEqual([]);
  });
});
