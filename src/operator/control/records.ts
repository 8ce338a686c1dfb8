import { MirrorError } from '../../core/model/errors.ts';
import type { Link } from '../../core/model/operations.ts';
import type { Page } from '../../core/model/schemas.ts';
import { type Clock, type Instant, upcoming } from '../../core/model/time.ts';
import type { RunReport } from '../../domain/runs.ts';
import { fieldsByHand } from '../../engine/audit.ts';
import type { HoldTable } from '../../engine/store.ts';
import { message } from '../../messages/message.ts';
import type { LinkCursor, LinkStore } from '../../state/links.ts';
import type { Outbox } from '../../state/outbox.ts';
import type { OpenTarget } from '../../tenant/tenant.ts';
import { type Installation, requireTenant } from './installation.ts';
import { cursorOf, type PageQuestion, pageOf, readCursor } from './paging.ts';
import { newestPlan } from './plan.ts';
import type { RecordLine, RecordList, RecordState } from './record-schemas.ts';
import { heldRecords, type StoredRecordState, stateOfRecord } from './record-states.ts';

/**
 * Lists the records of a target in one state from stored data, without querying clinic or target.
 * @throws MirrorError `settings`, code `no-such-tenant`, `no-such-target` or `cursor-unusable`; `conflict`, code `cursor-expired`
 */
export async function listRecords(
  installation: Installation,
  { tenant: tenantId, target: targetId, state }: { tenant: string; target: string; state: RecordState },
  question: PageQuestion,
): Promise<RecordList> {
  const tenant = requireTenant(installation, tenantId);
  const target = tenant.targets.get(targetId);
  if (target === undefined) throw noSuchTarget(tenant);
  const list = { target: targetId, state, asOf: null, counts: null };
  if (state === 'excluded') return { ...list, ...(await excludedRecords(installation, tenant, targetId, question)) };
  return { ...list, ...(await LISTS[state](tenant, target, question)) };
}

/** Members of a tenant that the lists of its records are read from. */
interface RecordListSource {
  clock: Clock;
  holds: HoldTable;
  links: LinkStore;
  outbox: Outbox;
}

type ListOf = (tenant: RecordListSource, target: OpenTarget, question: PageQuestion) => Promise<Page<RecordLine>>;

const LISTS: Readonly<Record<Exclude<RecordState, 'excluded'>, ListOf>> = {
  async 'in-sync'(tenant, { id }, { after, limit }) {
    const position = after === null ? null : readCursor(after, positionOf);
    const page = await tenant.links.page(id, position, limit);
    const inSync = await inState(tenant, id, page.links, 'in-sync');
    return {
      items: inSync.map(({ recordId, startAt }) => ({ ...EMPTY_LINE, record: recordId, startAt: timeOf(startAt) })),
      next: page.next === null ? null : cursorOf(page.next),
    };
  },
  pending: async (tenant, { id }, question) =>
    pendingPage(tenant, id, (await tenant.outbox.recordIds(id)).waiting, question),
  failed: async (tenant, { id }, question) =>
    pendingPage(tenant, id, (await tenant.outbox.recordIds(id)).failing, question),
  async 'on-hold'({ holds, links }, { id }, question) {
    const held = heldRecords(await holds.list(), id);
    const page = pageOf(held.keys(), question, (record) => record);
    const linked = await links.readSome(id, page.items);
    return {
      ...page,
      items: page.items.map((record) => {
        const hold = held.get(record);
        return {
          ...{ ...EMPTY_LINE, record, code: hold?.kind ?? null, about: hold?.id ?? null },
          ...{ startAt: timeOf(linked.get(record)?.startAt ?? 0), sinceAt: hold?.createdAt ?? null },
        };
      }),
    };
  },
  async 'changed-by-hand'(tenant, { id, identity }, question) {
    const page = pageOf(await tenant.links.drifted(id), question, ({ recordId }) => recordId);
    const changed = await inState(tenant, id, page.items, 'changed-by-hand');
    return {
      ...page,
      items: changed.map((link) => ({
        ...{ ...EMPTY_LINE, record: link.recordId, code: link.drift },
        ...{ about: fieldsByHand(link, identity).join(', ') || null, startAt: timeOf(link.startAt) },
      })),
    };
  },
};

