import { createHash } from 'node:crypto';
import { asMirrorError } from '../model/errors.ts';
import type { Appointment } from '../model/records.ts';
import type { AppointmentSnapshot } from '../model/snapshots.ts';
import { DAY_MS, type Instant, type TimeWindow } from '../model/time.ts';
import type { ClinicSeen, Withheld } from '../state/runs.ts';
import type { Directory } from '../sync/project.ts';
import type { OpenTarget, OpenTenant } from './tenant.ts';

/** Appointments to be read: of these agendas, in this window. */
export interface Reading {
  window: TimeWindow;
  agendas: 'all' | readonly string[];
}

/** What the clinic showed in one cycle. */
export interface Survey {
  snapshot: AppointmentSnapshot;
  directory: Directory;
  /** Parts of the catalogue that the login may not read; what depends on them is left out of items' texts. */
  withheld: Withheld[];
  clinic: ClinicSeen;
  startedAt: Instant;
}

/** What reading absent records alone told. */
export interface Confirmation {
  /** They are there after all; the list did not show them. */
  found: Appointment[];
  /** They are gone: 404 or 410 for the record itself. */
  vanished: Set<string>;
  /** They could not be asked for now: nothing is said of them. */
  unconfirmed: number;
}

/** Absent records that are read alone in one cycle; more wait for the next. */
const CONFIRMATIONS_PER_CYCLE = 200;
/** After so many failures one after the other the clinic is not asked on: changes must not wait for its time limits. */
const FAILURES_IN_TURN = 3;

/** A target's window at a time: whole days before and after. */
export function windowOf(target: OpenTarget, now: Instant): TimeWindow {
  const { pastDays, futureDays } = target.configuration.window;
  return { fromAt: now - pastDays * DAY_MS, toAt: now + futureDays * DAY_MS };
}

/**
 * Reads the clinic: the catalogue and every appointment that any of the targets may show.
 * @param besides what is read besides: for reminders, or to find what a person put back
 */
export async function surveyClinic(
  tenant: OpenTenant,
  targets: OpenTarget[],
  signal: AbortSignal,
  besides: readonly Reading[] = [],
): Promise<Survey> {
  const startedAt = tenant.clock();
  const windows = [
    ...targets.map((target) => windowOf(target, startedAt)),
    ...besides.map((reading) => reading.window),
  ];
  const window = {
    fromAt: Math.min(...windows.map(({ fromAt }) => fromAt)),
    toAt: Math.max(...windows.map(({ toAt }) => toAt)),
  };
  const { catalogue, withheld, clinic } = await readCatalogue(tenant, targets, signal);
  const snapshot = await tenant.clinic.readAppointments({ agendaIds: agendasOf(targets, besides), window }, signal);
  const needsNames = namesPatients(targets) && lacksNames(snapshot);
  const patients = await part('patients', needsNames, withheld, () => tenant.clinic.patients(signal));
  return { snapshot, directory: { ...catalogue, patients }, withheld, clinic, startedAt };
}

/**
 * Reads records alone that a complete snapshot should have shown and did not. Those that a hold keeps in every target that misses
 * them are not read while nobody decides; the rest is asked for in an order of chance, so that each gets its turn.
 * @param missing absent records by target
 */
export async function confirmAbsence(
  tenant: OpenTenant,
  missing: ReadonlyMap<string, readonly string[]>,
  signal: AbortSignal,
): Promise<Confirmation> {
  const candidates = new Set([...missing.values()].flat());
  const heldBack = await heldWhereverMissing(tenant, missing);
  const vanished = new Set([...candidates].filter((recordId) => heldBack.has(recordId)));
  const toAsk = shuffled(
    [...candidates].filter((recordId) => !heldBack.has(recordId)),
    tenant.random,
  );
  const asked = toAsk.slice(0, CONFIRMATIONS_PER_CYCLE);
  const confirmation: Confirmation = { found: [], vanished, unconfirmed: toAsk.length - asked.length };
  let failedInTurn = 0;
  for (const recordId of asked) {
    if (failedInTurn === FAILURES_IN_TURN) {
      confirmation.unconfirmed += 1;
      continue;
    }
    try {
      const answer = await tenant.clinic.readAppointment(recordId, signal);
      failedInTurn = 0;
      if ('found' in answer) confirmation.found.push(answer.found);
      else if ('absent' in answer) confirmation.vanished.add(recordId);
      else confirmation.unconfirmed += 1;
    } catch (error) {
      signal.throwIfAborted();
      tenant.log.warn({ code: asMirrorError(error).code }, 'an absent appointment could not be read alone');
      confirmation.unconfirmed += 1;
      failedInTurn += 1;
    }
  }
  return confirmation;
}

