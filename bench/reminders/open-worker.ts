import { ON_THIS_MACHINE } from '../../sandbox/kit/outbound.ts';
import { createHttpClient } from '../../src/core/http/client.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import type { Clock } from '../../src/core/model/time.ts';
import { openReminders } from '../../src/daemon/reminders.ts';
import { reminderChannels } from '../../src/features/reminders/channels/registry.ts';
import type { OpenReminders } from '../../src/features/reminders/ports.ts';
import { type ReminderFile, reminderSchema } from '../../src/settings/reminder-schema.ts';
import { secretSchemas } from '../../src/settings/secret-reference.ts';
import type { RedisClient } from '../../src/state/redis.ts';
import type { OpenTenant } from '../../src/tenant/tenant.ts';
import { openEpoch, openTenant, withReminders } from '../../test/tenant/open-tenant.ts';
import { createClinicClient } from './clinic-client.ts';
import { type Doom, doomedChannel, doomedRedis } from './dying.ts';
import type { WorkerPlaces } from './orders.ts';
import { openVirtualAlarms } from './virtual-queue.ts';
import { PROMISE, RULES } from './world-plan.ts';

/** Of which reminders' names and opt-outs are made. */
export const IDENTITY_KEY = Buffer.alloc(32, 7);

const HOOK_SECRET = `whsec_${Buffer.alloc(32, 5).toString('base64')}`;

/** What a worker's tenants share. */
export interface WorkerParts {
  places: WorkerPlaces;
  redis: RedisClient;
  clock: Clock;
  doom: Doom;
  onAnswer(now: number): void;
}

/** Opens a tenant with the product's own rules, channels, ledger and opt-outs. Only the clinic's client and the queue are simulated. */
export function openSimulatedTenant(id: string, parts: WorkerParts): OpenTenant {
  const { places, clock, doom, onAnswer } = parts;
  const redis = doomedRedis(parts.redis, doom);
  const clinic = createClinicClient(places.clinicUrl, id, onAnswer);
  const tenant = openTenant({ redis, clinic, targets: [], clock, id });
  const reminders = openReminders({
    tenant: { ...tenant.configuration, reminders: reminderFile(places) },
    identityKey: IDENTITY_KEY,
    redis,
    stateCounter: openEpoch(redis, clock),
    protection: tenant.protection,
    queues: { reminderAlarms: () => openVirtualAlarms(redis, id) },
    httpFor: (reach) => createHttpClient({ userAgent: 'clinic-mirror', clock, reach }),
    heard: tenant.outages.heard,
    outbound: ON_THIS_MACHINE,
    log: silentLogger,
    clock,
    observeLag: () => {},
    publicUrl: PUBLIC_URL,
  });
  return reminders === null ? tenant : withReminders(tenant, withDoom(reminders, doom));
}

/** Public URL for patients' programs and the gateway, as configured in the channels. */
export const PUBLIC_URL = 'https://reminders.example';

function withDoom(reminders: OpenReminders, doom: Doom): OpenReminders {
  const channels = [...reminders.channels].map(
    ([id, open]) => [id, { ...open, channel: doomedChannel(open.channel, doom) }] as const,
  );
  return { ...reminders, channels: new Map(channels) };
}

const WHEN = {
  'eve-at-six': { at: { daysBefore: 1, time: '18:00' } },
  'same-time-the-day-before': { before: 'P1D' },
  'two-hours-before': { before: 'PT2H' },
};

function reminderFile({ sms, mail, hookUrl }: WorkerPlaces): ReminderFile {
  const told = (rule: string) => {
    const text = `${rule} {date} {time}`;
    const moved = `${rule}+moved {date} {time}`;
    const cancelled = `${rule}+cancelled {toldDate} {toldTime}`;
    return {
      ...{ subject: text, text },
      moved: { subject: moved, text: moved },
      cancelled: { subject: cancelled, text: cancelled },
    };
  };
  const rules = RULES.map(({ id, when, agendas, channels }) => [
    id,
    { ...WHEN[when], agendas, channels, texts: { it: told(id), en: told(id) } },
  ]);
  const file = reminderSchema.parse({
    quietHours: PROMISE.quiet,
    minimumLeadMinutes: PROMISE.leadMinutes,
    graceMinutes: PROMISE.graceMinutes,
    unreachableMinutes: PROMISE.unreachableMinutes,
    maxPerHour: 100_000,
    channels: {
      text: {
        kind: 'sms',
        consent: PROMISE.consent,
        settings: { accountSid: sms.accountSid, authToken: { env: 'TOKEN' }, from: sms.from, server: sms.url },
      },
      mail: { kind: 'email', settings: { ...mail, security: 'none', from: 'reminders@clinic.example' } },
      hook: {
        kind: 'webhook',
        settings: { url: hookUrl, secrets: [{ env: 'SECRET' }], fields: ['startAt'] },
      },
    },
    rules: Object.fromEntries(rules),
  });
  const secrets = secretSchemas({ env: { TOKEN: sms.authToken, SECRET: HOOK_SECRET }, dir: '/' });
  for (const channel of file.channels.values()) {
    channel.settings = reminderChannels.get(channel.kind)?.settingsSchema(secrets).parse(channel.settings);
  }
  return file;
}
