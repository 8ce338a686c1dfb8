import { message } from '../messages/message.ts';
import type { MirrorError } from '../model/errors.ts';
import type { ClinicContext, PdfDownload, PdfSource } from './http/call.ts';
import { clinicError } from './http/errors.ts';
import { asId, isJsonObject, type JsonObject } from './http/rows.ts';
import { createInvoiceResolver, type ResolvedInvoice } from './read/invoices.ts';
import type { ListPage } from './read/lists.ts';
import {
  type ClinicRecord,
  createAvailabilityCalls,
  createPriceListCalls,
  createReadingCalls,
  type SlotQuestion,
} from './read/reading-calls.ts';
import { createAccountCalls } from './read/users.ts';
import { field, isNested, type Shape } from './schema/fields.ts';
import { type ClinicOperation, OPERATIONS } from './schema/operations.ts';
import { RESOURCES } from './schema/resources.ts';
import { payment, reimbursement, statusChange } from './schema/shapes.ts';
import { createAppointmentCalls } from './write/appointment-calls.ts';
import { createInvoiceCalls, type SerialiseSection } from './write/invoice-calls.ts';
import { episodeDuplicate, patientDuplicate } from './write/natural-keys.ts';
import { createReportCalls } from './write/report-calls.ts';
import { createResourceCalls } from './write/resource-calls.ts';
import { badValue } from './write/writing.ts';

/** The clinic API resource by resource, every operation of specification section 4. */
export type ClinicApi = ReturnType<typeof createClinicApi>;

/**
 * Opens the API of one clinic login. Scopes are those of specification section 2.1; a call without its scope throws
 * `authorization`, code `missing-claim`, one that the user may not make `insufficient-permissions`.
 * @param serialise lets one invoice at a time be created in each section, over all processes
 */
export function createClinicApi(context: ClinicContext, serialise: SerialiseSection) {
  const account = createAccountCalls(context);
  const patients = createResourceCalls(context, 'patients', { duplicateOf: patientDuplicate });
  const episodes = createResourceCalls(context, 'episodes', { duplicateOf: episodeDuplicate });
  const resolve = createInvoiceResolver(episodes.read, context.clock);
  return {
    /** Who is connected. No scope. */
    userInfo: { read: account.userInfo },
    /** Any user with access to the tenant. */
    tenantInfo: { read: account.tenantInfo },
    /** Scope `patients`. */
    patients: { list: patients.list, read: patients.read, create: patients.create, update: patients.update },
    /** Scope `agenda`. */
    agendas: createReadingCalls(context, 'agendas'),
    /** Scope `agenda`. */
    appointments: createAppointmentCalls(context),
    /** Scope `agenda`. */
    availabilities: createAvailabilityCalls(context),
    /** Scope `treatments`. */
    treatments: createReadingCalls(context, 'treatments'),
    /** Scope `treatments`. */
    priceLists: createPriceListCalls(context),
    /** Scope `episodes`. */
    episodes: {
      list: episodes.list,
      read: episodes.read,
      create: episodes.create,
      update: episodes.update,
      remove: episodes.remove,
    },
    /** Scope `medicalreports`. */
    medicalReports: createReportCalls(context),
    /** Scope `invoices`. */
    invoices: {
      ...createInvoiceCalls(context, serialise),
      /** The doctors behind an invoice's lines; scope `episodes` too. Links that lead nowhere are told, not thrown. */
      resolve: (tenantId: string, invoice: ClinicRecord<'invoices'>, signal: AbortSignal): Promise<ResolvedInvoice> =>
        resolve(tenantId, invoice, signal),
    },
    /** Any user with access to the tenant. */
    locations: createReadingCalls(context, 'locations'),
    /** Numbering series; scope `invoices`. */
    sections: { list: createReadingCalls(context, 'sections').list },
    /** Scope `invoices`. */
    issuers: createReadingCalls(context, 'issuers'),
  };
}

/** A record as people read it: instants as ISO 8601 in UTC, everything else as it is. */
export function presented(shape: Shape, record: object): JsonObject {
  return walked(shape, record, (value) => (typeof value === 'number' ? isoOf(value) : value));
}

/**
 * The other way round: values as people write them, instants as ISO 8601 with an offset.
 * @throws MirrorError `contract`, code `bad-value`, for an instant that is none; `settings`, code `no-such-field`
 */
export function valuesOf(shape: Shape, written: JsonObject): JsonObject {
  return walked(shape, written, instantOf, (within, name) => {
    throw noSuchField(within, name);
  });
}

