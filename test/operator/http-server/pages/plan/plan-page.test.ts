import { describe, expect, test } from 'vitest';
import { HOUR_MS } from '../../../../../src/core/model/time.ts';
import { useRedis } from '../../../../support/redis.ts';
import { CLINIC, usePages } from '../open-pages.ts';
import { wordsOf } from '../page-context.ts';

const redis = useRedis({ isStored: true });

describe('a plan', () => {
  const world = usePages(redis, { appointments: 3 });
  const address = `/tenants/${CLINIC}/plan`;

  test('is made, shown line by line, and applied as shown', async () => {
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
    expect(wordsOf(body)).toMatch(/\bto write\b/);
    expect(wordsOf(body)).not.toMatch(/\bwritten\b/);
    const plan = /name="apply" value="(\w+)"/.exec(body)?.[1] ?? '';
    const applied = await send('operator', address, [['apply', plan]]);
    const after = await open('operator', String(applied.headers.location));
    expect(after.body).toContain('made the changes of the plan');
    expect(after.body).toContain('Read 3 appointments, wrote 1 change.');
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
    expect(after.body).toContain('Data changed after the plan was created');
    expect(after.body).toContain('apt-2');
    expect(JSON.stringify(model.objects())).toBe(before);
  });
});
