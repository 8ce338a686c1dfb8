import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { connectors } from '../../src/connectors/registry.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/core/model/time.ts';
import { compose } from '../../src/daemon/compose.ts';
import { reminderChannels } from '../../src/features/reminders/channels/registry.ts';
import { syncTenant } from '../../src/operator/control/sync.ts';
import { loadConfiguration } from '../../src/settings/configuration-files.ts';
import type { OpenTenant } from '../../src/tenant/tenant.ts';
import { useRedis } from '../support/redis.ts';
import { type Names, rewrite, runSteps, type Step, shownIn, steady } from './support/shown-output.ts';
import { type SmallWorld, startSmallWorld, tenantFile } from './support/small-world.ts';

/* docs/at-night.md shows the output of commands for ten faults. Each fault is produced here, and each output is compared. */
const PAGE = 'docs/at-night.md';
const TENANT = 'clinic-1';
const TARGET = 'doctor-1';
const PROBLEMS = 'clinic-mirror status --problems';
const PERMISSIONS = ['agenda.read', 'agenda.write', 'patients.read', 'treatments.read', 'invoices.read'] as const;

/** Nothing is sent there: no worker runs. */
const HOOK = { url: 'http://127.0.0.1:9/in', secrets: [{ env: 'TENANT_CLINIC_1__HOOK' }] };

const redis = useRedis();

/** A clinic in sync. */
interface Night {
  world: SmallWorld;
  dataDirectory: string;
  tenant: OpenTenant;
  names: Names;
  clinicId: string;
  agendaId: string;
  /** One cycle, so many minutes ago. */
  cycle(minutesAgo?: number): Promise<void>;
  connectedAnHourAgo(): Promise<void>;
  /** The id of the first calendar. */
  container(): Promise<string>;
}

async function openNight(): Promise<Night> {
  const dataDirectory = await mkdtemp(join(tmpdir(), 'clinic-mirror-night-'));
  onTestFinished(() => rm(dataDirectory, { recursive: true, force: true }));
  const world = await startSmallWorld({
    ...{ redisUrl: redis.url, targets: ['google-calendar', 'google-calendar'], appointments: 24 },
    settings: { dataDirectory, schedule: { pullEverySeconds: 300 }, tokens: { confirmRefusalAfterSeconds: 120 } },
    reminders: {
      channels: { hook: { kind: 'webhook', settings: HOOK } },
      rules: { 'a-day': { before: 'P1D', channels: ['hook'] } },
    },
  });
  onTestFinished(() => world.close());
  world.env.TENANT_CLINIC_1__HOOK = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  await world.logIn();
  const ahead = { ms: 0 };
  const { configDir: dir, env } = world;
  const configuration = loadConfiguration({ dir, env, connectors, reminderChannels, mode: 'set-aside' });
  const clock = () => Date.now() + ahead.ms;
  const composition = compose({ configuration, log: silentLogger, priority: 'interactive', clock });
  onTestFinished(() => composition.close());
  const { tenant, credentials } = composition.composed.get(TENANT)!;
  Object.assign(tenant, { random: () => 0, missedForMs: 0 });
  const signal = new AbortController().signal;
  const { id, ...clinic } = world.tenants[0]!;
  const night: Night = {
    ...{ world, dataDirectory, tenant, names: new Map(), agendaId: clinic.agendaIds[0]!, clinicId: clinic.clinicId },
    async cycle(minutesAgo = 0) {
      ahead.ms = -minutesAgo * MINUTE_MS;
      await syncTenant(composition.installation, id, { progress: () => {}, signals: { stop: signal, abort: signal } });
    },
    async connectedAnHourAgo() {
      const { [TARGET]: credential } = await credentials.readAll([TARGET]);
      await credentials.remove(TARGET);
      await credentials.restore({
        [TARGET]: { ...credential!, obtainedAt: credential!.obtainedAt - HOUR_MS, accessExpiresAt: 0 },
      });
    },
    container: async () => (await tenant.targetStore.read(TARGET)).container ?? '',
  };
  await night.cycle(DAY_MS / MINUTE_MS);
  return night;
}

const google = ({ world }: Night) => world.targets[0]!;

