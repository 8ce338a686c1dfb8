import { editTenantFile } from '../../../demo/configuration.ts';
import type { ClinicSandbox, SandboxTenant, TrueAppointment, TruePatient } from '../../../sandbox/clinic/index.ts';
import type { GoogleSandbox } from '../../../sandbox/google/index.ts';
import type { GraphSandbox } from '../../../sandbox/graph/index.ts';
import type { FaultProxy, ProxiedRequest } from '../../../sandbox/kit/fault-proxy.ts';
import { eventsOf } from '../../../sandbox/kit/icalendar.ts';
import { seededRandom } from '../../../sandbox/kit/random.ts';
import type { SmsSandbox } from '../../../sandbox/sms/index.ts';
import { tenantVariable } from '../../../src/settings/tenant-secrets.ts';
import type { PrivateDavServer } from '../../../tools/dav-server.ts';
import type { Values } from '../crm/expected.ts';
import { startHubSpotSide } from '../crm/hubspot.ts';
import { startSalesforceSide } from '../crm/salesforce.ts';
import type { CrmSide } from '../crm/side.ts';
import { type ContactLoss, PatientHistory, watchContacts } from '../judge/contacts.ts';
import { History } from '../judge/history.ts';
import { basic, type ReadTarget, readCaldav, readGoogle, readGraph } from '../judge/read.ts';
import { type Removal, watchRemovals } from '../judge/removals.ts';
import type { TargetRules } from '../judge/rules.ts';
import type { Service } from './gates.ts';

/** The daemon's tenants, with the prefix of every surname in each. */
export const TENANTS = { aurora: 'Qzxa', belvedere: 'Qzxb' } as const;
/** Users of the CalDAV server. */
export const DAV_USERS = Object.keys(TENANTS).map((name) => ({ name, password: 'chaos-dav-password' }));

/** Patients with a namesake of the same address in the CRM, which users created. */
const TWINS = [4, 8] as const;
const WINDOW = { pastDays: 10, futureDays: 80 };
const PER_AGENDA = 9;
/** By so much the second clinic's appointments begin later. */
const LATER_MS = 10 * 60_000;

/** A connection that an operator makes. */
export interface Login {
  tenant: string;
  connection: string;
  kind: 'clinic' | 'google' | 'microsoft';
  username: string;
  password: string;
}

/** A tenant's CRM. */
export interface Crm {
  tenant: string;
  side: CrmSide;
  /** What requests of daemons took from its contacts. */
  losses: ContactLoss[];
}

/** The part of a tenant file that changes while a script runs. */
export interface TenantFile {
  name: string;
  connections: Record<string, object>;
  targets: Record<string, TargetFile>;
  [part: string]: unknown;
}

/** A target in a tenant file. */
interface TargetFile {
  connector: string;
  agendas?: string[];
  paused?: boolean;
  formerly?: string;
  [part: string]: unknown;
}

/** Changes a tenant's file; a daemon that starts later reads it so, and one that runs follows it in seconds. */
export function editTenant(dir: string, tenant: string, edit: (file: TenantFile) => void): Promise<void> {
  return editTenantFile(dir, tenant, edit);
}

/** `reminders` of a tenant file: a text message an hour before, at any time of day. */
function remindersOf({ accountSid, from }: SmsSandbox, url: string, tenant: string): object {
  const authToken = { env: tenantVariable(tenant, 'SMS_TOKEN') };
  return {
    quietHours: { from: '00:00', to: '00:00' },
    minimumLeadMinutes: 0,
    channels: { sms: { kind: 'sms', settings: { accountSid, authToken, from, server: url } } },
    rules: { 'an-hour': { before: 'PT1H', channels: ['sms'] } },
  };
}

/** A calendar that the daemons follow, seen from outside. */
export interface CalendarTarget {
  tenant: string;
  /** Its id in the tenant file; changes when it is renamed. */
  target: string;
  service: 'google' | 'graph' | 'caldav';
  /** Account or mailbox; for CalDAV, the URL of the home. */
  account: string;
  rules: TargetRules;
  read: ReadTarget;
  removals: Removal[];
}

/** Called before the server receives a request; the returned function is called when the server is done. */
export type Watch = (request: ProxiedRequest) => Promise<(() => Promise<void>) | null>;

/** Opens a gate before a server. */
export type OpenGate = (service: Service, server: string, watch?: Watch) => Promise<FaultProxy>;

/** Servers of the calendars. */
interface CalendarServers {
  google: GoogleSandbox;
  graph: GraphSandbox;
  radicale: PrivateDavServer | null;
  openGate: OpenGate;
}

