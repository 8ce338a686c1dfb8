import { MirrorError } from '../../core/model/errors.ts';
import { eachInPieces, type Pieces } from '../../core/model/pieces.ts';
import { DAY_MS, type Instant } from '../../core/model/time.ts';
import type { TriggerReading } from '../../core/model/triggers.ts';
import { inPieces } from '../../core/pieces/in-pieces.ts';
import { roomForEntries, TENANT_TOO_LARGE } from '../../engine/storage-limit.ts';
import type { Lease } from '../../engine/store.ts';
import { message } from '../../messages/message.ts';
import type { Subject } from './events.ts';
import type { EventList } from './lists.ts';
import type { OpenTriggers, TriggerTenant } from './ports.ts';
import type { TriggerKey } from './store.ts';

/**
 * Retention of a document's name after the document was last listed, because an incomplete list may be followed by a list with the
 * document.
 */
const ABSENT_RETENTION_MS = 90 * DAY_MS;

/** Parts of a read for one endpoint. */
export interface ReadingParts {
  tenant: TriggerTenant;
  triggers: OpenTriggers;
  lease: Lease;
  isForgotten: (patientId: string) => boolean;
  signal: AbortSignal;
}

/** Lists the events of each endpoint from the configuration. */
export function triggerKeysOf({ file }: Pick<OpenTriggers, 'file'>): TriggerKey[] {
  return [...file.endpoints].flatMap(([endpoint, { events }]) => events.map((event) => ({ endpoint, event })));
}

/**
 * Updates the stored documents of an endpoint from a list. The first complete list causes no messages; later lists are compared. Safe to
 * interrupt anywhere: unsaved documents are found again.
 */
export async function takeList(
  parts: ReadingParts,
  triggerKey: TriggerKey,
  list: EventList | MirrorError,
): Promise<void> {
  const { store } = parts.triggers;
  const reading = await store.reading(triggerKey);
  if (list instanceof MirrorError) return switchOff(parts, triggerKey, reading, list);
  const now = parts.tenant.clock();
  if (reading.sinceAt === null) {
    if (!list.isWhole) return switchOff(parts, triggerKey, reading, baselinePartial());
    const names = await namesAtFirst(parts, triggerKey, list);
    if (!(await hasRoom(parts, names.length))) return switchOff(parts, triggerKey, reading, withoutRoom(names.length));
    await store.know(triggerKey, names, parts.lease);
    await store.recordReading(triggerKey, { sinceAt: now, readAt: now, off: null, letThrough: false }, parts.lease);
    parts.tenant.log.info(triggerKey, 'existing documents are recorded without messages');
    return;
  }
  // This list contains the documents again, with equal names.
  for (const id of await store.unreadable(triggerKey))
    await store.finishDropped(triggerKey, id, 'unreadable', parts.lease);
  const stored = await store.stored(triggerKey);
  const found = await inPieces(compare(parts, triggerKey, list, { stored, now }), parts.signal);
  const added = found.fresh.length + found.silent.length;
  if (!(await hasRoom(parts, added))) return switchOff(parts, triggerKey, reading, withoutRoom(added));
  const isFlood = found.fresh.length > parts.triggers.file.mostAtOnce && !reading.letThrough;
  if (isFlood) await closeForFlood(parts, triggerKey, found.fresh.length);
  else {
    await store.know(triggerKey, found.silent, parts.lease);
    const entries = found.fresh.map(({ id, recordId }) => {
      return { id, recordId, foundAt: now, attempts: 0, dueAt: now, code: null };
    });
    const recorded = await store.record(triggerKey, entries, parts.lease);
    if (recorded > 0) parts.tenant.log.info({ ...triggerKey, count: recorded }, 'messages about documents are queued');
  }
  if (found.absence.size > 0) await store.recordAbsence(triggerKey, found.absence, parts.lease);
  const letThrough = isFlood || found.fresh.length === 0 ? reading.letThrough : false;
  await store.recordReading(triggerKey, { ...reading, readAt: now, off: null, letThrough }, parts.lease);
}

