import { describe, expect, test } from 'vitest';
import { MirrorError } from '../../../src/core/model/errors.ts';
import type { AllBackups } from '../../../src/features/backup/backups.ts';
import { backUpAll, restoreAll } from '../../../src/features/backup/file.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { openActing } from '../../operator/control/acting.ts';
import { openBooked } from '../../operator/control/open-installation.ts';
import { useRedis } from '../../support/redis.ts';

const redis = useRedis();

/** An installation with two tenants and one that has faults; a seal is a prefix. */
function openWorld() {
  const { installation, tenant } = openBooked(redis);
  const tenants = new Map(['rossi', 'verdi'].map((id) => [id, { ...tenant, id }] as const));
  const world = { ...installation, tenants, unusable: [{ id: 'broken' }] } as unknown as typeof installation;
  const restored: string[] = [];
  const backups: AllBackups = {
    backup: async (id) => `sealed ${id}`,
    async restore(id, text) {
      if (text !== `sealed ${id}`)
        throw new MirrorError('x', { actor: 'settings', code: 'state-damaged', retry: 'never' });
      restored.push(id);
      return { restored: [], unchanged: [], protections: 0, pins: 0, rejections: 0, at: NOW };
    },
    seal: (text) => `sealed ${text}`,
    open: (sealed) => sealed.replace(/^sealed /, ''),
  };
  const acting = openActing();
  return {
    ...{ installation: world, backups, restored, acting },
    async lines() {
      const lines: string[] = [];
      for await (const line of backUpAll(acting, world, backups)) lines.push(...line.split('\n').slice(0, -1));
      return lines;
    },
    restore: (lines: readonly string[], only: readonly string[] | null = null) =>
      restoreAll(
        acting,
        { installation: world, backups },
        async function* () {
          yield* lines;
        },
        only,
      ),
  };
}

describe('a file of all tenants', () => {
  test('begins with its form and whom it lacks, and records the backup of each tenant', async () => {
    const world = openWorld();
    const lines = await world.lines();
    expect(JSON.parse(lines[0]!)).toMatchObject({ format: 'clinic-mirror-backup', version: 1, without: ['broken'] });
    expect(lines.slice(1, -1).map((line) => JSON.parse(line))).toEqual([
      { tenant: 'rossi', sealed: 'sealed rossi' },
      { tenant: 'verdi', sealed: 'sealed verdi' },
    ]);
    const acts = world.acting.recorded.map(({ verb, tenant, outcome }) => `${verb} ${tenant} ${outcome}`);
    expect(acts).toContain('backup verdi done');
  });

  test('restores all of its tenants or the chosen ones; a missing tenant is not-in-backup', async () => {
    const world = openWorld();
    const lines = await world.lines();
    expect(await world.restore([...lines, ''])).toMatchObject({
      restored: [{ tenant: 'rossi' }, { tenant: 'verdi' }],
      failed: [],
    });
    world.restored.length = 0;
    expect(await world.restore(lines, ['verdi', 'broken'])).toMatchObject({
      restored: [{ tenant: 'verdi' }],
      failed: [{ tenant: 'broken', code: 'not-in-backup' }],
    });
    expect(world.restored).toEqual(['verdi']);
  });

  test('restores the other tenants when one fails, and reports its code', async () => {
    const world = openWorld();
    const { backup } = world.backups;
    world.backups.backup = async (id) => (id === 'rossi' ? 'encrypted by another' : backup(id));
    expect(await world.restore(await world.lines())).toMatchObject({
      restored: [{ tenant: 'verdi' }],
      failed: [{ tenant: 'rossi', code: 'state-damaged' }],
    });
  });

  test.each<[string, (lines: string[]) => string[]]>([
    ['is cut off', (lines) => lines.slice(0, -1)],
    ['lacks a tenant', (lines) => [...lines.slice(0, 1), ...lines.slice(2)]],
    ['has a tenant twice', (lines) => [...lines.slice(0, 2), ...lines.slice(1)]],
    ['was changed', (lines) => lines.map((line) => line.replace('sealed verdi', 'sealed rossi'))],
    ['continues after its end', (lines) => [...lines, lines[1]!]],
    ['is empty', () => []],
  ])('backup-damaged: a file that %s restores nothing', async (_, damage) => {
    const world = openWorld();
    const lines = damage(await world.lines());
    await expect(world.restore(lines)).rejects.toMatchObject({ code: 'backup-damaged' });
    expect(world.restored).toEqual([]);
  });

  test.each([
    '{"format":"other","version":1,"at":"x"}',
    '{"format":"clinic-mirror-backup","version":2,"at":"x"}',
    'no JSON',
  ])('backup-unknown: another form is not read: %s', async (head) => {
    const world = openWorld();
    const [, ...rest] = await world.lines();
    await expect(world.restore([head, ...rest])).rejects.toMatchObject({ code: 'backup-unknown' });
  });
});
