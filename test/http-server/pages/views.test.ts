import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { viewWeek } from '../../../src/control/week.ts';
import { viewHold } from '../../../src/features/holds/hold-view.ts';
import { HOUR_MS } from '../../../src/model/time.ts';
import { cycle, NEVER } from '../../jobs/cycle.ts';
import { useRedis } from '../../support/redis.ts';
import { CLINIC, openViewsWorld, type ViewsChoice } from './views-world.ts';

const redis = useRedis({ isStored: true });
type World = Awaited<ReturnType<typeof openViewsWorld>>;
const WEEK = `/tenants/${CLINIC}/targets/doctor/week`;

/** Opens a world for the tests of a group, in a Redis without any other. */
function useWorld(choice?: ViewsChoice) {
  let world: World;
  beforeAll(async () => {
    const connection = redis.connect();
    await connection.flushall();
    world = await openViewsWorld(connection, choice);
  });
  afterAll(() => world.close());
  return () => world;
}

/** An object of the calendar, as a person finds it there. */
function objectIn({ model, tenant }: World, record: string) {
  const key = tenant.targets.get('doctor')?.identity.key(record, 0);
  const found = model.objects().find((object) => object.key === key);
  if (found === undefined) throw new Error(`${record} is not in the calendar`);
  return found;
}

describe('the week', () => {
  const world = useWorld();
  const view = (titles = true) =>
    viewWeek(world().installation, { tenant: CLINIC, target: 'doctor' }, { date: null, titles }, NEVER).then(
      ({ entries, ...week }) => ({
        ...week,
        entries,
        differing: entries.filter(({ difference }) => difference !== null),
      }),
    );

  test('shows what is in step without a difference, with the titles of the target’s policy', async () => {
    const { entries, differing, from, days } = await view();
    expect([entries.length, differing, from, days.length]).toEqual([30, [], '2026-06-15', 7]);
    expect(entries[0]).toMatchObject({ record: 'apt-0', title: 'Mario Rossi', clinic: { agenda: 'a1' } });
  });

  test('shows whoever may only look times and ids, and never what somebody wrote into the calendar', async () => {
    const object = objectIn(world(), 'apt-3');
    const before = object.item;
    object.item = { ...before, title: 'Canary of a neighbour' };
    object.version += 1;
    try {
      const looked = await world().open('viewer', WEEK);
      expect([looked.status, looked.body.includes('apt-3'), looked.body.includes('Mario Rossi')]).toEqual([
        200,
        true,
        false,
      ]);
      const operated = await world().open('operator', WEEK);
      expect(operated.body).toContain('Mario Rossi');
      for (const { body } of [looked, operated]) {
        expect(body).toContain('changed by hand: title');
        expect(body).not.toContain('Canary');
      }
    } finally {
      object.item = before;
      object.version -= 1;
    }
  });

  test('tells moves of either side, what is missing, what is gone, and what becomes of each', async () => {
    const { clinic, book } = world();
    const kept = new Map(clinic.appointments);
    book('apt-1', { inHours: 30 });
    book('apt-2', { inHours: 24 * 9 });
    book('new', { inHours: 5 });
    clinic.appointments.delete('apt-4');
    const moved = objectIn(world(), 'apt-5');
    const before = moved.item;
    const object = objectIn(world(), 'apt-1').item;
    moved.item = { ...before, time: object.time };
    moved.version += 1;
    try {
      const { differing } = await view();
      const told = Object.fromEntries(differing.map(({ record, difference }) => [record, difference]));
      expect(told).toEqual({
        'apt-1': { kind: 'behind', fields: ['time'] },
        'apt-2': { kind: 'behind', fields: ['time'] },
        new: { kind: 'missing' },
        'apt-4': { kind: 'surplus', why: 'vanished' },
        'apt-5': { kind: 'edited', fields: ['time'] },
      });
      expect(differing.every(({ next }) => next?.step === 'next-cycle')).toBe(true);
    } finally {
      moved.item = before;
      moved.version -= 1;
      clinic.appointments.clear();
      for (const [id, appointment] of kept) clinic.appointments.set(id, appointment);
    }
  });

  test('with a side that can not be read shows the other, and compares nothing', async () => {
    const { model, tenant } = world();
    const { MirrorError } = await import('../../../src/model/errors.ts');
    model.wholeTargetError = new MirrorError('the calendar is away', {
      actor: 'remote',
      code: 'server-error',
      retry: 'later',
    });
    try {
      const { differing, entries, calendar } = await view();
      expect([differing, entries.length, calendar]).toMatchObject([
        [],
        30,
        { state: 'failed', failure: { code: 'server-error' } },
      ]);
    } finally {
      model.wholeTargetError = null;
    }
    expect(tenant.targets.size).toBe(1);
  });

  test('lies about nothing that the target is not to hold yet', async () => {
    const { book, clinic } = world();
    book('far', { inHours: 24 * 70 });
    const { entries } = await viewWeek(
      world().installation,
      { tenant: CLINIC, target: 'doctor' },
      { date: '2026-08-24', titles: true },
      NEVER,
    );
    clinic.appointments.delete('far');
    expect(entries).toMatchObject([{ record: 'far', omitted: 'beyond-window', difference: null }]);
  });

  test('is no page for a target that is no calendar', async () => {
    expect((await world().open('viewer', `/tenants/${CLINIC}/targets/other/week`)).status).toBe(404);
  });

  test('answers without inline styles or scripts, under the policy of all pages, and names its own style sheet', async () => {
    const { body, headers } = await world().open('viewer', WEEK);
    expect(body).not.toMatch(/ style=|<style|<script(?![^>]* src=)|onclick/);
    expect(headers['content-security-policy']).toContain("style-src 'self'");
    const [address = ''] = /\/assets\/week\.css\?v=[\w-]+/.exec(body) ?? [];
    const style = await world().open('viewer', address);
    expect([style.status, style.body.includes('.from-0{grid-row-start:1}')]).toEqual([200, true]);
  });

  test('shows an id with anything in it as text', async () => {
    const { book, clinic } = world();
    book('"><img src=x onerror=alert(1)>', { inHours: 3 });
    const { body } = await world().open('operator', `${WEEK}?from=2026-06-16`);
    clinic.appointments.delete('"><img src=x onerror=alert(1)>');
    expect(body).toContain('&lt;img src=x');
    expect(body).not.toContain('<img');
  });
});

