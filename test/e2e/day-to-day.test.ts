import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { editTenantFile } from '../../demo/configuration.ts';
import { useRedis } from '../support/redis.ts';
import { type Names, rewrite, runSteps, type Step, shownIn, steady } from './support/shown-output.ts';
import { type SmallWorld, startSmallWorld } from './support/small-world.ts';

/* docs/day-to-day.md shows the output of commands after each change. Each change happens here, and each output is compared. */
const PAGE = 'docs/day-to-day.md';
const TENANT = 'clinic-1';

const redis = useRedis();

interface TenantFile {
  paused?: boolean;
  connections: Record<string, object>;
  targets: Record<string, { settings: object; firstRun?: string; [field: string]: unknown }>;
}

interface Day {
  world: SmallWorld;
  names: Names;
  edit(change: (file: TenantFile) => void): Promise<void>;
}

/** @param connections connections with a sign-in; default: all */
async function openDay(tenants: number, connections?: string[]): Promise<Day> {
  const dataDirectory = await mkdtemp(join(tmpdir(), 'clinic-mirror-day-'));
  onTestFinished(() => rm(dataDirectory, { recursive: true, force: true }));
  const world = await startSmallWorld({
    ...{ redisUrl: redis.url, tenants, targets: ['google-calendar', 'google-calendar'], appointments: 12 },
    settings: {
      dataDirectory,
      schedule: { pullEverySeconds: 300 },
      http: { port: 8080, publicUrl: 'https://mirror.practice.example' },
    },
  });
  onTestFinished(() => world.close());
  await world.logIn(connections === undefined ? {} : { connections });
  const edit = (change: (file: TenantFile) => void) => editTenantFile(world.configDir, TENANT, change as never);
  return { world, names: new Map([['all-tenants.backup', join(world.dir, 'all-tenants.backup')]]), edit };
}

const sync = ({ world }: Day, tenant = TENANT) => world.cli('sync', tenant);

/** What happens in each section of the page, in its order. */
const SECTIONS: Readonly<Record<string, (day: Day) => Step[]>> = {
  'A doctor joins': (day) => {
    let kept: TenantFile['targets'][string] | undefined;
    return [
      async () => {
        await day.edit(({ targets }) => {
          kept = targets['doctor-2'];
          delete targets['doctor-2'];
        });
        await sync(day);
        await day.edit(({ targets }) => {
          targets['doctor-2'] = { ...kept!, firstRun: 'plan' };
        });
      },
      'clinic-mirror plan clinic-1',
      async () => {
        await sync(day);
        const { out } = await day.world.cli('holds', 'list', '--json');
        const [hold] = (JSON.parse(out) as { items: { id: string; seen: string }[] }).items;
        day.names.set('azmma', hold!.id).set('k3fw8tzn', hold!.seen);
      },
      'clinic-mirror holds list clinic-1',
      'clinic-mirror holds approve clinic-1 azmma --seen k3fw8tzn',
      'clinic-mirror sync clinic-1',
    ];
  },
  'A doctor leaves': (day) => [
    () => sync(day),
    'clinic-mirror logout clinic-1 doctor-2',
    () =>
      day.edit(({ connections, targets }) => {
        delete connections['doctor-2'];
        delete targets['doctor-2'];
      }),
    'clinic-mirror sync clinic-1',
  ],
  'A doctor changes the calendar': (day) => [
    async () => {
      await sync(day);
      await day.edit(({ targets }) => {
        Object.assign(targets['doctor-1']!.settings, { calendar: { create: 'Practice, second floor' } });
      });
    },
    'clinic-mirror sync clinic-1',
  ],
  'Another clinic joins': (day) => [
    async () => {
      for (const tenant of [TENANT, 'clinic-2']) await sync(day, tenant);
    },
    'clinic-mirror status',
  ],
  'Move to another server': (day) => [
    () => sync(day),
    'clinic-mirror backup --all all-tenants.backup',
    async () => void (await redis.connect().flushall()),
    'clinic-mirror restore --all all-tenants.backup',
    'clinic-mirror sync clinic-1',
  ],
  'Pause and resume': (day) => [
    async () => {
      await sync(day);
      await day.edit((file) => {
        file.paused = true;
      });
    },
    'clinic-mirror status --problems',
    () =>
      day.edit((file) => {
        file.paused = false;
      }),
    'clinic-mirror sync clinic-1',
  ],
  'Share a calendar to a phone': (day) => [
    async () => {
      await day.edit(({ connections, targets }) => {
        const { agendas } = targets['doctor-1']!;
        connections.feeds = { kind: 'feed' };
        targets.reception = { connector: 'feed', connection: 'feeds', agendas, settings: { name: 'Reception' } };
      });
      await sync(day);
    },
    'clinic-mirror feeds rotate clinic-1 reception',
    'clinic-mirror feeds list clinic-1',
  ],
  'Try a real clinic without a write': () => ['clinic-mirror plan clinic-1', 'clinic-mirror health clinic-1'],
  'Stop using clinic-mirror': (day) => [
    () => sync(day),
    'clinic-mirror logout clinic-1 doctor-1',
    'clinic-mirror logout clinic-1',
  ],
};

test('the page shows output in these sections only', () => {
  expect([...shownIn(PAGE).keys()]).toEqual(Object.keys(SECTIONS));
});

test.each(Object.entries(SECTIONS))('%s', async (heading, stepsOf) => {
  const isTrial = heading === 'Try a real clinic without a write';
  const day = await openDay(heading === 'Another clinic joins' ? 2 : 1, isTrial ? ['clinic'] : undefined);
  const ran = await runSteps(day.world, stepsOf(day), day.names);
  rewrite(PAGE, heading, ran);
  expect(shownIn(PAGE).get(heading)?.map(steady)).toEqual(ran.map(steady));
});