/** Changes the instants of a record, those of nested rows too. @param onUnknown told of a name that is none of its fields */
function walked(
  shape: Shape,
  record: object,
  change: (instant: unknown, name: string) => unknown,
  onUnknown: (shape: Shape, name: string) => void = () => {},
): JsonObject {
  const entries = Object.entries(record).map(([name, value]) => {
    const one = Object.hasOwn(shape, name) ? shape[name] : undefined;
    if (one === undefined) onUnknown(shape, name);
    if (one === undefined || value === null) return [name, value];
    if (!isNested(one)) return [name, one.kind === 'instant' ? change(value, name) : value];
    const inner = (each: unknown) => (isJsonObject(each) ? walked(one.shape, each, change, onUnknown) : each);
    return [name, Array.isArray(value) ? value.map(inner) : inner(value)];
  });
  return Object.fromEntries(entries);
}

function isoOf(at: number): string {
  return new Date(at).toISOString().replace('.000Z', 'Z');
}

function instantOf(written: unknown, name: string): number {
  const text = typeof written === 'string' ? written : '';
  const at = /(Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? badValue(name) : at;
}

/** A name is repeated when it can be one of a field: a person may have put anything in its place. */
function noSuchField(shape: Shape, name: string): MirrorError {
  const isName = /^[A-Za-z][\w.]{0,40}$/.test(name);
  const text = isName ? message('clinic.no-such-field', { field: name }) : message('clinic.no-such-field.unnamed');
  const fields = Object.keys(shape).join(', ');
  const remedy =
    fields === '' ? message('clinic.no-such-field.none') : message('clinic.no-such-field.some', { fields });
  return clinicError('no-such-field', text, { remedy });
}

/** What an operation is called with; each looks at what it needs. */
export interface OperationInput {
  tenantId: string;
  /** The path's parameters after the tenant, in their order. */
  ids: readonly string[];
  /** By the names of the call's `takes`. */
  values: Readonly<Record<string, unknown>>;
  /** The same for a call that takes several objects: `values` is the first of them. */
  several: readonly Readonly<Record<string, unknown>>[];
  /** Query parameters of a list, by the clinic's own names. */
  parameters: readonly [string, string][];
  file: PdfSource | null;
}

/** What comes out: pages of a list, a record or a look for one, a PDF or null, whether there was something to remove. */
type OperationAnswer = AsyncIterable<ListPage<object>> | Promise<object | PdfDownload | boolean | null>;

/** The function of one operation, in a form that all of them share. */
interface OperationCall {
  gives: 'list' | 'record' | 'file' | 'removed';
  /** The values that it takes, by our names; null for none. */
  takes: Shape | null;
  /** Those of them that must be given. */
  needs: readonly string[];
  /** Takes several objects of such values. */
  takesSeveral: boolean;
  wantsFile: boolean;
  /** Looks at values that are not written, before anything is asked. @throws MirrorError `contract`, code `bad-value` */
  check(values: OperationInput['values']): void;
  /** Values are checked where they are written. @throws MirrorError as the function does */
  run(api: ClinicApi, input: OperationInput, signal: AbortSignal): OperationAnswer;
}

/** What the two forms of availability are asked with; of `agendaId` several may be given. */
const slotQuestion = {
  fromAt: field.needed(field.instant()),
  toAt: field.needed(field.instant()),
  agendaId: field.id(),
  locationId: field.id(),
  doctorId: field.id(),
} satisfies Shape;

/** What an operation of this verb gives; a record where it is not named. */
const GIVES: Readonly<Record<string, OperationCall['gives']>> = {
  list: 'list',
  listOfTreatment: 'list',
  pdf: 'file',
  remove: 'removed',
};

/** What the function of a verb is called with before the signal; the id of a record where the verb is not named. */
const ARGUMENTS: Readonly<Record<string, (input: OperationInput) => unknown[]>> = {
  list: ({ tenantId, parameters }) => [tenantId, parameters],
  create: ({ tenantId, values }) => [tenantId, values],
  update: (input) => [input.tenantId, idOf(input), input.values],
  setStatus: (input) => [input.tenantId, idOf(input), input.values],
  setPayment: (input) => [input.tenantId, idOf(input), input.values],
  addReimbursements: (input) => [input.tenantId, idOf(input), input.several],
};
const byId = (input: OperationInput) => [input.tenantId, idOf(input)];

const { status: _status, ...bookable } = RESOURCES.appointments;
const WRITTEN: Readonly<Record<string, Shape>> = { ...RESOURCES, appointments: bookable };

/** What an operation has that its verb does not tell. */
const OWN: Readonly<Record<string, Partial<OperationCall>>> = {
  'userInfo.read': { run: (api, _, signal) => api.userInfo.read(signal) },
  'tenantInfo.read': { run: (api, { tenantId }, signal) => api.tenantInfo.read(tenantId, signal) },
  'appointments.setStatus': asked(statusChange),
  'appointments.setPayment': asked(payment),
  'availabilities.list': slots((api, { tenantId }, question, signal) =>
    api.availabilities.list(tenantId, question, signal),
  ),
  'availabilities.listOfTreatment': slots((api, input, question, signal) => {
    const offer = { treatmentId: idOf(input), priceListId: idOf(input, 1) };
    return api.availabilities.listOfTreatment(input.tenantId, offer, question, signal);
  }),
  'priceLists.readByCode': { run: (api, input, signal) => api.priceLists.read(input.tenantId, idOf(input), signal) },
  'invoices.addReimbursements': { takes: reimbursement, takesSeveral: true },
  'medicalReports.create': {
    wantsFile: true,
    run: (api, { tenantId, values, file }, signal) => api.medicalReports.create(tenantId, values, needed(file), signal),
  },
};

/** The calls of all `OPERATIONS`, by their names: what the command line offers of the API. */
export const OPERATION_CALLS: Readonly<Record<string, OperationCall>> = Object.fromEntries(
  OPERATIONS.map((operation) => [operation.name, { ...usual(operation), ...OWN[operation.name] }]),
);

/** The call of an operation. @throws Error for an operation that is not one of `OPERATIONS` */
export function callOf({ name }: ClinicOperation): OperationCall {
  const call = OPERATION_CALLS[name];
  if (call === undefined) throw new Error(`no call for ${name}`);
  return call;
}

/** The call that an operation's verb tells: the function of its resource in the API. */
function usual({ name, subject }: ClinicOperation): OperationCall {
  const verb = name.slice(subject.length + 1);
  const argumentsOf = ARGUMENTS[verb] ?? byId;
  return {
    gives: GIVES[verb] ?? 'record',
    takes: verb === 'create' || verb === 'update' ? (WRITTEN[subject] ?? null) : null,
    needs: [],
    takesSeveral: false,
    wantsFile: false,
    check: () => {},
    run: (api, input, signal) => Reflect.apply(Reflect.get(api[subject], verb), null, [...argumentsOf(input), signal]),
  };
}

/** Values that must be given where their field is needed; of a record that is made or changed the clinic says what it needs. */
function asked(takes: Shape): Pick<OperationCall, 'takes' | 'needs'> {
  return { takes, needs: Object.keys(takes).filter((name) => Reflect.get(takes[name] ?? {}, 'needed') === true) };
}

/** A list of slots, by a question. */
function slots(
  run: (api: ClinicApi, input: OperationInput, question: SlotQuestion, signal: AbortSignal) => OperationAnswer,
): Partial<OperationCall> {
  return {
    ...asked(slotQuestion),
    check: (values) => void questionOf(values),
    run: (api, input, signal) => run(api, input, questionOf(input.values), signal),
  };
}

/** A parameter of the path; an absent one is refused where the address is built. */
function idOf({ ids }: OperationInput, index = 0): string {
  return ids[index] ?? '';
}

function needed(pdf: PdfSource | null): PdfSource {
  if (pdf !== null) return pdf;
  throw clinicError('file-needed', message('clinic.file-needed'));
}

/** @throws MirrorError `contract`, code `bad-value`, for what is not of its kind, and for a window that ends before it begins */
function questionOf(values: OperationInput['values']): SlotQuestion {
  const { fromAt, toAt, agendaId = null, locationId = null, doctorId = null } = values;
  const agendaIds = agendaId === null || Array.isArray(agendaId) ? agendaId : [agendaId];
  if (agendaIds?.length === 0) badValue('agendaId', message('clinic.bad-value.ids'));
  if (!Number.isFinite(fromAt)) badValue('fromAt');
  if (!Number.isFinite(toAt) || Number(toAt) <= Number(fromAt)) badValue('toAt', message('clinic.bad-value.after'));
  return {
    window: { fromAt: Number(fromAt), toAt: Number(toAt) },
    agendaIds: agendaIds?.map((id: unknown) => requireId(id, 'agendaId')) ?? null,
    ...(locationId === null ? {} : { locationId: requireId(locationId, 'locationId') }),
    ...(doctorId === null ? {} : { doctorId: requireId(doctorId, 'doctorId') }),
  };
}

function requireId(value: unknown, name: string): string {
  return asId(value) ?? badValue(name, message('clinic.bad-value.id'));
}
