import { expect, test } from 'vitest';
import { MirrorError } from '../../../src/core/model/errors.ts';
import type { AllBackups } from '../../../src/features/backup/backups.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { useRedis } from '../../support/redis.ts';
import { openBooked } from '../control/open-installation.ts';
import { type Ran, runProgram } from './run-program.ts';

const redis = useRedis();

/** Two tenants, of which `verdi` can be made to fail, and those whose files have faults. */
function openWorld(...unusable: string[]) {
  const { installation, tenant } = openBooked(redis);
  const tenants = new Map(['rossi', 'verdi'].map((id) => [id, { ...tenant, id }] as const));
  const world = {
    ...installation,
    tenants,
    unusable: unusable.map((id) => ({ id })),
  } as unknown as typeof installation;
  const broken = new Set<string>();
  const backups: AllBackups = {
    backup: async (id) => `copy of ${id}`,
    async restore(id) {
      if (broken.has(id)) throw new MirrorError('x', { actor: 'settings', code: 'state-damaged', retry: 'never' });
      return {
        restored: ['clinic', 'google'],
        unchanged: ['hubspot'],
        protections: 30,
        pins: 40,
        rejections: 50,
        at: NOW,
      };
    },
    seal: (text) => text,
    open: (sealed) => sealed,
  };
  const run = (args: string[], files = {}): Promise<Ran> => runProgram(args, { installation: world, backups, files });
  return {
    ...{ broken, run },
    async file(): Promise<Record<string, string>> {
      return (await run(['backup', '--all', 'all.jsonl'])).written;
    },
  };
}

test('a backup of all tenants writes one file, and says how many are in it', async () => {
  const ran = await openWorld().run(['backup', '--all', 'all.jsonl']);
  expect(ran).toMatchObject({ code: 0, thrown: null, out: 'all.jsonl contains 2 tenants.\n' });
  expect(ran.written['all.jsonl']).toContain('"sealed":"copy of verdi"');
});

test('a backup without faulty tenants exits with 1 and lists these tenants, as text and as JSON', async () => {
  const { run } = openWorld('bianchi', 'neri');
  const ran = await run(['backup', '--all', 'all.jsonl']);
  expect(ran).toMatchObject({ code: 1, out: expect.stringContaining('configuration: bianchi, neri.') });
  const json = await run(['backup', '--all', 'all.jsonl', '--json']);
  expect([json.code, JSON.parse(json.out)]).toEqual([
    1,
    { file: 'all.jsonl', tenants: 2, without: ['bianchi', 'neri'] },
  ]);
});

test('a restored file shows the result for each tenant and the commands to repeat', async () => {
  const { run, file } = openWorld();
  const ran = await run(['restore', '--all', 'all.jsonl'], await file());
  expect(ran).toMatchObject({ code: 0, thrown: null });
  for (const tenant of ['rossi', 'verdi']) expect(ran.out).toMatch(new RegExp(`^${tenant} +2 +1 +30 +40 +50$`, 'm'));
  expect(ran.out.replaceAll(/\s+/g, ' ')).toContain('Repeat each forget and opt-out that came later.');
});

test('a restore with --only restores only the listed tenants, and exits with 1 if the file lacks one', async () => {
  const { run, file } = openWorld();
  const ran = await run(['restore', '--all', 'all.jsonl', '--only', 'verdi', 'nobody'], await file());
  expect(ran.code).toBe(1);
  expect(ran.out).toMatch(/^verdi /m);
  expect(ran.out).not.toMatch(/^rossi /m);
  expect(ran.out).toContain('nobody differs from the file (not-in-backup).');
});

test('a failed tenant does not stop the restore of the others; the command exits with 1 and the code', async () => {
  const { run, file, broken } = openWorld();
  const files = await file();
  broken.add('rossi');
  const ran = await run(['restore', '--all', 'all.jsonl', '--json'], files);
  expect([ran.code, JSON.parse(ran.out)]).toMatchObject([
    1,
    { restored: [{ tenant: 'verdi' }], failed: [{ tenant: 'rossi', code: 'state-damaged' }] },
  ]);
});

test('a file that was cut off is backup-damaged; neither command goes without --all', async () => {
  const { run, file } = openWorld();
  const [head = ''] = (await file())['all.jsonl']!.split('\n');
  const cut = await run(['restore', '--all', 'all.jsonl'], { 'all.jsonl': head });
  expect([cut.thrown, cut.out]).toMatchObject([{ code: 'backup-damaged' }, '']);
  for (const command of ['backup', 'restore']) expect(await run([command])).toMatchObject({ code: 1, out: '' });
});