/** Returns the links of records in a state, so that each record is listed in one state. */
async function inState(
  { holds, outbox }: { holds: HoldTable; outbox: Outbox },
  target: string,
  some: readonly Link[],
  state: StoredRecordState,
): Promise<Link[]> {
  const links = new Map(some.map((link) => [link.recordId, link]));
  const pending = await outbox.pendingOfSome(target, [...links.keys()]);
  const held = new Set(heldRecords(await holds.list(), target).keys());
  return some.filter(({ recordId }) => stateOfRecord(recordId, { links, pending, held }) === state);
}

const EMPTY_LINE: RecordLine = {
  record: '',
  code: null,
  about: null,
  startAt: null,
  sinceAt: null,
  nextTryAt: null,
};

async function pendingPage(
  { clock, holds, outbox }: RecordListSource,
  target: string,
  recordIds: readonly string[],
  question: PageQuestion,
): Promise<Page<RecordLine>> {
  const held = heldRecords(await holds.list(), target);
  const others = recordIds.filter((recordId) => !held.has(recordId));
  const page = pageOf(others, question, (recordId) => recordId);
  const pending = await outbox.pendingOfSome(target, page.items);
  // Omits changes completed since their ids were read.
  const items = [...pending.values()].map(({ recordId, lastError, reason, about = null, ...change }) => ({
    ...{ record: recordId, code: lastError ?? reason, about },
    ...{ startAt: timeOf(change.startAt), sinceAt: change.enqueuedAt, nextTryAt: upcoming(change.dueAt, clock()) },
  }));
  return { ...page, items };
}

async function excludedRecords(
  installation: Installation,
  { id, runs }: { id: string; runs: { list(limit: number): Promise<RunReport[]> } },
  targetId: string,
  question: PageQuestion,
): Promise<Page<RecordLine> & Pick<RecordList, 'asOf' | 'counts'>> {
  const plan = await newestPlan(installation, id);
  const excluded = plan?.excluded.find(({ target }) => target === targetId);
  if (plan !== null && excluded !== undefined) {
    const { counts, records } = excluded;
    const page = pageOf(records, question, ({ record }) => record);
    const items = page.items.map(({ record, why }) => ({ ...EMPTY_LINE, record, code: why }));
    return { ...page, items, asOf: plan.asOf, counts };
  }
  const [run] = await runs.list(1);
  const counts = run?.targets.find(({ target }) => target === targetId)?.omitted ?? null;
  return { items: [], next: null, asOf: run?.startedAt ?? null, counts };
}

/** Patients have no time. */
function timeOf(at: Instant): Instant | null {
  return at === 0 ? null : at;
}

function positionOf(position: unknown): LinkCursor | null {
  if (typeof position !== 'object' || position === null) return null;
  const { layoutVersion, bucket, after } = position as Record<string, unknown>;
  const isPosition = Number.isInteger(layoutVersion) && Number.isInteger(bucket) && typeof after === 'string';
  return isPosition && Number(bucket) >= 0
    ? { layoutVersion: Number(layoutVersion), bucket: Number(bucket), after }
    : null;
}

function noSuchTarget({ id, targets }: { id: string; targets: ReadonlyMap<string, unknown> }): MirrorError {
  return new MirrorError(message('no-such-target.of-tenant', { id }), {
    actor: 'settings',
    code: 'no-such-target',
    retry: 'never',
    remedy: message('no-such-target.of-tenant.remedy', { names: [...targets.keys()].join(', ') || 'none' }),
  });
}