/**
 * Absent records that an open or rejected hold keeps in each target that misses them. A hold speaks for its own target only:
 * another one would lose its object without anybody having looked.
 */
async function heldWhereverMissing(
  tenant: OpenTenant,
  missing: ReadonlyMap<string, readonly string[]>,
): Promise<Set<string>> {
  const holds = (await tenant.holds.list()).filter(({ kind, state }) => kind === 'vanished' && state !== 'approved');
  const kept = new Set<string>();
  const unkept = new Set<string>();
  for (const [target, recordIds] of missing) {
    const heldHere = new Set(holds.filter((hold) => hold.target === target).flatMap((hold) => hold.recordIds));
    for (const recordId of recordIds) (heldHere.has(recordId) ? kept : unkept).add(recordId);
  }
  for (const recordId of unkept) kept.delete(recordId);
  return kept;
}

/** Fisher and Yates. */
function shuffled<Entry>(list: Entry[], random: () => number): Entry[] {
  for (let index = list.length - 1; index > 0; index -= 1) {
    const other = Math.floor(random() * (index + 1));
    [list[index], list[other]] = [list[other] as Entry, list[index] as Entry];
  }
  return list;
}

type Catalogue = Omit<Directory, 'patients'>;

interface CatalogueReading {
  catalogue: Catalogue;
  withheld: Withheld[];
  clinic: ClinicSeen;
}

/**
 * Processes keep what they read for an hour. Where this one knows another catalogue than the one that entries were written by last,
 * it reads anew: else two would rewrite them to and fro.
 */
async function readCatalogue(
  tenant: OpenTenant,
  targets: readonly OpenTarget[],
  signal: AbortSignal,
): Promise<CatalogueReading> {
  const [lastRun] = await tenant.runs.list(1);
  const known = lastRun?.clinic?.catalogue;
  // Patients are read only where names lack, so the catalogue's hash does not speak of them.
  if (lastRun?.withheld.some((each) => each.part === 'patients') === true) tenant.clinic.forget();
  const reading = await readParts(tenant, targets, signal);
  if (known === undefined || known === reading.clinic.catalogue) return reading;
  tenant.clinic.forget();
  return readParts(tenant, targets, signal);
}

async function readParts(
  { clinic }: OpenTenant,
  targets: readonly OpenTarget[],
  signal: AbortSignal,
): Promise<CatalogueReading> {
  const withheld: Withheld[] = [];
  const showsTreatment = targets.some(({ configuration }) => configuration.fields.includes('treatment'));
  const catalogue: Catalogue = {
    agendas: await part('agendas', true, withheld, () => clinic.agendas(signal)),
    locations: await part('locations', true, withheld, () => clinic.locations(signal)),
    treatments: await part('treatments', showsTreatment, withheld, () => clinic.treatments(signal)),
  };
  const told = Object.entries(catalogue).map(([name, entries]) => [name, [...entries].sort(byFirst)]);
  const seen = JSON.stringify([told, withheld.map((each) => each.part)]);
  const hash = createHash('sha256').update(seen).digest('base64url');
  return { catalogue, withheld, clinic: { tenantId: await clinic.tenantId(signal), catalogue: hash } };
}

function byFirst([one]: [string, unknown], [other]: [string, unknown]): number {
  return one < other ? -1 : 1;
}

/**
 * A part of the catalogue that the login may not read costs its texts, cycle after cycle the same. Any other failure ends the
 * cycle: leaving texts out for once would rewrite every item twice.
 */
async function part<Entry extends { id: string }>(
  name: Withheld['part'],
  needed: boolean,
  withheld: Withheld[],
  read: () => Promise<readonly Entry[]>,
): Promise<Map<string, Entry>> {
  if (!needed) return new Map();
  try {
    return new Map((await read()).map((entry) => [entry.id, entry]));
  } catch (error) {
    const cause = asMirrorError(error);
    if (cause.actor !== 'authorization' || cause.status !== 403) throw cause;
    withheld.push({ part: name, code: cause.code, remedy: cause.remedy ?? null });
    return new Map();
  }
}

function agendasOf(targets: readonly OpenTarget[], besides: readonly Reading[]): string[] | null {
  const ids = new Set<string>();
  const readings = [...targets.map(({ configuration }) => configuration), ...besides];
  for (const { agendas } of readings) {
    if (agendas === 'all') return null;
    for (const id of agendas) ids.add(id);
  }
  return [...ids];
}

function namesPatients(targets: readonly OpenTarget[]): boolean {
  return targets.some(({ configuration: { title } }) => title === 'initials' || title === 'full');
}

function lacksNames(snapshot: AppointmentSnapshot): boolean {
  for (const { patientId, patient } of snapshot.records.values()) {
    if (patientId !== null && patient === null) return true;
  }
  return false;
}