describe('an appointment’s way', () => {
  const world = useWorld({ appointments: 3 });

  test('is five steps for each target, each with its evidence, as a page and as JSON', async () => {
    const { status, body } = await world().open('viewer', `/tenants/${CLINIC}/explain?id=apt-1`);
    expect(status).toBe(200);
    const names = ['Read from the clinic', 'Rules', 'Compared', 'Written', 'Read back'];
    const places = names.map((name) => body.indexOf(name));
    expect(places.every((place) => place > 0)).toBe(true);
    expect(places).toEqual(places.toSorted((one, other) => one - other));
    expect(body).toContain(`clinic-mirror explain ${CLINIC} apt-1`);
    expect(body).not.toMatch(/Mario|Rossi<\/p>/);
    const json = await world().open('viewer', `/tenants/${CLINIC}/explain.json?id=apt-1`);
    expect(JSON.parse(json.body)).toMatchObject({
      appointment: 'apt-1',
      targets: [{ way: { compared: { found: 'same' } } }],
    });
  });

  test('of an id that the clinic does not know says so; without an id there is a box', async () => {
    const { body } = await world().open('viewer', `/tenants/${CLINIC}/explain?id=${encodeURIComponent('<b>')}`);
    expect(body).toContain('the clinic has no such appointment');
    expect(body).not.toContain('<b>');
    expect((await world().open('viewer', `/tenants/${CLINIC}/explain`)).body).toContain('type="search"');
  });
});