/** What happens in each section of the page, in its order. */
const SECTIONS: Readonly<Record<string, (night: Night) => Step[]>> = {
  'One calendar receives nothing': (night) => {
    const role = async (name: 'reader' | 'owner') =>
      night.world.google.setRole(await night.container(), google(night).account, name);
    return [
      async () => {
        await night.cycle(9);
        await role('reader');
        const { id } = night.world.clinic.book(night.clinicId, { agendaId: night.agendaId });
        night.names.set('apt0000031', id);
        await night.cycle(4);
      },
      PROBLEMS,
      'clinic-mirror explain clinic-1 apt0000031',
      () => role('owner'),
      'clinic-mirror sync clinic-1',
    ];
  },
  'No calendar receives anything': (night) => [() => night.cycle(40), PROBLEMS, () => night.cycle(), PROBLEMS],
  'Redis refuses writes': (night) => [
    async () => {
      await night.cycle(2);
      await redis.connect().config('SET', 'maxmemory', 1);
    },
    PROBLEMS,
    'clinic-mirror doctor',
    () => redis.connect().config('SET', 'maxmemory', 0),
    PROBLEMS,
  ],
  'A connection expired': (night) => [
    async () => {
      await night.connectedAnHourAgo();
      await night.cycle(9);
      night.world.google.revokeConsent(google(night).account);
      night.world.clinic.book(night.clinicId, { agendaId: night.agendaId });
      await night.connectedAnHourAgo();
      await night.cycle(8);
      await night.cycle(4);
    },
    PROBLEMS,
    () => night.world.logIn({ connections: [TARGET] }),
    'clinic-mirror sync clinic-1',
  ],
  'Deletions are on hold': (night) => [
    async () => {
      const { clinic } = night.world;
      await night.cycle(9);
      const gone = [...clinic.appointments(night.clinicId)].filter(({ agendaId }) => agendaId !== night.agendaId);
      for (const { id } of gone) clinic.remove(night.clinicId, id, 'hard');
      for (const minutes of [5, 4]) await night.cycle(minutes);
      const { out } = await night.world.cli('holds', 'list', '--json');
      const [hold] = (JSON.parse(out) as { items: { id: string; seen: string }[] }).items;
      night.names.set('azmma', hold!.id).set('k3fw8tzn', hold!.seen);
    },
    PROBLEMS,
    'clinic-mirror holds list clinic-1',
    'clinic-mirror holds reject clinic-1 azmma --seen k3fw8tzn',
    PROBLEMS,
  ],
  'A calendar shows events twice': (night) => [
    async () => {
      await night.cycle(4);
      const calendar = await night.container();
      const { summary, start, end, extendedProperties } = night.world.google.events(calendar)[0]!;
      night.world.google.addByHand(calendar, { summary, start, end, extendedProperties });
    },
    'clinic-mirror audit clinic-1',
    'clinic-mirror audit clinic-1',
  ],
  'The clinic refuses its data': (night) => {
    const { username } = night.world.tenants[0]!.user;
    const permit = (some: readonly (typeof PERMISSIONS)[number][]) =>
      night.world.clinic.setPermissions(username, night.clinicId, some);
    return [
      async () => {
        await night.cycle(9);
        permit(PERMISSIONS.filter((name) => name !== 'agenda.read'));
        await night.cycle(4);
      },
      PROBLEMS,
      () => permit(PERMISSIONS),
      'clinic-mirror sync clinic-1',
      'clinic-mirror doctor clinic-1',
    ];
  },
  'The disk is full, or the process restarts': (night) => {
    // The kernel answers ENOSPC to each write to this device.
    const fill = () => symlink('/dev/full', join(night.dataDirectory, `probe-${process.pid}`));
    return [() => night.cycle(4), fill, PROBLEMS, PROBLEMS];
  },
  'Reminders are not sent': (night) => [
    async () => {
      await night.cycle(4);
      const at = Date.now() - 20 * MINUTE_MS;
      await night.tenant.reminders!.ledger.closeChannel('hook', { code: 'webhook-gone', at });
    },
    PROBLEMS,
    'clinic-mirror reminders reopen clinic-1 hook',
    PROBLEMS,
  ],
  'A tenant does not run after a change of its file': (night) => {
    const file = tenantFile(night.world, TENANT);
    const zone = async (from: string, to: string) =>
      writeFile(file, (await readFile(file, 'utf8')).replace(`zone: ${from}`, `zone: ${to}`));
    return [
      async () => {
        await night.cycle(4);
        await zone('Europe/Rome', 'Europe/Milan');
      },
      PROBLEMS,
      'clinic-mirror config check',
      () => zone('Europe/Milan', 'Europe/Rome'),
      PROBLEMS,
    ];
  },
};

const sections = shownIn(PAGE);

test('the page shows output in these sections only', () => {
  expect([...sections.keys()]).toEqual(Object.keys(SECTIONS));
});

test.each(Object.entries(SECTIONS))('%s', async (heading, stepsOf) => {
  const night = await openNight();
  const ran = await runSteps(night.world, stepsOf(night), night.names);
  rewrite(PAGE, heading, ran);
  expect(shownIn(PAGE).get(heading)?.map(steady)).toEqual(ran.map(steady));
});
