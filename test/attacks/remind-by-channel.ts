/**
 * Reminds one patient by each kind of channel, with a local server, and prints the results by kind as JSON. A separate process, so that
 * loaded modules affect no other test. `REDIS_URL` names the Redis.
 */
import { Redis } from 'ioredis';
import { DAY_MS } from '../../src/core/model/time.ts';
import { addFeatureMetrics } from '../../src/features/metrics.ts';
import { explainReminders } from '../../src/features/reminders/reminders.ts';
import { renderReminderExplanation } from '../../src/operator/cli/render-reminders.ts';
import { createMetrics } from '../../src/operator/control/metrics.ts';
import {
  type ChannelBed,
  openChannel,
  openEmailBed,
  openSmsBed,
  openWebhookBed,
} from '../features/reminders/channels/bed.ts';
import { book, createReminderWorld, patientOf } from '../features/reminders/reminder-world.ts';
import { openInstallation } from '../operator/control/open-installation.ts';
import { NEVER } from '../tenant/cycle.ts';

/** Result of the reminder by each kind of channel. */
export type ToldByChannel = Readonly<Record<keyof typeof TEXTS, Told>>;

/** Result of one reminder. */
export interface Told {
  /** State and reason. */
  fate: string;
  lastCode: string | null;
  /** Messages that the channel's server received. */
  arrived: string[];
  /** Lines of the metrics that count finished reminders. */
  counted: string[];
  /** The story of it, as an operator reads it. */
  shown: string;
}

/** Texts of the rule: each channel's text uses a different permitted field. */
const TEXTS = {
  sms: { text: 'Gentile {firstName}, alle {time}.' },
  email: { subject: 'Domani. {phone}', text: 'La aspettiamo alle {time}.' },
  webhook: { subject: 'Domani', text: 'Alle {time}, {firstName}.' },
};
const BEDS: Readonly<Record<keyof typeof TEXTS, () => Promise<ChannelBed>>> = {
  sms: openSmsBed,
  email: openEmailBed,
  webhook: openWebhookBed,
};

async function remindBy(kind: keyof typeof TEXTS, redis: Redis): Promise<Told> {
  const bed = await BEDS[kind]();
  try {
    const rule = { before: 'P1D', channels: ['text'], texts: { it: TEXTS[kind] } };
    const { needs } = bed.module;
    const world = createReminderWorld(redis, {
      file: { phone: '06 1234567', rules: { 'day-before': rule } },
      channel: { needs, readsPatient: true, channel: openChannel(bed) },
    });
    world.clinic.patientList[0] = patientOf('p1', { lastName: 'Zwxyquist', taxCode: 'ZWXNNA80E52H501X' });
    book(world, 'one', 30);
    await world.cycle();
    await world.advance(DAY_MS);
    const installation = openInstallation({ tenants: [world.tenant] });
    const all = createMetrics(() => installation);
    addFeatureMetrics(all);
    const metrics = (await all.render()).split('\n');
    return {
      fate: await world.fate(),
      lastCode: (await world.entries())[0]?.lastCode ?? null,
      arrived: (await bed.arrived()).map(({ text }) => text),
      counted: metrics.filter((line) => /^clinic_mirror_reminders\{.*state="(sent|dropped)".* [1-9]/.test(line)),
      shown: renderReminderExplanation(await explainReminders(installation, world.tenant.id, 'one', NEVER)),
    };
  } finally {
    await bed.close();
  }
}

/** Removes every key: each kind of channel gets an empty Redis. */
async function clear(redis: Redis): Promise<void> {
  const keys = (await Array.fromAsync(redis.scanStream())).flat();
  if (keys.length > 0) await redis.unlink(...keys);
}

const redis = new Redis(process.env.REDIS_URL ?? '', { maxRetriesPerRequest: null });
try {
  const told: Record<string, Told> = {};
  for (const kind of Object.keys(TEXTS) as (keyof typeof TEXTS)[]) {
    await clear(redis);
    told[kind] = await remindBy(kind, redis);
  }
  process.stdout.write(JSON.stringify(told));
} finally {
  redis.disconnect();
}