describe('a hold', () => {
  const world = useWorld({ policy: { holdsAbove: 20 }, reasonFor: ['approve'] });
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

  test('tells why, what is usual here, and its items by day and agenda; to viewers without buttons', async () => {
    const { body } = await world().open('operator', page());
    expect(body).toContain('The clinic’s list no longer shows these appointments');
    expect(body).toContain('Usual here');
    expect(body).toContain('0 a day');
    expect(body).toContain('name="day" value="2026-06-16"');
    expect(body).toContain('Remove all 28…');
    expect(body).toMatch(
      /Field by field<\/summary><ul class="changes"><li><span class="quiet">time<\/span> <time[^>]*>[^<]+<\/time>–\d\d:00<\/li>/,
    );
    expect(body).not.toContain('Mario');
    expect((await world().open('viewer', page())).body).not.toContain('Remove');
    expect((await world().open('viewer', `/tenants/${CLINIC}/holds`)).body).toContain(`/holds/${id}`);
  });

  test('is not decided by viewers, nor without the proof of a page of ours', async () => {
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

  test('shows first what would happen, and does nothing without a choice or a reason where one is wanted', async () => {
    const none = await world().send('operator', page(), [
      ['step', 'show'],
      ['choice', 'selected'],
      ['seen', seen],
    ]);
    expect([none.status, none.body.includes('Choose at least one item')]).toEqual([409, true]);
    const chosen: [string, string][] = [
      ['choice', 'selected'],
      ['item', 'apt-2'],
      ['item', 'apt-3'],
      ['seen', seen],
    ];
    const shown = await world().send('operator', page(), [['step', 'show'], ...chosen]);
    expect(shown.body).toContain('2 events are removed from “doctor” with the next cycle.');
    expect(shown.body).toContain('26 others stay held');
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

  test('is decided in part: what was chosen goes, the rest stays held', async () => {
    const { send, tenant, model } = world();
    const chosen: [string, string][] = [
      ['choice', 'selected'],
      ['item', 'apt-2'],
      ['item', 'apt-3'],
    ];
    const done = await send('operator', page(), [['step', 'decide'], ['seen', seen], ['why', 'T-1'], ...chosen]);
    expect([done.status, String(done.headers.location)]).toEqual([303, expect.stringContaining('/holds/')]);
    await cycle(tenant);
    expect(model.objects()).toHaveLength(28);
    const view = await viewHold(world().installation, CLINIC, id, NEVER);
    expect([view.items.length, view.hold.state]).toEqual([26, 'open']);
  });

  test('that changed since it was looked at is looked at again', async () => {
    const stale = await world().send('operator', page(), [
      ['step', 'decide'],
      ['choice', 'all'],
      ['seen', seen],
      ['why', 'T-2'],
    ]);
    expect([stale.status, stale.body.includes('It changed since you looked at it')]).toEqual([409, true]);
  });

  test('of many items takes two persons: the first is noted, the second decides', async () => {
    const { send, open, tenant } = world();
    const all: [string, string][] = [
      ['step', 'decide'],
      ['choice', 'all'],
      ['seen', await seenNow()],
      ['why', 'T-3'],
    ];
    const first = await send('operator', page(), all);
    expect([first.status, first.body.includes('is noted')]).toEqual([200, true]);
    expect((await open('bruno', page())).body).toContain('operator wants to approve 26 of these already');
    const second = await send('bruno', page(), all);
    expect(second.status).toBe(303);
    expect((await tenant.holds.list()).map(({ state }) => state)).toEqual(['approved', 'approved']);
  });
});

describe('a plan', () => {
  const world = useWorld({ appointments: 3 });
  const address = `/tenants/${CLINIC}/plan`;

  test('is made, shown line by line, and applied as it was seen', async () => {
    const { book, send, open, model, clock } = world();
    expect((await open('viewer', address)).body).not.toContain('<button class="button main">');
    clock.now += HOUR_MS;
    book('apt-1', { inHours: 7 });
    const made = await send('operator', address, []);
    const { body } = await open('operator', String(made.headers.location));
    expect(body).toContain('1 to update');
    expect(body).toContain('changed: time');
    expect(body).toMatch(
      /<ul class="changes"><li><span class="quiet">time<\/span> .*?13:00.*? → .*?17:00.*?–18:00<\/li><\/ul>/,
    );
    expect(body).not.toContain('Mario');
    const plan = /name="apply" value="(\w+)"/.exec(body)?.[1] ?? '';
    const applied = await send('operator', address, [['apply', plan]]);
    const after = await open('operator', String(applied.headers.location));
    expect(after.body).toContain('did what the plan says');
    expect(model.objects().find(({ item }) => JSON.stringify(item).includes('17:00:00+02:00'))).toBeDefined();
    expect((await send('viewer', address, [])).status).toBe(403);
  });

  test('that no longer fits is refused kindly, and nothing is done', async () => {
    const { book, send, open, model, clock } = world();
    clock.now += HOUR_MS;
    book('apt-2', { inHours: 9 });
    const made = await send('operator', address, []);
    const { body } = await open('operator', String(made.headers.location));
    const plan = /name="apply" value="(\w+)"/.exec(body)?.[1] ?? '';
    book('apt-2', { inHours: 11 });
    const before = JSON.stringify(model.objects());
    const applied = await send('operator', address, [['apply', plan]]);
    const after = await open('operator', String(applied.headers.location));
    expect(after.body).toContain('Something changed since this plan was made');
    expect(after.body).toContain('apt-2');
    expect(JSON.stringify(model.objects())).toBe(before);
  });
});

test('the queues are shown to owners, with ids of clinics and targets and nothing else of a job', async () => {
  const world = await openViewsWorld(redis.connect(), { appointments: 0 });
  const { body } = await world.open('owner', '/queues');
  expect(body).toMatch(/push.*Failed.*doctor/s);
  expect((await world.open('operator', '/queues')).status).toBe(403);
  await world.close();
});
