import { compilePaths, folded, isJsonObject } from '../clinic/http/rows.ts';
import { type BookedAppointment, compileBookings } from '../clinic/read/appointment-rows.ts';
import { emptyPathsIn } from '../clinic/read/reading-remarks.ts';
import type { ClinicProfile } from '../clinic/schema/profile.ts';
import { RESOURCE_PATHS, type ResourceName } from '../clinic/schema/resources.ts';
import { MirrorError } from '../model/errors.ts';
import type { Progress } from '../model/progress.ts';
import type { ReadingRemark } from '../model/reading-remarks.ts';
import { DAY_MS, MINUTE_MS } from '../model/time.ts';
import { concluded, type ProfileCheck } from './check-spec.ts';
import { type Asker, createAsker, type Refusals } from './probing/asking.ts';
import { probePaging, rowsIn } from './probing/paging.ts';
import { sampled } from './probing/sampled.ts';
import { queryOf, settle } from './probing/settle.ts';
import { type ProbedClinic, probeTenant } from './probing/tenants.ts';
import { probeAgendas, probeWindow, probeWindowManners, USUAL_DAYS, windowParameters } from './probing/windows.ts';
import { readRows } from './rows-read.ts';
import { compareSpecification } from './specification/compare.ts';
import { knownNames } from './specification/known-names.ts';
import type { Envelope } from './specification/match-envelope.ts';
import { propose } from './specification/propose.ts';
import type { ValueSchema } from './specification/schemas.ts';
import type { QueryParameter, SpecifiedOperation } from './specification/specification.ts';

/** What a probe found; `requests` were sent, all of them GET. */
export interface Probe extends ProfileCheck {
  requests: number;
}

/** Lists beside the appointments whose first page is looked at. */
const CATALOGUES = ['locations', 'agendas', 'treatments', 'patients'] as const satisfies readonly ResourceName[];
/** An id that no clinic has. */
const NOBODY = 'clinic-mirror-probe';

/**
 * Finds out by reading how a clinic answers, and proposes a profile. Nothing is changed there, and nothing of what is read is kept but
 * names of fields, words of statuses and forms of times.
 * @throws MirrorError `probe-exhausted`, `probe-empty` (there are too few appointments around now), `probe-refused` (every question about
 *   appointments was), and those of the API
 */
export async function probeClinic(access: ProbedClinic, progress: Progress, signal: AbortSignal): Promise<Probe> {
  const { context } = access;
  progress('the tenant');
  const { tenantId, profile, compared: tenants } = await probeTenant(access, signal);
  const asker = createAsker(context, tenantId, signal);
  const catalogues = await readCatalogues(asker, profile, progress);
  progress('the window of appointments');
  // A whole minute, so that no form of a time has to leave anything out.
  const now = Math.floor(context.clock() / MINUTE_MS) * MINUTE_MS;
  const window = await probeWindow(asker, now, profile);
  const fromAt = now - (USUAL_DAYS / 4) * DAY_MS;
  const base = window === null ? [] : windowParameters(window, fromAt, fromAt + USUAL_DAYS * DAY_MS, profile);
  progress('paging');
  const paging = await probePaging(asker, base, profile);
  if (paging === null) throw nothingToTellBy(asker.refusals());
  const { rows: samples, largest } = paging;
  const answer = sampled(paging.bodies, statesOf(profile));

  // How rows are read comes first: what follows looks at agendas, times and statuses.
  const { reading, readAll } = readerFrom(
    [...catalogues.operations, operation(profile, 'appointments', [], answer)],
    profile,
  );
  const rows = readAll(samples);
  const singles = await readSingles(asker, reading, rows);

  progress('agendas and windows');
  const agenda = await probeAgendas(asker, [...base, ...largest], rows, readAll, reading);
  const manners = window === null ? null : await probeWindowManners(asker, window, rows, largest, profile);
  const query = [...paging.query, ...queryOf(window, agenda)];
  const operations = [
    ...catalogues.operations.map((each) => ({ ...each, query: paging.query })),
    operation(profile, 'appointments', query, answer, singles.failures),
  ].map((each) => ({ ...each, hasLinkHeader: paging.hasLinkHeader, totalHeader: headerTotal(paging.envelope) }));
  const compared = compareSpecification({ operations: [...operations, ...singles.operations], remarks: [] }, profile);
  const seen = {
    agenda,
    manners,
    window,
    rows,
    samples: samples.filter(isJsonObject),
    reading,
    times: timesOf(samples, reading),
  };
  const settled = settle(compared, profile, seen);
  settled.findings.push(...tenants.findings);
  settled.changes.push(...tenants.changes);
  const check = concluded(settled, profile, catalogues.remarks, (proposed) => {
    const read = readRows(samples, proposed);
    return read === null ? null : { ...read, remarks: [...read.remarks, ...emptyPathsOf(catalogues, proposed)] };
  });
  return { ...check, requests: asker.requests() };
}

