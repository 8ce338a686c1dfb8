import type { Progress } from '../../core/model/tasks.ts';
import { DAY_MS } from '../../core/model/time.ts';
import { type Installation, requireTenant } from '../../operator/control/installation.ts';
import type { OpenTarget } from '../../tenant/tenant.ts';
import { contactsOf } from './contacts.ts';
import type { ForgottenTenant } from './ports.ts';
import { findRecords, type PatientRecords } from './records.ts';

/** Version of the documented shape (`docs/forget.md`). A change that a reader must know raises the number. */
const EXPORT_FORMAT = 'patient-export-1';

/**
 * Collects what is held of a patient, decrypted: objects and queued changes of each target, messages, replies, opt-outs, holds and pending
 * webhooks. Queries the clinic for the patient's records, but no target; writes nothing.
 * @throws MirrorError `settings`, code `no-such-tenant`; errors of the clinic API
 */
export async function exportPatient(
  installation: Installation,
  tenantId: string,
  patientId: string,
  { progress, signal }: { progress: Progress; signal: AbortSignal },
) {
  const tenant = requireTenant(installation, tenantId);
  const records = await findRecords(tenant, { patientId }, progress, signal);
  const connections = new Map((await installation.connections(tenant)).map((one) => [one.connection, one]));
  const targets = [];
  for (const target of tenant.targets.values()) {
    const { connection } = target.configuration;
    const { account = null, obtainedAt = null } = connections.get(connection) ?? {};
    const held = await inTarget(tenant, target, [...records.ids[target.stream]]);
    if (held.objects.length + held.queued.length > 0) {
      targets.push({ target: target.id, connection, account, connectedAt: obtainedAt, ...held });
    }
  }
  const all = new Set(Object.values(records.ids).flatMap((ids) => [...ids]));
  const holds = (await tenant.holds.list()).flatMap(({ target, kind, recordIds, createdAt, expiresAt }) =>
    recordIds.filter((id) => all.has(id)).map((record) => ({ target, kind, record, createdAt, expiresAt })),
  );
  return {
    format: EXPORT_FORMAT,
    exportedAt: installation.clock(),
    tenant: tenantId,
    patient: patientId,
    isForgotten: (await tenant.tombstones.load())(patientId),
    records: Object.fromEntries(Object.entries(records.ids).map(([stream, ids]) => [stream, [...ids].sort()])),
    targets,
    ...(await ofReminders(tenant, records, signal)),
    holds,
    webhooks: await inTriggers(tenant, all),
    warnings: [...records.warnings].filter((warning) => warning !== 'still-in-clinic'),
  };
}

async function inTarget(
  { clock, journal, links, outbox, targetStore }: ForgottenTenant,
  { id, identity, configuration }: OpenTarget,
  recordIds: readonly string[],
) {
  const [linked, pending, contents, stored, pins] = await Promise.all([
    links.readSome(id, recordIds),
    outbox.pendingOfSome(id, recordIds),
    outbox.contentsOfSome(id, recordIds),
    targetStore.read(id),
    journal.pins(id, clock()),
  ]);
  const objects = [];
  for (const [recordId, { startAt, endAt, idAttempt, remoteId, drift }] of linked) {
    const lines = await journal.linesOf(id, recordId, clock());
    const changes = lines.map((line) => ({ ...line, expiresAt: line.at + journal.retentionMs }));
    const object = { recordId, remoteId: remoteId ?? identity.key(recordId, idAttempt), startAt, endAt };
    objects.push({ ...object, changedByHand: drift, pinnedUntil: pins[recordId] ?? null, changes, expiresAt: null });
  }
  const queued = [...pending.values()].map(({ fingerprint: _fingerprint, ...change }) => {
    return { ...change, content: contents.get(change.recordId) ?? null, expiresAt: null };
  });
  const { connector, crm, title, fields } = configuration;
  const sends = crm === undefined ? ['time', `title: ${title}`, ...fields] : [...crm.mapping.keys()];
  return { connector, container: stored.container, sends, objects, queued };
}

/** If no reminders are configured any more, only ids of messages are known. */
async function ofReminders(
  { clinic, clock, reminders }: ForgottenTenant,
  { patientId, ids, reminders: traces }: PatientRecords,
  signal: AbortSignal,
) {
  const traced = traces.reminders;
  const entries = (await reminders?.ledger.readSome(traced.map(({ id }) => id))) ?? new Map();
  const found = [...entries.values()];
  const reports = await reminders?.ledger.reports(found.flatMap(({ reference }) => reference ?? []));
  const messages = traced.map(({ id, appointmentId, remainingMs }) => {
    const { patientProof, locationProof, handedAs, recipient, wakeAt, ...details } = entries.get(id) ?? {};
    const report = reports?.get(details.reference ?? '') ?? null;
    return { id, appointmentId, ...details, report, expiresAt: clock() + remainingMs };
  });
  const recipients = new Set(found.flatMap(({ recipient }) => recipient ?? []));
  const answer = await clinic.readPatient(patientId, signal).catch(() => null);
  if (reminders !== null && answer !== null && 'found' in answer) {
    for (const { kind, address } of contactsOf(answer.found, reminders.file.phoneRegion))
      recipients.add(reminders.optOuts.hashOf(kind, address));
  }
  const optOuts = [];
  for (const recipient of recipients) {
    const optOut = await reminders?.optOuts.find(recipient);
    // The hash begins with the kind of the contact.
    if (optOut != null) optOuts.push({ kind: recipient.split(':')[0] ?? '', ...optOut, expiresAt: null });
  }
  const wrong = (await reminders?.ledger.wrong(clock())) ?? [];
  return {
    messages,
    answerLinks: traces.links.length,
    wrongInformation: wrong
      .filter(({ appointmentId }) => ids.appointments.has(appointmentId))
      .map(({ held: _held, untilAt, ...one }) => ({ ...one, expiresAt: untilAt })),
    replies: (await reminders?.replies.ofRecipients(recipients, clock())) ?? [],
    optOuts,
  };
}

/** Retention of an appointment of triggers after its end (`trigger-follow`). */
const TRIGGER_LIFE_MS = DAY_MS;

async function inTriggers({ triggers }: ForgottenTenant, recordIds: ReadonlySet<string>) {
  const held = [];
  for (const [endpoint, { events }] of triggers?.file.endpoints ?? []) {
    for (const event of events) {
      const observed = [...((await triggers?.store.appointments({ endpoint, event })) ?? []).values()].flatMap((one) =>
        one === null ? [] : [{ ...one, waitsUntil: null, expiresAt: one.endAt + TRIGGER_LIFE_MS }],
      );
      const waiting = (await triggers?.store.waiting({ endpoint, event })) ?? [];
      const all = [...observed, ...waiting.map((one) => ({ ...one, waitsUntil: one.dueAt, expiresAt: null }))];
      held.push(...all.filter((one) => recordIds.has(one.recordId)).map((one) => ({ endpoint, event, ...one })));
    }
  }
  return held;
}
