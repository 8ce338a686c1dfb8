import type { MirrorError } from '../core/model/errors.ts';
import { isJsonObject, type JsonObject } from '../described-api/paths.ts';
import { message } from '../messages/message.ts';
import type { ClinicContext, PdfDownload, PdfSource } from './http/call.ts';
import { clinicError } from './http/errors.ts';
import { asId } from './http/rows.ts';
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

/** The clinic API resource by resource, with every operation of specification section 4. */
export type ClinicApi = ReturnType<typeof createClinicApi>;

/**
 * Opens the API of one clinic connection. Scopes are those of specification section 2.1. A call without its scope throws `authorization`,
 * code `missing-claim`; a call that the user may not make throws `insufficient-permissions`.
 * @param serialise allows one new invoice at a time in each section, over all processes
 */
export function createClinicApi(context: ClinicContext, serialise: SerialiseSection) {
  const account = createAccountCalls(context);
  const patients = createResourceCalls(context, 'patients', { duplicateOf: patientDuplicate });
  const episodes = createResourceCalls(context, 'episodes', { duplicateOf: episodeDuplicate });
  const resolve = createInvoiceResolver(episodes.read, context.clock);
  return {
    /** The connected user. No scope. */
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
      /** Returns the doctors of an invoice's lines; scope `episodes` too. Broken links are part of the result and throw no error. */
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

/** Returns a record for display: instants as ISO 8601 in UTC, other values unchanged. */
export function presented(shape: Shape, record: object): JsonObject {
  return walked(shape, record, (value) => (typeof value === 'number' ? isoOf(value) : value));
}

/**
 * Parses displayed values: instants are ISO 8601 with an offset.
 * @throws MirrorError `contract`, code `bad-value`, for an invalid instant; `settings`, code `no-such-field`
 */
export function valuesOf(shape: Shape, written: JsonObject): JsonObject {
  return walked(shape, written, instantOf, (within, name) => {
    throw noSuchField(within, name);
  });
}

/**
 * Converts the instants of a record, nested ones too.
 * @param onUnknown receives unknown field names
 */
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

/** The message repeats a name only if it can be a field name, since a user may have entered any text. */
function noSuchField(shape: Shape, name: string): MirrorError {
  const isName = /^[A-Za-z][\w.]{0,40}$/.test(name);
  const text = isName ? message('clinic.no-such-field', { field: name }) : message('clinic.no-such-field.unnamed');
  const fields = Object.keys(shape).join(', ');
  const remedy =
    fields === '' ? message('clinic.no-such-field.none') : message('clinic.no-such-field.some', { fields });
  return clinicError('no-such-field', text, { remedy });
}

/** Input of an operation; each operation uses a part. */
export interface OperationInput {
  tenantId: string;
  /** Path parameters after the tenant, in order. */
  ids: readonly string[];
  /** Values by the names of the call's `takes`. */
  values: Readonly<Record<string, unknown>>;
  /** Values of a call with several objects: `values` is the first. */
  several: readonly Readonly<Record<string, unknown>>[];
  /** Query parameters of a list, with the clinic's names. */
  parameters: readonly [string, string][];
  file: PdfSource | null;
}

/** Result: pages of a list, a record or a lookup, a PDF or null, or whether a record was removed. */
type OperationAnswer = AsyncIterable<ListPage<object>> | Promise<object | PdfDownload | boolean | null>;

/** An operation's function, in a common form. */
interface OperationCall {
  gives: 'list' | 'record' | 'file' | 'removed';
  /** Accepted values by clinic-mirror's names; null for none. */
  takes: Shape | null;
  /** Names of required values. */
  needs: readonly string[];
  /** Whether the call accepts several objects. */
  takesSeveral: boolean;
  wantsFile: boolean;
  /**
   * Checks values that are not written, before any request.
   * @throws MirrorError `contract`, code `bad-value`
   */
  check(values: OperationInput['values']): void;
  /**
   * Runs the operation, which checks written values itself.
   * @throws MirrorError from the function
   */
  run(api: ClinicApi, input: OperationInput, signal: AbortSignal): OperationAnswer;
}

/** Parameters of both availability operations; several `agendaId` values are allowed. */
const slotQuestion = {
  fromAt: field.needed(field.instant()),
  toAt: field.needed(field.instant()),
  agendaId: field.id(),
  locationId: field.id(),
  doctorId: field.id(),
} satisfies Shape;

/** Result of a verb; other verbs return a record. */
const GIVES: Readonly<Record<string, OperationCall['gives']>> = {
  list: 'list',
  listOfTreatment: 'list',
  pdf: 'file',
  remove: 'removed',
};

/** Arguments of a verb's function before the signal; other verbs take a record's id. */
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

/** Properties of operations that differ from their verb. */
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

/** Calls of all `OPERATIONS` by name, for the command line. */
export const OPERATION_CALLS: Readonly<Record<string, OperationCall>> = Object.fromEntries(
  OPERATIONS.map((operation) => [operation.name, { ...usual(operation), ...OWN[operation.name] }]),
);

/**
 * Returns the call of an operation.
 * @throws Error for an operation outside `OPERATIONS`
 */
export function callOf({ name }: ClinicOperation): OperationCall {
  const call = OPERATION_CALLS[name];
  if (call === undefined) throw new Error(`no call for ${name}`);
  return call;
}

/** Returns the usual call of an operation's verb: the function of its resource in the API. */
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

/** Required values follow from required fields. For records to be created or changed, the clinic decides. */
function asked(takes: Shape): Pick<OperationCall, 'takes' | 'needs'> {
  return { takes, needs: Object.keys(takes).filter((name) => Reflect.get(takes[name] ?? {}, 'needed') === true) };
}

/** Returns a call that lists slots. */
function slots(
  run: (api: ClinicApi, input: OperationInput, question: SlotQuestion, signal: AbortSignal) => OperationAnswer,
): Partial<OperationCall> {
  return {
    ...asked(slotQuestion),
    check: (values) => void questionOf(values),
    run: (api, input, signal) => run(api, input, questionOf(input.values), signal),
  };
}

/** Returns a path parameter. A missing parameter is refused when the URL is built. */
function idOf({ ids }: OperationInput, index = 0): string {
  return ids[index] ?? '';
}

function needed(pdf: PdfSource | null): PdfSource {
  if (pdf !== null) return pdf;
  throw clinicError('file-needed', message('clinic.file-needed'));
}

/**
 * Parses the parameters of an availability operation.
 * @throws MirrorError `contract`, code `bad-value`, for a value of another kind, or a window that ends before it begins
 */
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