/** How appointments are read by what their rows look like. */
function readerFrom(operations: readonly SpecifiedOperation[], profile: ClinicProfile) {
  const { changes } = compareSpecification({ operations, remarks: [] }, profile);
  const reading = propose(profile, changes).profile;
  const map = compileBookings(reading);
  const readAll = (rows: readonly unknown[]) =>
    rows.map((row) => map(row)).flatMap((mapped) => ('record' in mapped ? [mapped.record] : []));
  return { reading, readAll };
}

/** What the first pages of the lists beside the appointments told. */
interface Catalogues {
  operations: SpecifiedOperation[];
  remarks: string[];
  rows: Map<(typeof CATALOGUES)[number], readonly unknown[]>;
}

async function readCatalogues(asker: Asker, profile: ClinicProfile, progress: Progress): Promise<Catalogues> {
  const operations: SpecifiedOperation[] = [];
  const remarks: string[] = [];
  const rows: Catalogues['rows'] = new Map();
  for (const list of CATALOGUES) {
    progress(list);
    const told = await asker.ask(list);
    const { status, body } = told;
    if (status < 300 && body !== undefined) operations.push(operation(profile, list, [], sampled([body])));
    else remarks.push(`the list of ${list} was refused with ${status}`);
    rows.set(list, rowsIn(told, list)?.rows ?? []);
  }
  return { operations, remarks, rows };
}

/** Paths of the proposed profile that find nothing in the rows of those lists. */
function emptyPathsOf({ rows }: Catalogues, proposed: ClinicProfile): ReadingRemark[] {
  return [...rows].flatMap(([list, found]) => (list === 'treatments' ? [] : emptyPathsIn(list, found, proposed)));
}

/** What is said of one list; its path is the one that was asked. */
function operation(
  { pathPrefix }: ClinicProfile,
  list: ResourceName,
  query: readonly QueryParameter[],
  answer: ValueSchema,
  failures: ReadonlyMap<string, ValueSchema> = new Map(),
  one = '',
): SpecifiedOperation {
  const path = `${pathPrefix}/tenants/{tenantId}/${RESOURCE_PATHS[list].join('/')}${one}`;
  return {
    method: 'GET',
    path,
    query,
    answer,
    hasLinkHeader: false,
    totalHeader: null,
    failures,
    bodies: new Map(),
    scopes: [],
  };
}

/** Reads one appointment alone, its patient, and an appointment that is not there. */
async function readSingles(asker: Asker, reading: ClinicProfile, rows: readonly BookedAppointment[]) {
  const { status, body } = await asker.ask('appointments', [], NOBODY);
  const failures = new Map(isJsonObject(body) && status >= 400 ? [[String(status), sampled([body])] as const] : []);
  const first = rows.find(({ patientId }) => patientId !== null) ?? rows[0];
  const wanted = [
    ['appointments', first?.id],
    ['patients', first?.patientId],
  ] as const;
  const operations: SpecifiedOperation[] = [];
  for (const [list, id] of wanted) {
    if (id === undefined || id === null) continue;
    const one = await asker.ask(list, [], id);
    if (one.status < 300) operations.push(operation(reading, list, [], sampled([one.body]), new Map(), '/{id}'));
  }
  return { failures, operations };
}

/** Fields that hold a state, folded: those that are known, and the one that the profile names. */
function statesOf({ appointments }: ClinicProfile): ReadonlySet<string> {
  const named = appointments.fields.status.map((path) => folded(path.split('.').at(-1) ?? path));
  return new Set([...knownNames('status'), ...named]);
}

function headerTotal({ totalPath }: Envelope): string | null {
  return totalPath?.startsWith('header:') === true ? totalPath : null;
}

/** Forms of the times that were seen where appointments start. */
function timesOf(samples: readonly unknown[], { appointments }: ClinicProfile): string[] {
  const read = compilePaths(appointments.fields.start);
  const values = samples.filter(isJsonObject).map(read);
  return values.filter((value) => typeof value === 'string' && value.length > 10) as string[];
}

/** No rows: all questions were refused, or there are too few appointments. */
function nothingToTellBy(refusals: Refusals | null): MirrorError {
  if (refusals === null) {
    return new MirrorError('there are too few appointments in these weeks to tell anything by', {
      actor: 'settings',
      code: 'probe-empty',
      retry: 'never',
      remedy: 'probe a clinic that is at work, or compare its OpenAPI document: clinic-mirror check-spec',
    });
  }
  const counted = [...refusals.statuses].map(([status, count]) => `${count} with ${status}`).join(', ');
  return new MirrorError(`the clinic refused every question about its list of appointments: ${counted}`, {
    actor: 'settings',
    code: 'probe-refused',
    retry: 'never',
    remedy:
      'name what the list needs in the profile and probe again: appointments.filters and window.format for a window, appointments.query for the rest; or clinic-mirror check-spec',
    said: refusals.said,
  });
}
