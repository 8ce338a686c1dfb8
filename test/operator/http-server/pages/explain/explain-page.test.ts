import { describe, expect, test } from 'vitest';
import { useRedis } from '../../../../support/redis.ts';
import { CLINIC, usePages } from '../open-pages.ts';
import { wordsOf } from '../page-context.ts';

const redis = useRedis({ isStored: true });

describe('the explanation of an appointment', () => {
  const world = usePages(redis, { appointments: 3 });

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

  test('begins with one sentence: in whose calendar, since when, and why', async () => {
    const { body } = await world().open('viewer', `/tenants/${CLINIC}/explain?id=apt-1`);
    expect(wordsOf(body)).toContain(
      'In Agenda a1, Agenda a2 (Model) , because the agenda and the status are shown in this target, and the time is in the window.',
    );
  });

  test('is found by date, time, doctor and state; no title or patient is shown', async () => {
    const search = async (query: string) => (await world().open('viewer', `/tenants/${CLINIC}/explain?${query}`)).body;
    const found = await search('date=2026-06-15&time=11:00&doctor=a1&state=in-calendar');
    expect(found).toContain(`href="/tenants/${CLINIC}/explain?id=apt-0"`);
    expect(found).toMatch(/<option value="a1" selected>Agenda a1</);
    expect(found).toMatch(/<option value="in-calendar" selected>/);
    expect(wordsOf(found)).toContain('1 appointment');
    expect(found).not.toContain('Mario');
    expect(wordsOf(await search('state=failing'))).toContain('No appointment matches.');
  });

  test('of an id that the clinic does not know shows an error; without an id there is a box', async () => {
    const { body } = await world().open('viewer', `/tenants/${CLINIC}/explain?id=${encodeURIComponent('<b>')}`);
    expect(body).toContain('The clinic has no appointment with this id');
    expect(body).not.toContain('<b>');
    expect(body).not.toContain('Read from the clinic');
    expect((await world().open('viewer', `/tenants/${CLINIC}/explain`)).body).toContain('type="search"');
  });
});
