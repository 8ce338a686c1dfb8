import { asMirrorError } from '../model/errors.ts';
import { eachInPieces } from '../model/pieces.ts';
import type { ContactsInput, CycleInput, TargetInput } from '../sync/cycle-input.ts';
import type { MappingSource } from '../sync/mapping/contract.ts';
import { mappables } from '../sync/mapping-sources.ts';
import { inPieces } from './in-pieces.ts';
import { restorationsOf } from './marks.ts';
import type { OpenTarget, OpenTenant } from './tenant.ts';

/** A target whose state was opened, before the rest is read that its plan goes by. */
export interface Opened extends Pick<TargetInput, 'state' | 'pinned' | 'absent' | 'missing'> {
  target: OpenTarget;
}

/** What a cycle knows before it reads the last of what it plans by. */
export type Known = Omit<CycleInput, 'now' | 'generation' | 'holds' | 'locale' | 'targets' | 'restingContacts'>;

type Stores = Pick<
  OpenTenant,
  'clock' | 'configuration' | 'generation' | 'holds' | 'journal' | 'links' | 'outbox' | 'records' | 'targets'
>;

/** Reads the last of what a plan goes by: what is decided from then on counts in the next cycle. */
export async function inputOf(
  tenant: Stores,
  opened: readonly Opened[],
  known: Known,
  signal: AbortSignal,
): Promise<CycleInput> {
  const { language, zone } = tenant.configuration;
  const now = tenant.clock();
  return {
    ...known,
    now,
    generation: await tenant.generation.look(),
    holds: await tenant.holds.list(),
    locale: { language, zone },
    targets: await targetInputs(tenant, opened, { ...known, now }, signal),
    restingContacts: await restingContacts(tenant, opened),
  };
}

/** What of each target a plan goes by. */
export async function targetInputs(
  { records }: Pick<OpenTenant, 'records'>,
  opened: readonly Opened[],
  cycle: Pick<CycleInput, 'survey' | 'confirmations' | 'now'>,
  signal: AbortSignal,
): Promise<TargetInput[]> {
  const inputs: TargetInput[] = [];
  for (const one of opened) {
    const { id } = one.target;
    const [{ firstRunApprovedAt, comparableUnder }, gone, restorations] = await Promise.all([
      records.read(id),
      records.gone(id, cycle.now),
      restorationsOf(records, one.target, cycle.now),
    ]);
    const stored = { firstRunApprovedAt, comparableUnder };
    inputs.push({ ...one, stored, gone, restorations, ...(await mappedAhead(one, cycle, signal)) });
  }
  return inputs;
}

/** Expressions are worked out in a thread of their own, so what they give is part of what a plan goes by. */
async function mappedAhead(
  { target, pinned }: Opened,
  cycle: Pick<CycleInput, 'survey' | 'confirmations'>,
  signal: AbortSignal,
): Promise<Pick<TargetInput, 'mapped' | 'fault'>> {
  const { crm } = target;
  if (crm === null || crm.mapping.isPlain) return { mapped: null, fault: null };
  const ids: string[] = [];
  const sources: MappingSource[] = [];
  try {
    const gathering = eachInPieces(mappables(target, pinned, cycle), ({ id, source }) => {
      ids.push(id);
      sources.push(source);
    });
    await inPieces(gathering, signal);
    const mapped = await crm.mapping.mapAll(sources, signal);
    return { mapped: new Map(mapped.map((each, index) => [ids[index] ?? '', each])), fault: null };
  } catch (error) {
    signal.throwIfAborted();
    return { mapped: null, fault: asMirrorError(error) };
  }
}

/** Contacts that are paused, or could not be read now, as far as others' records go by them. */
async function restingContacts(tenant: Stores, opened: readonly Opened[]): Promise<Map<string, ContactsInput>> {
  const isOpen = new Set(opened.map(({ target }) => target.id));
  const resting = new Map<string, ContactsInput>();
  for (const { configuration } of opened.map((one) => one.target)) {
    const target = tenant.targets.get(configuration.crm?.contacts ?? '');
    if (target === undefined || isOpen.has(target.id) || resting.has(target.id)) continue;
    const state = { links: await tenant.links.read(target.id), pending: await tenant.outbox.pending(target.id) };
    resting.set(target.id, { target, state, pinned: await tenant.journal.pinned(target.id, tenant.clock()) });
  }
  return resting;
}
