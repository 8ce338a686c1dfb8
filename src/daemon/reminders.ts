import type { HostObserver, HttpClient } from '../core/http/client.ts';
import type { Logger } from '../core/log/logger.ts';
import { type Clock, DAY_MS } from '../core/model/time.ts';
import { createAnswerDirectory, createAnswerStore } from '../features/reminders/answer-store.ts';
import type { ChannelModule } from '../features/reminders/channels/channel.ts';
import { reminderChannels } from '../features/reminders/channels/registry.ts';
import {
  type AddressSecrets,
  createAddressSecrets,
  createMessageProofs,
  createReminderNames,
} from '../features/reminders/identity.ts';
import { createOptOuts } from '../features/reminders/opt-outs.ts';
import type { ObserveLag, OpenAnswers, OpenChannel, OpenReminders } from '../features/reminders/ports.ts';
import { createPatientReplies } from '../features/reminders/replies.ts';
import { compileRules } from '../features/reminders/rules.ts';
import { createReminderLedger } from '../features/reminders/store.ts';
import { withViews } from '../features/reminders/views.ts';
import { ANSWERS_PATH, REMINDERS_PATH } from '../operator/http-server/answers.ts';
import type { TenantConfiguration } from '../settings/configuration.ts';
import { OPERATORS_REACH, type Outbound, type Reach, reachOf } from '../settings/outbound-schema.ts';
import type { ReminderFile } from '../settings/reminder-schema.ts';
import type { Protection } from '../state/protection.ts';
import type { RedisClient } from '../state/redis.ts';
import { createProofSealer } from '../state/sealing.ts';
import type { TenantStateCounter } from '../state/state-counter.ts';
import type { WorkQueues } from '../tenant/work-queues.ts';

/** Decides whether a channel requires the patient record: for recipient, consent or text. */
export function needsPatient(
  module: ChannelModule,
  { consent, settings }: { consent?: string | undefined; settings?: unknown },
): boolean {
  return module.needs !== 'nothing' || consent !== undefined || module.readsPatient?.(settings) === true;
}

/** Dependencies of a tenant's reminders. */
export interface ReminderParts {
  tenant: TenantConfiguration;
  identityKey: Uint8Array;
  redis: RedisClient;
  stateCounter: Pick<TenantStateCounter, 'confirm'>;
  protection: Pick<Protection, 'store'>;
  queues: Pick<WorkQueues, 'reminderAlarms'>;
  httpFor: (reach: Reach) => HttpClient;
  heard: HostObserver;
  outbound: Outbound;
  log: Logger;
  clock: Clock;
  observeLag: ObserveLag;
  /** Public URL for gateways and patients; null without one. */
  publicUrl: string | null;
}

/** Opens a tenant's reminders; null if not configured. Sends nothing. */
export function openReminders(parts: ReminderParts): OpenReminders | null {
  const { tenant, identityKey, redis, clock } = parts;
  const file = tenant.reminders;
  if (file === undefined) return null;
  const name = tenant.formerly ?? tenant.id;
  const secrets = createAddressSecrets(identityKey, name);
  const channels = [...file.channels].map(([id, { kind, consent, settings }]): [string, OpenChannel] => {
    const module = channelModule(kind);
    const reach = module.purpose === null ? OPERATORS_REACH : reachOf(parts.outbound, module.purpose);
    const log = parts.log.child({ channel: id });
    const context = {
      settings,
      tenant: tenant.id,
      callbackUrl: parts.publicUrl === null ? null : `${parts.publicUrl}${REMINDERS_PATH}/${tenant.id}/${id}`,
      unsubscribeProof: secrets.unsubscribe,
      ...{ reach, http: parts.httpFor(reach), heard: parts.heard },
      log,
      clock,
    };
    const { needs, deduplicates } = module;
    const readsPatient = needsPatient(module, { consent, settings });
    return [id, { id, needs, readsPatient, deduplicates, consent: consent ?? null, channel: module.open(context) }];
  });
  const sealer = createProofSealer(identityKey, name);
  return withViews({
    file,
    rules: compileRules(file),
    channels: new Map(channels),
    ledger: createReminderLedger(redis, name, {
      retentionMs: file.keepDays * DAY_MS,
      sealer,
    }),
    optOuts: createOptOuts(redis, name, identityKey, parts.protection),
    replies: createPatientReplies(redis, name, sealer),
    confirm: parts.stateCounter.confirm,
    name: createReminderNames(identityKey, name),
    proofs: createMessageProofs(identityKey, name),
    alarms: parts.queues.reminderAlarms(tenant.id, clock),
    answers: openAnswers(file, name, secrets, parts),
    observeLag: parts.observeLag,
  });
}

function openAnswers(
  file: ReminderFile,
  name: string,
  secrets: AddressSecrets,
  { redis, clock, publicUrl }: ReminderParts,
): OpenAnswers | null {
  const { links } = file;
  if (links === undefined || publicUrl === null) return null;
  const directory = createAnswerDirectory(redis);
  return {
    async linkFor({ reminder, patientId, startAt }) {
      const token = secrets.token(reminder);
      // Stored as long as the ledger record, so that a late visitor still gets an explanation.
      const lifeMs = Math.max(0, startAt - clock()) + file.keepDays * DAY_MS;
      const proof = secrets.patient(reminder, patientId);
      await directory.put(token, { tenant: name, reminder, patientId, proof }, lifeMs);
      return { url: `${publicUrl}${ANSWERS_PATH}/${token}`, cancels: links.cancel };
    },
    isOurs: secrets.isOurs,
    proof: secrets.proof,
    store: createAnswerStore(redis, name, secrets.caller),
  };
}

/** Returns a channel module that configuration checks guarantee. */
export function channelModule(kind: string): ChannelModule {
  const module = reminderChannels.get(kind);
  if (module === undefined) throw new Error(`the configuration names the channel "${kind}" and there is none`);
  return module;
}