/** A calendar, and what the tenant file says of it. */
interface BuiltTarget {
  calendar: Pick<CalendarTarget, 'service' | 'account' | 'read' | 'removals'>;
  connector: string;
  connection: object;
  settings: object;
  /** Null if no connection is required. */
  login: { kind: 'google' | 'microsoft'; username: string } | null;
}

/** Begins every surname of a patient, and nothing else. */
export const PLANTED = /Qzx[ab]\d{4}/;
const READS = /^(GET|HEAD|OPTIONS|PROPFIND|REPORT)$/;

/** Builds a doctor's calendar at Google. */
async function googleTarget(tenant: string, name: string, servers: CalendarServers): Promise<BuiltTarget> {
  const { google, openGate } = servers;
  const account = `${name}@${tenant}.example`;
  google.addAccount(account);
  const read = () => readGoogle(google.calendarApiUrl, google.issueAccessToken(account));
  const removals: Removal[] = [];
  const note = noteIn(removals, tenant, account);
  const seen = async () => (await read()).map(({ id, title }) => ({ id, surnames: surnamesIn(title) }));
  const watch: Watch = async ({ method }) => (READS.test(method) ? null : watchRemovals(seen, note));
  const gate = await openGate('google', google.calendarApiUrl, watch);
  return {
    calendar: { service: 'google', account, read, removals },
    connector: 'google-calendar',
    connection: { kind: 'google', client: 'main' },
    settings: { calendar: { create: `${name} (clinic)` }, rootUrl: gate.url },
    login: { kind: 'google', username: account },
  };
}

/** A doctor's calendar in a mailbox. */
async function graphTarget(tenant: string, name: string, servers: CalendarServers): Promise<BuiltTarget> {
  const { graph, openGate } = servers;
  const account = `${name}@${tenant}.example`;
  graph.addMailbox(account);
  const own = graph.defaultCalendar(account);
  const read = () => readGraph(graph.graphUrl, graph.issueAccessToken(account), own);
  const removals: Removal[] = [];
  const seen = async () =>
    graph
      .calendars(account)
      .flatMap(({ id: calendar }) => (calendar === own ? [] : graph.events(account, calendar)))
      .map(({ id, subject }) => ({ id: String(id), surnames: surnamesIn(String(subject)) }));
  const note = noteIn(removals, tenant, account);
  const watch: Watch = async ({ method }) => (READS.test(method) ? null : watchRemovals(seen, note));
  const gate = await openGate('graph', graph.graphUrl, watch);
  return {
    calendar: { service: 'graph', account, read, removals },
    connector: 'outlook-calendar',
    connection: { kind: 'microsoft', client: 'main', directory: graph.tenantId },
    settings: { mailbox: 'me', calendar: { create: `${name} (clinic)` }, rootUrl: gate.url },
    login: { kind: 'microsoft', username: account },
  };
}

/** A room's calendar at the CalDAV server. */
async function caldavTarget(tenant: string, name: string, servers: CalendarServers): Promise<BuiltTarget> {
  const { radicale, openGate } = servers;
  if (radicale === null) throw new Error('there is no CalDAV server');
  const login = radicale.users.find((user) => user.name === tenant) ?? { name: tenant, password: '' };
  const credentials = { username: login.name, password: login.password };
  const account = `${radicale.url}/${tenant}/`;
  const removals: Removal[] = [];
  const note = noteIn(removals, tenant, account);
  const markedAt = async (url: string) => {
    const answer = await fetch(`${radicale.url}${url}`, { headers: { authorization: basic(credentials) } });
    const text = await answer.text();
    const events = answer.ok && text.startsWith('BEGIN:VCALENDAR') ? eventsOf(text) : [];
    return events.map(({ title }) => ({ id: url, surnames: surnamesIn(title) }));
  };
  const watch: Watch = async ({ method, url }) =>
    method === 'DELETE' ? watchRemovals(() => markedAt(url), note) : null;
  const gate = await openGate('caldav', radicale.url, watch);
  return {
    calendar: { service: 'caldav', account, read: () => readCaldav(account, credentials), removals },
    connector: 'caldav',
    connection: { kind: 'caldav', username: tenant, password: { env: tenantVariable(tenant, 'DAV_PASSWORD') } },
    settings: { calendar: { home: `${gate.url}/${tenant}/`, create: `${name} (clinic)` } },
    login: null,
  };
}

function noteIn(removals: Removal[], tenant: string, account: string): (surname: string) => void {
  return (surname) => void removals.push({ at: Date.now(), tenant, account, surname });
}

function surnamesIn(title: string): string[] {
  return PLANTED.exec(title)?.slice(0, 1) ?? [];
}

