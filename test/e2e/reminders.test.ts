// Tier: quick. The journey of a reminder.
import { Webhook } from 'standardwebhooks';
import { expect, onTestFinished, test } from 'vitest';
import { connectors } from '../../src/connectors/registry.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/core/model/time.ts';
import { reminderChannels } from '../../src/features/reminders/channels/registry.ts';
import { startDaemon } from '../../src/main.ts';
import { loadConfiguration } from '../../src/settings/configuration-files.ts';
import { startReceiver } from '../support/receiver.ts';
import { useRedis } from '../support/redis.ts';
import { useShiftedTime } from '../support/shifted-time.ts';
import { waitFor } from '../support/wait-for.ts';
import { startSmallWorld } from './support/small-world.ts';

const redis = useRedis();
const SECRET = `whsec_${Buffer.alloc(32, 5).toString('base64')}`;
/** From the booking to the moment that its reminder is due. */
const AHEAD_MS = 10 * MINUTE_MS;

test('the daemon sends signed reminders of booked appointments once, and none of an appointment cancelled in the last second', async () => {
  const time = useShiftedTime(redis);
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  const world = await startSmallWorld({
    redisUrl: redis.url,
    appointments: 1,
    clinic: { agendas: 2 },
    reminders: {
      quietHours: { from: '00:00', to: '00:00' },
      minimumLeadMinutes: 0,
      channels: {
        hook: {
          kind: 'webhook',
          settings: {
            url: `${receiver.url}/in`,
            secrets: [{ env: 'TENANT_CLINIC_1__HOOK' }],
          },
        },
      },
      rules: { 'an-hour': { before: 'PT1H', channels: ['hook'] } },
    },
  });
  onTestFinished(() => world.close());
  world.env.TENANT_CLINIC_1__HOOK = SECRET;
  await world.logIn();
  const { clinicId: tenantId = '', agendaIds: [one = '', other = ''] = [] } = world.tenants[0] ?? {};
  const start = Date.now() + HOUR_MS + AHEAD_MS;
  const kept = world.clinic.book(tenantId, { agendaId: one, start });
  const gone = world.clinic.book(tenantId, { agendaId: other, start: start + 1_000 });

  const configuration = loadConfiguration({
    dir: world.configDir,
    env: world.env,
    connectors,
    reminderChannels,
    mode: 'strict',
  });
  const daemon = await startDaemon(configuration, silentLogger, new AbortController().signal);
  onTestFinished(() => daemon.close());
  const ledger = daemon.composition.installation.tenants.get('clinic-1')?.reminders?.ledger;
  await waitFor(async () => (await ledger?.openCount()) === 2, { what: 'both to be planned' });
  world.clinic.cancel(tenantId, gone.id);
  await time.leap(AHEAD_MS + SECOND_MS);
  await waitFor(async () => (await ledger?.openCount()) === 0, { what: 'both to be settled' });

  expect(receiver.requests).toHaveLength(1);
  const [request] = receiver.requests;
  new Webhook(SECRET).verify(request?.body ?? '', request?.headers as Record<string, string>);
  expect(request?.body).toContain(kept.id);
  expect((await ledger?.ofAppointment(gone.id))?.map(({ reason }) => reason)).toEqual(['cancelled']);
  const sent = await world.cli('reminders', 'sent', 'clinic-1');
  expect(sent.out).toMatch(/an-hour +hook +sent/);
  expect(sent.out).toContain('dropped: cancelled');
  const metrics = await (await fetch(`http://127.0.0.1:${daemon.operatorPort}/metrics`)).text();
  expect(metrics).toContain('clinic_mirror_reminder_lag_seconds_count{tenant="clinic-1"} 1');
});
