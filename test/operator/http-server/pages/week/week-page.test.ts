import { describe, expect, test } from 'vitest';
import { viewWeek } from '../../../../../src/operator/control/week.ts';
import { useRedis } from '../../../../support/redis.ts';
import { NEVER } from '../../../../tenant/cycle.ts';
import { CLINIC, usePages } from '../open-pages.ts';

const redis = useRedis({ isStored: true });

const WEEK = `/tenants/${CLINIC}/targets/doctor/week`;

/** Returns the stored object of a record in the calendar. */
function objectIn({ model, tenant }: ReturnType<ReturnType<typeof usePages>>, record: string) {
  const key = tenant.targets.get('doctor')?.identity.key(record, 0);
  const found = model.objects().find((object) => object.key === key);
  if (found === undefined) throw new Error(`${record} is not in the calendar`);
  return found;
}

describe('the week', () => {
  const world = usePages(redis);
  const view = (titles = true) =>
    viewWeek(world().installation, { tenant: CLINIC, target: 'doctor' }, { date: null, titles }, NEVER).then(
      ({ entries, ...week }) => ({
        ...week,
        entries,
        differing: entries.filter(({ difference }) => difference !== null),
      }),
    );

  test('shows synced appointments without a difference, with the titles of the target’s policy', async () => {
    const { entries, differing, from, days } = await view();
    expect([entries.length, differing, from, days.length]).toEqual([30, [], '2026-06-15', 7]);
    expect(entries[0]).toMatchObject({ record: 'apt-0', title: 'Mario Rossi', clinic: { agenda: 'a1' } });
  });

  test('shows viewers only times and ids, and never the text of a foreign event', async () => {
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

  test('shows moves of either side, missing and deleted events, and the next step for each', async () => {
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

  test('with a side that cannot be read shows the other, and compares nothing', async () => {
    const { model, tenant } = world();
    const { MirrorError } = await import('../../../../../src/core/model/errors.ts');
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
