import type { ClinicContext } from '../clinic/http/context.ts';
import { asId, compilePaths, isJsonObject } from '../clinic/http/rows.ts';
import { type BookedAppointment, compileBookings } from '../clinic/read/appointment-rows.ts';
import type { ClinicProfile } from '../clinic/schema/profile.ts';
import { RESOURCE_PATHS, type ResourceName } from '../clinic/schema/resources.ts';
import { MirrorError } from '../model/errors.ts';
import type { Progress } from '../model/progress.ts';
import { DAY_MS } from '../model/time.ts';
import type { ProfileCheck } from './check-spec.ts';
import { type Asker, createAsker } from './probing/asking.ts';
import { probePaging } from './probing/paging.ts';
import { sampled } from './probing/sampled.ts';
import { queryOf, settle } from './probing/settle.ts';
import { probeAgendas, probeWindow, probeWindowManners, USUAL_DAYS, windowParameters } from './probing/windows.ts';
import { compareSpecification } from './specification/compare.ts';
import type { Compared } from './specification/findings.ts';
import { propose } from './specification/propose.ts';
import type { ValueSchema } from './specification/schemas.ts';
import type { QueryParameter, SpecifiedOperation } from './specification/specification.ts';

/** What a probe found; `requests` were sent, all of them GET. */
export interface Probe extends ProfileCheck {
  requests: number;
}

/** A clinic that is asked, and which tenant of it is meant. */
export interface ProbedClinic {
  context: ClinicContext;
  /** The clinic's id of the tenant. @throws MirrorError as choosing a tenant does */
  tenantId(signal: AbortSignal): Promise<string>;
}

/** Lists beside the appointments whose first page is looked at. */
const CATALOGUES = ['locations', 'agendas', 'treatments', 'patients'] as const satisfies readonly ResourceName[];
/** An id that no clinic has. */
const NOBODY = 'clinic-mirror-probe';

/**
 * Finds out by reading how a clinic answers, and proposes a profile. Nothing is changed there, and nothing of what is read is kept but
 * names of fields, words of statuses and forms of times.
 * @throws MirrorError `contract`, codes `probe-exhausted` and `probe-empty` (there are too few appointments around now), and those
 *   of the API
 */
export async function probeClinic(access: ProbedClinic, progress: Progress, signal: AbortSignal): Promise<Probe> {
  const { context } = access;
  const { profile } = context;
  progress('the tenant');
  const asker = createAsker(context, await access.tenantId(signal), signal);
  const catalogues = await readCatalogues(asker, profile, progress);
  progress('the window of appointments');
  const now = context.clock();
  const window = await probeWindow(asker, now, profile);
  const fromAt = now - (USUAL_DAYS / 4) * DAY_MS;
  const base = window === null ? [] : windowParameters(window, fromAt, fromAt + USUAL_DAYS * DAY_MS, profile);
  progress('paging');
  const paging = await probePaging(asker, base, profile);
  if (paging === null) throw tooFew();
  const { rows: samples, largest } = paging;
  const answer = sampled(paging.bodies);

  // How rows are read comes first: what follows looks at agendas, times and statuses.
  const { reading, readAll } = readerFrom(
    [...catalogues.operations, operation(profile, 'appointments', [], answer)],
    profile,
  );
  const rows = readAll(samples);
  const singles = await readSingles(asker, rows);

  progress('agendas and windows');
  const agenda = await probeAgendas(asker, [...base, ...largest], rows, readAll, profile);
  const manners = window === null ? null : await probeWindowManners(asker, window, rows, largest, profile);
  const query = [...paging.query, ...queryOf(window, agenda)];
  const operations = [
    ...catalogues.operations.map((each) => ({ ...each, query: paging.query })),
    operation(profile, 'appointments', query, answer, singles.failures),
  ].map((each) => ({ ...each, hasLinkHeader: paging.hasLinkHeader }));
  const compared = compareSpecification({ operations, remarks: [] }, profile);
  const seen = {
    agenda,
    manners,
    window,
    rows,
    samples: samples.filter(isJsonObject),
    reading: reading.appointments,
    times: timesOf(samples, reading),
    recordPath: singles.recordPath,
  };
  return {
    ...concluded(settle(compared, profile, seen), profile),
    remarks: catalogues.remarks,
    requests: asker.requests(),
  };
}