/** Everything that people do at one clinic passes here, so that its state is known as of every time. */
export interface ClinicDesk {
  readonly tenantId: string;
  readonly agendaIds: readonly string[];
  readonly user: { username: string; password: string };
  readonly history: History;
  readonly patients: PatientHistory;
  /** Appointments that are neither cancelled nor deleted, have a start and have not begun. */
  ahead(): TrueAppointment[];
  /** Does something and notes what the clinic holds then. */
  do<Result>(what: (clinic: ClinicSandbox) => Result): Result;
  /** Books an appointment for a new patient with a unique name. */
  book(agendaId: string, start: number, end?: number): TrueAppointment;
  /** A day's work in small: the same for a seed while its data is the same. */
  work(seed: number, pieces: number): void;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const SLOT_MS = 30 * MINUTE_MS;
/** Number of patients who share an address. */
const FAMILY = 4;
/** Every so many patients don't consent to the keeping of data in a CRM. */
const WITHOUT_CONSENT_EVERY = 9;

/**
 * Opens the desk of a clinic and fills its agendas.
 * @param options.mark prefix of the surname of every patient there
 * @param options.lateMs shifts the start of the clinic's appointments, so that no two clinics share a minute and rows differ not only by
 * name
 */
function openClinicDesk(
  clinic: ClinicSandbox,
  { id: tenantId, agendas, user }: SandboxTenant,
  { mark, perAgenda, lateMs }: { mark: string; perAgenda: number; lateMs: number },
): ClinicDesk {
  const history = new History(clinic, tenantId);
  const patients = new PatientHistory(clinic, tenantId);
  const agendaIds = agendas.map(({ id }) => id);
  let people = 0;
  const today = Math.floor(clinic.clock() / DAY_MS) * DAY_MS;
  const register = (): TruePatient => {
    const patient = clinic.registerPatient(tenantId);
    people += 1;
    const number = String(people).padStart(4, '0');
    const granted = people % WITHOUT_CONSENT_EVERY !== 0;
    clinic.plant(tenantId, 'patients', patient.id, {
      lastName: `${mark}${number}`,
      email:
        people <= FAMILY ? `family.${mark.toLowerCase()}@example.com` : `${number}.${mark.toLowerCase()}@example.com`,
      phone: `+39 333 ${mark.length}${number}00`,
      consents: { ...patient.details.consents, privacy: { granted, date: null } },
    });
    return patient;
  };
  const desk: ClinicDesk = {
    tenantId,
    agendaIds,
    user,
    history,
    patients,
    ahead: () =>
      [...clinic.appointments(tenantId)].filter(
        ({ deleted, waits, status, start }) =>
          !deleted &&
          waits !== true &&
          (status === 'Booked' || status === 'Confirmed') &&
          start > clinic.clock() + DAY_MS,
      ),
    do(what) {
      try {
        return what(clinic);
      } finally {
        history.note(Date.now());
        patients.note(Date.now());
      }
    },
    book: (agendaId, start, end = start + SLOT_MS) =>
      desk.do(() => clinic.book(tenantId, { agendaId, patientId: register().id, start, end })),
    work(seed, pieces) {
      const random = seededRandom(seed);
      for (let piece = 0; piece < pieces; piece += 1) workOnce(desk, random, today);
    },
  };
  for (const agendaId of agendaIds) {
    // Two appointments are in the past, the others in the future, each at a unique time.
    for (let index = 0; index < perAgenda; index += 1) {
      const day = index < 2 ? -2 - index : 1 + index * 3;
      desk.book(agendaId, today + day * DAY_MS + 8 * 60 * MINUTE_MS + index * SLOT_MS + lateMs);
    }
  }
  return desk;
}

function workOnce(desk: ClinicDesk, random: () => number, today: number): void {
  const ahead = desk.ahead();
  const one = ahead[Math.floor(random() * ahead.length)];
  const agendaId = desk.agendaIds[Math.floor(random() * desk.agendaIds.length)] ?? '';
  const start = today + (2 + Math.floor(random() * 40)) * DAY_MS + (14 + Math.floor(random() * 8) / 2) * 60 * MINUTE_MS;
  const kind = random();
  if (one === undefined || kind < 0.3) return void desk.book(agendaId, start);
  desk.do((clinic) => {
    if (kind < 0.65) clinic.move(desk.tenantId, one.id, { start, end: start + SLOT_MS });
    else if (kind < 0.75) clinic.move(desk.tenantId, one.id, { agendaId, start, end: start + SLOT_MS });
    else if (kind < 0.85) clinic.cancel(desk.tenantId, one.id);
    else if (kind < 0.92) clinic.remove(desk.tenantId, one.id, 'hard');
    else changePatient(clinic, desk.tenantId, one.patientId ?? '', random);
  });
}

/** A new telephone number, or the consent goes or comes. */
function changePatient(clinic: ClinicSandbox, tenantId: string, id: string, random: () => number): void {
  const patient = [...clinic.patients(tenantId)].find((each) => each.id === id);
  if (patient === undefined) return;
  const { consents } = patient.details;
  const granted = consents.privacy?.granted !== true;
  const digits = String(Math.floor(random() * 10_000_000)).padStart(7, '0');
  const change =
    random() < 0.6 ? { phone: `+39 347 ${digits}` } : { consents: { ...consents, privacy: { granted, date: null } } };
  clinic.plant(tenantId, 'patients', id, change);
}

interface TenantParts extends CalendarServers {
  clinic: ClinicSandbox;
  sms: SmsSandbox;
  smsUrl: string;
}

/** Fills the clinics' agendas, and makes the calendars, the CRMs and the tenants' files. */
export async function buildTenants(parts: TenantParts) {
  const tenants = new Map<string, ClinicDesk>();
  const targets: CalendarTarget[] = [];
  const crms: Crm[] = [];
  const logins: Login[] = [];
  const files = new Map<string, TenantFile>();
  for (const [index, [tenant, mark]] of Object.entries(TENANTS).entries()) {
    const source = parts.clinic.tenants[index];
    if (source === undefined) throw new Error('the sandbox clinic lacks a tenant');
    const desk = openClinicDesk(parts.clinic, source, { mark, perAgenda: PER_AGENDA, lateMs: index * LATER_MS });
    tenants.set(tenant, desk);
    const { username, password } = source.user;
    logins.push({ tenant, connection: 'clinic', kind: 'clinic', username, password });
    const file: TenantFile = {
      ...{ name: tenant, language: 'it', zone: 'Europe/Rome', clinic: { client: 'main', tenantId: source.id } },
      ...{ connections: {}, targets: {}, reminders: remindersOf(parts.sms, parts.smsUrl, tenant) },
    };
    for (const [position, agendaId] of desk.agendaIds.entries()) {
      const { name, built } = await buildCalendar(tenant, position, parts);
      const rules = { agendaIds: [agendaId], window: WINDOW };
      targets.push({ tenant, target: name, rules, ...built.calendar });
      if (built.login !== null) logins.push({ tenant, connection: name, password: '', ...built.login });
      file.connections[name] = built.connection;
      file.targets[name] = {
        ...{ connector: built.connector, connection: name, agendas: [agendaId], window: WINDOW },
        ...{ title: 'full', titleReason: 'each event is known by its patient', settings: built.settings },
      };
    }
    const { side, losses } = await openCrm(index === 0 ? 'hubspot' : 'salesforce', tenant, parts);
    side.addStrangers([...parts.clinic.patients(desk.tenantId)].slice(...TWINS));
    Object.assign(file.connections, side.connections);
    Object.assign(file.targets, side.targets);
    crms.push({ tenant, side, losses });
    files.set(tenant, file);
  }
  return { tenants, targets, crms, logins, files };
}

/** Requests of a CRM that change nothing. */
const CRM_READS = /\/(batch\/read|search|userinfo|token)(\?|$)/;

/** Starts a tenant's CRM, and notes what requests take from its contacts. */
async function openCrm(vendor: CrmSide['vendor'], tenant: string, { openGate }: TenantParts) {
  const losses: ContactLoss[] = [];
  const opened: CrmSide[] = [];
  const read = () =>
    opened.flatMap((side) =>
      side.holdings().contacts.flatMap(({ isOurs, values }) => (isOurs ? [seenOf(values)] : [])),
    );
  const watch: Watch = async ({ method, url }) => {
    if (READS.test(method) || CRM_READS.test(url)) return null;
    const look = watchContacts(read, (loss) => void losses.push({ at: Date.now(), ...loss }));
    return async () => look();
  };
  const open = (server: string) => openGate(vendor, server, watch);
  const side = await (vendor === 'hubspot' ? startHubSpotSide(open, tenant) : startSalesforceSide(open));
  opened.push(side);
  return { side, losses };
}

function seenOf({ lastName = null, firstName = null, phone = null }: Values) {
  return { lastName, firstName, phone };
}

/** The first doctor is at Google, the second at Microsoft, the room at the CalDAV server if available. */
async function buildCalendar(
  tenant: string,
  position: number,
  parts: TenantParts,
): Promise<{ name: string; built: BuiltTarget }> {
  if (position === 1) return { name: 'doctor-2', built: await graphTarget(tenant, 'doctor-2', parts) };
  if (position === 0) return { name: 'doctor-1', built: await googleTarget(tenant, 'doctor-1', parts) };
  const build = parts.radicale === null ? googleTarget : caldavTarget;
  return { name: 'room', built: await build(tenant, 'room', parts) };
}
