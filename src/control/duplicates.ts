import type { ClinicReading } from '../jobs/clinic-reading.ts';
import { planCycle } from '../jobs/plan-cycle.ts';
import type { OpenTarget, OpenTenant } from '../jobs/tenant.ts';
import { MirrorError } from '../model/errors.ts';
import type { CrmItem, Item } from '../model/items.ts';
import type { Progress } from '../model/progress.ts';
import type { Instant } from '../model/time.ts';
import { patientSource } from '../sync/mapping-sources.ts';
import { type Installation, requireTenant } from './installation.ts';

/** An object of ours that lacks what another object has, since the target gives it to one alone. */
export interface Duplicate {
  record: string;
  /** Name of what it lacks, such as `email`; never a value. */
  property: string;
  /** Address of its page; null when it has none. */
  page: string | null;
  /** The object that has it is ours too, as with relatives; else somebody else made it. */
  isHeldByOurs: boolean;
  /** That one's record; null when it is not ours, or not known. */
  heldBy: string | null;
  /** Address of that object's page. */
  heldOn: string | null;
}

/** What of a tenant's contacts seems to be there twice. */
export interface DuplicatesView {
  tenant: string;
  asOf: Instant;
  targets: { target: string; connector: string; duplicates: Duplicate[] }[];
}

/**
 * Lists contacts that lack an address which another contact has: most often somebody whom people had made by hand before. Reads the clinic,
 * and asks the targets who has it. Writes nothing.
 * @param options.target one target; all that can be asked so when absent
 * @throws MirrorError `settings`, code `no-such-tenant` or `no-such-target`; what the calls of clinic and target throw
 */
export async function tenantDuplicates(
  installation: Installation,
  id: string,
  { target: wanted, progress }: { target?: string | undefined; progress: Progress },
  signal: AbortSignal,
): Promise<DuplicatesView> {
  const tenant = requireTenant(installation, id);
  const asked = [...tenant.targets.values()].filter(
    (target) => (wanted === undefined || target.id === wanted) && canBeAsked(target),
  );
  if (asked.length === 0) throw noSuchTarget();
  const { clinicReading } = await planCycle(tenant, { lease: null, progress }, signal);
  const targets: DuplicatesView['targets'] = [];
  for (const target of asked) {
    progress('asking who has the addresses');
    const duplicates = await duplicatesOf(tenant, target, clinicReading, signal);
    targets.push({ target: target.id, connector: target.configuration.connector, duplicates });
  }
  return { tenant: id, asOf: clinicReading.startedAt, targets };
}

function canBeAsked({ stream, crm, connector }: OpenTarget): boolean {
  return stream === 'patients' && crm !== null && connector.holders !== undefined;
}

/** Only what the target holds otherwise than it was sent can lack something. */
async function duplicatesOf(
  tenant: Pick<OpenTenant, 'links' | 'targetStore'>,
  target: OpenTarget,
  clinicReading: ClinicReading,
  signal: AbortSignal,
): Promise<Duplicate[]> {
  const { crm, connector, identity } = target;
  const { container } = await tenant.targetStore.read(target.id);
  const links = await tenant.links.read(target.id);
  const patients = clinicReading.streams.patients?.snapshot.records;
  if (container === null || crm === null || patients === undefined) return [];
  const otherwise = [...links.values()].flatMap(({ recordId, storedFingerprint }) => {
    const patient = patients.get(recordId);
    return storedFingerprint === undefined || patient === undefined ? [] : [patient];
  });
  const mapped = await crm.mapping.mapAll(otherwise.map(patientSource(target, clinicReading)), signal);
  const recordOf = new Map<string, string>();
  const wanted = new Map<string, Item>();
  for (const [index, { id }] of otherwise.entries()) {
    const one = mapped[index];
    if (one === undefined || 'fault' in one) continue;
    const key = identity.key(id, links.get(id)?.epoch ?? 0);
    recordOf.set(key, id);
    wanted.set(key, { properties: one.properties, contactKey: null, startAt: 0 } satisfies CrmItem);
  }
  const holders = (await connector.holders?.(wanted, signal)) ?? [];
  const ours = new Map([...links.values()].map(({ recordId, remoteId }) => [remoteId, recordId]));
  const pageOf = (remoteId: string | null | undefined) => (remoteId ? target.pageOf(container, remoteId) : null);
  return holders.map(({ key, remoteId, property, isOurs: isHeldByOurs }) => {
    const record = recordOf.get(key) ?? '';
    const heldBy = ours.get(remoteId) ?? null;
    const page = pageOf(links.get(record)?.remoteId);
    return { record, property, page, isHeldByOurs, heldBy, heldOn: pageOf(remoteId) };
  });
}

function noSuchTarget(): MirrorError {
  return new MirrorError('no such target can tell of duplicates', {
    actor: 'settings',
    code: 'no-such-target',
    retry: 'never',
    remedy: 'name a target of patients whose connector can tell: hubspot',
  });
}