function concluded({ findings, changes }: Compared, profile: ClinicProfile): Omit<ProfileCheck, 'remarks'> {
  const { yaml, leftOut } = propose(profile, changes);
  const fits = findings.every(({ verdict }) => verdict !== 'differs');
  return { fits, findings, proposedProfile: yaml, leftOut };
}

/** How appointments are read by what their rows look like. */
function readerFrom(operations: readonly SpecifiedOperation[], profile: ClinicProfile) {
  const { changes } = compareSpecification({ operations, remarks: [] }, profile);
  const reading = propose(profile, changes).profile;
  const map = compileBookings(reading);
  const readAll = (rows: readonly unknown[]) =>
    rows.map(map).flatMap((mapped) => ('record' in mapped ? [mapped.record] : []));
  return { reading, readAll };
}

async function readCatalogues(
  asker: Asker,
  profile: ClinicProfile,
  progress: Progress,
): Promise<{ operations: SpecifiedOperation[]; remarks: string[] }> {
  const operations: SpecifiedOperation[] = [];
  const remarks: string[] = [];
  for (const list of CATALOGUES) {
    progress(list);
    const { status, body } = await asker.ask(list);
    if (status < 300 && body !== undefined) operations.push(operation(profile, list, [], sampled([body])));
    else remarks.push(`the list of ${list} was refused with ${status}`);
  }
  return { operations, remarks };
}

/** What is said of one list; its path is the one that was asked. */
function operation(
  { pathPrefix }: ClinicProfile,
  list: ResourceName,
  query: readonly QueryParameter[],
  answer: ValueSchema,
  failures: ReadonlyMap<string, ValueSchema> = new Map(),
): SpecifiedOperation {
  const path = `${pathPrefix}/tenants/{tenantId}/${RESOURCE_PATHS[list].join('/')}`;
  return { method: 'GET', path, query, answer, hasLinkHeader: false, failures, bodies: new Map(), scopes: [] };
}

/** Reads one appointment alone, and one that is not there. */
async function readSingles(asker: Asker, [first]: readonly BookedAppointment[]) {
  const { status, body } = await asker.ask('appointments', [], NOBODY);
  const failures = new Map(isJsonObject(body) && status >= 400 ? [[String(status), sampled([body])] as const] : []);
  if (first === undefined) return { failures, recordPath: undefined };
  const one = (await asker.ask('appointments', [], first.id)).body;
  const isIt = (value: unknown) => isJsonObject(value) && Object.values(value).some((each) => asId(each) === first.id);
  const inner = isJsonObject(one) ? Object.entries(one).filter(([, value]) => isIt(value)) : [];
  const recordPath = isIt(one) ? null : inner.length === 1 ? (inner[0]?.[0] ?? null) : undefined;
  return { failures, recordPath };
}

/** Forms of the times that were seen where appointments start. */
function timesOf(samples: readonly unknown[], { appointments }: ClinicProfile): string[] {
  const read = compilePaths(appointments.fields.start);
  const values = samples.filter(isJsonObject).map(read);
  return values.filter((value) => typeof value === 'string' && value.length > 10) as string[];
}

function tooFew(): MirrorError {
  return new MirrorError('there are too few appointments in these weeks to tell anything by', {
    actor: 'settings',
    code: 'probe-empty',
    retry: 'never',
    remedy: 'probe a clinic that is at work, or compare its OpenAPI document: clinic-mirror check-spec',
  });
}