/** Reserves room of the tenant in Redis for new entries of an event. Without room, nothing is stored, and a later list contains the same. */
export async function hasRoom({ tenant }: ReadingParts, entries: number): Promise<boolean> {
  if (entries === 0) return true;
  const room = await roomForEntries(tenant.storage);
  if (!room.take(entries)) return false;
  await room.record();
  return true;
}

/** Error of an event without room for its new entries. */
export function withoutRoom(count: number): MirrorError {
  const text = message('tenant-too-large.target', { count });
  return new MirrorError(text, { actor: 'settings', code: TENANT_TOO_LARGE, retry: 'later' });
}

/** Switches an event off while its list is unreadable. Other events continue. */
export async function switchOff(
  { tenant, triggers, lease }: ReadingParts,
  triggerKey: TriggerKey,
  reading: TriggerReading,
  { code, actor, remedy, texts }: MirrorError,
): Promise<void> {
  const at = reading.off?.code === code ? reading.off.at : tenant.clock();
  if (reading.off?.code !== code) tenant.log.warn({ ...triggerKey, code, actor }, 'trigger is off');
  await triggers.store.recordReading(
    triggerKey,
    { ...reading, off: { code, remedy: remedy ?? null, texts, at } },
    lease,
  );
}

/** Returns every present document, including unreadable rows, because their state is unknown. */
async function namesAtFirst(
  { triggers, signal }: ReadingParts,
  triggerKey: TriggerKey,
  { subjects, unusable }: EventList,
): Promise<string[]> {
  const reportable = [...subjects.values()].filter(({ sends }) => sends).map(({ recordId }) => recordId);
  const names: string[] = [];
  const name = (recordId: string) => void names.push(triggers.name({ ...triggerKey, recordId }));
  await inPieces(eachInPieces([...reportable, ...unusable], name), signal);
  return names;
}

interface Comparison {
  fresh: { id: string; recordId: string }[];
  /** Documents of forgotten patients: stored without a message, so that later lists cause no message. */
  silent: string[];
  absence: Map<string, Instant | 0 | null>;
}

function* compare(
  { triggers, isForgotten }: ReadingParts,
  triggerKey: TriggerKey,
  { subjects, unusable, isWhole }: EventList,
  { stored, now }: { stored: ReadonlyMap<string, Instant | 0>; now: Instant },
): Pieces<Comparison> {
  const found: Comparison = { fresh: [], silent: [], absence: new Map() };
  const listed = new Set<string>();
  const look = (recordId: string, subject: Subject | null) => {
    const id = triggers.name({ ...triggerKey, recordId });
    listed.add(id);
    const missingSince = stored.get(id);
    if (missingSince !== undefined && missingSince !== 0) found.absence.set(id, 0);
    if (missingSince !== undefined || subject?.sends !== true) return;
    if (subject.patientId !== null && isForgotten(subject.patientId)) found.silent.push(id);
    else found.fresh.push({ id, recordId });
  };
  yield* eachInPieces(subjects, ([recordId, subject]) => look(recordId, subject));
  yield* eachInPieces(unusable, (recordId) => {
    if (!subjects.has(recordId)) look(recordId, null);
  });
  // A partial list proves nothing about missing documents.
  if (!isWhole) return found;
  yield* eachInPieces(stored, ([id, missingSince]) => {
    if (listed.has(id)) return;
    if (missingSince === 0) found.absence.set(id, now);
    else if (now - missingSince > ABSENT_RETENTION_MS) found.absence.set(id, null);
  });
  return found;
}

/**
 * Closes an endpoint after an unusual number of new documents, because an earlier list may have been incomplete. An operator must check.
 */
export async function closeForFlood(
  { tenant, triggers }: ReadingParts,
  triggerKey: TriggerKey,
  count: number,
): Promise<void> {
  const { closed } = await triggers.store.endpoint(triggerKey.endpoint);
  if (closed !== null) return;
  await triggers.store.close(triggerKey.endpoint, { code: 'too-many-at-once', at: tenant.clock() });
  tenant.log.error(
    { ...triggerKey, count },
    'too many new documents: endpoint gets no messages until an administrator decides',
  );
}

export function baselinePartial(): MirrorError {
  return new MirrorError(message('first-list-partial'), {
    actor: 'contract',
    code: 'first-list-partial',
    retry: 'later',
    remedy: message('first-list-partial.remedy'),
  });
}
