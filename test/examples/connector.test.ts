import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { jsonCalendar } from '../../examples/json-calendar/index.ts';
import { createKit, deleteOperation, keyOf, signal, updateOperation } from '../contract/contract-kit.ts';
import { openJsonTarget } from './json-calendar-target.ts';

let target: Awaited<ReturnType<typeof openJsonTarget>>;
beforeEach(async () => {
  target = await openJsonTarget();
});
afterEach(() => target.close());

const file = () => join(target.folder, target.container);

describe('a calendar that users edit', () => {
  test('is not written while it is no calendar', async () => {
    const kit = createKit(target);
    for (const damaged of ['', '{', 'null', '[]', '{}', '{"events":[]}']) {
      await writeFile(file(), damaged);
      await expect(kit.connector.apply(target.container, [kit.toCreate('a')], signal())).rejects.toMatchObject({
        code: 'calendar-unreadable',
      });
      await expect(kit.readAll()).rejects.toMatchObject({ code: 'calendar-unreadable', retry: 'later' });
      expect(await readFile(file(), 'utf8')).toBe(damaged);
    }
  });

  test('keeps what users wrote into it, next to the events of clinic-mirror', async () => {
    const kit = createKit(target);
    const own = { title: 'Practice', theme: 'dark', events: { lunch: 'at noon', [keyOf('a')]: 7 } };
    await writeFile(file(), JSON.stringify(own));
    await kit.attempt([kit.toCreate('b')]);
    const { events, ...others } = JSON.parse(await readFile(file(), 'utf8')) as typeof own;
    expect(others).toEqual({ title: 'Practice', theme: 'dark' });
    expect(events).toMatchObject(own.events);
    expect(await kit.readAll()).toMatchObject([
      { key: keyOf('a'), unreadable: true, marksLost: true, item: null },
      { key: keyOf('b'), item: kit.item() },
    ]);
  });

  test('has an unreadable event written again, and deleted', async () => {
    const kit = createKit(target);
    await kit.create('a', 'b');
    const text = await readFile(file(), 'utf8');
    await writeFile(file(), text.replaceAll('"timed"', '"some time"'));
    expect((await kit.readAll()).map(({ unreadable }) => unreadable)).toEqual([true, true]);
    const outcomes = await kit.attempt([updateOperation('a', kit.item('New'), null), deleteOperation('b', null)]);
    expect(outcomes).toMatchObject([
      { result: 'written', effect: 'updated' },
      { result: 'deleted', effect: 'deleted' },
    ]);
    expect((await kit.objects()).map(({ title }) => title)).toEqual(['New']);
  });
});

describe('the settings', () => {
  test.each(['../other.json', '/etc/calendar.json', '.hidden.json', 'calendar.txt', 'a\0.json', ''])(
    'refuse the file name %j',
    (id) => {
      expect(jsonCalendar.settingsSchema.safeParse({ folder: '/srv/calendars', calendar: { id } }).success).toBe(false);
    },
  );

  test('accept a file in an absolute folder', () => {
    const settings = { folder: '/srv/calendars', calendar: { id: 'dr-rossi.json' } };
    expect(jsonCalendar.settingsSchema.parse(settings)).toEqual(settings);
    expect(jsonCalendar.settingsSchema.safeParse({ ...settings, folder: 'calendars' }).success).toBe(false);
  });
});
