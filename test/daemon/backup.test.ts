import { describe, expect, test } from 'vitest';
import { DAY_MS } from '../../src/core/model/time.ts';
import { openBackups } from '../../src/daemon/backup.ts';
import { useRedis } from '../support/redis.ts';
import { openComposition } from './open-composition.ts';

const redis = useRedis();

function open() {
  const composition = openComposition(redis.url);
  const { tenant, sealer, credentials } = composition.composed.get('uno')!;
  return { composition, tenant, sealer, credentials, backups: openBackups(composition) };
}

describe('a backup', () => {
  test('returns manually restored records, and counts them', async () => {
    const { tenant, backups } = open();
    const at = tenant.clock();
    await tenant.journal.pin('rossi', ['a', 'b'], at + DAY_MS);
    await tenant.journal.pin('verdi', ['c'], at + DAY_MS);
    const text = await backups.backup('uno');
    await redis.connect().flushall();
    expect(await tenant.journal.pins('rossi', at)).toEqual({});
    expect(await backups.restore('uno', text)).toMatchObject({ pins: 3, rejections: 0, at: expect.any(Number) });
    expect(Object.keys(await tenant.journal.pins('rossi', at))).toEqual(['a', 'b']);
    expect(Object.keys(await tenant.journal.pins('verdi', at))).toEqual(['c']);
  });

  test('that was changed is refused with state-damaged, and no data is restored', async () => {
    const { tenant, backups } = open();
    await tenant.journal.pin('rossi', ['a'], tenant.clock() + DAY_MS);
    const text = await backups.backup('uno');
    await redis.connect().flushall();
    const changed = `${text.slice(0, -6)}${text.endsWith('AAAAAA') ? 'BBBBBB' : 'AAAAAA'}`;
    await expect(backups.restore('uno', changed)).rejects.toMatchObject({ code: 'state-damaged' });
    expect(await tenant.journal.pins('rossi', tenant.clock())).toEqual({});
  });

  test('of a tenant that does not exist is refused with no-such-tenant', async () => {
    const { backups } = open();
    await expect(backups.backup('due')).rejects.toMatchObject({ code: 'no-such-tenant' });
    await expect(backups.restore('due', '')).rejects.toMatchObject({ code: 'no-such-tenant' });
  });
});

test('a file of all tenants opens as encrypted, and is no backup of a single tenant', async () => {
  const { backups } = open();
  const sealed = backups.seal('all');
  expect(backups.open(sealed)).toBe('all');
  await expect(backups.restore('uno', sealed)).rejects.toMatchObject({ code: 'state-damaged' });
  const own = await backups.backup('uno');
  expect(() => backups.open(own)).toThrow(expect.objectContaining({ code: 'state-damaged' }));
});

test('a restore adds tenants only where configurations can be changed', () => {
  expect(open().backups.managed).toBeUndefined();
});
