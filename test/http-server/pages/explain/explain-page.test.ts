import { describe, expect, test } from 'vitest';
import { useRedis } from '../../../support/redis.ts';
import { CLINIC, usePages } from '../open-pages.ts';

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

  test('of an id that the clinic does not know shows an error; without an id there is a box', async () => {
    const { body } = await world().open('viewer', `/tenants/${CLINIC}/explain?id=${encodeURIComponent('<b>')}`);
    expect(body).toContain('the appointment does not exist in the clinic');
    expect(body).not.toContain('<b>');
    expect((await world().open('viewer', `/tenants/${CLINIC}/explain`)).body).toContain('type="search"');
  });
});
