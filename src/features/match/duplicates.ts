import { MirrorError } from '../../core/model/errors.ts';
import type { CrmItem, Item } from '../../core/model/items.ts';
import type { Link } from '../../core/model/operations.ts';
import { eachInPieces } from '../../core/model/pieces.ts';
import type { Patient } from '../../core/model/records.ts';
import type { Progress } from '../../core/model/tasks.ts';
import { inPieces } from '../../core/pieces/in-pieces.ts';
import type { ClinicReading } from '../../domain/clinic-reading.ts';
import { patientSource } from '../../domain/mapping-sources.ts';
import type { Trait } from '../../domain/matching.ts';
import { remoteIdOf } from '../../engine/audit-target.ts';
import { planCycle } from '../../engine/cycle.ts';
import { message } from '../../messages/message.ts';
import { type Installation, requireTenant } from '../../operator/control/installation.ts';
import { asMatchable, compareWithFree } from '../../operator/control/matching.ts';
import { pagesOf } from '../../operator/control/target-objects.ts';
import type { OpenTarget } from '../../tenant/tenant.ts';
import type { MatchedTenant } from './propose.ts';
import type { Duplicate, DuplicatesView } from './schemas.ts';

/** A duplicate without page URLs. */
type Found = Pick<Duplicate, 'record' | 'kind' | 'by' | 'isHeldByOurs'> & { remoteId: string };

/**
 * Lists duplicate contacts: copies of managed contacts, similar unmanaged contacts, and managed contacts without an e-mail address used by
 * a different contact. Reads the clinic and every contact of the targets. Writes nothing.
 * @param options.target one target; default: every CRM target with patients
 * @throws MirrorError `settings`, code `no-such-tenant` or `no-such-target`; errors of clinic and target
 */
export async function tenantDuplicates(
  installation: Installation,
  id: string,
  { target: wanted, progress }: { target?: string | undefined; progress: Progress },
  signal: AbortSignal,
): Promise<DuplicatesView> {
  const tenant = requireTenant(installation, id);
  const asked = [...tenant.targets.values()].filter(
    (target) => (wanted === undefined || target.id === wanted) && target.stream === 'patients' && target.crm !== null,
  );
  if (asked.length === 0) throw noSuchTarget();
  const { reading } = await planCycle(tenant, { lease: null, progress }, signal);
  const targets: DuplicatesView['targets'] = [];
  for (const target of asked) {
    progress('reading the contacts');
    const duplicates = await duplicatesOf(tenant, target, reading, signal);
    targets.push({ target: target.id, connector: target.configuration.connector, duplicates });
  }
  return { tenant: id, asOf: await tenant.sharedTime(reading.startedAt), targets };
}

async function duplicatesOf(
  tenant: MatchedTenant,
  target: OpenTarget,
  reading: ClinicReading,
  signal: AbortSignal,
): Promise<Duplicate[]> {
  const { container } = await tenant.targetStore.read(target.id);
  const links = await tenant.links.read(target.id);
  const patients = reading.streams.patients?.snapshot.records;
  if (container === null || patients === undefined) return [];
  const written = new Map([...patients].filter(([recordId]) => links.has(recordId)));
  const found = [
    ...(await lacking(target, { links, patients: written }, reading, signal)),
    ...(await copied(target, container, links, signal)),
    ...(await alike(target, written, signal)),
  ];
  const pairs = new Set<string>();
  const shown = found.filter(({ record, remoteId }) => {
    const pair = `${record} ${remoteId}`;
    return !pairs.has(pair) && pairs.add(pair);
  });
  const idOf = new Map([...links.values()].map((link) => [link.recordId, remoteIdOf(target, link)]));
  const recordOf = new Map([...idOf].map(([record, remoteId]) => [remoteId, record]));
  const remoteIds = shown.flatMap(({ record, remoteId }) => [idOf.get(record) ?? remoteId, remoteId]);
  const pages = await pagesOf(target, container, remoteIds, signal);
  return shown.map(({ remoteId, record, ...one }) => {
    const [page = null, heldOn = null] = [pages.get(idOf.get(record) ?? ''), pages.get(remoteId)];
    return { record, ...one, page, heldBy: recordOf.get(remoteId) ?? null, heldOn };
  });
}

/** Only objects stored differently than sent can lack a property. */
async function lacking(
  target: OpenTarget,
  { links, patients }: { links: ReadonlyMap<string, Link>; patients: ReadonlyMap<string, Patient> },
  reading: ClinicReading,
  signal: AbortSignal,
): Promise<Found[]> {
  const { crm, connector, identity } = target;
  const { contacts } = connector;
  if (crm === null || contacts?.holders === undefined) return [];
  const otherwise = [...patients.values()].filter(({ id }) => links.get(id)?.storedFingerprint !== undefined);
  const recordOf = new Map<string, string>();
  const wanted = new Map<string, Item>();
  const sourceOf = patientSource(target, reading);
  const mapping = eachInPieces(otherwise, (patient) => {
    const key = identity.key(patient.id, links.get(patient.id)?.idAttempt ?? 0);
    recordOf.set(key, patient.id);
    const { properties } = crm.mapping.map(sourceOf(patient));
    wanted.set(key, { properties, contactKey: null, startAt: 0 } satisfies CrmItem);
  });
  await inPieces(mapping, signal);
  return (await contacts.holders(wanted, signal)).map(({ key, remoteId, property, isOurs: isHeldByOurs }) => ({
    ...{ record: recordOf.get(key) ?? '', kind: 'lacks', by: [property] },
    ...{ isHeldByOurs, remoteId },
  }));
}

/** Finds objects with clinic-mirror's stamp but a different id. A manual copy includes the stamp, but not always the key. */
async function copied(
  target: OpenTarget,
  container: string,
  links: ReadonlyMap<string, Link>,
  signal: AbortSignal,
): Promise<Found[]> {
  const { connector, identity } = target;
  const found: Found[] = [];
  for await (const page of connector.read(container, null, signal)) {
    for (const { sealedRecordId, remoteId } of page) {
      const record = sealedRecordId === null ? null : identity.recordIdOf(sealedRecordId);
      const link = record === null ? undefined : links.get(record);
      if (record === null || link === undefined || remoteIdOf(target, link) === remoteId) continue;
      found.push({ record, kind: 'copied', by: [], isHeldByOurs: true, remoteId });
    }
  }
  return found;
}

/** Finds unmanaged contacts that resemble patients with a managed contact. */
async function alike(
  target: OpenTarget,
  patients: ReadonlyMap<string, Patient>,
  signal: AbortSignal,
): Promise<Found[]> {
  const matchable = asMatchable(target);
  if (matchable === null) return [];
  const { matches } = await compareWithFree(matchable, patients, signal);
  return matches.map(({ recordId: record, remoteId, same }) => ({
    ...{ record, kind: 'alike', by: [...(same satisfies readonly Trait[])] },
    ...{ isHeldByOurs: false, remoteId },
  }));
}

function noSuchTarget(): MirrorError {
  return new MirrorError(message('no-such-crm-target'), {
    actor: 'settings',
    code: 'no-such-target',
    retry: 'never',
    remedy: message('no-such-crm-target.remedy'),
  });
}
