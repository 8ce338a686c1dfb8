import type { HttpDoor } from '../http/door.ts';
import type { ObserveLag, OpenChannel, OpenReminders } from '../jobs/open-reminders.ts';
import type { WorkQueues } from '../jobs/workers.ts';
import type { Logger } from '../log/logger.ts';
import { type Clock, DAY_MS } from '../model/time.ts';
import { reminderChannels } from '../reminders/channels/registry.ts';
import { createReminderNames } from '../reminders/identity.ts';
import { compileRules } from '../reminders/rules.ts';
import type { TenantConfiguration } from '../settings/configuration.ts';
import { createOptOuts } from '../state/opt-outs.ts';
import type { RedisClient } from '../state/redis.ts';
import { createReminderLedger } from '../state/reminders.ts';
import { requireEntry } from './connections.ts';

/** What a tenant's reminders are opened with. */
export interface ReminderParts {
  tenant: TenantConfiguration;
  identityKey: Uint8Array;
  redis: RedisClient;
  queues: WorkQueues;
  http: HttpDoor;
  log: Logger;
  clock: Clock;
  observeLag: ObserveLag;
}

/** Opens a tenant's reminders; null where none are configured. Nothing is sent to anybody yet. */
export function openReminders(parts: ReminderParts): OpenReminders | null {
  const { tenant, identityKey, redis, clock } = parts;
  const file = tenant.reminders;
  if (file === undefined) return null;
  const channels = [...file.channels].map(([id, { kind, consent, settings }]): [string, OpenChannel] => {
    const module = requireEntry(reminderChannels, kind);
    const log = parts.log.child({ channel: id });
    const context = { settings, tenant: tenant.id, callbackUrl: null, http: parts.http, log, clock };
    const { needs, deduplicates } = module;
    return [id, { id, needs, deduplicates, consent: consent ?? null, channel: module.open(context) }];
  });
  const name = tenant.formerly ?? tenant.id;
  return {
    file,
    rules: compileRules(file),
    channels: new Map(channels),
    ledger: createReminderLedger(redis, tenant.id, { keepMs: file.keepDays * DAY_MS }),
    optOuts: createOptOuts(redis, tenant.id, identityKey),
    name: createReminderNames(identityKey, name),
    alarms: parts.queues.reminderAlarms(tenant.id, clock),
    observeLag: parts.observeLag,
  };
}
