import { beforeAll, describe, expect, test } from 'vitest';
import { HOUR_MS } from '../../../../../src/core/model/time.ts';
import { viewHold } from '../../../../../src/features/holds/hold-view.ts';
import { useRedis } from '../../../../support/redis.ts';
import { cycle, NEVER } from '../../../../tenant/cycle.ts';
import { CLINIC, usePages } from '../open-pages.ts';

const redis = useRedis({ isStored: true });

describe('a hold', () => {
  const world = usePages(redis, { policy: { holdsAbove: 20 }, reasonFor: ['approve'] });
  let id = '';
  let seen = '';
  const page = () => `/tenants/${CLINIC}/holds/${id}`;
  const seenNow = async () =>
    /name="seen" value="([^"]+)"/.exec((await world().open('operator', page())).body)?.[1] ?? '';
  beforeAll(async () => {
    const { clinic, tenant, clock } = world();
    for (let index = 2; index < 30; index += 1) clinic.appointments.delete(`apt-${index}`);
    await cycle(tenant);
    clock.now += HOUR_MS;
    await cycle(tenant);
    id = (await tenant.holds.list())[0]?.id ?? '';
    seen = await seenNow();
  });

  test('shows the reason, the usual number, and its items by day and agenda; to viewers without buttons', async () => {
    const { body } = await world().open('operator', page());
    expect(body).toContain('The clinic’s list no longer shows these appointments');
    expect(body).toContain('Usual');
    expect(body).toContain('0 a day');
    expect(body).toContain('name="day" value="2026-06-16"');
    expect(body).toContain('Remove all 28…');
    expect(body).toMatch(
      /Fields<\/summary><ul class="changes"><li><span class="quiet">time<\/span> <time[^>]*>[^<]+<\/time>–\d\d:00<\/li>/,
    );
    expect(body).not.toContain('Mario');
    expect((await world().open('viewer', page())).body).not.toContain('Remove');
    expect((await world().open('viewer', `/tenants/${CLINIC}/holds`)).body).toContain(`/holds/${id}`);
  });

  test('cannot be decided by viewers, nor without a CSRF proof', async () => {
    const fields: [string, string][] = [
      ['choice', 'all'],
      ['step', 'decide'],
      ['seen', seen],
    ];
    expect((await world().send('viewer', page(), fields)).status).toBe(403);
    const { app } = world();
    const bare = await app.inject({
      ...{ method: 'POST', url: page(), payload: 'choice=all&step=decide&seen=28' },
      headers: { cookie: 'visitor=operator', 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect([bare.statusCode >= 400, (await world().tenant.holds.list())[0]?.state]).toEqual([true, 'open']);
  });

  test('shows a preview first, and does nothing without a choice or a required reason', async () => {
    const none = await world().send('operator', page(), [
      ['step', 'show'],
      ['choice', 'selected'],
      ['seen', seen],
    ]);
    expect([none.status, none.body.includes('Select at least one event')]).toEqual([409, true]);
    const chosen: [string, string][] = [
      ['choice', 'selected'],
      ['item', 'apt-2'],
      ['item', 'apt-3'],
      ['seen', seen],
    ];
    const shown = await world().send('operator', page(), [['step', 'show'], ...chosen]);
    expect(shown.body).toContain('The next run removes 2 events from “Agenda a1, Agenda a2 (Model)”.');
    expect(shown.body).toContain('26 other events stay on hold');
    expect(shown.body).toContain('name="why"');
    const refused = await world().send('operator', page(), [['step', 'decide'], ...chosen]);
    expect([refused.status, refused.body.includes('reason-missing')]).toEqual([409, true]);
    expect((await world().tenant.holds.list()).map(({ state }) => state)).toEqual(['open']);
  });

  test.each(['', 'approve', 'ALL'])('is not decided by the choice "%s", which no button makes', async (choice) => {
    const fields: [string, string][] = [
      ['step', 'decide'],
      ['choice', choice],
      ['seen', seen],
      ['why', 'T-0'],
    ];
    expect((await world().send('operator', page(), fields)).status).toBe(409);
    expect((await world().tenant.holds.list()).map(({ state }) => state)).toEqual(['open']);
  });

  test('is decided in part: the chosen changes are applied, the rest stays held', async () => {
    const { send, open, tenant, model } = world();
    const chosen: [string, string][] = [
      ['choice', 'selected'],
      ['item', 'apt-2'],
      ['item', 'apt-3'],
    ];
    const done = await send('operator', page(), [['step', 'decide'], ['seen', seen], ['why', 'T-1'], ...chosen]);
    expect([done.status, String(done.headers.location)]).toEqual([303, expect.stringContaining('/holds/')]);
    const part = String(done.headers.location);
    const before = (await open('operator', part)).body;
    expect(before).toContain('The next run removes 2 events from “Agenda a1, Agenda a2 (Model)”.');
    expect(before).toMatch(new RegExp(`<a href="[^"]*/holds/${id}">26 other events stay on hold`));
    world().clock.now += HOUR_MS;
    await cycle(tenant);
    const after = (await open('operator', part)).body;
    expect(after).toMatch(/The run at [^<]* (wrote|planned) 2 changes to “Agenda a1, Agenda a2 \(Model\)”/);
    expect(after).toMatch(new RegExp(`href="/tenants/${CLINIC}#run-\\w+"`));
    expect(model.objects()).toHaveLength(28);
    const view = await viewHold(world().installation, CLINIC, id, NEVER);
    expect([view.items.length, view.hold.state]).toEqual([26, 'open']);
  });

  test('that changed since it was shown must be reviewed again', async () => {
    const stale = await world().send('operator', page(), [
      ['step', 'decide'],
      ['choice', 'all'],
      ['seen', seen],
      ['why', 'T-2'],
    ]);
    expect([stale.status, stale.body.includes('The hold changed after you opened this page')]).toEqual([409, true]);
  });

  test('of many items requires two operators: the first is recorded, the second decides', async () => {
    const { send, open, tenant } = world();
    const all: [string, string][] = [
      ['step', 'decide'],
      ['choice', 'all'],
      ['seen', await seenNow()],
      ['why', 'T-3'],
    ];
    const first = await send('operator', page(), all);
    expect([first.status, first.body.includes('is recorded')]).toEqual([200, true]);
    expect((await open('bruno', page())).body).toContain('operator has requested approval of 26 changes');
    const second = await send('bruno', page(), all);
    expect(second.status).toBe(303);
    expect((await tenant.holds.list()).map(({ state }) => state)).toEqual(['approved', 'approved']);
  });
});
